#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
#
# vgtool view, vgtool flamegraph and vgtool record --view.  view.mjs reads the data of the page, and compares self and
# total of all functions with those of vgtool report.  Python's XML parser reads the pictures.
set -eu
. "${SRCDIR:?}/tests/lib.sh"
needs node script /usr/bin/python3
. "$SRCDIR/tests/views/recorded.sh"
cd "$dir"
write=$BUILDDIR/tests/views/events_write
untrusted=$BUILDDIR/tests/views/untrusted

# judged PAGE SELECTION ARGUMENT...: compares the page with vgtool report ARGUMENT... in both weights.  SELECTION: see
# view.mjs; "": all samples
judged() {
	page=$1 selection=$2
	shift 2
	for weight in wall cpu; do
		"$VGTOOL" report --json --weight $weight "$@" >report.$weight
	done
	node "$SRCDIR/tests/views/view.mjs" judge "$page" report.wall,report.cpu $selection >judged 2>&1 ||
		fail "$page, $*: $(cat judged)"
}
# holds PAGE EXPRESSION: fails unless the JavaScript expression is true for the data of the page
holds() {
	node "$SRCDIR/tests/views/view.mjs" holds "$1" "$2" 2>judged || fail "$1: $(cat judged)"
}

# Recursion, an inlined function, a thread that waits for a lock.
cat >program.c <<'END'
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile unsigned sum; static int turns = 50;
static inline __attribute__((always_inline)) void add(unsigned n) /* line 6 */
{
	for (unsigned i = 0; i < n; i++)
		sum += i;
}
__attribute__((noinline, noclone)) static void fall(unsigned depth)
{
	add(20000);
	if (depth > 0)
		fall(depth - 1);
	add(20000);
}
static void *work(void *nothing)
{
	(void)nothing;
	pthread_mutex_lock(&lock);
	for (int i = 0; i < turns; i++)
		fall(9);
	pthread_mutex_unlock(&lock);
	return NULL;
}
int main(int argc, char **argv)
{
	pthread_t thread;

	if (argc > 1)
		turns *= atoi(argv[1]);
	pthread_create(&thread, NULL, work, NULL);
	work(NULL);
	return pthread_join(thread, NULL);
}
END
$CC -g -O1 -Wl,--build-id=sha1 -o program program.c -pthread
# A sample is in the outermost of ten calls with a probability of 1/10 each.  The deepest row has one, but with a
# probability of 0.9^200 = 7e-10.
for name in old new; do
	record_until 200 $name.vgp ./program --rate 1999
done

# ---- the page: one profile, two, a comparison, intervals ----
exits 0 "$VGTOOL" view -o new.html new.vgp
judged new.html "" new.vgp
holds new.html 'it.title === "program" && it.groups.length === 1 && it.tracks.length === 2 && it.sources.length === 0'
holds new.html 'it.frames.inlined.includes(1) && it.strings.includes("fall")'
holds new.html '!JSON.stringify(it).includes("sum += i")'
exits 0 "$VGTOOL" view old.vgp new.vgp
cp out both.html
judged both.html "" old.vgp new.vgp
exits 0 "$VGTOOL" view --base old.vgp -o change.html new.vgp
judged change.html "" new.vgp
judged change.html -base old.vgp
holds change.html "it.recorded === $(info new.vgp start_unix_s)"
holds change.html 'it.comparison && it.groups.map((group) => group.base).join() === "true,false"'
"$write" story story.vgp
exits 0 "$VGTOOL" view --weight cpu -o story.html story.vgp
holds story.html 'it.weight === 1 && it.intervals.length > 0'
for label in request reply; do
	judged story.html $label --interval $label story.vgp
done
exits 0 "$VGTOOL" view --unresolved -o addresses.html new.vgp
judged addresses.html "" --unresolved new.vgp

# ---- source lines, only with --source ----
exits 0 "$VGTOOL" view --source "$dir" -o sources.html new.vgp
holds sources.html 'it.sources.some((source) => it.strings[source.file].endsWith("program.c") &&
	source.lines[9] === "\t\tsum += i;" && source.lines[6].includes("add"))'
has err 'the page contains text of 1 source file'
mkdir nothing
exits 0 "$VGTOOL" view --source nothing -o out.html new.vgp
has err 'no source file of the profile was found'

