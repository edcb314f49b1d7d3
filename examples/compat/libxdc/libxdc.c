/* libxdc.c: see libxdc.h. Bitmap and new blocks come from ipt's [cov], edges of
 * trace mode from [blk], IPs from [pkt].
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#define IPT_IMPLEMENTATION
#define IPT_STATIC
#include "ipt.h"
#include "libxdc.h"
#include <stdlib.h>
#include <string.h>
#ifdef _WIN32
#include <malloc.h>
#endif

#define PAGE 4096u
#define RANGES 4
#define CODE_LINES 16384 /* 1 MiB */
#define LEVELS 4 /* of the tables' sizes, each four times the one before */
#define MEMO_LINES 1024 /* 64 KiB, 4 MiB: more would not fit the TLB */
#define BLOCKS_SEEN 1024 /* 16 KiB, 1 MiB; more blocks are only slower */
#define LONG_TRACE 4096 /* for the least tables; four times for the next */
#define BLOCK_MAX 65536u /* instructions */
#define NOWHERE UINT64_MAX
#define MURMUR_SEED 0xaaaaaaaau

#if LIBXDC_API_VERSION == 2
#define WITH_MODE(mode) mode_of(mode),
#else
#define WITH_MODE(mode)
#endif

/* Where blocks begin that the callback got. */
typedef struct known {
    uint64_t *starts;   /* as key() makes them; 0: free */
    size_t places;      /* 0 or a power of two */
    size_t count;
} known;

struct libxdc_s {
    ipt_cache_line code_lines[CODE_LINES]; /* each is one of the processor's */
    void *tables;   /* lines of the memo, and marks */
    unsigned level; /* of their size */
    uint8_t *wide;  /* counters where the size is not a power of two */

    void *(*fetch)(void *, uint64_t, bool *);
    void *fetch_opaque;
    libxdc_pair_f bb;
    void *bb_opaque;
    libxdc_pair_f edge;
    void *edge_opaque;
    libxdc_ip_f ip;
    void *ip_opaque;

    uint8_t *bitmap;
    size_t size;
    uint64_t fault;   /* the page */
    uint64_t last_ip; /* in trace mode: of the last packet */
    uint8_t tracing;
    uint8_t reset; /* of the cache, at the next decode */
    known blocks;

    ipt_segment piece;
    ipt_trace trace;
    ipt_config config;
    ipt_config edges; /* config, for trace mode */
    ipt_filter filter[IPT_FILTERS];
    uint8_t filters; /* that are used */
    ipt_cov_config cov;
    ipt_cache cache;
    ipt_cov_memo memo;
    ipt_cov_seen seen;
    ipt_cov_decoder decoder;
    ipt_blk_decoder walk;
};

/* ---- code ---- */

/* ipt asks for bytes of one page at a time. */
static int read_page(uint8_t *buffer, size_t size, const ipt_asid *asid,
                     uint64_t ip, void *context)
{
    const libxdc_t *self = (const libxdc_t *) context;
    const size_t at = (size_t) (ip % PAGE);
    bool ok = false;
    const uint8_t *page = (uint8_t *) self->fetch(self->fetch_opaque, ip, &ok);

    (void) asid;
    if (!ok || !page || (uintptr_t) page == UINTPTR_MAX)
        return IPT_NEED_PAGE;
    size = size < PAGE - at ? size : PAGE - at;
    memcpy(buffer, page + at, size);
    return (int) size;
}

/* fetch knows no address spaces. */
static uint64_t one_space(const ipt_asid *asid, void *context)
{
    (void) asid;
    (void) context;
    return 0;
}

/* Does flow not just go on after it, and does tracing know? */
static int is_branch(uint8_t kind)
{
    switch (kind) {
    case IPT_INSN_OTHER:
    case IPT_INSN_XBEGIN:
    case IPT_INSN_PTWRITE:
    case IPT_INSN_MOV_CR3:
    case IPT_INSN_VMPTRLD: return 0;
    default: return 1;
    }
}

