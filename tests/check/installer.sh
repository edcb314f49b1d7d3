#!/bin/sh
# installer.sh install|uninstall: what make install copies, and make uninstall
# takes away: exactly these files, and folders that are empty then. version: of
# what.
#
# DESTDIR  stands before each path; packages are made so
# PREFIX   /usr/local
# BUILD    where the tools are

prefix=${PREFIX:-/usr/local}
to=$DESTDIR$prefix
build=${BUILD:-build}
version=$(sed -n 's/^#define IPT_VERSION 0x\(..\)\(..\)\(..\)$/\1 \2 \3/p' \
    ipt.h | { read -r a b c; echo "$((0x$a)).$((0x$b)).$((0x$c))"; })
tools=$(cd examples/tools && echo *.c | sed 's/\.c//g; s/ptdemo //')

# Folder of what comes from where. Each name stands in one place only.
files() {
    for f in ipt.h ipt_impl.h zydis_glue/*.h; do echo "include $f"; done
    for t in $tools; do
        echo "bin $build/$t"
        echo "share/man/man1 $made/$t.1"
        echo "share/bash-completion/completions $made/$t"
    done
    echo "share/pkgconfig $made/ipt.pc"
    echo "share/cmake/ipt $made/ipt-config.cmake"
    echo "share/cmake/ipt $made/ipt-config-version.cmake"
    # For ptprof --html, if make deps-full has made it.
    [ ! -f "$build/viewer.html" ] || echo "share/ipt $build/viewer.html"
}

# What the comment at the top of its source says of a tool, to the first comma.
brief() {
    awk '{sub(/^\/?[ *]*/, ""); text = text $0 " "} / \*\/$|^$/ {exit}
        END {sub(/^[^:]*: /, "", text); sub(/[.,:;] .*/, "", text); print text}
    ' "examples/tools/$1.c"
}

# A page of the manual is what the tool says with --help.
man_page() {
    (PATH=$build:$PATH && "$1" --help) | awk -v name="$1" \
        -v brief="$(brief "$1")" -v version="$version" -v others="$tools" \
        -f tests/check/man.awk
}

# After a dash the options that --help lists, else names of files.
completion() {
    options=$("$build/$1" --help | grep -oE '(^|[ |])--?[a-z][A-Za-z0-9:._-]*' |
        tr -d ' |' | LC_ALL=C sort -u | tr '\n' ' ')
    cat <<END
_ipt_$1() {
    local options="$options"
    local word="\${COMP_LINE:0:COMP_POINT}"
    word="\${word##* }"
    COMPREPLY=()
    [ "\${word#-}" = "\$word" ] || { # readline's words end at a colon
        COMPREPLY=(\$(compgen -W "\$options" -- "\$word"))
        COMPREPLY=("\${COMPREPLY[@]#"\${word%"\${word##*:}"}"}")
    }
}
complete -o default -F _ipt_$1 $1
END
}

make_files() {
    for t in $tools; do
        man_page "$t" >"$made/$t.1" && completion "$t" >"$made/$t" || return
    done
    # pkg-config wants blanks after a backslash.
    cat >"$made/ipt.pc" <<END
prefix=$(echo "$prefix" | sed 's/ /\\ /g')
includedir=\${prefix}/include

Name: ipt
Description: decoder of Intel Processor Trace, in a header
Version: $version
URL: https://ipt.invalid/
Cflags: -I\${includedir}
END
    cat >"$made/ipt-config.cmake" <<'END'
# find_package(ipt), then target_link_libraries(x ipt::ipt): the path of ipt.h.
if(NOT TARGET ipt::ipt)
  get_filename_component(_ipt "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
  add_library(ipt::ipt INTERFACE IMPORTED)
  set_target_properties(ipt::ipt PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${_ipt}/include")
  unset(_ipt)
endif()
END
    cat >"$made/ipt-config-version.cmake" <<END
set(PACKAGE_VERSION "$version")
if(NOT PACKAGE_FIND_VERSION VERSION_GREATER PACKAGE_VERSION)
  set(PACKAGE_VERSION_COMPATIBLE TRUE)
  if(PACKAGE_FIND_VERSION VERSION_EQUAL PACKAGE_VERSION)
    set(PACKAGE_VERSION_EXACT TRUE)
  endif()
endif()
END
}

case $1 in
install)
    made=$(mktemp -d) || exit 1
    trap 'rm -rf "$made"' EXIT
    make_files && files >"$made/list" || exit 1
    while read -r folder file; do
        mode=644
        [ "$folder" != bin ] || mode=755
        mkdir -p "$to/$folder" &&
            install -m $mode "$file" "$to/$folder/" || exit 1
    done <"$made/list"
    echo "installed in $to: headers, $tools"
    ;;
uninstall)
    made=.
    files | while read -r folder file; do
        rm -f "$to/$folder/${file##*/}" || exit 1
    done || exit 1
    rm -f "$to/share/ipt/viewer.html" || exit 1
    rmdir "$to/share/cmake/ipt" "$to/share/ipt" 2>/dev/null
    true
    ;;
version) echo "$version" ;;
*) echo "usage: installer.sh install|uninstall|version" >&2; exit 2 ;;
esac
