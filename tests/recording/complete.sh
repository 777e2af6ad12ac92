#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Stacks reach the root in what Debian ships stripped, under load: an interpreter, servers, a
# compiler, a JIT.  Prints for each why stacks were incomplete, and their outermost frames.
# SOAK: longer.
set -eu
: "${SRCDIR:?}" "${VIGNETTED:?}" "${VGTOOL:?}" "${CC:?}"
seconds=2
[ -z "${SOAK-}" ] || seconds=30
# Interrupts in the one build of the check, stops in the other.
capture=auto
[ -z "${SANITIZE-}" ] || capture=stop
dir=$(mktemp -d)
port=$((20000 + $$ % 20000))
pids=
status=0
trap 'kill $pids 2>/dev/null || true; rm -rf "$dir"' EXIT

# check NAME PER_MILLE: of the stacks in NAME.vgp must be complete; but one of some hundreds tells
# of no share yet
check() {
	"$VGTOOL" info --json "$dir/$1.vgp" >"$dir/info"
	stacks=$(sed 's/.*"stacks":\([0-9]*\),.*/\1/' "$dir/info")
	complete=$(sed 's/.*"stacks_complete":\([0-9]*\),.*/\1/' "$dir/info")
	echo "$1: $complete of $stacks stacks complete, $(sed 's/.*"stack_ends":{\([^}]*\)}.*/\1/' "$dir/info")"
	[ "$stacks" = "$complete" ] || "$VGTOOL" dump "$dir/$1.vgp" >"$dir/dump"
	[ "$stacks" = "$complete" ] || node "$SRCDIR/tests/recording/incomplete.mjs" "$dir/dump"
	if [ "$stacks" -lt $((seconds * 25)) ] || [ $(((complete + 1) * 1000)) -le $((stacks * $2)) ]; then
		echo "FAIL: $1"
		status=1
	fi
}

# record NAME PID PER_MILLE [MODE]
record() {
	"$VIGNETTED" --capture $capture --pid "$2" -o "$dir/$1.vgp" --rate 499 --duration $seconds --mode "${4-wall}"
	check "$1" "$3"
}

# command NAME ARGUMENT...: a program that runs until it is stopped
command() {
	name=$1
	"$@" </dev/zero >/dev/null 2>&1 &
	pids=$!
	sleep 0.3
	record "$name" $pids 999
	kill $pids
}

# A library's constructor is called by the loader, which has no unwind information there.
cat >"$dir/library.c" <<'END'
#include <stdlib.h>
#include <time.h>
__attribute__((constructor)) static void begin(void)
{
	for (time_t end = time(NULL) + atol(getenv("SECONDS_LONG")); time(NULL) < end;)
		;
}
END
echo 'int main(void) { return 0; }' >"$dir/program.c"
${CC%% *} -shared -fPIC -o "$dir/library.so" "$dir/library.c"
${CC%% *} -o "$dir/program" "$dir/program.c" -Wl,--no-as-needed "$dir/library.so"
SECONDS_LONG=$seconds "$VIGNETTED" --capture $capture -o "$dir/constructor.vgp" --rate 499 -- "$dir/program"
check constructor 999

# answers URL: waits until it does
answers() {
	for attempt in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
		curl -s -o "$dir/answer" "$1" && return
		sleep 0.3
	done
	echo "FAIL: $1 does not answer"
	exit 1
}

cat >"$dir/busy.py" <<'PYTHON'
import json, re, threading, zlib
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
words = [str(i * 7919 % 10007) for i in range(3000)]
def other():
    while True: zlib.compress(json.dumps(words).encode())
threading.Thread(target=other).start()
while True:
    fib(14)
    sorted(words, key=lambda word: word[::-1])
    re.sub("[0-9]+7", lambda found: found[0] + "x", " ".join(words))
PYTHON
/usr/bin/python3 "$dir/busy.py" &
pids=$!
sleep 0.5
record python3 $! 999
kill $pids

