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

# A system with both.
mkdir -p "$root$(dirname "$system")" "$root/etc"
cp -L "$system" "$root$system"
cat /etc/ld.so.conf.d/*.conf >"$root/etc/ld.so.conf"
ldconfig=$(command -v ldconfig || echo /sbin/ldconfig)
quietly "ldconfig" "$ldconfig" -r "$root"
"$ldconfig" -r "$root" -p | grep libipt >"$tmp/found"
[ "$(wc -l <"$tmp/found")" -eq 1 ] && grep -q "=> $system\$" "$tmp/found" &&
    pass || fail_with "ldconfig finds another libipt.so.2" "$tmp/found"
report
