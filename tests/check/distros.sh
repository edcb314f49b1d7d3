#!/bin/sh
# distros.sh [TREE]: a newcomer's two commands, make demo and make test, pass on
# bare systems of Debian 12 and 13, with gcc and with clang, and no compiler
# warns. Base systems come from apt's mirror and stay in build/distros; each run
# has a copy of one, with git, make and a clone of TREE's last commit in it.
# Needs root. SYSTEMS="trixie-gcc bookworm-clang": only these. QUICK=1: compile
# all, and run the unit tests of the sections. Besides, Debian 13's gdb runs on
# the libipt.so.2 of make compat.

. "$(dirname "$0")/lib.sh"
cache=$root/build/distros
run=$cache/run
trap 'rm -rf "$tmp" "$run"' EXIT

# What the systems and debootstrap have from here: the proxy that apt uses, ...
eval "$(apt-config shell http_proxy Acquire::http::Proxy \
    https_proxy Acquire::https::Proxy 2>/dev/null)"
export http_proxy https_proxy
# ... its mirror of Debian, ...
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' \
    'Origin: Debian' 'Label: Debian' 2>/dev/null | head -n 1)
# ... and what it trusts, where they look for it.
connect() {
    apt-config dump | grep -E '^Acquire::(Check-|Retries)' \
        >"$run/etc/apt/apt.conf.d/50outside"
    mkdir -p "$run/etc/ssl/certs"
    cat /etc/ssl/certs/ca-certificates.crt 2>/dev/null \
        >"$run/etc/ssl/certs/ca-certificates.crt"
    cat /etc/resolv.conf >"$run/etc/resolv.conf"
}

# Why there are no systems here, if so.
reason=
if [ "$(id -u)" != 0 ]; then reason="not root"
elif ! command -v debootstrap >/dev/null; then
    reason="debootstrap is missing (package debootstrap)"
elif [ -z "$mirror" ]; then reason="apt has no mirror of Debian"
elif ! unshare --mount --pid --fork true 2>"$tmp/unshare"; then
    reason=$(cat "$tmp/unshare")
fi

# inside FOLDER COMMAND...: run it there in $run, with terminals. What it starts
# and what is mounted for it ends with it, however it ends.
inside() {
    folder=$1
    shift
    # shellcheck disable=SC2016 # for the shell that mounts
    unshare --mount --pid --fork --kill-child sh -c '
        mount -t proc proc "$0/proc" &&
        mount -t devpts -o newinstance,ptmxmode=666 devpts "$0/dev/pts" &&
        mount -t tmpfs tmpfs "$0/dev/shm" && exec chroot "$0" "$@"' "$run" \
        env -i --chdir=".$folder" PATH=/usr/sbin:/usr/bin:/sbin:/bin \
        HOME=/root http_proxy="$http_proxy" https_proxy="$https_proxy" "$@"
}

# add [OPTION] PACKAGE...: install them in $run.
add() {
    inside / sh -c 'export DEBIAN_FRONTEND=noninteractive
        apt-get install -y -q "$@" ||
        { apt-get update -q && apt-get install -y -q "$@"; }' add "$@"
}

# fetch CODENAME: its base system, if it is not there yet.
fetch() {
    [ ! -d "$cache/$1" ] || return 0
    rm -rf "$run"
    mkdir -p "$cache"
    unshare --mount --pid --fork --kill-child \
        debootstrap --variant=minbase "$1" "$run" "$mirror" &&
        connect && add git make && mv "$run" "$cache/$1"
}

# fresh: $run is a copy of the base system, with the compiler and the clone.
# That of gcc comes with make deps.
fresh() {
    rm -rf "$run"
    cp -a "$cache/$codename" "$run" &&
        connect && git clone -q "$root" "$run/root/ipt" || return
    [ "$compiler" = gcc ] || add --no-install-recommends "$compiler"
}

# try COMMAND...: passes if it does, and no compiler warned. The total that it
# ends with is added. Its skips are only shown: a bare system has few packages.
try() {
    start=$(date +%s)
    # shellcheck disable=SC2016 # for the shell inside
    inside /root/ipt sh -c '"$@"; status=$?; times; exit $status' sh "$@" \
        >"$tmp/log" 2>&1
    status=$?
    seconds=$(($(date +%s) - start))
    cat "$tmp/log" >>"$log"
    { grep -E '^ *FAIL|error: ' "$tmp/log" | head -n 10
      tail -n 12 "$tmp/log" | head -n 10; } >"$tmp/bad" # no times
    if [ $status -eq 0 ]; then pass
    else fail_with "$system: $*: status $status" "$tmp/bad"; fi
    grep 'warning: ' "$tmp/log" >"$tmp/bad"
    expect_empty "$system: $*: warnings" "$tmp/bad"
    total=$(grep -E '^[0-9]+ passed, [0-9]+ failed' "$tmp/log" | tail -n 1)
    # shellcheck disable=SC2046 # two numbers
    set -- "$*" $(echo "${total:-0 0}" | tr -dc '0-9 ')
    passed=$((passed + $2)) failed=$((failed + $3))
    tail -n 1 "$tmp/log" | sed 's/[ms]/ /g' | awk '{
        printf "%s, %d s, %d s of CPU\n", said, seconds,
            $1 * 60 + $2 + $3 * 60 + $4
    }' said="$system: $1${total:+: $total}" seconds=$seconds
}

# with_gdb: the system's gdb, which is another than here, on our libipt.so.2.
with_gdb() {
    quietly "$system: gdb" add --no-install-recommends gdb libipt-dev &&
        try make compat build/ptrecord && try sh tests/compat/gdb.sh build
}

# The test programs of the sections.
sections=$(sed -n 's/^ \* \[\([a-z]*\)\].*/\1/p' "$root/ipt_impl.h" |
    while read -r tag; do
        [ ! -f "$root/tests/$tag.c" ] || echo "build/tests/$tag"
    done)

for system in ${SYSTEMS:-bookworm-gcc bookworm-clang trixie-gcc trixie-clang}
do
    codename=${system%-*} compiler=${system#*-} log=$cache/$system.log
    [ -z "$reason" ] || { skip "distros: $system: $reason"; continue; }
    fetch "$codename" >"$tmp/fetch" 2>&1 || {
        skip "distros: $system: $(tail -n 1 "$tmp/fetch")"; continue; }
    quietly "$system: a copy of it" fresh || continue
    : >"$log"
    cc=
    [ "$compiler" = gcc ] || cc=CC=$compiler
    # shellcheck disable=SC2086 # one word or none, and a list
    if [ -n "$QUICK" ]; then
        try make deps $cc
        try make "-j$(nproc)" all $cc
        try sh tests/check/run.sh $sections
    else
        try make demo $cc
        try make test $cc
        [ "$system" != trixie-gcc ] || with_gdb
    fi
done
report
