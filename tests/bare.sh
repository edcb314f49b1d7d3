#!/bin/sh
# bare.sh: a trace without a perf.data. ptflow --pt gives what ptxed gives with
# the same options: a guest's and the kernel's code, errata of a processor; and
# the times of a perf.data that has the same trace.

. "$(dirname "$0")/check/lib.sh"
build=$(cd "${BUILD:-build}" && pwd) || exit 2
recording=$(cd "$root/examples/recording" && pwd)
cd "$tmp" || exit 2

# packets HEX...: bytes.
packets() {
    for byte in $*; do
        # shellcheck disable=SC2059 # an octal escape
        printf "\\$(printf %03o "0x$byte")"
    done
}

header="02 82 02 82 02 82 02 82 02 82 02 82 02 82 02 82 99 01"
ends="02 23"
on="71 00 10 00 00 00 00"  # tracing is enabled at 0x1000, two bytes before
off="61 00 20 00 00 00 00" # the `jmp rax` that leads to 0x2000, out of it
packets 90 90 ff e0 >code

# like WHAT FILE OURS PTXED CODE...: the same instructions, at least one. OURS and
# PTXED are options for one of the tools.
like() {
    what=$1 file=$2 ours=$3 theirs=$4
    shift 4
    # shellcheck disable=SC2086 # words
    "$build/ptflow" --fields ip $ours --pt "$file" "$@" >got 2>err
    status=$?
    # shellcheck disable=SC2086
    "$build/ptxed" $theirs --pt "$file" "$@" |
        sed -n 's/^0*\([0-9a-f]*\)  .*/\1/p' >want
    [ $status -eq 0 ] && [ -s want ] && cmp -s got want && pass || {
        diff got want >>err
        fail_with "$what: status $status (ptflow <, ptxed >)" err
    }
}

case guest in
*"$TEST_ONLY"*)
    packets "$header 02 43 01 00 0a 00 00 00 $ends $on $off" >guest.pt
    like "a guest, --raw" guest.pt "" "" --raw code:0x1000
    echo "1000 4 code 0" >image.map
    "$build/ptflow" --fields ip --pt guest.pt --map . >mapped 2>err
    cmp -s mapped want && pass || fail_with "a guest, --map" err
    packets "$header $ends 71 00 10 00 00 00 80 61 00 20 00 00 00 00" >kernel.pt
    like "the kernel, --raw" kernel.pt "" "" --raw code:0xffff800000001000
    # The same program in a guest and in the kernel, by --elf; and in ptprof.
    packets "$header 02 43 01 00 0a 00 00 00 $ends 71 a7 11 40 00 00 00 01" >elf.pt
    packets "$header $ends 71 a7 11 40 00 00 80 01" >high.pt
    for where in elf high; do
        [ $where = elf ] && base=0x400000 || base=0xffff800000400000
        like "$where, --elf" $where.pt "" "" --elf "$recording/program:$base"
        "$build/ptprof" --pt $where.pt --elf "$recording/program:$base" >got 2>err
        grep -q '_start$' got && pass || fail_with "$where, ptprof --elf" err
    done
    ;;
esac

case errata in
*"$TEST_ONLY"*)
    # APL11: a TIP.PGD after an OVF. On another processor trace is broken there,
    # up to the next PSB.
    packets "$header $ends $on 02 f3 $off $on $off" >apl11.pt
    packets "$header $ends $on $off" >>apl11.pt
    like "without the erratum" apl11.pt "" "" --raw code:0x1000
    cp got without
    like "--cpu-model 6/92" apl11.pt "--cpu-model 6/92" "--cpu 6/92" \
        --raw code:0x1000
    ! cmp -s got without && pass || fail "errata make no difference"
    ;;
esac

