#!/bin/sh
# gdb.sh BUILD: the system's gdb, under the preload of make compat, says the
# same with our libipt.so.2 as with the system's: of programs that ptrecord has
# recorded, which gdb runs to the system call that ends them.
build=$(cd "$1" && pwd) || exit 2
set -- .
. "$(dirname "$0")/../check/lib.sh"
CC=${CC:-cc}
command -v gdb >/dev/null || { fail "no gdb (package gdb)"; report; exit; }
unset LD_PRELOAD LD_LIBRARY_PATH
cd "$tmp" || exit 2

# Leaves out what differs from run to run: numbers of processes and addresses
# of threads, and which library it is. Next to 2.1 also how far a library has
# read where there is a gap.
newer=
gdb=$(command -v gdb)
system=$(ldd "$gdb" | sed -n 's/.*libipt\.so\.2 => \(.*\) (.*/\1/p')
! nm -D "$system" | grep -q pt_evt_next || newer=1
plain() {
    sed -E -e 's/(process|LWP) [0-9]+/\1 N/g' -e 's/(Thread) 0x[0-9a-f]+/\1/g' \
        -e '/^libipt: /d' -e '/LD_LIBRARY_PATH/d' -e '/^Version: 2\./d' \
        ${newer:+-e 's/(Non-contiguous.*)\(offset = 0x[0-9a-f]+\)/\1/'}
}

# The commands that begin each run.
cat >begin <<END
set prompt
set pagination off
set width 0
set startup-with-shell off
set debuginfod enabled off
set record btrace cpu none
set record instruction-history-size 0
set record function-call-history-size 0
handle SIGUSR1 SIGUSR2 nostop noprint
shell grep -o '/.*libipt\\.so.*' /proc/\$PPID/maps | sort -u | sed 's/^/libipt: /'
show environment LD_PRELOAD
show environment LD_LIBRARY_PATH
catch syscall 60
catch syscall 231
run
END

# gdb_with FOLDER RECORDING OUTPUT PROGRAM: runs $tmp/commands with the libipt in
# FOLDER and with the preload, each unless it is empty. An error ends a script
# of gdb's, but not its standard input.
gdb_with() {
    timeout 300 env ${1:+LD_LIBRARY_PATH="$1"} \
        ${2:+LD_PRELOAD="$build/compat/gdb_record.so"} \
        GDB_RECORD="$2" LC_ALL=C gdb -nx -q "$4" \
        >"$3" 2>&1 <commands
}

# both NAME RECORDING PROGRAM: with the system's library and with ours; what
# they say is in $1.theirs and $1.ours.
both() {
    gdb_with '' "$2" "$1.theirs" "$3"
    gdb_with "$build/compat" "$2" "$1.ours" "$3"
    grep -q "^libipt: $build/compat/libipt.so.2" "$1.ours" && pass ||
        fail_with "$1: gdb has not loaded our libipt.so.2" "$1.ours"
    grep '^libipt: ' "$1.theirs" | grep -qvF "$build" && pass ||
        fail_with "$1: gdb has not loaded the system's libipt" "$1.theirs"
    plain <"$1.theirs" >"$1.theirs.plain"
    plain <"$1.ours" >"$1.ours.plain"
    quietly "$1: the same" diff "$1.theirs.plain" "$1.ours.plain"
}

# What a user asks of one thread; the history of instructions is from COUNT on.
questions() {
    cat <<END
info record
record instruction-history
record function-call-history /ilc
reverse-stepi
reverse-stepi
info registers rip
backtrace
reverse-step
reverse-next
reverse-finish
info registers rip
record goto 100
stepi
next
reverse-stepi
info registers rip
record goto begin
stepi
info registers rip
record goto end
maint info btrace
maint btrace packet-history
maint btrace packet-history +
maint btrace packet-history +
END
}

# record NAME OPTION...: of ./NAME, to NAME.data; what each thread executed is
# in NAME.ips.
record() {
    name=$1
    shift
    quietly "$name: recorded" "$build/ptrecord" --quiet "$@" \
        --perf-data "$name.data" -o "$name.ips" "./$name"
}

# history NAME FILE: the instructions that gdb has shown are those that were
# recorded, thread by thread in the order in which FILE has them.
history() {
    sed -n -E 's/^[0-9]+\t +(0x[0-9a-f]+).*/\1/p' "$1.ours" |
        sed 's/^0x0*//' >"$1.shown"
    for f in $2; do od -A n -v -t x8 -w8 "$f"; done | sed 's/^ 0*//' \
        >"$1.executed"
    diff "$1.shown" "$1.executed" >diff
    # gdb 16 leaves out where a thread begins, with either library.
    [ -s "$1.executed" ] && ! grep -q '^<' diff &&
        [ "$(grep -c '^>' diff)" -le $((newer ? 2 : 0)) ] && pass ||
        fail_with "$1: gdb's instructions are not those recorded" diff
}

