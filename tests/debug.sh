#!/bin/sh
# debug.sh: what somebody asks who looks for a fault: lines, bytes and words of
# instructions as objdump and addr2line have them; where threads died, and stacks,
# as gdb and the recorder have them.

. "$(dirname "$0")/check/lib.sh"
build=$(cd "${BUILD:-build}" && pwd) || exit 2
export HOME="$tmp"
cd "$tmp" || exit 2
CC=${CC:-cc}
# A program that dies may leave a core file. AddressSanitizer forbids that to the
# programs that a tool starts, unless it is told otherwise.
ulimit -c unlimited 2>/dev/null
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}disable_coredump=0"

# record NAME OPTION...: compile NAME.c, and record it as NAME.data.
record() {
    name=$1
    shift
    $CC -O0 -g -w -no-pie -pthread -o "$name" "$name.c" "$@" ||
        { fail "$name.c"; return 1; }
    timeout 300 "$build/ptrecord" --quiet --perf-data "$name.data" --time cyc \
        -- "./$name" >out 2>err </dev/null
    ! no_ptrace err || { echo "SKIP debug: no ptrace here"; skipped=1; report; exit; }
    [ -s "$name.data" ] || { fail_with "$name.data" err; return 1; }
}

tool() {
    timeout 300 "$build/$@" 2>err
}

tail -n 1 "$build/flags" | grep -q -e ' -ldw ' || {
    echo "SKIP debug: made without libdw"; skipped=1; report; exit; }

# ---- ptflow's srcline, bytes, disasm ----

cat >lines.c <<'END'
static volatile double half = 0.5;
static int add(int n, const char *text)
{
    for (int i = 0; text[i]; i++)
        n += text[i] ^ i;
    return n;
}
#line 70 "od\033d \\x\n.c"
static int odd(int n)
{
    half *= n;
    return n < 0 ? -n : n % 10;
}
int main(int count, char **arguments)
{
    volatile int *const to = count > 1 ? 0 : &count;
    *to = 1;
    return odd(add(3, "lines")) == 77;
}
END
record lines -static -gdwarf-4 || { report; exit; }
for what in add odd main; do
    tool ptflow --quiet --fields ip,bytes,srcline --func $what lines.data
done | sort -u >got
cut -d ' ' -f 1 got >ips
dump() {
    objdump -d -w --start-address="0x$(head -n 1 ips)" \
        --stop-address=$((0x$(tail -n 1 ips) + 1)) "$@" lines
}
dump --insn-width=15 | awk -F '\t' 'NF >= 2 {
    gsub(/[ :]/, "", $1); gsub(/ /, "", $2); print $1, $2}' >bytes
# One name has an escape and the end of a line in it.
sed 's/^/0x/' ips | xargs addr2line -e lines | perl -0777 -pe \
    's/od\033d (\S+)\n/od\\x1bd $1\\x0a/g; s/ [(]dis.*//mg; s/^.*:[?]$/?/mg' >rows
awk 'NR == FNR {b[$1] = $2; next} {getline row <"rows"; print $1, b[$1], row}' \
    bytes ips >want
[ "$(wc -l <ips)" -gt 40 ] && grep -q 'x0a.c:7[0-9]$' got && cmp -s got want &&
    pass || {
    diff got want >bad
    fail_with "bytes and lines (<), and those of objdump and addr2line (>)" bad
}
tool ptflow --quiet --json -j 2 --fields ip,bytes,srcline lines.data | grep 'od ' |
    sed 's/.*"ip":"0x//; s/","[a-z]*":"/ /g; s/"}//' | sort -u >json
