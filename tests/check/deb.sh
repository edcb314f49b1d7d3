#!/bin/sh
# deb.sh [TREE]: Debian packages of the tree are made by dpkg-buildpackage, have
# what make install installs, and lintian finds no error, without overrides.

. "$(dirname "$0")/lib.sh"
cd "$root" || exit 2
build=${BUILD:-build}
unset MAKEFLAGS MAKELEVEL
if ! have dpkg-buildpackage dpkg-dev || ! have dh debhelper ||
    ! have lintian lintian; then
    report
    exit
fi
# Compiled as the tools in build/ are, so that these are taken; a package that
# make deb makes has Debian's flags.
export DEB_CFLAGS_SET="${CFLAGS:--O2 -g}" DEB_CPPFLAGS_SET='' DEB_LDFLAGS_SET=''
export DEB_BUILD_OPTIONS=noautodbgsym

# lint FILE: passes if lintian finds no error in it.
lint() {
    lintian --allow-root --fail-on error "$1" >"$tmp/lint" 2>&1 && pass ||
        fail_with "lintian: ${1##*/}" "$tmp/lint"
}

find . -name '*lintian-overrides' -not -path './build/*' >"$tmp/bad"
expect_empty "lintian is silenced" "$tmp/bad"
quietly "source package" sh examples/packaging/deb.sh "$tmp/deb" -S -d &&
    lint "$tmp"/deb/*.dsc

mkdir -p "$build"
quietly "make tools" flock "$build" make DEPS=no BUILD="$build" tools
cd "$tmp"/deb/ipt-* || exit 2
mkdir build
(cd "$root/$build" && tar cf - flags ipt.a common.a examples/tools \
    pt[a-z]*[a-z]) | tar xf - -C build
# Only the warnings are others.
sed '1s/.*/cc -std=c99 -O2 -g/' build/flags >flags
touch -r build/flags flags && mv flags build
quietly "packages" dpkg-buildpackage --no-sign -nc -b
cp "$tmp/quietly" "$tmp/made"
lint "$tmp"/deb/*.changes
for deb in ../*.deb; do dpkg-deb -x "$deb" "$tmp/got"; done
quietly "make install" make WARN=-std=c99 BUILD=build DESTDIR="$tmp/want" \
    PREFIX=/usr install
cat "$tmp/made" "$tmp/quietly" | grep -E '^  (CC|LD) ' >"$tmp/bad"
expect_empty "compiled again, though build/ has it" "$tmp/bad"
for f in got want; do
    (cd "$tmp/$f" && find usr -path usr/share/doc -prune -o -type f -print) |
        sed 's/\.gz$//' | LC_ALL=C sort >"$tmp/$f.list"
done
diff "$tmp/got.list" "$tmp/want.list" >"$tmp/bad"
expect_empty "packages (<) and make install (>) differ" "$tmp/bad"
report
