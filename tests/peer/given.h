/* given.h: code, and a trace under a configuration. A part of
 * peer_libipt.c. */
#ifndef PEER_GIVEN_H
#define PEER_GIVEN_H
#include "../dice.h"

/* ---- code ---- */

typedef struct region {
    uint64_t base;
    uint64_t size;
    const uint8_t *bytes; /* NULL: zeros */
} region;

typedef struct image {
    region list[256]; /* by base, without overlap */
    size_t count;
    size_t last; /* the one asked for last */
} image;

static const region *image_find(image *code, uint64_t ip)
{
    const region *r = &code->list[code->last];
    if (code->count && ip - r->base < r->size) return r;
    for (size_t i = 0; i < code->count; i++) {
        r = &code->list[i];
        if (ip - r->base < r->size) {
            code->last = i;
            return r;
        }
    }
    return NULL;
}

/* Copy what is mapped from ip on; returns how many bytes that are. */
static size_t image_read(image *code, uint8_t *buffer, size_t size, uint64_t ip)
{
    size_t done = 0;
    while (code && done < size) {
        const region *r = image_find(code, ip + done);
        uint64_t skip;
        size_t n;
        if (!r) break;
        skip = ip + done - r->base;
        n = size - done < r->size - skip ? size - done
                                         : (size_t) (r->size - skip);
        if (r->bytes) memcpy(buffer + done, r->bytes + skip, n);
        else memset(buffer + done, 0, n);
        done += n;
    }
    return done;
}

static int read_ours(uint8_t *buffer, size_t size, const ipt_asid *asid,
                     uint64_t ip, void *context)
{
    (void) asid;
    return (int) image_read(context, buffer, size, ip);
}

static int read_theirs(uint8_t *buffer, size_t size, const struct pt_asid *asid,
                       uint64_t ip, void *context)
{
    int n = (int) image_read(context, buffer, size, ip);
    (void) asid;
    return n ? n : -pte_nomap;
}

/* ---- a trace under a configuration ---- */

typedef struct run {
    char name[200];
    int part;
    uint8_t *bytes;
    size_t size;
    image *code; /* NULL: packets and queries only */
    ipt_config config;
    struct pt_config peer;
    ipt_segment piece;
    ipt_trace trace;
    unsigned bdm70 : 1; /* theirs knows of that erratum; ours always does */
    ipt_packet *packets; /* our view of it, for conditions; NONE: an error */
    size_t count;
    int failures;
    int wild; /* no processor made it: an error on one side ends it */
} run;

/* Processors with one of these have BDM70, too. */
#define BDM70_TOO (IPT_ERRATUM_BDM64 | IPT_ERRATUM_SKD022)

/* Errata about what follows an OVF. */
#define OVF_ERRATA \
    (IPT_ERRATUM_SKD010 | IPT_ERRATUM_APL11 | IPT_ERRATUM_APL12)

static void set_errata(struct pt_errata *to, uint32_t errata)
{
    memset(to, 0, sizeof *to);
    to->bdm64 = !!(errata & IPT_ERRATUM_BDM64);
    to->skd007 = !!(errata & IPT_ERRATUM_SKD007);
    to->skd022 = !!(errata & IPT_ERRATUM_SKD022);
    to->skd010 = !!(errata & IPT_ERRATUM_SKD010);
    to->skl014 = !!(errata & IPT_ERRATUM_SKL014);
    to->apl12 = !!(errata & IPT_ERRATUM_APL12);
    to->apl11 = !!(errata & IPT_ERRATUM_APL11);
    to->skl168 = !!(errata & IPT_ERRATUM_SKL168);
    to->skz84 = !!(errata & IPT_ERRATUM_SKZ84);
}

static void set_filter(struct pt_conf_addr_filter *to, const ipt_filter *from)
{
    to->config.addr_cfg = 0;
    for (int i = 0; i < IPT_FILTERS; i++)
        to->config.addr_cfg |= (uint64_t) from[i].kind << 4 * i;
    to->addr0_a = from[0].first;
    to->addr0_b = from[0].last;
    to->addr1_a = from[1].first;
    to->addr1_b = from[1].last;
    to->addr2_a = from[2].first;
    to->addr2_b = from[2].last;
    to->addr3_a = from[3].first;
    to->addr3_b = from[3].last;
}

/* libipt's configuration from ours. */
static void set_peer(run *r)
{
    struct pt_config *c = &r->peer;
    pt_config_init(c);
    c->begin = r->bytes;
    c->end = r->bytes + r->size;
    set_errata(&c->errata, r->config.errata);
    c->errata.bdm70 = r->bdm70;
    c->cpuid_0x15_eax = r->config.cpuid_15_eax;
    c->cpuid_0x15_ebx = r->config.cpuid_15_ebx;
    c->mtc_freq = r->config.mtc_freq;
    c->nom_freq = r->config.nom_freq;
    set_filter(&c->addr_filter, r->config.filter);
}

