#!/bin/sh
# mutate.sh [SECTION...]: do the tests notice small faults in ipt_impl.h? Each
# mutant (see mutate.c) goes through the tests of its section, first plainly and
# then under ASan and UBSan, until one fails. If none does it is alive; it is not
# judged if it compiles to the same object, nor if tests/proof/equivalent says
# why it means the same. Fails below the limits. One test per section.
#
# Less than 200 of a section are a sample. Samples are judged together, and their
# limit gives way by four standard errors: they fail where the tests have become
# worse, not by chance.
#
# Tests are compiled once for all mutants of functions, and told which one it is
# as they run. Only mutants of tables and macros are compiled one by one.
#
#     COUNT=250  mutants judged in each section; 0: all
#     SEED       picks them; default: the commit
#     ONLY       those of functions and macros with names that match this regex
#     LISTED=1   those that the list says mean the same: does each still live?
#     JOBS       in parallel; default: one for each processor
#
# build/mutate/results has a line for each: verdict, section, line, what did it,
# key.

build=${BUILD:-build}
dir=$build/mutate
list=tests/proof/equivalent
COUNT=${COUNT:-250}
SEED=${SEED:-$(git rev-parse HEAD 2>/dev/null || echo none)}
JOBS=${JOBS:-$(nproc)}
[ $# -gt 0 ] || set -- pkt sync time evt bind walk blk cov hot cache

for need in clang gcc; do
    command -v $need >/dev/null || {
        echo "SKIP mutate: $need is missing (package $need)"
        echo "0 passed, 0 failed, $# skipped"
        exit
    }
done

# Tests that look at a section, those first that notice most in least time. A
# number after a colon is TEST_COUNT; with a ! they are too slow for sanitizers.
tests_of() {
    case $1 in
    base) echo base! pkt sync fuzz/pkt evt fuzz/insn ;;
    pkt) echo pkt base! sync fuzz/pkt fuzz/evt evt ;;
    sync) echo sync base! fuzz/pkt fuzz/evt pkt evt qry hazards insn! ;;
    time) echo time clocks fuzz/pkt evt fuzz/evt ;;
    evt) echo evt fuzz/evt qry time fuzz/insn hazards insn! ;;
    qry) echo qry fuzz/qry ;;
    classify) echo classify fuzz/insn insn! ;;
    cache) echo cache fuzz/insn simulate:300! insn! blk:20! ;;
    insn) echo fuzz/insn simulate:300! insn! blk:20! ;;
    bind | walk) echo "$1" fuzz/insn simulate:300! hazards fuzz/blk blk:20! \
        fuzz/cov insn! cache ;;
    blk) echo fuzz/blk simulate:300! blk:20! hazards insn! cache fuzz/cov ;;
    cov) echo fuzz/cov cov:20! simulate:300! ;;
    hot) echo fuzz/hot hot ;;
    *) echo "$1" ;;
    esac
}

limit_of() {
    case $1 in
    sync) echo 98 ;;
    pkt | time) echo 97 ;;
    evt) echo 95 ;;
    bind) echo 94 ;;
    *) echo 92 ;;
    esac
}

mkdir -p "$dir" || exit 2
rm -rf "$dir"/[0-9]* "$dir"/base "$dir"/all-* "$dir"/results
${CC:-cc} -std=c99 -O1 -o "$dir/mutate" tests/check/mutate.c || exit 2
: >"$dir/results"

