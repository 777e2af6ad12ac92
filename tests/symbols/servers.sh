#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# Symbol servers and debuginfod servers give names to a profile.  What they sent is kept in the cache.  A server that is
# slow, fails, sends something else or ends costs names and one sentence, and nothing else.  The process that reads the
# profile has no network.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
needs "${CXX%% *}" curl openssl /usr/sbin/nginx python3 debuginfod dwz strace
: "${CC:?}"
unset DEBUGINFOD_URLS VGTOOL_SYMBOLS http_proxy https_proxy HTTP_PROXY HTTPS_PROXY all_proxy ALL_PROXY
export XDG_CACHE_HOME="$dir/cache"
umask 022

cat >"$dir/program.c" <<'END'
__attribute__((noinline)) void spin_here(void)
{
	for (volatile long i = 0; i < 100000000; i++)
		;
}
int main(void)
{
	spin_here();
	return 0;
}
END
# The module's name has characters that mean something in paths, in URLs and in terminals.
module='..%2f a?b#c&é.so'
mkdir "$dir/made" "$dir/elsewhere"
$CC -g -O1 -Wl,--build-id=sha1 -o "$dir/made/$module" "$dir/program.c"
recorded -o "$dir/one.vgp" --rate 1999 -- "$dir/made/$module"
"$VGTOOL" symbols -o "$dir/store" "$dir/made/$module" >"$dir/out"
sym=$(find "$dir/store" -name '*.sym')
id=$(awk '{ print $4; exit }' "$sym")
build=$(build_id "$dir/made/$module")
# This machine's files must not give the names.
objcopy --only-keep-debug "$dir/made/$module" "$dir/kept.debug"
strip "$dir/made/$module"
mv "$dir/made" "$dir/hidden"
cd "$dir/elsewhere"

# report ARGUMENT...: runs vgtool report.  Fails if it fails.
report() {
	exits 0 "$VGTOOL" report --json "$@" "$dir/one.vgp"
}
named() {
	grep -q spin_here "$dir/out" || fail "$1: no name: $(cat "$dir/err")"
}
nameless() {
	! grep -q spin_here "$dir/out" || fail "$1: a name from nowhere"
}
# silent WHAT: fails unless the latest command printed no message
silent() {
	[ ! -s "$dir/err" ] || fail "$1: $(cat "$dir/err")"
}
# sentence WHAT TEXT: fails unless the latest command printed one line, which has the text
sentence() {
	[ "$(wc -l <"$dir/err")" = 1 ] || fail "$1: not one line: $(cat "$dir/err")"
	has err "$2"
}
cached() {
	find "$XDG_CACHE_HOME" -type f 2>/dev/null
}
# empty WHAT: fails unless the cache has no file; then removes its directories
empty() {
	[ -z "$(cached)" ] || fail "$1: the cache has $(cached)"
	rm -rf "$XDG_CACHE_HOME"
}

report
nameless "without a server"

# ---- nginx has a store: as it is, compressed in three ways, and slowly ----
mkdir -p "$dir/www"
cp -r "$dir/store" "$dir/www/plain"
cp -r "$dir/store" "$dir/www/encoded"
cp -r "$dir/store" "$dir/www/gzip"
cp -r "$dir/store" "$dir/www/gz"
file=$(cd "$dir/store" && find . -name '*.sym')
gzip -c "$sym" >"$dir/www/gzip/$file"
gzip "$dir/www/gz/$file"
mkdir "$dir/www/none"
echo "$dir" >"$dir/www/whose"
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=127.0.0.1 \
	-addext subjectAltName=IP:127.0.0.1 -keyout "$dir/tls.key" -out "$dir/tls.pem" 2>"$dir/log" || fail "openssl: $(cat "$dir/log")"
