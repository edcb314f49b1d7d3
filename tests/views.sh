#!/bin/sh
# views.sh: what ptprof writes for viewers, read back by programs that are not
# ours. From each file the stacks are added up again, and have to be those that
# ptprof --folded prints.

. "$(dirname "$0")/check/lib.sh"
build=$(cd "$root" && cd "${BUILD:-build}" && pwd) || exit 2
CC=${CC:-cc}
cd "$root" || exit 2

prof() {
    timeout 300 "$build/ptprof" --quiet "$@"
}

$CC -DNUMBERS=4 -O1 -w -static -pthread -o "$tmp/tree" \
    tests/programs/tree.c || exit 2
alone "$build/ptrecord" --quiet --time cyc --cpus 2 --perf-data "$tmp/x.data" -- \
    "$tmp/tree" >"$tmp/recorded" 2>&1
if no_ptrace "$tmp/recorded"; then
    skip "programs cannot be recorded here"
    report
    exit
fi
for by in insn time; do
    prof --folded --by $by "$tmp/x.data" | sort >"$tmp/folded.$by"
    [ -s "$tmp/folded.$by" ] || fail "no stacks by $by"
done

# Costs of each thread, `COMM-TID COST`, as the stacks in a file say.
threads() {
    awk '{n = $NF; sub(/[; ].*/, ""); all[$0] += n}
        END {for (t in all) print t, all[t]}' "$1" | sort
}
prof --by insn "$tmp/x.data" |
    sed -n 's/^\([^ ]*\) \([0-9]*: [0-9]*\) instructions$/\1-\2/p' |
    sed 's/://' | sort >"$tmp/want"
threads "$tmp/folded.insn" | diff "$tmp/want" - >"$tmp/why"
if [ -s "$tmp/want" ] && [ ! -s "$tmp/why" ]; then pass
else fail_with "the tree (<) and the stacks (>) have other totals" "$tmp/why"; fi

# Reads lines `TRACK TIME + NAME`, `TRACK TIME -` and `TRACK TIME = LABEL`, the
# name of a track; prints stacks with their own costs. Fails where a function is
# left that was not entered, stays open, or time goes back.
cat >"$tmp/add.awk" <<'END'
$3 == "=" {path[$1] = $0; sub(/^[^ ]* [^ ]* = /, "", path[$1]); next}
{
    if ($1 in last) {
        if ($2 < last[$1]) bad = "time goes back: " $0
        own[path[$1]] += $2 - last[$1]
        parts[path[$1]]++
    }
    last[$1] = $2
}
$3 == "+" {name = $0; sub(/^[^ ]* [^ ]* [+] /, "", name)
    path[$1] = path[$1] ";" name; depth[$1]++}
$3 == "-" {if (depth[$1]-- <= 0) bad = "not entered: " $0
    sub(/;[^;]*$/, "", path[$1])}
END {
    for (p in own) print p, own[p], parts[p]
    for (t in depth) if (depth[t]) bad = "stays open on " t
    if (bad) {print bad >"/dev/stderr"; exit 1}
}
END

# Stacks of two files that differ: STACK COST, and STACK COST PARTS. By time
# costs of the second are ps: a part is from one to another, and a stack's whole
# ns are what is left over of others, too. After an exec a gap right below the
# thread begins a ns later there than the functions before it end.
cat >"$tmp/compare.awk" <<'END'
function fields() {$0 = $0; n = $NF; sub(/ [0-9]+$/, "")}
FILENAME == ARGV[1] {fields(); want[$0] = n; next}
{fields(); parts = n; fields(); got[$0] = n; want[$0] += 0
    most[$0] = (by == "time") * (1000 + parts + 1000 * /^[^;]*;\[[^;]*\]$/)}
END {
    for (s in want) {
        d = want[s] * (by == "time" ? 1000 : 1) - got[s]
        if (d > most[s] || -d > most[s])
            print s, want[s], "not", got[s] + 0
    }
}
END

# same WHAT BY: lines for add.awk on standard input.
same() {
    if awk -f "$tmp/add.awk" 2>"$tmp/why" | sort >"$tmp/added" &&
        [ ! -s "$tmp/why" ] && awk -v by=$2 -f "$tmp/compare.awk" \
        "$tmp/folded.$2" "$tmp/added" >"$tmp/why" && [ ! -s "$tmp/why" ]; then
        pass
    else fail_with "$1" "$tmp/why"; fi
}

# ---- Perfetto ----

