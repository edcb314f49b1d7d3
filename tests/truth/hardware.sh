#!/bin/sh
# hardware.sh DIR: ptflow gives the instructions of real traces. The perf.data of
# real processors in DIR/CASE give the streams and times of these folders: ip_md5
# is of each instruction; branches.tsv has where each branch that was taken came
# from and went, whose it was, and when. The bare traces give ips.u64.xz.

traces=$(cd "$1" && pwd) || exit 2 # bundles have their files by whole paths
set -- .
. "$(dirname "$0")/../check/lib.sh"
build=${BUILD:-build}

flow() {
    timeout 300 "$build/ptflow" "$@" 2>"$tmp/err"
}

# stream CASE FROM OPTION...: all instructions, with code from there.
stream() {
    folder=$traces/$1 name="$1, $2"
    shift 2
    flow --fields ip "$@" >"$tmp/ips"
    sum=$(perl -ne 'print pack("V2", hex(substr("0" x 16 . $1, -8)),
        hex(substr("0" x 16 . $1, -16, 8))) if /([0-9a-f]+)/' "$tmp/ips" |
        md5sum | cut -d ' ' -f 1)
    want=$(sed -n 's/^ip_md5=//p' "$folder/expected")
    if [ -n "$want" ] && [ "$sum" = "$want" ]; then
        pass
        printf 'same   %-36s %6d instructions\n' "$name" \
            "$(wc -l <"$tmp/ips")"
    else
        fail_with "$name: $(wc -l <"$tmp/ips") instructions" "$tmp/err"
    fi
}

# timed CASE: where branches were taken and where tracing began.
timed() {
    flow --map "$traces/$1" --branch --event \
        --fields tid,cpu,ip,to,time,size,kind "$traces/$1/perf.data" |
        sed 's/\([0-9]\)\.\([0-9]\)/\1\2/' |
        awk 'function number(hex,  i, n) {
                for (i = n = 0; i < length(hex); i++)
                    n = 16 * n + index("123456789abcdef", substr(hex, i + 1, 1))
                return n
            }
            $7 == "enabled" {print $1, $2, 0, $3, $5}
            $6 && $4 != "-" && number($4) != number($3) + $6 {
                print $1, $2, $3, $4, $5 }' >"$tmp/got"
    awk -F '\t' '!/^#/ && $2 != "0" {print $4, $5 + 0, $1, $2, $6}' \
        "$traces/$1/branches.tsv" >"$tmp/want"
    if [ -s "$tmp/want" ] && cmp -s "$tmp/got" "$tmp/want"; then
        pass
        printf 'same   %-36s %6d branches with their times\n' "$1" \
            "$(wc -l <"$tmp/want")"
    else
        diff "$tmp/want" "$tmp/got" >"$tmp/err"
        fail_with "$1: times" "$tmp/err"
    fi
}

for file in "$traces"/*/perf.data; do
    [ -e "$file" ] || { fail "$traces has no CASE/perf.data"; break; }
    case=$(basename "$(dirname "$file")")
    stream "$case" --map --map "$traces/$case" "$file"
    stream "$case" --symfs --symfs "$traces/$case" "$file"
    timed "$case"
done

# After missing code flow is taken up at the next IP. In lldb-multi-file perf does
# so, too: its instructions are compared. In libxdc-dyn_test no other decoder
# does; theirs are among ours, in order.
for file in "$traces"/*/image.map; do
    folder=$(dirname "$file")
    case=$(basename "$folder") ips=ips
    [ "$case" != lldb-multi-file ] || ips=ips-perf
    xz -dc "$folder/$ips.u64.xz" | od -An -v -tx8 -w8 | sed 's/ *0*//' \
        >"$tmp/want"
    flow --fields ip --pt "$folder/trace.pt" --map "$folder" >"$tmp/got"
    if [ "$case" = libxdc-dyn_test ]; then
        awk 'NR == FNR {want[n++] = $0; next}
            $0 == want[k + 0] {print; k++}' "$tmp/want" "$tmp/got" >"$tmp/among"
        mv "$tmp/among" "$tmp/got"
    fi
    if [ -s "$tmp/want" ] && cmp -s "$tmp/got" "$tmp/want"; then
        pass
        printf 'same   %-36s %6d instructions\n' "$case, --pt" \
            "$(wc -l <"$tmp/got")"
    else
        fail_with "$case, --pt: $(wc -l <"$tmp/got") instructions" "$tmp/err"
    fi
