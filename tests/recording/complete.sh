#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Debian's stripped programs have complete stacks under load: interpreters, servers, a compiler, and node with JIT code.
# Prints for each program why stacks were incomplete, and their last frames.  Records again, for longer, until there are
# enough stacks.  TIMING, SOAK: longer recordings, and exact limits.
set -eu
: "${CC:?}"
. "${SRCDIR:?}/tests/lib.sh"
needs node perl xz openssl clang++ python3 redis-server redis-benchmark /usr/sbin/nginx curl wrk
durations='0.5 1 3 10 30 60' least=50 exact=
[ -z "${TIMING-}" ] || durations='5 10 20 40' least=125 exact=1
[ -z "${SOAK-}" ] || durations='30 60 120 240' least=750 exact=1
capture=$(build_capture)
all=$dir/all failures=$dir/failures

# check NAME PER_MILLE: adds NAME to the failures unless that share of the stacks in NAME.vgp is complete
check() {
	stacks=$(info_value stacks)
	lacking=$((stacks - $(info_value stacks_complete)))
	echo "$1: $lacking of $stacks stacks are incomplete, $(info_value stack_ends)"
	if [ $lacking != 0 ]; then
		"$VGTOOL" dump "$dir/$1.vgp" >"$dir/dump"
		node "$SRCDIR/tests/recording/incomplete.mjs" "$dir/dump"
	fi
	may_lack=$(may_lack $stacks $2)
	[ $lacking -le $may_lack ] ||
		echo "$1 ($lacking of $stacks are incomplete; expected $may_lack or fewer)" >>"$failures"
	[ $2 != 999 ] || echo $stacks $lacking >>"$all"
}

# enough COMMAND...: the command records into $dir/$name.vgp for $long seconds.  Writes what vgtool info says to
# $dir/info.  Returns 1 if there are too few stacks.
enough() {
	"$@" || return 1
	cat "$dir/log.recorded"
	"$VGTOOL" info --json "$dir/$name.vgp" >"$dir/info" && [ "$(info_value stacks)" -ge $least ]
}

# record NAME PID PER_MILLE [MODE]
record() {
	name=$1 process=$2 mode=${4-wall}
	lengthen "$durations" enough of_process || fail "$name: fewer than $least stacks: $(cat "$dir/log.recorded")"
	check $1 $3
}
of_process() {
	some_recorded --capture $capture --pid $process -o "$dir/$name.vgp" --rate 499 --duration $long --mode $mode
}

# settled PROCESS [MS]: waits until the process has executed its program, and then until it has used that much CPU time:
# then it does its work
settled() {
	await 120 "process $1 executes its program" executed $1
	await 120 "process $1 works" worked $1 ${2-100}
}

# program COMMAND ARGUMENT...: records that command while it runs
program() {
	"$@" </dev/zero >/dev/null 2>&1 &
	pids=$!
	settled $pids
	record "$1" $pids 999
	end $pids
}

# The loader calls a library's constructor from code without unwind information.
constructor_complete() {
	cat >"$dir/library.c" <<'END'
#include <stdlib.h>
#include <time.h>
__attribute__((constructor)) static void begin(void)
{
	for (clock_t end = (clock_t)(atof(getenv("SECONDS_LONG")) * CLOCKS_PER_SEC); clock() < end;)
		;
}
END
	echo 'int main(void) { return 0; }' >"$dir/program.c"
	${CC%% *} -shared -fPIC -o "$dir/library.so" "$dir/library.c"
	${CC%% *} -o "$dir/program" "$dir/program.c" -Wl,--no-as-needed "$dir/library.so"
	of_constructor() {
		export SECONDS_LONG=$long
		some_recorded --capture $capture -o "$dir/$name.vgp" --rate 499 -- "$dir/program"
	}
	name=constructor
	lengthen "$durations" enough of_constructor || fail "$name: fewer than $least stacks: $(cat "$dir/log.recorded")"
	check constructor 999
}

python_complete() {
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
	settled $pids 200
	record python3 $pids 999
	end $pids
}