# Text of protoc's to lines for add.awk. A field without a name is a fault.
cat >"$tmp/perfetto.awk" <<'END'
/^ *[0-9]+[:{ ]/ {print "a field that is not in the .proto: " $0 >"/dev/stderr"
    bad = 1}
function text() {sub(/^[^"]*"/, ""); sub(/"$/, ""); return $0}
/^ *timestamp:/ {time = $2}
/^ *uuid:/ {uuid = $2}
/^ *tid:/ {tid = $2}
/^ *thread_name:/ {thread = text()}
/^ *iid:/ {iid = $2}
/^ *type:/ {type = $2}
/^ *name_iid:/ {name = $2}
/^ *track_uuid:/ {track = $2}
/^      name:/ {names[iid] = text()}
/^}/ {
    if (tid != "") print uuid, 0, "=", thread "-" tid
    if (type == 1) print track, time, "+", names[name]
    if (type == 2) print track, time, "-"
    tid = type = name = track = ""
}
END {exit bad}
END

# perfetto PROTO: lines for add.awk; fails where a field is unknown.
perfetto() {
    protoc -I"$(dirname "$1")" --decode=Trace "$1" <"$tmp/x.pftrace" \
        >"$tmp/text" && awk -f "$tmp/perfetto.awk" "$tmp/text"
}

if have protoc protobuf-compiler; then
    for by in insn time; do
        prof --perfetto "$tmp/x.pftrace" --by $by "$tmp/x.data"
        if perfetto tests/views.proto >"$tmp/perfetto.$by" 2>"$tmp/why"; then pass
        else fail_with "Perfetto's file has unknown fields" "$tmp/why"; fi
    done
    same "Perfetto, by insn" insn <"$tmp/perfetto.insn"
    sed 's/track_uuid = 11/track_uuid = 12/' tests/views.proto \
        >"$tmp/wrong.proto"
    if perfetto "$tmp/wrong.proto" >"$tmp/lines" 2>"$tmp/why"; then
        fail "a wrong field number is not noticed"
    else pass; fi
fi

# ---- Chrome ----

if have node nodejs; then
    cat >"$tmp/chrome.js" <<'END'
const events = JSON.parse(require('fs').readFileSync(0, 'utf8')).traceEvents;
const lines = [];
for (const e of events) {
    const time = Math.round(e.ts * (process.argv[2] === 'time' ? 1e6 : 1e3));
    if (e.ph === 'M') lines.push(`${e.tid} 0 = ${e.args.name}-${e.tid}`);
    if (e.ph === 'B') lines.push(`${e.tid} ${time} + ${e.name}`);
    if (e.ph === 'E') lines.push(`${e.tid} ${time} -`);
}
console.log(lines.join('\n'));
END
    for by in insn time; do
        prof --chrome "$tmp/x.json" --by $by "$tmp/x.data"
        node "$tmp/chrome.js" $by <"$tmp/x.json" >"$tmp/lines"
        same "Chrome, by $by" $by <"$tmp/lines"
    done
    # Perfetto's file has the same events, at whole ns.
    if [ -e "$tmp/perfetto.time" ]; then
        sed '/ 0 = /d; s/^[^ ]* //' "$tmp/perfetto.time" >"$tmp/got"
        sed '/ 0 = /d; s/^[^ ]* //' "$tmp/lines" |
            awk '{sub(/...$/, "", $1)} 1' >"$tmp/want"
        diff "$tmp/want" "$tmp/got" >"$tmp/why"
        if [ -s "$tmp/got" ] && [ ! -s "$tmp/why" ]; then pass
        else fail_with "Perfetto, by time" "$tmp/why"; fi
    fi
fi

# ---- values, states, losses ----

# What mock/values.c wrote there, by time and in instructions: THREAD, track,
# time, and value or text.
cat >"$tmp/want.time" <<'END'
41 core:bus ratio 3000 10
41 PTWRITE 5000 77
41 PTWRITE 7000 1099511627781
41 core:bus ratio 9000 25
41 C-state 11000 7
41 C-state 13000 0
41 PTWRITE 15000 77
41 lost 15000 processor overflow
41 PTWRITE 17000 3
42 core:bus ratio 4000 12
42 PTWRITE 6000 1000
42 lost 8000 AUX buffer full (truncated)
END
# Without gaps ([unknown] before the first value, [lost] at the loss) a value is
# where flow is, between its instructions, of which each takes 1 us.
cat >"$tmp/want.on-cpu" <<'END'
41 core:bus ratio 3000 10
41 PTWRITE 4000 77
41 PTWRITE 6000 1099511627781
41 core:bus ratio 7000 25
41 C-state 7000 7
41 C-state 7000 0
41 PTWRITE 9000 77
41 lost 10000 processor overflow
41 PTWRITE 11000 3
42 core:bus ratio 4000 12
42 PTWRITE 5000 1000
42 lost 8000 AUX buffer full (truncated)
END
# A PTWRITE counts itself. When the others were, no instruction says.
cat >"$tmp/want.insn" <<'END'
41 PTWRITE 1 77
41 PTWRITE 3 1099511627781
41 PTWRITE 6 77
41 PTWRITE 8 3
42 PTWRITE 1 1000
END

# tracks WHAT BY: those on standard input are these.
tracks() {
    if [ "$2" = insn ]; then grep PTWRITE; else cat; fi | sort >"$tmp/got"
    if sort "$tmp/want.$2" | diff - "$tmp/got" >"$tmp/why"; then pass
    else fail_with "values: $1, by $2" "$tmp/why"; fi
}

# shellcheck disable=SC2086 # flags
$CC -std=c99 $WARN -O1 -I. -o "$tmp/values" tests/mock/values.c &&
    "$tmp/values" "$tmp/v.data" "$tmp/code" || exit 2
for by in insn time on-cpu; do
    option="--by $by"
    [ $by != on-cpu ] || option=--on-cpu
    if command -v protoc >/dev/null; then
        # shellcheck disable=SC2086 # options
        prof --perfetto "$tmp/x.pftrace" $option "$tmp/v.data"
        protoc -Itests --decode=Trace tests/views.proto <"$tmp/x.pftrace" |
            awk '
            function text() {sub(/^[^"]*"/, ""); sub(/"$/, ""); return $0}
            /^packet/ {time = uuid = tid = parent = track = value = ""}
            /^ *timestamp:/ {time = $2}
            /^ *uuid:/ {uuid = $2}
            /^ *tid:/ {tid = $2}
            /^ *parent_uuid:/ {parent = $2}
            /^ *type:/ {type = $2}
            /^ *track_uuid:/ {track = $2}
            /^    name:/ {value = text()}
            /^ *counter_value:/ {value = $2}
            /^}/ && tid != "" {thread[uuid] = tid}
            /^}/ && tid == "" && uuid != "" {
                thread[uuid] = thread[parent]
                name[uuid] = value
            }
            /^}/ && track != "" && type > 2 {
                print thread[track], name[track], time, value
            }' >"$tmp/lines"
        tracks Perfetto $by <"$tmp/lines"
    fi
    if command -v node >/dev/null; then
        # shellcheck disable=SC2086 # options
        prof --chrome "$tmp/x.json" $option "$tmp/v.data"
        node -e '
            const text = require("fs").readFileSync(0, "utf8");
            for (const e of JSON.parse(text).traceEvents) {
                const at = Math.round(e.ts * 1000);
                if (e.ph === "C")
                    console.log(e.id, e.name, at, e.args.value);
                if (e.ph === "n") console.log(e.id, e.cat, at, e.name);
            }' <"$tmp/x.json" >"$tmp/lines"
        tracks Chrome $by <"$tmp/lines"
    fi
done

# ---- gaps ----

# What mock/values.c wrote there has a time at both edges.
"$tmp/values" "$tmp/g.data" "$tmp/code" gaps || exit 2
prof --folded "$tmp/g.data" | grep '^values-41;' | sort >"$tmp/got"
sort >"$tmp/want" <<'END'
values-41;[code] 5800
values-41;[code];[filtered] 1400
values-41;[code];[interrupt] 200
values-41;[code];[lost] 1800
values-41;[code];[off cpu] 400
values-41;[code];[page fault] 200
END
if diff "$tmp/want" "$tmp/got" >"$tmp/why"; then pass
else fail_with "gaps" "$tmp/why"; fi
prof --folded --on-cpu "$tmp/g.data" | grep '^values-41;' >"$tmp/got"
if sed -n '/\[code\] /p' "$tmp/want" | diff - "$tmp/got" >"$tmp/why"; then pass
else fail_with "gaps, with --on-cpu" "$tmp/why"; fi

# ---- waits ----

# The same, without what is not a wait. One interrupt is in two halves.
prof --waits --min 0 "$tmp/g.data" | grep values | sort >"$tmp/got"
sort >"$tmp/want" <<'END'
    400ns          1    400ns    400ns  [off cpu] < [code], values 41
    200ns          2    100ns    100ns  [interrupt] < [code], values 41
    200ns          1    200ns    200ns  [page fault] < [code], values 41
END
if diff "$tmp/want" "$tmp/got" >"$tmp/why"; then pass
else fail_with "waits" "$tmp/why"; fi

# waits FILE: each has the cost that its stack has.
waits() {
    prof --folded "$1" | awk '/;\[(syscall|page fault|interrupt|off cpu)\] / {
        n = $NF; sub(/ [0-9]+$/, ""); count = split($0, at, ";")
        sub(/-/, " ", at[1])
        for (i = count; i > 1; i--)
            printf "%s%s", at[i], (i > 2 ? " < " : ", " at[1] " " n "\n")
        }' | sort >"$tmp/want"
    # Costs in ns, to the digits that are printed: within 1 %.
    prof --waits --min 0 "$1" | awk '
        / meanwhile / {next}
        NR > 1 {
            n = $1; sub(/^~/, "", n)
            unit = n; gsub(/[0-9.]/, "", unit); sub(/[a-z]+$/, "", n)
            n *= unit == "ms" ? 1e6 : unit == "us" ? 1e3 : 1
            sub(/^ *[^ ]+ +[^ ]+ +[^ ]+ +[^ ]+ +/, "")
            print $0, n
        }' | sort >"$tmp/got"
    awk '{n = $NF; sub(/ [^ ]+$/, "")}
        FILENAME == ARGV[1] {want[$0] += n; next}
        {got[$0] += n}
        END {
            for (s in want) {
                d = want[s] - got[s]
                if (d * 100 > want[s] + 50 || -d * 100 > want[s] + 50)
                    print s, want[s], "not", got[s] + 0
            }
            for (s in got) if (!(s in want)) print s, "has no stack"
        }' "$tmp/want" "$tmp/got" >"$tmp/why"
    if [ -s "$tmp/want" ] && [ ! -s "$tmp/why" ]; then pass
    else fail_with "waits have the costs of stacks: $2" "$tmp/why"; fi
}
waits "$tmp/x.data" "threads"

# Of two threads on one processor the second one waits for a lock while the
# first one, which has it, runs.
cat >"$tmp/lock.c" <<'END'
#include <pthread.h>
#include <sched.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile int held, comes, sum;
__attribute__((noinline)) static void contend(void)
{
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
}
static void *second(void *none)
{
    while (!held) sched_yield();
    comes = 1;
    contend();
    return none;
}
int main(void)
{
    pthread_t t;
    pthread_mutex_lock(&lock);
    pthread_create(&t, 0, second, 0);
    held = 1;
    while (!comes) sched_yield();
    for (int i = 0; i < 4000; i++) {
        sum += i;
        if (i % 200 == 0) sched_yield();
    }
    pthread_mutex_unlock(&lock);
    pthread_join(t, 0);
    return 0;
}
END
$CC -O1 -w -static -pthread -o "$tmp/lock" "$tmp/lock.c" || exit 2
alone "$build/ptrecord" --quiet --time cyc --cpus 1 \
    --perf-data "$tmp/lock.data" -- "$tmp/lock" >"$tmp/recorded" 2>&1
waits "$tmp/lock.data" "a lock"
prof --waits --min 0 "$tmp/lock.data" |
    grep -A 1 'off cpu.*lock_wait.* < contend < second' >"$tmp/got"
first=$("$build/ptflow" --threads "$tmp/lock.data" | sed -n '1s/ .*//p')
if awk -v first="$first" 'function ns() {
        return $1 * ($1 ~ /ms$/ ? 1e6 : $1 ~ /us$/ ? 1e3 : 1)}
    NR == 1 {all = ns()}
    NR == 2 && / meanwhile lock / && $NF == first {had = ns()}
    END {exit !(all > 5000 && had <= all * 1.01 && had > all * 0.9)}' "$tmp/got"
then pass
else fail_with "the first thread ran while the second one waited" "$tmp/got"; fi

# The same file with samples of tracepoints: the first thread wakes the second
# one each time it is off; later, but for sched_waking, somebody else does.
cat >"$tmp/wakes.py" <<'END'
import struct, sys
old, new, first, second = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])
d = open(old, 'rb').read()
entry, at, size, data, length = struct.unpack_from('<5Q', d, 16)
bits = list(struct.unpack_from('<4Q', d, 72))
events = []
for i in range(size // entry):
    ids = struct.unpack_from('<2Q', d, at + (i + 1) * entry - 16)
    events.append((d[at + i * entry:at + (i + 1) * entry - 16],
                   d[ids[0]:ids[0] + ids[1]], b'other'))
tracepoints = [(1316, b'sched:sched_waking'), (1317, b'sched:sched_wakeup'),
               (1318, b'sched:sched_migrate_task')]
for config, name in tracepoints:
    attr = struct.pack('<2I5Q', 2, entry - 16, config, 1, 0x10486, 4, 1 << 18)
    events.append((attr.ljust(entry - 16, b'\0'), struct.pack('<Q', config),
                   name))
def sample(config, time, by, tid):
    raw = struct.pack('<HBBi16s3i', config, 0, 0, by, b'second', tid, 120, 0)
    raw += bytes(-(len(raw) + 4) % 8)
    body = struct.pack('<Q2IQ2II', config, by, by, time, 0, 0, len(raw)) + raw
    return struct.pack('<IHH', 9, 2, 8 + len(body)) + body
more, i, out = b'', data, 0
while i < data + length:
    kind, misc, n = struct.unpack_from('<IHH', d, i)
    if kind == 15:
        pid, tid, time = struct.unpack_from('<2IQ', d, i + n - 32)
        if tid == second and misc & 0x2000:
            out = time
        elif tid == second and out:
            for k, by in enumerate((first, 8888, 9999)):
                when = out + (time - out) * (k + 1) // 4
                more += sample(tracepoints[k][0], when, by, second)
            more += sample(1316, (out + time) // 2, 7777, first)
    i += n + (struct.unpack_from('<Q', d, i + 8)[0] if kind == 71 else 0)
features, table = {}, data + length
for bit in range(256):
    if bits[bit // 64] >> bit % 64 & 1:
        where = struct.unpack_from('<2Q', d, table)
        features[bit] = d[where[0]:where[0] + where[1]]
        table += 16
def name_of(name):
    return struct.pack('<I', 64) + name.ljust(64, b'\0')
features[12] = struct.pack('<2I', len(events), entry - 16) + b''.join(
    a + struct.pack('<I', len(i) // 8) + name_of(n) + i for a, i, n in events)
bits[0] |= 1 << 12
ids = b''.join(i for a, i, n in events)
attrs, used = b'', 104
for a, i, n in events:
    attrs += a + struct.pack('<2Q', used, len(i))
    used += len(i)
begin = 104 + len(ids) + len(attrs)
records = d[data:data + length] + more
after = begin + len(records) + 16 * len(features)
sections, texts = b'', b''
for bit in sorted(features):
    sections += struct.pack('<2Q', after + len(texts), len(features[bit]))
    texts += features[bit]
open(new, 'wb').write(
    d[:16] + struct.pack('<7Q', entry, 104 + len(ids), len(attrs), begin,
                         len(records), 0, 0) + struct.pack('<4Q', *bits)
    + ids + attrs + records + sections + texts)
END
if have python3 python3; then
    second=$("$build/ptflow" --threads "$tmp/lock.data" |
        awk -v first="$first" '$1 != first {print $1}')
    python3 "$tmp/wakes.py" "$tmp/lock.data" "$tmp/woken.data" "$first" \
        "$second" 2>"$tmp/why" || fail_with "woken.data" "$tmp/why"
    prof --waits --min 0 "$tmp/woken.data" >"$tmp/got"
    if awk -v first="$first" -v second="$second" '
        / < .*, lock [0-9]+$/ {
            off = /\[off cpu\]/ && $NF == second; times = $2
            if (/lock_wait/ && off) locks++
            waits += off ? times : 0
        }
        / woken by / {
            woken += $1
            if (!off || $NF != first || $1 != times) bad = $0
        }
        END {print locks, waits, woken, bad
            exit !(locks == 1 && waits > 1 && woken == waits && !bad)}
        ' "$tmp/got" >"$tmp/why"; then pass
    else
        cat "$tmp/got" >>"$tmp/why"
        fail_with "who woke the second thread" "$tmp/why"
    fi
    prof --waits --min 0 "$tmp/lock.data" >"$tmp/want"
    if sed '/ woken by /d' "$tmp/got" | diff "$tmp/want" - >"$tmp/why"; then pass
    else fail_with "waits, with tracepoints" "$tmp/why"; fi
fi

# ---- speedscope ----

page=$root/build/npm/node_modules/speedscope/dist/release/index.html

# speedscope FILE: the profiles that speedscope shows in a browser, `NAME TOTAL`
# each. What it complains of goes to standard error.
speedscope() {
    sh tests/check/speedscope.sh "$1" --dump-dom >"$tmp/dom" 2>"$tmp/console"
    grep INFO:CONSOLE "$tmp/console" | grep -v WebGL |
        grep -iE 'error|warn|open|fail' >&2
    sed 's/<[^>]*>/\n/g' "$tmp/dom" | awk '
        /^Total Weight$/ {list = 1; next}
        /Export$/ {list = 0}
        !list || /^[^0-9A-Za-z]*$/ {next}
        /^[0-9]+$/ {name = ""; next}
        name == "" {name = $0; next}
        {print name, $0; name = ""}'
}

# Each thread's time in ns, in which there are functions, and how many stacks
# that were rounded.
grep ';' "$tmp/folded.time" | awk '
    {n = $NF; sub(/[; ].*/, ""); sub(/-/, " "); all[$0] += n; stacks[$0]++}
    END {for (t in all) print t, all[t], stacks[t]}' >"$tmp/threads"

# shown: what speedscope says of the threads is their time, rounded to two
# digits, a half up or down.
shown() {
    awk 'FNR == NR {want[$1 " " $2] = $3; stacks[$1 " " $2] = $4; next}
        {
            unit = $3; sub(/^[0-9.]*/, "", unit); sub(/[^0-9.].*/, "", $3)
            scale = unit == "ms" ? 1e6 : unit == "µs" ? 1e3 : 1
            error = want[$1 " " $2] / scale - $3
            most = 0.005001 + (1 + stacks[$1 " " $2]) / 2 / scale
            if (error < -most || error > most)
                print $1, $2, "takes", want[$1 " " $2], "ns, shown as", $3 unit
            delete want[$1 " " $2]
        }
        END {for (t in want) print t, "is not shown"}' "$tmp/threads" "$1"
}

# in_browser: both kinds of file that it reads.
in_browser() {
    [ -f "$page" ] ||
        { skip "speedscope is missing (npm, by make deps-full)"; return; }
    have chromium chromium || return
    for format in speedscope chrome; do
        prof --$format "$tmp/$format.json" --by time "$tmp/x.data"
        speedscope "$tmp/$format.json" 2>"$tmp/why" |
            sed 's/(pid .*tid \([0-9]*\))/\1/' | sort >"$tmp/got"
        shown "$tmp/got" >>"$tmp/why"
        if [ ! -s "$tmp/why" ] && [ -s "$tmp/threads" ]; then pass
        else fail_with "speedscope reads --$format" "$tmp/why"; fi
    done
}
rest 2 in_browser

# ---- --at ----

# at TIME: at that time each thread's stack is what Chrome's timeline has open, and
# threads that are not shown have none.
at() {
    prof --at "$1" "$tmp/x.data" | awk '
        /^#/ {if (keep) {$1 = ""; sub(/ [(][^()]*:[0-9]+[)]$/, "")
            print tid $0}; next}
        NF {tid = $2; keep = !/nothing later/}' | sort >"$tmp/got"
    awk -v at="$(echo "$1" | tr -d .)" '
        function out(tid) {
            for (i = depth[tid]; i > 0; i--) print tid, open[tid, i]
        }
        int($2 / 1000) > at {next}
        $3 == "+" {t = $1; $1 = $2 = $3 = ""; sub(/^ */, "")
            open[t, ++depth[t]] = $0}
        $3 == "-" {depth[$1]--}
        END {for (tid in depth) out(tid)}' "$tmp/chrome.lines" |
        sort >"$tmp/want"
    [ -s "$tmp/want" ] && diff "$tmp/want" "$tmp/got" >"$tmp/differ" && pass ||
        fail_with "--at $1" "$tmp/differ"
}
if [ -e "$tmp/chrome.js" ]; then
    prof --chrome "$tmp/x.json" --by time "$tmp/x.data"
    node "$tmp/chrome.js" time <"$tmp/x.json" >"$tmp/chrome.lines"
    # What is in the middle of the recording, and between two of its events.
    awk '{printf "%.0f\n", int($2 / 1000)}' "$tmp/chrome.lines" | sort -n |
        awk '{t[NR] = $1} END {
            for (i = 2; i < 9; i++) {
                n = int((t[int(NR * i / 10)] + t[int(NR * i / 10) + 3]) / 2)
                printf "%.9f\n", n / 1e9
            }}' >"$tmp/times"
    while read -r moment; do at "$moment"; done <"$tmp/times"
fi

# ---- callgrind ----

# annotated FOLDED OPTION...: callgrind_annotate's own costs are those of stacks.
annotated() {
    folded=$1
    shift
    prof --callgrind "$tmp/x.callgrind" --by insn "$@"
    callgrind_annotate --threshold=100 --auto=no "$tmp/x.callgrind" \
        >"$tmp/annotated" 2>&1
    awk '{n = $NF; sub(/ [0-9]+$/, ""); sub(/.*;/, ""); own[$0] += n}
        END {for (f in own) print f, own[f]}' "$folded" | sort >"$tmp/want"
    awk '/^ *[0-9,]+ \([ 0-9.]+%\)  [^:]*:/ {
            n = $1; gsub(/,/, "", n)
            sub(/^[^)]*\)  [^:]*:/, ""); sub(/ \[[^]]*\]$/, "")
            if (n) print $0, n}' "$tmp/annotated" |
        awk '{n = $NF; sub(/ [0-9]+$/, ""); own[$0] += n}
            END {for (f in own) print f, own[f]}' | sort >"$tmp/got"
    if [ -s "$tmp/got" ] && diff "$tmp/want" "$tmp/got" >"$tmp/why"; then pass
    else fail_with "callgrind_annotate's costs: $*" "$tmp/why"; fi
}
! have callgrind_annotate valgrind ||
    annotated "$tmp/folded.insn" "$tmp/x.data"

