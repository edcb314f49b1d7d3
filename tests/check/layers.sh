#!/bin/sh
# layers.sh [TREE]: ipt_impl.h is a stack of sections, each of which uses only
# those above it, and the headers keep the limits of the house style.

. "$(dirname "$0")/lib.sh"
cd "$tmp" || exit 2
impl=$root/ipt_impl.h
api=$root/ipt.h

# Functions that may be longer than 80 lines: one switch over the packet types,
# a few lines for each.
LONG="ipti_fields ipti_evt_dispatch"
# Public functions that are not named after a section.
NAMES="ipt_status_name ipt_status_cause ipt_status_remedy ipt_cpu_errata"
NAMES="$NAMES ipt_segments_from_topa ipt_topa_from_regions"
NAMES="$NAMES ipt_rtit_ctl_missing ipt_config_from_msrs"
NAMES="$NAMES ipt_packet_words ipt_event_words"

# ---- banners: line number and tag of each, in order ----
awk '/^ \* \[[a-z]+\]/ && last ~ /^\/\* ====/ {
    tag = $2; gsub(/[][]/, "", tag); print NR, tag } {last = $0}' "$impl" >tags
[ "$(wc -l <tags)" -ge 2 ] && pass || fail "ipt_impl.h has no section banners"
first=$(head -n 1 tags | cut -d' ' -f1)

# The contents list at the top, ` *   [tag]  what it does`, up to the chapter.
head -n "$((first - 2))" "$impl" |
    sed -n '/^ \* HOW A BYTE/q; s/^ \*  *\[\([a-z]*\)\].*/\1/p' >contents
cut -d' ' -f2 tags | diff contents - >bad
expect_empty "contents list (<) and banners (>) differ" bad

# ---- style of the code ----