redis-server --port $port --save '' --appendonly no --daemonize no >"$dir/redis.log" &
redis=$!
pids=$redis
for attempt in 1 2 3 4 5 6 7 8 9 10; do
	redis-cli -p $port ping >/dev/null 2>&1 && break
	sleep 0.3
done
redis-benchmark -p $port -n 100000000 -r 10000 -t set,lpush,lrange_100 -q >/dev/null 2>&1 &
pids="$redis $!"
record redis-server $redis 999
kill $pids

cat >"$dir/nginx.conf" <<CONF
worker_processes 1; daemon off; pid $dir/nginx.pid; error_log $dir/error.log; user root;
events { worker_connections 256; }
http { access_log $dir/access.log; client_body_temp_path $dir/body; proxy_temp_path $dir/proxy;
	fastcgi_temp_path $dir/fastcgi; uwsgi_temp_path $dir/uwsgi; scgi_temp_path $dir/scgi;
	gzip on; gzip_min_length 1; gzip_types *; server { listen 127.0.0.1:$port; root $dir/www; } }
CONF
mkdir "$dir/www"
seq 1 20000 >"$dir/www/numbers.txt"
/usr/sbin/nginx -c "$dir/nginx.conf" 2>"$dir/log" &
nginx=$!
pids=$nginx
answers http://127.0.0.1:$port/numbers.txt
wrk -t 1 -c 16 -d $((seconds + 30)) -H 'Accept-Encoding: gzip' http://127.0.0.1:$port/numbers.txt \
	>"$dir/log" 2>&1 &
pids="$nginx $!"
sleep 0.5
worker=$(cat "/proc/$nginx/task/$nginx/children")
record nginx "${worker%% *}" 999
kill $pids

for header in regex map iostream unordered_map algorithm random functional future; do
	echo "#include <$header>"
done >"$dir/large.cc"
# It must take longer than the recording.
for i in $(seq 1 $((seconds * 8 + 20))); do
	echo "struct s$i { int x; bool operator<(const s$i &o) const { return x < o.x; } };
	int f$i(const std::string &t) { std::regex r(t); std::map<s$i, std::string> m;
		m[s$i{$i}] = t; std::unordered_map<std::string, s$i> u; u[t].x = $i;
		return std::regex_search(t, r) + (int)m.size() + (int)u.size(); }"
done >>"$dir/large.cc"
# Compression, an interpreter, a sort; and ciphers, whose assembly has unwind information by hand.
command xz -9 -T2
command perl -e 'my %h; while (1) { $h{$_ % 5000} .= join ",", sort map { $_ * 7919 % 1009 } 1 .. 50 for 1 .. 99; %h = () }'
command openssl speed -seconds 60 -evp sha256
command openssl speed -seconds 60 -evp aes-256-gcm
command openssl speed -seconds 60 ecdsap256

command clang++ -O2 -c "$dir/large.cc" -o "$dir/large.o"

cat >"$dir/busy.mjs" <<'NODE'
import { createHash } from "node:crypto";
class Shape { constructor(n) { this.n = n; } area() { return this.n * this.n; } }
class Round extends Shape { area() { return 3 * super.area(); } }
const shapes = Array.from({ length: 2000 }, (_, i) => i % 3 ? new Round(i) : new Shape(i));
const text = JSON.stringify(shapes);
for (let turn = 0; ; turn++) {
	shapes.sort((a, b) => (a.n * 7919 % 1009) - (b.n * 7919 % 1009));
	let sum = shapes.map((s) => s.area()).reduce((a, b) => a + b, 0);
	sum += JSON.parse(text).length + text.replace(/[0-9]+/g, (d) => d + turn % 10).length;
	sum += new Map(shapes.map((s) => [s.n, s])).size;
	createHash("sha256").update(text + sum).digest("hex");
	if (turn % 10 === 0)
		await new Promise((resolve) => setTimeout(resolve, 1));
}
NODE
/usr/bin/node "$dir/busy.mjs" &
pids=$!
sleep 1.5
# Its many idle threads would hide what the busy one lacks.
record node $! 990 cpu
kill $pids
pids=
exit $status
