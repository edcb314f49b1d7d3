#!/bin/sh
# ptcov.sh: ptcov on the recording that comes with the examples, its code given
# in every way, next to the list of instructions that executed.

. "$(dirname "$0")/check/lib.sh"
ptcov=$(cd "${BUILD:-build}" && pwd)/ptcov
ptprof=${ptcov%ptcov}ptprof
recording=$root/examples/recording
CC=${CC:-cc}
cd "$tmp" || exit 2

# ok WHAT STATUS ARGUMENTS...: exit status of ptcov on the recording.
ok() {
    what=$1 want=$2
    shift 2
    "$ptcov" "$@" "$recording/trace.pt" >out 2>err
    status=$?
    if [ $status -eq "$want" ]; then pass
    else fail_with "$what: status $status, want $want" err; fi
}

# same WHAT FILE FILE
same() {
    if cmp -s "$2" "$3"; then pass
    else
        diff "$2" "$3" >difference
        fail_with "$1" difference
    fi
}

# refuse STATUS TEXT ARGUMENTS...: the one line of standard error.
refuse() {
    want=$1 text=$2
    shift 2
    "$ptcov" "$@" >out 2>err
    status=$?
    if [ $status -eq "$want" ] && [ "$(sed 's/^.*ptcov: //' err)" = "$text" ]
    then pass
    else fail_with "ptcov $*: status $status, want $want: $text" err; fi
}

# Each edge leads between instructions that executed one after the other, as
# often.
ok "edges" 0 --map "$recording" --edges edges
od -An -v -tx8 -w8 "$recording/ips.u64" | sed 's/^ *0*//' >ips
awk 'NR > 1 { print from "\t" $1 } { from = $1 }' ips | sort | uniq -c |
    awk '{ print $2 "\t" $3 "\t" $1 }' | sort >pairs
sort edges | comm -23 - pairs >wrong
expect_empty "edges that did not happen" wrong
[ -s edges ] && pass || fail "no edges"

ok "to standard output" 0 --map "$recording" --edges -
same "edges on standard output" edges out

# What the memo knew: without one less than with one of any use, and as many
# counters. One that is too small loses lines.
for kib in 1 1024; do
    ok "memo of $kib KiB" 0 --map "$recording" --stat --memo $kib \
        --bitmap map.$kib
    sed -n 's/^.*: memo of \([0-9]*\) KiB: \([0-9]*\) hits, \([0-9]*\) misses, \([0-9]*\) lines lost[.]$/\1 \2 \3 \4/p' err
done >stat
same "counters with a small memo" map.1 map.1024
awk 'NR == 1 && $1 == 1 && $4 > 0 { misses = $3; small = 1 }
    NR == 2 && $1 == 1024 && $2 > $3 && $3 > 0 && $3 < misses { large = 1 }
    END { if (!small || !large) print "not as it should be" }' stat >wrong
[ -s wrong ] && cat stat >>wrong
expect_empty "counts of the memo" wrong

# libxdc's page cache; a page that is not mapped, and one that is there twice
base=$(cut -d' ' -f1 "$recording/image.map" | head -1)
printf '\001\000\000\000\000\000\000\000' >page.addr
for i in 1 2; do printf '\000\020\100\000\000\000\000\000' >>page.addr; done
head -c 4096 /dev/zero >page.dump
head -c 4096 "$recording/pages.bin" >>page.dump
head -c 4096 /dev/zero >>page.dump
[ "$base" = 401000 ] && pass || fail "the recording is at $base now"
ok "page cache" 0 --pages page --edges by-pages
same "edges by the page cache" edges by-pages
ok "raw" 0 --raw "$recording/pages.bin:0-0x1000:0x401000" --edges by-raw
same "edges by a raw image" edges by-raw