nginx_start() {
	port=$(free_port) tls_port=$(free_port) url=http://127.0.0.1:$port
	cat >"$dir/nginx.conf" <<CONF
daemon off; master_process off; pid $dir/nginx.pid; error_log $dir/error.log; user root;
events { worker_connections 64; }
http { access_log $dir/access.log; client_body_temp_path $dir/body; proxy_temp_path $dir/proxy;
	fastcgi_temp_path $dir/fastcgi; uwsgi_temp_path $dir/uwsgi; scgi_temp_path $dir/scgi;
	ssl_certificate $dir/tls.pem; ssl_certificate_key $dir/tls.key;
	server { listen 127.0.0.1:$port; listen 127.0.0.1:$tls_port ssl; root $dir/www;
		location /encoded/ { gzip on; gzip_min_length 1; gzip_types *; }
		location /slow/ { alias $dir/www/plain/; limit_rate 1; } } }
CONF
	/usr/sbin/nginx -c "$dir/nginx.conf" 2>"$dir/log" & nginx=$!
	pids=$nginx
	await 120 "nginx answers or has ended" nginx_answers
}
# nginx, one process, may log a request after its client has the answer, but before it takes the next request.  So after
# this answer the log has all earlier requests.
nginx_answers() { [ "$(curl -s "$url/whose")" = "$dir" ] || exited $nginx; }
# Another process may take a port before nginx does.
for try in 1 2 3; do
	nginx_start
	exited $nginx || break
done
! exited $nginx || fail "nginx does not start: $(cat "$dir/log")"

for kind in plain encoded gzip gz; do
	nginx_answers
	: >"$dir/access.log"
	report -s "$url/$kind"
	named $kind
	silent $kind
	[ "$(cached | wc -l)" = 1 ] || fail "$kind: the cache has: $(cached)"
	cmp -s "$(cached)" "$sym" || fail "$kind: the cached file differs"
	[ "$(stat -c %a "$(cached)")" = 600 ] || fail "$kind: mode $(stat -c %a "$(cached)")"
	find "$XDG_CACHE_HOME" -type d >"$dir/directories"
	while read -r directory; do
		[ "$(stat -c %a "$directory")" = 700 ] || fail "$kind: mode $(stat -c %a "$directory") of $directory"
	done <"$dir/directories"
	# The name of the module is nowhere in the cache.
	[ "$(cached | sed 's:.*/modules/::')" = "$id/symbols.sym" ] || fail "$kind: the cache has $(cached)"
	nginx_answers
	asked=$(grep -c "$id" "$dir/access.log")
	report -s "$url/$kind/"
	named "$kind, from the cache"
	nginx_answers
	[ "$(grep -c "$id" "$dir/access.log")" = "$asked" ] ||
		fail "$kind: a file in the cache is asked for again: $(cat "$dir/access.log")"
	rm -rf "$XDG_CACHE_HOME"
done
report -s "$url/none"
nameless "a server without the file"
silent "a server without the file"
empty "a server without the file"

# Stores come first, in any order: a server is not asked for a module whose symbols they have.
nginx_answers
: >"$dir/access.log"
report -s "$url/plain" -s "$dir/store"
named "store and server"
nginx_answers
! grep -q "$id" "$dir/access.log" || fail "the server is asked for symbols that a store has"
VGTOOL_SYMBOLS="/nowhere:$url/plain:$dir/nothing" report
named "VGTOOL_SYMBOLS"
rm -rf "$XDG_CACHE_HOME"
report --unresolved -s "$url/plain"
nameless "--unresolved"
[ ! -e "$XDG_CACHE_HOME" ] || fail "--unresolved: there is a cache"

# Other commands
exits 0 "$VGTOOL" resolve -s "$url/plain" -o "$dir/named.vgp" "$dir/one.vgp"
exits 0 "$VGTOOL" folded "$dir/named.vgp"
named resolve
rm -rf "$XDG_CACHE_HOME"
exits 1 "$VGTOOL" missing -s "$url/plain" "$dir/one.vgp"
! grep -qF "$build" "$dir/out" || fail "missing: the server's module is missing: $(cat "$dir/out")"
[ "$(cached | wc -l)" = 1 ] || fail "missing: the cache has $(cached)"
rm -rf "$XDG_CACHE_HOME"
exits 0 "$VGTOOL" folded -s "$url/plain" -o "$dir/folded" "$dir/one.vgp"
grep -q spin_here "$dir/folded" || fail "folded -o has no name"
rm -rf "$XDG_CACHE_HOME"

# HTTPS: nobody vouches for this certificate.
report -s "https://127.0.0.1:$tls_port/plain"
nameless HTTPS
sentence HTTPS certificate
empty HTTPS

# A slow server: one byte a second.
VGTOOL_SERVER_TIMEOUT=1 report -s "$url/slow"
nameless slow
sentence slow "$url/slow: "
empty slow