# A reader of the format, by its specification (Callgrind Format, in the manual
# of valgrind): header lines, then per function cost lines, calls and jumps, each
# followed by a line of its place. Names are NAME, (N) NAME or (N), defined once.
# Prints FUNCTION SELF CALLED: costs of the last event, own and of calls to it.
cat >"$tmp/format.awk" <<'END'
function wrong(why) {if (!bad) bad = why ": " NR ": " $0}
function name(kind,  t, id) {
    t = $0; sub(/^[a-z]*=/, "", t)
    if (t !~ /^\(/) return t
    id = t; sub(/\).*/, ")", id); sub(/^\([0-9]+\) ?/, "", t)
    if (t == "" && !((kind, id) in names)) wrong("a number that has no name")
    if (t != "" && (kind, id) in names && names[kind, id] != t)
        wrong("a number of two names")
    if (t != "") names[kind, id] = t
    return names[kind, id]
}
function costs(events_too) {
    if ($0 !~ /^[0-9]+( [0-9]+)*$/) wrong("no place")
    if (events_too ? NF < 2 || NF > 1 + events : NF != 1) wrong("costs")
    return events_too ? (NF == 1 + events ? $NF : 0) : 0
}
NR == 1 {if ($0 != "# callgrind format") wrong("no format"); next}
/^$/ {next}
/^(version|creator|positions): / {next}
/^events: / {events = NF - 1; next}
/^totals: / {if (NF != 1 + events) wrong("totals"); totals = $NF; next}
/^ob=/ {name("ob"); next}
/^f[lie]=/ {name("file"); next}
/^fn=/ {fn = name("fn"); self[fn] += 0; next}
/^cob=/ {name("ob"); next}
/^cf[il]=/ {name("file"); next}
/^cfn=/ {callee = name("fn"); next}
/^calls=[0-9]+ [0-9]+$/ {
    if (callee == "" || fn == "") wrong("calls of nothing")
    if ((getline) <= 0) wrong("no costs of calls")
    called[callee] += costs(1); callee = ""; next
}
/^jump=[0-9]+ [0-9]+$/ || /^jcnd=[0-9]+\/[0-9]+ [0-9]+$/ {
    split($1, at, /[=\/]/)
    if (/^jcnd/ && at[2] > at[3]) wrong("taken more often than executed")
    if ((getline) <= 0) wrong("no place of a jump")
    costs(0); jumps++; next
}
/^[0-9]/ {if (fn == "") wrong("costs of nothing"); self[fn] += costs(1); next}
{wrong("what is it")}
END {
    for (f in self) {all += self[f]; print f, self[f], called[f] + 0}
    if (all != totals) wrong("totals " totals ", sum " all)
    if (with_jumps && !jumps) wrong("no jumps")
    if (bad) {print bad >"/dev/stderr"; exit 1}
}
END