case files in
*"$TEST_ONLY"*)
    mkdir -p there/far/away
    cp code there/far/away
    cp code there/near
    packets "$header $ends $on $off" >user.pt
    for name in far/away/code /gone/near; do
        "$build/ptflow" --fields ip --pt user.pt --raw "$name:0x1000" \
            --symfs there >got 2>err
        [ "$(wc -l <got)" -eq 3 ] && pass || fail_with "--symfs: $name" err
    done
    # A file of that path on this machine is not the one of the recording.
    "$build/ptflow" --fields ip --pt user.pt --raw "$tmp/code:0x1000" \
        --symfs . >got 2>err
    [ "$(wc -l <got)" -eq 3 ] && pass || fail_with "--symfs, by its name" err
    "$build/ptflow" --fields ip --pt user.pt --raw "$tmp/code:0x1000" \
        --symfs /dev >got 2>err
    grep -q "not there: $tmp/code" err && pass ||
        fail_with "--symfs: the file of this machine" err
    for option in "--elf gone" "--raw gone:0x2000" "--elf /gone/gone --symfs there"; do
        # shellcheck disable=SC2086 # words
        "$build/ptflow" --fields ip --pt user.pt $option --raw code:0-4:0x1000 \
            >got 2>err
        [ $? -eq 0 ] && [ "$(wc -l <got)" -eq 3 ] &&
            grep -q 'not there: .*gone.*; .*--symfs' err && pass ||
            fail_with "not there: $option" err
    done
    # Without them names and code are missing.
    for option in --kallsyms --vdso --kcore --map --guest-map --guest-kallsyms \
        --guest-modules; do
        "$build/ptflow" --fields ip,sym --pt user.pt $option gone \
            --raw code:0-4:0x1000 >got 2>err
        [ $? -eq 0 ] && [ "$(wc -l <got)" -eq 3 ] &&
            grep -q 'not there: gone$' err && pass || fail_with "$option" err
    done
    mkdir half
    echo "1000 4 gone 0" >half/image.map
    "$build/ptflow" --pt user.pt --map half >got 2>err
    [ $? -eq 1 ] && grep -q "'half': gone, which image.map lists" err && pass ||
        fail_with "--map: a file of it" err
    mkdir -p there/at/home
    cp "$recording/program" there/at/home
    "$build/ptflow" --fields ip --pt "$recording/trace.pt" \
        --elf "$recording/program" >want 2>err
    for name in /at/home/program /elsewhere/program; do
        folder=there
        [ $name = /at/home/program ] || folder=there/at/home
        "$build/ptflow" --fields ip --pt "$recording/trace.pt" --elf $name \
            --symfs $folder >got 2>err
        [ -s want ] && cmp -s got want && pass ||
            fail_with "--elf $name --symfs" err
    done
    ;;
esac

case times in
*"$TEST_ONLY"*)
    for clock in tsc mtc cyc; do
        rm -rf parts run
        "$build/ptrecord" --quiet --time $clock --psb-period 256 --perf-data run.data -o run \
            "$recording/program" >out 2>&1 &&
            "$build/ptsplit" -o parts run.data >words 2>out || {
            fail_with "$clock: no recording" out
            continue
        }
        options=$(tr ' ' '\n' <words | grep -A 1 -E \
            '^--(mtc-freq|cpuid-0x15.e.x|nom-freq)$' | grep -v '^--$' | tr '\n' ' ')
        "$build/ptflow" --fields time,ip run.data 2>out | tr -d : >want
        # shellcheck disable=SC2086 # words
        "$build/ptflow" --fields time,ip $options --elf "$recording/program" \
            --pt parts/*-aux-idx0.bin 2>err | tr -d : >got
        # The two clocks differ by a constant and, as --nom-freq is a round
        # number, by a factor of nearly 1. Beyond that only by rounding.
        paste got want | awk '
            {
                split($1, a, "."); split($3, b, ".")
                t = a[1] * 1e9 + a[2]; u = b[1] * 1e9 + b[2]
                if (!n++) { t0 = t; u0 = u }
                bad += $2 != $4
                list[n] = t - t0; other[n] = u - u0
            }
            END {
                k = other[n] / list[n]
                for (i = 1; i <= n; i++) {
                    d = list[i] * k - other[i]
                    far += d > 3 || d < -3
                }
                print n, bad + 0, far + 0, k
                exit !(n > 1000 && !bad && !far && list[n] > 0 && k > 0.99 && k < 1.01)
            }' >out && pass || {
            head -n 3 got want err >>out
            fail_with "$clock: other times than in the perf.data" out
        }
        # Without any option a TSC packet is enough: its ticks, and no others, as
        # the ratio of MTC and CYC to it is not known.
        "$build/ptdump" --no-pad parts/*-aux-idx0.bin 2>err |
            awk '$2 == "tsc" {print $3}' >packets
        "$build/ptflow" --fields time,ip --pt parts/*-aux-idx0.bin \
            --elf "$recording/program" 2>err | tr -d ' ' | awk -F . '
            function number(hex,  i, n) {
                for (i = n = 0; i < length(hex); i++)
                    n = 16 * n + index("123456789abcdef", substr(hex, i + 1, 1))
                return sprintf("%.0f", n)
            }
            FILENAME == "packets" {said[number($1)] = 1; next}
            {
                n++
                t = sprintf("%.0f", $1 * 1e9 + substr($2, 1, 9))
                bad += !(t in said)
                kinds += !(t in seen)
                seen[t] = 1
            }
            END {print n, bad + 0, kinds; exit !(n > 1000 && !bad && kinds > 1)}
            ' packets - >out && grep -q "ns are ticks of TSC" err && pass || {
            cat err >>out
            fail_with "$clock, without options" out
        }
        "$build/ptflow" --quiet --pt parts/*-aux-idx0.bin \
            --elf "$recording/program" >out 2>err
        expect_empty "$clock, --quiet" err
    done
    ;;
esac
report
