#!/bin/sh
# macros.sh: no macro changes a struct; IPT_NO_CLOCK leaves time out of the
# decoders and their code, and nothing else.

. "$(dirname "$0")/check/lib.sh"
here=$root
CC=${CC:-cc}
cd "$tmp" || exit 2

# build FILE FLAG...: compile FILE to ./program.
build() {
    file=$1
    shift
    # shellcheck disable=SC2086 # flags
    quietly "$file $*" "$CC" $WARN -std=c99 -I"$here" -I"$here/tests" "$@" \
        "$file" -o program
}

{ printf '#include <stdio.h>\n#include "ipt.h"\n'
  printf 'int main(void)\n{\n'
  sed -n 's/^typedef struct \(ipt_[a-z_]*\) {/\1/p
      s/^struct \(ipt_[a-z_]*\) {/\1/p' "$here/ipt.h" |
      sed 's/.*/    printf("%s %d\\n", "&", (int) sizeof(struct &));/'
  printf '    return 0;\n}\n'
} >structs.c
build structs.c && ./program >plain
[ "$(wc -l <plain)" -gt 40 ] && pass || fail_with "structs found" plain
for macro in STATIC NO_STRINGS NO_CLOCK; do
    build structs.c -w -DIPT_$macro && ./program >out
    diff plain out >bad
    expect_empty "structs without IPT_$macro (<) and with it (>)" bad
done

build "$here/tests/clocks.c" -DIPT_NO_CLOCK &&
    TEST_ONLY=no_time quietly "no clock" ./program
build "$here/tests/time.c" -DIPT_NO_CLOCK && quietly "ipt_time_" ./program

# Firmware that wants events alone is smaller without the clock.
cat >loop.c <<'END'
#define IPT_IMPLEMENTATION
#define IPT_STATIC
#include "ipt.h"
int main(void)
{
    static ipt_evt_decoder d;
    static ipt_config c;
    static ipt_trace t;
    static ipt_event e;
    return ipt_evt_init(&d, &c, &t) + ipt_evt_sync_forward(&d)
           + ipt_evt_next(&d, &e);
}
END
# bytes FLAG...: the code of that program.
bytes() {
    build loop.c -Os -fno-asynchronous-unwind-tables "$@" &&
        size program | awk 'NR == 2 {print $1}'
}
with=$(bytes) without=$(bytes -DIPT_NO_CLOCK)
[ "${without:-0}" -gt 1000 ] && [ $((with - without)) -ge 1000 ] && pass ||
    fail "a loop over events: $with bytes, without a clock $without"
report
