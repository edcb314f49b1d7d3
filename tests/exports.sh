#!/bin/sh
# exports.sh: what ptprof writes for compilers, linkers and viewers of coverage,
# next to what the recorder saw. In make test-full the programs that it is for read
# it; with VIEWS=1 (make test-views) they have to be there.

. "$(dirname "$0")/check/lib.sh"
build=$(cd "$root" && cd "${BUILD:-build}" && pwd) || exit 2
CC=${CC:-cc}
cd "$root" || exit 2
recording=examples/recording

prof() {
    timeout 300 "$build/ptprof" --quiet "$@"
}

# same WHAT: $tmp/want and $tmp/got, whatever their order.
same() {
    sort "$tmp/want" >"$tmp/want.sorted"
    sort "$tmp/got" | diff "$tmp/want.sorted" - >"$tmp/why"
    if [ -s "$tmp/want" ] && [ ! -s "$tmp/why" ]; then pass
    else fail_with "$1" "$tmp/why"; fi
}

# Addresses that the recorder saw.
ips() {
    od -An -v -tx8 -w8 "$1" | sed 's/^ *0*//'
}

# judge WHAT BOLT AUTOFDO: both have what is in $tmp/truth. BOLT has no runs of
# one instruction; AutoFDO does not say how a run began.
judge() {
    awk '$1 == "B" || $2 != $3' "$tmp/truth" >"$tmp/want"
    awk '{sub(/^[Ff]/, "r"); print $1, $2, $3, $4}' "$2" | awk '
        {n = $NF; sub(/ [0-9]*$/, ""); sum[$0] += n}
        END {for (s in sum) print s, sum[s]}' >"$tmp/got"
    same "$1: --bolt"
    sed 's/X:0/0/' "$tmp/truth" >"$tmp/want"
    # Each list begins with how many lines it has.
    awk -F: '/:/ {
            left--
            words = $1
            if (sub(/->/, " ", words)) words = "B " words
            else {sub(/-/, " ", words); words = "r " words}
            sum[words] += $2
            next
        }
        {if (left) bad = 1; left = $1; lists++}
        END {
            for (s in sum) print s, sum[s]
            if (left || bad || lists != 3) print "a list has another length"
        }' "$3" >"$tmp/got"
    same "$1: --autofdo"
}

# ---- the recording that comes with the examples ----

objdump -d $recording/program >"$tmp/code"
ips $recording/ips.u64 >"$tmp/ips"
awk -v base=0 -f tests/exports.awk "$tmp/code" "$tmp/ips" >"$tmp/truth"
pt="--pt $recording/trace.pt --elf $recording/program"
# shellcheck disable=SC2086 # words
prof --bolt "$tmp/bolt" --autofdo "$tmp/afdo" --dso program $pt
judge "a recording" "$tmp/bolt" "$tmp/afdo"
# Of a run it is known what led there: a jump, or something else.
if awk '$1 == "B" {n = $4; jump[$3] += n}
    $1 == "F" && !($2 in jump) {exit 1}' "$tmp/bolt" &&
    grep -q '^F' "$tmp/bolt" && grep -q '^f' "$tmp/bolt"; then pass
else fail_with "F and f" "$tmp/bolt"; fi

# covered FILE: each byte that a drcov file says was executed, by an address of the
# linker; $tmp/read is what mock/drcov.c reads of it.
$CC -std=c99 $WARN -O1 -o "$tmp/reader" tests/mock/drcov.c || exit 2
covered() {
    "$tmp/reader" "$1" >"$tmp/read" 2>&1 || fail_with "drcov: $1" "$tmp/read"
    sed 1d "$tmp/read" | while read -r at _ size _; do
        echo "$((0x$at)) $((0x$size))"
    done | awk '{for (i = 0; i < $2; i++) printf "%x\n", $1 + i}'
}