# counters: their sum is that of the edges
ok "bitmap" 0 --map "$recording" --bitmap map
[ "$(wc -c <map)" -eq 65536 ] && pass || fail "size of the bitmap"
ok "small" 0 --map "$recording" --bitmap one --bitmap-size 1 --edges e
sum=$(awk '{ n += $3 } END { print n % 256 }' edges)
[ "$(od -An -tu1 one | tr -d ' ')" = "$sum" ] && pass || fail "one counter"
ok "saturating" 0 --map "$recording" --bitmap one --bitmap-size 1 --saturate
[ "$(od -An -tu1 one | tr -d ' ')" = 255 ] && pass || fail "it saturates"
ok "indirect" 0 --map "$recording" --edges more --indirect
[ "$(wc -l <more)" -gt "$(wc -l <edges)" ] && pass || fail "indirect edges"
from=$(awk 'NR == 3 { print $1 }' edges)
ok "filter" 0 --map "$recording" --edges some --filter "0x$from-0x$from"
grep "^$from	" edges >want
same "filtered edges" want some
# blocks: those of all that begin in the filter, each 8 bytes after the table
blocks() {
    sed -n '/^BB Table/{s/[^0-9]//gp;q}' "$1"
}
ok "all blocks" 0 --map "$recording" --drcov all.drcov
ok "blocks in a filter" 0 --map "$recording" --drcov some.drcov \
    --filter "0x$from-0x$from"
[ "$(blocks all.drcov)" -gt 20 ] && pass || fail "all blocks: $(blocks all.drcov)"
[ "$(blocks some.drcov)" -le 1 ] && pass || fail "blocks: $(blocks some.drcov)"
end=$(printf '%x' $((0x$from + 0x40)))
ok "blocks in a larger filter" 0 --map "$recording" --drcov more.drcov \
    --filter "0x$from-0x$end"
[ "$(blocks more.drcov)" -gt 1 ] &&
    [ "$(blocks more.drcov)" -lt "$(blocks all.drcov)" ] && pass ||
    fail "blocks of a larger filter: $(blocks more.drcov)"

# address spaces: the trace names none, so it is a host's
ok "root" 0 --map "$recording" --edges some --root
same "edges of the host" edges some
ok "non-root" 1 --map "$recording" --edges some --non-root
expect_empty "edges of guests" some
ok "cr3" 1 --map "$recording" --edges some --cr3 1000
expect_empty "edges under another CR3" some

# drcov: a block's address is that of its module's start, plus 32 bits; what is
# shown is the file, from where that was loaded.
# read_drcov FILE: lines ADDRESS OFFSET SIZE PATH, all in hex but the path.
$CC -std=c99 $WARN -O1 -o reader "$root/tests/mock/drcov.c" || exit 2
read_drcov() {
    if ./reader "$1" >read 2>why; then pass; else fail_with "drcov: $1" why; fi
    sed 1d read | sort -u
}
# The reader takes the tables that others write: versions 2 to 5.
for columns in "2: base, end, entry, path" \
    "2: base, end, entry, checksum, timestamp, path" \
    "3: containing_id, start, end, entry, checksum, timestamp, path" \
    "4: containing_id, start, end, entry, offset, path" \
    "5: containing_id, start, end, entry, offset, preferred_base, path"; do
    {
        printf 'DRCOV VERSION: 2\nDRCOV FLAVOR: drcov-64\n'
        printf 'Module Table: version %s, count 1\n' "${columns%%:*}"
        printf 'Columns: id,%s\n  0' "${columns#*:}"
        echo "${columns#*: }" | sed 's/\(base\|start\),/0x7f0000001000,/
            s/end,/0x7f0000003000,/; s/path$/\/bin\/a, b/
            s/[a-z_]*_id,/0,/; s/[a-z_]\{4,\},/0x0,/g; s/^/, /'
        printf 'BB Table: 1 bbs\n\020\020\0\0\005\0\0\0'
    } >other
    read_drcov other >got
    echo '7f0000002010 1010 5 /bin/a, b' >want
    same "a table of version $columns" want got