# A server that is not there: nobody listens at port 1.  The messages do not have the user's password.
gone=http://127.0.0.1:1
report -s "http://me:secret@${gone#http://}/x"
nameless gone
sentence gone "$gone/x: "
! grep -q secret "$dir/err" || fail "a message has the password: $(cat "$dir/err")"
empty gone
# The others are still asked.
report -s "$gone" -s "$url/plain"
named "one of two servers"
sentence "one of two servers" "$gone: "
rm -rf "$XDG_CACHE_HOME"

# ---- a server that behaves badly ----
started "$dir/requests" /usr/bin/python3 "$fixtures/symbol_server.py" "$sym"
bad=http://127.0.0.1:$(head -n 1 "$dir/requests")
# asked KIND: number of requests to a server of this kind so far.  Requests to others may still arrive: vgtool does not
# wait for the answers of slow servers.
asked() { grep -c "^GET /$1/" "$dir/requests" || true; }

# The name is one component of the URL, whatever it has.
report -s "$bad/absent"
silent absent
empty absent
encoded='..%252f%20a%3Fb%23c%26%C3%A9.so'
grep -qxF "GET /absent/$encoded/$id/$encoded.sym HTTP/1.1" "$dir/requests" || fail "asked for: $(cat "$dir/requests")"

# bad KIND SENTENCE: a server of this kind gives no name, is asked at most three times, and costs one sentence
bad() {
	before=$(asked $1)
	VGTOOL_SERVER_TIMEOUT=${timeout-100} report -s "$bad/$1"
	nameless "$1"
	sentence "$1" "$bad/$1: $2"
	empty "$1"
	[ $(($(asked $1) - before)) -le "${most-3}" ] ||
		fail "$1: asked $(($(asked $1) - before)) times, expected at most ${most-3}"
}
bad error "The requested URL returned error: 500"
# Commands of many profiles ask once for each file, and a server that fails is asked no more.
for copy in two three four; do cp "$dir/one.vgp" "$dir/$copy.vgp"; done
before=$(asked absent)
exits 0 "$VGTOOL" aggregate -s "$bad/absent" "$dir/one.vgp" "$dir/two.vgp" "$dir/three.vgp" "$dir/four.vgp"
silent "many profiles"
grep '^GET /absent/' "$dir/requests" | sed "1,${before}d" >"$dir/last"
[ -s "$dir/last" ] && [ -z "$(sort "$dir/last" | uniq -d)" ] || fail "asked twice in one run: $(cat "$dir/last")"
before=$(asked error)
exits 0 "$VGTOOL" aggregate -s "$bad/error" "$dir/one.vgp" "$dir/two.vgp" "$dir/three.vgp" "$dir/four.vgp"
sentence "many profiles" "$bad/error: The requested URL returned error: 500"
has err "after 3 failures this server is asked no more"
[ $(($(asked error) - before)) = 3 ] || fail "asked $(($(asked error) - before)) times, not 3: $(cat "$dir/requests")"
rm -rf "$XDG_CACHE_HOME"
bad cut ""
bad closed ""
timeout=1 bad silent ""
timeout=1 bad drop ""
bad page "the server sent a file that is no symbol file"
bad damaged "the server sent a damaged gzip file"
bad short "the server sent an incomplete gzip file"
for kind in endless bomb encoded; do
	VGTOOL_SERVER_MAX_SIZE=1M bad $kind "the server sent a file that is too large"
done
# A limit of memory ends it, before the limit of time does.
[ -n "${SANITIZE-}" ] || {
	timeout=86400 bad trailers ""
	! grep -qi 'time' "$dir/err" || fail "trailers: $(cat "$dir/err")"
}
most=18 bad loop ""
bad file ""
bad telnet ""
# The file of one module is not used for others, and not kept for them.
for kind in same moved; do
	report -s "$bad/$kind"
	named $kind
	sentence $kind "the server sent the symbols of another module"
	[ "$(cached | wc -l)" = 1 ] || fail "$kind: the cache has $(cached)"
	rm -rf "$XDG_CACHE_HOME"
done

# The reader compares the id of a file in the cache, as in any store.
report -s "$url/plain"
kept=$(cached)
sed -i "1s/$id/0123456789ABCDEF0123456789ABCDEF0/; 2d" "$kept"
mv "$dir/www/plain" "$dir/www/later"
report -s "$url/plain"
nameless "the symbols of another module in the cache"
sentence "the symbols of another module in the cache" "its MODULE record has the id of another module"
mv "$dir/www/later" "$dir/www/plain"
report -s "$url/plain"
named "the symbols of another module in the cache, which were replaced"
cmp -s "$kept" "$sym" || fail "the file in the cache was not replaced"
rm -rf "$XDG_CACHE_HOME"