# ---- without -o: standard output, or on a terminal a file beside the profile ----
mkdir -p beside
cp new.vgp beside/some.vgp
exits 0 script -qec "'$VGTOOL' view beside/some.vgp" /dev/null
has out 'vgtool view: beside/some.html: open it in a browser'
judged beside/some.html "" new.vgp
exits 0 script -qec "'$VGTOOL' view beside/." /dev/null
has out "/beside.html: open it in a browser"
judged beside.html "" new.vgp
rm beside/some.html
exits 0 script -qec "'$VGTOOL' view -o - beside/some.vgp" /dev/null
judged beside/some.html "" new.vgp
exits 2 script -qec "'$VGTOOL' view - <new.vgp" /dev/null
has out 'standard input has no name for the page'
exits 0 sh -c "'$VGTOOL' view - <new.vgp"
judged out "" new.vgp

# ---- the picture ----
# picture FILE EXPRESSION: fails unless the file is XML without scripts, and the Python expression is true.  `frames` is
# the list of frames: the lines of their tooltips, and their x, y and width.
picture() {
	/usr/bin/python3 - "$@" <<'END' || fail "$1: not true: $2: $(head -c 400 "$1")"
import sys, xml.etree.ElementTree as tree
svg = "{http://www.w3.org/2000/svg}"
root = tree.parse(sys.argv[1]).getroot()
tags = {element.tag for element in root.iter()}
assert root.tag == svg + "svg" and tags <= {svg + tag for tag in ("svg", "g", "rect", "text", "title")}, tags
frames = [(group.find(svg + "title").text.split("\n"), *(float(group.find(svg + "rect").get(key)) for key in ("x", "y", "width")))
          for group in root.iter(svg + "g")]
names = [lines[0] for lines, x, y, width in frames]
assert all(x >= 0 and x + width <= 1200.1 for lines, x, y, width in frames), frames
sys.exit(not eval(sys.argv[2]))
END
}
exits 0 "$VGTOOL" flamegraph -o new.svg new.vgp
picture new.svg 'names[0] == "all" and "fall  [program]" in names and names.count("fall  [program]") >= 9'
picture new.svg 'frames[0][2] > frames[1][2]'
exits 0 "$VGTOOL" flamegraph --weight cpu --inverted new.vgp
picture out 'names[0] == "all" and names[1] == "add  [program]" and frames[0][2] < frames[1][2]'
exits 0 "$VGTOOL" flamegraph --min 60 new.vgp
picture out 'len(names) < 20 and all(float(lines[1].split(", ")[1].split()[0]) >= 60 for lines, x, y, width in frames)'
exits 0 "$VGTOOL" flamegraph --base old.vgp new.vgp
picture out 'all("(base " in lines[1] for lines, x, y, width in frames[1:])'
exits 0 "$VGTOOL" flamegraph --thread main story.vgp
picture out 'len(names) > 1'
exits 1 "$VGTOOL" flamegraph --thread nobody -o none.svg story.vgp
has err 'story.vgp: no thread nobody'
[ ! -e none.svg ] || fail "a failed command has written none.svg"
# The ids of the threads differ.
exits 0 "$VGTOOL" report --json new.vgp
exits 1 "$VGTOOL" flamegraph --thread "$(json out 'it.threads[0].tid')" --base old.vgp -o none.svg new.vgp
has err '--base old.vgp: has no time to compare in thread '
[ ! -e none.svg ] || fail "a comparison with nothing was written"

# ---- hostile names ----
"$untrusted" profile evil.vgp
exits 0 "$VGTOOL" flamegraph --min 0 evil.vgp
picture out 'any(name.startswith("function-?]0;owned") for name in names)'
exits 0 "$VGTOOL" view -o evil.html evil.vgp
holds evil.html 'it.strings.some((text) => text.startsWith("function-?]0;owned"))'
# The data are base64, and everything else is the same text in every page.
for page in evil new; do
	/usr/bin/python3 -c 'import re, sys
head, data, tail = re.fullmatch(r"(.*<script id=\"data\"[^>]*>)([A-Za-z0-9+/=\n]*)(</script>.*)", sys.stdin.read(), re.S).groups()
print(head + tail)' <$page.html >$page.text || fail "$page.html: the data are not base64"
done
cmp evil.text new.text || fail "names are in the HTML"