# Code that was executed is what the recorder saw, byte by byte; no block is
# twice.
# shellcheck disable=SC2086 # words
prof --drcov "$tmp/drcov" $pt
covered "$tmp/drcov" >"$tmp/got"
sort -u "$tmp/ips" | awk -f tests/exports.awk -v bytes=1 "$tmp/code" - >"$tmp/want"
same "--drcov"

# Another view with it is what it was without.
# shellcheck disable=SC2086 # words
{
    prof --flat $pt >"$tmp/want"
    prof --flat --bolt "$tmp/again" $pt >"$tmp/got" # the only file
}
same "--flat with --bolt"
if cmp -s "$tmp/bolt" "$tmp/again"; then pass; else fail "--bolt with --flat"; fi

# refuse STATUS TEXT ARGUMENT...
refuse() {
    want=$1 text=$2
    shift 2
    # shellcheck disable=SC2086 # words
    timeout 60 "$build/ptprof" --quiet "$@" $pt >"$tmp/out" 2>"$tmp/err"
    status=$?
    if [ $status -eq "$want" ] && grep -q -e "$text" "$tmp/err"; then pass
    else fail_with "ptprof $*: status $status, not $want: $text" "$tmp/err"; fi
}
refuse 1 '--bolt: nothing ran in nothing; files: .*program' \
    --bolt "$tmp/none" --dso nothing
[ ! -e "$tmp/none" ] && pass || fail "a file that nobody asked for"
refuse 2 '--dso: there is no --bolt' --dso program
refuse 1 'cannot write .*/no/file' --bolt "$tmp/no/file" --dso program

# ---- a page ----

# Without a viewer beside the tools nothing is written, and nothing is fetched.
mkdir "$tmp/alone" && cp "$build/ptprof" "$tmp/alone" || exit 2
# shellcheck disable=SC2086 # words
"$tmp/alone/ptprof" --html "$tmp/page.html" $pt >"$tmp/out" 2>"$tmp/err"
status=$?
if [ $status -eq 1 ] && grep -q 'no viewer.html' "$tmp/err" &&
    [ ! -e "$tmp/page.html" ]; then pass
else fail_with "--html without a viewer: status $status" "$tmp/err"; fi
printf '<title>x</title>\n@PAGE@\n<p>end</p>\n' >"$tmp/alone/viewer.html"
# shellcheck disable=SC2086 # words
"$tmp/alone/ptprof" --quiet --html "$tmp/page.html" $pt >"$tmp/out" 2>"$tmp/err"
prof --flat --min 0 $pt | sed 1d | awk '{print $1, $2, $3, $4, $5}' >"$tmp/want"
sed -n 's/<td>\(<a [^>]*>\)*/ /g; s/<\/a>//; s/^<tr> //p' "$tmp/page.html" \
    >"$tmp/got"
same "the page's table is --flat"
if sed 1q "$tmp/page.html" | grep -q '^<title>x' && tail -n 1 "$tmp/page.html" |
    grep -q '^<p>end' && grep -q 'id="profile">{"$schema"' "$tmp/page.html"
then pass; else fail_with "--html" "$tmp/page.html"; fi

# ---- lines ----

# Of lines with a statement this is what gcov counts: exactly if it is their only
# one and flow goes on after it, else whether it was executed.
cat >"$tmp/lines.cc" <<'END2'
#include <pthread.h>
template <class T> static T twice(T x)
{
    T y = x + x;
    return y;
}
static inline __attribute__((always_inline)) int often(int x)
{
    int y = x * 3;
    return y;
}
struct counter {
    int n;
    counter() : n(0)
    {
        n = 1;
    }
    void add(int x)
    {
        n += x;
    }
};
static int sum(int n)
{
    int s = 0;
    for (int i = 0; i < n; i++) {
        if (i % 3 == 0) {
            s += i;
        } else if (i % 5 == 0) {
            s -= twice(i);
        } else {
            s ^= 1;
        }
        s += often(i);
    }
    return s;
}
static int never(int x)
{
    int y = x;
    return y + 2;
}
static int choose(int x)
{
    switch (x) {
    case 1:
        return 10;
    case 2:
        return 20;
    default:
        return 30;
    }
}
static void *work(void *n)
{
    long s = sum(5);
    s += choose(2);
    s += twice(2.5) > 4;
    return (void *) s;
}
int main(int argc, char **argv)
{
    counter c;
    pthread_t t;
    pthread_create(&t, nullptr, work, argv);
    int s = sum(20);
    if (argc > 7)
        s += never(s);
    for (int i = 0; i < 4; i++)
        s += choose(i);
    while (s > 100)
        s /= 2;
    s += often(s);
    try {
        s += 7;
        if (s)
            throw s;
        s += 9;
    } catch (int x) {
        c.add(x);
    }
    pthread_join(t, nullptr);
    return s == -1 ? 1 : 0;
}
END2

