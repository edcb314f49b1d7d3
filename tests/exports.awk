# exports.awk: the branches of a file and the runs between them, from what a
# recorder saw: an address a line, of one thread, in hex. Prints them as lines
# `B FROM TO COUNT` and `r FROM TO COUNT`, sorted by nobody, addresses as the
# linker has them and X:0 outside of the file.
#
#     awk -v base=555555554000 -f exports.awk disassembly ips...
#
# The disassembly is objdump's. Files of addresses are one thread each. With bytes=1
# the bytes of the instructions are printed.

function number(hex,   n, i) {
    n = 0
    for (i = 1; i <= length(hex); i++)
        n = n * 16 + index("0123456789abcdef", substr(hex, i, 1)) - 1
    return n
}
BEGIN {load = number(base)}
FILENAME == ARGV[1] {
    if ($0 !~ /^ +[0-9a-f]+:\t/) next
    split($0, part, "\t")
    gsub(/[ :]/, "", part[1])
    length_of = gsub(/[0-9a-f][0-9a-f]( |$)/, "", part[2])
    if (part[3] == "") {size[at] += length_of; next} # the line before goes on
    at = number(part[1])
    hex[at] = part[1]
    size[at] = length_of
    word = part[3]
    sub(/^(notrack|bnd|repz|cs|ds|data16|addr32) /, "", word)
    kind[at] = word ~ /^j/ ? word ~ /^jmp/ ? "jump" : "jcc" \
        : word ~ /^call/ ? "call" : word ~ /^ret/ ? "ret" : ""
    next
}
bytes {
    place = number($1)
    for (i = 0; i < size[place]; i++) printf "%x\n", place + i
    next
}
function name(place) {return place in hex ? hex[place] : "X:0"}
function end_run() {
    if (start != "") count["r " hex[start] " " hex[last]]++
    start = ""
}
FNR == 1 {end_run(); last = ""}
{
    place = number($1) - load
    inside = place in hex
    if (last != "") {
        was_inside = last in hex
        if (was_inside && inside && place == last + size[last] &&
            (kind[last] == "" || kind[last] == "jcc")) {
            last = place
            next
        }
        end_run()
        if ((was_inside && kind[last] != "") || (inside && !was_inside))
            count["B " name(last) " " name(place)]++
    }
    if (inside) start = place
    last = place
}
END {
    if (bytes) exit
    end_run()
    delete count["B X:0 X:0"]
    for (c in count) print c, count[c]
}
