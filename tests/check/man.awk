# man.awk: what a tool says with --help, as a page of the manual. Set name, brief,
# version, others (the other tools).
#
# usage: ... is the SYNOPSIS; lines that begin with two blanks are, in the
# options, a term and, after two blanks more, what is said of it; elsewhere they
# are kept as they are. Example:, Files: and Exit status: begin their sections.

function plain(text) {
    gsub(/\\/, "\\e", text)
    gsub(/-/, "\\-", text)
    if (text ~ /^[.']/) text = "\\&" text
    return text
}
function leave() { # an item, or lines that are kept
    if (kept) print ".EE"
    kept = 0
}
function section(title) {
    leave()
    if (title != now) print ".SH " title
    now = title
    begun = 0
}
# A paragraph, if a blank line came before.
function text(line) {
    leave()
    if (gap && begun) print ".PP"
    gap = 0
    begun = 1
    print plain(line)
}
function keep(line) {
    if (!kept) {
        if (gap && begun) print ".PP"
        print ".EX"
    }
    kept = 1
    gap = 0
    begun = 1
    print plain(line)
}

NR == 1 {
    print ".TH " toupper(name) " 1 \"\" \"ipt " version \
        "\" \"Intel Processor Trace\""
    section("NAME")
    print name " \\- " brief
    section("SYNOPSIS")
    sub(/^usage: [^ ]*/, "")
    print ".B " name "\n" plain(substr($0, 2))
    next
}
/^$/ { gap = 1; next }
gap && /^[a-z].*:$/ { # options:
    gap = 0
    section("OPTIONS")
    title = $0
    sub(/:$/, "", title)
    if (title != "options") print ".SS " toupper(substr(title, 1, 1)) \
        substr(title, 2)
    next
}
now == "OPTIONS" && /^  [^ ]/ {
    rest = term = substr($0, 3)
    sub(/  .*/, "", term)
    rest = substr(rest, length(term) + 1)
    sub(/^ +/, "", rest)
    print ".TP\n.B " plain(term)
    if (rest != "") print plain(rest)
    gap = 0
    next
}
now == "OPTIONS" && /^   / {
    sub(/^ +/, "")
    print plain($0)
    next
}
sub(/^Example: /, "") { section("EXAMPLES"); keep($0); next }
sub(/^Files: /, "") { section("FILES"); text($0); next }
sub(/^Exit status: /, "") { section("EXIT STATUS"); text($0); next }
{
    if (now == "SYNOPSIS" || now == "OPTIONS") {
        section(described ? "NOTES" : "DESCRIPTION")
        described = 1
    }
    if (/^  /) keep(substr($0, now == "EXAMPLES" && /^         / ? 10 : 3))
    else text($0)
}
END {
    section("SEE ALSO")
    n = split(others, list, " ")
    for (i = 1; i <= n; i++)
        if (list[i] != name) print ".BR " list[i] " (1),"
    print ".BR perf (1)"
}