static int classify_at(ipt_code *code, libxdc_t *self, uint64_t ip,
                       uint8_t mode)
{
    static const ipt_asid any = {IPT_ASID_UNKNOWN, IPT_ASID_UNKNOWN, 0};
    uint8_t bytes[15];
    const size_t left = PAGE - (size_t) (ip % PAGE);
    const size_t first = left < sizeof(bytes) ? left : sizeof(bytes);
    int n = read_page(bytes, first, &any, ip, self);
    int status;

    if (n <= 0)
        return IPT_NEED_PAGE;
    status = ipt_classify(code, bytes, first, mode, NULL);
    if (status != IPT_MORE || first == sizeof(bytes))
        return status;
    n = read_page(bytes + first, sizeof(bytes) - first, &any, ip + first, self);
    return n <= 0 ? IPT_NEED_PAGE
                  : ipt_classify(code, bytes, sizeof(bytes), mode, NULL);
}

/* Where the block that begins at ip has its branch; or the last instruction
 * whose code is there. */
static uint64_t branch_of(libxdc_t *self, uint64_t ip, uint8_t mode)
{
    ipt_code code;
    uint64_t last = ip;
    unsigned i;

    for (i = 0; i < BLOCK_MAX; i++) {
        if (classify_at(&code, self, ip, mode) < 0)
            break;
        last = ip;
        if (is_branch(code.kind))
            break;
        ip += code.size;
    }
    return last;
}

/* Where the direct branch at ip goes. */
static uint64_t target_of(libxdc_t *self, uint64_t ip, uint8_t mode)
{
    ipt_code code;

    if (classify_at(&code, self, ip, mode) < 0)
        return ip;
    ip += code.size + (uint64_t) code.displacement;
    return code.ip16             ? ip & UINT16_MAX
           : mode == IPT_MODE_64 ? ip
                                 : ip & UINT32_MAX;
}

/* ---- callbacks ---- */

#if LIBXDC_API_VERSION == 2
static disassembler_mode_t mode_of(uint8_t mode)
{
    return mode == IPT_MODE_16   ? mode_16
           : mode == IPT_MODE_32 ? mode_32
                                 : mode_64;
}
#endif

static size_t place_of(const known *k, uint64_t key)
{
    size_t i = (size_t) (key * 0x9e3779b97f4a7c15u >> 32) & (k->places - 1);

    while (k->starts[i] && k->starts[i] != key)
        i = (i + 1) & (k->places - 1);
    return i;
}

static int grow(known *k)
{
    known more = {NULL, k->places ? 2 * k->places : 1024, k->count};
    size_t i;

    more.starts = (uint64_t *) calloc(more.places, sizeof(*more.starts));
    if (!more.starts)
        return 0;
    for (i = 0; i < k->places; i++)
        if (k->starts[i])
            more.starts[place_of(&more, k->starts[i])] = k->starts[i];
    free(k->starts);
    *k = more;
    return 1;
}

/* Is it new? Without memory for it, it will be new again. */
static int add_known(known *k, uint64_t key)
{
    size_t i;

    if (2 * k->count >= k->places && !grow(k) && k->count + 1 >= k->places)
        return !k->places || !k->starts[place_of(k, key)];
    i = place_of(k, key);
    if (k->starts[i])
        return 0;
    k->starts[i] = key;
    k->count++;
    return 1;
}

/* Never 0; of an address the bits above 57 are equal. */
static uint64_t key(uint64_t ip, uint8_t mode)
{
    return ip << 2 | mode;
}

static int in_filter(const libxdc_t *self, uint64_t ip)
{
    int in = !self->filters;
    unsigned i;

    for (i = 0; i < RANGES; i++)
        in |= self->filter[i].kind == IPT_FILTER_TRACE
              && self->filter[i].first <= ip && ip <= self->filter[i].last;
    return in;
}