# ---- record --view: a page in place of other files, only of an earlier page ----
unset DISPLAY WAYLAND_DISPLAY SSH_CONNECTION SUDO_UID DOAS_USER
exits 0 "$VGTOOL" record --view --no-pager --rate 500 -o kept.vgp -- ./program
has err 'vgtool record: kept.html: open it in a browser'
judged kept.html "" kept.vgp
for again in no yes; do
	exits 0 "$VGTOOL" record --view --no-pager --rate 500 -- ./program
	has err 'vgtool record: ./program.html: open it in a browser'
	holds program.html 'it.title === "program"'
done
cp -- program "$(printf -- '-x\033[31m\nb')"
exits 0 "$VGTOOL" record --view --no-pager --rate 500 -- "$(printf './-x\033[31m\nb')"
has err 'vgtool record: ./_x__31m_b.html: open it in a browser'
[ -f _x__31m_b.html ] || fail "no page for a program with a strange name"
echo mine >touch.html
exits 1 "$VGTOOL" record --view -- touch ran
has err '--view: ./touch.html: exists, and vgtool has not written it'
[ "$(cat touch.html)" = mine ] || fail "record has replaced touch.html"
rm touch.html
mkdir touch.html
exits 1 "$VGTOOL" record --view -- touch ran
has err '--view: ./touch.html: must be a regular file'
if [ "$(id -u)" = 0 ]; then
	# A link of another user to a FIFO, which never has a writer
	mkfifo endless
	rm -rf touch.html
	ln -s endless touch.html
	chown -h 65533 touch.html
	exits 1 "$VGTOOL" record --view -- touch ran
	has err 'touch.html: a symbolic link of another user (uid 65533) is not followed'
	rm touch.html
fi
exits 1 "$VGTOOL" record --view -o none/some.vgp -- touch ran
has err 'none/some.html'
[ ! -e ran ] || fail "the program ran although the page cannot be written"

# ---- record --view: a browser that writes its arguments to a file ----
mkdir -m 777 fake
cat >fake/browser <<END
#!/bin/sh
printf '%s\n' "\$@" >>"$dir/fake/opened"
END
chmod 755 fake/browser
cp fake/browser fake/xdg-open
# Root never starts a browser.
as_user=
if [ "$(id -u)" = 0 ]; then
	as_user='setpriv --reuid 65533 --regid 65533 --clear-groups --inh-caps=-all'
	chmod 711 "$dir"
fi
# on_terminal NAME VARIABLE...: records NAME.vgp with these variables on a terminal
on_terminal() {
	name=$1
	shift
	exits 0 $user env XDG_CACHE_HOME="$dir/fake/.cache" BROWSER="$dir/fake/browser" "$@" script -qec \
		"cd fake && '$VGTOOL' record -q --view --no-pager --rate 500 -o $name.vgp -- ../program" /dev/null
}
user=$as_user
exits 0 $as_user env DISPLAY=:7 BROWSER="$dir/fake/browser" \
	"$VGTOOL" record --view --no-pager --rate 500 -o fake/no_terminal.vgp -- ./program
has err 'vgtool record: fake/no_terminal.html: open it in a browser'
for variable in NOTHING SSH_CONNECTION SUDO_UID DOAS_USER; do
	display=DISPLAY
	[ $variable != NOTHING ] || display=NO_DISPLAY
	on_terminal $variable $display=:7 $variable=1
	has out "vgtool record: $variable.html: open it in a browser"
done
if [ "$(id -u)" = 0 ]; then
	user=
	on_terminal root DISPLAY=:7
	has out 'vgtool record: root.html: open it in a browser'
	user=$as_user
fi
on_terminal x11 DISPLAY=:7
has out "vgtool record: x11.html: started $dir/fake/browser to show it"
await 120 'the browser' grep -q x11 fake/opened
on_terminal wayland WAYLAND_DISPLAY=wayland-0
await 120 'the browser' grep -q wayland fake/opened
# A browser that does not exist: xdg-open is next
on_terminal other DISPLAY=:7 BROWSER="/nonexistent %s" PATH="$dir/fake:$PATH"
has out 'vgtool record: other.html: started xdg-open to show it'
await 120 'xdg-open' grep -q other fake/opened
printf "$dir/fake/%s.html\n" x11 wayland other >expected
cmp fake/opened expected || fail "browsers were started with $(cat fake/opened)"
holds fake/x11.html 'it.title === "program"'
