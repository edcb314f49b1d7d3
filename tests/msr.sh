#!/bin/sh
# msr.sh: examples/msr.c sees every packet of what its processor put out: 1, 2
# and 64 regions, output that goes round, interrupts that come late or only when
# output stopped. Its registers and tables are those of the SDM.

. "$(dirname "$0")/check/lib.sh"
bin=${BUILD:-build}
trace=$root/examples/recording/trace.pt
size=$(wc -c <"$trace")
packets=$("$bin/ptdump" --no-offset "$trace" | wc -l)
[ "$packets" -gt 900 ] && pass || fail "ptdump finds $packets packets"

# REGIONS LATE: at least two times round; STOPS: 1 if output has to stop.
while read -r regions late stops; do
    name="$regions regions, $late bytes late"
    "$bin/examples/msr" "$trace" "$regions" "$late" >"$tmp/out" 2>&1 &&
        pass || fail_with "$name" "$tmp/out"
    set -- $(tail -n 1 "$tmp/out" | tr -dc '0-9 ')
    # bytes, regions, looked at, interrupts, stops, packets
    [ "$1" -ge $((regions * 8192)) ] && [ "$1" -eq "$3" ] && pass ||
        fail "$name: of $1 bytes $3 were looked at"
    [ "$6" -eq $(($1 / size * packets)) ] && pass ||
        fail "$name: $6 packets of $(($1 / size * packets))"
    [ $(($5 > 0)) -eq "$stops" ] && pass || fail "$name: $5 stops"
    # 51..12 the address, 9..6 the size, 4 STOP, 2 INT, 0 END
    i=0
    for entry in $(sed -n 's/^entry /0x/p' "$tmp/out"); do
        want=$((4096 * (1 + 2 * i) + 4))
        [ $i -ne $((regions - 1)) ] || want=$((want + 16))
        [ $i -ne "$regions" ] || want=1
        [ $((entry)) -eq $want ] || fail "$name: entry $i is $entry"
        i=$((i + 1))
    done
    [ $i -eq $((regions + 1)) ] && pass || fail "$name: $i entries"
done <<'END'
1 0 1
1 4096 1
2 0 0
2 100 0
2 4095 0
2 5000 1
3 8191 0
3 12288 1
64 0 0
64 200000 0
64 300000 1
END
# A second reading: the packets are those that the first one ended with, from
# the first PSB on. From the start that is all that the regions hold. PSBS: 1 if
# there is one in what came since the interrupt before the last. With one region
# there is none in the 1,612 bytes that did not fill it.
while read -r regions late psbs; do
    name="a second reading, $regions regions, $late bytes late"
    "$bin/examples/msr" "$trace" "$regions" "$late" list >"$tmp/list" 2>&1 &&
        pass || fail "$name"
    grep -qx "all: $((regions * 4096)) bytes" "$tmp/list" && pass ||
        fail "$name: not all that is there"
    sed -n 's/^first //p' "$tmp/list" >"$tmp/first"
    for reading in all new; do
        sed -n "s/^$reading \([0-9a-f]* [0-9]\)/\1/p" "$tmp/list" >"$tmp/again"
        n=$(wc -l <"$tmp/again")
        [ $reading = all ] && least=1 || least=$psbs
        if [ "$least" -eq 1 ]; then
            [ "$n" -ge $((packets - 1)) ] && pass ||
                fail "$name: $n of $reading"
        else
            [ "$n" -eq 0 ] && grep -qx "$reading: 1612 bytes" "$tmp/list" &&
                pass || fail "$name: $n of $reading, or other bytes"
        fi
        tail -n "$n" "$tmp/first" | cmp -s - "$tmp/again" && pass ||
            fail "$name: other packets, $reading"
    done
done <<'END'
1 0 0
1 4096 0
2 5000 1
64 200000 1
END
# OS, user, ToPA, MTC and how often, TSC, branches; no PTW on this processor.
grep -qx 'rtit_ctl e70c of f70c' "$tmp/out" && pass || fail "RTIT_CTL"
"$bin/examples/msr" "$trace" 65 >/dev/null 2>&1
[ $? -eq 2 ] && pass || fail "65 regions"

report
