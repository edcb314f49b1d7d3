# programs.sh: the programs of the corpus and their inputs, for corpus.sh and
# calls.sh. Sourced: makes them in $bin and calls, for each,
#
#     record NAME EMULATOR SKIP COMMAND...
#
# EMULATOR is QEMU's name, SKIP how many instructions to leave out at the start.
# $few: only those of quick. Uses $here, $CC, $CXX, skip, and
#
#     build FILE COMMAND...: make a program, with messages about it.

# ---- programs ----

for p in signals rewrite; do
    build "$bin/$p" "$CC" -O1 -w -o "$bin/$p" $here/programs/$p.c
done
build "$bin/threads" "$CC" -O1 -pthread -o "$bin/threads" \
    $here/programs/threads.c

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
lua jit <<'END' # code that is compiled, thrown away and compiled again
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

# ---- all of them ----

x=qemu-x86_64
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
fi