# formatted BY: what the reader reads is what --flat says, to its three digits:
# own costs; and totals, of functions that do not call themselves.
formatted() {
    prof --callgrind "$tmp/x.callgrind" --by "$1" "$tmp/x.data"
    if ! awk -f "$tmp/format.awk" "$tmp/x.callgrind" >"$tmp/read" 2>"$tmp/why"
    then
        fail_with "the format of callgrind, by $1" "$tmp/why"
        return
    fi
    prof --flat --min 0 --by "$1" "$tmp/x.data" | awk '
        FILENAME == ARGV[1] {
            called = $NF; own = $(NF - 1); sub(/ [0-9]+ [0-9]+$/, "")
            self[$0] = own; total[$0] = called; all += own; next
        }
        FNR == 1 {next}
        {
            share = $1; n = $3; sub(/%/, "", share); sub(/^~/, "", n)
            unit = n; gsub(/[0-9.]/, "", unit); sub(/[a-zA-Z]+$/, "", n)
            n *= unit ~ /^m/ ? 1e6 : unit ~ /^u/ ? 1e3 : unit == "s" ? 1e9 \
               : unit == "k" ? 1e3 : unit == "M" ? 1e6 : 1
            sub(/^ *[^ ]+ +[^ ]+ +[^ ]+ +[^ ]+ +/, "")
            if (!($0 in self)) {print $0, "is not read"; next}
            d = n - self[$0]; rows++
            if (d * 180 > n + 180 || -d * 180 > n + 180)
                print $0, "costs", n, "not", self[$0]
            if ($0 != "_start" && total[$0] && total[$0] <= all) {
                d = share - 100 * total[$0] / all
                if (d > 0.06) print $0, "is", share "%, called", total[$0]
            }
        }
        END {if (rows < 20) print "only", rows, "rows"}
        ' "$tmp/read" - >"$tmp/why"
    if [ ! -s "$tmp/why" ]; then pass
    else fail_with "callgrind and --flat, by $1" "$tmp/why"; fi
}
formatted insn
formatted time