# tree NAME: what the tests include, to be mutated.
tree() {
    mkdir -p "$dir/$1" && tar cf - ipt.h ipt_impl.h tests/*.[ch] fuzz/*.[ch] \
        zydis_glue examples/frames.h examples/tools/common |
        (cd "$dir/$1" && tar xf -)
}

# prefix TREE SECTION: sums the object of the sections up to this one, with all
# their functions, each once for itself. All of the object counts: also what it
# refers to.
prefix() {
    awk -v tag="$2" '/^\/\* ====/ {
            getline next_line
            if (seen && next_line ~ /^ \* \[/) {print "#endif"; exit}
            seen = seen || next_line ~ "^ \\* \\[" tag "\\]"
            print; print next_line; next}
        {sub(/__attribute__\(\(__always_inline__\)\)/, ""); print}' \
        "$dir/$1/ipt_impl.h" >"$dir/$1/prefix.c"
    object "$1" prefix -fkeep-static-functions -fkeep-inline-functions
}

# whole TREE: the same of all sections, as a user compiles them.
whole() {
    printf '#define IPT_IMPLEMENTATION\n#include "ipt.h"\n' >"$dir/$1/whole.c"
    object "$1" whole
}

# object TREE NAME FLAGS...
object() {
    tree=$1 name=$2
    shift 2
    rm -f "$dir/$tree/$name.o"
    gcc -std=c99 -w -O2 "$@" -I"$dir/$tree" -c "$dir/$tree/$name.c" \
        -o "$dir/$tree/$name.o" 2>/dev/null
    sha256sum <"$dir/$tree/$name.o"
}

# The programs of a tree are TREE/FLAGS-TEST, FLAGS plain or sanitized.
program_of() {
    echo "$dir/$1/$2-$(echo "${3%%[:!]*}" | tr / -)"
}

sanitizers='-fsanitize=address,undefined -fsanitize-trap=undefined'

# build TREE FLAGS TEST
build() {
    case $2,$3 in
    sanitized,*!) return ;;
    sanitized,*) options=$sanitizers ;;
    *) options= ;;
    esac
    case $1,$3 in
    all-*[:!]*) options="$options -O1" ;; # slow ones, compiled once
    *) options="$options -O0" ;;
    esac
    case $3 in
    fuzz/*) source="$dir/$1/$3.c $dir/$1/fuzz/standalone.c" ;;
    *) source=$dir/$1/tests/${3%%[:!]*}.c ;;
    esac
    # shellcheck disable=SC2086 # lists
    clang -std=c99 -w $options -I"$dir/$1" -o "$(program_of "$@")" \
        $source tests/check/mutant.c 2>/dev/null
}

# run TREE FLAGS TEST NUMBER MS: does it pass, in so many milliseconds?
run() {
    case $3 in
    fuzz/*) inputs=$(find "fuzz/corpus/${3#*/}" "fuzz/regress/${3#*/}" -type f \
        2>/dev/null) ;;
    *) inputs= ;;
    esac
    count=${3#*:}
    case $3 in *:*) count="TEST_COUNT=${count%!}" ;; *) count= ;; esac
    # shellcheck disable=SC2086 # a list
    env $count TEST_STOP=1 ASAN_OPTIONS=detect_leaks=0 MUTANT="$4" \
        MUTANT_MS="$5" timeout 300 "$(program_of "$@")" $inputs >/dev/null 2>&1
}

# all_of SECTION...: the tests of these, each once, with each set of flags.
all_of() {
    for section; do
        tests_of "$section" | tr ' ' '\n'
    done | sort -u | sed 's/.*/plain &\nsanitized &/'
}

# prepare TREE SECTION...: mutants to judge of all sections into TREE/todo, the
# programs, and for each how long it takes without a mutant.
prepare() {
    group=$1
    shift
    tree "$group"
    for section; do
        awk -v s="$section" '{name = $8; sub(/:$/, "", name)}
            $2 == s && name ~ ENVIRON["ONLY"] \
                && (!ENVIRON["LISTED"] || $6 == "listed")' "$dir/all" |
            if [ "$COUNT" -gt 0 ]; then head -n $((COUNT * 5 / 4 + 6)); else
                cat; fi
    done >"$dir/$group/todo"
    awk '$4 == "body" {print $1}' "$dir/$group/todo" >"$dir/$group/numbers"
    printf '#define IPT_IMPLEMENTATION\n#include "ipt.h"\n' >"$dir/$group/all.c"
    while :; do
        "$dir/mutate" together "$dir/base/ipt_impl.h" "$dir/$group/numbers" \
            >"$dir/$group/ipt_impl.h"
        clang -std=c99 -w -fsyntax-only -ferror-limit=0 -I"$dir/$group" \
            "$dir/$group/all.c" 2>&1 |
            sed -n 's/^mutant-\([0-9]*\):.* error: .*/\1/p' |
            sort -u >"$dir/$group/bad"
        [ -s "$dir/$group/bad" ] || break
        cat "$dir/$group/bad" >>"$dir/$group/broken"
        grep -vxFf "$dir/$group/bad" "$dir/$group/numbers" \
            >"$dir/$group/rest"
        mv "$dir/$group/rest" "$dir/$group/numbers"
    done
    all_of "$@" >"$dir/$group/programs"
    workers prepare_some "$group"
    ! grep -h . "$dir/$group"/failed-* || exit 2
}

