#!/bin/sh
# deps.sh base|full: install the Debian/Ubuntu packages the project builds
# and tests with. Prints what it installs; quick when nothing is missing.
# DEPS=no only names what is missing.

base="libc6-dev libzydis-dev libzycore-dev libelf-dev libdw-dev libiberty-dev"
base="$base libzstd-dev libdebuginfod-dev libncurses-dev"
command -v "${CC%% *}" >/dev/null || base="gcc $base" # any compiler will do
full="$base gcc g++ clang llvm libclang-rt-dev libipt-dev afl++ xz-utils yasm"
full="$full protobuf-compiler nodejs pkg-config cmake mandoc man-db"
full="$full libdevel-nytprof-perl tmux lcov"
full="$full build-essential debhelper lintian debootstrap"
# Rust, Python, packages.
full="$full cargo rustc bindgen python3 python3-build python3-venv python3-wheel"
full="$full python3-cffi python3-setuptools meson ninja-build"
command -v npm >/dev/null || full="$full npm"
full="$full qemu-user lua5.4 luajit sqlite3 valgrind parallel gdb jq"
# Where it runs: bare machines, firmware, kernels, other processors.
full="$full qemu-system-x86 qemu-system-arm ovmf gcc-mingw-w64-x86-64 wine64"
full="$full gcc-arm-none-eabi gcc-arm-linux-gnueabihf"
for cpu in i686 aarch64 riscv64 s390x powerpc64; do
    full="$full gcc-$cpu-linux-gnu"
done
for port in i386 arm64 armhf riscv64 s390x ppc64; do
    full="$full libc6-dev-$port-cross"
done
if grep -qs '^VERSION_CODENAME=bookworm' /etc/os-release; then
    full="$full bolt-16 clang-16 llvm-16 autofdo" # test-views reads with these
else
    full="$full cbmc"
fi
if grep -qs '^ID=ubuntu' /etc/os-release; then
    headers=linux-headers-generic
    full="$full $headers"
else
    headers=linux-headers-amd64
    full="$full $headers linux-perf chromium"
fi

case $1 in
base) want=$base ;;
full) want=$full ;;
*) echo "usage: deps.sh base|full" >&2; exit 2 ;;
esac

if ! command -v dpkg-query >/dev/null; then
    echo "deps: no Debian packages here; needed are: $want"
    exit 0
fi

# The packages of $want that are not installed.
missing() {
    for p in $want; do
        case $(dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null) in
        installed) ;;
        *) printf ' %s' "$p" ;;
        esac
    done
}

# speedscope, which reads what ptprof writes, is not a Debian package. ptprof --html
# fills a page with it.
speedscope=speedscope@1.25.0
npm=build/npm
get_speedscope() {
    [ "$1" = full ] && [ "$DEPS" != no ] && command -v npm >/dev/null || return 0
    if [ ! -d "$npm/node_modules/speedscope" ]; then
        echo "deps: installing from npm into $npm: $speedscope"
        npm install --silent --no-audit --no-fund --prefix "$npm" $speedscope
    fi
    sh examples/tools/viewer/viewer.sh "$npm/node_modules/speedscope" \
        build/viewer.html
}

