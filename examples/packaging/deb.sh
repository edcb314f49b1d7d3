#!/bin/sh
# deb.sh FOLDER [OPTION...]: make Debian packages of the source in FOLDER, by
# dpkg-buildpackage with these options. The fuzzing corpus is left out: there are
# programs among its files. To publish packages, put your name and address into
# debian/control.

to=$1
shift
version=$(sh tests/check/installer.sh version)
source=$to/ipt-$version
rm -rf "$source" && mkdir -p "$source" || exit
tar cf - --exclude=./.git --exclude=./build \
    --exclude=./fuzz/corpus . | tar xf - -C "$source" || exit
cd "$source" && mv examples/packaging/debian . || exit
cat >debian/changelog <<END
ipt ($version) unstable; urgency=medium

  * CHANGES are in README.md, under Versions.

 -- $(sed -n 's/^Maintainer: //p' debian/control)  $(date -R ${SOURCE_DATE_EPOCH:+-d "@$SOURCE_DATE_EPOCH"})
END
exec dpkg-buildpackage --no-sign "$@"