done
printf x >>other
./reader other >got 2>why && fail "bytes after the blocks" || pass

ok "drcov" 0 --map "$recording" --drcov cov
read_drcov cov >shown
cut -d' ' -f1 shown >starts
sed 's/^0*//' ips | sort -u >executed
comm -23 starts executed >wrong
expect_empty "blocks begin where instructions are" wrong
awk '$1 != "40" $2 || $4 != "program"' shown >wrong
[ -s starts ] && expect_empty "offsets are the program's, from 400000" wrong

# A module is a file, whatever its segments.
ok "drcov of an ELF file" 0 --elf "$recording/program" --drcov cov
read_drcov cov >elf
awk '{print $1, $2}' shown >want
awk '{print $1, $2}' elf >got
same "drcov: a folder's maps (<) and an ELF file (>)" want got
grep -q '^1 blocks' read && pass || fail_with "one module" read
ok "drcov of a part" 0 --raw "$recording/program:0x1000-0x2000:0x401000" \
    --drcov cov
read_drcov cov >raw
awk '{print $1, $2}' raw >got
same "drcov: a folder's maps (<) and a part of a file (>)" want got

# ---- a perf.data ----

# covers WHAT LOG...: cov has the bytes of the instructions in these logs, and no
# others.
covers() {
    what=$1
    shift
    od -An -v -tx8 -w8 "$@" | sed 's/^ *0*//' | sort -u |
        awk -f "$root/tests/exports.awk" -v bytes=1 code - | sort -u >want
    read_drcov cov | while read -r at _ size _; do
        echo "$((0x$at)) $((0x$size))"
    done | awk '{for (i = 0; i < $2; i++) printf "%x\n", $1 + i}' | sort -u >ran
    [ "$(wc -l <want)" -gt 100 ] && same "$what" want ran
}