# prepare_some WORKER TREE
prepare_some() {
    share_of "$1" "$dir/$2/programs" | while read -r flags check; do
        case $flags,$check in sanitized,*!) continue ;; esac
        build "$2" "$flags" "$check"
        (
            MUTANT_TIME=$(program_of "$2" "$flags" "$check").ms
            export MUTANT_TIME
            run "$2" "$flags" "$check" -1 0
        ) || echo "mutate: without a mutant $check fails ($flags)" >&3
        [ -z "$VERBOSE" ] || echo "built $check $flags" \
            "$(cat "$(program_of "$2" "$flags" "$check").ms") ms" >&4
    done 3>"$dir/$2/failed-$1"
}

# share_of WORKER FILE: every JOBS-th line.
share_of() {
    awk -v n="$JOBS" -v me="$1" 'NR % n == me' "$2"
}

# workers FUNCTION ARGUMENTS...: so many of it as JOBS says, in parallel.
workers() {
    what=$1
    shift
    pids=
    i=0
    while [ $i -lt "$JOBS" ]; do
        "$what" $i "$@" 4>&2 2>/dev/null & # the shell names what crashes
        pids="$pids $!"
        i=$((i + 1))
    done
    # shellcheck disable=SC2086 # a list
    wait $pids
}

# try WORKER TREE NUMBER SECTION WHERE: all tests, plainly and with sanitizers.
# Says what noticed, or that it does not compile. A test may take four times as
# long as without a mutant, sixteen times where it is compiled to be built fast.
try() {
    if [ "$5" = body ]; then
        ! grep -qxs "$3" "$dir/$2/broken" || {
            echo "left compiler"
            return
        }
        in=$2 times=4
    else
        "$dir/mutate" apply "$dir/base/ipt_impl.h" "$3" >"$dir/$1/ipt_impl.h"
        in=$1 times=16
    fi
    for flags in plain sanitized; do
        for check in $(tests_of "$4"); do
            case $flags,$check in sanitized,*!) continue ;; esac
            [ "$5" = body ] || build "$1" $flags "$check" || {
                echo "left compiler"
                return
            }
            run "$in" $flags "$check" "$3" $((500 + times * $(
                cat "$(program_of "$2" $flags "$check").ms"))) || {
                echo "killed $check"
                return
            }
        done
    done
    echo "alive -"
}

# identical WORKER NUMBER SECTION WHERE: is the object as without the mutant? A
# table or a macro may be there for later sections only.
identical() {
    "$dir/mutate" apply "$dir/base/ipt_impl.h" "$2" >"$dir/$1/ipt_impl.h"
    if [ "$4" = body ]; then
        [ -s "$dir/base/$3" ] || prefix base "$3" >"$dir/base/$3"
        prefix "$1" "$3" | cmp -s - "$dir/base/$3" && return
    fi
    [ -s "$dir/base/all" ] || whole base >"$dir/base/all"
    whole "$1" | cmp -s - "$dir/base/all"
}