# unpack DIR SUITE PACKAGE...: packages of another release of Debian, from the
# mirror that apt uses, into DIR/root; they are not installed.
unpack() {
    here=$PWD/$1
    suite=$2
    shift 2
    mirror=$(apt-get indextargets --format '$(REPO_URI)' \
        'Created-By: Packages' 'Origin: Debian' | head -n 1)
    keys=/usr/share/keyrings/debian-archive-keyring.gpg
    mkdir -p "$here/lists/partial" "$here/cache/archives/partial" || return
    echo "deb [signed-by=$keys] $mirror $suite main" >"$here/sources.list"
    (
        cd "$here" || exit
        packages=$*
        set -- -o Dir::Etc::SourceList="$here/sources.list" \
            -o Dir::Etc::SourceParts=/dev/null \
            -o Dir::State::Lists="$here/lists" -o Dir::Cache="$here/cache"
        # shellcheck disable=SC2086 # a list
        apt-get "$@" update -q && apt-get "$@" download -q $packages &&
            for package in *.deb; do dpkg -x "$package" root || exit; done
    ) >"$here/log" 2>&1
    status=$?
    rm -rf "$here"/*.deb "$here/lists" "$here/cache"
    return $status
}

# CBMC is not in Debian 12. There that of the next release is unpacked, with the
# libraries it is linked with.
cbmc=build/cbmc
get_cbmc() {
    [ "$1" = full ] && [ "$DEPS" != no ] && ! command -v cbmc >/dev/null &&
        [ ! -x $cbmc/goto-cc ] && grep -qs '^VERSION_CODENAME=bookworm' \
        /etc/os-release && [ "$(dpkg --print-architecture)" = amd64 ] ||
        return 0
    packages="cbmc minisat libc6 libstdc++6 libgcc-s1"
    echo "deps: unpacking Debian 13's CBMC into $cbmc, with $packages"
    # shellcheck disable=SC2086 # $packages is a list
    unpack $cbmc trixie $packages ||
        { echo "deps: no CBMC: see $cbmc/log"; return 0; }
    here=$PWD/$cbmc
    for tool in cbmc goto-instrument goto-cc; do
        cat >$cbmc/$tool <<END
#!/bin/sh
lib="$here/root/usr/lib"
exec "\$lib/x86_64-linux-gnu/ld-linux-x86-64.so.2" --library-path \\
    "\$lib/x86_64-linux-gnu:\$lib" "$here/root/usr/bin/$tool" "\$@"
END
        chmod +x $cbmc/$tool
    done
}

# libipt as later releases of Debian have it, for make test-compat.
get_libipt() {
    [ "$1" = full ] && [ "$DEPS" != no ] && grep -qs '^ID=debian' \
        /etc/os-release || return 0
    for version in 2.1=trixie 2.2=sid; do
        libipt=build/libipt-${version%=*}
        [ ! -e "$libipt/usr/include/intel-pt.h" ] || continue
        echo "deps: unpacking libipt ${version%=*} into $libipt"
        if unpack "$libipt" "${version#*=}" libipt2 libipt-dev; then
            mv "$libipt/root/usr" "$libipt/usr"
        else
            echo "deps: no libipt ${version%=*}: see $libipt/log"
        fi
    done
}

# The kernel that check-linux boots, of the headers' version: unpacked, not
# installed. Where it is not to be had any more there are newer headers.
kernel=build/kernel
fetch_kernel() {
    version=$(ls -d /usr/src/linux-headers-*-amd64 \
        /usr/src/linux-headers-*-generic 2>/dev/null | sort -V | tail -n 1)
    version=${version#*headers-}
    [ ! -r "/boot/vmlinuz-$version" ] &&
        [ ! -r "$kernel/boot/vmlinuz-$version" ] || return 0
    echo "deps: unpacking into $kernel: linux-image-$version"
    rm -rf $kernel && mkdir -p $kernel || return
    (cd $kernel && apt-get download -q "linux-image-$version") \
        >$kernel/log 2>&1 &&
        dpkg-deb --fsys-tarfile $kernel/*.deb | tar -C $kernel -xf - ./boot &&
        rm $kernel/*.deb
}
get_kernel() {
    [ "$1" = full ] && [ "$DEPS" != no ] || return 0
    fetch_kernel && return
    { $sudo apt-get update -q && $sudo apt-get install -y -q \
        --no-install-recommends $headers; } >/dev/null 2>&1
    fetch_kernel || echo "deps: no kernel: see $kernel/log"
}

sudo=
[ "$(id -u)" = 0 ] || sudo=sudo

need=$(missing)
if [ -z "$need" ]; then
    get_speedscope "$1"
    get_cbmc "$1"
    get_libipt "$1"
    get_kernel "$1"
    exit
fi
if [ "$DEPS" = no ]; then
    echo "deps: missing (not installed, DEPS=no):$need"
    exit 0
fi

if [ -n "$sudo" ] && ! command -v sudo >/dev/null; then
    echo "deps: neither root nor sudo; as root: apt-get install -y$need" >&2
    echo "deps: or go on without them, with DEPS=no" >&2
    exit 1
fi

log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT

# shellcheck disable=SC2086 # $need is a list
install() {
    $sudo env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -q --no-install-recommends $need >>"$log" 2>&1
}

echo "deps: installing, this can take a minute:$need"
ls /var/lib/apt/lists/*Packages* >/dev/null 2>&1 ||
    $sudo apt-get update -q >>"$log" 2>&1
install || { $sudo apt-get update -q >>"$log" 2>&1 && install; } || {
    tail -n 20 "$log"
    echo "deps: could not install:$need" >&2
    exit 1
}
get_speedscope "$1"
get_cbmc "$1"
get_libipt "$1"
get_kernel "$1"