quietly "program" $CC -O1 -g -w -nostdlib -static -fno-stack-protector \
    -fcf-protection=none -o program "$root/examples/recording/program.c"
for name in signal threads; do
    quietly "$name" $CC -O1 -g -static -pthread -o $name \
        "$root/tests/compat/gdb/$name.c"
done

# One without a libc. Time makes its trace longer than gdb's smallest buffer,
# so that its beginning is overwritten.
record program --time cyc --psb-period 128
{ cat begin; echo "record btrace pt"; questions; } >commands
both program program.data ./program
history program "program.ips/*.u64"
sed -e 's/^record btrace pt/set record btrace pt buffer-size 4096\n&/' \
    -e '/goto 100/d' commands >c && mv c commands
both small program.data ./program
n=$(sed -n 's/^Recorded \([0-9]*\) instructions.*/\1/p' small.ours | head -n 1)
[ "${n:-0}" -gt 100 ] && [ "$n" -lt "$(wc -l <program.executed)" ] && pass ||
    fail "small: $n instructions in a small buffer"

# Reverse steps lead to other places: what is compared is something.
[ "$(sed -n 's/^rip *\(0x[0-9a-f]*\).*/\1/p' program.ours | sort -u |
    wc -l)" -ge 3 ] && pass || fail "program: gdb does not step in reverse"

record signal
{ cat begin; echo "record btrace pt"; questions; } >commands
both signal signal.data ./signal
history signal "signal.ips/*.u64"

# Its threads are those of gdb in the order in which they began.
record threads
{
    cat begin
    echo "record btrace pt"
    for i in 1 2 3; do
        echo "thread $i"
        questions
    done
} >commands
both threads threads.data ./threads
history threads "$(ls threads.ips/*.u64 | sort -V)"

# The program inherits neither, as its addresses would be others.
[ "$(grep -c 'variable "LD_[A-Z_]*" not defined' threads.ours)" -eq 2 ] &&
    pass || fail_with "the program inherits the preload" threads.ours

# What starts gdb keeps the preload for it. A recording of another program, and
# one without the thread, say so.
{ cat begin; echo "record btrace pt"; echo "info record"; } >commands
printf '#!/bin/sh\nexec "$@"\n' >script && chmod +x script
for by in nice "timeout 300" ./script; do
    # shellcheck disable=SC2086 # one or two words
    LD_LIBRARY_PATH=$build/compat LD_PRELOAD=$build/compat/gdb_record.so \
        GDB_RECORD=program.data LC_ALL=C $by gdb -nx -q ./program \
        >wrapped 2>&1 <commands
    grep -q '^Recorded [1-9]' wrapped && pass ||
        fail_with "gdb by $by does not record" wrapped
done
gdb_with "$build/compat" program.data other ./signal
grep -q 'program.data is not of this run' other && pass ||
    fail_with "a recording of another program does not say so" other

# ... as does one of the same program with other arguments.
quietly "arguments" "$build/ptrecord" --quiet --perf-data arguments.data -- \
    ./program a bc
for args in 'a bc' 'a b' 'bc' ''; do
    sed "s/^run\$/run $args/" begin >commands
    { echo "record btrace pt"; echo "info record"; } >>commands
    gdb_with "$build/compat" arguments.data called ./program
    count=$(grep -c 'arguments.data is not of this run' called)
    [ "$args" = 'a bc' ] && want=0 || want=1
    [ $((count != 0)) -eq $want ] && pass ||
        fail_with "called with '$args': said $count times" called
done

# ... and of another build of it, with the same code at the same addresses; not
# so the same one elsewhere.
mkdir again changed
for to in again changed; do
    [ $to = again ] && define= || define=-Dfibonacci=rabbits
    quietly "$to build" $CC -O1 -g -w -nostdlib -static -fno-stack-protector \
        -fcf-protection=none -Wl,--build-id=sha1 $define \
        -o $to/program "$root/examples/recording/program.c"
done
quietly "build" "$build/ptrecord" --quiet --perf-data build.data -- \
    ./again/program
cp -r again again.too
{ cat begin; echo "record btrace pt"; echo "info record"; } >commands
for to in again again.too changed; do
    gdb_with "$build/compat" build.data built ./$to/program
    count=$(grep -c 'build.data is not of this run: it has another build' built)
    [ $to = changed ] && want=1 || want=0
    [ $((count != 0)) -eq $want ] && pass ||
        fail_with "$to/program: said $count times" built
done

# Without the recording, and without the preload: the same words.
{ cat begin; echo "record btrace pt"; } >commands
both missing "$tmp/missing.data" ./program
grep -q 'Could not enable branch tracing' missing.ours && pass ||
    fail_with "missing: gdb records without a recording" missing.ours
if [ ! -e /sys/bus/event_source/devices/intel_pt ]; then
    both refused '' ./program
    grep -q 'does not support Intel PT' refused.ours && pass ||
        fail_with "refused: gdb records without the preload" refused.ours
fi
report
