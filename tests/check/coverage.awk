# coverage.awk: branches of ipt_impl.h from the JSON of llvm-cov export, a line
# for each way that one can go, counts of all programs added:
#
#     awk -f coverage.awk ipt_impl.h JSON
#     SECTION LINE COUNT FUNCTION: CONDITION: true (or false)
#
# LINE is where the outermost macro is used, if the branch is in a macro; the
# same branch in another expansion is another branch. The JSON has to be cut
# into lines at each {.

FNR == NR {
    source[FNR] = $0
    if (/^ \* \[[a-z]+\]/ && last ~ /^\/\* ====/) {
        tag = $2
        gsub(/[][]/, "", tag)
    }
    last = $0
    section[FNR] = tag
    next
}

# The text from line and column to line and column, blanks as one.
function text(l1, c1, l2, c2,    out) {
    if (l1 == l2)
        return substr(source[l1], c1, c2 - c1)
    out = substr(source[l1], c1)
    while (++l1 < l2)
        out = out " " source[l1]
    out = out " " substr(source[l2], 1, c2 - 1)
    gsub(/[ \t\\]+/, " ", out)
    return out
}

# The part of the record after "name": up to ]] or ].
function part(name, close_,    from, rest) {
    from = index($0, "\"" name "\":[")
    if (!from)
        return ""
    rest = substr($0, from + length(name) + 4)
    return substr(rest, 1, index(rest, close_) - 1)
}

/^"branches":\[\[/ && /"count":/ && /"name":/ {
    root = part("filenames", "]")
    sub(/,.*/, "", root)
    if (root !~ /\/ipt_impl\.h"$/)
        next
    name = $0
    sub(/.*"name":"/, "", name)
    sub(/".*/, "", name)
    sub(/.*:/, "", name)
    split("", from)
    split("", place)
    n = split(part("regions", "]]"), regions, /\],\[|\[/)
    for (i = 1; i <= n; i++) {
        split(regions[i], r, ",")
        if (r[8] == 1) { # an expansion: where it stands
            from[r[7]] = r[6]
            place[r[7]] = r[1] "," r[2] "," r[3] "," r[4]
        }
    }
    n = split(part("branches", "]]"), branches, /\],\[|\[/)
    for (i = 1; i <= n; i++) {
        if (split(branches[i], b, ",") < 9)
            continue
        where = b[1] "," b[2]
        key = text(b[1], b[2], b[3], b[4])
        line = b[1]
        for (file = b[7]; file in from && file != 0; file = from[file]) {
            split(place[file], p, ",")
            where = p[1] "," p[2] " " where
            line = p[1]
        }
        if (line != b[1])
            key = key " in " source[line]
        gsub(/ +/, " ", key)
        where = line " " where
        taken[where] += b[5]
        not_taken[where] += b[6]
        at[where] = line
        what[where] = name ": " key
    }
}

END {
    for (where in at) {
        printf "%s %d %.0f %s: true\n", section[at[where]], at[where],
            taken[where], what[where]
        printf "%s %d %.0f %s: false\n", section[at[where]], at[where],
            not_taken[where], what[where]
    }
}
