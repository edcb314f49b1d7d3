#!/bin/sh
# stubs.sh: the names of stubs (common/code/plt.h) are those that objdump shows,
# of programs and libraries that linkers make in their ways, 64 and 32 bits.

. "$(dirname "$0")/check/lib.sh"
build=$(cd "$root" && cd "${BUILD:-build}" && pwd) || exit 2
CC=${CC:-cc}
have objdump binutils || { report; exit; }
[ -x "$build/tests/symbols" ] || { echo "make $build/tests/symbols"; exit 2; }
if ! "$build/tests/symbols" /bin/sh >/dev/null 2>&1; then
    skip "symbols of ELF files: libelf is missing (package libelf-dev)"
    report
    exit
fi

cat >"$tmp/a.c" <<'END'
int one(int), two(int), three(int);
int (*volatile to)(int);
int four(int x) {to = two; return one(x) + two(x) + three(x) + to(x);}
END
cat >"$tmp/b.c" <<'END'
int four(int);
int one(int x) {return x + 1;}
int two(int x) {return x + 2;}
int three(int x) {return x < 0 ? four(x) : x;}
END
cat >"$tmp/main.c" <<'END'
int four(int), three(int);
void _start(void) {for (;;) four(three(1));}
END
cat >"$tmp/libc.c" <<'END'
#include <stdio.h>
#include <string.h>
int main(int argc, char **argv) {
    char text[100];
    strcpy(text, argv[argc - 1]);
    return puts(text) + (int) strlen(text);
}
END

# stubs FILE: lines OFFSET NAME, objdump's addresses as offsets. What only a
# resolver chooses has the resolver's address there, here a name.
want_stubs() {
    readelf -SW "$1" | sed 's/^ *\[ *[0-9]*\] *//' >"$tmp/sections"
    for section in .plt .plt.sec .plt.got .iplt; do
        objdump -d --section=$section "$1" 2>/dev/null
    done | awk '
        FILENAME ~ /sections$/ {
            if ($2 == "PROGBITS") {address[$1] = $3; offset[$1] = $4}
            next
        }
        /^Disassembly/ {section = $NF; sub(/:$/, "", section)}
        /^[0-9a-f]+ <.*@plt>:$/ {
            name = $2; gsub(/^<|>:$/, "", name)
            if (name ~ /^[*]ABS[*]/) name = "[*]@plt"
            print $1, address[section], offset[section], name
        }' "$tmp/sections" - | while read -r at address offset name; do
            printf '%x %s\n' $((0x$at - 0x$address + 0x$offset)) "$name"
        done | sort
}

# stubs WHAT FILE: are they all there, and what else is called a stub is the
# first half of one.
stubs() {
    want_stubs "$2" >"$tmp/want"
    "$build/tests/symbols" "$2" | awk '$3 ~ /@plt$/ {print $1, $3, $4}' |
        sort >"$tmp/got"
    if awk '
        FILENAME ~ /want$/ {want[$1] = $2; n++; next}
        {name[$1] = $2; whole[$1] = $3}
        END {
            for (at in want)
                if (name[at] != want[at] &&
                    !(want[at] == "[*]@plt" && name[at] ~ /@plt$/)) {
                    print at, want[at], "is", name[at]; bad = 1
                }
            for (at in name)
                if (!(at in want) && !(whole[at] in want)) {
                    print at, name[at], "is more"; bad = 1
                }
            exit bad || !n
        }' "$tmp/want" "$tmp/got" >"$tmp/why"; then pass
    else fail_with "stubs: $1" "$tmp/why"; fi
}

# pair WHAT COMPILER-OPTIONS LINKER-OPTIONS: two libraries and a program.
pair() {
    what=$1
    # shellcheck disable=SC2086 # options
    if $CC $2 -O1 -w -nostdlib -fPIC -shared $3 -o "$tmp/liba.so" "$tmp/a.c" \
            >"$tmp/why" 2>&1 &&
        $CC $2 -O1 -w -nostdlib -fPIC -shared $3 -o "$tmp/libb.so" "$tmp/b.c" \
            >"$tmp/why" 2>&1 &&
        $CC $2 -O1 -w -nostdlib $4 $3 -o "$tmp/main" "$tmp/main.c" \
            "$tmp/liba.so" "$tmp/libb.so" >"$tmp/why" 2>&1
    then
        stubs "$what, library" "$tmp/liba.so"
        stubs "$what, program" "$tmp/main"
    else
        skip "$what: $CC does not make it: $(head -n 1 "$tmp/why")"
    fi
}

for bits in 64 32; do
    m=-m$bits
    pair "$bits bits, lazy" "$m -fcf-protection=none" -Wl,-z,lazy
    pair "$bits bits, now" "$m -fcf-protection=none" -Wl,-z,now
    pair "$bits bits, fixed" "$m -fcf-protection=none" -Wl,-z,lazy \
        "-fno-pic -no-pie"
    pair "$bits bits, IBT" "$m -fcf-protection" "-Wl,-z,ibtplt -Wl,-z,lazy"
    pair "$bits bits, IBT, now" "$m -fcf-protection" "-Wl,-z,ibtplt -Wl,-z,now"
    for linker in lld gold mold; do
        command -v ld.$linker >/dev/null &&
            pair "$bits bits, $linker" "$m -fuse-ld=$linker" -Wl,-z,lazy
    done
done
# objdump names no stubs of a static program: each is called like one of the
# symbols where the resolver of its slot is.
resolved() {
    readelf -rW "$2" >"$tmp/relocations"
    nm "$2" >"$tmp/symbols"
    objdump -d --section=.plt --section=.plt.sec --section=.iplt "$2" \
        >"$tmp/code" 2>/dev/null
    "$build/tests/symbols" "$2" | awk '$3 ~ /@plt$/ {print $1, $3}' >"$tmp/got"
    if awk '
        function bare(text) {sub(/^0+/, "", text); return text}
        FILENAME ~ /relocations$/ && /IRELATIV/ {target[bare($1)] = bare($NF)}
        FILENAME ~ /symbols$/ {names[bare($1)] = names[bare($1)] " " $3 "@plt "}
        FILENAME ~ /code$/ && /jmp.* [*]0x.*# / {
            slot = $0; sub(/.*# /, "", slot); sub(/ .*/, "", slot)
            at = $1; sub(/:$/, "", at)
            if (slot in target) want[substr(at, length(at) - 2)] = target[slot]
        }
        FILENAME ~ /got$/ {
            at = substr($1, length($1) - 2) # addresses end like offsets
            if (!index(names[want[at]], " " $2 " ")) {
                print $0, "is one of", names[want[at]]; bad = 1
            }
            delete want[at]
        }
        END {
            for (w in want) {print w, "has none"; bad = 1}
            exit bad || FILENAME !~ /got$/ || FNR < 5
        }' "$tmp/relocations" "$tmp/symbols" "$tmp/code" \
        "$tmp/got" >"$tmp/why"; then pass
    else fail_with "stubs: $1" "$tmp/why"; fi
}

for kind in -pie -static -static-pie; do
    if $CC -O1 -w $kind -fPIE -o "$tmp/main" "$tmp/libc.c" 2>"$tmp/why"; then
        if [ $kind = -pie ]; then stubs "libc, $kind" "$tmp/main"
        else resolved "libc, $kind" "$tmp/main"; fi
    else skip "libc, $kind: $(head -n 1 "$tmp/why")"; fi
done
report
