#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The live page in a browser: who gets in and who does not, every view, a diagnosis that is started there and watched to its verdict,
# two tabs, and a connection that is lost and resumes.
# O: the folder that `make all` built. PICTURES=FOLDER: screenshots of every view, for review.
. "$(dirname "$0")/lib.sh"
needs root node npm curl jq chromium setpriv
ahead_of_others
HONE_OTEL_MODULES=$(tools/otel_clients.sh) && BROWSER=$(tools/otel_clients.sh tests/scenario/web) || skip "needs the packages of tests/scenario/otel and tests/scenario/web"
export NODE_PATH=$HONE_OTEL_MODULES/node_modules:$BROWSER/node_modules OTLP_URL=http://127.0.0.1:4318
D=$(mktemp -d)
chmod 755 "$D"
export HONE_SOCKET="ipc://$D/honed.sock" HOME=$D
honed= otel= service=
end() {
  local p
  for p in $service $otel $honed; do kill "$p"; wait "$p"; done 2> /dev/null
  rm -rf "$D"
}
trap end EXIT
why() { tail -n 12 "$D/otel.log" "$D/honed.log" "$D/service.log"; }
# Another user must be able to run it, wherever it was built.
install -m 755 "$O/bin/hone" "$D/hone"
hone() { "$D/hone" "$@"; }
at=127.0.0.1:9470
honed_up() {
  "$O/bin/honed" -o controller.agents="ipc://$D/agents.sock" -o controller.operators="$HONE_SOCKET" -o storage.database="$D/forest.db" \
    -o storage.space="$D/space.db" -o learn.budget=90% -o operators.look="$(id -nu 65534)" "${ALL_TRACED[@]}" "$@" 2>> "$D/honed.log" &
  honed=$!
  wait_for 20 hone status
}
honed_down() { kill "$honed" && wait "$honed"; honed=; }
# gives STATUS CURL_ARGUMENT...: the answer's status
gives() { local is; is=$(curl -s -m 10 -o "$D/body" -w '%{http_code}' "${@:2}"); echo "$is"; cat "$D/body"; [ "$is" = "$1" ]; }
listens() { curl -s -m 10 -o /dev/null "http://$at/"; }
silent() { ! listens; }
cookie=
enter() { cookie=$(curl -s -m 10 -D - -o /dev/null "$1" | tr -d '\r' | sed -n 's/^Set-Cookie: \(hone_9470=[0-9a-f]\{32\}\); HttpOnly; SameSite=Strict; Path=\/s\/[0-9a-f]\{16\}\/$/\1/p') && [ -n "$cookie" ]; }
post() { gives "$1" -H "Cookie: $cookie" -H "Origin: http://$at" -H "Content-Type: application/json" -d "$3" "http://$at/$2"; }