# Conditional branches led where the recorder's logs of all threads go on, as often.
perf_data() {
    for log in log/*.u64; do
        od -An -v -tx8 -w8 "$log" | sed 's/^ *0*//' |
            awk 'NR > 1 {print from "\t" $1} {from = $1}'
    done | sort | uniq -c | awk '{print $2 "\t" $3 "\t" $1}' >pairs
    objdump -d tree | sed -n 's/^ *\([0-9a-f]*\):\t[0-9a-f ]*\t\(notrack \)*\(bnd \)*j\([a-z]*\) .*/\1 \4/p' |
        awk '$2 !~ /^mp/ {print $1}' >conditional
    awk 'NR == FNR {is[$1] = 1; next} $1 in is' conditional pairs | sort >want
    "$ptcov" --edges - --drcov cov perf.data 2>err | sort >got
    same "edges of a perf.data (>), and of its logs (<)" want got
    [ "$(wc -l <got)" -gt 300 ] && pass || fail "edges of a perf.data"
    "$ptcov" -j 1 --indirect --edges - perf.data 2>err | sort >more
    sort pairs | comm -13 - more >wrong
    comm -23 got more >>wrong
    expect_empty "indirect edges are in the logs" wrong
    [ "$(wc -l <more)" -gt "$(wc -l <got)" ] && pass || fail "indirect edges"

    # Code that was executed, byte by byte, of all threads and of each: by ptcov and
    # by ptprof.
    cut -f 1,2 pairs | tr '\t' '\n' | sort -u >ran
    objdump -d -w tree | awk 'NR == FNR {ran[$1 ":"]; next} $1 in ran' ran - >code
    covers "ptcov --drcov" log/*.u64
    "$ptprof" --quiet --drcov cov perf.data 2>err
    covers "ptprof --drcov" log/*.u64
    for log in log/*.u64; do
        "$ptprof" --quiet --drcov cov --tid "$(basename "$log" .u64)" perf.data 2>err
        covers "ptprof --drcov --tid" "$log"
    done

    # Each thread for itself, in all what the whole is; counters are those of edges.
    for log in log/*.u64; do
        "$ptcov" --tid "$(basename "$log" .u64)" --edges - perf.data 2>err
    done | awk '{n[$1 "\t" $2] += $3} END {for (e in n) print e "\t" n[e]}' |
        sort >parts
    same "threads (>), and all (<)" got parts
    "$ptcov" --bitmap one --bitmap-size 1 perf.data 2>err
    sum=$(awk '{n += $3} END {print n % 256}' got)
    [ "$(od -An -tu1 one | tr -d ' ')" = "$sum" ] && pass || fail "a counter"
    for j in 1 2; do "$ptcov" -j $j --bitmap map.$j perf.data 2>err; done
    same "counters with -j 1, and 2" map.1 map.2
    "$ptcov" --tid 1 --edges none perf.data >out 2>err
    [ $? -eq 1 ] && grep -q 'nothing in it is of this --tid' err && pass ||
        fail_with "--tid 1" err
    refuse 2 "--elf: not with a perf.data." --elf tree perf.data
    refuse 2 "--cr3: not with a perf.data." --cr3 1000 perf.data
}
cat >tree.c <<'END'
#include <pthread.h>
static volatile unsigned sum;
static void *steps(void *n)
{
    for (unsigned long i = (unsigned long) n; i > 1; i = i % 2 ? 3 * i + 1 : i / 2)
        sum += 1;
    return 0;
}
int main(void)
{
    pthread_t other;
    pthread_create(&other, 0, steps, (void *) 27);
    steps((void *) 97);
    return pthread_join(other, 0) || sum == 0;
}
END
$CC -O1 -w -static -pthread -o tree tree.c || exit 2
alone "$(dirname "$ptcov")/ptrecord" --quiet -o log --perf-data perf.data \
    --time cyc --cpus 2 -- ./tree >said 2>&1
recorded=$?
if [ $recorded -eq 0 ]; then perf_data
elif no_ptrace said; then skip "a perf.data: no ptrace here"
else fail_with "not recorded" said; fi
rm -f perf.data

# what is missing is reported
ok "without code" 1
grep -q 'code missing' err && pass || fail_with "code missing" err
"$ptcov" --map "$recording" "$recording/trace.pt:0-1000" >out 2>err
grep -q '1000 of 1000 bytes decoded' err && pass || fail_with "a part" err

"$ptcov" --help >out 2>err && grep -q '^usage: ' out && pass || fail "--help"
refuse 2 "no trace.  Use --help or -h for help." --indirect
refuse 2 "unknown option: --bad.  Use --help or -h for help." --bad x
refuse 2 "--filter: bad argument: 5-3." --filter 5-3 x
refuse 2 "--bitmap-size: bad argument: 0." --bitmap-size 0 x
refuse 2 "--edges: missing argument." --edges
refuse 1 "--pages: failed to load 'no': bad file." --pages no x
refuse 1 "failed to open no.pt: No such file or directory." no.pt

# examples/cover: a run reaches something new once
cover=$(dirname "$ptcov")/examples/cover
"$cover" "$recording/pages.bin" 401000 "$recording/trace.pt" \
    "$recording/trace.pt" >out 2>err
sed 's/.*: \([0-9]* new\), path .*/\1/' out >news
printf '%s new\n0 new\n' "$(wc -l <edges)" >want
same "what two equal runs reach" want news

# ... and a file that does not fit its buffer is refused, not cut: trace, code
truncate -s 17M big
refused() {
    "$cover" "$@" >out 2>err
    [ $? -eq 2 ] && [ ! -s out ] && grep -q 'big: not below 16 MiB' err &&
        pass || fail_with "examples/cover: a file of 17 MiB" err
}
refused "$recording/pages.bin" 401000 big
refused big 401000 "$recording/trace.pt"
report