/* Decode the packets once, for conditions to look at. */
static void list_packets(run *r)
{
    ipt_pkt_decoder d;
    ipt_packet p;
    size_t room = 0;
    int status;
    r->count = 0;
    memset(&d, 0, sizeof d);
    ipt_pkt_init(&d, &r->config, &r->trace);
    status = ipt_pkt_sync_forward(&d);
    while (status >= 0) {
        status = ipt_pkt_next(&d, &p);
        if (r->count == room) {
            room = room * 2 + 64;
            r->packets = realloc(r->packets, room * sizeof *r->packets);
        }
        if (status < 0) {
            memset(&p, 0, sizeof p);
            p.offset = d.at.offset;
        }
        r->packets[r->count++] = p;
        if (status == IPT_ERR_OPCODE || status == IPT_ERR_PACKET)
            status = ipt_pkt_sync_forward(&d);
    }
}

static void run_begin(run *r, uint8_t *bytes, size_t size)
{
    r->bytes = bytes;
    r->size = size;
    r->piece.data = bytes;
    r->piece.size = size;
    memset(&r->trace, 0, sizeof r->trace);
    r->trace.seg = &r->piece;
    r->trace.count = 1;
    r->packets = NULL;
    r->failures = 0;
    r->config.read = read_ours;
    r->config.context = r->code;
    set_peer(r);
    list_packets(r);
    runs[r->part]++;
}

static void run_end(run *r)
{
    free(r->packets);
    r->packets = NULL;
}

/* The index of the first packet at or after an offset. */
static size_t packet_at(const run *r, uint64_t offset)
{
    size_t low = 0;
    size_t high = r->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (r->packets[middle].offset < offset) low = middle + 1;
        else high = middle;
    }
    return low;
}

static unsigned long long ull(uint64_t value)
{
    return value;
}

/* Where a trace that shows an unexplained difference can be kept. */
static void save(const run *r)
{
    static int number;
    const char *dir = getenv("PEER_SAVE");
    char path[700];
    FILE *f;
    if (!dir || number > 200) return;
    snprintf(path, sizeof path, "%s/%03d.pt", dir, number++);
    f = fopen(path, "wb");
    if (!f) return;
    fwrite(r->bytes, 1, r->size, f);
    fclose(f);
    printf("    saved as %s\n", path);
}

/* A difference that nothing explains. */
static int unexplained(run *r, const char *layer, uint64_t offset,
                       const char *format, ...)
{
    char text[300];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    if (r->failures++ == 0 && test_fail_("peer", 0, layer)) {
        printf("    %s, errata 0x%x%s, time %u/%u %u %u, at 0x%llx: %s\n",
               r->name, (unsigned) r->config.errata, r->bdm70 ? " bdm70" : "",
               (unsigned) r->config.cpuid_15_eax,
               (unsigned) r->config.cpuid_15_ebx, r->config.mtc_freq,
               r->config.nom_freq, ull(offset), text);
        save(r);
    }
    return 0;
}

/* A difference that is explained. */
static int allow(const run *r, int id)
{
    seen[id][r->part]++;
    return 1;
}

/* For theirs the trace ends in a PSB, for ours that PSB is broken. */
static int psb_cut(const run *r, uint64_t at, int ours, int theirs)
{
    return ours == IPT_ERR_PACKET && theirs == -pte_eos && r->size - at > 1
           && r->size - at < 16 && r->bytes[at] == 0x02
           && r->bytes[at + 1] == 0x82;
}

/* --other: the library does not have the faults of Debian's, and passes by what
 * its interface has no name for. */
static int is_other;

/* Do both errors say the same? */
static int same_error(int ours, int theirs)
{
    switch (ours) {
    case IPT_END:
    case IPT_ERR_TRUNCATED: return theirs == -pte_eos;
    case IPT_ERR_OPCODE: return theirs == -pte_bad_opc;
    case IPT_ERR_PACKET: return theirs == -pte_bad_packet;
    case IPT_ERR_CONTEXT: return theirs == -pte_bad_context;
    case IPT_ERR_NO_IP:
        return theirs == -pte_noip || theirs == -pte_ip_suppressed
               || theirs == -pte_bad_packet;
    case IPT_ERR_STATUS: return theirs == -pte_bad_status_update;
    case IPT_ERR_EVENTS: return theirs == -pte_nomem;
    case IPT_ERR_QUERY:
    case IPT_ERR_MISMATCH: return theirs == -pte_bad_query;
    case IPT_ERR_RETURN:
    case IPT_ERR_RETURN_LOST: return theirs == -pte_retstack_empty;
    case IPT_ERR_LOOP: return is_other && theirs == -pte_bad_query;
    case IPT_ERR_RETCOMP: return theirs == -pte_bad_retcomp;
    case IPT_ERR_BAD_INSN: return theirs == -pte_bad_insn;
    case IPT_NEED_PAGE: return theirs == -pte_nomap;
    case IPT_ERR_NOSYNC: return theirs == -pte_nosync;
    default: return 0;
    }
}

#endif /* PEER_GIVEN_H */
