#!/bin/sh
# products.sh BUILD: what make install-compat and the package put where; a program
# runs on it by ipt-run, and only so: ldconfig goes on to find the system's.
build=$1
set -- .
. "$(dirname "$0")/../check/lib.sh"
export BUILD="$build"
installer="sh examples/packaging/compat.sh"

# A program that says which libipt.so.2 it runs with.
cat >"$tmp/which.c" <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <intel-pt.h>
#include <stdio.h>
int main(void)
{
    Dl_info info;
    const char *(*f)(enum pt_error_code) = pt_errstr;
    if (!f(pte_ok) || !dladdr(*(void **) &f, &info)) return 1;
    puts(info.dli_fname);
    return 0;
}
END
quietly "a program" ${CC:-cc} -w -fPIC -o "$tmp/which" "$tmp/which.c" -lipt -ldl

# runs FOLDER PROGRAM: by that ipt-run.
runs() {
    "$1" "$tmp/which" >"$tmp/said" 2>&1
    grep -qx "$2" "$tmp/said" && pass || fail_with "ipt-run: not $2" "$tmp/said"
}

quietly "install" env PREFIX="$tmp/to" $installer install
runs "$tmp/to/bin/ipt-run" "$tmp/to/lib/ipt-compat/libipt.so.2"
quietly "SONAME" sh -c "readelf -d '$tmp/to/lib/ipt-compat/libipt.so.2' |
    grep -q 'SONAME.*\[libipt\.so\.2\]'"
"$tmp/to/bin/ipt-run" >"$tmp/said" 2>&1 && fail "ipt-run without a program" ||
    pass
quietly "uninstall" env PREFIX="$tmp/to" $installer uninstall
find "$tmp/to" -type f >"$tmp/left"
expect_empty "uninstall leaves files" "$tmp/left"

if ! have dpkg-deb dpkg || ! have dpkg-architecture dpkg-dev; then
    report
    exit
fi
rm -f "$build"/deb/ipt-compat_*.deb
quietly "package" $installer deb
if have lintian lintian; then
    quietly "lintian" lintian --allow-root --fail-on error \
        "$build"/deb/ipt-compat_*.deb
fi
root=$tmp/root
mkdir -p "$root"
quietly "unpack" dpkg-deb -x "$build"/deb/ipt-compat_*.deb "$root"
(cd "$root" && find . -type f | sed 's/^\.//' | sort) >"$tmp/files"
system=$(ldconfig -p | sed -n 's/.*libipt\.so\.2 .*=> //p' | head -n 1)
dpkg -L libipt2 libipt-dev 2>/dev/null | sort >"$tmp/theirs"
comm -12 "$tmp/files" "$tmp/theirs" >"$tmp/both"
expect_empty "files that the system's package has as well" "$tmp/both"
grep -vE '^/usr/(lib/[^/]*/ipt-compat/|bin/ipt-run$|share/doc/ipt-compat/)' \
    "$tmp/files" >"$tmp/strange"
expect_empty "files elsewhere" "$tmp/strange"

# A system with both: what dpkg says of each order, and ldconfig of the library.
ldconfig=$(command -v ldconfig || echo /sbin/ldconfig)
cat /etc/ld.so.conf.d/*.conf >"$tmp/ld.so.conf"
system() { # system NAME: one without packages
    root=$tmp/$1
    mkdir -p "$root/var/lib/dpkg/info" "$root/var/lib/dpkg/updates" "$root/etc"
    : >"$root/var/lib/dpkg/status"
    cp "$tmp/ld.so.conf" "$root/etc/"
}
# add DEB...: their dependencies are not there.
add() {
    quietly "dpkg -i $*" dpkg --root="$root" --force-depends \
        --force-not-root --force-unsafe-io -i "$@"
    dpkg --root="$root" --audit >"$tmp/audit" 2>&1
    expect_empty "dpkg --audit after $*" "$tmp/audit"
    quietly "ldconfig" "$ldconfig" -r "$root"
}
# finds TREE: it finds one libipt.so.2, that of a tree; ours are as they were.
finds() {
    "$ldconfig" -r "$root" -p | grep -F 'libipt.so.2 ' >"$tmp/found"
    [ "$(wc -l <"$tmp/found")" -eq 1 ] && grep -q "=> $library\$" "$tmp/found" &&
        pass || fail_with "ldconfig finds another libipt.so.2" "$tmp/found"
    quietly "$root: the library of $1" cmp "$root$library" "$1$library"
    for f in $(cat "$tmp/files"); do
        cmp -s "$root$f" "$tmp/root$f" || echo "$f"
    done >"$tmp/changed"
    expect_empty "files of ours that are others" "$tmp/changed"
}

# The system's package as this and later releases have it: its files in a
# package with its name. dpkg asks for no more to see a conflict.
library=$(ldconfig -p | sed -n 's/.*libipt\.so\.2 .*=> //p' | head -n 1)
library=$(dirname "$(readlink -f "$library")")/libipt.so.2
mkdir -p "$tmp/now"
for f in $(dpkg -L libipt2 libipt-dev); do
    [ -d "$f" ] || (cd / && cp -P --parents "${f#/}" "$tmp/now")
done
releases=
for tree in "$tmp/now" build/libipt-2.1 build/libipt-2.2; do
    [ -d "$tree/usr" ] ||
        { skip "$tree is missing (make deps-full unpacks it)"; continue; }
    version=$(readlink "$tree$library") version=${version##*.so.}
    pack=$tmp/pack-$version
    mkdir -p "$pack/DEBIAN"
    cp -RP "$tree/usr" "$pack/"
    printf '%s\n' "Package: libipt2" "Version: $version" "Architecture: amd64" \
        "Maintainer: nobody <nobody@example.org>" "Description: libipt" \
        >"$pack/DEBIAN/control"
    quietly "pack libipt2 $version" dpkg-deb --root-owner-group --build "$pack" \
        "$tmp/libipt2_$version.deb"
    releases="$releases $tree:$tmp/libipt2_$version.deb"
done
ours=$(ls "$build"/deb/ipt-compat_*.deb)
system first
for release in $releases; do # upgraded with ours there
    add "${release#*:}"
    [ -e "$root/usr/bin/ipt-run" ] || add "$ours"
    finds "${release%:*}"
done
quietly "remove ours" dpkg --root="$root" --force-not-root --force-unsafe-io -r \
    ipt-compat
find "$root" -name '*ipt-run*' -o -name ipt-compat >"$tmp/left"
expect_empty "files that are left" "$tmp/left"
quietly "libipt2 stays" test -e "$root$library"
system second # ours comes first
add "$ours"
for release in $releases; do add "${release#*:}" && finds "${release%:*}"; done
report
