# stacks.awk: of how many instructions ptprof's stack is perf's. Reads lines of
# ptprof --chrome --by insn, then a line for each instruction:
#
#     KIND NAME FRAME;FRAME;...
#
# its branch kind and function, as ptflow has them, and perf's call chain, the
# function first, as NAME+OFFSET. perf shows a caller by the return address:
# one at the start of a symbol, or after the end of one, belongs to the symbol
# before it, which perf does not name.
#
# Stacks that differ count for the way in which flow came to the first of them:
# its line is KIND INSTRUCTIONS. The last line has those that do not differ, and
# all.

BEGIN {events = next_ = 0}
FNR == 1 {file++}
file == 1 && /"ph":"[BE]"/ {
    line = $0
    sub(/.*"ts":/, "", line)
    time[events] = line + 0
    sign[events] = $0 ~ /"ph":"B"/
    sub(/.*"name":"/, "", line); sub(/"[^"]*$/, "", line)
    if (line !~ /^\[/) sub(/ \[[^]]*\]$/, "", line)
    name[events++] = line
}
file == 1 {next}

# Both make up symbols for stubs; perf not for all, nor for what they share.
function unknown(theirs) {return theirs == "[unknown]" || theirs ~ /@plt$/}
function equal(  n, i, f) {
    n = split($3, f, ";")
    if (n != depth) return 0
    for (i = 1; i <= n; i++) {
        if (i > 1 && f[i] ~ /\+0x0$|^\[unknown\]/) continue
        sub(/\+0x[0-9a-f]*$/, "", f[i])
        if (i == 1 && unknown(f[1]) && $2 == "?") $2 = own[n]
        if (i == 1) alias[$2, f[1]] = 1
        if (own[n - i + 1] != f[i] && !((own[n - i + 1], f[i]) in alias))
            return 0
    }
    return 1
}
{
    if ($2 !~ /@plt$/) sub(/\.cold.*|@.*/, "", $2)
    while (next_ < events && time[next_] <= all / 1000 + 0.0001) {
        if (sign[next_]) own[++depth] = name[next_]
        else depth--
        next_++
    }
    all++
    if (equal()) {good++; why = ""}
    else {
        if (why == "") why = kind
        if (show && !bad[why]) {
            printf "%d after %s: perf %s, ptprof", all, kind, $3
            for (i = depth; i > 0; i--)
                printf "%s%s", i == depth ? " " : ";", own[i]
            print ""
        }
        bad[why]++
    }
    kind = $1
}
END {
    for (w in bad) print w, bad[w]
    print good + 0, all + 0
}
