#!/bin/sh
# corpus.sh record|few|quick|all: record real programs under QEMU into
# build/corpus (what is there already stays), and check the traces made of them.
#
#     record   only record       few      only record those of quick
#     quick    a few programs, under a minute
#     all      every program, case, cache and classifier
#
# Those in build/corpus/inputs are for the bench alone.
#
# CORPUS_INSNS=2000000: how many instructions of each program. Each folder also
# has the trace of a user's program by the first thread, as ptrecord writes it.

mode=${1:-quick}
build=${BUILD:-build}
here=tests/truth
corpus=$build/corpus
CC=${CC:-cc}
CXX=${CXX:-c++}
case $mode in
quick | few) few=1 default=200000 ;;
*) few='' default=2000000 ;;
esac
max=${CORPUS_INSNS:-$default}

command -v qemu-x86_64 >/dev/null || {
    echo "SKIP truth: qemu-x86_64 is missing (package qemu-user)"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
}
mkdir -p "$corpus/bin" || exit 2
bin=$corpus/bin
failed=0 passed=0 skipped=0

fail() { echo "FAIL $*"; failed=$((failed + 1)); }
skip() { echo "SKIP $*"; skipped=$((skipped + 1)); }

finish() {
    [ $skipped -gt 0 ] && tail=", $skipped skipped" || tail=
    echo "$passed passed, $failed failed$tail"
    [ $failed -eq 0 ]
    exit
}

# ---- programs ----

# The peers, as far as they are here.
warn="-std=c99 -Wall -Wextra -Wpedantic -Wconversion -Wshadow"
libs=
has() { echo "#include <$1>" | $CC -E - >/dev/null 2>&1; }
if has Zydis/Zydis.h; then libs="-lZydis -lZycore"; else
    skip "Zydis as classifier is missing (package libzydis-dev)"
fi
if has intel-pt.h; then libs="$libs -lipt"; else
    skip "libipt as referee is missing (package libipt-dev)"
fi
peers=
if perf version >/dev/null 2>&1; then peers="-p perf"; else
    skip "perf as referee is missing (package linux-perf)"
fi

# build FILE COMMAND...: unless this made it, and it is newer than all sources.
build() {
    to=$1
    shift
    if [ -e "$to" ] && echo "$*" | cmp -s - "$to.made" &&
        [ -z "$(find ipt.h ipt_impl.h zydis_glue $here tests/perf.h tests/hot.h \
            -newer "$to" -type f |
            head -n 1)" ]; then return; fi
    echo "$*" >"$to.made"
    "$@" >"$corpus/log" 2>&1 || { fail "cannot build $to"; head "$corpus/log"; }
}

# shellcheck disable=SC2086 # flags
build "$bin/truth" $CC $warn -O2 -g -I. -o "$bin/truth" $here/truth.c $libs
# shellcheck disable=SC2086
build "$bin/qplugin.so" $CC $warn -O2 -shared -fPIC -o "$bin/qplugin.so" \
    $here/qplugin.c
for p in signals rewrite; do
    build "$bin/$p" "$CC" -O1 -w -o "$bin/$p" $here/programs/$p.c
done
build "$bin/threads" "$CC" -O1 -pthread -o "$bin/threads" \
    $here/programs/threads.c
[ $failed -eq 0 ] || finish

# ---- inputs ----

