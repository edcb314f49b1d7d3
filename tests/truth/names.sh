#!/bin/sh
# names.sh [quick|all]: calls of each function of a generated program
# (programs/names.awk), in which nearly all functions share their names with
# others: ptprof's views against ptrecord's log (named.c), with names by binutils,
# and against valgrind's callgrind.
#
#     quick    4 names in 2 objects; callgrind is left out
#     all      20 names in 6 objects: 572 functions

mode=${1:-quick}
set -- .
. "$(dirname "$0")/../check/lib.sh"
build=$(cd "$root" && cd "${BUILD:-build}" && pwd) || exit 2
CC=${CC:-cc}
CXX=${CXX:-c++}
objects=2 names=4
[ "$mode" = all ] && objects=6 names=20

for program in "$CXX" readelf c++filt objdump; do
    have "$program" "g++ and binutils" || { report; exit; }
done
if ! printf '#include <libiberty/demangle.h>\n' | $CC -E - >/dev/null 2>&1; then
    skip "names of C++: libiberty is missing (package libiberty-dev)"
    report
    exit
fi

# ---- the program ----

awk -v dir="$tmp" -v objects=$objects -v names=$names \
    -f tests/programs/names.awk || exit 2
libraries=
last=$((objects - 1))
for o in $(seq $last -1 0); do # each has another kind of stubs
    case $o in
    2) kind="-fcf-protection" link="-Wl,-z,ibtplt -Wl,-z,lazy" ;;
    3) kind= link="-Wl,-z,now" ;;
    4) kind= link="-Wl,-z,lazy -Wl,--hash-style=sysv" ;;
    *) kind="-fcf-protection=none" link= ;;
    esac
    sources="$tmp/$o/*.cc"
    for source in $sources; do
        # shellcheck disable=SC2086 # flags
        $CXX -O1 -g -w -fPIC $kind -fno-exceptions -c "$source" \
            -o "${source%.cc}.o" || exit 2
    done
    if [ "$o" -gt 0 ]; then
        # shellcheck disable=SC2086 # flags
        $CC -O1 -g -w -fPIC $kind -shared $link -o "$tmp/lib$o.so" \
            "$tmp/$o"/*.c "$tmp/$o"/*.o || exit 2
        libraries="$libraries $tmp/lib$o.so"
    else
        # shellcheck disable=SC2086 # flags
        $CC -O1 -g -w $kind $link -o "$tmp/program" "$tmp/0"/*.c "$tmp/0"/*.o \
            $libraries -Wl,-rpath,"$tmp" || exit 2
    fi
done

LD_BIND_NOW=1 "$build/ptrecord" --quiet --calls --time tsc \
    --perf-data "$tmp/now.data" -o "$tmp/now.d" -- \
    "$tmp/program" "$tmp/maps" >"$tmp/recorded" 2>&1
if [ $? -eq 77 ]; then
    skip "programs cannot be recorded here"
    report
    exit
fi

# ---- the log ----

# Lines: FIRST LAST OBJECT SOURCE (- if others can call it) TYPES NAME, tabs
# between them. TYPES is NAME(PARAMETERS); of a stub, NAME@plt.
functions_of() {
    object=$1 base=$2
    readelf -sW "$object" | awk '
        /^Symbol table .*symtab/ {on = 1}
        !on {next}
        $4 == "FILE" {source = $8 == "" ? "-" : $8}
        $4 == "FUNC" && $7 != "UND" && $3 + 0 > 0 {
            print $2, $3, $5 == "LOCAL" ? source : "-", $8
        }' >"$tmp/symbols"
    cut -d ' ' -f 4 "$tmp/symbols" | sed 's/@.*//' | c++filt >"$tmp/types"
    cut -d ' ' -f 4 "$tmp/symbols" | sed 's/@.*//' | c++filt -p >"$tmp/names"
    {
        paste "$tmp/symbols" "$tmp/types" "$tmp/names"
        objdump -d --section=.plt --section=.plt.sec --section=.plt.got \
            "$object" 2>/dev/null | sed -n \
            's/^\([0-9a-f]*\) <\(.*@plt\)>:$/\1 8 - \2\t\2\t\2/p'
    } | add_base "$base" "$object"
}

# Adds BASE to addresses; the shell has 64 bits, awk has not.
add_base() {
    tab=$(printf '\t')
    while IFS=$tab read -r symbol types name; do
        # shellcheck disable=SC2086 # four words
        set -- "$1" "$2" $symbol
        first=$((0x$1 + 0x$3))
        result=${types%%"$name"*} # the type of the result
        printf '%x\t%x\t%s\t%s\t%s\t%s\n' $first $((first + $4 - 1)) "$2" \
            "$5" "${types#"$result"}" "$name"
    done
}

