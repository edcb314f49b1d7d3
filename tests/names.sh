#!/bin/sh
# names.sh: calls of each function of a generated program
# (programs/names.awk), in which nearly all functions share their names with
# others: ptprof's views against ptrecord's log (truth/named.c), with names by
# binutils, and against valgrind's callgrind.
#
# It has 4 names in 2 objects. With TEST_FULL=1 (make test-full) it has 20 names
# in 6 objects, 572 functions; then come callgrind, lazy stubs, a file that is
# built again, and a JIT compiler.

. "$(dirname "$0")/check/lib.sh"
build=$(cd "$root" && cd "${BUILD:-build}" && pwd) || exit 2
CC=${CC:-cc}
CXX=${CXX:-c++}
objects=2 names=4
tab=$(printf '\t')
[ -z "$TEST_FULL" ] || objects=6 names=20

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
if no_ptrace "$tmp/recorded"; then
    skip "programs cannot be recorded here"
    report
    exit
fi

# ---- the log ----

# Lines: FIRST LAST OBJECT SOURCE (- if others can call it) TYPES NAME DWARF
# WHOLE, tabs between them. TYPES is NAME(PARAMETERS), or NAME@plt of a stub;
# DWARF is the source file that it knows; WHOLE is TYPES with that of the result.
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
        cut -d ' ' -f 1 "$tmp/symbols" | addr2line -s -e "$object" |
            sed 's/:.*//' | paste "$tmp/symbols" "$tmp/types" "$tmp/names" -
        objdump -d --section=.plt --section=.plt.sec --section=.plt.got \
            "$object" 2>/dev/null | sed -n \
            's/^\([0-9a-f]*\) <\(.*@plt\)>:$/\1 8 - \2\t\2\t\2\t??/p'
    } | add_base "$base" "$object"
}

# Adds BASE to addresses; the shell has 64 bits, awk has not.
add_base() {
    while IFS=$tab read -r symbol types name dwarf; do
        # shellcheck disable=SC2086 # four words
        set -- "$1" "$2" $symbol
        first=$((0x$1 + 0x$3))
        result=${types%%"$name"*} # the type of the result
        printf '%x\t%x\t%s\t%s\t%s\t%s\t%s\t%s\n' $first \
            $((first + $4 - 1)) "$2" "$5" "${types#"$result"}" "$name" "$dwarf" \
            "$types"
    done
}

# shellcheck disable=SC2086 # flags
$CC -std=c99 $WARN -O1 -o "$tmp/named" tests/truth/named.c || exit 2

# locate: the functions of the program and its libraries, where they were.
locate() {
    for object in "$tmp/program" $libraries; do
        base=$(awk -v o="$object" '$6 == o {sub(/-.*/, ""); print; exit}' \
            "$tmp/maps")
        functions_of "$object" "$base"
    done | sort -t "$tab" -k 1,1 >"$tmp/functions"
}