lua() { cat >"$bin/$1.lua"; }
lua sort <<'END'
local t, x = {}, 42
for i = 1, 3000 do x = (x * 1103515245 + 12345) % 2147483648; t[i] = x end
table.sort(t)
table.sort(t, function(a, b) return a % 1000 < b % 1000 end)
print(t[1], t[3000])
END
lua text <<'END'
local words = {}
for i = 1, 2000 do
    local w = string.format("%x-%d", i * 7919 % 4096, i)
    words[#words + 1] = w:gsub("%d+", function(d) return d .. "." end)
end
print(#table.concat(words, " "), pcall(error, {}))
END
lua jit <<'END' # code that is compiled, thrown away and compiled anew
local function work(n)
    local f = loadstring("local s = 0; for i = 1, 300 do s = s + i % " .. n
        .. " if s > " .. 50 * n .. " then s = s - " .. n .. " end end return s")
    return f() + f()
end
local s = 0
for i = 1, 400 do
    s = s + work(i % 17 + 2)
    if i % 20 == 0 then jit.flush() end
end
print(s)
END
cat >"$bin/rows.sql" <<'END'
create table t(a integer primary key, b text, c real);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 3000)
insert into t select i, hex(i * 7919 % 4093), i / 7.0 from n;
create index x on t(b);
select count(*), sum(c), max(b) from t where b like '%3%';
END
cat >"$bin/join.sql" <<'END'
with recursive n(i) as (select 1 union all select i + 1 from n where i < 150)
select count(*), avg(a.i * b.i) from n a join n b on a.i % 7 = b.i % 5;
END
cat >"$bin/objects.py" <<'END'
class A:
    def __init__(self, n): self.n = n
    def __lt__(self, other): return self.n * 7919 % 101 < other.n * 7919 % 101
def gen(n):
    for i in range(n):
        try:
            yield A(i) if i % 7 else 1 // 0
        except ZeroDivisionError:
            yield A(-i)
print(sorted(gen(4000))[5].n, sum({str(i): i for i in range(9999)}.values()))
END
cat >"$bin/loop.sh" <<'END'
f() { case $1 in *7*) x=$x$1 ;; *) x=${x#?} ;; esac; }
x=; i=0
while [ $i -lt 800 ]; do f $i; i=$((i + 1)); done
echo ${#x}; ls / | wc -l
END
cat >"$bin/text.py" <<'END'
words = [chr(97 + i % 26) * (i % 5 + 1) for i in range(3000)]
text = " ".join(words)
count = {}
for w in text.split():
    count[w] = count.get(w, 0) + 1
rows = [f"{w}:{n:04d}" for w, n in sorted(count.items(), key=lambda x: -x[1])]
print(len(text.replace("aa", "<a>").upper()), "".join(rows)[:60])
print(sum(int(c) for c in "".join(rows) if c.isdigit()), 3 ** 5000 % 1009)
END
cat >"$bin/array.sh" <<'END'
a=()
for i in {1..150}; do a+=("$((i * 7919 % 101)):${i//1/one}"); done
for ((i = 1; i < 60; i++)); do
    for ((j = i; j > 0; j--)); do
        [[ ${a[j - 1]} > ${a[j]} ]] || break
        t=${a[j]} a[j]=${a[j - 1]} a[j - 1]=$t
    done
done
[[ ${a[*]} =~ ([0-9]+):one ]] && printf '%q\n' "${#a[@]}" "${BASH_REMATCH[1]}"
END

# ---- recording ----

package() {
    case $1 in
    */python3) echo python3-minimal ;;
    *) basename "$1" ;;
    esac
}

# bits RECORDING: its mode as an option of truth.
bits() {
    case $1 in
    *-32.*) echo "-m 32" ;;
    *-16.*) echo "-m 16" ;;
    esac
}

# record NAME EMULATOR SKIP COMMAND...
record() {
    name=$1 emulator=$2 skip=$3
    shift 3
    to=$corpus/$name.$max
    if [ -e "$to/trace.pt" ]; then return; fi
    if ! command -v "$1" >/dev/null; then
        skip "$name: $1 is missing (package $(package "$1"))"
        return
    fi
    rm -rf "$to"
    mkdir -p "$to"
    program=$(command -v "$1")
    shift
    env -i LC_ALL=C PATH=/usr/bin:/bin PYTHONHASHSEED=0 \
        timeout 120 "$emulator" -seed 1 -plugin \
        "$bin/qplugin.so,out=$to,skip=$skip,max=$max" "$program" "$@" \
        </dev/null >"$to/output" 2>&1
    # shellcheck disable=SC2046 # an option or none
    if [ ! -s "$to/code.bin" ] || ! "$bin/truth" $(bits "$name.") -c $model \
        -w "$to" "$to/0.run" >/dev/null; then
        fail "cannot record $name"
        cat "$to/output"
    fi
    rm -f "$to/ips.u64" "$to/lost.u64" # large, and 0.run has it all
}