# ---- an interrupted download leaves no file ----
"$VGTOOL" report -s "$bad/drop" "$dir/one.vgp" >"$dir/out" 2>"$dir/err" & vgtool=$!
pids="$pids $vgtool"
has_part() { [ -n "$(cached)" ]; }
has_no_part() { [ -z "$(cached)" ]; }
await 120 "a download has begun" has_part
kill_own TERM $vgtool
wait $vgtool 2>/dev/null || true
await 120 "the incomplete file is removed" has_no_part
rm -rf "$XDG_CACHE_HOME"

# ---- wrong arguments ----
for wrong in http:// https:///path "http://host/path?query" "http://host/#x" "http://host/a b"; do
	exits 1 "$VGTOOL" report -s "$wrong" "$dir/one.vgp"
	has err "must be http://HOST/PATH or https://HOST/PATH"
done
VGTOOL_SERVER_TIMEOUT=0 exits 1 "$VGTOOL" report -s "$url/plain" "$dir/one.vgp"
has err 'VGTOOL_SERVER_TIMEOUT 0: must be'
VGTOOL_SERVER_MAX_SIZE=much exits 1 "$VGTOOL" report -s "$url/plain" "$dir/one.vgp"
has err 'VGTOOL_SERVER_MAX_SIZE much: must be'
(unset XDG_CACHE_HOME HOME; exits 1 "$VGTOOL" report -s "$url/plain" "$dir/one.vgp")
has err "set XDG_CACHE_HOME or HOME"