static void on_block(uint64_t ip, uint32_t size, uint8_t mode, void *context)
{
    libxdc_t *self = (libxdc_t *) context;

    (void) size; /* an event may have cut it, and it is new again if not */
    if (self->bb && in_filter(self, ip)
        && add_known(&self->blocks, key(ip, mode)))
        self->bb(self->bb_opaque, WITH_MODE(mode) ip,
                 branch_of(self, ip, mode));
}

static void on_edge(const libxdc_t *self, uint8_t mode, uint64_t from,
                    uint64_t to)
{
    (void) mode;
    if (self->edge)
        self->edge(self->edge_opaque, WITH_MODE(mode) from, to);
}

/* ---- decoding ---- */

static decoder_result_t result_of(libxdc_t *self, const ipt_where *at,
                                  int status, int is_lossy)
{
    switch (status) {
    case IPT_END:
    case IPT_ERR_TRUNCATED:
        return is_lossy ? decoder_success_pt_overflow : decoder_success;
    case IPT_NEED_PAGE:
        self->fault = at->missing & ~(uint64_t) (PAGE - 1);
        return decoder_page_fault;
    case IPT_ERR_OPCODE: return decoder_unkown_packet;
    default: return decoder_error;
    }
}

/* The IPs of packets, up to one that is not known. */
static void tell_ips(const libxdc_t *self)
{
    ipt_pkt_decoder d;
    ipt_packet packet;
    uint64_t last_ip = 0;
    uint8_t mode = self->config.mode;
    int status = ipt_pkt_init(&d, &self->config, &self->trace);

    if (status >= 0)
        status = ipt_pkt_sync_forward(&d);
    while (status >= 0 && (status = ipt_pkt_next(&d, &packet)) >= 0) {
        if (packet.type == IPT_PKT_MODE_EXEC)
            mode = packet.u.exec.csl   ? IPT_MODE_64
                   : packet.u.exec.csd ? IPT_MODE_32
                                       : IPT_MODE_16;
        if (ipt_pkt_last_ip(&last_ip, &packet) > 0 && self->ip)
            self->ip(self->ip_opaque, WITH_MODE(mode) last_ip);
    }
    (void) mode;
}

/* libxdc masks with the size less 1, also where that is not a power of two. */
static void fold(libxdc_t *self)
{
    const size_t mask = self->size - 1;
    size_t i;

    for (i = 0; self->wide && i < self->cov.bitmap_size; i++) {
        self->bitmap[i & mask]
            = (uint8_t) (self->bitmap[i & mask] + self->wide[i]);
        self->wide[i] = 0;
    }
}

/* Where flow never needs trace, libxdc goes on as if nothing had happened. */
static decoder_result_t cover(libxdc_t *self)
{
    ipt_cov_decoder *d = &self->decoder;
    int status;

    self->cov.bitmap = self->tracing ? NULL
                       : self->wide  ? self->wide
                                     : self->bitmap;
    self->cov.block = self->bb ? on_block : NULL;
    self->cov.seen = self->bb ? &self->seen : NULL;
    status = ipt_cov_begin(d, &self->trace);
    while (status >= 0 && (status = ipt_cov_run(d)) == IPT_ERR_LOOP)
        status = ipt_cov_resync(d);
    fold(self);
    return result_of(self, &d->at, status,
                     (d->verdict & IPT_COV_OVERFLOW) != 0);
}

/* A branch in trace mode, while it is not known where it went. */
typedef struct branch {
    uint64_t from;
    uint64_t to;
    uint8_t mode;
    uint8_t waits; /* there is one */
} branch;

static void tell_branch(const libxdc_t *self, branch *b)
{
    if (b->waits && in_filter(self, b->from))
        on_edge(self, b->mode, b->from, b->to);
    b->waits = 0;
}

/* Is it a packet of TNT bits? */
static int is_tnt(const ipt_segment *s, uint64_t offset)
{
    const uint8_t first = offset < s->size ? s->data[offset] : 0;

    if (first == 2)
        return offset + 1 < s->size && s->data[offset + 1] == 0xa3;
    return first != 0 && first % 2 == 0;
}

/* A conditional branch that ends tracing needs no bit; libxdc gives only those
 * that have one. */
