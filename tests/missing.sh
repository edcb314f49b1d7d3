#!/bin/sh
# missing.sh: programs whose libraries are not there, with and without return
# compression. What ptflow and ptxed give of the program itself has executed, in
# this order, and is not less than a share of that. ptprof has its calls as with
# the libraries: all, or with return compression at least so many. make test has
# two of the ways through a library, in one program with return compression.

. "$(dirname "$0")/check/lib.sh"
build=$(cd "$root" && cd "${BUILD:-build}" && pwd) || exit 2
CXX=${CXX:-c++}
have "${CXX%% *}" g++ || { report; exit; }
program=$root/tests/truth/programs/library.cc
there=$tmp/there$tmp # where the same files are under the path they have here
cd "$tmp" || exit 2

mkdir -p "$there"
$CXX -O1 -w -fPIC -shared -DPLUGIN -o plugin.so "$program" || exit 2
count=12
[ -z "$TEST_FULL" ] || count=64
$CXX -O1 -w -pthread -static-libstdc++ -static-libgcc -DCOUNT=$count \
    -DPLUG="\"$tmp/plugin.so\"" -o library "$program" -ldl || exit 2
cp plugin.so library "$there"
nm --defined-only library plugin.so | awk '
    $2 ~ /[TtW]/ && ($3 ~ /^_Z/ || $3 !~ /^_|_tm_clones$|^frame_dummy$/) {
        print $3
    }' >names

# mapped: of addresses, those in code of the program and its plugin.
mapped() {
    awk '
    FILENAME ~ /maps$/ {
        if ($NF !~ /\/(library|plugin\.so)$/) next
        split($1, ends, "-")
        from[++n] = sprintf("%16s", ends[1]); to[n] = sprintf("%16s", ends[2])
        next
    }
    {
        sub(/^0+/, ""); at = sprintf("%16s", $1)
        for (i = 1; i <= n; i++)
            if (at >= from[i] && at < to[i]) {print $1; next}
    }' maps "$1"
}

# given WHAT TOOL LEAST: the addresses in `given` are some of those in `true`,
# and at least LEAST percent of them.
given() {
    diff -d true given >lines
    executed=$(wc -l <true) wrong=$(grep -c '^>' lines)
    got=$((executed - $(grep -c '^<' lines)))
    row="$1, $2: $executed executed, $got given, $((executed - got)) not, \
$wrong never ran"
    [ -z "$VERBOSE" ] || echo "$row"
    if [ "$executed" -gt 1000 ] && [ "$wrong" -eq 0 ] &&
        [ $((100 * got)) -ge $(($3 * executed)) ]
    then pass; else fail_with "$row; at least $3 %" lines; fi
}

# calls OPTION...: the program's functions, and how often they were called.
calls() {
    "$build/ptprof" --quiet --no-demangle --flat --min 0 "$@" data 2>said |
        awk 'NR == FNR {own[$1]; next} $5 in own {print $5, $4}' names - | sort
}

# counted WHAT HOW: the calls that ptprof has are those with the libraries, HOW:
# "same" or "least", where those without a mark are the same.
counted() {
    calls >true
    calls --symfs there --buildid-dir none >given
    awk -v how="$2" '
    NR == FNR {want[$1] = $2; n += $2; next}
    {got[$1] = $2}
    END {
        if (n < 2) print "calls:", n
        for (f in want) {
            count = got[f]
            part = sub(/^>=/, "", count)
            if (how == "least" && count != "" && !part && count != want[f])
                print f, "is not said to be a part:", got[f], "of", want[f]
            exact += count != "" && !part
            if (count + 0 > want[f] || (how == "same" && count != want[f]))
                print f, "called", want[f], "times, said:", got[f]
            seen += count
        }
        for (f in got) if (!(f in want)) print f, "never ran"
        if (2 * seen < n) print "of", n, "calls", seen
        if (!exact && !ENVIRON["TEST_FULL"]) print "all are marked"
    }' true given >lines
    expect_empty "$1: calls" lines
}

# losses WHAT: what is lost is inside of the libraries, and nothing else.
losses() {
    "$build/ptflow" --symfs there --buildid-dir none --fields ip data \
        2>&1 >/dev/null | grep 'lost:' >said
    grep -q 'lost: inside libc.so.6, which is not there: [1-9][0-9]* times$' \
        said && ! grep -qvE 'lost: (inside .* is not there: |mappings without)' \
        said && pass || fail_with "$1: losses" said
}

# decode WHAT LEAST OPTION...: with return compression or without.
decode() {
    what=$1 least=$2
    shift 2
    rm -rf log parts data data.old
    # Addresses are the same each time, and so are PSBs, where ptxed goes on.
    setarch -R "$build/ptrecord" --quiet --psb-period 512 --perf-data data \
        -o log "$@" >maps 2>recorded
    case $?-$(no_ptrace recorded && echo no) in
    0-) ;;
    *-no) skip "missing: no ptrace here"; return ;;
    *) fail_with "$what: not recorded" recorded; return ;;
    esac
    od -An -v -w8 -t x8 log/*.u64 | tr -d ' ' >all
    mapped all >true
    "$build/ptflow" --quiet --symfs there --buildid-dir none --fields ip data \
        2>said | grep -v ' ' >all
    mapped all >given
    given "$what" ptflow "$least"
    "$build/ptsplit" -o parts --ptxed --symfs there --buildid-dir none data \
        2>said >command
    PATH=$build:$PATH sh command 2>said |
        sed -n 's/^\([0-9a-f]\{16\}\)  .*/\1/p' >all
    mapped all >given
    given "$what" ptxed 0
    counted "$what" "$how"
    losses "$what"
}

# runs LEAST KIND: what ptflow gives without return compression is all.
runs() {
    how=least
    decode "$2" "$1" ./library "$2"
    how=same
    decode "$2, no return compression" 100 --no-retcomp ./library "$2"
}

each() {
    runs 86 qsort
    runs 90 bsearch
    runs 75 tsearch
    runs 83 atexit
    runs 90 once
    runs 20 std::sort
    runs 88 dlopen
    runs 87 signal
    runs 8 stubs
    runs 93 longjmp
}

rest 80 each
how=least
[ -n "$TEST_FULL" ] || decode "qsort signal" 85 ./library qsort signal
report
