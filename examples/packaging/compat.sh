#!/bin/sh
# compat.sh install|uninstall|deb: the libraries of `make compat` in a folder of
# their own, LIBDIR/ipt-compat, where no loader finds them by itself, and ipt-run,
# which runs a program with them. deb: a package of the same, in BUILD/deb.
#
# DESTDIR  stands before each path
# PREFIX   /usr/local
# LIBDIR   PREFIX/lib; in the package Debian's folder for the processor
# BUILD    where the libraries are

build=${BUILD:-build}
prefix=${PREFIX:-/usr/local}
files="libipt.so.2 libxdc.so libxdc.a gdb_record.so api2/libxdc.so api2/libxdc.a"

put() { # in $DESTDIR, for $prefix and $libdir
    to=$DESTDIR$libdir/ipt-compat
    mkdir -p "$to/api2" "$to/include" "$DESTDIR$prefix/bin" || return
    for f in $files; do
        install -m 644 "$build/compat/$f" "$to/$f" || return
    done
    install -m 644 examples/compat/libxdc/libxdc.h "$to/include/" || return
    cat >"$DESTDIR$prefix/bin/ipt-run" <<END
#!/bin/sh
# ipt-run PROGRAM ARGUMENT...: run a program that is linked with libipt or libxdc
# on ipt's libraries of these names.
[ \$# -gt 0 ] || { echo "usage: ipt-run PROGRAM ARGUMENT..." >&2; exit 2; }
LD_LIBRARY_PATH="$libdir/ipt-compat\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH}"
export LD_LIBRARY_PATH
exec "\$@"
END
    chmod 755 "$DESTDIR$prefix/bin/ipt-run"
}

case $1 in
install)
    libdir=${LIBDIR:-$prefix/lib}
    put && echo "installed in $DESTDIR$libdir/ipt-compat; run: ipt-run PROGRAM"
    ;;
uninstall)
    libdir=${LIBDIR:-$prefix/lib}
    rm -rf "$DESTDIR$libdir/ipt-compat" && rm -f "$DESTDIR$prefix/bin/ipt-run"
    ;;
deb)
    arch=$(dpkg --print-architecture) || exit
    libdir=/usr/lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH) || exit
    version=$(sh tests/check/installer.sh version)
    libc=$(dpkg-query -W -f '${Version}' libc6 | sed 's/-.*//')
    prefix=/usr
    DESTDIR=$(mktemp -d) || exit
    trap 'rm -rf "$DESTDIR"' EXIT
    maintainer=$(sed -n 's/^Maintainer: //p' examples/packaging/debian/control)
    doc=$DESTDIR/usr/share/doc/ipt-compat
    put && chmod 755 "$DESTDIR" &&
        mkdir -p "$DESTDIR/DEBIAN" "$build/deb" "$doc" &&
        cp examples/packaging/debian/copyright "$doc/" || exit
    gzip -9n >"$doc/changelog.gz" <<END
ipt-compat ($version) unstable; urgency=medium

  * CHANGES are in README.md of ipt, under Versions.

 -- $maintainer  $(date -R ${SOURCE_DATE_EPOCH:+-d "@$SOURCE_DATE_EPOCH"})
END
    strip --strip-unneeded "$DESTDIR$libdir"/ipt-compat/*.so* \
        "$DESTDIR$libdir"/ipt-compat/api2/*.so || exit
    cat >"$DESTDIR/DEBIAN/control" <<END
Package: ipt-compat
Version: $version
Section: libs
Priority: optional
Architecture: $arch
Maintainer: $maintainer
Depends: libc6 (>= $libc)
Description: libipt and libxdc on top of ipt
 Programs that are linked with libipt.so.2 or libxdc.so run on ipt as they are:
 ipt-run PROGRAM. The libraries are in a folder of their own, so that all other
 programs go on with those of the system.
END
    dpkg-deb --root-owner-group --build "$DESTDIR" \
        "$build/deb/ipt-compat_${version}_$arch.deb"
    ;;
*) echo "usage: compat.sh install|uninstall|deb" >&2; exit 2 ;;
esac