# A function begins with a brace in column 1 and ends so.
awk -v long=" $LONG " '
    /^[a-zA-Z].*\(/ {head = $0}
    /^\{/ {start = NR}
    /^\}/ && start && NR - start > 79 {
        name = head; sub(/\(.*/, "", name); sub(/.*[ *]/, "", name)
        if (!index(long, " " name " ")) print name ": " NR - start + 1 " lines"
    } /^\}/ {start = 0}' "$impl" >bad
expect_empty "functions longer than 80 lines" bad

# Prototypes: define before use needs none.
awk '/^(static|IPT_API|inline)[^=]*\(/ {head = NR ": " $0; open = 1}
    open && /\{|=/ {open = 0}
    open && /;$/ {print head; open = 0}' "$impl" >bad
expect_empty "prototypes in ipt_impl.h" bad

for f in "$api" "$impl" "$root"/zydis_glue/*.h; do
    [ -f "$f" ] || continue
    name=${f#"$root"/}
    awk 'length($0) > 80 {print FNR ": " length($0) " columns"}' "$f" >bad
    expect_empty "$name: lines over 80 columns" bad
    LC_ALL=C grep -nP '[^\x20-\x7e]|\s$' "$f" >bad
    expect_empty "$name: tabs, trailing blanks or non-ASCII" bad
done

# The section that a name of ipt.h belongs to has to define it; [sync] and
# [strings] also define functions of the others.
awk '/^IPT_API/ {print $0}' "$api" | sed 's/(.*//; s/.*[ *]//' >functions
[ "$(wc -l <functions)" -lt 80 ] && pass || fail "ipt.h: 80 functions or more"
awk -v names=" $NAMES " '
    FILENAME == "tags" {tag[$2] = 1; at[$1] = $2; next}
    FILENAME == "functions" {
        name = $1; want = name; sub(/^ipt_/, "", want); sub(/_.*/, "", want)
        if (!(want in tag) && !index(names, " " name " "))
            print name ": [" want "] is no section"
        api[name] = want; next }
    FNR in at {section = at[FNR]}
    /^IPT_API/ {
        name = $0; sub(/\(.*/, "", name); sub(/.*[ *]/, "", name)
        if (!(name in api)) print name ": not in ipt.h"
        else if (api[name] in tag && section != api[name] &&
                 section != "strings" &&
                 !(section == "sync" && name ~ /_sync_/))
            print name ": defined in [" section "]"
        defined[name] = 1 }
    END {for (name in api) if (!defined[name]) print name ": no definition"}
    ' tags functions "$impl" >bad
expect_empty "public functions and sections" bad

# The walk's parts: what the banner of [walk] says of who may write each. What
# stands above it has variables of such names, but no part except the calls.
member='[a-z_]+(->|[.])(at[.])?[a-z0-9_]+(\[[^]]*\])?'
awk -v write="$member *(([-+|&]|<<|>>)?=([^=]|\$)|[+][+]|--)" '
    /^\/\* =====/ {banner = 1}
    banner && /^ \* \[/ {section = $2; gsub(/[][]/, "", section)}
    banner && section == "walk" && /^ \* Each part is written only by/ {table = 1}
    banner && table && /ipti_/ {
        first = 2
        if (substr($0, 6, 1) != " ") {
            part = $2; order[++parts] = part; first = 3
        }
        for (i = first; i <= NF; i++) if ($i ~ /^ipti_/) {
            if (!((part, $i) in may)) count[part]++
            may[part, $i] = 1 } }
    / \*\/$/ && banner {banner = 0; walk = table}
    /^[a-zA-Z].*\(/ {
        name = $0; sub(/\(.*/, "", name); sub(/.*[ *]/, "", name) }
    {   line = $0 # IPTI_COPY(&part.member, ...) writes it as = does
        if (match(line, /IPTI_COPY\(&[^,]*,/))
            line = substr(line, RSTART + 11, RLENGTH - 12) " = ;" line
        while (match(line, write)) {
            part = substr(line, RSTART, RLENGTH)
            line = substr(line, RSTART + RLENGTH)
            sub(/(->|\.).*/, "", part)
            sub(/_$/, "", part) # [gen] has calls_
            wrote[part, name] = 1
            if (walk || part == "calls") for (i = 1; i <= parts; i++)
                if (part == order[i] && !((part, name) in may))
                    print name " writes " part } }
    END {
        if (!parts) print "the banner of [walk] names no parts"
        for (part in count)
            if (count[part] > 6) print part ": more than six writers"
        for (key in may) if (!(key in wrote)) {
            split(key, of, SUBSEP)
            print of[2] " does not write " of[1] } }
    ' "$impl" >bad
expect_empty "parts of the walk: other writers" bad

# ---- lines of code, without comments and blank lines ----

bare() { # FILE without comments and blank lines
    awk '{  line = ""
            while ($0 != "") {
                if (inside) {
                    if (!(i = index($0, "*/"))) break
                    inside = 0; $0 = substr($0, i + 2)
                } else if ((i = match($0, /\/[*\/]/)) == 0) {
                    line = line $0; break
                } else {
                    line = line substr($0, 1, i - 1)
                    if (substr($0, i + 1, 1) == "/") break
                    inside = 1; $0 = substr($0, i + 2)
                }
            }
            if (line ~ /[^ ]/) print line }' "$1"
}
while read -r line tag; do
    tail -n +"$((line - 1))" "$impl" |
        awk '/^\/\* ====/ && NR > 1 {exit} {print}' >section
    echo "@ $tag"
    bare section
done <tags >code
awk '/^@ / {if (tag) print tag, n; tag = $2; n = 0; next} {n++}
    END {print tag, n}' code >sizes

# ---- the views of the walk ----

# How many functions of [walk] each view calls, and how often it names a member
# of the walk. What a change saves lowers the limit.
cat >views <<'END'
blk 9 0
insn 12 0
cov 41 173
END
awk '
    FILENAME == "views" {order[++n] = $1; most[$1] = $2; named[$1] = $3; next}
    /^@ / {tag = $2; next}
    tag == "walk" && /^[a-z].*[(]/ {
        name = $0; sub(/[(].*/, "", name); sub(/.*[ *]/, "", name)
        walk[name] = 1 }
    tag in most {
        line = $0
        while (match(line, /ipti_[a-z0-9_]+[(]/)) {
            name = substr(line, RSTART, RLENGTH - 1)
            line = substr(line, RSTART + RLENGTH)
            if (name in walk && !((tag, name) in seen)) calls[tag]++
            seen[tag, name] = 1
        }
        members[tag] += gsub(/(^|[^a-z0-9_])(w->|walk_[.])[a-z]/, "") }
    END {
        for (i = 1; i <= n; i++) {
            tag = order[i]
            if (calls[tag] != most[tag] || members[tag] != named[tag])
                printf "[%s]: %d functions, %d members, limits %d and %d\n",
                    tag, calls[tag], members[tag], most[tag], named[tag] } }
    ' views code >bad
expect_empty "views of the walk: above a limit, or that is the limit now" bad

# ---- what a packet or an event is, said again ----

# A place is a function or an initialiser that has ten or more names of packets
# and events, with or without the prefix; directives do not count. One that goes
# lowers the limit, and a new one asks [strings]' lists instead.
PLACES=10 PLACE_LINES=206
bare "$api" | grep -oE '^    IPT_(PKT|EVT)_[A-Z0-9_]+' |
    sed -E 's/ *IPT_(PKT|EVT)_//; /^(NONE|COUNT)$/d' | sort -u >named
for f in "$api" "$impl" "$root"/fuzz/*.[ch] "$root/tests/samples.h"; do
    [ ! -f "$f" ] || { echo "@ ${f#"$root"/}"; bare "$f"; }
done | awk -v limit="$PLACES" -v lines="$PLACE_LINES" '
    FILENAME == "named" {named[$1] = 1; next}
    /^@ / {file = $2; depth = 0; next}
    /^#ifdef __cplusplus/ {plus = 1}
    plus {if (/^#endif/) plus = 0; next}
    {directive = goes_on || /^ *#/; goes_on = directive && /\\$/}
    directive {next}
    {   text = $0
        gsub(/"[^"]*"/, "", text)
        if (!depth && text ~ /^[a-z].*[ (*]/) head = $0
        brace = text
        has = 0
        while (match(text, /[A-Z][A-Z0-9_]+/)) {
            name = substr(text, RSTART, RLENGTH)
            text = substr(text, RSTART + RLENGTH)
            sub(/^IPT_(PKT|EVT)_/, "", name)
            if (!(name in named)) continue
            has = 1
            if (seen[name] != items + 1) {seen[name] = items + 1; names++}
        }
        with += has
        depth += gsub(/[{]/, "", brace) - gsub(/[}]/, "", brace)
        if (depth > 0 || $0 !~ /[};]/) next
        if (names >= 10) {
            places++
            sum += with
            list = list file ": " head ": " names " names\n" }
        items++
        names = with = 0 }
    END {
        if (places > limit || sum > lines)
            printf "%s%d places, %d lines; at most %d, %d\n", list, places,
                sum, limit, lines
        else if (places < limit)
            print places " places: that is the limit now" }' named - >bad
expect_empty "packets or events listed again" bad

# Golden rows, oracles, peers and the drop-in libraries judge [strings]' lists:
# they use none of them, nor the words made of them but to compare those. Samples
# only break things.
grep -nE 'IPTI_(PACKETS|EVENTS)\(|ipti_(pkt|evt)_(texts|fields)|ipt_(packet|event)_words' \
    "$root"/tests/*.[ch] "$root"/tests/*/*.[ch] \
    "$root"/examples/compat/*/*.[ch] |
    grep -v -e '/tests/strings[.]c:.*_words' -e '/tests/samples[.]h:' >bad
expect_empty "what judges the lists of packets and events uses them" bad

# "Uses:" of a banner: the sections above of which the code has a function, a
# macro, a constant or a type.
awk '/^\/\* ====/ {tag = ""}
    /^ \* \[[a-z]+\]/ && last ~ /^\/\* ====/ {tag = $2; order[++n] = tag}
    /^ \* Uses: / && tag {sub(/\..*/, ""); uses[tag] = substr($0, 10)}
    {last = $0}
    END {for (i = 1; i <= n; i++) print order[i] ": " uses[order[i]]}' \
    "$impl" >said
awk '/^@ / {tag = $2; order[++n] = tag; next}
    function define(name) {
        sub(/[^A-Za-z_0-9].*/, "", name)
        if (name !~ /^(ipti?|IPTI?)_/) return
        if (!(name in home)) home[name] = tag
        own[tag, name] = 1
    }
    {   line[++lines] = text = $0; at[lines] = tag }
    /^#define / {define($2)}
    /^} ipti_/ {define($2)}
    /^enum / {constants = 1}
    constants {
        gsub(/=[^,}]*/, "", text)
        for (k = split(text, names, /[ ,{}]+/); k > 0; k--) define(names[k])
        if (/}/) constants = 0
        next }
    /^[a-zA-Z].*[({=[]/ {
        sub(/ *[({=[].*/, "", text); sub(/.*[ *]/, "", text); define(text) }
    END {
        for (i = 1; i <= lines; i++)
            while (match(line[i], /[A-Za-z_][A-Za-z_0-9]*/)) {
                name = substr(line[i], RSTART, RLENGTH)
                line[i] = substr(line[i], RSTART + RLENGTH)
                if (name in home && !((at[i], name) in own))
                    used[at[i], home[name]] = 1
            }
        for (i = 1; i <= n; i++) {
            list = ""
            for (k = 1; k < i; k++) if ((order[i], order[k]) in used)
                list = list (list ? ", [" : "[") order[k] "]"
            print "[" order[i] "]: " (list ? list : "nothing") } }' code |
    diff said - >bad
expect_empty "Uses: of banners (<) and of the code (>)" bad

# What a reader meets first: the manual, up to the guard, and the first function.
awk '/^#ifndef IPT_H$/ && NR > 162 {print "manual: " NR - 2 " lines"}
    /^IPT_API/ {if (NR >= 300) print "first prototype: line " NR; exit}' \
    "$api" >bad
expect_empty "ipt.h: a long way to the first function" bad

# Members of the structs that are ours, and of two that a user has a part of.
bare "$api" | awk '
    /^(typedef )?struct .* [{]$/ {n = 0; name = $(NF - 1)}
    /^    / {n += gsub(/[;,]/, "")}
    /^\}/ && (name ~ /_$/ || name == "ipt_gen" || name == "ipt_cov_decoder") {
        if (n > 24) print name ": " n " members" }' >bad
expect_empty "structs with over 24 members" bad

# Members of the walk, and the leaves of them: what its parts have, and members
# that are no part. Its cursor and its state of [evt] are of other sections. What
# a change saves lowers the limit.
WALK_MEMBERS=21 WALK_LEAVES=62
bare "$api" | awk -v members=$WALK_MEMBERS -v leaves=$WALK_LEAVES '
    /^(typedef )?struct .* [{]$/ {name = $(NF - 1)}
    /^    / {
        n[name] += m = gsub(/[;,]/, "")
        if (name == "ipt_walk_" && $1 !~ /^ipt_(cursor|evt_state)_$/)
            all += $1 ~ /_$/ && $1 in n ? n[$1] : m }
    END {
        if (n["ipt_walk_"] != members || all != leaves)
            printf "ipt_walk_: %d members and %d leaves, limits %d and %d\n",
                n["ipt_walk_"], all, members, leaves }' >bad
expect_empty "members of the walk: above a limit, or that is the limit now" bad

while read -r line tag; do
    [ -f "$root/tests/$tag.c" ] && pass || fail "[$tag] has no tests/$tag.c"
done <tags
[ "$(wc -l <"$root/Makefile")" -le 200 ] && pass || fail "Makefile: > 200 lines"
[ "$(wc -l <"$root/tests/test.h")" -le 96 ] && pass ||
    fail "tests/test.h: > 96 lines"

# GNU make 3.81 reads it, and make -j reaches the makes below it.
(cd "$root" && grep -nE '(: *|^)private |^(undefine|load) |^define .*=|!=|::=|&:|^\.ONESHELL|\$\((file|guile|let|intcmp) |^'"$(printf '\t')"'@?\$\((SUB\)|call COMPAT_SANITIZED)' \
    Makefile tests/*/*.mk) >"$tmp/bad"
expect_empty "make: newer than 3.81, or \$(SUB) without +" "$tmp/bad"

# Words that a reader stumbles over, and ours for them: after, is missing, says,
# until, written out. The patterns are split so that this file has none of them.
(cd "$root" && grep -rniIE --exclude-dir=.git --exclude-dir=build \
    --exclude-dir=data 'be''hind|\b(la''cks?|la''cking|te''lls|ti''ll|whil''st)\b|\b[ei]\.''[ge]\.' .) \
    >bad
expect_empty "words" bad
(cd "$root" && grep -rnE --include='*.[ch]' --exclude-dir=build \
    '^ *(/\*|//) (It|They|Th[ei]se|This|Those|That|Its|Their|The same)\b' .) \
    >bad
expect_empty "comments that begin with a pronoun" bad
(cd "$root" && grep -rnE --include='*.[ch]' \
    '\b(FUZZ_)?CHECK\(([^()"]|\([^()]*\))*&&' tests fuzz) >bad
expect_empty "checks of two comparisons" bad

# A name in /tmp is shared with all; the machine of tests/mock/linux has its own.
(cd "$root" && grep -rnE --exclude-dir=build --exclude-dir=linux \
    '(^|[^A-Za-z0-9_$}/])/tmp/[A-Za-z$]' tests fuzz examples Makefile .ci) >bad
expect_empty "names in /tmp instead of TMPDIR" bad

# A macro that makes a whole function may have them, in that function.
find "$root" -name build -prune -o -name '*.[ch]' -print | sort | xargs awk '
    function judge() {
        gsub(/"([^"\\]|\\.)*"|\/\*[^*]*\*\//, "", text)
        if (text !~ /static/ && match(text,
            /(^|[^A-Za-z_0-9])(return|goto|break|case)([^A-Za-z_0-9]|$)/))
            print at
        text = ""
    }
    !text && /^ *# *define/ {at = FILENAME ": " FNR}
    text || /^ *# *define/ {text = text $0; if (!/\\$/) judge()}
    ' >bad
expect_empty "macros that hide return, goto, break or case" bad

# Comments: of the lines that are not blank, those with a comment or a part of
# one.
awk '/[^ ]/ {
        lines++; with = inside; rest = $0
        while (match(rest, inside ? "[*]/" : "/[*/]")) {
            with = 1
            if (substr(rest, RSTART, 2) == "//") break
            inside = !inside; rest = substr(rest, RSTART + 2)
        }
        comments += with }
    END {
        share = 100 * comments / lines
        if (share < 15 || share > 30)
            printf "%.1f %% of the lines have comments: 15 to 30\n", share }
    ' "$impl" >bad
expect_empty "ipt_impl.h: comments" bad

# ---- the prefix test: the file cut at each banner stands alone ----
{ cat tags; echo "$(($(wc -l <"$impl") + 3)) end"; } | tail -n +2 >cuts
previous=$(head -n 1 tags | cut -d' ' -f2)
while have gcc gcc && read -r line tag; do
    { head -n $((line - 2)) "$impl"; [ "$tag" = end ] || echo '#endif'; } \
        >prefix.c
    if gcc -std=c99 -w -O0 -fkeep-static-functions -I"$root" -c prefix.c \
        -o prefix.o 2>bad; then
        nm -u prefix.o | grep 'ipti\?_' >bad
    fi
    expect_empty "[$previous] uses a later section" bad
    previous=$tag
done <cuts

# ---- size: the last, so that no other check depends on the room left ----

# A budget is 5 % above what the section took when it was set. Raising one is a
# commit of its own, which says why.
cat >budgets <<'END'
base 558 pkt 1048 sync 180 time 412 evt 1575 qry 165 classify 528 cache 823
bind 142 walk 1890 blk 135 insn 132 cov 1638 hot 364 gen 530 hw 249 strings 270
END
tr -s ' ' '\n' <budgets | paste -d' ' - - | awk '
    FILENAME == "-" {most[$1] = $2; next}
    !($1 in most) {print $1 ": no budget"}
    $2 > most[$1] {print $1 ": " $2 " lines of code, budget " most[$1]}
    ' - sizes >bad
expect_empty "sections with more lines of code than their budget" bad

report