# hits INFO: LINE COUNT, of lines.cc.
hits() {
    awk -F: '/^SF/ {ours = $2 ~ /[/]lines[.]cc$/}
        /^DA/ && ours {sub(/,/, " ", $2); print $2}' "$1" | sort
}

covered_lines() {
    g++ -O0 -g -static -pthread -o "$tmp/lines" "$tmp/lines.cc" &&
        (cd "$tmp" && mkdir gcov && cd gcov && g++ -O0 --coverage -static \
            -pthread -o lines ../lines.cc && ./lines &&
            gcov -t ./*.gcda 2>"$tmp/why") >"$tmp/gcov.text" || exit 2
    alone "$build/ptrecord" --quiet --time cyc --cpus 2 --perf-data \
        "$tmp/lines.data" -- "$tmp/lines" >"$tmp/recorded" 2>&1
    prof --lcov "$tmp/all.info" "$tmp/lines.data"
    hits "$tmp/all.info" >"$tmp/ours"
    # Templates are listed by instance, too: the first row of a line is the sum.
    awk -F: '{
            gsub(/ /, "", $1); gsub(/ /, "", $2); sub(/[*]$/, "", $1)
            if ($1 == "-" || $2 !~ /^[1-9]/ || seen[$2]++) next
            print $2, $1 ~ /^[#=]/ ? 0 : $1
        }' "$tmp/gcov.text" | sort >"$tmp/theirs"
    awk '
        FILENAME == ARGV[1] {ours[$1] = $2; next}
        FILENAME == ARGV[2] {theirs[$1] = $2; next}
        {
            if (!/;$/) {
                if (FNR in ours && FNR in theirs &&
                    !ours[FNR] != !theirs[FNR]) print FNR ": " $0
                next
            }
            if (!(FNR in theirs) && !(FNR in ours)) next # a declaration
            lines++
            if (!(FNR in theirs) || !(FNR in ours) || ours[FNR] != theirs[FNR])
                print FNR ": " ours[FNR] ", not " theirs[FNR] ": " $0
        }
        END {if (lines < 30) print "only " lines " lines"}
        ' "$tmp/ours" "$tmp/theirs" "$tmp/lines.cc" >"$tmp/why"
    expect_empty "lines: ours, and gcov" "$tmp/why"

    # All threads are the sum of each.
    for t in $("$build/ptflow" --threads "$tmp/lines.data" | cut -d' ' -f1); do
        prof --lcov "$tmp/one.info" --tid "$t" "$tmp/lines.data" &&
            hits "$tmp/one.info" >"$tmp/hits.$t"
    done
    cat "$tmp"/hits.* | awk '{sum[$1] += $2} END {for (l in sum) print l, sum[l]}' \
        >"$tmp/got"
    cp "$tmp/ours" "$tmp/want"
    [ "$(ls "$tmp"/hits.* | wc -l)" -eq 2 ] && same "lines by thread" ||
        fail "two threads"

    # A reader: how many lines there are, and were executed.
    lcov --summary "$tmp/all.info" >"$tmp/said" 2>&1
    want=$(awk -F: '/^LF/ {f += $2} /^LH/ {h += $2} END {print h " of " f}' \
        "$tmp/all.info")
    if grep -q "lines.*($want lines)" "$tmp/said"; then pass
    else fail_with "lcov: $want" "$tmp/said"; fi
}

# ---- what they are for reads them ----

# tool COMMAND PACKAGE: with VIEWS=1 it fails where that is missing.
tool() {
    [ -n "$VIEWS" ] || { have "$@"; return; }
    command -v "$1" >/dev/null && return 0
    fail "$1 is missing (package $2)"
    return 1
}

# Two files, threads and a loop; it prints where its files are.
cat >"$tmp/lib.c" <<'END2'
int mix(int a, int b);
__attribute__((noinline)) static int rarely(int a) {return a * 3;}
int mix(int a, int b)
{
    return a == -77 ? rarely(b) : a + b;
}
END2
cat >"$tmp/main.c" <<'END2'
#include <pthread.h>
#include <stdio.h>
int mix(int a, int b);
static volatile int sink;
#define APART __attribute__((noinline))
APART int cold_one(int x) {sink = x; return x * 7;}
APART int leaf(int x) {sink = x; return x + 1;}
APART int cold_two(int x) {sink += x; return x * 5;}
APART int hot(int n)
{
    int s = 0;
    for (int i = 0; i < n; i++) {
        if (i == 1000000) s += cold_two(i);
        s += leaf(i);
        s = mix(s, i);
        if (i % 3 == 0) s ^= 5;
    }
    return s;
}
static void *work(void *n)
{
    sink += hot(*(int *) n);
    return n;
}
int main(int argc, char **argv)
{
    int a = 120, b = 230;
    char line[512];
    pthread_t t;
    FILE *f = fopen("/proc/self/maps", "r");
    while (f && fgets(line, sizeof line, f)) fputs(line, stdout);
    if (argc > 5) return cold_one(argc);
    pthread_create(&t, 0, work, &a);
    sink += hot(b);
    pthread_join(t, 0);
    return 0;
}
END2

# base NAME: where the first byte of a file was.
base() {
    awk -v name="/$1\$" '$NF ~ name && $3 == "00000000" {
        sub(/-.*/, ""); print; exit}' "$tmp/maps"
}

