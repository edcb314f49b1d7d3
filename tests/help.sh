#!/bin/sh
# help.sh: each tool says its version, and the example that its --help shows
# works as it stands there, in a folder that has the files it names.

here=$(cd "$(dirname "$0")/.." && pwd)
set -- "$here"
. "$here/tests/check/lib.sh"
build=$(cd "${BUILD:-build}" && pwd) || exit 2
PATH=$build:$PATH
mkdir "$tmp/in" # with the files
cd "$tmp/in" || exit 2
cp "$here/examples/recording/program" "$here/examples/recording/trace.pt" .
cp "$here/tests/data/ptt/cpu.ptt" test.ptt

# example: the command lines of the example in the text of --help.
example() {
    awk 'sub(/^Example: /, "") || (on && sub(/^         /, "")) {
             on = 1
             print
             next
         }
         {on = 0}'
}

# What the example of each tool leaves.
left() {
    case $1 in
    ptcapture) [ -s ls.data ] && grep -q dev out ;;
    ptcov) [ "$(wc -c <bitmap)" -eq 65536 ] ;;
    ptdemo) grep -q 'first difference: none' out ;;
    ptdump) grep -q 'tip.pge .* ip  *0000000000401192$' out ;;
    ptflow) grep -q ' call say$' out ;;
    ptparallel) grep -q '^total 9254 ' out ;;
    ptprof) grep -q '"main"' calls.json ;;
    ptrecord) [ -s ls.data ] && grep -q '^ 100.0%.* _start$' out ;;
    ptseg) grep -q '  tip.pgd ' out ;;
    ptsplit) [ -s parts/perf.data-aux-idx0.bin ] && grep -q '^ptxed ' out ;;
    pttc) [ "$(wc -w <out)" -eq 2 ] && [ -s test.pt ] ;;
    ptxed) [ "$(grep -c '^0000000000401' out)" -eq 9254 ] ;;
    *) false ;; # what a new tool's leaves belongs here
    esac
}

# What is recorded is a small program, also where the example says ls.
cat >main.c <<'END'
#include <unistd.h>
static __attribute__((noinline)) long say(const char *text)
{
    return write(1, text, 4);
}
int main(void)
{
    return say("dev\n") != 4;
}
END
mkdir bin
${CC:-cc} -O1 -w -static -o bin/ls main.c || fail "main.c"
PATH=$tmp/in/bin:$PATH
timeout 300 ptrecord --quiet --perf-data perf.data -- ls >recorded 2>&1 ||
    no_ptrace recorded || fail_with ptrecord recorded

# try TOOL: run the example of its --help, which is ./script.
try() {
    case $1 in
    ptrecord | ptdemo | ptflow | ptprof | ptsplit)
        ! no_ptrace recorded || { skip "$1: no ptrace here"; return; } ;;
    ptxed) "$build/ptxed" --elf program --pt trace.pt --quiet >out 2>&1 || {
        skip "ptxed: $(head -n 1 out)"; return; } ;;
    pttc) have yasm yasm || return ;;
    esac
    timeout 300 sh ./script >out 2>err
    status=$?
    if [ $status -eq 0 ] && left "$1"; then pass
    elif [ "$1" = ptcapture ] && [ $status -ne 0 ] &&
        grep -q 'PT cannot be recorded' err; then pass
    else
        cat out >>err
        fail_with "$1: status $status of its example: $(cat script)" err
    fi
}

# What --version has to list: libraries that all tools were linked with.
libraries=
for library in Zydis elf dw iberty zstd ncurses; do
    tail -n 1 "$build/flags" | grep -qE -e " -l${library}w? " || continue
    case $library in Zydis | ncurses) ;; *) library=lib$library ;; esac
    libraries="$libraries $library"
done

for source in "$here"/examples/tools/*.c; do
    tool=$(basename "$source" .c)
    case $tool in *"$TEST_ONLY"*) ;; *) continue ;; esac
    "$tool" --help >help 2>&1 || { # not for this processor
        skip "$tool: $(head -n 1 help)"
        continue
    }
    "$build/$tool" --version >version
    if grep -q "/$tool-[0-9.]* / ipt-[0-9.]*$" version &&
        grep -q "^built with:$libraries; possible: Zydis" version; then pass
    else fail_with "$tool --version, built with:$libraries" version; fi
    example <help >script
    if grep -qE "(^|[|&] |xargs .*)$tool .*[a-z]" script; then try "$tool"
    else fail_with "$tool --help shows no example" help; fi
done

# An example has to be there, and is all that is run.
printf 'x\n\nExample: a b\n         c\nd\n         e\n' | example >out
[ "$(cat out)" = "a b
c" ] && pass || fail_with "what is taken for an example" out

# ---- ptrecord keeps what it would overwrite, as perf record does ----

old() {
    timeout 300 ptrecord --quiet --max 9 --perf-data "$@" -- ls >out 2>&1
}
keeps() {
    echo first >x.data
    old x.data && [ "$(cat x.data.old)" = first ] &&
        [ "$(head -c 8 x.data)" = PERFILE2 ] && pass || fail_with "x.data.old" out
    cp x.data second
    old x.data && cmp -s x.data.old second && pass ||
        fail_with "x.data.old replaced" out
    rm x.data.old && mkdir x.data.old && cp x.data second
    old x.data
    [ $? -eq 1 ] && grep -q 'cannot rename x.data to x.data.old: ' out &&
        cmp -s x.data second && pass || fail_with "x.data.old is a folder" out
    : >empty.data
    old empty.data && [ ! -e empty.data.old ] && pass ||
        fail_with "an empty file is kept" out
}
keeps_folder() {
    mkdir log && old y.data -o log/in && [ ! -e log/in.old ] &&
        old y.data -o log/in && [ -s log/in/log ] && [ -s log/in.old/log ] &&
        pass || fail_with "log/in.old" out
    old y.data -o log/in && [ -s log/in/log ] && [ -s log/in.old/log ] && pass ||
        fail_with "log/in.old replaced" out
    : >log/in.old/mine
    old y.data -o log/in
    [ $? -eq 1 ] && [ -e log/in.old/mine ] && [ -s log/in.old/log ] && grep -q 'cannot rename log/in to log/in.old: ' out &&
        [ -s log/in/log ] && pass || fail_with "log/in.old is not ours" out
    mkdir empty && old y.data -o empty && [ ! -e empty.old ] && pass ||
        fail_with "an empty folder is kept" out
}
case x.data.old in *"$TEST_ONLY"*) no_ptrace recorded || { keeps; keeps_folder; } ;; esac
report
