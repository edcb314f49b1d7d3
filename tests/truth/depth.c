/* depth.c: calls and returns, with their depth: a view of the walk's spans, as
 * somebody would write it who has ipt_impl.h alone. What ptrecord --calls has
 * seen says whether it is right.
 *
 *     depth DIR                trace.pt, image.map, ips.calls */
#define IPT_IMPLEMENTATION
#define IPT_STATIC
#include "../../ipt.h"
#include "../../examples/tools/common/code/image.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the view ---- */

typedef struct calls_decoder {
    ipt_where at;
    ipt_walk_ walk;
    ipti_span last;  /* the span passed last; count 0: it was looked at */
    uint64_t passed; /* instructions */
    uint64_t depth;  /* calls that were not returned from */
} calls_decoder;

typedef struct calls_item {
    uint64_t ip, to; /* of the CALL or RET, and where it led */
    uint64_t passed; /* instructions up to it */
    uint64_t depth;  /* after it */
    int is_call;
} calls_item;

/* The config has IPT_CONFIG_END_ON_CALL, so that at.ip is right after calls. */
static int calls_init(calls_decoder *d, const ipt_config *config,
                      const ipt_trace *trace, ipt_cache *cache)
{
    memset(d, 0, sizeof(*d));
    return ipti_walk_init(&d->walk, &d->at, config, trace, cache);
}

static int calls_sync(calls_decoder *d)
{
    return ipti_walk_sync(&d->walk, &d->at, IPTI_SYNC_FORWARD, 0);
}

static int calls_next(calls_decoder *d, calls_item *item)
{
    const uint32_t calls = IPTI_KIND(CALL) | IPTI_KIND(CALL_INDIRECT);
    ipti_span span;
    uint64_t after;
    int status;

    for (;;) {
        status = ipti_walk_span(&d->walk, &d->at, UINT16_MAX, &span);
        d->passed += span.count;
        if (span.count) d->last = span;
        if (status < 0) return status;
        span = d->last;
        d->last.count = 0;
        after = span.end_ip + span.size;
        if (!span.count || !ipti_kind_in(span.kind, calls | IPTI_KIND(RET))
            || (span.kind != IPT_INSN_RET && d->at.ip == after))
            continue; /* it only reads the IP */
        item->is_call = span.kind != IPT_INSN_RET;
        d->depth += item->is_call ? 1u : d->depth ? UINT64_MAX : 0u;
        item->ip = span.end_ip;
        item->to = d->at.ip;
        item->passed = d->passed;
        item->depth = d->depth;
        return status;
    }
}

/* ---- the truth: frames whose return address is above the stack pointer ---- */

static uint64_t frames[1 << 16];
static size_t frame_count;

static void die(const char *why)
{
    fprintf(stderr, "depth: %s\n", why);
    exit(2);
}

static FILE *open_in(const char *dir, const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *const f = fopen(path, "rb");
    if (!f) die(path);
    return f;
}

/* The next call or return; 0: there is none. *done: instructions up to it. */
static int truth(FILE *f, uint64_t *done, uint64_t *kind)
{
    uint8_t bytes[24];
    uint64_t number[3] = {0};
    if (fread(bytes, sizeof bytes, 1, f) != 1) return 0;
    for (unsigned i = 0; i < sizeof bytes; i++)
        number[i / 8] |= (uint64_t) bytes[i] << (8 * (i % 8));
    *done = number[0];
    *kind = number[1];
    while (frame_count && (number[1] == 2 || frames[frame_count - 1]
                           < number[2] + (number[1] == 1)))
        frame_count--;
    if (number[1] == 1) {
        if (frame_count == sizeof frames / sizeof *frames) die("too deep");
        frames[frame_count++] = number[2];
    }
    return 1;
}

int main(int argc, char **argv)
{
    static calls_decoder d;
    static image code;
    static ipt_cache cache;
    static ipt_cache_line lines[1 << 15];
    ipt_config config = {0};
    calls_item item;
    uint64_t done = 0, kind = 0, items = 0, deep = 0;

    if (argc != 2) die("usage: depth DIR");
    FILE *const f = open_in(argv[1], "trace.pt");
    fseek(f, 0, SEEK_END);
    const size_t size = (size_t) ftell(f);
    uint8_t *const bytes = (uint8_t *) malloc(size);
    rewind(f);
    if (!bytes || fread(bytes, 1, size, f) != size) die("trace.pt");
    const ipt_segment segment = {bytes, size};
    const ipt_trace trace = {&segment, 1, 0, 0};
    FILE *const calls = open_in(argv[1], "ips.calls");

    image_init(&code);
    const char *why = image_add_map(&code, NULL, argv[1]);
    if (why) die(why);
    config.read = image_read;
    config.context = &code;
    config.flags = IPT_CONFIG_END_ON_CALL;
    ipt_cache_init(&cache, lines, sizeof lines / sizeof *lines);
    int status = calls_init(&d, &config, &trace, &cache);
    if (status >= 0) status = calls_sync(&d);
    while (status >= 0 && (status = calls_next(&d, &item)) >= 0) {
        do /* an exec is no item */
            if (!truth(calls, &done, &kind)) die("more than were recorded");
        while (kind == 2);
        if (done != item.passed || (kind == 1) != item.is_call) {
            printf("item %" PRIu64 ": %s after %" PRIu64 ", recorded %s after %"
                   PRIu64 "\n", items, item.is_call ? "CALL" : "RET",
                   item.passed, kind ? "CALL" : "RET", done);
            return 1;
        }
        items++;
        deep += item.depth == frame_count;
    }
    if (status != IPT_END) die(ipt_status_name(status));
    while (truth(calls, &done, &kind))
        if (kind != 2) die("fewer than were recorded");
    printf("%" PRIu64 " calls and returns, %" PRIu64 " at the depth of the stack"
           "\n", items, deep);
    return items == 0;
}
