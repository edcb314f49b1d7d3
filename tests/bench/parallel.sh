#!/bin/sh
# parallel.sh FOLDER...: rows of the table: ptparallel with two threads next to
# one, in the wall time of decoding: medians of ROUNDS runs (5) in turn, with
# real-time priority where that is permitted, for neighbours on the machine take
# from two threads what they leave to one. A trace of at least 64 KiB is
# repeated until it has 2 MB, an even number of times: one copy may be one
# segment. Smaller ones, and folders without an image.map, are left out. How
# many rows passed, failed and were skipped goes to the file COUNTS.

tool=${BUILD:-build}/ptparallel
[ -x "$tool" ] || exit 0
tmp=$(mktemp -d) || exit 2
trap 'rm -rf "$tmp"' EXIT
trap 'exit 2' HUP INT TERM
chrt -r 1 true 2>/dev/null && first="chrt -r 1" || first=

# median FILE: of one number a line.
median() { sort -n "$1" | awk '{v[NR] = $1} END {print v[int((NR + 1) / 2)]}'; }

for dir; do
    size=$(wc -c <"$dir/trace.pt" 2>/dev/null) && [ -e "$dir/image.map" ] &&
        [ "$size" -ge 65536 ] || continue
    times=$(((2097151 / size + 2) / 2 * 2))
    for _ in $(seq $times); do cat "$dir/trace.pt"; done >"$tmp/trace"
    for _ in $(seq "${ROUNDS:-5}"); do
        for threads in 1 2; do
            # shellcheck disable=SC2086 # a command or none
            $first "$tool" --map "$dir" --pt "$tmp/trace" --threads $threads \
                --stat 2>&1 >"$tmp/total$threads" |
                sed 's/ seconds.*//' >>"$tmp/$threads"
        done
    done
    cmp -s "$tmp/total1" "$tmp/total2" && differ='' || differ=1
    awk -v name="$(basename "$dir")" -v size=$((size * times)) -v n=$times \
        -v one="$(median "$tmp/1")" -v two="$(median "$tmp/2")" -v tsv="$TSV" \
        -v differ="$differ" -v counts="$tmp/counts" '
        BEGIN {
            ratio = one / two
            verdict = differ ? "ITEMS DIFFER" : ratio < 1.8 ? "FALLS SHORT" : ""
            print verdict ? "failed" : "passed" >>counts
            if (tsv) {
                printf "%s\tparallel\tipt, 2 threads\t%.2f\t\t\t\t\t\n", name,
                    size / two * 1e-6
                printf "%s\tparallel\tipt, 1 thread\t%.2f\t\t\t%.2f\t1.80\t%s\n",
                    name, size / one * 1e-6, ratio, verdict
                exit
            }
            printf "\n%s: %d bytes (%d x the trace), wall time\n", name, size, n
            printf "%-16s %-16s %9.1f\n", "parallel", "ipt, 2 threads",
                size / two * 1e-6
            printf "%-16s %-16s %9.1f %9s %8.2f %6.1f %s\n", "",
                "ipt, 1 thread", size / one * 1e-6, "", ratio, 1.8, verdict
        }'
    rm -f "$tmp"/[12]
done
touch "$tmp/counts"
echo "$(grep -c passed "$tmp/counts"),$(grep -c failed "$tmp/counts"),0" \
    >"${COUNTS:-/dev/null}"