for object in "$tmp/program" $libraries; do
    base=$(awk -v o="$object" '$6 == o {sub(/-.*/, ""); print; exit}' "$tmp/maps")
    functions_of "$object" "$base"
done | sort -t "$(printf '\t')" -k 1,1 >"$tmp/functions"

# shellcheck disable=SC2086 # flags
$CC -std=c99 $WARN -O1 -o "$tmp/named" tests/truth/named.c || exit 2

# logged NAME: what the log of a recording says, as lines
#     CALLER CALLEE CALLS     with the texts that ptprof is to show
#     OBJECT SOURCE TYPES CALLS   of each function
logged() {
    for calls in "$tmp/$1.d"/*.calls; do
        "$tmp/named" "$tmp/functions" "${calls%.calls}.u64" "$calls"
    done >"$tmp/numbers"
    awk -F '\t' -v OFS='\t' -v edges="$tmp/$1.edges" -v rows="$tmp/$1.rows" \
        -v objects="$tmp/$1.objects" '
        FILENAME ~ /functions$/ {
            n = FNR - 1
            path[n] = object[n] = $3; sub(/.*\//, "", object[n]); source[n] = $4; types[n] = $5; name[n] = $6
            next
        }
        {
            split($0, part, " ")
            calls[part[2]] += part[3]
            edge[part[1] " " part[2]] += part[3]
            if (part[1] >= 0) calls[part[1]] += 0
        }
        function form(f, i,   t, s, o) {
            t = types[f]; s = source[f]; o = object[f]
            if (i == 0) return name[f]
            if (i == 1) return t == name[f] ? "" : t
            if (i == 2) return s == "-" ? "" : name[f] " [" s "]"
            if (i == 3) return name[f] " [" o "]"
            if (i == 4) return s == "-" || t == name[f] ? "" : t " [" s "]"
            if (i == 5) return t == name[f] ? "" : t " [" o "]"
            if (i == 6) return s == "-" ? "" : t " [" o ":" s "]"
            return t " [" path[f] "]"
        }
        END {
            for (i = 0; i < 8; i++) {
                split("", uses)
                for (f in calls) if (!(f in text)) uses[form(f, i)]++
                for (f in calls)
                    if (!(f in text) && form(f, i) != "" &&
                        uses[form(f, i)] == 1) chosen[f] = form(f, i)
                for (f in chosen) text[f] = chosen[f]
            }
            for (f in calls) {
                if (calls[f]) print text[f], calls[f] >rows
                print object[f], source[f], types[f], calls[f] >objects
            }
            for (e in edge) {
                split(e, part, " ")
                if (part[1] >= 0)
                    print text[part[1]], text[part[2]], edge[e] >edges
            }
        }' "$tmp/functions" "$tmp/numbers"
    for file in rows edges objects; do
        LC_ALL=C sort -o "$tmp/$1.$file" "$tmp/$1.$file"
    done
}

# known FIELDS: of lines with tabs, those whose first FIELDS are functions of the
# program: all else is in no log.
known() {
    cut -f 1 "$tmp/now.rows" >"$tmp/texts"
    awk -F '\t' -v fields="$1" '
        FILENAME ~ /texts$/ {is[$0]; next}
        {for (i = 1; i <= fields; i++) if (!($i in is)) next; print}' \
        "$tmp/texts" - | LC_ALL=C sort
}

prof() {
    timeout 100 "$build/ptprof" --quiet --by insn --min 0 "$@"
}

# equal WHAT WANT GOT
equal() {
    if [ -s "$2" ] && diff "$2" "$3" >"$tmp/why"; then pass
    else fail_with "$1" "$tmp/why"; fi
}

logged now
prof --flat "$tmp/now.data" | awk 'NR > 1 {
    calls = $4; print substr($0, 38) "\t" calls}' | known 1 >"$tmp/got"
equal "--flat: calls of each function" "$tmp/now.rows" "$tmp/got"
prof --tree "$tmp/now.data" | awk '
    /^[ 0-9]+[.][0-9]% / {
        name = substr($0, 55); depth = match(name, /[^ ]/)
        way[depth] = name = substr(name, depth)
        calls[way[depth - 2] "\t" name] += $3
        next
    }
    {way[-1] = "-"}
    END {for (c in calls) if (calls[c]) print c "\t" calls[c]}' |
    known 2 >"$tmp/got"
equal "--tree: calls from each to each" "$tmp/now.edges" "$tmp/got"
report
