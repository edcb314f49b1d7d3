#!/bin/sh
# install.sh [TREE]: make install puts everything where it belongs, below a
# folder with a blank, too; what is installed is found by pkg-config and CMake,
# and make uninstall takes away exactly that.

. "$(dirname "$0")/lib.sh"
cd "$root" || exit 2
build=${BUILD:-build}
unset MAKEFLAGS MAKELEVEL

# installer install|uninstall DESTDIR PREFIX
installer() {
    mkdir -p "$build"
    quietly "make $1" flock "$build" \
        make "$1" BUILD="$build" DESTDIR="$2" PREFIX="$3"
}

git status --porcelain >"$tmp/before" 2>&1
installer install "$tmp/a b" "/opt/i p t"
to="$tmp/a b/opt/i p t"
(cd "$tmp/a b" && find . -type f -o -type l) | LC_ALL=C sort >"$tmp/files"
tools=$(cd examples/tools && ls -- *.c | sed 's/\.c$//' | grep -v ptdemo)
{
    for f in ipt.h ipt_impl.h ipt_zydis.h; do echo "include/$f"; done
    for f in ipt-config.cmake ipt-config-version.cmake; do
        echo "share/cmake/ipt/$f"
    done
    echo share/pkgconfig/ipt.pc
    [ ! -f "$build/viewer.html" ] || echo share/ipt/viewer.html
    for t in $tools; do
        printf '%s\n' "bin/$t" "share/man/man1/$t.1" \
            "share/bash-completion/completions/$t"
    done
} | sed 's|^|./opt/i p t/|' | LC_ALL=C sort >"$tmp/want"
diff "$tmp/files" "$tmp/want" >"$tmp/bad"
expect_empty "installed (<) and wanted (>) differ" "$tmp/bad"
git status --porcelain >"$tmp/after" 2>&1
diff "$tmp/before" "$tmp/after" >"$tmp/bad"
expect_empty "make install changes the source tree" "$tmp/bad"

# The viewer of ptprof --html is found where it is then.
"$to/bin/ptprof" --quiet --html "$tmp/page.html" --elf \
    examples/recording/program --pt examples/recording/trace.pt 2>"$tmp/bad"
status=$?
if [ -f "$build/viewer.html" ]; then want=0; else want=1; fi
[ $status -eq $want ] && pass || fail_with "ptprof --html: status $status" "$tmp/bad"

version=$(sed -n 's/^Version: //p' "$to/share/pkgconfig/ipt.pc")
for t in $tools; do
    "$to/bin/$t" --version | grep -qx ".*/$t-$version / ipt-$version" ||
        echo "$t"
done >"$tmp/bad"
expect_empty "tools whose --version is not that of ipt.pc" "$tmp/bad"
for t in $tools; do
    page=$to/share/man/man1/$t.1
    ! have mandoc mandoc || # there is no date that packages would agree on
        mandoc -Tlint -Wwarning "$page" | grep -v 'WARNING: missing date'
    ! have lexgrog man-db || lexgrog "$page" | grep -v ": \"$t - [a-z]"
    for section in NAME SYNOPSIS OPTIONS "EXIT STATUS" FILES EXAMPLES \
        "SEE ALSO"; do
        [ "$(grep -cx "[.]SH $section" "$page")" -eq 1 ] ||
            echo "$t.1: no $section, or several"
    done
    "$to/bin/$t" --help | grep -oE '^  +--[a-z-]+' | tr -d ' ' |
        while read -r o; do # in the page a - is \-
            grep -qF -e "$(echo "$o" | sed 's/-/\\-/g')" "$page" ||
                echo "$t.1: no $o"
        done
done >"$tmp/bad" 2>&1
expect_empty "pages of the manual" "$tmp/bad"

# Without optional libraries: each tool says so, and what an option would need.
bare=$tmp/bare
quietly "tools without libraries" make -j2 BUILD="$bare" \
    CFLAGS="-O0 -w -U__has_include" "$bare/ptflow" "$bare/ptprof"
for t in ptflow ptprof; do
    "$bare/$t" --version | grep -q '^built with: no library; possible: Zydis' ||
        echo "$t --version"