# profiled FILE: BOLT's and AutoFDO's files of it, checked next to the recorder's.
profiled() {
    prof --bolt "$tmp/$1.bolt" --autofdo "$tmp/$1.afdo" --dso "$1" \
        "$tmp/two.data"
    objdump -d "$tmp/$1" >"$tmp/code"
    awk -v base="$(base "$1")" -f tests/exports.awk "$tmp/code" \
        "$tmp"/two.d/*.ips >"$tmp/truth"
    judge "$1" "$tmp/$1.bolt" "$tmp/$1.afdo"
}

# Bolt's own name is not that of Debian's link.
perf2bolt=/usr/lib/llvm-16/bin/perf2bolt

# read_by_bolt FILE: what it prints is in $tmp/said, the profile in FILE.fdata.
read_by_bolt() {
    $perf2bolt -pa -p "$tmp/$1.bolt" -o "$tmp/$1.fdata" "$tmp/$1" \
        >"$tmp/said" 2>&1
    lines=$(wc -l <"$tmp/$1.bolt")
    if grep -q "read $lines aggregated LBR entries" "$tmp/said" &&
        ! grep -q WARNING.*mismatch "$tmp/said" &&
        grep -q 'unknown regions: 0 (' "$tmp/said"; then pass
    else fail_with "perf2bolt on $1" "$tmp/said"; fi
}

# order NAME...: these functions in the order of their addresses.
order() {
    file=$1
    shift
    nm "$file" | sort | awk -v names=" $* " '
        index(names, " " $3 " ") {printf "%s%s", sep, $3; sep = " "}'
}

compilers() {
    # Without -q bolt cannot move functions; autofdo reads DWARF 4.
    flags="-gdwarf-4 -fdebug-info-for-profiling -O2 -Wl,-q"
    # shellcheck disable=SC2086 # flags
    clang-16 $flags -fPIC -shared -o "$tmp/libmix.so" "$tmp/lib.c" &&
        clang-16 $flags -fPIE -pie -pthread -o "$tmp/two" "$tmp/main.c" \
            "$tmp/libmix.so" || exit 2
    alone "$build/ptrecord" --quiet --time cyc --cpus 2 --perf-data \
        "$tmp/two.data" -o "$tmp/two.d" -- "$tmp/two" >"$tmp/maps" 2>"$tmp/why"
    if [ $? -eq 77 ]; then
        skip "programs cannot be recorded here"
        return
    fi
    for t in "$tmp"/two.d/*.u64; do ips "$t" >"${t%u64}ips"; done
    profiled two
    profiled libmix.so

    # By default it is the program's; a run that ends in a call is in it.
    prof --bolt "$tmp/default" "$tmp/two.data"
    if cmp -s "$tmp/default" "$tmp/two.bolt"; then pass
    else fail "the default of --dso"; fi
    objdump -d "$tmp/two" |
        sed -n '/<hot>:$/,/^$/s/^ *\([0-9a-f]*\):.*call .*<leaf>$/\1/p' \
        >"$tmp/call"
    if grep -q "^[Ff] [0-9a-f]* $(cat "$tmp/call") 3[0-9]*$" "$tmp/two.bolt"
    then pass; else fail_with "a run that ends in a call" "$tmp/two.bolt"; fi

    read_by_bolt libmix.so
    read_by_bolt two
    if grep -q '^1 hot [0-9a-f]* 1 leaf 0 0 350$' "$tmp/two.fdata" &&
        grep -q '^1 leaf [0-9a-f]* 1 hot [0-9a-f]* 0 350$' "$tmp/two.fdata"
    then pass; else fail_with "perf2bolt's branches" "$tmp/two.fdata"; fi
    llvm-bolt-16 "$tmp/two" -o "$tmp/moved" -data "$tmp/two.fdata" \
        -reorder-functions=hfsort+ -reorder-blocks=ext-tsp >"$tmp/said" 2>&1
    was=$(order "$tmp/two" cold_one leaf cold_two hot)
    is=$(order "$tmp/moved" cold_one leaf cold_two hot)
    if [ "$was" = "cold_one leaf cold_two hot" ] &&
        [ "$is" = "cold_one cold_two hot leaf" ] && "$tmp/moved" >"$tmp/out"
    then pass; else fail "llvm-bolt: $was, then $is"; fi

    create_llvm_prof --binary="$tmp/two" --profile="$tmp/two.afdo" \
        --profiler=text --format=text --out="$tmp/two.prof" 2>"$tmp/why"
    # FUNCTION:TOTAL:HEAD, how often it was entered; lines and calls below it.
    if grep -q '^hot:[0-9]*:2$' "$tmp/two.prof" &&
        grep -q '^leaf:[0-9]*:350$' "$tmp/two.prof" &&
        grep -q '^ [0-9.]*: 350 leaf:350$' "$tmp/two.prof" &&
        ! grep -q '^cold' "$tmp/two.prof" &&
        clang-16 -O2 -gdwarf-4 -fdebug-info-for-profiling -c \
            -fprofile-sample-use="$tmp/two.prof" -Werror -o "$tmp/main.o" \
            "$tmp/main.c" 2>"$tmp/why"
    then pass; else fail_with "create_llvm_prof" "$tmp/two.prof"; fi
}
# Names that are not text of a page; a view of its own for each of two threads.
page_in_a_browser() {
    cat >"$tmp/names.c" <<'END2'
#include <pthread.h>
#define APART __attribute__((noinline))
static volatile int sink;
APART void plain(void) {sink++;}
APART void script(void) {sink += 2;}
APART void image(void) {sink += 3;}
static void *work(void *n)
{
    for (int i = 0; i < 50; i++) plain();
    return n;
}
int main(void)
{
    pthread_t t;
    pthread_create(&t, 0, work, 0);
    for (int i = 0; i < 50; i++) {script(); image();}
    pthread_join(t, 0);
    return 0;
}
END2
    script='</script><script>alert(1)</script>'
    image='"><img src=http://192.0.2.1/x onerror=alert(2)>&amp;'
    $CC -O1 -w -static -pthread -o "$tmp/named" "$tmp/names.c" &&
        objcopy --redefine-sym script="$script" --redefine-sym image="$image" \
            "$tmp/named" || exit 2
    alone "$build/ptrecord" --quiet --time cyc --cpus 2 --perf-data \
        "$tmp/named.data" -- "$tmp/named" >"$tmp/recorded" 2>&1
    prof --html "$tmp/named.html" "$tmp/named.data"
    size=$(wc -c <"$tmp/named.html")
    data=$(sed -n '/id="profile">/,/<\/script>/p' "$tmp/named.html" | wc -c)
    [ $((size - data)) -lt 1500000 ] && pass || fail "the page has $size bytes"
    if head -n 8 "$tmp/named.html" |
        grep -q "Content-Security-Policy.*default-src 'none'" &&
        grep -q 'Permission is hereby granted' "$tmp/named.html" &&
        grep -qi 'SIL OPEN FONT LICENSE' "$tmp/named.html"; then pass
    else fail "policy and licences"; fi
    # No network at all, where one can be had without.
    off=
    unshare -n true 2>/dev/null && off='unshare -n'
    if timeout 300 $off node tests/check/page.js "$tmp/named.html" plain main \
        "$script" "$image" >"$tmp/why" 2>&1 && [ ! -s "$tmp/why" ]; then pass
    else fail_with "the page in a browser" "$tmp/why"; fi
    # That can fail: a request, an error, a name that is not there.
    sed 's|^<dl>|<img src="http://192.0.2.1/x">&|' "$tmp/named.html" >"$tmp/bad.html"
    timeout 300 $off node tests/check/page.js "$tmp/bad.html" nobody >"$tmp/why" 2>&1
    if grep -q '^request: http://192.0.2.1\|^log: ' "$tmp/why" &&
        grep -q '^no row: nobody' "$tmp/why"; then pass
    else fail_with "a page that is wrong" "$tmp/why"; fi

    # More than 20 MB are folded, as the page says.
    alone "$build/ptrecord" --quiet -o "$tmp/many.d" -- $recording/program \
        >"$tmp/recorded" 2>&1
    for i in $(seq 800); do cat "$tmp/many.d/trace.pt"; done >"$tmp/many"
    prof --html "$tmp/many.html" --elf $recording/program --pt "$tmp/many"
    data=$(($(wc -c <"$tmp/many.html") - $(wc -c <"$build/viewer.html")))
    if [ "$data" -gt 100000 ] && [ "$data" -lt 21000000 ] &&
        grep -q '<dt>Folded</dt>.*--min [0-9.]*[kM]*)' "$tmp/many.html"; then pass
    else fail "a page of much data: $data bytes"; fi
    prof --flat --min 0 --elf $recording/program --pt "$tmp/many" |
        awk '$5 == "fibonacci" {print $4}' >"$tmp/want"
    sed -n 's/^<tr>.*<td>\([0-9]*\)<td><a [^>]*>fibonacci<.*/\1/p' \
        "$tmp/many.html" >"$tmp/got"
    same "functions of a folded page"
}
read_by_others() {
    if tool $perf2bolt bolt-16 && tool llvm-bolt-16 bolt-16 &&
        tool clang-16 clang-16 && tool create_llvm_prof autofdo; then
        compilers
    fi
    if tool node nodejs && tool chromium chromium && tool objcopy binutils; then
        if [ -f "$build/viewer.html" ]; then page_in_a_browser
        elif [ -n "$VIEWS" ]; then fail "no viewer.html (make deps-full)"
        else skip "viewer.html is missing (make deps-full)"; fi
    fi
    if tool g++ g++ && tool gcov gcc && tool lcov lcov; then covered_lines; fi
}
rest 20 read_by_others
report