# lines_of FILE: what functions of the program of two files below cost by line,
# `FUNCTION FILE LINE COST`, calls, `FUNCTION FILE LINE CALLEE CALLS COST`, and
# jumps, `FUNCTION FILE LINE jcnd=TAKEN/EXECUTED LINE` or `jump=TAKEN LINE`.
lines_of() {
    awk '
    function text(  t) {
        t = substr($0, index($0, "=") + 1)
        sub(/^[(][0-9]+[)] */, "", t); sub(/.*\//, "", t)
        return t
    }
    /^f[lie]=/ {file = text(); next}
    /^fn=/ {fn = text(); next}
    /^cfn=/ {callee = text(); next}
    /^calls=/ {
        calls = $1; sub(/calls=/, "", calls)
        getline
        if (callee !~ /^(work|leaf|other)$/) next
        place = fn " " file " " $1 " " callee
        count[place] += calls; total[place] += $2
        next
    }
    /^(jump|jcnd)=/ {
        jump = $0; sub(/ $/, "", jump)
        getline
        if (fn ~ /^(main|work|leaf|other)$/) print fn " " file " " $1 " " jump
        next
    }
    /^[0-9]/ && fn ~ /^(main|work|leaf|other)$/ {cost[fn " " file " " $1] += $2}
    END {
        for (l in cost) print l, cost[l]
        for (l in count) print l, count[l], total[l]
    }' "$1" | sort
}

if have valgrind valgrind &&
    echo '#include <elfutils/libdw.h>' | $CC -E - >/dev/null 2>&1; then
    cat >"$tmp/lined.h" <<'END'
static inline int square(int x)
{
    int y = x;
    y *= x + 1;
    return y;
}
END
    cat >"$tmp/lined.c" <<'END'
#include "lined.h"
#define APART __attribute__((noinline))
APART int leaf(int x)
{
    return square(x) + 1;
}
APART int work(int n)
{
    int s = 0;
    for (int i = 0; i < n; i++)
        s += leaf(i);
    s += leaf(7);
    return s;
}
APART int other(int n)
{
    return n ? other(n - 1) + work(n) : leaf(0);
}
int main(void)
{
    int r = work(10);
    r += work(3) + other(5);
    r += other(2);
    return r == 5;
}
END
    $CC -O1 -gdwarf-4 -fno-optimize-sibling-calls -static -o "$tmp/lined" \
        "$tmp/lined.c" || exit 2
    alone "$build/ptrecord" --quiet --perf-data "$tmp/lined.data" -- \
        "$tmp/lined" >"$tmp/recorded" 2>&1
    prof --callgrind "$tmp/lined.ours" "$tmp/lined.data" 2>"$tmp/said"
    valgrind --tool=callgrind --compress-pos=no --compress-strings=no \
        --separate-recs=1 --collect-jumps=yes --callgrind-out-file="$tmp/lined.theirs" \
        "$tmp/lined" >"$tmp/said" 2>&1
    for of in ours theirs; do lines_of "$tmp/lined.$of" >"$tmp/$of"; done
    if grep -q lined.h "$tmp/ours" && grep -q 'work .* leaf 9 36' "$tmp/ours" &&
        grep -q 'work .* 10 jcnd=22/31 11' "$tmp/ours" &&
        grep -q ' jump=[0-9]* [0-9]*$' "$tmp/ours" &&
        diff "$tmp/theirs" "$tmp/ours" >"$tmp/why"
    then pass; else fail_with "callgrind's lines (<), and ours (>)" "$tmp/why"; fi
    if awk -v with_jumps=1 -f "$tmp/format.awk" "$tmp/lined.ours" \
        >"$tmp/read" 2>"$tmp/why"; then pass
    else fail_with "the format of callgrind, with jumps" "$tmp/why"; fi
    callgrind_annotate --auto=yes "$tmp/lined.ours" "$tmp/lined.c" \
        >"$tmp/annotated" 2>&1
    if grep -q 's += leaf(i);' "$tmp/annotated"; then pass
    else fail_with "callgrind_annotate shows the source" "$tmp/annotated"; fi
fi

# ---- code without a file ----

# Functions that are made while others run, in one page, in the next one; with
# "mapped", once more where the first ones were; "bad": where one has run.
cat >"$tmp/made.c" <<'END'
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
typedef int function(int);
static int make_and_call(char *to, char add, int times)
{
    char code[] = {(char) 0x8d, 0x47, add, (char) 0xc3}; /* lea eax, [rdi+add] */
    function *f;
    int sum = 0;
    memcpy(to, code, sizeof code);
    memcpy(&f, &to, sizeof f);
    for (int i = 0; i < times; i++) sum += f(i);
    return sum;
}
int main(int argc, char **argv)
{
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS;
    char *const m = mmap(0, 8192, 7, flags, -1, 0);
    int sum = make_and_call(m, 1, 10) + make_and_call(m + 64, 2, 20)
        + make_and_call(m + 4096, 3, 30);
    if (argc > 1 && *argv[1] == 'b') sum += make_and_call(m, 4, 40);
    if (argc > 1 && *argv[1] == 'm') {
        munmap(m, 8192);
        if (mmap(m, 4096, 7, flags | MAP_FIXED, -1, 0) != m) return 1;
        sum += make_and_call(m, 5, 50);
    }
    return sum == 0;
}
END
$CC -O1 -w -static -o "$tmp/made" "$tmp/made.c" || exit 2

# made CALLS OPTION... -- ARGUMENT...: so many calls of made code, each of two
# instructions, and nothing is lost. (A gap may hide a call from ptprof.)
made() {
    calls=$1
    shift
    rm -f "$tmp"/made.data*
    alone "$build/ptrecord" --quiet --perf-data "$tmp/made.data" "$@" \
        >"$tmp/recorded" 2>&1
    "$build/ptflow" --quiet --insn --fields dso,kind "$tmp/made.data" \
        2>"$tmp/why" | awk -v calls="$calls" '
            /made[.]data.*[.]code/ {all++; returns += $NF == "ret"}
            END {print all, returns; exit all != 2 * calls || returns != calls}
        ' >>"$tmp/why"
    if [ $? -eq 0 ] && ! grep lost "$tmp/why"; then pass
    else fail_with "made code: $*" "$tmp/why"; fi
}
made 60 -- "$tmp/made"
made 60 --time tsc -- "$tmp/made"
made 110 --time cyc -- "$tmp/made" mapped

# cannot TEXT OPTION...: ptrecord does not record that.
cannot() {
    text=$1
    shift
    alone "$build/ptrecord" --quiet --perf-data "$tmp/cannot.data" "$@" \
        >"$tmp/recorded" 2>&1
    if [ $? -ne 0 ] && grep -q -e "$text" "$tmp/recorded"; then pass
    else fail_with "made code: $*" "$tmp/recorded"; fi
}
cannot 'other code.*--time' -- "$tmp/made" mapped
cannot 'changed after it was executed' --time cyc -- "$tmp/made" bad

# A compiler that writes its code down itself needs no file.
$CC -O1 -w -static -o "$tmp/jit" tests/programs/jit.c || exit 2
(cd "$tmp" && alone "$build/ptrecord" --quiet --time cyc \
    --perf-data jit.data -- ./jit) >"$tmp/recorded" 2>&1
count=$(find "$tmp" -name 'jit.data*.code' | wc -l)
if [ "$count" -eq 0 ] && prof --flat --min 0 "$tmp/jit.data" | grep -q ' jit '
then pass; else fail "a jitdump file, and $count of ours"; fi

# ---- QEMU ----

# Code that QEMU executed has the names of its files, as long as these have it.
in_qemu() {
    qemu-x86_64 --help 2>&1 | grep -q plugin || {
        skip "no qemu-x86_64 with plugins (Debian 12's qemu-user)"
        return
    }
    cat >"$tmp/calls.c" <<'END'
__attribute__((noinline)) int leaf(int x) {return x * 3;}
__attribute__((noinline)) int work(int n)
{
    int s = 0;
    for (int i = 0; i < n; i++) s += leaf(i);
    return s;
}
int main(void) {return work(100) + work(200) == 7;}
END
    $CC -O1 -w -o "$tmp/calls" "$tmp/calls.c" &&
        $CC -O2 -w -shared -fPIC -o "$tmp/qplugin.so" tests/truth/qplugin.c ||
        exit 2
    mkdir "$tmp/q"
    timeout 100 qemu-x86_64 -seed 1 -plugin "$tmp/qplugin.so,out=$tmp/q" \
        "$tmp/calls" >"$tmp/said" 2>&1
    "$build/ptrecord" --quiet --perf-data "$tmp/q.data" --qemu "$tmp/q" \
        >"$tmp/said" 2>&1 || fail_with "ptrecord --qemu" "$tmp/said"
    prof --flat --min 0 "$tmp/q.data" | awk '$5 ~ /^(leaf|work|main)$/ {
        print $4, $5}' | sort >"$tmp/got"
    if printf '1 main\n2 work\n300 leaf\n' | diff - "$tmp/got" >"$tmp/why" &&
        prof --flat --min 0 "$tmp/q.data" | grep -q ' _dl_relocate_object'
    then pass; else fail_with "functions of QEMU's recordings" "$tmp/why"; fi
    count=$("$build/ptflow" --quiet --fields ip "$tmp/q.data" | cksum)
    # Another byte of work (where it begins) is another file.
    at=$(nm "$tmp/calls" | awk '$3 == "work" {print $1}')
    printf '\314' | dd of="$tmp/calls" bs=1 seek=$((0x$at)) conv=notrunc \
        2>"$tmp/said"
    "$build/ptrecord" --quiet --perf-data "$tmp/q.data" --qemu "$tmp/q" \
        >"$tmp/said" 2>&1
    prof --flat --min 0 "$tmp/q.data" >"$tmp/got"
    if [ "$count" = "$("$build/ptflow" --quiet --fields ip "$tmp/q.data" |
        cksum)" ] && ! grep -q ' work$' "$tmp/got" &&
        grep -q ' _dl_relocate_object' "$tmp/got"; then pass
    else fail_with "a file that has changed since QEMU ran it" "$tmp/got"; fi
}
in_qemu

