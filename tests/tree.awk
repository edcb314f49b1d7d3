# tree.awk: in each call tree that ptprof --tree --min 0 prints, a function's own
# share and those of the functions it calls are its total, but for rounding to
# tenths of a per cent. Own shares that are guesses have a ~.

# What is at this level or deeper is whole.
function closes(level,    wrong) {
    for (; deepest >= level; deepest--) {
        functions++
        wrong = total[deepest] - own[deepest] - called[deepest]
        if (wrong < 0) wrong = -wrong
        if (wrong > 0.05 * (2 + count[deepest]) + 0.001) {
            print line[deepest] ": calls " called[deepest] " %"
            bad = 1
        }
    }
}

BEGIN {deepest = -1}
/^ *total +own / {column = index($0, "function")}
!/^ *[0-9.]+% / {closes(0); next}
{
    sub(/~/, " ")
    level = (match(substr($0, column), /[^ ]/) - 1) / 2
    closes(level)
    deepest = level
    total[level] = $1 + 0
    own[level] = $2 + 0
    called[level] = count[level] = 0
    line[level] = $0
    if (level) {
        called[level - 1] += $1
        count[level - 1]++
    }
}
END {
    closes(0)
    print functions, "functions"
    exit bad || functions < 50
}
