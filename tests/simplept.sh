#!/bin/sh
# simplept.sh: ptflow --simple-pt reads a folder of simple-pt: what --pt gives of
# the same trace and code; processes by their CR3s; times; what is damaged.

. "$(dirname "$0")/check/lib.sh"
build=$(cd "${BUILD:-build}" && pwd) || exit 2
recording=$(cd "$root/examples/recording" && pwd)
cd "$tmp" || exit 2
mkdir files one two

# packets HEX...: bytes.
packets() {
    for byte in $*; do
        # shellcheck disable=SC2059 # an octal escape
        printf "\\$(printf %03o "0x$byte")"
    done
}

# flow FOLDER OPTION...: to got, and what it says to err.
flow() {
    "$build/ptflow" --simple-pt "$@" >got 2>err
}

same() { # WHAT STATUS
    [ "$2" -eq 0 ] && [ -s want ] && cmp -s got want && pass || {
        diff got want >>err
        fail_with "$1: status $2" err
    }
}

says() {
    grep -q -- "$1" err && pass || fail_with "it does not say: $1" err
}

# meta FOLDER
meta() {
    printf 'meta %s\n' 'nom_freq 32' 'family 6' 'model 151' 'stepping 2' \
        'mtc_freq 0' >"$1/ptout.sideband"
}

# ---- one process ----

cp "$recording/program" files/
cp "$recording/trace.pt" one/ptout.0
for line in '0.0 7 1a2b000 401000 1000 1000' '12.5 7 1a2b000 401000 4096 1000' \
    '12.5 7 1a2b000 401000 4096'; do
    meta one
    printf '%s\t/at/home/program\n' "$line" >>one/ptout.sideband
    "$build/ptflow" --fields ip --pt one/ptout.0 \
        --raw files/program:0x1000:0x401000 >want 2>err
    flow one --fields ip --symfs files
    same "$line" $?
done
flow one --fields pid,comm --symfs files
[ "$(sort -u got | tr -s ' ')" = "7 program" ] && pass ||
    fail_with "whose it is" got
meta one
printf '0.0 7 1a2b000 401000 1000 1000\t/at/%s\n' home/program >>one/ptout.sideband
printf '0.0 7 1a2b000 %x000 0 1000\t/at/lib%d.so\n' 501 1 502 2 >>one/ptout.sideband
flow one --fields ip --symfs two
[ ! -s got ] && says 'inside program, which is not there: 1 time$'
says 'not there: .*/program, .*lib1.so, .*lib2.so; say where copies are: --symfs'
[ "$(grep -c 'say where' err)" -eq 1 ] && pass || fail_with "one line" err

# ---- two processes, two rings, times ----

header="02 82 02 82 02 82 02 82 02 82 02 82 02 82 02 82 99 01"
ends="02 23"
on="71 00 10 00 00 00 00"  # tracing is enabled at 0x1000, before the `jmp rax`
off="61 00 20 00 00 00 00" # that leads to 0x2000, out of the code
pip_a="02 43 00 10 00 00 00 00" # CR3 0x10000, 0x20000 + 0x1001
pip_b="02 43 80 21 00 00 00 00"
tsc="19 00 28 00 00 00 00 00" # 10240
later="19 00 50 00 00 00 00 00"
packets 90 90 ff e0 >files/a
packets 90 90 90 ff e0 >files/b
packets "$header $tsc $pip_a $ends $on $off $later $pip_b $on $off" >two/ptout.0
packets "$header $tsc $pip_b $ends $on $off" >two/ptout.12
meta two
printf '1.5 11 %x 1000 0 4\t/a\n1.5 12 %x 1000 0 5\t/b\n' 65536 131072 \
    >>two/ptout.sideband
flow two --fields pid,cpu,time,ip --symfs files
status=$?
{
    printf '11 0 0.000003200 100%d\n' 0 1 2
    printf '12 0 0.000006400 100%d\n' 0 1 2 3
} >want.0
printf '12 12 0.000003200 100%d\n' 0 1 2 3 >want.12
tr -s ' ' <got | sed 's/^ //' | awk '{print >("got." $2)}'
[ $status -eq 0 ] && cmp -s got.0 want.0 && cmp -s got.12 want.12 && pass || {
    cat got >>err
    fail_with "by CR3" err
}
# MTC: a TMA, and 1 << 3 crystal ticks later, of ebx / eax = 2 TSC ticks.
tma="02 73 00 00 00 00 00"
packets "$header $tsc $tma $pip_a $ends 59 01 $on $off" >two/ptout.0
rm two/ptout.12
printf 'Supports PT\nTSC ratio:\t\t 2 4\n' >two/ptout.cpuid
sed 's/mtc_freq 0/mtc_freq 4/' two/ptout.sideband >s && mv s two/ptout.sideband
flow two --fields time --symfs files
[ "$(sort -u got | tr -d ' ')" = 0.000003205 ] && pass ||
    fail_with "MTC" got
flow two --fields time --symfs files --nom-freq 16
[ "$(sort -u got | tr -d ' ')" = 0.000006410 ] && pass ||
    fail_with "--nom-freq" got

# ---- what is wrong ----

wrong() { # TEXT FOLDER
    flow "$2" && fail "$2: status 0"
    says "$1"
}
wrong 'cannot open it' none
mkdir empty many bare
wrong 'there is no \*.sideband' empty
: >many/a.sideband && : >many/b.sideband && : >many/a.0
wrong 'more than one \*.sideband' many
meta bare
wrong 'there is no ptout.0, a ring' bare
: >bare/ptout.x && : >bare/ptout.99999 && : >bare/ptout.-1
wrong 'there is no ptout.0, a ring' bare
flow one trace.pt
[ $? -eq 2 ] && says 'one of them'
flow one --raw files/a:0
[ $? -eq 2 ] && says 'there is no --pt'
# Lines that are not understood are counted; the others are used.
meta two
cat >>two/ptout.sideband <<'END'
meta
meta family
meta family x
meta family 99999999999999999999
1.5
1.5 11
x y z
1.5 0 10000 1000 0 4	/a
1.5 -1 10000 1000 0 4	/a
1.5 4294967295 10000 1000 0 4	/a
1.5 11 fffffffffffffffff 1000 0 4	/a
1.5 11 10000 fffffffffffff000 0 2000	/a
1.5 11 10000 1000 0 4 /a
1.5 11 10000 1000 0 4	
END
printf '1.5 11 10000 1000 0 4\t/a\n' >>two/ptout.sideband
flow two --fields ip --symfs files
printf '100%d\n' 0 1 2 >want
same "damaged lines" $?
says 'ptout.sideband: 14 lines are not understood'
head -c 20000 "$recording/program" >two/ptout.sideband
flow two --fields ip --symfs files
[ $? -lt 2 ] && pass || fail_with "a sideband of bytes" err

report
