#!/bin/sh
# coverage.sh: which branches of ipt_impl.h does `make run-tests` take? Counted
# by clang, for each condition both ways and each macro expansion by itself. Up
# to [insn] every one is taken, or stands in tests/proof/unreachable with the
# reason why it cannot be, and the harness of `make prove` that shows it;
# elsewhere LEAST percent are. One test per section.
#
# The total counts what run-tests ran, too. build/coverage/branches has all of
# them: section, line, count, branch. TESTS=kept takes the last run's profile.

build=${BUILD:-build}
dir=$build/coverage
list=tests/proof/unreachable
LEAST=97

for need in clang llvm-profdata llvm-cov; do
    package=llvm
    [ $need != clang ] || package=clang
    command -v $need >/dev/null || {
        echo "SKIP coverage: $need is missing (package $package)"
        echo "0 passed, 0 failed, 14 skipped"
        exit
    }
done

if [ "$TESTS" != kept ]; then
    rm -rf "$dir/profiles"
    mkdir -p "$dir/profiles" || exit 2
    LLVM_PROFILE_FILE=$(cd "$dir/profiles" && pwd)/%m.profraw
    export LLVM_PROFILE_FILE
    cp ipt_impl.h "$dir" # it may be worked on meanwhile
    make --no-print-directory -j"$(nproc)" run-tests CC=clang BUILD="$dir" \
        ${SCRIPTS:+SCRIPTS="$SCRIPTS"} \
        CFLAGS="-O1 -fno-inline -fprofile-instr-generate -fcoverage-mapping" |
        tee "$dir/log"
fi
tests=$(tail -n 1 "$dir/log" | sed -n -E \
    's/^([0-9]+) passed, 0 failed(, ([0-9]+) skipped)?$/\1 \3/p')
[ -n "$tests" ] || { echo "coverage: tests fail"; exit 2; }
llvm-profdata merge -sparse "$dir"/profiles/*.profraw -o "$dir/merged" ||
    exit 2

# The programs that were counted.
objects=$(find "$dir" -type f -perm -u+x | while read -r f; do
    readelf -SW "$f" 2>/dev/null | grep -q __llvm_covmap && echo "-object $f"
done)
# shellcheck disable=SC2086 # a list
llvm-cov export -instr-profile="$dir/merged" ${objects#-object } ipt_impl.h \
    2>/dev/null | tr '{' '\n' | grep '^"branches":\[\[' |
    awk -f tests/check/coverage.awk "$dir/ipt_impl.h" - | sort -k1,1 -k2,2n -k3 \
    >"$dir/branches"

awk -v least=$LEAST -v list=$list -v tests="$tests" \
    -v proofs="$(FULL=1 sh tests/proof/prove.sh --list | tr '\n' ' ')" '
    BEGIN {
        split(tests, ran, " "); passed = ran[1]
        for (i = split(proofs, names, " "); i > 0; i--) harness[names[i]] = 1
    }
    FILENAME == list {
        if (/^\[/) {reason[$0] = 0; entry = $0}
        else if (/^ /) {
            reason[entry] = 1
            said = $0
            proved[entry] = sub(/ of `make prove`\.$/, "", said)
            sub(/.* /, "", said)
            if (!(said in harness)) proved[entry] = 0
        }
        next
    }
    FILENAME ~ /ipt_impl\.h$/ {
        if (/^ \* \[[a-z]+\]/ && last ~ /^\/\* ====/) {
            tag = $2; gsub(/[][]/, "", tag); order[++sections] = tag}
        last = $0
        next
    }
    {
        key = $0
        sub(/^[^ ]* [^ ]* [^ ]* /, "", key)
        key = "[" $1 "] " key
        n[$1]++
        seen[key] = 1
        if ($3 > 0) {
            taken[$1]++
            if (key in reason) was[key] = 1
        } else if (key in reason) {
            listed[$1]++; not_taken[key] = 1
        } else missed[$1] = missed[$1] "    line " $2 ": " key "\n"
    }
    END {
        for (i = 1; i <= sections; i++) {
            tag = order[i]
            all = tag ~ /^(blk|bind|walk|cov|cache|hot|gen|hw)$/ ? least : 100
            rate = n[tag] ? 100 * (taken[tag] + listed[tag]) / n[tag] : 0
            ok = rate >= all
            printf "%s %-8s %4d of %4d branches taken, %2d cannot be, " \
                "%5.1f %% (limit %d)\n", ok ? "ok  " : "FAIL", tag,
                taken[tag], n[tag], listed[tag], rate, all
            printf "%s", missed[tag]
            if (ok) passed++; else failed++
        }
        for (key in reason) {
            why = !(key in seen) ? "is not there" \
                : (key in was) && !(key in not_taken) ? "is taken" \
                : !reason[key] ? "has no reason" \
                : !proved[key] ? "has no proof" : ""
            if (why) {print "FAIL " list ": " key " " why; bad = 1}
        }
        if (!bad) passed++; else failed++
        printf "%d passed, %d failed%s\n", passed, failed,
            ran[2] ? ", " ran[2] " skipped" : ""
        exit failed > 0
    }' $list "$dir/ipt_impl.h" "$dir/branches"