# ---- inlined functions ----

if have addr2line binutils &&
    echo '#include <elfutils/libdw.h>' | $CC -E - >/dev/null 2>&1; then
    cat >"$tmp/nested.c" <<'END'
#define APART __attribute__((noinline))
#define INLINED static inline __attribute__((always_inline))
static volatile int out;
APART int below(int x)
{
    out = x;
    return x * 5 + out;
}
INLINED int inner(int x)
{
    int y = below(x * 3);
    return y + (y >> 3);
}
INLINED int outer(int x)
{
    int y = inner(x) + 1;
    out = y;
    return inner(y + x) ^ out;
}
APART int use(int n)
{
    int s = 0;
    for (int i = 0; i < n; i++) s += i % 3 ? outer(i) : inner(s);
    return s;
}
int main(void)
{
    return use(20) + use(3) == 7;
}
END
    $CC -O2 -g -w -static -o "$tmp/nested" "$tmp/nested.c" || exit 2
    alone "$build/ptrecord" --quiet --perf-data "$tmp/nested.data" -- \
        "$tmp/nested" >"$tmp/recorded" 2>&1
    prof --inlined --folded "$tmp/nested.data" >"$tmp/folded.inlined"
    # Which function each instruction is in, and what is inlined there.
    "$build/ptflow" --quiet --insn --fields ip "$tmp/nested.data" |
        sort | uniq -c >"$tmp/counts"
    awk '{print $2}' "$tmp/counts" | addr2line -a -f -i -e "$tmp/nested" |
        awk 'FILENAME == ARGV[1] {count[NR] = $1; next}
            function tell() {if (line) sum[chain] += count[line]}
            /^0x/ {tell(); line++; chain = ""; name = 1; next}
            name {chain = $0 (chain == "" ? "" : ";") chain; name = 0; next}
            {name = 1}
            END {tell(); for (c in sum) print c, sum[c]}' "$tmp/counts" - |
        awk '{
            n = split($1, at, ";")
            if (at[1] !~ /^(main|use|below)$/) next
            for (i = 1; i <= n; i++)
                printf "%s%s%s", (i > 1 ? ";" : ""), at[i], \
                    (i > 1 ? " (inlined)" : "")
            print "", $2
        }' | sort >"$tmp/want"
    awk '{
            cost = $NF; sub(/ [0-9]+$/, "")
            n = split($0, at, ";"); from = n
            while (at[from] ~ / \(inlined\)$/) from--
            if (at[from] !~ /^(main|use|below)$/) next
            chain = at[from]
            for (i = from + 1; i <= n; i++) chain = chain ";" at[i]
            sum[chain] += cost
        }
        END {for (c in sum) print c, sum[c]}' "$tmp/folded.inlined" |
        sort >"$tmp/got"
    if grep -q 'use;outer (inlined);inner (inlined)' "$tmp/want" &&
        diff "$tmp/want" "$tmp/got" >"$tmp/why"
    then pass; else fail_with "--inlined, and addr2line" "$tmp/why"; fi
    # What inlined functions call is below them.
    if grep -q 'use;outer (inlined);inner (inlined);below [0-9]*$' \
        "$tmp/folded.inlined" && ! grep -q 'use;below' "$tmp/folded.inlined"
    then pass
    else fail_with "what is below inlined functions" "$tmp/folded.inlined"; fi
    # Nothing else changes.
    prof --folded "$tmp/nested.data" | sort >"$tmp/want"
    sed 's/;[^;]* (inlined)//g' "$tmp/folded.inlined" | awk '{
            n = $NF; sub(/ [0-9]+$/, ""); sum[$0] += n}
        END {for (s in sum) print s, sum[s]}' | sort >"$tmp/got"
    if diff "$tmp/want" "$tmp/got" >"$tmp/why"; then pass
    else fail_with "stacks without what is inlined" "$tmp/why"; fi
    if command -v node >/dev/null; then
        prof --inlined --chrome "$tmp/x.json" "$tmp/nested.data"
        node "$tmp/chrome.js" inlined <"$tmp/x.json" >"$tmp/lines"
        same "Chrome, with --inlined" inlined <"$tmp/lines"
    fi
    ! command -v callgrind_annotate >/dev/null ||
        annotated "$tmp/folded.inlined" --inlined "$tmp/nested.data"
