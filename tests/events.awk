# events.awk: events as perf and as ptflow print them, in one form: KIND TIME VALUES,
# without a time for those that perf says later than they were.
#
#     perf script --itrace=pwo --ns -F synth:event,time,ip,synth \
#         -F hw:event,time,ip,iregs,addr,weight,ins_lat,brstack | awk -f events.awk
#     ptflow --event --fields kind,time,values | awk -f events.awk

function plain(hex) {
    sub(/^0x/, "", hex)
    return hex
}
function number(hex,  i, n) {
    for (i = n = 0; i < length(hex); i++)
        n = 16 * n + index("123456789abcdef", substr(hex, i + 1, 1))
    return n
}
# Registers and branches of a sample: AX:0x7 ... 0x401000/0x401004/P/-/-/1/
function list_perf(  i, part, what) {
    for (i = 7; i <= NF; i++) {
        if ($i ~ /^ABI/) continue
        if ($i ~ /\//) {
            split($i, part, "/")
            what = what " " plain(part[1]) ">" plain(part[2])
        } else {
            split(tolower($i), part, ":")
            what = what " " part[1] "=" plain(part[2])
        }
    }
    return what
}
# ... and of a record: rax=7 ... from0=401000 to0=401004 info0=1
function list_ours(  i, n, name, what) {
    n = split("rax rbx rcx rdx rsi rdi rbp rsp rip rflags", name, " ")
    for (i = 1; i <= n; i++)
        if (name[i] in at) what = what " " substr(name[i], 2) "=" at[name[i]]
    for (i = 8; i < 16; i++)
        if ("r" i in at) what = what " r" i "=" at["r" i]
    for (i = 0; "from" i in at; i++) what = what " " at["from" i] ">" at["to" i]
    return what
}

$2 ~ /:$/ { # perf: TIME: EVENT: ...
    sub(/:$/, "", $1)
    sub(/:$/, "", $2)
    if ($2 == "cbr" && cbrs++) print "cbr", $1, $4 # the first is not of a change
    if ($2 == "ptwrite") print "ptwrite", $1, plain($6)
    if ($2 == "exstop") print "exstop", $1
    if ($2 == "mwait") print "mwait", plain($4), plain($6)
    if ($2 == "pwre") print "pwre", $4, $6, $8
    if ($2 == "pwrx") print "pwrx", $1, $5, $8, plain($11)
    if ($2 == "cycles:u") print "pebs", $1, plain($3), $4, $5, $6 list_perf()
    next
}
{
    split("", at)
    for (i = 3; i <= NF; i++) {
        split($i, word, "=")
        at[word[1]] = word[2]
    }
}
$1 == "cbr" && at["ratio"] != ratio {
    print "cbr", $2, number(ratio = at["ratio"])
}
$1 == "ptwrite" { print "ptwrite", $2, at["payload"] }
$1 == "exstop" { print "exstop", $2 }
$1 == "mwait" { print "mwait", at["hints"], at["ext"] }
$1 == "pwre" {
    print "pwre", at["hw"], number(at["state"]), number(at["sub_state"])
}
$1 == "pwrx" {
    print "pwrx", $2, number(at["deepest"]), number(at["last"]),
        at["interrupt"] + 4 * at["store"] + 8 * at["autonomous"]
}
$1 == "pebs" {
    print "pebs", "time" in at ? at["time"] : $2,
        "address" in at ? at["address"] : 0, number(at["latency"]),
        number(at["waited"]), at["ip"] list_ours()
}