# logged NAME: what the log of a recording says, as lines
#     CALLER CALLEE CALLS     with the texts that ptprof is to show
#     OBJECT DWARF TEXT WHOLE CALLS   of each function; the text alone
logged() {
    for calls in "$tmp/$1.d"/*.calls; do
        "$tmp/named" "$tmp/functions" "${calls%.calls}.u64" "$calls"
    done >"$tmp/numbers"
    awk -F '\t' -v OFS='\t' -v edges="$tmp/$1.edges" -v rows="$tmp/$1.rows" \
        -v objects="$tmp/$1.objects" '
        FILENAME ~ /functions$/ {
            n = FNR - 1
            path[n] = object[n] = $3; sub(/.*\//, "", object[n])
            source[n] = $4; types[n] = $5; name[n] = $6
            dwarf[n] = $7; whole[n] = $8
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
                t = text[f]; sub(/ \[[^]]*\]$/, "", t)
                if (calls[f] && dwarf[f] != "??")
                    print object[f], dwarf[f], t, whole[f], calls[f] >objects
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

# known NAME FIELDS: of lines with tabs, those whose first FIELDS are functions
# of the program that were called: all else is in no log.
known() {
    cut -f 1 "$tmp/$1.rows" >"$tmp/texts"
    awk -F '\t' -v fields="$2" '
        FILENAME ~ /texts$/ {is[$0]; next}
        {for (i = 1; i <= fields; i++) if (!($i in is)) next; print}' \
        "$tmp/texts" - | LC_ALL=C sort
}

prof() {
    timeout 300 "$build/ptprof" --quiet --by insn --min 0 "$@"
}

# equal WHAT WANT GOT
equal() {
    if [ -s "$2" ] && diff "$2" "$3" >"$tmp/why"; then pass
    else fail_with "$1" "$tmp/why"; fi
}

# flat NAME: calls of each function, and of each stub.
flat() {
    prof --flat "$tmp/$1.data" | awk 'NR > 1 {
        calls = $4; print substr($0, 38) "\t" calls}' | known "$1" 1 >"$tmp/got"
    equal "--flat, $1: calls of each function" "$tmp/$1.rows" "$tmp/got"
}

locate
logged now
flat now
prof --tree "$tmp/now.data" | awk '
    /^[ 0-9]+[.][0-9]% / {
        name = substr($0, 55); depth = match(name, /[^ ]/)
        way[depth] = name = substr(name, depth)
        calls[way[depth - 2] "\t" name] += $3
        next
    }
    {way[-1] = "-"}
    END {for (c in calls) if (calls[c]) print c "\t" calls[c]}' |
    known now 2 >"$tmp/got"
equal "--tree: calls from each to each" "$tmp/now.edges" "$tmp/got"

# Of the functions with the most names before theirs, and of some others.
some=$([ -n "$TEST_FULL" ] && echo 40 || echo 12)
cut -f 1 "$tmp/now.rows" | awk 'NR % 23 == 1 || /^alpha/' | head -n "$some" \
    >"$tmp/some"
while IFS= read -r callee; do
    prof --callers "$callee" "$tmp/now.data" 2>"$tmp/err" | awk -v to="$callee" '
        NR > 1 {calls = $3; print substr($0, 30) "\t" to "\t" calls}' |
        known now 2
done <"$tmp/some" | LC_ALL=C sort >"$tmp/got"
awk -F '\t' 'FILENAME ~ /some$/ {is[$0]; next} $2 in is' "$tmp/some" \
    "$tmp/now.edges" >"$tmp/want"
equal "--callers: calls from each" "$tmp/want" "$tmp/got"

# OBJECT SOURCE TYPES CALLS of a callgrind file; an object is a name without
# folders, so is a source file. Names lose the part that keeps them apart.
callgrind_rows() {
    awk -v OFS='\t' '
        function word(  text, id) {
            text = $0; sub(/^[a-z]*=/, "", text)
            if (!match(text, /^\([0-9]+\)/)) return text
            id = substr(text, 1, RLENGTH); text = substr(text, RLENGTH + 2)
            if (text != "") words[kind id] = text
            return words[kind id]
        }
        function base(text) {sub(/.*\//, "", text); return text}
        /^c?ob=/ {kind = "o"; o = base(word())}
        /^(fl|fi|fe|cfi|cfl)=/ {kind = "l"; f = base(word())}
        /^ob=/ {caller_o = o}
        /^fl=/ {caller_f = f}
        /^fn=/ {kind = "f"; word(); o = caller_o; f = caller_f}
        /^cfn=/ {
            kind = "f"; name = word()
            if (name !~ /^\[/) sub(/ \[[^]]*\]$/, "", name)
            callee = o OFS f OFS name
        }
        /^calls=/ {
            calls[callee] += substr($1, 7); o = caller_o; f = caller_f
        }
        END {for (c in calls) print c, calls[c]}' "$1"
}

# added FIELD: OBJECT DWARF, that field, and the calls of the log, added up.
added() {
    awk -F '\t' -v OFS='\t' -v field="$1" '{n[$1 OFS $2 OFS $field] += $5}
        END {for (f in n) print f, n[f]}' "$tmp/now.objects" | LC_ALL=C sort
}
# in_want: rows of functions that are there.
in_want() {
    awk -F '\t' '
        FILENAME ~ /want$/ {is[$1 FS $2 FS $3]; next}
        ($1 FS $2 FS $3) in is && $4' "$tmp/want" - | LC_ALL=C sort
}
added 3 >"$tmp/want"
prof --callgrind "$tmp/profile" "$tmp/now.data"
callgrind_rows "$tmp/profile" | in_want >"$tmp/got"
equal "--callgrind: calls by object, source file and function" "$tmp/want" \
    "$tmp/got"
# theirs: callgrind's calls, of the same program.
theirs() {
    have valgrind valgrind || return
    added 4 >"$tmp/want"
    LD_BIND_NOW=1 valgrind --tool=callgrind --skip-plt=no \
        --callgrind-out-file="$tmp/theirs" "$tmp/program" "$tmp/other" \
        >"$tmp/said" 2>&1
    callgrind_rows "$tmp/theirs" | in_want >"$tmp/got"
    equal "the log's calls are callgrind's" "$tmp/want" "$tmp/got"
}
rest 1 theirs

# ---- what the user calls a function ----

# asks PATTERN REGEX: --callers PATTERN is about functions whose texts match.
asks() {
    cut -f 1 "$tmp/now.rows" | grep -x -e "$2" >"$tmp/want"
    prof --callers "$1" "$tmp/now.data" >"$tmp/said" 2>"$tmp/err"
    status=$?
    count=$(wc -l <"$tmp/want")
    if [ "$count" -eq 1 ]; then
        prof --callers "$(cat "$tmp/want")" "$tmp/now.data" 2>&1 |
            cat - "$tmp/err" | diff - "$tmp/said" >"$tmp/got" &&
            cp "$tmp/want" "$tmp/got"
    else
        sed -n 's/^\(.*\):$/\1/p' "$tmp/said" | LC_ALL=C sort >"$tmp/got"
        grep -q ": $count functions: " "$tmp/err" || status=bad
    fi
    echo "status $status" >>"$tmp/got"
    echo "status 0" >>"$tmp/want"
    equal "--callers $1" "$tmp/want" "$tmp/got"
}
one='alpha(int) [lib1.so:a.cc]'
asks alpha 'alpha\( \[.*\|(.*\)'
asks alpha@plt 'alpha@plt.*'
asks 'alpha(char)' 'alpha(char).*'
asks _Z5alphac 'alpha(char).*'
asks 'alpha(big const&,long)' 'alpha(big const&, long).*'
asks 'make_alpha<int>' 'make_alpha<int>.*'
asks 'int make_alpha<int>(int)' 'make_alpha<int>.*'
asks a.cc:alpha 'alpha(int).*:a.cc]'
asks lib1.so:alpha 'alpha(.*) \[lib1.so.*'
asks "$tmp/lib1.so:alpha(char)" 'alpha(char) \[lib1.so]'
asks "$one" 'alpha(int) \[lib1.so:a.cc]'

# misses OPTION COMMAND...: nothing is called so: what is like it, and status 1.
misses() {
    option=$1
    shift
    "$@" "$tmp/now.data" >"$tmp/said" 2>&1
    status=$?
    if [ $status -eq 1 ] && grep -q "^[^ ]*: $option alhpa: nothing called so \
ran; similar: .*alpha" "$tmp/said"; then pass
    else fail_with "$option of what is not there" "$tmp/said"; fi
}
misses --callers prof --callers alhpa
misses --histogram prof --histogram alhpa
misses --func "$build/ptflow" --quiet --func alhpa

# ptflow's instructions are those in the symbol.
awk -F "$tab" '$3 ~ /lib1[.]so$/ && $4 == "a.cc" && $6 == "alpha" {
    print $1, $2}' "$tmp/functions" >"$tmp/range"
read -r first last_ip <"$tmp/range"
"$build/ptflow" --quiet --fields ip --insn --func "$one" "$tmp/now.data" |
    sort | uniq -c >"$tmp/got"
"$build/ptflow" --quiet --fields ip --insn "$tmp/now.data" |
    awk -v first="$first" -v last="$last_ip" \
        'length($1) == length(first) && $1 >= first && $1 <= last' |
    sort | uniq -c >"$tmp/want"
equal "ptflow --func" "$tmp/want" "$tmp/got"

# ---- parts that a compiler split off ----

# own OPTION...: own instructions of functions and of parts.
own() {
    prof --folded "$@" "$tmp/parts.data" | awk '
        {n = $NF; sub(/ [0-9]*$/, ""); sub(/.*;/, ""); own[$0] += n}
        END {for (f in own) print f, own[f]}'
}

$CC -O2 -w -static -o "$tmp/parts" tests/programs/parts.c || exit 2
quietly "record" "$build/ptrecord" --quiet --calls --time tsc \
    --perf-data "$tmp/parts.data" -o "$tmp/parts.d" -- "$tmp/parts"
functions_of "$tmp/parts" 0 | sort -t "$tab" -k 1,1 | awk -F "$tab" \
    '$6 ~ /^(f|g|f[.]cold|g[.]part[.]0|fail|inlined|main)$/' >"$tmp/functions"
logged parts
flat parts
# Joined, g is called by whoever calls its part.
awk -F "$tab" -v OFS="$tab" '
    $1 == "g" && $2 == "g.part.0" || $2 == "f.cold" {next}
    {f = $2; sub(/[.]part[.]0/, "", f); n[f] += $3}
    END {for (f in n) print f, n[f]}' "$tmp/parts.edges" | sort >"$tmp/want"
prof --flat --join-parts "$tmp/parts.data" | awk 'NR > 1 {
    calls = $4; print substr($0, 38) "\t" calls}' | known parts 1 |
    grep -v '^main' >"$tmp/got"
equal "--join-parts: calls" "$tmp/want" "$tmp/got"
own | sed -n 's/^\([fg]\)\([.][^ ]*\)* / \1 /p' |
    awk '{n[$1] += $2} END {print n["f"], n["g"]}' >"$tmp/want"
own --join-parts | awk '{n[$1] = $2} END {print n["f"], n["g"]}' >"$tmp/got"
equal "--join-parts: instructions" "$tmp/want" "$tmp/got"

# With lazy stubs: some have halves, and all go to the same place at first.
lazy() {
    quietly "record" "$build/ptrecord" --quiet --calls --time tsc \
        --perf-data "$tmp/lazy.data" -o "$tmp/lazy.d" -- "$tmp/program" "$tmp/maps"
    locate
    logged lazy
    flat lazy
}

# ---- a file that is deleted and built again ----
built_again() {
    for n in 3 5; do
        printf '%s\n' '__attribute__((noinline)) static void same(void)' \
            '{__asm__ volatile("");}' 'void _start(void) {' \
            "    for (int i = 0; i < $n; i++) same();" \
            '    __asm__ volatile("syscall" :: "a"(60), "D"(0));' '}' >"$tmp/x.c"
        $CC -O1 -w -nostdlib -static -Wl,--build-id -o "$tmp/x$n" "$tmp/x.c" || exit 2
        id=$(readelf -n "$tmp/x$n" | sed -n 's/.*Build ID: //p')
        kept=$tmp/cache/.build-id/${id%"${id#??}"}/${id#??}
        mkdir -p "$kept" && cp "$tmp/x$n" "$kept/elf"
        printf '%s\n' "same [$tmp/x ${id%"${id#????????}"}]	$n" >>"$tmp/built"
    done
    cp "$tmp/x3" "$tmp/x"
    quietly "record" "$build/ptrecord" --quiet --time tsc --perf-data \
        "$tmp/built.data" -o "$tmp/built.d" -- \
        /bin/sh -c "'$tmp/x'; rm '$tmp/x'; cp '$tmp/x5' '$tmp/x'; '$tmp/x'"
    prof --flat --buildid-dir "$tmp/cache" "$tmp/built.data" | awk 'NR > 1 {
        calls = $4; print substr($0, 38) "\t" calls}' | grep '^same' | sort >"$tmp/got"
    sort "$tmp/built" >"$tmp/want"
    equal "a file that was built again is another one" "$tmp/want" "$tmp/got"
}

# ---- a function that a JIT compiler makes twice ----
jit() {
    $CC -O1 -w -static -o "$tmp/jit" tests/programs/jit.c || exit 2
    quietly "record" sh -c "cd '$tmp' && '$build/ptrecord' --quiet --time tsc \
        --perf-data jit.data -o jit.d -- ./jit"
    prof --flat "$tmp/jit.data" | awk '$5 == "jit" {
        sub(/.*[.]dump[+]0x[0-9a-f]+\]$/, "a place in the dump", $6); print $4, $6
    }' | sort >"$tmp/got"
    printf '%s\n' "3 a place in the dump" "5 a place in the dump" >"$tmp/want"
    equal "a function that is compiled again is another one" "$tmp/want" "$tmp/got"
}

rest 2 lazy
rest 2 built_again
rest 2 jit
report