fi

# ---- in the terminal ----

# tmux is the terminal; its server is ours alone.
tm() {
    tmux -S "$tmp/tmux" -f /dev/null "$@"
}

# open_top COLUMNS LINES ARGUMENT...
open_top() {
    size="-x $1 -y $2"
    shift 2
    # shellcheck disable=SC2086 # options
    tm new-session -d $size "'$build/ptprof' --quiet --top $*; echo ends \$?
        sleep 300"
}

# screen TEXT: the screen, as soon as that is on it.
screen() {
    for i in $(seq 100); do
        tm capture-pane -p >"$tmp/screen"
        grep -q -e "$1" "$tmp/screen" && return
        sleep 0.1
    done
    false
}

# press KEY...: the screen after them.
press() {
    tm send-keys "$@"
    sleep 0.2
    tm capture-pane -p >"$tmp/screen"
}

# rows FROM TO: those of a pane, from its head to that of the next one.
rows() {
    sed "1,/$1/d; /$2/,\$d" "$tmp/screen" | sed 's/ *$//; /^$/d'
}

# go_to FUNCTION FROM KEY: press FROM, then KEY until it is chosen.
go_to() {
    press "$2"
    for i in $(seq 300); do
        grep -q "callers of $1\$" "$tmp/screen" && break
        press "$3"
    done
}

# shows WHAT: $tmp/want is $tmp/got.
shows() {
    if [ -s "$tmp/want" ] && diff "$tmp/want" "$tmp/got" >"$tmp/why"; then pass
    else fail_with "$1" "$tmp/why"; fi
}

in_terminal() {
    open_top 100 50 "$tmp/lined.data"
    if screen '^q quit'; then pass
    else
        fail_with "--top" "$tmp/screen"
        tm kill-server
        return
    fi

    # All functions, sorted in each way, are those of --flat.
    prof --flat --min 0 "$tmp/lined.data" | sed 1d >"$tmp/flat"
    press n Home
    : >"$tmp/all"
    for i in $(seq 40); do
        rows '  function$' ' callers of ' >>"$tmp/all"
        before=$(cksum <"$tmp/screen")
        press NPage
        [ "$before" != "$(cksum <"$tmp/screen")" ] || break
    done
    LC_ALL=C sort -s -k5 "$tmp/flat" >"$tmp/want"
    awk '!seen[$0]++' "$tmp/all" >"$tmp/got"
    shows "--top: functions by name, page after page"
    press o Home
    rows '  function$' ' callers of ' >"$tmp/got"
    head -n "$(wc -l <"$tmp/got")" "$tmp/flat" >"$tmp/want"
    shows "--top: functions by own cost"
    press t Home
    rows '  function$' ' callers of ' | awk '{print $1}' >"$tmp/got"
    awk '{print $1}' "$tmp/flat" | sort -n -r |
        head -n "$(wc -l <"$tmp/got")" >"$tmp/want"
    shows "--top: functions by total"

    # A function with lines of two files.
    press n
    go_to leaf Home Down
    if grep -q '%  *[0-9]*  *5  *return square(x) + 1;$' "$tmp/screen" &&
        grep -q '%  *[0-9]*  *4  *y [*]= x + 1;$' "$tmp/screen"; then pass
    else fail_with "--top: source of two files" "$tmp/screen"; fi

    # One function: who called it, as --callers has it; its lines, as --lines.
    go_to work End Up
    prof --callers work "$tmp/lined.data" | sed '1d; $d' | sort >"$tmp/want"
    rows 'callers of work$' ' callees of work$' | sort >"$tmp/got"
    shows "--top: callers"
    prof --callers leaf "$tmp/lined.data" |
        awk '$4 == "work" {print "100.0%", $2, $3, "leaf"}' >"$tmp/want"
    rows 'callees of work$' '   line  ' | awk '{print $1, $2, $3, $4}' >"$tmp/got"
    shows "--top: callees"
    prof --lines --min 0 "$tmp/lined.data" | awk '
        sub(/^.*lined[.]c:/, "", $3) && $4 == "work" {print $1, $2, $3}' |
        sort -n -k3 >"$tmp/want"
    rows '   line  .*lined[.]c$' '^q quit' |
        awk '$1 ~ /%$/ {print $1, $2, $3}' >"$tmp/got"
    shows "--top: lines"
    if grep -q '%  *[0-9]*  *11  *s += leaf(i);$' "$tmp/screen"; then pass
    else fail_with "--top: source" "$tmp/screen"; fi

    # To the first caller and its callees, and back.
    caller=$(rows 'callers of work$' ' callees of work$' | sed -n '1s/.* //p')
    press Tab Enter
    if grep -q "callees of $caller\$" "$tmp/screen"; then pass
    else fail_with "--top: to $caller" "$tmp/screen"; fi
    press BSpace
    if grep -q "callees of work\$" "$tmp/screen"; then pass
    else fail_with "--top: back" "$tmp/screen"; fi

    # On any size, and then it ends.
    for size in 20,4 1,1 200,9; do
        tm resize-window -x "${size%,*}" -y "${size#*,}"
        press Tab Down Enter
    done
    tm resize-window -x 80 -y 24
    press q
    if screen '^ends 0$'; then pass
    else fail_with "--top ends" "$tmp/screen"; fi
    tm kill-server
}

