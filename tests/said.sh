#!/bin/sh
# said.sh: ptflow --event prints what events say: PTWRITE, CBR, a PEBS record that
# the processor wrote into the trace. Values on debug.md are those of libipt.

. "$(dirname "$0")/check/lib.sh"
build=$(cd "${BUILD:-build}" && pwd) || exit 2
cd "$tmp" || exit 2

# packets HEX...: bytes.
packets() {
    # shellcheck disable=SC2059 # octal escapes
    printf "$(echo "$*" | awk '{for (i = 1; i <= NF; i++) {
        n = 16 * index("123456789abcdef", substr($i, 1, 1)) \
            + index("123456789abcdef", substr($i, 2, 1))
        printf "\\%d%d%d", n / 64, n / 8 % 8, n % 8 }}')"
}

packets 90 ff e0 >code
packets 02 82 02 82 02 82 02 82 02 82 02 82 02 82 02 82 99 01 02 23 \
    02 03 1e 00 71 00 10 00 00 00 00 02 32 2a 00 00 00 00 00 00 00 \
    02 63 04 04 00 10 00 00 00 00 00 00 0c 03 00 00 00 00 00 00 00 \
    02 63 01 14 07 00 00 00 00 00 00 00 \
    02 63 1e 04 05 00 00 00 00 00 00 00 02 33 01 >trace
"$build/ptflow" --event --quiet --fields kind,values --pt trace --raw code:1000 \
    2>err >got
cat >want <<'END'
cbr ratio=1e
enabled -
ptwrite payload=2a size=8
pebs ip=1000 counters=3 rax=7 item30.0=5
END
sed 's/^ *//; s/  */ /g; s/ $//' got >s
grep -v '^disabled' s | cmp -s - want && pass || {
    diff s want >>err
    fail_with "events" err
}
"$build/ptflow" --event --quiet --json --fields kind,values --pt trace \
    --raw code:1000 2>err >got
grep -qx '{"type":"event","kind":"ptwrite","values":"payload=2a size=8"}' got &&
    grep -qx '{"type":"event","kind":"enabled","values":null}' got && pass ||
    fail_with "--json" got
"$build/ptflow" --event --quiet --pt trace --raw code:1000 2>err >got
[ "$(grep -c 'ptwrite *payload=2a size=8 *$' got)" -eq 1 ] && pass ||
    fail_with "the usual fields" got

# ---- the trace of debug.md ----

cat >events.c <<'END'
#include <intel-pt.h>
#include <stdio.h>
static uint8_t trace[4096];
static const char *word(const struct pt_event *e, unsigned long long *value)
{
    switch (e->type) {
    case ptev_cbr: return *value = e->variant.cbr.ratio, "cbr ratio";
    case ptev_async_paging:
        return *value = e->variant.async_paging.cr3, "paging cr3";
    case ptev_paging: return *value = e->variant.paging.cr3, "paging cr3";
    case ptev_ptwrite:
        return *value = e->variant.ptwrite.payload, "ptwrite payload";
    default: return NULL;
    }
}
int main(void)
{
    FILE *const f = fopen("trace", "rb");
    struct pt_query_decoder *d;
    struct pt_config config;
    struct pt_event e;
    uint64_t ip;
    int status;
    pt_config_init(&config);
    config.begin = trace;
    config.end = trace + fread(trace, 1, sizeof trace, f);
    d = pt_qry_alloc_decoder(&config);
    status = pt_qry_sync_forward(d, &ip);
    while (status >= 0 && status & pts_event_pending) {
        unsigned long long value, time;
        status = pt_qry_event(d, &e, sizeof e);
        if (status >= 0 && word(&e, &value)) {
            pt_qry_time(d, &time, NULL, NULL);
            printf("%llu.%09llu %s=%llx\n", time / 1000000000,
                   time % 1000000000, word(&e, &value), value);
        }
    }
    return 0;
}
END
if tail -n 1 "$build/flags" | grep -q -e ' -lipt '; then
    ln -s "$build" build
    awk '/^## Values/ {on = 1} on && /^```sh/ {p = 1; next} p && /^```/ {exit} p' \
        "$root/examples/tools/debug.md" >values
    sh ./values 2>err | sed 's/ nr=0//; s/ size=8//' >got
    ${CC:-cc} -w -o events events.c -lipt && ./events >want
    [ "$(wc -l <want)" -eq 5 ] && cmp -s got want && pass || {
        diff got want >bad
        fail_with "values (<), and those of libipt (>)" bad
    }
else
    skip "said: made without libipt"
fi

report
