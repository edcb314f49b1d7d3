#!/bin/sh
# selftest.sh: ptcapture --selftest on a machine that seems to have Intel PT
# (pmu.c), whose trace processor.c made before: all rows pass. With each fault
# that is planted its row fails, and no other one.
# CAPTURE=FILE is another ptcapture, one that was built with sanitizers.

build=$(cd "${BUILD:-build}" && pwd) || exit 2
here=$(cd "$(dirname "$0")" && pwd) || exit 2
top=$(cd "$here/../.." && pwd) || exit 2
CC=${CC:-cc}
capture=$(realpath "${CAPTURE:-$build/ptcapture}") || exit 2
# The mock comes before the sanitizer's library; leaks are for the kernel to free.
export ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0
passed=0 failed=0
export LC_ALL=C

skip() {
    echo "SKIP selftest: $1"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
}

pass() { passed=$((passed + 1)); }

fail() {
    echo "FAIL $*"
    failed=$((failed + 1))
    sed 's/^/    /' out | grep -v passed:
}

[ "$(id -u)" -eq 0 ] && unshare -m true 2>/dev/null ||
    skip "a mount namespace needs root"
to=$(mktemp -d) && cd "$to" || exit 2
trap 'rm -rf "$to"' EXIT
trap 'exit 2' HUP INT TERM
: >out

# ---- the machine ----

cpus=$(nproc)
[ "$cpus" -le 2 ] || cpus=2
{
    "$capture" --selftest-program program &&
        $CC -O1 -w -shared -fPIC -o pmu.so "$here/pmu.c" -ldl &&
        (cd "$top" && $CC -O1 -w -I. -o "$to/processor" \
            tests/mock/processor.c \
            examples/tools/common/record/timing.c "$build/ipt.a")
} >out 2>&1 || {
    cat out
    echo "0 passed, 1 failed"
    exit 1
}
with=1
./program 1 3>report || with=0 # this processor has no PTWRITE
"$build/ptrecord" --quiet --time cyc --cpus "$cpus" --costs \
    --perf-data run.data -o run ./program $with 3>report >out 2>&1 &&
    "$build/ptsplit" -o split run.data >out 2>&1 || skip "no ptrace"
mkdir machine
for i in 0 1; do
    cp split/run.data-sideband-cpu$i.pevent machine/$i.records 2>/dev/null
done

# What the first thread read of the clock: between two times, at its first system
# call and at the last but two.
first=$(sed -n 's/^run [0-9]* [0-9]* \([0-9]*\) .*/\1/p' run/log | head -n 1)
awk '/^stop .* syscall/ {stop[n++] = $4}
    /^go/ && n {go[n - 1] = $2}
    function ns(i) {return int((stop[i] + go[i]) / 2 / 2 ^ 31 * 672770566)}
    END {printf "%d %d %d %d\n", ns(0) / 1e9, ns(0) % 1e9, ns(n - 3) / 1e9,
         ns(n - 3) % 1e9}' "run/$first.dates" >machine/clock

export PMU_MACHINE="$to/machine" PMU_SLICE=1000000 PMU_LOG="$to/log"
export PMU_CAPS="ptwrite=$with psb_periods=9 mtc_periods=9 cycle_thresholds=15"

# selftest: to out; the folder that it keeps is $kept, or that is empty.
selftest() {
    timeout 100 sh "$here/pmu.sh" "$to/pmu.so" "$capture" --selftest \
        >out 2>err
    status=$?
    kept=$(sed -n 's/^what failed is kept.*: //p' out)
}

# trace CONFIG [OPTION...]: as a processor makes it. CONFIG is as in pmu.c.
trace() {
    key=$1
    shift
    rest=${key#*-} number=${key%%-*} kernel=0
    case $number in *k*) kernel=1 ;; esac
    number=$(echo "$number" | tr -d ko)
    rm -rf "machine/$key"
    IFS=- read -r action from size <<END
$rest
END
    case $key in
    *-*) set -- "$action=$(printf %x,%x $((0x400000 + from)) $((size)))" "$@" ;;
    esac
    ./processor program run "machine/$key" "$number" kernel=$kernel \
        thread=$thread "$@" || fail "$key: no trace"
}

# What configurations are asked for, and whether of threads: so says the log.
selftest
rm -rf "${kept:?}"
sed -n "s,^event [0-9]* of cpu \\([-0-9]*\\): .*/machine/\\([^/]*\\)/.*,\\2 \\1,p" \
    log | sort -u | sed -e 's/ -1$/ 1/; t' -e 's/ [0-9]*$/ 0/' | uniq >configs
