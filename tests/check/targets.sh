#!/bin/sh
# targets.sh WHAT [TREE]: it runs where it is meant to run. WHAT is
#
#   pvh       a bare x86-64 machine, 4 KiB of stack
#   uefi      an application on UEFI firmware
#   linux     a kernel module, frames of at most 512 bytes
#   windows   a driver
#   cortex-m  a Cortex-M3 board that faults on unaligned accesses, also with
#             code for a Cortex-M0
#   portable  the test programs on other processors, big-endian ones too
#
# The first five build examples/targets/WHAT, run it, and compare what it
# decodes with what this machine does. With TRACES=dir real traces are decoded
# as well, those in CASES. In Linux ptcapture is tried as well, on a PMU that is
# a module (tests/mock/linux).

target=$1
[ $# -eq 0 ] || shift
. "$(dirname "$0")/lib.sh"
unset MAKEFLAGS MAKELEVEL
targets=$root/examples/targets
build=$root/build/check-targets
out=$build/$target

# recipe FOLDER GOAL [VARIABLE=VALUE]: what the recipe in a folder does.
recipe() {
    folder=$targets/$1
    shift
    make -s -C "$folder" OUT="$out" FOLDER="$case" "$@"
}

# Build here and there, run both, compare. The other one's output is in $tmp/run.
same() {
    rm -rf "$out"
    : >"$tmp/run"
    quietly "build here" recipe native || return
    recipe native run >"$tmp/want"
    quietly "build" recipe "$target" "$@" || return
    timeout 300 make -s -C "$targets/$target" OUT="$out" FOLDER="$case" run "$@" \
        >"$tmp/run" 2>"$tmp/errors" </dev/null
    status=$?
    if [ $status -eq 0 ]; then pass
    else fail_with "$target: status $status" "$tmp/errors"; fi
    grep -oE '[0-9]+ instructions, hash [0-9a-f]+, status -[0-9]+' "$tmp/run" \
        >"$tmp/got"
    diff "$tmp/want" "$tmp/got" >"$tmp/bad"
    expect_empty "decoded here (<) and there (>)" "$tmp/bad"
    echo "$(basename "$case"): $(cat "$tmp/got")"
}

# The answer of other decoders, for real traces.
known() {
    [ -f "$case/expected" ] || return
    sed -n 's/^instructions=//p; s/^ip_fnv1a64=//p' "$case/expected" |
        tr '\n' ' ' | sed 's/ / instructions, hash /; s/ $/, status -1\n/' |
        diff - "$tmp/want" >"$tmp/bad"
    expect_empty "expected (<) and decoded here (>)" "$tmp/bad"
}

# Both check their own stack and say how much of it they used.
stack() {
    grep '^stack: ' "$tmp/run" && pass || fail "$target: no word about its stack"
}

check_pvh() {
    have qemu-system-x86_64 qemu-system-x86 || return
    same
    stack
}

check_uefi() {
    have x86_64-w64-mingw32-gcc gcc-mingw-w64-x86-64 || return
    have qemu-system-x86_64 qemu-system-x86 || return
    [ -r /usr/share/OVMF/OVMF_CODE_4M.fd ] ||
        { skip "no firmware (package ovmf)"; return; }
    same
}

# The loop over events of firmware.md: what it finds here, its size there.
events_only() {
    have arm-none-eabi-gcc gcc-arm-none-eabi || return
    page=$targets/firmware.md
    { printf '#define IPT_IMPLEMENTATION\n#include "ipt.h"\n'
      sed -n '/^static ipt_evt_decoder/,/^```/{/^```/d;p}' "$page"
    } >"$tmp/events.c"
    cat >"$tmp/main.c" <<'END'
#include "events.c"
#include <stdio.h>
int main(void)
{
    static uint8_t trace[1 << 16];
    return printf("%u\n", count_events(trace, fread(trace, 1, sizeof(trace), stdin))) < 0;
}
END
    quietly "firmware.md's loop" "${CC:-cc}" -std=c99 -I"$root" -I"$tmp" \
        -o "$tmp/main" "$tmp/main.c" || return
    grep -q " $("$tmp/main" <"$root/examples/recording/trace.pt") events" \
        "$page" && pass || fail "firmware.md: how many events its loop finds"
    printf '%s\n' '#include "events.c"' \
        'extern unsigned (*use)(const uint8_t *, size_t);' \
        'unsigned (*use)(const uint8_t *, size_t) = count_events;' \
        >"$tmp/bare.c"
    grep -o 'at most [0-9.]* KB' "$page" | tr -dc '0-9\n' >"$tmp/most"
    [ "$(wc -l <"$tmp/most")" -eq 2 ] && pass || fail "firmware.md: no limits"
    for less in -DIPT_NO_CLOCK -UIPT_NO_CLOCK; do
        read -r most # in 100 bytes
        quietly "the loop for a Cortex-M3" arm-none-eabi-gcc -std=c99 -Os \
            -ffreestanding -mcpu=cortex-m3 -mthumb -DIPT_STATIC $less \
            -DIPT_NO_STRINGS -I"$root" -I"$tmp" -c -o "$tmp/bare.o" \
            "$tmp/bare.c" || return
        bytes=$(arm-none-eabi-size "$tmp/bare.o" | awk 'NR == 2 {print $1}')
        echo "events only, $less: $bytes bytes"
        [ "$bytes" -le $((most * 100)) ] && pass ||
            fail "events only, $less: $bytes bytes, at most ${most}00"
    done <"$tmp/most"
}

check_cortex_m() {
    have arm-none-eabi-gcc gcc-arm-none-eabi || return
    have qemu-system-arm qemu-system-arm || return
    same CPU=cortex-m0 # a part of the board's instructions
    same
    stack
}

check_windows() {
    have x86_64-w64-mingw32-gcc gcc-mingw-w64-x86-64 || return
    same # what runs it refuses imports other than DbgPrint
    x86_64-w64-mingw32-objdump -p "$out/ipt_decode.sys" | tr -d '\t' |
        sed -n 's/^.*DLL Name: //p; s/^Subsystem *0*//p' >"$tmp/got"
    printf '1(NT native)\nntoskrnl.exe\n' | diff - "$tmp/got" >"$tmp/bad"
    expect_empty "subsystem and imports, wanted (<) and found (>)" "$tmp/bad"
}

# The module is loaded if there is a kernel of the headers' version: installed,
# or fetched by make deps-full.
check_linux() {
    headers=$(ls -d /usr/src/linux-headers-*-amd64 \
        /usr/src/linux-headers-*-generic 2>/dev/null | sort -V | tail -n 1)
    [ -n "$headers" ] || {
        skip "no kernel headers (package linux-headers-amd64 or -generic)"
        return; }
    version=${headers#*headers-}
    kernel=/boot/vmlinuz-$version
    [ -r "$kernel" ] || kernel=$root/build/kernel/boot/vmlinuz-$version
    if [ -r "$kernel" ] && command -v qemu-system-x86_64 >/dev/null; then
        same KERNEL="$kernel"
        if grep -q '^ipt: loaded' "$tmp/run"; then pass
        else fail_with "not loaded" "$tmp/run"; fi
    else
        rm -rf "$out"
        quietly "build" recipe linux
        skip "no kernel to load the module into: make deps-full fetches it" \
            "(packages linux-image-$version, qemu-system-x86)"
    fi
    [ -f "$out/linux/ipt_decode.ko" ] || { fail "no module"; return; }
    nm -u "$out/linux/ipt_decode.ko" | awk '{print $2}' |
        grep -vxE '_printk|mem(cpy|move|set|cmp)|__(x86_|stack_chk|fentry).*' \
            >"$tmp/bad"
    expect_empty "the module imports" "$tmp/bad"
}

# ptcapture there, on a PMU that is a module.
check_capture() {
    [ -r "$kernel" ] && command -v qemu-system-x86_64 >/dev/null ||
        { skip "ptcapture on a PMU that is a module: no kernel to boot" \
            "(packages linux-image-$version, qemu-system-x86)"; return; }
    quietly "build ptcapture" make -s -C "$root" build/ptcapture build/ptflow ||
        return
    BUILD=$root/build sh "$root/tests/mock/linux/machine.sh" "$kernel" \
        "$headers" "$build/machine" >"$tmp/machine" 2>&1
    tr -d '\r' <"$tmp/machine" | sed -n \
        's/^machine: \([0-9]*\) passed, \([0-9]*\) failed$/\1 \2/p' >"$tmp/total"
    if read -r p f <"$tmp/total"; then
        passed=$((passed + p)) failed=$((failed + f))
        [ "$f" -eq 0 ] || cat "$tmp/machine"
    else
        fail "ptcapture on a PMU that is a module"
        tail -n 40 "$tmp/machine"
    fi
}

# ---- other processors ----

# NAME of Debian's port, prefix of the compiler, emulator
PROCESSORS='i386 i686-linux-gnu qemu-i386
arm64 aarch64-linux-gnu qemu-aarch64
armhf arm-linux-gnueabihf qemu-arm
riscv64 riscv64-linux-gnu qemu-riscv64
s390x s390x-linux-gnu qemu-s390x
ppc64 powerpc64-linux-gnu qemu-ppc64'

# Test programs that need more of a system than C has.
HOSTED=' image perffile record spaces symbols traces peer_libipt peer_zydis '
HOSTED="$HOSTED ptsplit functions facts "

# All other test programs, on each processor or on those in ARCHS="name ...".
check_portable() {
    rm -rf "$out"
    mkdir -p "$out"
    printf 'int main(void) { return 0; }\n' >"$tmp/empty.c"
    programs=$(for file in "$root"/tests/*.c; do
        tag=$(basename "$file" .c)
        [ "${HOSTED#* "$tag" }" != "$HOSTED" ] || echo "$tag"; done)
    echo "$PROCESSORS" >"$tmp/processors"
    while read -r name prefix emulator; do
        case " ${ARCHS:-$name} " in *" $name "*) ;; *) continue ;; esac
        have "$prefix-gcc" "gcc-$prefix" || continue
        have "$emulator" qemu-user || continue
        quietly "empty program (package libc6-dev-$name-cross)" \
            "$prefix-gcc" -static "$tmp/empty.c" -o "$tmp/empty" || continue
        # A processor that runs i386 programs needs no emulator.
        [ "$name" = i386 ] && "$tmp/empty" 2>/dev/null && emulator=
        decoder=$out/ipt-$name.o
        quietly "the decoder for $name" "$prefix-gcc" -std=c99 $WARN -O2 \
            -I"$root" -c -o "$decoder" \
            "$root/examples/tools/common/flow/ipt.c" &&
            ar rcs "$decoder.a" "$decoder" || continue
        for program in $programs; do
            echo "cd '$root' && $prefix-gcc -static -std=c99 $WARN -O1 -I." \
                "-DIPT_LINKED -o '$out/$program-$name' tests/$program.c" \
                "'$decoder.a' &&" \
                "exec $emulator '$out/$program-$name'" \
                >"$out/$program-$name.sh"
        done
        echo "$name"
    done <"$tmp/processors" >"$tmp/names"
    [ -s "$tmp/names" ] || fail "none of: $ARCHS"
    sed '/^[A-Z]/!d' "$tmp/names" # skips and failures
    for name in $(sed '/^[A-Z ]/d' "$tmp/names"); do
        log=$out/$name.log
        TEST_COUNT=${TEST_COUNT:-100} sh "$root/tests/check/run.sh" \
            "$out"/*-"$name".sh >"$log" 2>&1
        sed '$d' "$log"
        # shellcheck disable=SC2046 # two or three numbers
        set -- $(sed -n '$s/[^0-9 ]//gp' "$log")
        passed=$((passed + $1))
        failed=$((failed + $2))
        skipped=$((skipped + ${3:-0}))
    done
}

case $target in
portable) check_portable ;;
pvh | uefi | linux | windows | cortex-m)
    check=check_$(echo "$target" | tr - _)
    case=$root/examples/recording
    $check
    for name in ${TRACES:+${CASES:-arcus-hello libxdc-foo}}; do
        case=$(cd "$TRACES" && pwd)/$name
        [ -d "$case" ] || { skip "no $TRACES/$name"; continue; }
        $check
        known
    done
    [ "$target" != linux ] || check_capture
    [ "$target" != cortex-m ] || events_only ;;
*)
    sed -n '2,/^$/s/^# *//p' "$0" >&2
    exit 2 ;;
esac
report
