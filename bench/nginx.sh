#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Cost of Hone's module in nginx: four servers side by side, each with one worker; wrk loads one at a time in a closed
# loop that saturates the machine. All of them in each round, in rotated order; a ratio is between two of one round.
#
# 	none	nginx without the module
# 	ust	the same with LTTng-UST's library loaded, as in any traceable program: it adds two threads
# 	off	the module loaded, hone on, no tracing: no request is sampled
# 	on	every request sampled, hone:* recorded to memory as the agent does
#
# file: 1 KiB from a file; proxy: from another nginx, over kept connections, with the context passed on. CPU is the
# worker's time a request, which other programs on the machine disturb less than the throughput.
#
#   O=build bench/nginx.sh [ROUNDS [SECONDS]]
set -euo pipefail
cd "$(dirname "$0")/.."
O=$(realpath "${O:-build}")
rounds=${1:-10} seconds=${2:-1}
module=$O/lib/hone/ngx_http_hone_module.so
for need in nginx wrk lttng-sessiond python3; do
	command -v $need > /dev/null || { echo "nginx: skipped, there is no $need"; exit 0; }
done
[ -e "$module" ] || { echo "nginx: skipped, there is no module: make nginx"; exit 0; }
. examples/node.sh
node=examples/node.sh
D=$(mktemp -d)
chmod 755 "$D"
end() { $node stop "$D" plain; $node stop "$D" traced; rm -rf "$D"; }
trap end EXIT
trap 'exit 130' INT TERM

mkdir "$D/www"
head -c 1024 /dev/zero | tr '\0' x > "$D/www/file"
declare -A port
for way in back none ust off on; do port[$way]=$(node_free_port); done
conf() {	# WAY LOAD_MODULE HTTP
	mkdir -p "$D/$1"
	cat > "$D/$1.conf" <<- EOF
	$2
	daemon off; worker_processes 1; user root; pid $D/$1.pid; error_log $D/$1.log warn;
	events { worker_connections 512; }
	http {
		access_log off; keepalive_requests 100000000; open_file_cache max=10;
		$(for t in client_body proxy fastcgi uwsgi scgi; do echo "${t}_temp_path $D/$1/$t;"; done)
		upstream back { server 127.0.0.1:${port[back]}; keepalive 64; keepalive_requests 100000000; }
		proxy_http_version 1.1; proxy_set_header Connection "";
		$3
		server {
			listen 127.0.0.1:${port[$1]};
			root $D/www;
			location /file { }
			location /proxy { proxy_pass http://back/file; }
		}
	}
	EOF
}
hone='hone on; proxy_set_header traceparent $hone_traceparent; proxy_set_header tracestate $hone_tracestate;'
conf back "" ""
conf none "" ""
conf ust "" ""
conf off "load_module $module;" "$hone"
conf on "load_module $module;" "$hone"
$node start "$D" plain && $node start "$D" traced
{
	in_node() { $node exec "$D" traced lttng -n "$@"; }
	in_node create on --snapshot --output="$D/trace" && in_node enable-channel -u --buffers-pid --num-subbuf=4 --subbuf-size=256k c
	in_node add-context -u -c c -t vtid -t '$app.hone:trace_id' -t '$app.hone:unit_id'
	in_node enable-event -u -c c 'hone:*' --filter '$app.hone:sampled == 1'

	in_node start
} > "$D/lttng.log"
start() { $node run "$D" "$1" "$2" env "${@:3}" nginx -c "$D/$2.conf"; }
start plain back A=
start plain none A=
start plain ust LD_PRELOAD=liblttng-ust.so.1:liblttng-ust-fork.so.1
start plain off LD_PRELOAD=liblttng-ust-fork.so.1
start traced on LD_PRELOAD=liblttng-ust-fork.so.1 HONE_SAMPLE=1
answers() { curl -fs -o /dev/null "http://127.0.0.1:$1/file"; }
for way in back none ust off on; do node_wait 20 answers "${port[$way]}"; done

python3 - "$D" "$rounds" "$seconds" "$(for way in none ust off on; do echo "$way=${port[$way]}"; done)" <<'E2'
import random, re, statistics, subprocess, sys

folder, rounds, seconds = sys.argv[1], int(sys.argv[2]), sys.argv[3]
ports = dict(way.split("=") for way in sys.argv[4].split())
chance = random.Random(1)
workers = {way: subprocess.run(["pgrep", "-P", open(f"{folder}/{way}.pid").read().strip()], capture_output=True, text=True).stdout.strip()
           for way in ports}

def cpu_ns(way):
    return int(open(f"/proc/{workers[way]}/schedstat").read().split()[0])

def run(way, load):
    before = cpu_ns(way)
    said = subprocess.run(["wrk", "-t1", "-c16", f"-d{seconds}s", f"http://127.0.0.1:{ports[way]}/{load}"], capture_output=True,
                          text=True, check=True).stdout
    n = int(re.search(r"(\d+) requests in", said).group(1))
    assert "Non-2xx" not in said, said
    return {"throughput": float(re.search(r"Requests/sec: +([\d.]+)", said).group(1)), "cpu": (cpu_ns(way) - before) / n}

def ratio(got, way, what, base="none"):
    if way == base or way == "none":
        return ""
    ratios = [r[way][what] / r[base][what] for r in got]
    medians = sorted(statistics.median(chance.choices(ratios, k=len(ratios))) for _ in range(10000))
    return "%5.3f (%.3f to %.3f)" % (statistics.median(ratios), medians[249], medians[9749])

print(f"{rounds} rounds of {seconds} s; against nginx without the module; in brackets: 95 % intervals of the median")
print("%-8s%-6s%12s %26s %12s %26s %26s" % ("load", "way", "requests/s", "throughput", "CPU us", "CPU a request", "against ust"))
for load in "file", "proxy":
    got = []
    for way in ports:
        run(way, load)      # warm
    for i in range(rounds):
        order = list(ports)[i % 4:] + list(ports)[:i % 4]
        got.append({way: run(way, load) for way in order})
    for way in ports:
        base = [statistics.median(r[way][what] for r in got) for what in ("throughput", "cpu")]
        words = ratio(got, way, "throughput"), ratio(got, way, "cpu"), ratio(got, way, "cpu", "ust")
        print("%-8s%-6s%12.0f %26s %12.2f %26s %26s" % (load, way, base[0], words[0], base[1] / 1000, *words[1:]))
E2