# judge WORKER TREE: adds lines to the results, until a section has enough.
judge() {
    share_of "$1" "$dir/$2/todo" |
        while read -r number section line where _ listed key; do
            [ "$COUNT" -eq 0 ] ||
                [ "$(grep -cE "^(killed|alive|wrong) $section " \
                    "$dir/results")" -lt "$COUNT" ] || continue
            verdict=$(try "$1" "$2" "$number" "$section" "$where")
            by=${verdict#* } verdict=${verdict% *}
            if [ "$listed" = listed ]; then
                case $verdict in
                alive) verdict=equivalent by=listed ;;
                killed) verdict=wrong ;;
                esac
            elif [ "$verdict" = alive ] &&
                identical "$1" "$number" "$section" "$where"; then
                verdict=left by=identical
            fi
            printf '%s %s %s %s %s\n' "$verdict" "$section" "$line" "$by" \
                "$key" >>"$dir/results"
        done
}

tree base # as it is now: it may be worked on meanwhile
"$dir/mutate" list "$dir/base/ipt_impl.h" "$SEED" $list >"$dir/all" || exit 2
i=0
while [ $i -lt "$JOBS" ]; do
    cp -r "$dir/base" "$dir/$i"
    i=$((i + 1))
done

# With few mutants of each section those of all go into the same programs.
trap 'kill $pids 2>/dev/null' HUP INT TERM
if [ "$COUNT" -gt 0 ] && [ $((COUNT * $#)) -le 400 ]; then
    prepare all-sections "$@"
    workers judge all-sections
else
    for section; do
        prepare "all-$section" "$section"
        workers judge "all-$section"
    done
fi

grep -E '^(alive|wrong)' "$dir/results" | sort -k2,2 -k3,3n
: >"$dir/limits"
for section; do
    echo "$section $(limit_of "$section")" >>"$dir/limits"
done
awk '
    function say(ok, name, judged, killed, limit, rest) {
        printf "%s %-8s %5.1f %% of %d killed (limit %.4g), %s\n",
            ok ? "ok  " : "FAIL", name, judged ? 100 * killed / judged : 0,
            judged, limit, rest
        if (ok) passed++; else failed++
    }
    FILENAME ~ /limits$/ {limit[$1] = $2; order[++sections] = $1; next}
    FILENAME ~ /all$/ {there[$2]++; next}
    {n[$2, $1]++; n[$2, $1, $4]++; looked_at[$2]++}
    END {
        for (i = 1; i <= sections; i++) {
            s = order[i]
            p = limit[s] / 100
            judged = n[s, "killed"] + n[s, "alive"] + n[s, "wrong"]
            equal = n[s, "equivalent"]
            share = equal ? 100 * equal / (judged + equal) : 0
            sample = looked_at[s] < there[s] && judged < 200
            listed = ENVIRON["LISTED"]
            ok = !n[s, "wrong"] && (listed || (judged \
                && (share < 6 || (judged < 100 && equal < 6)) \
                && (sample || 100 * n[s, "killed"] >= limit[s] * judged)))
            say(ok, s, judged, n[s, "killed"], limit[s], sprintf(\
                "%d alive, %d equivalent (%.1f %%), left out: " \
                "%d do not compile, %d identical", n[s, "alive"], equal, share,
                n[s, "left", "compiler"], n[s, "left", "identical"]))
            if (!sample || listed) continue
            of += judged; dead += n[s, "killed"]; alive += n[s, "alive"]
            due += judged * p; spread += judged * p * (1 - p)
        }
        due -= 4 * sqrt(spread)
        if (of)
            say(dead >= due, "together", of, dead, 100 * due / of,
                alive " alive")
        print passed + 0, failed + 0 >totals
    }' totals="$dir/totals" "$dir/limits" "$dir/all" "$dir/results"
read -r passed failed <"$dir/totals"
"$dir/mutate" stale "$dir/base/ipt_impl.h" $list >"$dir/stale"
[ ! -s "$dir/stale" ] || {
    echo "FAIL stale rows:"
    cat "$dir/stale"
    failed=$((failed + 1))
}
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