# That is said before anything is decoded.
timeout 60 "$build/ptprof" --quiet --top "$tmp/none.data" </dev/null \
    >"$tmp/out" 2>"$tmp/why"
if [ $? -eq 1 ] && [ ! -s "$tmp/out" ] &&
    grep -q -e '--top: .*terminal' -e '--top: made without' "$tmp/why"; then pass
else fail_with "--top without a terminal" "$tmp/why"; fi
if ! grep -q libncursesw "$build/ptprof"; then
    skip "--top: ncurses is missing (package libncurses-dev)"
elif [ ! -f "$tmp/lined.data" ]; then
    skip "--top: there is no program with lines"
elif have tmux tmux; then
    in_terminal
fi

# A name with an escape sequence does not reach the terminal.
if grep -q libncursesw "$build/ptprof" && have script bsdutils &&
    have objcopy binutils; then
    cat >"$tmp/evil.c" <<'END'
__attribute__((noinline)) static void leaf(void) {__asm__ volatile("");}
int main(void)
{
    for (int i = 0; i < 8000; i++) leaf();
    return 0;
}
END
    $CC -O1 -static -o "$tmp/plain" "$tmp/evil.c" &&
        objcopy --redefine-sym leaf="$(printf 'evil\033[35mred')" \
            "$tmp/plain" "$tmp/evil" || exit 2
    alone "$build/ptrecord" --quiet --perf-data "$tmp/evil.data" -- \
        "$tmp/evil" >"$tmp/recorded" 2>&1
    (sleep 2; printf q) | TERM=xterm timeout 60 script -qec \
        "'$build/ptprof' --quiet --top '$tmp/evil.data'" /dev/null >"$tmp/out"
    if grep -q 'evil?.35mred' "$tmp/out" &&
        ! grep -q "$(printf '\033')\[35m" "$tmp/out"; then pass
    else fail_with "--top: a hostile name" "$tmp/out"; fi
fi

# ---- flame graph ----

# Brendan Gregg's program, as Debian has it: a frame is a title, NAME (COUNT
# samples, SHARE), and a rectangle, 16 high, with its callees above it. It makes
# round brackets of pointed ones.
flames=/usr/share/perl5/Devel/NYTProf/flamegraph.pl
if [ ! -f $flames ]; then
    skip "flamegraph.pl is missing (package libdevel-nytprof-perl)"
else
    for by in insn time; do
        perl $flames --hash --minwidth 0 "$tmp/folded.$by" >"$tmp/x.svg"
        sed -n 's/.*<title>\(.*\) (\([0-9,]*\) samples[^(]*<rect.* y="\([0-9.]*\)".* rx=.*/\3 \2 \1/p' \
            "$tmp/x.svg" | sed 's/&lt;/</g; s/&gt;/>/g; s/&quot;/"/g; s/&amp;/\&/g' |
            awk '
            $3 == "all" && NF == 3 {bottom = $1}
            {
                y[NR] = $1; gsub(/,/, "", $2); count[NR] = $2
                sub(/^[^ ]* [^ ]* /, ""); name[NR] = $0
            }
            END {for (i in y) print (bottom - y[i]) / 16, name[i], count[i]}
            ' | sort >"$tmp/got"
        # What a stack costs counts for each of its beginnings.
        awk '{
                count = $NF; sub(/ [0-9]+$/, ""); gsub(/</, "("); gsub(/>/, ")")
                n = split($0, frames, ";"); path = ""
                all += count
                for (i = 1; i <= n; i++) {
                    path = path ";" frames[i]
                    sum[path] += count; high[path] = i
                    name[path] = frames[i]
                }
            }
            END {
                for (p in sum) print high[p], name[p], sum[p]
                print 0, "all", all
            }' "$tmp/folded.$by" | sort >"$tmp/want"
        if diff "$tmp/want" "$tmp/got" >"$tmp/why"; then pass
        else fail_with "a flame graph, by $by" "$tmp/why"; fi
    done
fi

# ---- speed ----

# instructions TOOL...: that it takes for x.data, without the debug information
# of clang, on which valgrind may stop.
instructions() {
    strip -g -o "$tmp/$1" "$build/$1"
    valgrind --tool=callgrind --callgrind-out-file=/dev/null "$tmp/$@" \
        --quiet "$tmp/x.data" 2>&1 >/dev/null |
        sed -n 's/.*Collected : //p'
}

# Sanitizers do not run below it, nor say what the tools cost.
if ! grep -q __asan_init "$build/ptprof" && have valgrind valgrind; then
    flow=$(instructions ptflow --errors)
    tree=$(instructions ptprof)
    if [ "${flow:-0}" -gt 0 ] && [ "${tree:-0}" -le $((flow * 3)) ]; then pass
    else fail "a tree takes $tree instructions, its flow $flow"; fi
fi

# ---- memory ----

# A recording of 4,000 calls, 10 and 100 times.
cat >"$tmp/many.c" <<'END'
__attribute__((noinline)) static void leaf(void) {__asm__ volatile("");}
int main(void)
{
    for (int i = 0; i < 4000; i++) leaf();
    return 0;
}
END
$CC -O1 -static -o "$tmp/many" "$tmp/many.c" &&
    $CC -O1 -o "$tmp/peak" tests/mock/peak.c || exit 2
alone "$build/ptrecord" --quiet -o "$tmp/many.d" -- "$tmp/many" >"$tmp/recorded" 2>&1
times=$([ -n "$TEST_FULL" ] && echo 50 || echo 10)
for i in $(seq "$times"); do cat "$tmp/many.d/trace.pt"; done >"$tmp/small"
for i in 1 2 3 4 5 6 7 8 9 10; do cat "$tmp/small"; done >"$tmp/large"

more=$((($(wc -c <"$tmp/large") - $(wc -c <"$tmp/small")) / 1024))

# peak SIZE OPTION...: KiB. The larger trace has so many more, and how many pages
# of libraries are there varies by 100 KiB.
peak() {
    trace=$tmp/$1
    shift
    timeout 300 "$tmp/peak" "$tmp/kib" "$build/ptprof" --quiet --min 0 "$@" \
        --elf "$tmp/many" --pt "$trace" >"$tmp/out" && cat "$tmp/kib"
}

for view in tree folded chrome perfetto speedscope callgrind; do
    file=
    [ $view = tree ] || [ $view = folded ] || file=/dev/null
    few=$(peak small --$view $file)
    # Of the tree's columns the third.
    [ $view = tree ] && calls=$(awk '$NF == "leaf" {print $3}' "$tmp/out")
    many=$(peak large --$view $file)
    [ $view = tree ] && calls=$calls/$(awk '$NF == "leaf" {print $3}' "$tmp/out")
    if [ "$calls" = "$((4000 * times))/$((40000 * times))" ] && [ "${few:-0}" -gt 0 ] &&
        [ "$many" -le $((few * 11 / 10 + more)) ]; then pass
    else fail "--$view: $few KiB of ${calls%/*} calls, $many of ${calls#*/}"; fi
done
report
