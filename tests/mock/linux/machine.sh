#!/bin/sh
# machine.sh KERNEL HEADERS OUT: boots a Linux kernel on two processors of
# Intel's, without PT, and runs test.sh there, which says what is wrong and a
# total. OUT is a folder to build in. Started by make check-linux.

kernel=$1 headers=$2 out=$3
here=$(cd "$(dirname "$0")" && pwd) || exit 2
top=$(cd "$here/../../.." && pwd) || exit 2
CC=${CC:-cc}

build=$(cd "${BUILD:-$top/build}" && pwd) || exit 2
rm -rf "$out"
mkdir -p "$out" || exit 2
cp "$here/Kbuild" "$here/pmu.c" "$here/toy.S" "$out" &&
    make -s -C "$headers" M="$(cd "$out" && pwd)" modules &&
    $CC -O1 -static -Wall -Wextra -o "$out/machine" "$here/machine.c" || exit

# Where the work is done: start and size.
work=$(nm -S "$out/machine" |
    sed -n 's/^0*\([0-9a-f]*\) 0*\([0-9a-f]*\) . work$/\1 \2/p')
{
    echo "WORK='$work'"
    cat "$here/test.sh"
} >"$out/test.sh"

set -- init "$out/machine" bin/machine "$out/machine" test.sh "$out/test.sh" \
    fake_pt.ko "$out/fake_pt.ko"
programs="$build/ptcapture $build/ptflow"
for name in sh cat cp grep head rm sed seq sleep sort stat touch tr cmp; do
    program=$(command -v $name) || exit
    programs="$programs $program"
done
for program in $programs; do
    set -- "$@" "bin/${program##*/}" "$(readlink -f "$program")"
done
# shellcheck disable=SC2086 # names
for library in $(ldd $programs | sed -n 's/^.*[ \t]\(\/[^ :]*\) (.*/\1/p' |
    sort -u); do
    set -- "$@" "${library#/}" "$(readlink -f "$library")"
done
sh "$top/examples/targets/linux/initrd.sh" "$@" >"$out/initrd" || exit
exec timeout 550 qemu-system-x86_64 -M q35,accel=tcg -cpu Nehalem -smp 2 -m 512 \
    -nodefaults -display none -serial stdio -no-reboot -kernel "$kernel" \
    -initrd "$out/initrd" </dev/null \
    -append "console=ttyS0 quiet rdinit=/init panic=-1 mitigations=off"