redis_complete() {
	socket=$dir/redis.sock
	redis-server --port 0 --unixsocket "$socket" --save '' --appendonly no --daemonize no >"$dir/redis.log" &
	redis=$!
	pids=$redis
	await 120 "redis-server answers" redis-cli -s "$socket" ping
	redis-benchmark -s "$socket" -n 100000000 -r 10000 -t set,lpush,lrange_100 -q >/dev/null 2>&1 &
	pids="$redis $!"
	settled $redis
	record redis-server $redis 999
	end $pids
}

nginx_complete() {
	# An address of this script alone, and a port below those that the kernel chooses
	address=127.$((64 + $$ / 65536 % 64)).$(($$ / 256 % 256)).$(($$ % 256)):18347
	cat >"$dir/nginx.conf" <<CONF
worker_processes 1; daemon off; pid $dir/nginx.pid; error_log $dir/error.log; user root;
events { worker_connections 256; }
http { access_log $dir/access.log; client_body_temp_path $dir/body; proxy_temp_path $dir/proxy;
	fastcgi_temp_path $dir/fastcgi; uwsgi_temp_path $dir/uwsgi; scgi_temp_path $dir/scgi;
	gzip on; gzip_min_length 1; gzip_types *; server { listen $address; root $dir/www; } }
CONF
	mkdir "$dir/www"
	seq 1 20000 >"$dir/www/numbers.txt"
	/usr/sbin/nginx -c "$dir/nginx.conf" 2>"$dir/log" &
	nginx=$!
	pids=$nginx
	await 120 "nginx answers" curl -sf -o "$dir/answer" http://$address/numbers.txt
	wrk -t 1 -c 16 -d 1000 -H 'Accept-Encoding: gzip' http://$address/numbers.txt \
		>"$dir/log" 2>&1 &
	pids="$nginx $!"
	worker=$(cat "/proc/$nginx/task/$nginx/children")
	pids="$pids $worker"
	settled ${worker%% *}
	record nginx "${worker%% *}" 999
	end $pids
}

# Compression, an interpreter, and ciphers, whose assembly code has unwind information written by hand.
tools_complete() {
	program xz -9 -T2
	program perl -e 'my %h; while (1) { $h{$_ % 5000} .= join ",", sort map { $_ * 7919 % 1009 } 1 .. 50 for 1 .. 99; %h = () }'
	program openssl speed -seconds 3600 -evp sha256
	program openssl speed -seconds 3600 -evp aes-256-gcm
	program openssl speed -seconds 3600 ecdsap256
}

clang_complete() {
	for header in regex map iostream unordered_map algorithm random functional future; do
		echo "#include <$header>"
	done >"$dir/large.cc"
	# Compiling this must take longer than the recording.
	for i in $(seq 1 ${exact:+2}60); do
		echo "struct s$i { int x; bool operator<(const s$i &o) const { return x < o.x; } };
		int f$i(const std::string &t) { std::regex r(t); std::map<s$i, std::string> m;
			m[s$i{$i}] = t; std::unordered_map<std::string, s$i> u; u[t].x = $i;
			return std::regex_search(t, r) + (int)m.size() + (int)u.size(); }"
	done >>"$dir/large.cc"
	program clang++ -O2 -c "$dir/large.cc" -o "$dir/large.o"
}

node_complete() {
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
	settled $pids 1000
	# In CPU mode, because the complete stacks of many idle threads would hide incomplete stacks of the busy thread.
	record node $pids 990 cpu
	end $pids
}

servers_and_compiler() {
	constructor_complete
	python_complete
	redis_complete
	nginx_complete
	clang_complete
}
tools_and_node() {
	tools_complete
	node_complete
}
: >"$failures"
if [ -n "$exact" ]; then
	side_by_side servers_and_compiler
	side_by_side tools_and_node
else
	side_by_side servers_and_compiler tools_and_node
fi
stacks=$(awk '{ sum += $1 } END { print sum }' "$all") incomplete=$(awk '{ sum += $2 } END { print sum }' "$all")
echo "all but node: $incomplete of $stacks stacks are incomplete"
[ $incomplete -le $(may_lack $stacks 999) ] || echo all >>"$failures"
[ ! -s "$failures" ] || fail "incomplete stacks, or too few:" $(cat "$failures")