x=qemu-x86_64 model=user
text=/usr/share/common-licenses/GPL-3 # the same everywhere
[ -e "$text" ] || text=LICENSE
record gzip-text $x 200000 gzip -c "$text"
record bash $x 500000 /bin/bash "$bin/loop.sh"
record luajit-flush $x 5000000 luajit "$bin/jit.lua"
record signals $x 100000 "$bin/signals"
record threads $x 50000 "$bin/threads"
record rewrite $x 90000 "$bin/rewrite"
# narrow BITS FLAGS...
narrow() {
    to=$bin/narrow-$1
    shift
    $CC "$@" -O1 -w -nostdlib -static -fno-pic -no-pie -o "$to" \
        $here/programs/narrow.c 2>/dev/null
}
if narrow 32 -m32 &&
    narrow 16 -m16 -DBASE=0x10000 -Wl,-Ttext=0x11000,-Tdata=0x2000,-Tbss=0x3000
then
    record narrow-32 qemu-i386 0 "$bin/narrow-32"
    record narrow-16 qemu-i386 6 "$bin/narrow-16"
else
    skip "narrow: $CC does not compile for 32 bit"
fi
if [ -z "$few" ]; then
    record bash-array $x 500000 /bin/bash "$bin/array.sh"
    record gzip-binary $x 150000 gzip -c /bin/bash
    record gzip-fast $x 150000 gzip -1 -c /bin/tar
    gzip -c "$text" >"$bin/x.gz"
    record gunzip $x 0 gzip -dc "$bin/x.gz"
    record lua-sort $x 3000000 lua5.4 "$bin/sort.lua"
    record lua-text $x 1000000 lua5.4 "$bin/text.lua"
    record luajit-sort $x 3000000 luajit "$bin/sort.lua"
    record sqlite-rows $x 16000000 sqlite3 :memory: ".read $bin/rows.sql"
    record sqlite-join $x 13500000 sqlite3 :memory: ".read $bin/join.sql"
    record python $x 20000000 /usr/bin/python3 -S "$bin/objects.py"
    record python-text $x 20000000 /usr/bin/python3 -S "$bin/text.py"
    if command -v "$CXX" >/dev/null; then
        build "$bin/objects" "$CXX" -O1 -w -o "$bin/objects" \
            $here/programs/objects.cc
        record objects $x 2300000 "$bin/objects"
    else
        skip "objects: $CXX is missing (package g++)"
    fi
    # Variants of one input, as a fuzzer makes them, for the bench.
    all=$max max=$((max / 4)) model=noretc
    for i in 1 2 3 4 5 6 7 8; do
        sed "${i}0,${i}9s/[aeiou]/x/" "$text" >"$bin/text-$i"
        record "inputs/gzip-$i" $x 200000 gzip -c "$bin/text-$i"
        sed "s/7/$i/" "$bin/loop.sh" >"$bin/loop-$i.sh"
        record "inputs/bash-$i" $x 500000 /bin/bash "$bin/loop-$i.sh"
    done
    max=$all
fi
case $mode in record | few)
    du -sh "$corpus"
    passed=1
    finish
    ;;
esac

# ---- checks ----

# One log for each recording, as many at a time as there are processors.
[ "$mode" = quick ] && flags="-q $peers" || flags=$peers
for dir in "$corpus"/*."$max"; do
    echo "$bin/truth $flags $(bits "$dir") $(echo "$dir"/*.run) >$dir/log \
        2>&1 || :"
done | xargs -P "$(nproc)" -I '{}' sh -c '{}'
for dir in "$corpus"/*."$max"; do
    grep -v 'passed, ' "$dir/log"
    # shellcheck disable=SC2046 # two numbers
    set -- $(tail -n 1 "$dir/log" |
        sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed$/\1 \2/p')
    if [ $# -eq 2 ]; then
        passed=$((passed + $1))
        failed=$((failed + $2))
    else
        fail "truth on $dir"
    fi
done
finish