done >"$tmp/bad"
says() {
    text=$1
    shift
    "$@" >"$tmp/out" 2>&1
    [ $? -eq 1 ] && grep -q -e "$text" "$tmp/out" || { echo "$*"; cat "$tmp/out"; }
}
says '--check: made without Zydis (package libzydis-dev)' \
    "$bare/ptflow" --check x >>"$tmp/bad"
says '--lines: made without libdw (package libdw-dev)' \
    "$bare/ptprof" --lines x >>"$tmp/bad"
says '--inlined: made without libdw (package libdw-dev)' \
    "$bare/ptprof" --inlined x >>"$tmp/bad"
says '--top: made without ncurses (package libncurses-dev)' \
    "$bare/ptprof" --top x >>"$tmp/bad"
"$bare/ptprof" --pt examples/recording/trace.pt --elf \
    examples/recording/program 2>&1 |
    grep -q 'functions in files are not known: made without libelf (package' ||
    echo "ptprof: no word about libelf" >>"$tmp/bad"
expect_empty "what tools without libraries say" "$tmp/bad"

# What bash offers for a word of a command line.
offers() {
    bash -c '. "$1" && COMP_LINE=$2 COMP_POINT=${#2} && "_ipt_${2%% *}" &&
        echo "${COMPREPLY[*]}"' _ \
        "$to/share/bash-completion/completions/${1%% *}" "$1"
}
{
    [ "$(offers 'ptdump --las')" = --lastip ] || echo "ptdump --las"
    [ "$(offers 'ptxed --sb:fi')" = filename ] || echo "ptxed --sb:fi"
    [ "$(offers 'ptdump la')" = "" ] || echo "ptdump la"
} >"$tmp/bad" 2>&1
expect_empty "completion" "$tmp/bad"

# Others' files stay, where others have files.
find "$to" -type d -exec touch {}/foreign \;
(cd "$tmp/a b" && find . -name foreign) | LC_ALL=C sort >"$tmp/want"
installer uninstall "$tmp/a b" "/opt/i p t"
(cd "$tmp/a b" && find . -type f) | LC_ALL=C sort >"$tmp/files"
diff "$tmp/files" "$tmp/want" >"$tmp/bad"
expect_empty "left by make uninstall (<) and foreign files (>)" "$tmp/bad"

# As a user finds it.
installer install "" "$tmp/in st"
PKG_CONFIG_PATH="$tmp/in st/share/pkgconfig"
export PKG_CONFIG_PATH
if have pkg-config pkg-config; then
    eval "quietly 'minimal.c with pkg-config' \"${CC:-cc}\" -std=c99 \
        $(pkg-config --cflags ipt) -o '$tmp/minimal' examples/minimal.c"
fi
if have cmake cmake; then
    mkdir "$tmp/project" && cp examples/minimal.c "$tmp/project"
    # The program names ipt.h as one of its own folder would be.
    cat >"$tmp/project/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.10)
project(x C)
find_package(ipt 0.2 REQUIRED)
add_executable(minimal minimal.c)
target_link_libraries(minimal ipt::ipt)
END
    quietly "CMake finds ipt" cmake -S "$tmp/project" -B "$tmp/project/b" \
        -DCMAKE_PREFIX_PATH="$tmp/in st" &&
        quietly "minimal.c with CMake" cmake --build "$tmp/project/b"
    sed -i 's/ipt 0.2/ipt 99/' "$tmp/project/CMakeLists.txt"
    ! cmake -S "$tmp/project" -B "$tmp/project/c" \
        -DCMAKE_PREFIX_PATH="$tmp/in st" >/dev/null 2>&1 && pass ||
        fail "CMake takes this version for 99"
fi
installer uninstall "" "$tmp/in st"
find "$tmp/in st" -type f >"$tmp/bad"
expect_empty "left by make uninstall" "$tmp/bad"

# Tests run in a folder with a blank in its name, too.
ln -s "$root" "$tmp/a folder"
case $build in /*) ;; *) build="$tmp/a folder/$build" ;; esac
quietly "make examples" flock "$build" make BUILD="${BUILD:-build}" DEPS=no \
    examples
for t in ptcov ptseg nopsb msr; do
    (cd "$tmp/a folder" && BUILD=$build sh "tests/$t.sh") >"$tmp/out" 2>&1 &&
        pass || fail_with "tests/$t.sh in a folder with a blank" "$tmp/out"
done
report
