#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# `make install` against the documentation: each file that a page names is installed, and servers accept the pages'
# settings unchanged except for the folder. nginx_test.sh, redis_test.sh and postgres_test.sh check the requests'
# traces.
# O: the folder that `make all` built.
. "$(dirname "$0")/lib.sh"
D=$(mktemp -d)
chmod 755 "$D"
end() {
	redis-cli -s "$D/redis.sock" SHUTDOWN NOSAVE > /dev/null 2>&1
	rm -rf "$D"
}
trap end EXIT
why() { tail -qn 5 "$D"/*.log 2> /dev/null; }
here() { sed "s|/usr/local|$D/usr/local|g"; }
block() { sed -n "/^\`\`\`$2\$/,/^\`\`\`\$/{/^\`\`\`/d;p}" "docs/$1.md" | here; }	# PAGE LANGUAGE: prints the page's code block in that language
built() { [ -e "$O/lib/hone/$1" ]; }

check "make install succeeds" make -s O="$O" DESTDIR="$D" install
ldconfig_run() { make -n O="$O" "$@" install-instrument | has -x "[[:space:]]*ldconfig"; }
check "make install into a folder of its own leaves the linker's cache alone" eval '! ldconfig_run DESTDIR="$D"'
[ "$(id -u)" != 0 ] || check "make install by root makes the library known to the linker" ldconfig_run
named() {	# only the modules that were built
	local path missing=0
	for path in $(grep -oh '/usr/local/[A-Za-z0-9_./-]*' docs/*.md README.md | sed 's/[.,]$//' | sort -u); do
		case ${path##*/} in
		ngx_http_hone_module.so) built ngx_http_hone_module.so || continue ;;
		*postgres*) built hone_postgres.so || continue ;;
		esac
		[ -e "$D$path" ] || [ -e "$D$path.so" ] || { echo "$path"; missing=1; }
	done
	return $missing
}
check "every file that the documentation names is installed" named
check "completion for zsh finds that for bash" test -e "$D/usr/local/share/zsh/site-functions/../../bash-completion/completions/hone"
for map in "$D"/usr/local/share/hone/maps/*.map; do
	check "${map##*/} is a valid mapping" "$D/usr/local/bin/hone" map check --no-program "$map"
done

if [ -e "$O/lib/hone/ngx_http_hone_module.so" ] && command -v nginx > /dev/null; then
	{
		block nginx nginx | sed -n 1p
		echo "pid $D/nginx.pid; error_log $D/nginx.log; events { }"
		block nginx nginx | sed 1d
		echo 'access_log off; server { listen 127.0.0.1:1; location / { proxy_pass http://127.0.0.1:2; } } }'
	} > "$D/nginx.conf"
	check "nginx accepts the configuration in the documentation" nginx -t -q -e "$D/nginx.log" -c "$D/nginx.conf"
else
	echo "# no nginx, or no module for it: left out"
fi

if command -v redis-server > /dev/null; then
	block redis sh | grep -o 'loadmodule [^"]*' > "$D/redis.conf"
	redis-server "$D/redis.conf" --port 0 --unixsocket "$D/redis.sock" --dir "$D" --save '' > "$D/redis.log" 2>&1 &
	check "Redis starts with the configuration in the documentation" wait_for 20 redis-cli -s "$D/redis.sock" PING
	block redis sh | sed -n "s|^redis-cli |redis-cli -s $D/redis.sock |p" > "$D/redis.sh"
	check "Redis answers the commands in the documentation" eval 'bash -e "$D/redis.sh" > "$D/redis.out" && grep -qx hone "$D/redis.out" && [ "$(tail -n 1 "$D/redis.out")" = OK ]'
else
	echo "# no redis-server: left out"
fi

BIN=$(ls -d /usr/lib/postgresql/*/bin 2> /dev/null | sort -V | tail -1)
if [ -e "$O/lib/hone/hone_postgres.so" ] && [ -x "$BIN/postgres" ] && [ "$(id -u)" = 0 ]; then
	export PGDATA=$D/data
	install -d -o postgres "$PGDATA"
	as_postgres() { setpriv --reuid=postgres --regid=postgres --clear-groups env HOME="$PGDATA" "$@"; }
	as_postgres "$BIN/initdb" -A trust --no-locale --no-sync > "$D/initdb.log" 2>&1
	block postgres sh | sed -n 1p > "$D/postgres.sh"
	check "PostgreSQL accepts the configuration in the documentation" bash -e "$D/postgres.sh"
	check "PostgreSQL loads the module that it names" eval 'echo "SHOW hone.requests" | as_postgres "$BIN/postgres" --single postgres 2>&1 | tee "$D/postgres.log" | grep "hone.requests = \"off\""'
else
	echo "# no PostgreSQL server, or no module for it, or not root: left out"
fi
echo "1..$N"
exit $FAILED