while read -r config thread; do
    trace "$config"
done <configs

# ---- all is well ----

selftest
rows=$(grep -c ' passed: ' out)
[ $status -eq 0 ] && [ -z "$kept" ] && ! grep -q FAILED out &&
    [ "$rows" -ge $((15 + 2 * with)) ] && pass || fail "without a fault: $status"
cp out clean

# ---- faults ----

# fails ROW WHY: so it does, and no other one; its recording is kept, and has nothing
# about this machine in it. Then the fault is undone.
fails() {
    selftest
    wrong=$(sed -n 's/  *FAILED: .*//p' out)
    sed -n "s/^$1  *FAILED: \(.*\)/$1: \1/p" out
    file=$kept/$(echo "$1" | tr ' ' _).data
    [ "$wrong" = "$1" ] && [ $status -eq 1 ] && pass || fail "$1: fails: $wrong"
    grep -q "^$1  *FAILED: .*$2" out && pass || fail "$1: not: $2"
    [ -s "$file" ] && [ "$(cd "$kept" && echo ./*)" = \
        "$(printf '%s\n' "./${file##*/}" ./page ./program | sort | xargs)" ] &&
        pass ||
        fail "$1: kept: $(ls "$kept")"
    ! grep -qaF -e "$(uname -n)" -e "$HOME/" -e "$capture" "$file" && pass ||
        fail "$1: it says whose machine it is"
    cmp -s "$kept/page" out && pass || fail "$1: another page"
    rm -rf "${kept:?}"
    [ -z "$key" ] || { rm -rf "machine/$key"; mv good "machine/$key"; }
}

# plant PATTERN: what follows changes that configuration: $key, $thread.
plant() {
    while read -r key thread; do
        # shellcheck disable=SC2254 # a pattern
        case $key in $1) break ;; esac
    done <configs
    cp -r "machine/$key" good || fail "no configuration $1"
}

# flip FILE AT: one bit of that byte is another one.
flip() {
    byte=$(od -An -tu1 -j "$2" -N 1 "$1")
    # shellcheck disable=SC2059 # an octal escape
    printf "\\$(printf %03o $((byte ^ 8)))" |
        dd of="$1" bs=1 seek="$2" conv=notrunc 2>/dev/null
}

# A branch in the middle of the trace went the other way.
plant 300e001
at=$("$build/ptdump" --raw "machine/$key/thread.pt" | awk '
    $3 ~ /^tnt.8/ && length($4) > 2 {at[n++] = $1}
    END {print at[int(n / 2)]}')
flip "machine/$key/thread.pt" "$((0x$at))"
fails thread 'instruction [0-9]*: .* instead of .*; trace 0 from .*\[..\]'

plant '300e001-filter-*'
./processor program run other 300e001 thread=1 &&
    cp other/thread.pt "machine/$key"
fails filter 'instruction 0: 401000 instead of'

cp machine/clock good
awk '{print $1, $2, $3, $4 + int(($4 - $2) / 4)}' good >machine/clock
key=clock
fails clock 'the clock says .* ns, the trace'

plant 300e801
echo 4000 200 >"machine/$key/lose"
fails noretcomp 'instead of .*lost: AUX buffer full'
plant 300e801 # the kernel does not say so
{ head -c 4000 good/thread.pt && tail -c +4201 good/thread.pt; } \
    >"machine/$key/thread.pt"
fails noretcomp 'instead of'

plant '300e001-stop-*'
trace "$key" late=200
fails stop 'it goes on for 200 instructions'

plant 3002603
trace "$key" cbr=20
fails ratio 'CBR says 20, in [0-9]* periods of MTC it was 32'

if [ $with = 1 ]; then
    plant 300f021
    trace "$key" fup=0
    fails ptw,fup_on_ptw 'a PTW without a FUP'
else
    echo "selftest: this processor has no PTWRITE"
fi

plant e401
./processor program run ignored 500e401 &&
    cp ignored/*.pt "machine/$key"
fails 'psb_period 0' 'PSB'

# Without PT that is all that is said.
"$capture" --selftest >out 2>&1
[ $? -eq 1 ] && grep -q 'PT cannot be recorded' out && pass || fail "no PT"

cat clean
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