static void take_block(libxdc_t *self, const ipt_block *block, int status,
                       branch *b)
{
    const int is_direct
        = block->kind == IPT_INSN_JMP || block->kind == IPT_INSN_CALL;

    b->from = block->end_ip;
    b->to = self->walk.at.ip;
    b->mode = block->mode;
    b->waits = (uint8_t) is_branch(block->kind);
    if (block->kind == IPT_INSN_JCC)
        b->waits = (uint8_t) is_tnt(&self->piece, block->offset);
    else if (is_direct && status & IPT_IP_SUPPRESSED)
        b->to = target_of(self, b->from, b->mode);
    else if (is_direct || !b->waits)
        return;
    else if (status & IPT_IP_SUPPRESSED)
        b->to = self->last_ip;
    else
        self->last_ip = b->to; /* of a TIP */
}

static void take_event(libxdc_t *self, const ipt_event *e, branch *b)
{
    const int is_told = !(e->flags & IPT_EVENT_STATUS);
    const int has_to = !(e->flags & IPT_EVENT_NO_TO);
    const int has_ip = !(e->flags & IPT_EVENT_NO_IP);

    switch (e->type) {
    case IPT_EVT_ASYNC_BRANCH:
    case IPT_EVT_ASYNC_DISABLED:
        b->to = e->ip;
        self->last_ip = has_to ? e->u.branch.to : e->ip;
        break;
    case IPT_EVT_DISABLED:
        if (is_told && has_to)
            b->to = self->last_ip = e->u.branch.to;
        break;
    case IPT_EVT_OVERFLOW:
        b->waits = 0; /* where it led is lost */
        if (has_ip)
            self->last_ip = e->ip;
        break;
    case IPT_EVT_ENABLED:
    case IPT_EVT_TSX:
        if (has_ip)
            self->last_ip = e->ip;
        break;
    default: return;
    }
    tell_branch(self, b);
    if (is_told && e->type == IPT_EVT_ENABLED)
        on_edge(self, self->walk.at.mode, NOWHERE, self->last_ip);
    if (is_told && (e->type == IPT_EVT_DISABLED
                    || e->type == IPT_EVT_ASYNC_DISABLED))
        on_edge(self, self->walk.at.mode, self->last_ip, NOWHERE);
}

static decoder_result_t trace_edges(libxdc_t *self)
{
    ipt_blk_decoder *d = &self->walk;
    ipt_block block;
    ipt_event event;
    branch b = {0, 0, 0, 0};
    int status;

    memset(&event, 0, sizeof(event));
    status = ipt_blk_init(d, &self->edges, &self->trace, &self->cache);

    self->last_ip = 0;
    if (status >= 0)
        status = ipt_blk_sync_forward(d);
    while (status >= 0 || status == IPT_EVENT_FIRST || status == IPT_ERR_LOOP) {
        while (status == IPT_EVENT_FIRST
               || (status >= 0 && status & IPT_EVENT_PENDING)) {
            status = ipt_blk_event(d, &event);
            if (status >= 0)
                take_event(self, &event, &b);
        }
        tell_branch(self, &b);
        if (status == IPT_ERR_LOOP) {
            status = ipt_blk_resync(d);
            continue;
        }
        status = ipt_blk_next(d, &block);
        if (status >= 0)
            take_block(self, &block, status, &b);
    }
    return result_of(self, &d->at, status, d->at.overflows != 0);
}

/* Memory at a multiple of a number; NULL: there is none. */
static void *take_aligned(size_t align, size_t size)
{
#ifdef _WIN32
    return _aligned_malloc(size, align);
#else
    void *memory = NULL;

    return posix_memalign(&memory, align, size) ? NULL : memory;
#endif
}

static void give_aligned(void *memory)
{
#ifdef _WIN32
    _aligned_free(memory);
#else
    free(memory);
#endif
}

static size_t scaled(size_t least, unsigned level)
{
    return least << 2 * level;
}

