# hot.awk: hot traces by DynamoRIO's rules, with as much memory as they want. Of
# lines IP COUNT KIND, instructions (COUNT is 1) and events, it makes lines RUNS
# BLOCKS, and one for all: instructions in traces, instructions, traces.
function enter(head) {trace = head; at = 1; runs[head]++; insns[head] += n}
function direct(kind) {return kind == "jcc" || kind == "jmp" || kind == "call"}
function feed(  reached) {
    if (cut) {if (rec) count[rec] = 0; rec = trace = ""}
    else if (trace != "" && at < len[trace] && block[trace, at] == ip) {
        at++; insns[trace] += n; return
    }
    reached = !cut && (trace != "" || direct(kind) && ip <= last)
    trace = ""
    if (rec && (len[rec] < 128) && (len[rec] == 1 || !(reached || ip in count))) {
        block[rec, len[rec]++] = ip; return
    }
    if (rec) {kept[rec] = 1; rec = ""}
    if (ip in kept) enter(ip)
    else if ((reached || ip in count) && ++count[ip] >= 50) {
        rec = ip; block[ip, 0] = ip; len[ip] = 1
    }
}
function done() {
    if (n) {feed(); last = ip; kind = end; cut = 0}
    n = 0
}
$2 == 0 {end = ""; done(); if ($3 ~ /able|intr|interr|abort/) cut = 1; next}
{if (!n) ip = $1; n++; all++; if ($3 != "other") {end = $3; done()}}
END {
    done()
    for (h in runs) {sum += insns[h]; traces++; print runs[h], len[h]}
    print sum, all, traces
}