# ---- who gets in -------------------------------------------------------------------
honed_up || bail "honed does not answer"
"$O/bin/hone-otel" -o controller.url="ipc://$D/agents.sock" -o agent.node=n1 -o spans.hold=300ms -o spans.delay=700ms -o listen.zipkin= 2>> "$D/otel.log" &
otel=$!
node tests/scenario/otel/gated.js "$D/on" 2> "$D/service.log" &
service=$!
check "nothing listens until somebody asks for a link" silent
link=$(hone web) || bail "hone web gives no link"
check "the link is of this machine" grep -qxE "http://$at/login\?token=[0-9a-f]{32}" <<< "$link"
check "without a session the page is refused" gives 401 "http://$at/"
check "so are its states" gives 401 "http://$at/events"
check "and a cookie of the right form that is no session's" gives 401 -H "Cookie: hone_9470=0123456789abcdef0123456789abcdef" "http://$at/"
check "a name that is not of this machine is refused, before the link is used" gives 421 -H "Host: evil.example" "$link"
check "so is no name" gives 421 -H "Host:" "http://$at/"
check "a token that is none is refused" gives 403 "http://$at/login?token=0123456789abcdef0123456789abcdef"
check "the link gives a session" enter "$link"
check "once" gives 403 "$link"
check "the page comes with a policy that loads nothing from elsewhere" bash -c "curl -s -m 10 -D - -o /dev/null -H 'Cookie: $cookie' http://$at/ | grep \"^Content-Security-Policy: default-src 'none';.*frame-ancestors 'none'\""
same_unpacked() {
  # but the line with the states, which change
  curl -s -m 10 -H "Cookie: $cookie" "http://$at/" | grep -v 'id="first"' > "$D/plain" && curl -s -m 10 -H "Cookie: $cookie" -H "Accept-Encoding: gzip" -o "$D/packed" "http://$at/" &&
    gunzip < "$D/packed" | grep -v 'id="first"' | cmp - "$D/plain" && grep -q '^</html>$' "$D/plain" && [ "$(wc -c < "$D/packed")" -lt $(($(wc -c < "$D/plain") / 2)) ]
}
check "by gzip to who takes it" same_unpacked
check "and nothing inline runs without its hash" bash -c "! curl -s -m 10 -D - -o /dev/null -H 'Cookie: $cookie' http://$at/ | grep unsafe"
check "an empty question is refused" post 400 ask ''
check "a question is answered" post 200 ask '{"ask":"status"}'
check "one of another site is refused" gives 403 -H "Cookie: $cookie" -H "Origin: http://evil.example" -H "Content-Type: application/json" -d '{"ask":"status"}' "http://$at/ask"
check "one of another port of this machine, too" gives 403 -H "Cookie: $cookie" -H "Origin: http://127.0.0.1:8080" -H "Content-Type: application/json" -d '{"ask":"status"}' "http://$at/ask"
check "and without an origin" gives 403 -H "Cookie: $cookie" -H "Content-Type: application/json" -d '{"ask":"status"}' "http://$at/ask"
check "what a form can send is refused" gives 415 -H "Cookie: $cookie" -H "Origin: http://$at" -d '{"ask":"status"}' "http://$at/ask"
check "a question that is none is refused" post 400 ask '{"ask":'
head -c 100000 /dev/zero | tr '\0' x > "$D/large"
check "a large one, too" post 413 ask "@$D/large"
check "the page gets no links from itself" post 403 ask '{"ask":"web"}'
check "questions are posted" gives 405 -H "Cookie: $cookie" "http://$at/ask"
check "other paths are not found" gives 404 -H "Cookie: $cookie" "http://$at/../etc/passwd" --path-as-is
# states NUMBER ARGUMENT...: the numbers of the first states of a stream; ARGUMENT: of curl
states() { { curl -s -N -m 30 -H "Cookie: $cookie" "${@:2}" "http://$at/events" || true; } | sed -un 's/^id: //p' | head -n "$1" || true; }
resumes() {
  local seen last next
  seen=$(states 4)
  last=$(tail -n 1 <<< "$seen")
  next=$(states 1 -H "Last-Event-ID: $last")
  echo "$seen; then $next"
  [[ "$last $next" =~ ^[0-9a-f]+\.[0-9a-f]+\ [0-9a-f]+\.[0-9a-f]+$ ]] && [ "$(wc -l <<< "$seen")" = 4 ] && [ "${next%.*}" = "${last%.*}" ] && [ "$((16#${next#*.}))" -gt "$((16#${last#*.}))" ]
}
check "a stream that resumes goes on after its last state" resumes
crowd() {	# one session has at most 6 streams, so that it does not take those of others
  local i pids=() status
  for i in 1 2 3 4 5 6 7 8; do curl -s -N -m 60 -o /dev/null -w '%{http_code}\n' -H "Cookie: $cookie" "http://$at/events" >> "$D/streams" & pids+=($!); done
  wait_for 50 refused_two
  status=$?
  kill "${pids[@]}" 2> /dev/null
  wait "${pids[@]}" 2> /dev/null
  return $status
}
refused_two() { [ "$(grep -cx 503 "$D/streams")" -ge 2 ]; }
check "a session has a limited number of streams" crowd
root_cookie=$cookie
enter "$(setpriv --reuid=65534 --regid=65534 --clear-groups -- "$D/hone" web)"
check "a user who may only look cannot start a diagnosis from the page either" post 403 ask '{"ask":"start","type":"GET /order"}'
check "the audit has who tried" bash -c "$D/hone audit --json | jq -e '.rows[0] | .outcome == \"refused\" and .uid == 65534'"
check "the session can be ended" post 200 logout '{}'
check "then its cookie is worth nothing" post 401 ask '{"ask":"status"}'

# ---- in a browser ------------------------------------------------------------------
count() { hone status --json | jq -e 'any(.types[]; .type == "GET /order" and .traces > 100)'; }
check "requests come" wait_for 30 count
enter "$(hone web)"
check "a report, which another process makes, has the type" bash -c "curl -s -m 60 -H 'Cookie: $cookie' -H 'Origin: http://$at' -H 'Content-Type: application/json' -d '{\"ask\":\"report\"}' http://$at/ask | jq -e '.ok and any(.report.types[]; .type == \"GET /order\")'"
check "one of a type that is none is refused" post 404 ask '{"ask":"report","type":"none"}'
post 200 logout '{}' > /dev/null
node tests/scenario/web/browser.js "$N" "$D/hone" "${PICTURES:-}" > "$D/browser" 2> "$D/browser.err"
browser=$?
cat "$D/browser"
[ $browser = 0 ] || { FAILED=1; sed 's/^/# /' "$D/browser.err" >&2; grep -A 3 "^not ok" "$D/browser" | sed 's/^/# /' >&2; }
N=$((N + $(grep -cE "^(not )?ok " "$D/browser")))
check "the diagnosis that the page started is in the audit, with its user" bash -c "$D/hone audit --json | jq -e 'any(.rows[]; .user == \"root\" and .outcome == \"done\" and .run == 1 and (.asked | contains(\"start\")))'"
check "no added tracepoint is left on" wait_for 20 bash -c "$D/hone status --json | jq -e '.quiet'"
cookie=$root_cookie
check "when the last session has ended" post 200 logout '{}'
check "nothing listens any more" wait_for 10 silent
honed_down

# ---- a local socket, and addresses that are refused -------------------------------
honed_up -o web.listen="unix://$D/web.sock"
check "hone web says how to forward a local socket" bash -c "$D/hone web | grep -F 'ssh -N -L 9470:$D/web.sock NAME'"
path=$(hone web --json | jq -r .path)
check "the page is served there" gives 200 --unix-socket "$D/web.sock" "http://localhost:9470$path"
honed_down
check "the socket is removed" [ ! -e "$D/web.sock" ]
refused() {
  ! "$O/bin/honed" -o web.listen=0.0.0.0:9470 -o controller.agents="ipc://$D/x.sock" -o controller.operators="ipc://$D/y.sock" \
    -o storage.database="$D/z.db" -o storage.space="$D/zs.db" 2> "$D/refused" && grep "web.listen: 0.0.0.0:9470 is no address of this machine's loopback" "$D/refused"
}
check "an address that others reach is refused at start" refused
echo "1..$N"
exit $FAILED
