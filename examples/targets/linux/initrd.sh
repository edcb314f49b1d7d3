#!/bin/sh
# initrd.sh INIT MODULE: the archive (cpio's newc format) that Linux takes as
# its first file system, with two files in it, to standard output.

# pad SIZE: zero bytes up to a multiple of four.
pad() { head -c $((($1 + 3) / 4 * 4 - $1)) /dev/zero; }

# file NAME MODE PATH
file() {
    size=$(wc -c <"$3")
    printf '070701%08x%08x%08x%08x%08x%08x%08x' $((number += 1)) $((0$2)) \
        0 0 1 0 "$size"
    printf '%08x%08x%08x%08x%08x%08x%s\0' 0 0 0 0 $((${#1} + 1)) 0 "$1"
    pad $((110 + ${#1} + 1))
    cat "$3"
    pad "$size"
}

number=0
file init 100755 "$1"
file ipt_decode.ko 100644 "$2"
file 'TRAILER!!!' 0 /dev/null
