#!/bin/sh
# viewer.sh SPEEDSCOPE OUT: the page that ptprof --html fills, of a release of
# speedscope from npm (its folder): script, style and font in one file, with
# their licences; no samples, no maps, no files of WebAssembly. A library in it asks
# eval for modules of Node, which the page's policy forbids: it gets none.

page=$(dirname "$0")/page.html
release=$1/dist/release
out=$2
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT

one() { # the only file of that pattern
    [ $# -eq 1 ] && [ -f "$1" ] && return
    echo "viewer.sh: not one file: $*" >&2
    exit 1
}
one "$release"/speedscope-*.js
one "$release"/speedscope-*.css
one "$release"/SourceCodePro-*.woff2

font=$(base64 -w0 "$release"/SourceCodePro-*.woff2)
printf '%s' "$font" >"$tmp/font"
sed '/^\/[*]# sourceMappingURL/d' "$release"/speedscope-*.css |
    awk -v file="$tmp/font" '
        BEGIN {getline font <file}
        match($0, /url\("[^"]*woff2"\)/) {
            $0 = substr($0, 1, RSTART - 1) "url(data:font/woff2;base64," \
                font ")" substr($0, RSTART + RLENGTH)
        }
        {print}' >"$tmp/CSS"
sed '/^\/\/# sourceMappingURL/d
    s/eval("quire"[.]replace(\/^\/,"re"))(moduleName)/null/' \
    "$release"/speedscope-*.js >"$tmp/JS"
sed 's/--/- -/g' "$1/LICENSE" "$release"/*.LICENSE.md >"$tmp/LICENSES"
if grep -qiE '</script|<!--' "$tmp/JS" "$tmp/CSS"; then
    echo "viewer.sh: this release cannot be put into a page" >&2
    exit 1
fi
awk -v dir="$tmp" '
    function put(name,   line, n) {
        while ((getline line <(dir "/" name)) > 0) printf "%s%s", n++ ? "\n" : "", line
    }
    {
        while (match($0, /@(CSS|JS|LICENSES)@/)) {
            printf "%s", substr($0, 1, RSTART - 1)
            put(substr($0, RSTART + 1, RLENGTH - 2))
            $0 = substr($0, RSTART + RLENGTH)
        }
        print
    }' "$page" >"$out"
