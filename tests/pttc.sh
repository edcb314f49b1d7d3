#!/bin/sh
# pttc.sh: pttc on the samples in data/ptt. What a sample must give stands in
# the sample itself and in files beside it, typed from the documentation:
#
#     ;args WORDS            arguments in front of the file's name
#     ;exit N                exit status, if not 0
#     ;out WORDS             standard output, a blank after each word
#     ;err TEXT              a line of standard error
#     ;sb NAME ...           the sideband files
#     ;no-trace              no .pt file is written
#     ;yasm-fails            standard error is yasm's, and is not empty
#     ... = 02 f3            bytes of the trace, or (in lines that are no @pt
#                            directive, with ;sb) of the sideband files
#     SAMPLE-*.exp           the expectation files that it writes

dir=$(cd "$(dirname "$0")" && pwd)
. "$dir/check/lib.sh"
pttc=$(cd "${BUILD:-build}" && pwd)/pttc
data=$dir/data/ptt

have yasm yasm || { report; exit; }

# header WORD: the rest of the sample's lines that begin with ;WORD.
header() { sed -n "s/^;$1 //p" "$sample"; }

has() { grep -q "^;$1\$" "$sample"; }

# typed KIND: the bytes typed in the sample for its trace or its sideband.
typed() {
    awk -v kind="$1" -v sb="$(header sb)" '
        !/= [0-9a-f][0-9a-f]( [0-9a-f][0-9a-f])*$/ {next}
        ((/@pt / || sb == "") ? "trace" : "sideband") != kind {next}
        {sub(/.*= /, ""); print}' "$sample"
}

bytes() { od -An -v -tx1 | tr -s ' ' '\n' | sed '/^$/d'; }

# same WHAT GOT WANT: passes when two files are equal.
same() {
    if cmp -s "$2" "$3"; then pass
    else
        diff "$3" "$2" >"$tmp/diff"
        fail_with "$name: $1 (< expected, > written)" "$tmp/diff"
    fi
}

# run: pttc on the sample, in an empty folder.
run() {
    rm -rf "$tmp/run"
    mkdir "$tmp/run"
    cp "$sample" "$data/included.inc" "$tmp/run"
    # shellcheck disable=SC2046 # words
    (cd "$tmp/run" && exec "$pttc" $(header args) "$name.ptt") \
        >"$tmp/out" 2>"$tmp/err"
    status=$?
    want=$(header exit)
    if [ $status -eq "${want:-0}" ]; then pass
    else fail_with "$name: exit status $status, want ${want:-0}" "$tmp/err"; fi
}

check_texts() {
    header out | tr '\n' ' ' >"$tmp/want"
    same "standard output" "$tmp/out" "$tmp/want"
    if has yasm-fails; then
        if [ -s "$tmp/err" ] && ! grep -q '^fatal:' "$tmp/err"; then pass
        else fail_with "$name: standard error is not yasm's" "$tmp/err"; fi
    else
        header err >"$tmp/want"
        same "standard error" "$tmp/err" "$tmp/want"
    fi
}

check_trace() {
    if has no-trace; then
        if [ -e "$tmp/run/$name.pt" ]; then fail "$name: a trace"; else pass; fi
        return
    fi
    typed trace | tr ' ' '\n' >"$tmp/want"
    bytes <"$tmp/run/$name.pt" >"$tmp/got"
    same "bytes of the trace" "$tmp/got" "$tmp/want"
}

check_sideband() {
    typed sideband | tr ' ' '\n' >"$tmp/want"
    # shellcheck disable=SC2046 # words
    (cd "$tmp/run" && cat $(header sb)) | bytes >"$tmp/got"
    same "bytes of sideband" "$tmp/got" "$tmp/want"
}

# expectations FOLDER: the names of the sample's .exp files in it. The stems of
# all samples differ, also with a - after them.
expectations() {
    (cd "$1" && ls) | awk -v stem="$name-" 'index($0, stem) == 1 && /[.]exp$/'
}

check_expectations() {
    expectations "$data" >"$tmp/want.exp"
    expectations "$tmp/run" >"$tmp/got"
    same "names of expectations" "$tmp/got" "$tmp/want.exp"
    while read -r file; do
        same "$file" "$tmp/run/$file" "$data/$file"
    done <"$tmp/want.exp"
}

for sample in "$data"/*.ptt; do
    name=$(basename "$sample" .ptt)
    case $name in *"$TEST_ONLY"*) ;; *) continue ;; esac
    run
    check_texts
    check_trace
    [ -z "$(header sb)" ] || check_sideband
    check_expectations
done

# ---- the command line ----

# says STATUS TEXT ARGUMENTS...: status, and a line of the output.
says() {
    want=$1 text=$2
    shift 2
    (cd "$tmp/run" && exec "$pttc" "$@") >"$tmp/out" 2>&1
    status=$?
    if [ $status -eq "$want" ] && grep -qxF -- "$text" "$tmp/out"; then pass
    else fail_with "pttc $*: status $status, want $want and: $text" \
        "$tmp/out"; fi
}

rm -rf "$tmp/run"
mkdir -p "$tmp/run/a.b/c"
cp "$data/simple.ptt" "$tmp/run/a.b/c/d.e.ptt"
says 0 "usage: $pttc [<options>] <pttfile>" --help
says 0 "usage: $pttc [<options>] <pttfile>" -h
says 1 "$pttc: no pttfile specified."
says 1 "$pttc: no pttfile specified." --cpu 6/61
says 1 "$pttc: only one pttfile can be specified." a.ptt b.ptt
says 1 "$pttc: unrecognized option '--foo'." --foo
says 1 "$pttc: unrecognized option '-x'." a.ptt -x
says 1 "$pttc: --cpu: missing argument." a.ptt --cpu
says 1 "$pttc: cpu must be specified as f/m[/s]." --cpu 6 a.ptt
says 1 "$pttc: cpu must be specified as f/m[/s]." --cpu 6/256 a.ptt
says 229 "fatal: errata configuration failed -27: unknown cpu" \
    --cpu 6/0 a.ptt

# The root is the name without folder and without the last suffix.
(cd "$tmp/run" && "$pttc" a.b/c/d.e.ptt) && ls "$tmp/run" >"$tmp/got"
printf 'a.b\nd.e.bin\nd.e.lst\nd.e.pt\n' >"$tmp/want"
name=folder
same "names of files" "$tmp/got" "$tmp/want"

# No file is yasm's to report; without yasm there is one line of ours.
(cd "$tmp/run" && exec "$pttc" missing.ptt) >"$tmp/out" 2>&1
status=$?
if [ $status -eq 33 ] && ! grep -q '^fatal:' "$tmp/out"; then pass
else fail_with "missing.ptt: status $status, want 33" "$tmp/out"; fi
mkdir "$tmp/empty"
(cd "$tmp/run" && PATH=$tmp/empty "$pttc" a.b/c/d.e.ptt) >"$tmp/out" 2>&1
status=$?
if [ $status -eq 33 ] && grep -q 'cannot run yasm' "$tmp/out" &&
    [ "$(wc -l <"$tmp/out")" -eq 1 ]; then pass
else fail_with "without yasm: status $status" "$tmp/out"; fi

report