/* Tables of a size, empty. 0: there is no memory for them. */
static int make_tables(libxdc_t *self, unsigned level)
{
    const size_t lines = scaled(MEMO_LINES, level);
    const size_t marks = scaled(BLOCKS_SEEN, level);
    const size_t size
        = lines * sizeof(ipt_cov_line) + marks * sizeof(ipt_cov_mark);
    void *memory = take_aligned(sizeof(ipt_cov_line), size);
    ipt_cov_line *memo_lines = (ipt_cov_line *) memory;

    if (!memory)
        return 0;
    give_aligned(self->tables);
    self->tables = memory;
    self->level = level;
    return ipt_cov_memo_init(&self->memo, memo_lines, lines) >= 0
           && ipt_cov_seen_init(&self->seen,
                                (ipt_cov_mark *) (memo_lines + lines), marks)
                  >= 0
           && ipt_cov_init(&self->decoder, &self->config, &self->cov,
                           &self->trace, &self->cache)
                  >= 0;
}

/* Larger tables for a long trace, and where they have been too small. What they
 * knew is learnt once more. */
static void grow_tables(libxdc_t *self, size_t len)
{
    unsigned level = self->level;

    if (level + 1 < LEVELS && (self->memo.lost || self->seen.lost))
        level++;
    while (level + 1 < LEVELS && len > scaled(LONG_TRACE, level))
        level++;
    if (level != self->level)
        (void) make_tables(self, level);
}

decoder_result_t libxdc_decode(libxdc_t *self, uint8_t *data, size_t len)
{
    decoder_result_t result = decoder_success;

    if (!self || (!data && len))
        return decoder_error;
    self->piece.data = data;
    self->piece.size = len;
    grow_tables(self, len);
    if (self->reset) {
        self->reset = 0;
        (void) ipt_cov_invalidate(&self->decoder, NULL, 0, 0);
    }
    if (self->ip)
        tell_ips(self);
    if (!self->tracing || self->bb)
        result = cover(self);
    return self->tracing ? trace_edges(self) : result;
}

/* ---- the rest ---- */

static void set_filter(libxdc_t *self, uint64_t filter[RANGES][2])
{
    unsigned i;

    for (i = 0; i < RANGES; i++) {
        if (filter[i][0] >= filter[i][1])
            continue;
        self->filter[i].kind = IPT_FILTER_TRACE;
        self->filter[i].first = filter[i][0];
        self->filter[i].last = filter[i][1] - 1;
        self->filters++;
    }
}

static int set_up(libxdc_t *self)
{
    self->trace.seg = &self->piece;
    self->trace.count = 1;
    self->config.context = self;
    self->config.read = read_page;
    self->config.space = one_space;
    self->config.flags = IPT_CONFIG_NO_RETCOMP;
    self->config.mode = IPT_MODE_64;
    self->edges = self->config;
    self->edges.flags |= IPT_CONFIG_END_ON_CALL | IPT_CONFIG_END_ON_JUMP;
    self->cov.context = self;
    self->cov.bitmap_size = 1;
    while (self->cov.bitmap_size < self->size)
        self->cov.bitmap_size *= 2;
    if (self->cov.bitmap_size != self->size) {
        self->wide = (uint8_t *) calloc(self->cov.bitmap_size, 1);
        if (!self->wide)
            return 0;
    }
    self->cov.filter = self->filters ? self->filter : NULL;
    self->cov.memo = &self->memo;
    return ipt_cache_init(&self->cache, self->code_lines, CODE_LINES) >= 0
           && make_tables(self, 0);
}

libxdc_t *libxdc_init(uint64_t filter[4][2],
                      void *(*fetch)(void *, uint64_t, bool *),
                      void *fetch_opaque, void *bitmap, size_t size)
{
    void *memory;
    libxdc_t *self;

    if (!filter || !fetch || !bitmap || !size || size > (size_t) 1 << 31)
        return NULL;
    memory = take_aligned(sizeof(ipt_cache_line), sizeof(*self));
    if (!memory)
        return NULL;
    self = (libxdc_t *) memory; /* ipt_cache_init clears the lines */
    memset((uint8_t *) memory + sizeof(self->code_lines), 0,
           sizeof(*self) - sizeof(self->code_lines));
    self->fetch = fetch;
    self->fetch_opaque = fetch_opaque;
    self->bitmap = (uint8_t *) bitmap;
    self->size = size;
    set_filter(self, filter);
    if (!set_up(self)) {
        libxdc_free(self);
        return NULL;
    }
    libxdc_bitmap_reset(self);
    return self;
}

