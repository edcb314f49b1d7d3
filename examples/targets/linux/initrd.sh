#!/bin/sh
# initrd.sh NAME FILE ...: the archive (cpio's newc format) that Linux takes as
# its first file system, with those files in it, to standard output.

# pad SIZE: zero bytes up to a multiple of four.
pad() { head -c $((($1 + 3) / 4 * 4 - $1)) /dev/zero; }

# entry NAME MODE PATH
entry() {
    size=$(wc -c <"$3")
    printf '070701%08x%08x%08x%08x%08x%08x%08x' $((number += 1)) $((0$2)) \
        0 0 1 0 "$size"
    printf '%08x%08x%08x%08x%08x%08x%s\0' 0 0 0 0 $((${#1} + 1)) 0 "$1"
    pad $((110 + ${#1} + 1))
    cat "$3"
    pad "$size"
}

# folders NAME: those that a file is in, outermost first.
folders() {
    case $1 in */*)
        folders "${1%/*}"
        entry "${1%/*}" 40755 /dev/null ;;
    esac
}

number=0
while [ $# -gt 1 ]; do
    folders "$1"
    entry "$1" 100755 "$2"
    shift 2
done
entry 'TRAILER!!!' 0 /dev/null
