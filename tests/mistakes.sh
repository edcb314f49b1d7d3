#!/bin/sh
# mistakes.sh: what people get wrong most often. Each ends with the status that
# all tools have for it, prints nothing on standard output, and one line on
# standard error that helps. Then what has to work: spellings, - and defaults.

here=$(cd "$(dirname "$0")/.." && pwd)
set -- "$here"
. "$here/tests/check/lib.sh"
build=$(cd "${BUILD:-build}" && pwd) || exit 2
PATH=$build:$PATH
mkdir "$tmp/in" "$tmp/in/empty"
cd "$tmp/in" || exit 2
cp "$here"/examples/recording/program "$here"/examples/recording/trace.pt \
    "$here"/examples/recording/pages.bin .
alone timeout 300 ptrecord --quiet --time mtc --perf-data q.data -- \
    ./program >recorded 2>&1
case $?-$(no_ptrace recorded && echo no) in
0-) records=yes ;;
*-no) records=no && skip "no ptrace here" ;;
*) records=yes && fail_with "q.data" recorded ;;
esac
[ $records = no ] || head -c 100 q.data >cut.data
tail -c 1000 trace.pt | head -c 900 >nopsb.pt
gzip -c trace.pt >trace.pt.gz
: >nothing
printf 'no trace\n' >text

# mistake STATUS TEXT COMMAND: the text is a basic regular expression.
mistake() {
    case $3 in *"$TEST_ONLY"*) ;; *) return ;; esac
    [ $records = yes ] || case $3 in *q.data* | *cut.data* | ptrecord*) return ;; esac
    PATH=$PATH timeout 300 sh -c "$3" >out 2>err </dev/null
    status=$?
    if [ $status -eq "$1" ] && grep -q -e "$2" err && [ ! -s out ] &&
        [ "$(wc -l <err)" -eq 1 ]; then pass
    else
        cat out >>err
        fail_with "status $status, not $1 and one line with $2: $3" err
    fi
}

while IFS='|' read -r want text command; do
    [ -z "$want" ] || mistake "$want" "$text" "$command"
done <<'END'
2|no file, and no perf.data here[.]  Use --help|cd empty && ptflow
2|no file, and no perf.data here|cd empty && ptprof
2|no file, and no perf.data here|cd empty && ptsplit
2|no trace[.]  Use --help|ptcov
2|no --pt|ptparallel
2|no command|ptrecord -o x
2|goes nowhere|ptrecord -- true
2|nothing to record|ptcapture
2|one folder|ptdemo
1|none: No such file|ptflow none
1|none: No such file|ptprof none
1|none: No such file|ptcov none
1|none: No such file|ptparallel --pt none
1|cannot be read; ptrecord -o|ptdemo none
1|is a trace without records: ptflow --pt|ptflow trace.pt
1|is a trace without records: .*ptprof --pt|ptprof trace.pt
1|is a perf.data: ptflow, ptprof, ptcov and ptsplit read it|ptxed --pt q.data
1|is a perf.data: ptflow, ptprof|ptparallel --pt q.data
1|is compressed: gzip -d|ptflow trace.pt.gz
1|is compressed: gzip -d|ptcov trace.pt.gz
1|is a program|ptflow program
1|not a perf.data|ptprof text
1|it is empty|ptcov nothing
2|unknown option: --folded|ptflow --folded q.data
2|unknown option: --falt; similar: --flat|ptprof --falt q.data
2|unknown option: --perf-date; similar: --perf-data|ptrecord --perf-date x -- true
2|similar: --help, --histogram, --hot|ptprof --h q.data
2|unknown option: -x|ptflow -x q.data
2|--func: missing argument|ptflow q.data --func
2|--func: missing argument|ptflow --func --call q.data
2|--insn has no argument|ptflow --insn=1 q.data
2|--tid: bad argument: main|ptflow --tid main q.data
2|--last: bad argument: ten|ptflow --last ten q.data
2|--time: bad argument: 5|ptprof --time 5 q.data
2|-j: bad argument: x|ptflow -jx q.data
2|--by: insn or time|ptprof --by cycles q.data
2|--fields: bad argument: ip,name|ptflow --fields ip,name q.data
2|more than one file: q.data|ptflow q.data q.data
2|there is no --pt|ptflow --elf program q.data
2|--bitmap-size: bad argument: 0|ptcov --bitmap-size 0 trace.pt
2|--filter: bad argument: main|ptcov --filter main trace.pt
2|not a power of two|ptcapture -m 5000 -- ls
2|one of them|ptcapture -a -p 1
2|unknown option: -l|ptcapture -l
1|none: No such file|ptcov --elf none trace.pt
2|--raw: pages.bin: no address: <file>:<base>|ptcov --raw pages.bin trace.pt
1|--func nosuch: nothing called so ran|ptflow --quiet --func nosuch q.data
1|--callers nosuch: nothing called so ran|ptprof --quiet --callers nosuch q.data
1|this --comm; its threads: [0-9]* program|ptflow --quiet --comm nosuch q.data
1|this --comm|ptprof --quiet --flat --comm nosuch q.data
1|this --comm|ptprof --quiet --tree --comm nosuch q.data
1|this --comm|ptprof --quiet --lines --comm nosuch q.data
1|this --comm|ptprof --quiet --branches --comm nosuch q.data
1|this --tid; its threads: [0-9]* program|ptflow --quiet --tid 99999 q.data
1|this --time; its times: [0-9.]* to [0-9.]*|ptflow --quiet --time 1,2 q.data
1|this --cpu|ptflow --quiet --cpu 77 q.data
1|nothing was decoded|ptflow --quiet --pt nopsb.pt --elf program
1|no PSB|ptparallel --pt nopsb.pt --elf program
1|the file ends inside|ptflow --quiet cut.data
1|cannot write no/x: No such file|ptprof --quiet --speedscope no/x q.data
END

# ---- what works ----

# same WHAT COMMAND COMMAND: both succeed and print the same, which is not nothing.
same() {
    case $1 in *"$TEST_ONLY"*) ;; *) return ;; esac
    [ $records = yes ] || case $2 in *trace.pt*) ;; *) return ;; esac
    if sh -c "$2" >want 2>err && sh -c "$3" >got 2>>err && [ -s want ] &&
        cmp -s want got; then pass
    else fail_with "$1: $2, $3" err; fi
}
cp q.data perf.data 2>/dev/null
code="--pt trace.pt --quiet --call"
same "a default" "ptflow --quiet q.data" "ptflow --quiet"
same "--option=value" "ptflow --quiet --last 3 q.data" "ptflow --quiet --last=3"
same "-jN" "ptflow --quiet -j 2 q.data" "ptflow --quiet -j2"
same "an abbreviation" "ptflow --quiet --call q.data" "ptflow --qui --cal"
same "options last" "ptprof --quiet --flat q.data" "ptprof q.data --flat --quiet"
same "no 0x" "ptflow $code --raw pages.bin:401000" \
    "ptflow $code --raw pages.bin:0x401000"
same "a perf.data from a pipe" "ptflow --quiet" "cat q.data | ptflow --quiet -"
same "a trace from a pipe" "ptcov --elf program --edges - trace.pt" \
    "ptcov --elf program --edges - - <trace.pt"
same "a file and -" "ptprof --quiet --speedscope f; cat f" \
    "ptprof --quiet --speedscope -"
same "what a file was" "cat f; ptprof --quiet --speedscope f" "cat f.old"
same "--strict without losses" "ptflow --quiet" "ptflow --quiet --strict"
report