void libxdc_free(libxdc_t *self)
{
    if (!self)
        return;
    free(self->blocks.starts);
    give_aligned(self->tables);
    free(self->wide);
    give_aligned(self);
}

void libxdc_register_bb_callback(libxdc_t *self, libxdc_pair_f bb, void *opaque)
{
    if (!self)
        return;
    self->bb = bb;
    self->bb_opaque = opaque;
}

void libxdc_register_edge_callback(libxdc_t *self, libxdc_pair_f edge,
                                   void *opaque)
{
    if (!self)
        return;
    self->edge = edge;
    self->edge_opaque = opaque;
}

void libxdc_register_ip_callback(libxdc_t *self, libxdc_ip_f ip, void *opaque)
{
    if (!self)
        return;
    self->ip = ip;
    self->ip_opaque = opaque;
}

void libxdc_enable_tracing(libxdc_t *self)
{
    if (self)
        self->tracing = 1;
}

void libxdc_disable_tracing(libxdc_t *self)
{
    if (self)
        self->tracing = 0;
}

void libxdc_reset_trace_cache(libxdc_t *self)
{
    if (self)
        self->reset = 1;
}

uint64_t libxdc_get_page_fault_addr(libxdc_t *self)
{
    return self ? self->fault : 0;
}

void libxdc_bitmap_reset(libxdc_t *self)
{
    if (self)
        memset(self->bitmap, 0, self->size);
}

/* ---- MurmurHash3, x64, 128 bits ---- */

static uint64_t rotate(uint64_t v, unsigned n)
{
    return v << n | v >> (64 - n);
}

static uint64_t finish(uint64_t v)
{
    v = (v ^ v >> 33) * 0xff51afd7ed558ccdu;
    v = (v ^ v >> 33) * 0xc4ceb9fe1a85ec53u;
    return v ^ v >> 33;
}

static uint64_t mix_a(uint64_t v)
{
    return rotate(v * 0x87c37b91114253d5u, 31) * 0x4cf5ad432745937fu;
}

static uint64_t mix_b(uint64_t v)
{
    return rotate(v * 0x4cf5ad432745937fu, 33) * 0x87c37b91114253d5u;
}

/* Eight bytes, the low ones first; what is past the end is 0. */
static uint64_t word(const uint8_t *bytes, size_t left)
{
    uint64_t v = 0;
    size_t i;

    for (i = 0; i < 8 && i < left; i++)
        v |= (uint64_t) bytes[i] << 8 * i;
    return v;
}

uint64_t libxdc_bitmap_get_hash(libxdc_t *self)
{
    const uint8_t *map = self ? self->bitmap : NULL;
    uint64_t a = MURMUR_SEED;
    uint64_t b = MURMUR_SEED;
    size_t i;

    if (!self)
        return 0;
    for (i = 0; i + 16 <= self->size; i += 16) {
        a = rotate(a ^ mix_a(word(map + i, 8)), 27) + b;
        a = a * 5 + 0x52dce729;
        b = rotate(b ^ mix_b(word(map + i + 8, 8)), 31) + a;
        b = b * 5 + 0x38495ab5;
    }
    if (self->size - i > 8)
        b ^= mix_b(word(map + i + 8, self->size - i - 8));
    a ^= mix_a(word(map + i, self->size - i));
    a ^= self->size;
    b ^= self->size;
    a += b;
    b += a;
    a = finish(a);
    b = finish(b);
    return a + b;
}

uint16_t libxdc_get_release_version(void)
{
    return LIBXDC_API_VERSION << 8;
}