grep 'x1b' got | sed 's/\\x1b/ /; s/ \\x\\x0a/ \\\\x /' >want
grep -q 'od d ' json && cmp -s json want && pass || {
    diff json want >bad
    fail_with "--json (<), and the text (>)" bad
}
tail -n 1 "$build/flags" | grep -q -e -lZydis && {
    for what in add odd main; do
        tool ptflow --quiet --fields ip,disasm --func $what lines.data
    done | sort -u | sed 's/[ ]//2g; s/0x//g
        s/ \(j\|set\|cmov\)nle/ \1g/; s/ \(j\|set\|cmov\)nl/ \1ge/
        s/ \(j\|set\|cmov\)nbe/ \1a/; s/ \(j\|set\|cmov\)nb/ \1ae/
        s/ \(jn\|j\|setn\|set\|cmovn\|cmov\)z/ \1e/' >got
    dump -M intel | awk -F '\t' 'NR == FNR {on[$1] = 1; next}
        {gsub(/[ :]/, "", $1); sub(/ *[<#].*/, "", $3); gsub(/0x/, "", $3)
         gsub(/ /, "", $3); $3 = tolower($3)} $1 in on {print $1, $3}' \
        ips - | sort -u >want
    cmp -s got want && pass || {
        diff got want >bad
        fail_with "disasm (<), and objdump (>)" bad
    }
}
# last FOLDER: the address of the last instruction, as the recorder noted it.
last() {
    od -A n -t x8 -w8 "$1"/*.u64 | tail -n 1 | sed 's/^ *0*//'
}

# ---- ptprof --annotate and --branches ----

cat >ways.c <<'END'
static volatile int odd, even, big;
static int count(int n)
{
    for (int i = 0; i < n; i++) {
        if (i % 2)
            odd++;
        else
            even++;
        if (i > 90)
            big++;
    }
    return odd;
}
int main(void)
{
    return count(100) + count(7) != 50;
}
END
$CC -O0 -g -w -no-pie -static -o ways ways.c
timeout 300 "$build/ptrecord" --quiet --perf-data ways.data -o ways.log -- ./ways \
    >out 2>err </dev/null
start=$(nm ways | sed -n 's/^0*\([0-9a-f]*\) t count$/\1/p')
# What the recorder counted: each address of the function, how often it ran, and was
# followed by another one than the next.
objdump -d -w --disassemble=count ways | sed -n 's/^ *\([0-9a-f]*\):	.*	\([a-z]*\).*/\1 \2/p' >code
od -A n -v -t x8 -w8 ways.log/*.u64 | sed 's/^ *0*//' | awk -v start="$start" '
    function number(hex,  i, n) {
        for (i = n = 0; i < length(hex); i++)
            n = 16 * n + index("123456789abcdef", substr(hex, i + 1, 1))
        return n
    }
    NR == FNR {if (last) after[last] = $1; last = $1; word[$1] = $2; next}
    before {ran[before]++; went[before] += $1 != after[before]; before = ""}
    $1 in word {before = $1}
    END {for (ip in ran)
        printf "%d +0x%x %s\n", ran[ip], number(ip) - number(start),
            word[ip] ~ /^j[^m]/ ? sprintf("%.1f%%", 100 * went[ip] / ran[ip]) : "-"
    }' code - | sort >want
tool ptprof --quiet --annotate count ways.data >got
sed -n 's/^ *\([0-9]*\)  *[0-9]*  *\([0-9.%-]*\)  \(+0x[0-9a-f]*\) .*/\1 \3 \2/p' got | sort >ran
[ "$(wc -l <want)" -gt 25 ] && grep -q '%' want && cmp -s ran want && pass || {
    diff ran want >bad
    fail_with "--annotate (<), and the recorder (>)" bad
}
sed -n '/^ \{28\}\|^ \{20,27\}[0-9]/{s/^ *\([0-9][0-9]*\) \(.*\)/\1 \2/p}' got >rows
awk 'NR == FNR {line[FNR] = $0; next}
    {n = $1; sub(/^[0-9]* /, ""); if ($0 != line[n]) print n, $0; seen[n] = 1}
    END {if (!(5 in seen && 10 in seen)) print "lines are missing"}' ways.c rows >bad
expect_empty "--annotate: lines of source" bad
tool ptprof --quiet --branches --min 0 ways.data >got
grep '%' want | sed 's/^\([0-9]*\) \(.*\) \(.*\)/\1 \3 count\2/' | sort >ran
sed -n 's/^ *\([0-9]*\)  *\([0-9.]*%\)  *[0-9]*  \(count+[^ ]*\) .*ways.c:[0-9]*)$/\1 \2 \3/p' got |
    sort >some
awk 'NR > 2 {if (NR > 3 && $3 > rarer) print; rarer = $3; n++; same += $3 == 0}
    NR == 1 {all = $1; one = $3}
    END {if (n != all || same != one) print n, same}' got >bad
[ -s ran ] && cmp -s ran some && [ ! -s bad ] && pass || fail_with "--branches" got

# Names with an escape in them: of a source file, of a thread, of a function that
# dies.
timeout 300 "$build/ptrecord" --quiet --perf-data hostile.data --time cyc \
    -- ./lines die >out 2>err </dev/null
LC_ALL=C perl -0777 -pi -e 's/(?<![\/.])lines\0/l\033nes\0/g' hostile.data
name=$(printf 'm\033in')
objcopy --redefine-sym main="$name" lines
for view in "--annotate $name" "--branches --min 0" "--at 999999" \
    "--before crash --last 9"; do
    # shellcheck disable=SC2086 # words
    timeout 300 "$build/ptprof" --quiet $view hostile.data >got 2>&1
    LC_ALL=C grep -q "$(printf '\033')" got && fail_with "hostile names: $view" got ||
        { grep -q 'm[^a]*in' got && grep -q 'od[^d]*d ' got && pass ||
            fail_with "$view: no hostile names" got; }
done

# ---- ptprof --before crash ----

# frames FILE NAME: a stack's functions and lines as ptprof or gdb prints them, of
# the source files NAME*.c.
frames() {
    sed -n 's/^#[0-9]*  *\(0x[0-9a-f]* in \)\{0,1\}\([A-Za-z_0-9]*\) .*[ (/]\('"$2"'[a-z]*[.]c:[0-9]*\))\{0,1\}\(, inlined\)\{0,1\}$/\2 \3/p' "$1"
}

# crash NAME OPTION...: record NAME.c; where it died, and its stack, are gdb's.
crash() {
    record "$@" || return
    timeout 60 gdb -nx -batch -ex run -ex bt "./$1" >gdb 2>&1 </dev/null
    tool ptprof --quiet --before crash "$1.data" >got
    awk 'NF == 0 {exit} {print}' got >first
    frames gdb "$1" | uniq >want # a deep stack is not shown whole
    frames first "$1" | uniq >stack
    [ "$(wc -l <want)" -gt 1 ] && cmp -s stack want && pass || {
        diff stack want >bad
        cat first gdb >>bad
        fail_with "$1: the stack (<), and gdb's (>)" bad
    }
}

cat >segv.c <<'END'
struct node { struct node *next; int value; };
static int value_of(const struct node *n)
{
    return n->value;
}
static int sum(const struct node *n)
{
    int s = 0;
    for (;;) {
        s += value_of(n);
        n = n->next;
    }
}
int main(void)
{
    struct node a = {0, 1}, b = {&a, 2};
    return sum(&b);
}
END
cat >abrt.c <<'END'
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *hold(void *p)
{
    pthread_mutex_lock(&lock);
    return p;
}
static void check(int n)
{
    if (n == 3)
        abort();
}
static void *work(void *p)
{
    usleep(100000);
    for (int i = 0; i < 5; i++)
        check(i);
    return p;
}
int main(void)
{
    pthread_t t, u;
    pthread_mutex_lock(&lock);
    pthread_create(&t, NULL, hold, NULL);
    pthread_create(&u, NULL, work, NULL);
    pthread_join(u, NULL);
    return 0;
}
END
# An end that is not a crash, or of which it is not known: what is said of each thread.
cat >ends.c <<'END'
#include <pthread.h>
#include <sys/syscall.h>
static volatile long number = SYS_exit_group;
static volatile int up;
static void *spin(void *p)
{
    for (up = 1; ; up++)
        ;
    return p;
}
static int leave(int n)
{
    long result = SYS_exit_group;
    if (n == 3)
#ifdef COMPUTED
        __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(0)
                         : "rcx", "r11", "memory");
#else
        __asm__ volatile("mov $231, %%eax; syscall" : "=a"(result) : "D"(0)
                         : "rcx", "r11", "memory");
#endif
    return n;
}
int main(void)
{
    pthread_t t;
    int sum = 0;
#ifdef THREAD
    pthread_create(&t, NULL, spin, NULL);
    while (!up)
        ;
#endif
    for (int i = 0; i < 5; i++)
        sum += leave(i);
    return sum;
}
END
cat >killed.c <<'END'
#include <signal.h>
#include <unistd.h>
static int hold(void)
{
    return pause();
}
int main(void)
{
    if (fork() == 0)
        return kill(getppid(), SIGKILL);
    return hold();
}
END
if tail -n 1 "$build/flags" | grep -q -e -lZydis; then words=1; else words=; fi
# ends NAME WANT OPTION...: what is said of the threads of program NAME.
ends() {
    name=$1 want=$2
    shift 2
    record "$name" "$@" || return
    tool ptprof --quiet --before crash "$name.data" >got
    [ "$(sed -n "s/^$name [0-9]* \([a-z].*\), at [0-9.]*\$/\1/p" got)" = "$want" ] &&
        pass || fail_with "$name $*: how it ended" got
}
unknown='ended, how is not known'
seems='died, it seems of a signal'
ends ends "$([ $words ] || echo "$unknown")" -static
ends ends "$unknown" -static -DCOMPUTED
ends ends "$([ $words ] || printf '%s\n' "$unknown" "$unknown")" -static -DTHREAD
ends ends "$unknown
$unknown" -static -DTHREAD -DCOMPUTED
[ ! $words ] || ends killed "$seems" -static
# A recorder that stops says nothing of what becomes of them.
"$build/ptrecord" --quiet --perf-data ends.data --max 5000 --time cyc -- ./ends \
    >out 2>err
tool ptprof --quiet --before crash ends.data >got
grep -q '^ends [0-9]* was there when the recording ended' got && pass ||
    fail_with "--max" got

# What the trace's event says of a page fault, and the last PTWRITE: a ptwrite and a
# load, of which the trace has PTW, EVD, CFE and FUP, as the manual has them.
perl -e 'print pack "H*", "f30faee0" . "8b00"' >code
perl -e 'print pack "H*", "0282" x 8 . "9901" . "0223" . "71001000000000" .
    "02b2" . "2a00000000000000" . "7d001000000000" . "0253" . "00" .
    "00d0ea0d00000000" . "0213010e" . "7d041000000000" . "01"' >trace
# ... and a core file of a 32-bit program, that gdb reads as well.
perl -e 'my ($status, $info) = ("\0" x 144, "\0" x 128);
    substr($status, 24, 4) = pack "V", 1; # thread
    substr($status, 120, 4) = pack "V", 0x8049000;
    substr($info, 0, 16) = pack "V4", 11, 0, 1, 0xbadcafe0;
    my $notes = join "", map {pack("V3", 5, length $_->[1], $_->[0]) .
        "CORE\0\0\0\0" . $_->[1]} [1, $status], [0x53494749, $info];
    print "\x7fELF\1\1\1" . "\0" x 9 . pack("v2V5v6", 4, 3, 1, 0, 52, 0, 0, 52, 32,
        1, 0, 0, 0) . pack("V8", 4, 84, 0, 0, length $notes, 0, 0, 4) . $notes' >core32
tool ptprof --quiet --before crash --core core32 --pt trace --raw code:1000 >got
sed -n 's/^  a page fault, .* before \([0-9a-f]*\) .*/\1/p
    s/^  address \([0-9a-f]*\), as the trace.s event says$/\1/p
    s/^  PTWRITE wrote \([0-9a-f]*\) last, at \([0-9a-f]*\) .*/\1 \2/p' got >facts
printf '1004\ndead000\n2a 1000\n' | cmp -s - facts && pass ||
    fail_with "what the trace says" got
have gdb gdb && {
    sed -n 's/^trace 1 died of SIGSEGV (\([0-9]*\)), as the core.*/\1/p
        s/^  address \([0-9a-f]*\), as the core file says/\1/p
        s/.*file.s thread was elsewhere: at \([0-9a-f]*\)/\1/p' got >facts
    gdb -nx -batch -ex 'set osabi GNU/Linux' -ex 'core-file core32' \
        -ex 'p $_siginfo.si_signo' -ex 'p/x $_siginfo._sifields._sigfault.si_addr' \
        -ex 'p/x $eip' 2>out </dev/null | sed -n 's/^[$][123] = \(0x\)\{0,1\}//p' >want
    [ "$(wc -l <want)" -eq 3 ] && cmp -s facts want && pass ||
        fail_with "a 32-bit core file" got
}

if have gdb gdb; then
    rm -f core*
    crash segv -static
    tool ptprof --quiet --at 999999 segv.data >at
    frames at segv >stack
    cmp -s stack want && pass || fail_with "--at a time after the end" at
    grep -q '^segv [0-9]* died, it seems of a signal' first &&
        grep -q 'exception.* before [0-9a-f]* value_of+0x' first && pass ||
        fail_with "segv: what it says" first
    core=$(ls core* 2>out | head -n 1)
    if [ -n "$core" ]; then
        gdb -nx -batch -ex 'p $_siginfo.si_signo' \
            -ex 'p/x $_siginfo._sifields._sigfault.si_addr' segv "$core" \
            2>out </dev/null | sed -n 's/^[$][12] = \(0x\)\{0,1\}//p' >want
        tool ptprof --quiet --before crash --core "$core" segv.data | sed -n '
            s/^segv [0-9]* died of SIGSEGV (\([0-9]*\)), as the core.*/\1/p
            s/^  address \([0-9a-f]*\), as the core file says/\1/p' >got
        [ "$(wc -l <want)" -eq 2 ] && cmp -s got want && pass ||
            fail_with "--core: signal and address" got
        tool ptprof --quiet --before crash --core "$core" lines.data >got
        [ $? -eq 1 ] && grep -q 'no thread of this recording' err && pass ||
            fail_with "a core file of another process" err
        head -c 700 "$core" >cut
        tool ptprof --quiet --before crash --core cut segv.data >got
        [ $? -eq 1 ] && grep -q 'cut: .*[.]$' err && pass ||
            fail_with "a core file that is cut" err
    else
        skip "debug: kernel.core_pattern leaves no core files here"
    fi
    tool ptprof --quiet --before crash --core segv segv.data >got
    [ $? -eq 1 ] && grep -q 'segv: not a core file[.]$' err && pass ||
        fail_with "no core file" err
    crash abrt -static
    if [ $words ]; then call=' tgkill' with='died with its process'
    else call='' with=$unknown seems=$unknown; fi
    grep -q "^  the system call$call did not come back" first &&
        grep -q "^abrt [0-9]* $with" got && pass ||
        fail_with "abrt: what it says" got
    # All three threads, when one of them aborted.
    gdb -nx -batch -ex run -ex 'thread apply all bt' ./abrt >gdb 2>out </dev/null
    frames gdb abrt | sort >want
    time=$(sed -n "s/.* $seems, at \([0-9.]*\)$/\1/p" got | head -n 1)
    tool ptprof --quiet --at "$time" abrt.data >at
    for view in got at; do
        frames $view abrt | sort >stack
        [ "$(wc -l <want)" -eq 4 ] && cmp -s stack want && pass || {
            diff stack want >bad
            fail_with "$view: the stacks of three threads (<), and gdb's (>)" bad
        }
    done
fi

more_crashes() {
    cat >deep.c <<'END'
static int deep(volatile int n)
{
    volatile char big[2000];
    big[n % 50] = 1;
    return n < 0 ? 1 : deep(n + 1) + big[3];
}
int main(void)
{
    return deep(0);
}
END
    ulimit -S -s 256
    crash deep -static
    ulimit -S -s 8192
    tool ptprof --quiet --before crash deep.data >got
    deep=$(grep -c '^#.* deep ' got)
    deep=$((deep + $(sed -n 's/^[.]*  \([0-9]*\) more$/\1/p' got)))
    calls=$(tool ptflow --quiet --call --fields kind,to_sym deep.data |
        grep -c '^call deep$')
    [ "$deep" -gt 50 ] && [ "$deep" -eq "$calls" ] && pass ||
        fail_with "deep: $deep frames, $calls calls" got

    cat >jump.c <<'END'
static void (*volatile nowhere)(void) = (void (*)(void)) 0x12345;
static void call(void)
{
    nowhere();
}
int main(void)
{
    call();
    return 0;
}
END
    crash jump -static
    grep -q 'before 12345: there is no code$' first && pass ||
        fail_with "jump: what it says" first

    cat >bus.c <<'END'
#include <fcntl.h>
#include <sys/mman.h>
int first(const char *text);
int main(void)
{
    const int fd = open("empty", O_RDWR | O_CREAT | O_TRUNC, 0600);
    return first(mmap(0, 4096, PROT_READ, MAP_SHARED, fd, 0)) != 7;
}
END
    cat >buslib.c <<'END'
int first(const char *text)
{
    return text[0];
}
END
    $CC -O0 -g -w -shared -fPIC -o libbus.so buslib.c || fail buslib.c
    crash bus -L. -lbus -Wl,-rpath,"$tmp"

    # With optimization, in a program that the loader puts somewhere: functions are
    # inlined, also into others that are.
    cat >fast.c <<'END'
#include <stdlib.h>
struct item { const int *value; };
static volatile int seen;
static inline int value_of(const struct item *item)
{
    seen = item->value[seen & 1];
    return *item->value;
}
static inline int difference(const struct item *a, const struct item *b)
{
    return value_of(a)
        - value_of(b);
}
static int compare(const void *a, const void *b)
{
    return difference(a, b);
}
static inline void order(struct item *list, int n)
{
    if (n > 1)
        qsort(list, n, sizeof *list, compare);
}
int main(int argc, char **argv)
{
    static const int numbers[] = {5, 3, 7, 1, 2, 8, 9, 4};
    struct item list[8];
    for (int i = 0; i < 8; i++)
        list[i].value = i == 6 ? NULL : &numbers[i];
    order(list, 8 * argc);
    return *list[0].value;
}
END
    $CC -O2 -g -w -shared -fPIC -o libbus.so buslib.c || fail buslib.c
    crash bus -O2 -fPIE -pie -L. -lbus -Wl,-rpath,"$tmp"
    crash jump -O2 -fPIE -pie
    crash abrt -O2 -fPIE -pie
    crash fast -O3 -static
    crash fast -O2 -fPIE -pie
    [ "$(wc -l <want)" -eq 5 ] && grep -q '(.*c:6), inlined$' first && pass ||
        fail_with "fast: what is inlined" first
    tool ptprof --quiet --at 999999 fast.data >at
    frames at fast >stack
    cmp -s stack want && pass || fail_with "--at: what is inlined" at

    # The kernel kills a process whose new program cannot be mapped.
    cat >fatal.c <<'END'
#include <unistd.h>
static int start(const char *name)
{
    execl(name, name, (char *) 0);
    return 1;
}
int main(void)
{
    return start("./bad");
}
END
    echo 'void _start(void) { for (;;) ; }' >bad.c
    $CC -nostdlib -static -no-pie -w -Wl,-Ttext-segment=0x7fffffffe000 -o bad \
        bad.c || fail bad.c
    record fatal -static -o fatal
    "$build/ptrecord" --quiet --perf-data fatal.data -o fatal.log --time cyc -- \
        ./fatal >out 2>err
    tool ptprof --quiet --before crash fatal.data >got
    frames got fatal >stack
    grep -q "did not come back, after $(last fatal.log) " got &&
        [ "$(tr '\n' ' ' <stack)" = "start fatal.c:4 main fatal.c:9 " ] && pass ||
        fail_with "a signal during exec" got

    # ... for perf that is an exec: its COMM comes, and no flow of a new program.
    perl -e 'local $/; open F, "<", $ARGV[0]; $_ = <F>;
        my ($at, $size) = unpack "x40Q2", $_;
        for (my $i = $at; $i < $at + $size;) {
            my ($type, $misc, $n) = unpack "x${i}Vv2", $_;
            $exit = substr $_, $exit_at = $i, $n if $type == 4;
            $n += unpack "x${i}x8Q", $_ if $type == 71;
            $i += $n;
        }
        my $who = substr($exit, 8, 4) . substr($exit, 16, 4);
        my $comm = $who . "bad" . "\0" x 13 . substr $exit, 32;
        substr($_, $exit_at, 0) = pack("Vv2", 3, 0x2000, 8 + length $comm) . $comm;
        substr($_, 48, 8) = pack "Q", $size + 8 + length $comm;
        substr($_, 72, 32) = "\0" x 32; # features are elsewhere now
        print' fatal.data >exec.data
    tool ptprof --quiet --before crash exec.data >got
    frames got fatal >stack
    head -n 1 got | grep -q 'died, it seems of a signal' &&
        grep -q "^  an exec began, .* after $(last fatal.log)\$" got &&
        [ "$(tr '\n' ' ' <stack)" = "start fatal.c:4 main fatal.c:9 " ] && pass ||
        fail_with "an exec that began" got

    # A recording that ends while the program runs.
    "$build/ptrecord" --quiet --perf-data short.data -o short.log --max 5000 \
        --time cyc -- ./deep >out 2>err
    tool ptprof --quiet --before crash short.data >got
    ip=$(last short.log)
    name=$(addr2line -f -e deep "0x$ip" | head -n 1)
    [ "$(tool ptflow --quiet --fields ip --last 1 short.data)" = "$ip" ] &&
        grep -q "^#0   $name\$" got && pass ||
        fail_with "short: ends at $ip in $name" got
}
rest 15 more_crashes

report