# ---- the reader is confined, and another process has the network ----
# confined PATTERN COMMAND...: fails unless the process that opens a file whose name matches is confined before, and
# another process connects to a server
confined() {
	pattern=$1
	shift
	rm -rf "$XDG_CACHE_HOME" "$dir/saved" "$dir/named.vgp"
	status=0
	strace -f -y -qq -o "$dir/calls" -e trace=openat,socket,connect,seccomp "$@" >"$dir/out" 2>"$dir/err" || status=$?
	[ $status -le 1 ] || fail "$*: status $status: $(cat "$dir/err")"
	[ -n "$(cached)" ] || fail "$*: nothing was fetched: $(cat "$dir/err")"
	awk -v pattern="$pattern" '
		/socket\(AF_INET/ { has_network[$1] = 1; others++ }
		/seccomp\(SECCOMP_SET_MODE_FILTER, .*[{]/ { confined[$1] = 1 }
		/openat\(/ && /O_RDONLY/ && !/O_PATH/ && !/= -1/ && $0 ~ pattern {
			reader = $1
			if (!(reader in confined)) print "not confined: " $0
		}
		END {
			if (reader == "") print "nobody reads the file"
			if (reader in has_network) print "the reader has the network"
			if (others == 0) print "nobody has the network"
		}' "$dir/calls" >"$dir/wrong"
	[ ! -s "$dir/wrong" ] || fail "$*: $(cat "$dir/wrong")"
}
if [ -z "${SANITIZE-}" ]; then
	confined 'one.vgp"' "$VGTOOL" report -s "$url/plain" "$dir/one.vgp"
	confined 'one.vgp"' "$VGTOOL" annotate -s "$url/plain" spin_here "$dir/one.vgp"
	confined 'one.vgp"' "$VGTOOL" resolve -s "$url/plain" -o "$dir/named.vgp" "$dir/one.vgp"
	confined 'one.vgp"' "$VGTOOL" missing -s "$url/plain" "$dir/one.vgp"
	rm -rf "$XDG_CACHE_HOME"
fi
confined_with_debuginfod() {
	confined 'one.vgp"' "$VGTOOL" report --debuginfod "$dir/one.vgp"
	confined 'hidden/.*so>' "$VGTOOL" symbols --debuginfod -o "$dir/saved" "$dir/hidden/$module"
}

# ---- debuginfod ----
exits 1 "$VGTOOL" report --debuginfod "$dir/one.vgp"
has err 'DEBUGINFOD_URLS names no server'
mkdir "$dir/served"
mv "$dir/kept.debug" "$dir/served"
cp "$dir/hidden/$module" "$dir/served/binary"
# dwz moves debug information that two programs share into a file of its own.
mkdir "$dir/shared"
for which in one two; do
	$CXX -O2 -g -Wl,--build-id "$fixtures/symbols_names.cc" -o "$dir/shared/$which"
done
(cd "$dir/shared" && dwz -m ../served/shared.debug one two)
shared=$(build_id "$dir/served/shared.debug")
[ -n "$shared" ] || fail "dwz wrote no shared file"
mv "$dir/served/shared.debug" "$dir/served/moved.debug"
served() {
	curl -sf -o /dev/null "$debuginfod/buildid/$build/debuginfo" -o /dev/null "$debuginfod/buildid/$build/executable" ||
		exited $server
}
for try in 1 2 3; do
	debuginfod=http://127.0.0.1:$(free_port)
	debuginfod -p "${debuginfod##*:}" -d :memory: -F "$dir/served" >"$dir/debuginfod.log" 2>&1 & server=$!
	pids="$pids $server"
	await 120 "debuginfod has the file or has ended" served
	exited $server || break
done
! exited $server || fail "debuginfod: the server does not start: $(tail -n 3 "$dir/debuginfod.log")"
export DEBUGINFOD_URLS="$bad/absent $debuginfod"
before=$(asked absent)
report
nameless "debuginfod that was not asked"
[ "$(asked absent)" = "$before" ] || fail "a debuginfod server is asked without --debuginfod"
report --debuginfod
named debuginfod
silent debuginfod
[ "$(cached)" = "$XDG_CACHE_HOME/vignette/$(debug_path "$build")" ] || fail "debuginfod: the cache has $(cached)"
grep -qx "GET /absent/buildid/$build/debuginfo HTTP/1.1" "$dir/requests" || fail "asked for: $(cat "$dir/requests")"
# A file of dwz
exits 0 "$VGTOOL" symbols "$dir/shared/one"
has out '<name omitted>'
exits 0 "$VGTOOL" symbols --debuginfod "$dir/shared/one"
! grep -q '<name omitted>' "$dir/out" || fail "the file of dwz was not used: $(cat "$dir/err")"
silent "symbols and a file of dwz"
[ -e "$XDG_CACHE_HOME/vignette/$(debug_path "$shared")" ] || fail "the file of dwz is not in the cache: $(cached)"
# Instructions
exits 1 "$VGTOOL" annotate --asm spin_here "$dir/one.vgp"
has err "the binary with the build id $build was not found"
exits 0 "$VGTOOL" annotate --asm --debuginfod spin_here "$dir/one.vgp"
has out '  ret'
[ -e "$XDG_CACHE_HOME/vignette/$(debug_path "$build" | sed 's/\.debug$//')" ] || fail "the binary is not in the cache"
rm -rf "$XDG_CACHE_HOME"
report --debuginfod
# From the cache, without the server and without --debuginfod
[ -n "${SANITIZE-}" ] || confined_with_debuginfod
before=$(asked absent)
stopped $server
report
named "debuginfod, from the cache"
[ "$(asked absent)" = "$before" ] || fail "a debuginfod server is asked without --debuginfod"
exits 0 "$VGTOOL" folded "$dir/one.vgp"
named "folded, from the cache"
# The stripped program of this machine is found first; its debug file is in the cache.
cd "$dir/hidden"
report
named "a stripped program and the cache"
cd "$dir/elsewhere"
rm -rf "$XDG_CACHE_HOME"
export DEBUGINFOD_URLS="$bad/absent $gone"
report --debuginfod
nameless "debuginfod has ended"
sentence "debuginfod has ended" "$gone: "
empty "debuginfod has ended"
export DEBUGINFOD_URLS="$bad/page"
report --debuginfod
nameless "debuginfod sends a page"
sentence "debuginfod sends a page" "$bad/page: the server sent a file that is no ELF file"
empty "debuginfod sends a page"
# A file of another build is not kept: it would hide the right one for ever.
mkdir -p "$dir/www/wrong/buildid/$build"
cp /bin/true "$dir/www/wrong/buildid/$build/debuginfo"
export DEBUGINFOD_URLS="$url/wrong"
report --debuginfod
nameless "debuginfod sends another file"
sentence "debuginfod sends another file" "$url/wrong: the server sent a file with another build id"
empty "debuginfod sends another file"
export DEBUGINFOD_URLS="file:///usr"
exits 1 "$VGTOOL" report --debuginfod "$dir/one.vgp"
has err "DEBUGINFOD_URLS file:///usr: must be http://HOST/PATH or https://HOST/PATH"