done
# What simple-pt recorded, beside DIR: its ring, its lines, and of all that ran
# the program. ptxed goes on at a PSB after missing code, perf and ptflow at an
# IP: all that ptxed gives is among that, in order. What comes after missing code is
# at an IP that a packet says since: no return goes to a call of before.
for folder in "$traces"/../real/simplept-*/; do
    [ -e "$folder/trace.pt.xz" ] || continue
    case=$(basename "$folder")
    mkdir "$tmp/$case" "$tmp/$case/files"
    xz -dc "$folder/trace.pt.xz" >"$tmp/$case/ptout.0"
    cp "$folder/sideband" "$tmp/$case/ptout.sideband"
    cp "$folder/b.elf" "$tmp/$case/files/b"
    flow --insn --errors --fields time,ip,offset,kind --simple-pt \
        "$tmp/$case" --symfs "$tmp/$case/files" >"$tmp/got"
    cp "$tmp/err" "$tmp/said"
    [ "$(grep -c 'say where' "$tmp/said")" -eq 1 ] && pass ||
        fail_with "$case: which libraries are not there" "$tmp/said"
    base=$(sed -n 's/^[^m][^ ]* [^ ]* [^ ]* \([^ ]*\) .*b$/\1/p' \
        "$folder/sideband")
    timeout 900 "$build/ptxed" --cpu 6/151/2 --pt "$tmp/$case/ptout.0" \
        --raw "$tmp/$case/files/b:0x1000:0x$base" 2>"$tmp/err" |
        sed -n 's/^0*\([0-9a-f]*\)  .*/\1/p' >"$tmp/want"
    awk -v want="$tmp/want" 'BEGIN {left = getline next_ip <want}
        $4 == "no" {next} # code
        {count++; timed += $1 > 0}
        left > 0 && $2 == next_ip {among++; left = getline next_ip <want}
        END {print count, among, left, count - timed}' "$tmp/got" >"$tmp/n"
    [ "$(cat "$tmp/n")" = "20972003 17983187 0 0" ] && pass ||
        fail_with "$case: instructions, ptxed's among them, ptxed's left, untimed" \
            "$tmp/n"
    # perf's own list, of the perf.data that our writer makes of it.
    if perf version >/dev/null 2>&1; then
        ${CC:-cc} -O1 -w -I. -o "$tmp/bare" tests/mock/bare.c "$build/common.a" \
            $(tail -n 1 "$build/flags") &&
            "$tmp/bare" "$tmp/perf.data" --pt "$tmp/$case/ptout.0" \
                --raw "$tmp/$case/files/b:0x1000:0x$base" 2>"$tmp/err" &&
            perf script -f -i "$tmp/perf.data" --itrace=i0ns -F ip 2>>"$tmp/err" |
            sed 's/^ *//; s/ *$//' >"$tmp/want"
        awk '$4 != "no" {print $2}' "$tmp/got" | cmp -s - "$tmp/want" && pass ||
            fail_with "$case: perf's instructions" "$tmp/err"
    else
        skip "hardware: perf is missing (package linux-perf)"
    fi
    timeout 300 "$build/ptdump" --lastip --no-pad "$tmp/$case/ptout.0" \
        2>"$tmp/err" | awk '$2 ~ /^(tip|tip.pge|fup)$/ && $(NF - 1) == "ip" {
            print $1, $NF}' | sed 's/^0*//; s/ 0*/ /' >"$tmp/ips"
    awk 'function number(hex,  i, n) {
            for (i = n = 0; i < length(hex); i++)
                n = 16 * n + index("123456789abcdef", substr(hex, i + 1, 1))
            return n
        }
        FILENAME ~ /ips$/ {at[++packets] = number($1); ip[packets] = $2; next}
        $4 == "no" {if (!since) {since = number($3); losses++}; next}
        since {
            end = number($3)
            while (k < packets && at[k + 1] < since) k++
            for (i = k + 1; i <= packets && at[i] <= end; i++)
                if (ip[i] == $2) break
            if (i > packets || at[i] > end) print "after", since, "at", $2
            else said++
            since = 0
        }
        END {print losses, said}' "$tmp/ips" "$tmp/got" >"$tmp/n"
    [ "$(cat "$tmp/n")" = "91 91" ] && pass ||
        fail_with "$case: gaps of code, those that end where a packet says" \
            "$tmp/n"
done

# Bundles of LLDB, made around traces and records of switches that it recorded.
# bundle CASE JSON TID: all is of that thread, as LLDB says, too.
bundle() {
    [ -d "$traces/$1" ] || return
    printf '{"type": "intel-pt", %s}' "$2" |
        sed "s|@|$traces/$1|g" >"$tmp/trace.json"
    flow --fields tid,ip --lldb "$tmp/trace.json" >"$tmp/got"
    ips=ips
    [ -e "$traces/$1/ips-perf.u64.xz" ] && [ "$1" != lldb-cpu45 ] && ips=ips-perf
    xz -dc "$traces/$1/$ips.u64.xz" | od -An -v -tx8 -w8 |
        sed "s/ *0*/$3 /" >"$tmp/want"
    tr -s ' ' <"$tmp/got" | sed 's/^ //' | cmp -s - "$tmp/want" &&
        [ -s "$tmp/want" ] && pass || fail_with "$1, --lldb" "$tmp/err"
}
at='"systemPath": "/x", "file": "@/'
bundle lldb-multi-file '"processes": [{"pid": 7,
    "threads": [{"tid": 7, "iptTrace": "@/trace.pt"}], "modules": [
    {'"$at"'a.out", "loadAddress": "0x400000",
     "uuid": "D2414468-7112-B7C5-408D-FF07E30D5B17-A5BFD2C4"},
    {'"$at"'libfoo.so", "loadAddress": "0x7ffff7bd9000"},
    {'"$at"'libbar.so", "loadAddress": "0x7ffff79d7000"}]}]' 7
bundle lldb-cpu45 '"cpuInfo": {"family": 6, "model": 85, "stepping": 4},
    "cpus": [{"id": 45, "iptTrace": "@/trace.pt",
        "contextSwitchTrace": "@/sideband.switch"}],
    "processes": [{"pid": 3497234, "threads": [], "modules": [
        {'"$at"'m.out", "loadAddress": 4194304}]}],
    "tscPerfZeroConversion": {"timeMult": 1076264588, "timeShift": 31,
        "timeZero": "18433473881008870804"}' 3497497

report
