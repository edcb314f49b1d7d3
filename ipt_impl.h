/* ipt_impl.h - the bodies of what ipt.h declares.
 *
 * SPDX-License-Identifier: MIT
 *
 * Included by ipt.h under IPT_IMPLEMENTATION. Each section uses only what
 * stands above it; what is private begins with ipti_ or IPTI_.
 *
 *   [base]      macros, loads, fuel, the cursor over trace, stack of calls
 *   [pkt]       bytes to one packet, and back
 *   [sync]      PSB forward, backward, at an offset
 *   [time]      timing packets to time and core:bus ratio
 *   [evt]       packets to events
 *   [qry]       what a walker of its own needs: branches, events, time
 *   [classify]  code bytes to instruction length, kind, displacement
 *   [cache]     read callback, decoded code, address spaces
 *   [bind]      where an event binds
 *   [walk]      the walk over the code that executed
 *   [blk]       blocks in execution order
 *   [insn]      instructions in execution order
 *   [cov]       trace straight to coverage
 *   [hot]       hot traces, made of blocks
 *   [gen]       executed branches to a trace
 *   [hw]        registers of the processor that traced
 *   [strings]   names and texts
 *
 * HOW A BYTE BECOMES AN INSTRUCTION
 *
 *   segments -> cursor -> packet -> event -> next -> run -> block, instruction
 *              [base]    [pkt]     [evt]   [walk]   [cache]   [blk]   [insn]
 *
 *   The cursor finds 16 bytes at a stream offset, in whatever piece they lie.
 *   [pkt] makes one packet of them. [evt] puts packets together: a FUP and a
 *   TIP are one interrupt, a PSB+ is the state that it repeats. What needs no
 *   other packet, TNT and TIP, is an event as it is. [walk] puts what comes
 *   next into `next`: TNT bits, a target, or an event, for which [bind] works
 *   out once where it happened. It gets the run of code at flow's ip from
 *   [cache], which reads it through config.read and classifies it once, and
 *   goes through the run up to where the event binds, or to the branch at its
 *   end, which takes a bit or the target. [blk] and [insn] hand out what was
 *   passed, [cov] counts the edges. What proves an instruction is used up with
 *   it, so that a call that stops for trace, fuel or a page goes on where it
 *   stopped: all state is in the decoder, none on the stack.
 *
 * WORDS
 *
 *   piece      a segment of ipt_trace; a gap is one without bytes
 *   window     bytes that lie together: 16 of trace, or those of code that one
 *              config.read gave
 *   quick      up to this offset the next packet needs no look at pieces, fuel
 *              and the like
 *   phase      [evt]: what the packets before make of those that come
 *   record     [evt]: an event that waits for a packet to complete it
 *   bind       [evt]: which packet completes a record. [bind] and below: at
 *              which instruction an event happens
 *   run        instructions one after another in memory of which the last may
 *              branch; one line of the cache holds one run
 *   span       instructions of a run that flow passed, as a view gets them
 *   space      a number for the code that an address space sees
 *   flow       the instructions that executed, in order
 *   taken      what an instruction has caused already, so that a second event
 *              of the sort is of a later one
 *   hidden     flow in an address space that config.flags do not want
 *   settled    it is known what comes after the instruction in progress
 *   note       a PTW that no PTWRITE caused: somebody wrote it into the trace
 *   calm       nothing is to be looked at but flow: no event, time or mark is
 *              there, and only bits and a target are fetched
 *   plain      without anything particular; what that is, each place says
 *   leap       flow passes a run as a whole
 *   seam       a PSB+ after which nothing from before it waits for a packet
 *   leg, line  see [cov]
 *
 * WHY IT IS SO
 *
 *   One event machine, one walk; the rest are views of them. Two decoders of
 *   one thing disagree sooner or later.
 *   Nothing is looked up ahead. Where a later packet decides what an earlier
 *   one means, records wait: the trace may come byte by byte.
 *   Across calls only stream offsets are kept, no pointers into trace, and the
 *   caller may move its pieces. [cov] has pointers within a call.
 *   An event is bound once, when it is fetched. Only errata that look at code
 *   bind it again, because they alone know the processor's mistake.
 *   Struct layouts, tables and jump tables need no relocation and no .data, so
 *   that the code runs where no loader was.
 *   A part of the walk is written by few functions, listed in the banner of
 *   [walk]: to know why a field has a value, read those.
 *
 * FAST WAYS
 *
 *   Each does what a slower way does, too, and may be deleted. What it saves
 *   was measured with callgrind on two traces of real programs (the larger one
 *   first): instructions without it, as a multiple of those with it.
 *
 *   ipti_pkt_quick                   packets of the common kinds    1.9   2.4
 *   ipti_pkt_plain                   packets, a trace of MNT        2.0
 *   ipti_evt_quick, _plain, _flow    events without the queue       2.6   4.0
 *   ipti_evt_brief, _short, ...      ... of a FUP and its TIP       2.4
 *   ipti_pkt_clock, ipti_evt_clock   events, a trace of MTC and CYC 2.8
 *   ipti_walk_short, _leaps, _leap,
 *     ipti_span_more                 blocks by whole runs           3.4   2.8
 *   ipti_walk_plain, ipti_span_cond  ... that end with a JCC        1.4   1.2
 *   ipti_walk_joined                 ... two, a JMP between (noise) 1.4
 *   ipti_walk_step, _branch, _turn,
 *     _enter                         instructions in a run          3.7   4.1
 *   ipti_cache_follow; line.next_    blocks by links between runs   1.5   1.2
 *   ipti_x86_plain, ipti_run_plain   coverage while code is cold    1.1   1.1
 *   ipti_cov_dash, _look             coverage while the memo holds  2.0   2.3
 *   ipti_cov_noise                   coverage of branches at random 1.7
 *   ipti_cov_psb, _state, _off, ...  coverage with PSBs, and while
 *                                    tracing is disabled            3.9   1.2
 *
 *   [cov] reads a PSB+ of its own for that reason: through [evt] each of its
 *   packets is a record in the queue, which keeps their order and place.
 *
 * TO ADD SOMETHING
 *
 *   In this order; most places are one case of a switch or one row of a list.
 *   Tools are in examples/tools/, compat/ is in examples/, all else without a
 *   folder in tests/. check/layers.sh has a budget of lines for each section,
 *   to be raised by what is added, and allows 80 lines a function, except for
 *   those in LONG.
 *
 *   A packet   If it makes an event, add that first. ipt.h: IPT_PKT_, of which
 *              there can be 64 with NONE, before UNKNOWN, and, if it has
 *              fields, its member of u. [pkt]: a row of IPTI_FORMS (its bytes
 *              and size), if it has one size, else a case of ipt_pkt_encode; a
 *              case of ipti_fields with a drawing of them; ipti_shape, if its
 *              first byte is not 02, or IPTI_EXTS_1, if its second byte has a
 *              field, or ipti_ext, if that is not xxxx001x; ipti_pkt_plain, if
 *              it changes the cursor; ipti_pkt_block, if it may stand in a
 *              block of PEBS items; IPTI_PKT_NEUTRAL, if it may come anywhere
 *              and ends no phase. [time]: IPTI_PKT_HEADER, if a PSB+ may have
 *              it. [evt]: a case of ipti_evt_rest, or of ipti_evt_dispatch if
 *              it takes more than a record; ipti_evt_skd010, if it may come
 *              between an OVF and its IP; ipti_evt_short, if it is common: what
 *              that does not take, the queue does, and where it takes a packet,
 *              both do the same. [strings]: a row of IPTI_PACKETS.
 *              ptdump.c (opcode() goes by position), pttc.c,
 *              compat/libipt/packet.c (NAMELESS, if libipt has it not). [cov]
 *              needs nothing: what it does not know, the walk decodes. Tests:
 *              pkt.c (a golden row, describe, fields, begins_ext), strings.c,
 *              a macro in build.h, a sample at the end of samples.h's.
 *   An event   ipt.h: IPT_EVT_, of which there can be 31 with NONE, before STOP
 *              if a block ends at it (fuzz/fuzz.h: FUZZ_ENDS), else at the end,
 *              and its member of u. [evt]: the packet's case pushes a record,
 *              by ipti_evt_aside if it needs no IP, by ipti_evt_take if a FUP
 *              may follow, and fills the record's event.u. A FUP or TIP that
 *              completes it may come by ipti_evt_short_fup or _tip, too.
 *              ipti_evt_lost_place, if an instruction causes it. [bind]:
 *              ipti_bind_event, if an instruction causes it; any other event
 *              without an IP is before the next instruction. If an
 *              instruction causes one event of the sort at most, the sort has a
 *              bit in IPTI_TAKEN_, which IPTI_TAKEN_ALL has, too. [walk]:
 *              ipti_event_inside, if it is about code only: while flow is
 *              hidden it is not given; ipti_walk_apply, if it changes flow, and
 *              ipti_resync_event, if it does so without an IP. [gen], if it is
 *              to be written: ipti_gen_data, ipti_gen_check, ipti_gen_apply,
 *              the lists in ipt.h. [strings]: a row of IPTI_EVENTS. ptxed.c,
 *              has_place in perf/pevent.c, if it has an IP;
 *              compat/libipt/config.c, if libipt has it. Tests: evt.c
 *              (payload_of, a row), bind.c, flow.h (event_word, a row for
 *              insn.c and blk.c), strings.c, gen.c.
 *   A kind of  ipt.h: IPT_INSN_, of which there can be 32. [classify]:
 *   instruc-   ipti_x86_kind0, ipti_x86_kind1 or ipti_x86_group7, and KEY in
 *   tion       the map of its opcode. [bind]: the sets IPTI_KINDS_ that it is
 *              in. [walk]: ipti_walk_other. [gen], [strings], zydis_glue.
 *              Tests: tests/classify.c, insn.c.
 *   An erratum ipt.h: IPT_ERRATUM_, IPT_ERRATUM_ALL_. [base]: ipti_cpus. One
 *              function applies it, in the section that sees what is wrong:
 *              bytes in [pkt] (ipti_pkt_skd007), clocks in [time], packets
 *              that are missing or too many in [evt] (ipti_evt_bogus for those
 *              after an OVF, else ipti_evt_dispatch), wrong places of flow in
 *              [walk] (ipti_walk_bdm64). If packets of a PSB+ are concerned,
 *              [cov], which reads them in ipti_cov_state, too.
 *              compat/libipt/config.c. Tests: one with the flag, one without.
 *   A way to   [cache]: ipti_cache_put, which puts a new run in the place of
 *   replace    another. A run takes the first empty line of its group, because
 *              ipti_cache_find stops at an empty one. Give a run that goes to
 *              ipti_cache_lose, or an invalidation misses it. Lines that are
 *              names have no space in key_: they stay. Lines of bytes have no
 *              mode in key_: they may go as runs do. ipti_name_put and
 *              ipti_bytes_line take the place of runs, too. A run is used where
 *              ipti_cache_find and ipti_cache_follow return it; a mark of that
 *              needs a bit, and no field of a line has one that is not read.
 *              [cov]: ipti_memo_insert may put a result into any line of a set
 *              but a name (ipti_memo_name), and has to keep noise_. Nothing of
 *              it changes what is decoded: make hashes. Tests: tests/cache.c,
 *              cov.c, proof/cache.c.
 */

#ifndef IPT_IMPL_H
#define IPT_IMPL_H

#include "ipt.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ==========================================================================
 * [base]  macros, loads, fuel, the cursor over trace, the stack of calls
 * Uses: nothing.  State: ipt_cursor_, ipt_calls_.
 * ========================================================================== */

/* IPTI_COPY(to, from): *to = *from. For a large struct compilers call memcpy.
 * If the user defines IPT_MEMCPY, that is called. */
#ifndef IPTI_COPY /* proofs have their own */
#ifdef IPT_MEMCPY
#define IPTI_COPY(to, from) ((void) IPT_MEMCPY((to), (from), sizeof(*(to))))
#else
#define IPTI_COPY(to, from) ((void) (*(to) = *(from)))
#endif
#endif

#ifndef IPT_MEMCPY
#ifdef __GNUC__
#define IPT_MEMCPY __builtin_memcpy
#define IPT_MEMMOVE __builtin_memmove
#define IPT_MEMSET __builtin_memset
#define IPT_MEMCMP __builtin_memcmp
#else
void *memcpy(void *to, const void *from, size_t size);
void *memmove(void *to, const void *from, size_t size);
void *memset(void *to, int value, size_t size);
int memcmp(const void *a, const void *b, size_t size);
#define IPT_MEMCPY memcpy
#define IPT_MEMMOVE memmove
#define IPT_MEMSET memset
#define IPT_MEMCMP memcmp
#endif
#endif

#ifdef __GNUC__
#define IPTI_LIKELY(x) __builtin_expect(!!(x), 1)
#define IPTI_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define IPTI_APART __attribute__((__noinline__)) /* keeps its caller short */
/* Fetch the n-th object after p ahead. There need not be one. */
#define IPTI_FETCH(p, n) \
    __builtin_prefetch((const void *) ((uintptr_t) (p) + (n) * sizeof(*(p))))
#define IPTI_FALL_THROUGH __attribute__((__fallthrough__));
#else
#define IPTI_LIKELY(x) (x)
#define IPTI_UNLIKELY(x) (x)
#ifdef _MSC_VER
#define IPTI_APART __declspec(noinline)
#else
#define IPTI_APART
#endif
#define IPTI_FETCH(p, n) ((void) (p))
#define IPTI_FALL_THROUGH
#endif

/* Without optimization each copy of an inlined function has a part of the stack
 * of its own. */
#if (defined(__GNUC__) || defined(__clang__)) && !defined(__OPTIMIZE__)
#define IPTI_PART inline
#elif defined(__GNUC__)
#define IPTI_PART inline __attribute__((__always_inline__))
#elif defined(_MSC_VER)
#define IPTI_PART __forceinline
#else
#define IPTI_PART inline
#endif

/* IPTI_PART: a call more would be too deep. IPTI_HOT: it would take too long,
 * where time is what counts. */
#ifdef __OPTIMIZE_SIZE__
#define IPTI_HOT inline
#define IPTI_SMALL 1 /* leave out what only saves time, if it is large */
#else
#define IPTI_HOT IPTI_PART
#define IPTI_SMALL 0
#endif

#if defined(__LP64__) || defined(_WIN64)
#define IPTI_64 /* 64 bits are counted and divided in one instruction */
#endif

/* Cortex-M0, M1 and M23 have no instruction for these, so the compiler calls
 * its library. These functions take the library's place in this object. */
#if defined(__GNUC__) \
    && (defined(__ARM_ARCH_6M__) || defined(__ARM_ARCH_8M_BASE__))
#define IPTI_SMALL_ARM
#ifndef __clang__
#pragma GCC push_options
#pragma GCC optimize("no-jump-tables")
#endif
#define IPTI_LIBRARY static __attribute__((__used__, __noinline__))

IPTI_LIBRARY uint64_t __aeabi_lmul(uint64_t a, uint64_t b)
{
    const uint32_t a0 = (uint32_t) a, b0 = (uint32_t) b;
    const uint32_t low = (a0 & 0xffff) * (b0 & 0xffff);
    const uint32_t cross = (a0 >> 16) * (b0 & 0xffff) + (low >> 16);
    const uint32_t other = (a0 & 0xffff) * (b0 >> 16) + (cross & 0xffff);
    const uint32_t high = (a0 >> 16) * (b0 >> 16) + (cross >> 16)
                          + (other >> 16) + a0 * (uint32_t) (b >> 32)
                          + (uint32_t) (a >> 32) * b0;

    return (uint64_t) high << 32 | (other << 16 | (low & 0xffff));
}

IPTI_LIBRARY uint64_t __aeabi_llsl(uint64_t value, int bits)
{
    const uint32_t low = (uint32_t) value, high = (uint32_t) (value >> 32);

    if (bits >= 32)
        return (uint64_t) (low << (bits - 32)) << 32;
    return bits ? (uint64_t) (high << bits | low >> (32 - bits)) << 32
                      | low << bits : value;
}

IPTI_LIBRARY uint64_t __aeabi_llsr(uint64_t value, int bits)
{
    const uint32_t low = (uint32_t) value, high = (uint32_t) (value >> 32);

    if (bits >= 32)
        return high >> (bits - 32);
    return bits ? (uint64_t) (high >> bits) << 32
                      | (low >> bits | high << (32 - bits)) : value;
}

/* The remainder above the quotient. */
IPTI_LIBRARY uint64_t __aeabi_uidivmod(uint32_t n, uint32_t d)
{
    uint32_t quotient = 0;
    uint32_t rest = 0;
    unsigned bit;

    for (bit = 32; bit-- > 0;) {
        rest = rest << 1 | (n >> bit & 1);
        if (rest >= d) {
            rest -= d;
            quotient |= (uint32_t) 1 << bit;
        }
    }
    return (uint64_t) rest << 32 | quotient;
}

IPTI_LIBRARY uint32_t __aeabi_uidiv(uint32_t n, uint32_t d)
{
    return (uint32_t) __aeabi_uidivmod(n, d);
}
#endif

#define IPTI_STATIC_ASSERT(name, x) \
    typedef char ipti_assert_##name[(x) ? 1 : -1]

IPTI_STATIC_ASSERT(line, sizeof(ipt_cache_line) == 64);
IPTI_STATIC_ASSERT(pkt, sizeof(ipt_pkt_decoder) <= 256);
IPTI_STATIC_ASSERT(evt, sizeof(ipt_evt_decoder) <= 1536);
IPTI_STATIC_ASSERT(insn, sizeof(ipt_insn_decoder) <= 4096);

/* What _init leaves in a struct: it differs by version and size. */
static uint32_t ipti_magic(size_t size)
{
    return 0x49505400u ^ (IPT_VERSION * 0x9e3779b1u) ^ (uint32_t) size;
}

/* Every _init of a decoder ends here: one that failed stays cleared, and other
 * calls refuse it. */
static int ipti_made(uint32_t *magic, size_t size, int status)
{
    if (status >= 0)
        *magic = ipti_magic(size);
    return status;
}

/* What every call checks first. */
#define IPTI_BAD_SELF(self) \
    (!(self) || (self)->magic_ != ipti_magic(sizeof(*(self))))
#define IPTI_SELF_ERROR(self) ((self) ? IPT_ERR_STATE : IPT_ERR_ARG)

/* What a call checks with an argument that may not be NULL. */
#define IPTI_BAD_CALL(self, arg) (IPTI_BAD_SELF(self) || IPTI_UNLIKELY(!(arg)))
#define IPTI_CALL_ERROR(self) \
    (IPTI_BAD_SELF(self) ? IPTI_SELF_ERROR(self) : IPT_ERR_ARG)

/* Little-endian loads, made of bytes: trace and code may lie anywhere, and the
 * host may have the other byte order. */
static inline uint16_t ipti_le16(const uint8_t *p)
{
    return (uint16_t) (p[0] | p[1] << 8);
}

static inline uint32_t ipti_le32(const uint8_t *p)
{
    return (uint32_t) p[0] | (uint32_t) p[1] << 8 | (uint32_t) p[2] << 16
           | (uint32_t) p[3] << 24;
}

static IPTI_HOT uint64_t ipti_le64(const uint8_t *p)
{
    return ipti_le32(p) | (uint64_t) ipti_le32(p + 4) << 32;
}

/* Bits [bit, bit + width) of the eight little-endian bytes at p; bit < 8. */
static IPTI_HOT uint64_t ipti_bits(const uint8_t *p, unsigned bit,
                                   unsigned width)
{
    const uint64_t from = bit + width > 8 ? ipti_le64(p) : p[0];

    return from >> bit & (~(uint64_t) 0 >> (64 - width));
}

#if defined(_MSC_VER) && !defined(__GNUC__) \
    && (defined(_M_X64) || defined(_M_ARM64))
#define IPTI_BIT_SCAN
unsigned char _BitScanReverse64(unsigned long *index, uint64_t value);
#pragma intrinsic(_BitScanReverse64)
#endif

/* The index of the highest bit that is set; value is not 0. */
static inline unsigned ipti_top(uint64_t value)
{
#if defined(__GNUC__) && !defined(IPTI_SMALL_ARM)
    return 63u ^ (unsigned) __builtin_clzll(value);
#elif defined(IPTI_BIT_SCAN)
    unsigned long top;
    _BitScanReverse64(&top, value);
    return top;
#else
    unsigned top = 0;
    while (value >>= 1)
        top++;
    return top;
#endif
}

/* The index of the lowest bit that is set; value is not 0. */
static inline unsigned ipti_low(uint64_t value)
{
#if defined(__GNUC__) && defined(IPTI_64)
    return (unsigned) __builtin_ctzll(value);
#else
    return ipti_top(value & (0 - value));
#endif
}

/* n / d, where d is not 0. For it a compiler for 32 bits calls its library,
 * which not every place has. */
static inline uint64_t ipti_div(uint64_t n, uint64_t d)
{
#ifdef IPTI_64
    return n / d;
#else
    uint64_t quotient = 0;
    unsigned bit;

    if (n < d)
        return 0;
    for (bit = ipti_top(n) - ipti_top(d) + 1; bit-- > 0;) {
        if (n >> bit >= d) {
            n -= d << bit;
            quotient |= (uint64_t) 1 << bit;
        }
    }
    return quotient;
#endif
}

/* The largest power of two up to `count`, or `most`, which is one. */
static uint32_t ipti_power(size_t count, uint32_t most)
{
    while (most > count)
        most /= 2;
    return most;
}

/* ---- fuel ---- */

/* Work is refused before it begins, and paid for after it is done: a call may
 * go below zero by one packet or run, which counts as zero. */
static IPTI_PART int ipti_fuel_empty(const ipt_config *config)
{
    return config->fuel && *config->fuel == 0;
}

static inline void ipti_fuel_burn(const ipt_config *config, uint64_t units)
{
    if (config->fuel)
        *config->fuel -= units < *config->fuel ? units : *config->fuel;
}

/* Trace bytes cost one unit for every multiple of 16 they reach. */
static inline void ipti_fuel_trace(const ipt_config *config, uint64_t from,
                                   uint64_t to)
{
    ipti_fuel_burn(config, to / 16 - from / 16);
}

/* ---- the cursor: the only code that touches trace bytes ----
 *
 * `piece` is the segment that holds the position, and begins at `begin`. `seg`
 * is the same or, if that one is a gap, none: then every read finds 0 bytes.
 *
 * Offsets saturate at gaps: no gap leads beyond IPTI_GAP_LIMIT, and after that
 * each counts for one byte. */

#define IPTI_WINDOW 16    /* no packet is longer */
#define IPTI_SWALLOWED 15 /* a corrupt packet may hide so much of a PSB */
#define IPTI_NOWHERE UINT32_MAX /* ipt_cursor_.seg, piece */
#define IPTI_GAP_LIMIT ((uint64_t) 1 << 63)
#define IPTI_PIECES 1024 /* one unit of fuel pays for so many passed */
#define IPTI_AHEAD 16    /* units that the quick way may owe */

enum {                /* ipt_cursor_.state */
    IPTI_CUR_NOSYNC,  /* at no packet */
    IPTI_CUR_FORWARD, /* a search for a PSB ran out of fuel or trace */
    IPTI_CUR_BACKWARD,
    IPTI_CUR_SYNC, /* at a packet */
    IPTI_CUR_PSB,  /* at a packet, or after a PSB with more than 8 pairs */
    IPTI_CUR_GAP   /* after a gap: a PSB is searched */
};

/* Is it a gap: a segment without bytes whose size, the number of lost bytes, is
 * not 0? */
static IPTI_PART int ipti_seg_gap(const ipt_segment *seg)
{
    return !seg->data && seg->size;
}

/* Where a segment that begins at stream offset `begin` ends. */
static inline uint64_t ipti_seg_end(const ipt_segment *seg, uint64_t begin)
{
    const uint64_t most = begin < IPTI_GAP_LIMIT ? IPTI_GAP_LIMIT - begin : 1;

    return begin + (ipti_seg_gap(seg) && seg->size > most ? most : seg->size);
}

/* Where a segment that ends at `end` begins. Returns 0 if that cannot be worked
 * out: the gap that leads to IPTI_GAP_LIMIT may begin anywhere. */
static inline int ipti_seg_begin(const ipt_segment *seg, uint64_t *end)
{
    if (ipti_seg_gap(seg) && *end == IPTI_GAP_LIMIT)
        return 0;
    *end -= ipti_seg_gap(seg) && *end > IPTI_GAP_LIMIT ? 1 : seg->size;
    return 1;
}

/* Pay for a segment that a search passes: segments without bytes cost nothing,
 * IPTI_PIECES others cost one unit. Returns 0 when fuel is used up. */
static IPTI_PART int ipti_cur_paid(const ipt_cursor_ *cur,
                                  const ipt_segment *seg, uint32_t *passed)
{
    *passed += seg->size != 0;
    if (*passed % IPTI_PIECES || !seg->size)
        return 1;
    ipti_fuel_burn(cur->config, 1);
    return !ipti_fuel_empty(cur->config);
}

/* Make `piece` the segment that holds stream offset pos, or the last one.
 *
 * returns  IPT_OK; IPT_BUDGET: another call goes on; IPT_ERR_GONE */
static int ipti_cur_seek(ipt_cursor_ *cur, uint64_t pos)
{
    const ipt_trace *trace = cur->trace;
    const ipt_segment *const seg = trace->seg;
    uint32_t passed = 0;
    uint64_t end;

    cur->quick = 0;
    cur->seg = IPTI_NOWHERE;
    if (pos < trace->offset)
        return IPT_ERR_GONE;
    if (IPTI_UNLIKELY(cur->origin != trace->offset
                      || cur->piece >= trace->count)) {
        cur->origin = cur->begin = trace->offset;
        cur->piece = 0;
    }
    while (pos < cur->begin) {
        if (!ipti_seg_begin(&seg[cur->piece - 1], &cur->begin)) {
            cur->begin = trace->offset;
            cur->piece = 0;
        } else if (!ipti_cur_paid(cur, &seg[--cur->piece], &passed)) {
            return IPT_BUDGET;
        }
    }
    while (cur->piece + 1 < trace->count
           && pos >= (end = ipti_seg_end(&seg[cur->piece], cur->begin))) {
        cur->begin = end;
        if (!ipti_cur_paid(cur, &seg[cur->piece++], &passed))
            return IPT_BUDGET;
    }
    if (cur->piece < trace->count && !ipti_seg_gap(&seg[cur->piece]))
        cur->seg = cur->piece;
    return IPT_OK;
}

/* The offset at which `piece` ends. */
static uint64_t ipti_cur_piece_end(const ipt_cursor_ *cur)
{
    return cur->piece < cur->trace->count
               ? ipti_seg_end(&cur->trace->seg[cur->piece], cur->begin)
               : cur->begin;
}

/* Few bytes follow pos, which is in `piece`. If a gap cuts them off, returns
 * where that gap ends; if the trace ends, 0. */
static IPTI_APART uint64_t ipti_cur_gap(const ipt_cursor_ *cur, uint64_t pos)
{
    const ipt_trace *trace = cur->trace;
    uint64_t end = cur->begin;
    uint32_t i;

    for (i = cur->piece; i < trace->count; i++) {
        end = ipti_seg_end(&trace->seg[i], end);
        if (ipti_seg_gap(&trace->seg[i]) && end > pos)
            return end;
    }
    return 0;
}

/* Do `size` bytes of trace follow pos, which `piece` holds? */
static int ipti_cur_holds(const ipt_cursor_ *cur, uint64_t pos, uint64_t size)
{
    const ipt_trace *trace = cur->trace;
    uint64_t end = cur->begin;
    uint32_t i;

    for (i = cur->piece; i < trace->count; i++) {
        if (ipti_seg_gap(&trace->seg[i]))
            break;
        end += trace->seg[i].size;
        if (end - pos >= size)
            return 1;
    }
    return 0;
}

/* Collect up to 16 bytes at pos, which is in the current segment, from it and
 * the segments after it. The rest of the window is filled with zeros. */
static size_t ipti_cur_collect(const ipt_cursor_ *cur, uint64_t pos,
                               uint8_t *window)
{
    const ipt_trace *trace = cur->trace;
    size_t skip = (size_t) (pos - cur->begin);
    size_t n = 0;
    uint32_t i;

    IPT_MEMSET(window, 0, IPTI_WINDOW);
    for (i = cur->seg; i < trace->count && n < IPTI_WINDOW; i++, skip = 0) {
        const ipt_segment *seg = &trace->seg[i];
        if (ipti_seg_gap(seg))
            break;
        while (skip < seg->size && n < IPTI_WINDOW)
            window[n++] = seg->data[skip++];
    }
    return n;
}

/* The fast way to the bytes at pos: if 16 or more of them lie together in the
 * segment read last, returns where, and how many in *n; else NULL. */
static inline const uint8_t *ipti_cur_here(const ipt_cursor_ *cur, uint64_t pos,
                                           size_t *n)
{
    const ipt_trace *trace = cur->trace;
    const ipt_segment *seg;
    uint64_t skip;

    if (IPTI_UNLIKELY(cur->origin != trace->offset || cur->seg >= trace->count))
        return NULL;
    seg = &trace->seg[cur->seg];
    skip = pos - cur->begin; /* more than any size if pos is below */
    if (IPTI_UNLIKELY(seg->size < IPTI_WINDOW
                      || skip > seg->size - IPTI_WINDOW))
        return NULL;
    *n = seg->size - (size_t) skip;
    return seg->data + (size_t) skip;
}

/* Find the bytes at pos: *n of them at *p, all that lie together or, near the
 * end of a segment, what is left of 16 collected in `window`. n is 0 at a gap
 * and at the end of the trace. 16 bytes at *p can be read in any case. */
static inline int ipti_cur_bytes(ipt_cursor_ *cur, uint64_t pos,
                                 uint8_t *window, const uint8_t **p, size_t *n)
{
    const ipt_trace *trace = cur->trace;
    int status;

    *p = ipti_cur_here(cur, pos, n);
    if (IPTI_LIKELY(*p != NULL))
        return IPT_OK;
    *p = window;
    *n = 0;
    status = ipti_cur_seek(cur, pos);
    if (status < 0 || cur->seg >= trace->count)
        return status;
    if (pos - cur->begin > trace->seg[cur->seg].size)
        return IPT_ERR_GONE;
    *n = trace->seg[cur->seg].size - (size_t) (pos - cur->begin);
    if (*n >= IPTI_WINDOW)
        *p = trace->seg[cur->seg].data + (pos - cur->begin);
    else
        *n = ipti_cur_collect(cur, pos, window);
    return IPT_OK;
}

/* Set at->release, below which the caller may drop trace. Bytes that a later
 * search for a PSB may still read are kept: 15 before the position, or the
 * pattern that a search in progress has met. */
static inline void ipti_cur_release(const ipt_cursor_ *cur, ipt_where *at)
{
    if (IPTI_UNLIKELY(cur->state == IPTI_CUR_FORWARD
                      || cur->state == IPTI_CUR_GAP))
        at->release = cur->limit < at->offset ? cur->limit : at->offset;
    else if (IPTI_LIKELY(at->offset >= at->release + IPTI_SWALLOWED))
        at->release = at->offset - IPTI_SWALLOWED;
    else if (at->offset < at->release)
        at->release = at->offset;
}

/* At a packet: find out up to which offset the next packets need no check of
 * state, fuel and pieces (`quick`). All that may change the answer sets `quick`
 * to 0. Trace that grows does not change it. With fuel, there is enough for
 * trace up to `quick`; ipti_cur_pay takes it. */
static void ipti_cur_quicken(ipt_cursor_ *cur, const ipt_where *at)
{
    const uint64_t *const fuel = cur->config->fuel;
    uint64_t most = UINT64_MAX;
    size_t n;

    if (fuel)
        most = (at->offset / 16 + (*fuel < IPTI_AHEAD ? *fuel : IPTI_AHEAD))
               * 16;
    cur->quick = 0;
    cur->paid = (uint32_t) (at->offset / 16);
    if (cur->state == IPTI_CUR_SYNC && !cur->block && at->offset < most
        && at->offset >= at->release + IPTI_SWALLOWED
        && ipti_cur_here(cur, at->offset, &n)) {
        cur->quick = at->offset + n - (IPTI_WINDOW - 1);
        if (cur->quick > most)
            cur->quick = most;
    }
}

/* Pay for trace up to `to`: from `from` on, and for what the quick way has
 * passed before that, which leaves `paid` alone. */
static void ipti_cur_pay(ipt_cursor_ *cur, uint64_t from, uint64_t to)
{
    if (cur->quick)
        ipti_fuel_burn(cur->config, (uint32_t) (from / 16) - cur->paid);
    ipti_fuel_trace(cur->config, from, to);
    cur->paid = (uint32_t) (to / 16);
}

/* Does `quick` hold at pos? */
static inline int ipti_cur_quick(const ipt_cursor_ *cur, uint64_t pos)
{
    return pos < cur->quick && cur->origin == cur->trace->offset;
}

/* The bytes at pos where `quick` holds; 16 can be read. */
static inline const uint8_t *ipti_cur_at(const ipt_cursor_ *cur, uint64_t pos)
{
    return &cur->trace->seg[cur->seg].data[(size_t) (pos - cur->begin)];
}

/* Each field of a config is in its range. Pointers are trusted. */
static int ipti_config_values(const ipt_config *config)
{
    unsigned i;

    if (config->flags & ~IPT_CONFIG_FLAGS_ || config->unwanted & ~IPT_UNWANTED_
        || config->errata & ~IPT_ERRATUM_ALL_ || config->mtc_freq > 15
        || config->mode >= IPT_MODE_COUNT
        || (config->flags & IPT_CONFIG_ROOT_ONLY
            && config->flags & IPT_CONFIG_NON_ROOT_ONLY))
        return IPT_ERR_CONFIG;
    for (i = 0; i < IPT_FILTERS; i++)
        if (config->filter[i].kind > IPT_FILTER_STOP)
            return IPT_ERR_CONFIG;
    return IPT_OK;
}

/* Models of family 6 by the set of errata they have; then those of others. */
#define IPTI_ERRATA_SKL                                                 \
    (IPT_ERRATUM_SKD007 | IPT_ERRATUM_SKD022 | IPT_ERRATUM_SKD010       \
     | IPT_ERRATUM_SKL014 | IPT_ERRATUM_SKL168)
static const struct ipti_cpu {
    uint16_t family;
    uint16_t errata;
    uint8_t models[22]; /* 0 ends the list */
} ipti_cpus[] = {
    {6, IPT_ERRATUM_BDM64, {0x3d, 0x47, 0x4f, 0x56}}, /* Broadwell */
    /* Skylake, Kaby Lake, Coffee Lake, Comet Lake */
    {6, IPTI_ERRATA_SKL, {0x4e, 0x5e, 0x8e, 0x9e, 0xa5, 0xa6}},
    /* Skylake-SP, Ice Lake-SP */
    {6, IPT_ERRATUM_SKL014 | IPT_ERRATUM_SKD022 | IPT_ERRATUM_SKZ84,
     {0x55, 0x6a, 0x6c}},
    /* Sapphire Rapids, Emerald Rapids, Granite Rapids */
    {6, IPT_ERRATUM_SKD022 | IPT_ERRATUM_SKZ84, {0x8f, 0xcf, 0xad, 0xae}},
    {19, IPT_ERRATUM_SKD022 | IPT_ERRATUM_SKZ84, {0x01}}, /* Diamond Rapids */
    /* Cannon Lake, Ice Lake, Tiger Lake, Rocket Lake */
    {6, IPT_ERRATUM_SKL014 | IPT_ERRATUM_SKD022,
     {0x66, 0x7d, 0x7e, 0x8c, 0x8d, 0xa7, 0xa8}},
    /* Alder Lake and the hybrids after it */
    {6, IPT_ERRATUM_SKD022 | IPT_ERRATUM_APL11,
     {0x97, 0x9a, 0xba, 0xb7, 0xbf, 0xc5, 0xc6, 0xb5, 0xaa, 0xac, 0xbd, 0xcc,
      0xd5}},
    {18, IPT_ERRATUM_SKD022 | IPT_ERRATUM_APL11, {0x01, 0x03}},
    /* Goldmont */
    {6, IPT_ERRATUM_APL12 | IPT_ERRATUM_APL11 | IPT_ERRATUM_NLIP, {0x5c}},
    {6, IPT_ERRATUM_APL12 | IPT_ERRATUM_APL11, {0x5f}},
    /* Goldmont Plus, Tremont, Gracemont, Crestmont */
    {6, IPT_ERRATUM_APL11, {0x7a, 0x86, 0x96, 0x9c, 0xb6, 0xaf, 0xdd}},
};

/* The lists are short and are read once for each trace, so they are
 * searched. */
IPT_API int ipt_cpu_errata(uint32_t *errata, uint16_t family, uint8_t model)
{
    unsigned i;
    unsigned k;

    if (!errata)
        return IPT_ERR_ARG;
    *errata = 0;
    for (i = 0; i < sizeof(ipti_cpus) / sizeof(ipti_cpus[0]); i++) {
        for (k = 0; ipti_cpus[i].models[k]; k++) {
            if (family == ipti_cpus[i].family
                && model == ipti_cpus[i].models[k]) {
                *errata = ipti_cpus[i].errata;
                return 1;
            }
        }
    }
    return 0;
}

/* Before the first PIP and VMCS, and after trace was lost. */
static inline void ipti_asid_unknown(ipt_asid *asid)
{
    asid->cr3 = IPT_ASID_UNKNOWN;
    asid->vmcs = IPT_ASID_UNKNOWN;
    asid->nr = 0;
}

/* Compared field by field, as padding has no value. */
static inline int ipti_asid_same(const ipt_asid *a, const ipt_asid *b)
{
    return a->cr3 == b->cr3 && a->vmcs == b->vmcs && a->nr == b->nr;
}

/* Begin at the start of the trace, not synchronised. What is not set is 0. */
static int ipti_cur_init(ipt_cursor_ *cur, ipt_where *at,
                         const ipt_config *config, const ipt_trace *trace)
{
    int status;

    if (!config || !trace || (trace->count && !trace->seg))
        return IPT_ERR_ARG;
    status = ipti_config_values(config);
    if (status < 0)
        return status;
    cur->config = config;
    cur->trace = trace;
    cur->origin = cur->begin = cur->limit = trace->offset;
    cur->seg = cur->piece = IPTI_NOWHERE;
    at->offset = at->release = trace->offset;
    ipti_asid_unknown(&at->asid);
    return IPT_OK;
}

/* Every public call on a decoder ends here. One that fails owes no fuel. After
 * IPT_MORE the caller may cut the trace into other pieces, so the cursor looks
 * for its position again. */
static inline int ipti_leave(ipt_cursor_ *cur, ipt_where *at, int status)
{
    ipti_cur_release(cur, at);
    if (IPTI_UNLIKELY(status < 0)) {
        at->error = status;
        ipti_cur_pay(cur, at->offset, at->offset);
        if (status == IPT_MORE) {
            cur->seg = cur->piece = IPTI_NOWHERE;
            cur->quick = 0;
        }
    }
    return status;
}

/* ---- the stack of calls         SDM: "Return Compression" ---- */

/* A call too many overwrites the oldest, as in the processor. */
static void ipti_calls_push(ipt_calls_ *calls, uint64_t ip)
{
    calls->ip[calls->at.top] = ip;
    calls->at.top = (uint8_t) ((calls->at.top + 1) % IPT_RETURN_STACK_);
    if (calls->at.count < IPT_RETURN_STACK_)
        calls->at.count++;
}

/* Every near return pops, compressed or not. Returns 0 if the stack is
 * empty. */
static int ipti_calls_pop(ipt_calls_ *calls, uint64_t *ip)
{
    if (calls->at.count == 0)
        return 0;
    calls->at.count--;
    calls->at.top = (uint8_t) ((calls->at.top - 1u) % IPT_RETURN_STACK_);
    *ip = calls->ip[calls->at.top];
    return 1;
}

/* The processor's stack is empty where trace begins. `lost`: its entries are
 * not known, as flow was lost. Those from before the loss are dropped, unless
 * config.flags has KEEP_CALLS. */
static inline void ipti_calls_clear(ipt_calls_ *calls, int lost, uint32_t flags)
{
    if (!lost || !(flags & IPT_CONFIG_KEEP_CALLS))
        calls->at.count = 0;
    calls->at.lost = (uint8_t) lost;
}

/* Where flow went from the branch at its ip is not known: the next call returns
 * this error, which is -`lost` up to then. */
static inline void ipti_calls_astray(ipt_calls_ *calls, int error)
{
    calls->at.lost = (uint8_t) -error;
}

/* [cov]: a path that was not walked had up to `more` frames on top of these at
 * one time. The oldest ones that this pushed out are lost. */
static inline void ipti_calls_keep(ipt_calls_ *calls, unsigned more)
{
    if (calls->at.count + more > IPT_RETURN_STACK_)
        calls->at.count = (uint8_t) (IPT_RETURN_STACK_ - more);
}

/* Go back to a state from before. Entries that were overwritten since then are
 * not brought back. */
static inline void ipti_calls_back(ipt_calls_ *calls, ipt_calls_at_ at)
{
    IPTI_COPY(&calls->at, &at);
}

/* ==========================================================================
 * [pkt]  bytes to one packet, and back        SDM: "Packet Definitions"
 * Uses: [base].  State: ipt_pkt_decoder.
 *
 * The first byte says which packet it is; after 02 the second byte does. What
 * follows has a fixed layout, which ipti_fields has for decoder and encoder:
 *     IPTI_FIELD(C type, member of u, byte, bit, width, scale)
 * says that the member's value, shifted right by scale, stands in `width` bits
 * from bit `bit` of byte `byte` up. A reserved bit is neither checked nor set.
 * ========================================================================== */

/* X(packet, first byte, second byte or 0, size) of all packets that have one
 * size; each X has `more`, too. */
#define IPTI_FORMS(X, more)           \
    X(TNT_64, 0x02, 0xa3, 8, more)    \
    X(PSB, 0x02, 0x82, 16, more)      \
    X(PSBEND, 0x02, 0x23, 2, more)    \
    X(CBR, 0x02, 0x03, 4, more)       \
    X(PIP, 0x02, 0x43, 8, more)       \
    X(VMCS, 0x02, 0xc8, 7, more)      \
    X(TMA, 0x02, 0x73, 7, more)       \
    X(OVF, 0x02, 0xf3, 2, more)       \
    X(CFE, 0x02, 0x13, 4, more)       \
    X(EVD, 0x02, 0x53, 11, more)      \
    X(BBP, 0x02, 0x63, 3, more)       \
    X(BEP, 0x02, 0x33, 2, more)       \
    X(EXSTOP, 0x02, 0x62, 2, more)    \
    X(MWAIT, 0x02, 0xc2, 10, more)    \
    X(PWRE, 0x02, 0x22, 4, more)      \
    X(PWRX, 0x02, 0xa2, 7, more)      \
    X(MNT, 0x02, 0xc3, 11, more)      \
    X(STOP, 0x02, 0x83, 2, more)      \
    X(TSC, 0x19, 0, 8, more)          \
    X(MTC, 0x59, 0, 2, more)          \
    X(MODE_EXEC, 0x99, 0x00, 2, more) \
    X(MODE_TSX, 0x99, 0x20, 2, more)

#define IPTI_X(packet, first, second, size, more) \
    IPTI_FIRST_##packet = first,                  \
    IPTI_SECOND_##packet = second,                \
    IPTI_SIZE_##packet = size,
enum { IPTI_FORMS(IPTI_X, 0) IPTI_FORMS_END };
#undef IPTI_X

typedef struct ipti_form {
    uint8_t type;
    uint8_t first;
    uint8_t second;
    uint8_t size;
} ipti_form;

#define IPTI_X(packet, first, second, size, more) \
    {IPT_PKT_##packet, first, second, size},
static const ipti_form ipti_forms[] = {IPTI_FORMS(IPTI_X, 0)};
#undef IPTI_X

/* First bytes, and the mask under which they are one. */
#define IPTI_PAD 0x00
#define IPTI_EXT 0x02     /* an extended opcode follows */
#define IPTI_MODE 0x99    /* bits 7:5 of the next byte say which */
#define IPTI_TRIG 0xd9
#define IPTI_MNT_3RD 0x88 /* MNT alone has a third opcode byte */
#define IPTI_IP_MASK 0x1f /* above it: IPBytes */
#define IPTI_TIP 0x0d     /* xxx01101 */
#define IPTI_TIP_PGE 0x11 /* xxx10001 */
#define IPTI_TIP_PGD 0x01 /* xxx00001 */
#define IPTI_FUP 0x1d     /* xxx11101 */
#define IPTI_CYC_MASK 0x03
#define IPTI_CYC 0x03      /* xxxxxx11 */
#define IPTI_BIP_MASK 0x07 /* only inside a PEBS block: 0 is TNT's bit 0 */
#define IPTI_BIP 0x04      /* xxxxx100 */
/* Second bytes after 02 that hold a field. */
#define IPTI_PTW_MASK 0x1f
#define IPTI_PTW 0x12    /* IP, plc, plc, 10010 */
#define IPTI_EXT_IP 0x80 /* EXSTOP and BEP: a FUP follows */

/* ---- shape: which packet, and how long ---- */

/* A table for IP packets by the first byte f, which is odd. [f]: the size, or 0
 * if f begins another packet or has a reserved IPBytes. [f - 1]: the type. */
#define IPTI_X(opcode, type) ((opcode) == IPTI_##type ? IPT_PKT_##type : 0)
#define IPTI_IP_TYPE(opcode)                                                 \
    (IPTI_X(opcode, TIP) | IPTI_X(opcode, TIP_PGE) | IPTI_X(opcode, TIP_PGD) \
     | IPTI_X(opcode, FUP))
#define IPTI_IPS_1(i, size) IPTI_IP_TYPE(i), IPTI_IP_TYPE(i) ? (size) : 0
#define IPTI_IPS_4(i, size)                              \
    IPTI_IPS_1(i, size), IPTI_IPS_1((i) + 2, size),      \
        IPTI_IPS_1((i) + 4, size), IPTI_IPS_1((i) + 6, size)
#define IPTI_IPS(size)                                   \
    IPTI_IPS_4(1, size), IPTI_IPS_4(9, size),            \
        IPTI_IPS_4(17, size), IPTI_IPS_4(25, size)
static const uint8_t ipti_ips[256]
    = {IPTI_IPS(1), IPTI_IPS(3), IPTI_IPS(5), IPTI_IPS(7),
       IPTI_IPS(7), IPTI_IPS(0), IPTI_IPS(9), IPTI_IPS(0)};
#undef IPTI_X

/* The payload's bits by IPBytes. */
static const uint64_t ipti_ip_mask[8]
    = {0, 0xffff, 0xffffffff, 0xffffffffffff, 0xffffffffffff, 0,
       0xffffffffffffffff, 0};

/* The IP that a packet stands for: its payload replaces the low bytes of the
 * last IP. SDM: "IP Compression" */
static inline uint64_t ipti_ip_after(uint64_t last, unsigned ipc,
                                     uint64_t payload)
{
    if (ipc == 3) /* sign-extend bit 47 */
        return (payload ^ (uint64_t) 1 << 47) - ((uint64_t) 1 << 47);
    return (last & ~ipti_ip_mask[ipc]) | payload;
}

/* The ipti_shape functions return the size of the packet at p, or IPT_MORE if
 * its n bytes do not say how long it is. */
static int ipti_shape_cyc(const uint8_t *p, size_t n)
{
    /* CYC: 5 bits with EXP in bit 2, then 7 bits with EXP in bit 0 a byte, up
     * to 64 bits in all.          SDM: "Cycle Count (CYC) Packet" */
    size_t size = 1;
    int more = p[0] & 4;

    while (more) {
        if (size >= n)
            return IPT_MORE;
        if (size == 9 && p[size] & 0xf1) /* 5 + 8 * 7 + 3 bits */
            return IPT_ERR_PACKET;
        more = p[size++] & 1;
    }
    return (int) size;
}

#define IPTI_PSB_PAIR IPTI_FIRST_PSB, IPTI_SECOND_PSB
#define IPTI_PSB_BITS (IPTI_FIRST_PSB ^ IPTI_SECOND_PSB) /* they differ there */
static const uint8_t ipti_psb[IPTI_SIZE_PSB]
    = {IPTI_PSB_PAIR, IPTI_PSB_PAIR, IPTI_PSB_PAIR, IPTI_PSB_PAIR,
       IPTI_PSB_PAIR, IPTI_PSB_PAIR, IPTI_PSB_PAIR, IPTI_PSB_PAIR};

/* Are the n bytes at p, 16 at most, those that a PSB begins with? */
static inline int ipti_is_psb(const uint8_t *p, size_t n)
{
    return IPT_MEMCMP(p, ipti_psb, n) == 0;
}

/* A shape: the type, and the size from bit IPTI_SHAPE_SIZE up. */
#define IPTI_SHAPE_SIZE 8
#define IPTI_SHAPE(type, size) ((type) | (size) << IPTI_SHAPE_SIZE)

/* A table of shapes for the packets after 02, except VMCS: all have 001 in bits
 * 3:1 of the second byte, whose other bits are the index. A PTW of a reserved
 * size has size 0. */
#define IPTI_HAS_IP(packet)          \
    (IPT_PKT_##packet == IPT_PKT_BEP \
     || IPT_PKT_##packet == IPT_PKT_EXSTOP ? IPTI_EXT_IP : 0)
#define IPTI_X(packet, first, second, size, byte)                   \
    | ((first) == IPTI_EXT                                          \
               && (second) == ((byte) & ~(IPTI_HAS_IP(packet)))     \
           ? IPTI_SHAPE(IPT_PKT_##packet, size)                     \
           : 0)
#define IPTI_PTW_SIZE(byte) ((byte) & 0x40 ? 0 : (byte) & 0x20 ? 10 : 6)
#define IPTI_EXTS_1(byte)                                  \
    (((byte) & IPTI_PTW_MASK) == IPTI_PTW                  \
         ? IPTI_SHAPE(IPT_PKT_PTW, IPTI_PTW_SIZE(byte))    \
         : 0 IPTI_FORMS(IPTI_X, byte))
#define IPTI_EXTS_4(byte)                        \
    IPTI_EXTS_1(byte), IPTI_EXTS_1((byte) + 16), \
        IPTI_EXTS_1((byte) + 32), IPTI_EXTS_1((byte) + 48)
#define IPTI_EXTS(byte)                          \
    IPTI_EXTS_4(byte), IPTI_EXTS_4((byte) + 64), \
        IPTI_EXTS_4((byte) + 128), IPTI_EXTS_4((byte) + 192)
static const uint16_t ipti_exts[32] = {IPTI_EXTS(2), IPTI_EXTS(3)};
#undef IPTI_X

/* The shape of the packet after 02 by its second byte, 0 if there is none. */
static IPTI_HOT unsigned ipti_ext(unsigned second)
{
    const unsigned i = (uint8_t) (second << 4 | second >> 4) - 0x20u;

    if (i < 32)
        return ipti_exts[i];
    return second == IPTI_SECOND_VMCS
               ? IPTI_SHAPE(IPT_PKT_VMCS, IPTI_SIZE_VMCS)
               : 0;
}

/* The packet after 02. */
static int ipti_shape_ext(const uint8_t *p, size_t n, uint8_t *type)
{
    unsigned shape;

    if (n < 2)
        return IPT_MORE;
    shape = ipti_ext(p[1]);
    if (!shape)
        return IPT_ERR_OPCODE;
    *type = (uint8_t) shape;
    if (*type == IPT_PKT_MNT && n > 2 && p[2] != IPTI_MNT_3RD)
        return IPT_ERR_OPCODE;
    /* what contradicts the pattern is an error as soon as it is seen */
    if (shape == IPTI_SHAPE(IPT_PKT_PTW, 0)
        || (*type == IPT_PKT_PSB
            && !ipti_is_psb(p, n < sizeof(ipti_psb) ? n : sizeof(ipti_psb))))
        return IPT_ERR_PACKET;
    return (int) (shape >> IPTI_SHAPE_SIZE);
}

/* All packets except those of ipti_pkt_tnt and ipti_pkt_pad_ip, and BIP. */
static int ipti_shape(const uint8_t *p, size_t n, uint8_t *type)
{
    switch (p[0]) {
    case IPTI_EXT:
        return ipti_shape_ext(p, n, type);
    case IPTI_FIRST_TSC:
        *type = IPT_PKT_TSC;
        return IPTI_SIZE_TSC;
    case IPTI_FIRST_MTC:
        *type = IPT_PKT_MTC;
        return IPTI_SIZE_MTC;
    case IPTI_MODE:
        if (n < 2)
            return IPT_MORE;
        *type = (p[1] & 0xe0) == IPTI_SECOND_MODE_TSX ? IPT_PKT_MODE_TSX
                                                      : IPT_PKT_MODE_EXEC;
        return p[1] & 0xc0 ? (int) IPT_ERR_PACKET : IPTI_SIZE_MODE_EXEC;
    case IPTI_TRIG:
        *type = IPT_PKT_TRIG;
        return p[1] & 0x40 ? 5 : 3; /* p[1] is 0 if it is to come */
    default:
        break;
    }
    *type = ipti_ips[p[0] - 1]; /* p[0] is odd: the even ones are above */
    if (*type) /* a reserved IPBytes */
        return IPT_ERR_PACKET;
    if ((p[0] & IPTI_CYC_MASK) != IPTI_CYC)
        return IPT_ERR_OPCODE;
    *type = IPT_PKT_CYC;
    return ipti_shape_cyc(p, n);
}

/* ---- decode ---- */

/* TNT: branches, oldest first, under a stop bit.
 * SDM: "Taken/Not-taken (TNT) Packet"
 *   TNT-8   | 0 .. 0  1  b1 b2 .. bN  0 |   bits 7:1, N <= 6
 *   TNT-64  02 a3, then 48 bits alike, N <= 47; no processor sends N = 0
 * Returns 0 if there is none. */
static inline int ipti_load_tnt(ipt_packet *out, uint64_t bits)
{
    const unsigned count = ipti_top(bits | 1);

    if (bits == 0) /* no stop bit */
        return 0;
    out->u.tnt.bits = bits ^ (uint64_t) 1 << count;
    out->u.tnt.count = (uint8_t) count;
    return 1;
}

/* The bits of a CYC as ipti_shape_cyc describes them: 5, then 7 a byte. */
static void ipti_load_cyc(ipt_packet *out, const uint8_t *p, uint32_t size)
{
    uint64_t value = p[0] >> 3;
    unsigned i;

    for (i = 1; i < size; i++)
        value |= (uint64_t) (p[i] >> 1) << (5 + 7 * (i - 1));
    out->u.cyc.value = value;
}

/* Put value / 2^scale into bits [bit, bit + width) at p; *fits: that is all of
 * it. Returns value. */
static uint64_t ipti_store(uint8_t *p, unsigned bit, unsigned width,
                           unsigned scale, uint64_t value, int *fits)
{
    const uint64_t most = ~(uint64_t) 0 >> (64 - width);
    unsigned i;

    for (i = 0; i < (bit + width + 7) / 8; i++)
        p[i] |= (uint8_t) ((value >> scale & most) << bit >> (8 * i));
    *fits &= (value >> scale & most) << scale == value;
    return value;
}

#define IPTI_FIELD(type, member, byte, bit, width, scale)                 \
    packet->u.member                                                      \
        = (type) (to ? ipti_store(to + (byte), bit, width, scale,         \
                                  packet->u.member, &fits)                \
                     : ipti_bits(p + (byte), bit, width) << (scale));

#define IPTI_NO_VMCS 0xffffffffff000u /* in a VMCS packet: none */

/* The fields of a packet of this type and size. If `to` is NULL, they are read:
 * packet->u is filled from the bytes at p. Else they are written to `to`, and p
 * is not used. Packets of other types have none. Returns 0 if what is read is
 * no such packet, or if a member that is written does not fit its field. */
static IPTI_PART int ipti_fields(ipt_packet *packet, const uint8_t *p,
                                 uint8_t *to, uint8_t type, uint32_t size)
{
    int fits = 1;

    switch (type) {
    case IPT_PKT_TNT_64: /* and CYC: ipt_pkt_encode has its own ways */
        return to || ipti_load_tnt(packet, ipti_bits(p + 2, 0, 48));
    case IPT_PKT_CYC:
        if (!to)
            ipti_load_cyc(packet, p, size);
        break;

    /* TSC: time stamp counter             SDM: "Timestamp Counter (TSC) Packet"
     *  1-7 |        TSC[55:0]               | */
    case IPT_PKT_TSC:
        IPTI_FIELD(uint64_t, tsc.value, 1, 0, 56, 0)
        break;

    /* TMA: TSC/MTC alignment              SDM: "TSC/MTC Alignment (TMA) Packet"
     *  2-3 |        CTC[15:0]               |
     *   4  |        0                       |   checked: SKZ84 corrupts it
     *   5  |        FC[7:0]                 |
     *   6  |        0                   |FC8| */
    case IPT_PKT_TMA:
        if (!to && (p[4] || p[6] > 1))
            return 0; /* nothing else of a corrupt one would show it */
        IPTI_FIELD(uint16_t, tma.ctc, 2, 0, 16, 0)
        IPTI_FIELD(uint16_t, tma.fc, 5, 0, 9, 0)
        break;

    /* CBR: core:bus ratio                 SDM: "Core:Bus Ratio (CBR) Packet"
     *   2  |        ratio                   |
     *   3  |        reserved                | */
    case IPT_PKT_CBR:
        IPTI_FIELD(uint8_t, cbr.ratio, 2, 0, 8, 0)
        break;

    /* MODE.Exec: execution mode           SDM: "MODE Packet"
     *        7   6   5   4   3   2   1   0
     *   1  | 0   0   0 | 0   0 | IF| D | L |   L: CS.L & LMA, D: CS.D */
    case IPT_PKT_MODE_EXEC:
        IPTI_FIELD(uint8_t, exec.csl, 1, 0, 1, 0)
        IPTI_FIELD(uint8_t, exec.csd, 1, 1, 1, 0)
        IPTI_FIELD(uint8_t, exec.iflag, 1, 2, 1, 0)
        break;

    /* PIP: paging information         SDM: "Paging Information (PIP) Packet"
     *        7   6   5   4   3   2   1   0
     *   2  |        CR3[11:5]          | NR |
     *  3-7 |        CR3[51:12]              |   bit 1 is CR3 bit 5 */
    case IPT_PKT_PIP:
        IPTI_FIELD(uint64_t, pip.cr3, 2, 1, 47, 5)
        IPTI_FIELD(uint8_t, pip.nr, 2, 0, 1, 0)
        break;

    /* VMCS: pointer to the VMCS           SDM: "VMCS Packet"
     *  2-6 |        base[51:12]             | */
    case IPT_PKT_VMCS:
        IPTI_FIELD(uint64_t, vmcs.base, 2, 0, 40, 12)
        break;

    /* MODE.TSX: transaction state         SDM: "MODE Packet"
     *        7   6   5   4   3   2   1   0
     *   1  | 0   0   1 | 0   0   0 |ABR|INT|   TXAbort, InTX */
    case IPT_PKT_MODE_TSX:
        IPTI_FIELD(uint8_t, tsx.intx, 1, 0, 1, 0)
        IPTI_FIELD(uint8_t, tsx.abrt, 1, 1, 1, 0)
        break;

    /* MTC: mini time counter              SDM: "Mini Time Counter (MTC) Packet"
     *   1  |        CTC[N+7:N]              |   N: RTIT_CTL.MTCFreq */
    case IPT_PKT_MTC:
        IPTI_FIELD(uint8_t, mtc.ctc, 1, 0, 8, 0)
        break;

    /* MNT: maintenance                    SDM: "Maintenance (MNT) Packet"
     *   2  |        88                      |
     *  3-10|        payload                 | */
    case IPT_PKT_MNT:
        if (!to && p[2] != IPTI_MNT_3RD)
            return 0;
        IPTI_FIELD(uint64_t, mnt.payload, 3, 0, 64, 0)
        break;

    /* EXSTOP: execution stop              SDM: "EXSTOP Packet"
     *   1  | IP| 1   1   0   0   0   1   0 | */
    case IPT_PKT_EXSTOP:
        IPTI_FIELD(uint8_t, exstop.has_ip, 1, 7, 1, 0)
        break;

    /* MWAIT: EAX and ECX[1:0] of MWAIT    SDM: "MWAIT Packet"
     *  2-5 |        hints                   |
     *  6-9 |        extensions              | */
    case IPT_PKT_MWAIT:
        IPTI_FIELD(uint32_t, mwait.hints, 2, 0, 32, 0)
        IPTI_FIELD(uint32_t, mwait.ext, 6, 0, 32, 0)
        break;

    /* PWRE: power entry                   SDM: "Power Entry (PWRE) Packet"
     *        7   6   5   4   3   2   1   0
     *   2  | HW|           |HW'|           |   HW' is where libipt has it
     *   3  | C-state       | sub C-state   | */
    case IPT_PKT_PWRE:
        IPTI_FIELD(uint8_t, pwre.hw, 2, 3, 1, 0)
        IPTI_FIELD(uint8_t, pwre.sub_state, 3, 0, 4, 0)
        IPTI_FIELD(uint8_t, pwre.state, 3, 4, 4, 0)
        if (!to)
            packet->u.pwre.hw |= p[2] >> 7;
        break;

    /* PWRX: power exit                    SDM: "Power Exit (PWRX) Packet"
     *        7   6   5   4   3   2   1   0
     *   2  | last core C   | deepest core C|
     *   3  |               |HWA| ST|   |INT|   wake reason
     *  4-6 |        reserved                | */
    case IPT_PKT_PWRX:
        IPTI_FIELD(uint8_t, pwrx.deepest, 2, 0, 4, 0)
        IPTI_FIELD(uint8_t, pwrx.last, 2, 4, 4, 0)
        IPTI_FIELD(uint8_t, pwrx.interrupt, 3, 0, 1, 0)
        IPTI_FIELD(uint8_t, pwrx.store, 3, 2, 1, 0)
        IPTI_FIELD(uint8_t, pwrx.autonomous, 3, 3, 1, 0)
        break;

    /* PTW: operand of PTWRITE             SDM: "PTWRITE (PTW) Packet"
     *        7   6   5   4   3   2   1   0
     *   1  | IP| 0 |plc| 1   0   0   1   0 |   plc 0: 4, 1: 8 payload bytes
     *  2-. |        payload                 | */
    case IPT_PKT_PTW:
        IPTI_FIELD(uint8_t, ptw.plc, 1, 5, 1, 0)
        IPTI_FIELD(uint8_t, ptw.has_ip, 1, 7, 1, 0)
        IPTI_FIELD(uint64_t, ptw.payload, 2, 0, size == 10 ? 64 : 32, 0)
        break;

    /* BBP: begin of a PEBS block          SDM: "Block Begin Packet (BBP)"
     *        7   6   5   4   3   2   1   0
     *   2  | SZ|       | type              |   SZ 1: 4, 0: 8 bytes an item */
    case IPT_PKT_BBP:
        IPTI_FIELD(uint8_t, bbp.type, 2, 0, 5, 0)
        IPTI_FIELD(uint8_t, bbp.sz, 2, 7, 1, 0)
        break;

    /* BIP: an item of a PEBS block        SDM: "Block Item Packet (BIP)"
     *        7   6   5   4   3   2   1   0
     *   0  | id                | 1   0   0 |
     *  1-. |        payload                 | */
    case IPT_PKT_BIP:
        packet->u.bip.sz = size == 5;
        IPTI_FIELD(uint8_t, bip.id, 0, 3, 5, 0)
        IPTI_FIELD(uint64_t, bip.payload, 1, 0, size * 8 - 8, 0)
        break;

    /* BEP: end of a PEBS block            SDM: "Block End Packet (BEP)"
     *   1  | IP| 0   1   1   0   0   1   1 | */
    case IPT_PKT_BEP:
        IPTI_FIELD(uint8_t, bep.has_ip, 1, 7, 1, 0)
        break;

    /* CFE: control-flow event         SDM: "Control Flow Event (CFE) Packet"
     *        7   6   5   4   3   2   1   0
     *   2  | IP|       | type              |
     *   3  |        vector                  | */
    case IPT_PKT_CFE:
        IPTI_FIELD(uint8_t, cfe.type, 2, 0, 5, 0)
        IPTI_FIELD(uint8_t, cfe.has_ip, 2, 7, 1, 0)
        IPTI_FIELD(uint8_t, cfe.vector, 3, 0, 8, 0)
        break;

    /* EVD: event data                     SDM: "Event Data (EVD) Packet"
     *        7   6   5   4   3   2   1   0
     *   2  |       | type                  |
     *  3-10|        payload                 | */
    case IPT_PKT_EVD:
        IPTI_FIELD(uint8_t, evd.type, 2, 0, 6, 0)
        IPTI_FIELD(uint64_t, evd.payload, 3, 0, 64, 0)
        break;

    /* TRIG: trigger                       SDM: "Trigger Tracing"
     *        7   6   5   4   3   2   1   0
     *   1  | IP|ICV|MUL|                   |   ICV: bytes 3-4 are there
     *   2  |        TRBV                    |
     *  3-4 |        ICNT                    | */
    case IPT_PKT_TRIG:
        IPTI_FIELD(uint8_t, trig.mult, 1, 5, 1, 0)
        IPTI_FIELD(uint8_t, trig.icntv, 1, 6, 1, 0)
        IPTI_FIELD(uint8_t, trig.has_ip, 1, 7, 1, 0)
        IPTI_FIELD(uint8_t, trig.trbv, 2, 0, 8, 0)
        IPTI_FIELD(uint16_t, trig.icnt, 3, 0, 16, 0)
        if (size == 3)
            packet->u.trig.icnt = 0;
        break;

    default:
        break;
    }
    return fits;
}
#undef IPTI_FIELD

/* Fill out->u. */
static IPTI_HOT int ipti_load(ipt_packet *out, const uint8_t *p, uint8_t type,
                     uint32_t size)
{
    return ipti_fields(out, p, NULL, type, size);
}

/* [cov]: the fields of a packet whose type is known already. */
static inline void ipti_load_exec(ipt_packet *out, const uint8_t *p)
{
    (void) ipti_fields(out, p, NULL, IPT_PKT_MODE_EXEC, IPTI_SIZE_MODE_EXEC);
}

static inline void ipti_load_pip(ipt_packet *out, const uint8_t *p)
{
    (void) ipti_fields(out, p, NULL, IPT_PKT_PIP, IPTI_SIZE_PIP);
}

static inline void ipti_load_vmcs(ipt_packet *out, const uint8_t *p)
{
    (void) ipti_fields(out, p, NULL, IPT_PKT_VMCS, IPTI_SIZE_VMCS);
}

static inline int ipti_load_tma(ipt_packet *out, const uint8_t *p)
{
    return ipti_fields(out, p, NULL, IPT_PKT_TMA, IPTI_SIZE_TMA)
               ? (int) IPT_OK
               : IPT_ERR_PACKET;
}

/* Ask config.unknown. It may return a size beyond the bytes that it got. */
static int ipti_pkt_unknown(const ipt_cursor_ *cur, uint64_t pos,
                            ipt_packet *out, const uint8_t *p, size_t n)
{
    const ipt_config *config = cur->config;
    ipt_packet mine; /* of which the callback has only u */
    int size;

    if (!config->unknown)
        return IPT_ERR_OPCODE;
    IPT_MEMSET(&mine, 0, sizeof(mine));
    mine.offset = pos;
    mine.type = IPT_PKT_UNKNOWN;
    ipti_fuel_burn(config, 1);
    size = config->unknown(&mine, p, n < IPTI_WINDOW ? n : IPTI_WINDOW,
                           config->context);
    if (size < 0)
        return IPT_ERR_OPCODE;
    if (size == 0 || size > 255)
        return IPT_ERR_CALLBACK;
    if (!ipti_cur_holds(cur, pos, (uint64_t) size))
        return IPT_MORE;
    IPTI_COPY(&out->u, &mine.u);
    return size;
}

#define IPTI_PKT(type) ((uint64_t) 1 << IPT_PKT_##type) /* in sets of types */

/* Packets that are about time or nothing at all. */
#define IPTI_PKT_NEUTRAL                                                 \
    (IPTI_PKT(PAD) | IPTI_PKT(TSC) | IPTI_PKT(TMA) | IPTI_PKT(MTC)       \
     | IPTI_PKT(CYC) | IPTI_PKT(CBR) | IPTI_PKT(MNT) | IPTI_PKT(PWRX)    \
     | IPTI_PKT(UNKNOWN) | IPTI_PKT(INVALID))

/* Packets of branches, which come only while tracing is enabled. */
#define IPTI_PKT_FLOW                                   \
    (IPTI_PKT(TNT_8) | IPTI_PKT(TNT_64) | IPTI_PKT(TIP) \
     | IPTI_PKT(TIP_PGD))

/* Is the packet in a set of types? Its type is below IPT_PKT_COUNT. */
static inline int ipti_pkt_in(uint64_t types, const ipt_packet *packet)
{
    return (int) (types >> packet->type & 1);
}

#define IPTI_BLOCK_SIZE 0x0f /* in ipt_cursor_.block: payload bytes an item */
#define IPTI_BLOCK_FUP 0x10  /* the next FUP is that of an EXSTOP inside */

/* PEBS blocks end with the first packet that is about flow; timing and power
 * packets may stand inside. SDM: "Block Item Packet (BIP)" */
static void ipti_pkt_block(ipt_cursor_ *cur, const ipt_packet *packet)
{
    const uint64_t inside
        = (IPTI_PKT_NEUTRAL | IPTI_PKT(BIP) | IPTI_PKT(PWRE))
          & ~IPTI_PKT(INVALID);

    if (packet->type == IPT_PKT_BBP)
        cur->block = packet->u.bbp.sz ? 4 : 8;
    else if (packet->type == IPT_PKT_EXSTOP)
        cur->block |= packet->u.exstop.has_ip ? IPTI_BLOCK_FUP : 0;
    else if (packet->type == IPT_PKT_FUP)
        cur->block = cur->block & IPTI_BLOCK_FUP
                         ? (uint8_t) (cur->block & IPTI_BLOCK_SIZE) : 0;
    else if (!ipti_pkt_in(inside, packet))
        cur->block = 0;
}

/* SKD007: an OVF may overwrite the second byte of a CYC, and its own second
 * byte follows. What reads as a CYC of two bytes is then one byte of a CYC and
 * "02 f3". Returns the size. */
static int ipti_pkt_skd007(uint8_t *type, const uint8_t *p, size_t n)
{
    if (p[1] != IPTI_FIRST_OVF)
        return 2;
    if (n < 3)
        return IPT_MORE;
    if (p[2] != IPTI_SECOND_OVF)
        return 2;
    *type = IPT_PKT_OVF;
    return 3;
}

#define IPTI_PADS 9 /* that are stepped over at once, at most */

/* The number of PADs at p, at least 1 and at most IPTI_PADS. Eight bytes after
 * the first one are read: the lowest bit among them is in the first byte that
 * is not a PAD. */
static IPTI_HOT unsigned ipti_pads(const uint8_t *p)
{
    const uint64_t next = ipti_le64(p + 1);

    return next ? 1 + ipti_low(next) / 8 : IPTI_PADS;
}

/* A run of PAD is one packet, up to this many of them. */
#define IPTI_PAD_RUN 4096

/* The number of PADs at p, where n bytes belong to the trace; at most
 * IPTI_PAD_RUN. */
static IPTI_APART uint32_t ipti_pkt_run(const uint8_t *p, size_t n)
{
    const uint32_t limit = n < IPTI_PAD_RUN ? (uint32_t) n : IPTI_PAD_RUN;
    uint32_t size = 0;

    while (limit - size >= IPTI_PADS && p[size] == IPTI_PAD)
        size += ipti_pads(p + size);
    while (size < limit && p[size] == IPTI_PAD)
        size++;
    return size;
}

/* After a PSB: step over further "02 82" pairs, which are part of it. */
static int ipti_pkt_pairs(ipt_cursor_ *cur, ipt_where *at)
{
    uint8_t window[IPTI_WINDOW];
    const uint8_t *p = window;
    size_t n;
    int status;

    for (;;) {
        if (ipti_fuel_empty(cur->config))
            return IPT_BUDGET;
        status = ipti_cur_bytes(cur, at->offset, window, &p, &n);
        if (status < 0)
            return status;
        if (cur->trace->open && (n == 0 || (n == 1 && p[0] == IPTI_FIRST_PSB))
            && !ipti_cur_gap(cur, at->offset))
            return IPT_MORE;
        if (n < 2 || !ipti_is_psb(p, 2))
            break;
        ipti_fuel_trace(cur->config, at->offset, at->offset + 2);
        at->offset += 2;
    }
    cur->state = IPTI_CUR_SYNC;
    return IPT_OK;
}

/* ---- searching a PSB: the last eight of a run of eight or more pairs ---- */

/* Advance *run, the length of the pattern that ends at the byte before, over
 * the bytes at p. Returns how many were used: all n, unless a PSB ended. */
static size_t ipti_psb_scan(const uint8_t *p, size_t n, uint32_t *run)
{
    uint32_t m = *run;
    size_t i;

    for (i = 0; i < n; i++) {
        uint8_t want = m & 1 ? IPTI_SECOND_PSB : IPTI_FIRST_PSB;
        if (p[i] == want)
            m = m < 18 ? m + 1 : m - 1; /* 17 and 18 stand for longer runs */
        else if (m >= IPTI_SIZE_PSB)
            break;
        else
            m = p[i] == IPTI_FIRST_PSB;
    }
    *run = m;
    return i;
}

/* How many of m bytes of the pattern may still become a PSB, or are one: a
 * search that goes on later needs them. */
static uint32_t ipti_psb_kept(uint32_t m)
{
    return m < IPTI_SIZE_PSB ? m : IPTI_SIZE_PSB + (m & 1);
}

/* Returns how many of the n bytes at p begin no PSB, by looking at each 16th:
 * if it is in none, no PSB begins at it or at the 15 before it. */
static size_t ipti_psb_none(const uint8_t *p, size_t n)
{
    const size_t last = n < IPTI_SIZE_PSB ? 0 : n - (IPTI_SIZE_PSB - 1);
    size_t i = 0;

    while (i < last
           && (p[i + IPTI_SIZE_PSB - 1] ^ IPTI_FIRST_PSB) & ~IPTI_PSB_BITS)
        i += IPTI_SIZE_PSB;
    return i;
}

/* Search forward from *pos with *run bytes of the pattern before it.
 *
 * returns  IPT_OK: a PSB ended at *pos, and *run is the length of its pattern
 *          1: there is none before *gap, the end of the gap at *pos
 *          IPT_END, IPT_MORE, IPT_BUDGET */
static int ipti_psb_search(ipt_cursor_ *cur, uint64_t *pos, uint32_t *run,
                           uint64_t *gap)
{
    const ipt_config *config = cur->config;
    uint8_t window[IPTI_WINDOW];
    const uint8_t *p = window;
    size_t used = 0;
    size_t n = 0;
    int status;

    while (used == n) {
        status = ipti_cur_bytes(cur, *pos, window, &p, &n);
        if (status < 0)
            return status;
        if (n == 0) {
            *gap = ipti_cur_gap(cur, *pos);
            if (!*gap && cur->trace->open)
                return IPT_MORE; /* further pairs would be part of the PSB */
            if (*run >= IPTI_SIZE_PSB)
                break;
            return *gap ? 1 : (int) IPT_END;
        }
        if (ipti_fuel_empty(config))
            return IPT_BUDGET;
        if (config->fuel && n / 16 >= *config->fuel)
            n = (size_t) (*config->fuel * 16);
        used = *run ? 0 : ipti_psb_none(p, n);
        if (n - used > 4 * IPTI_SIZE_PSB) /* and then by each 16th again */
            n = used + 4 * IPTI_SIZE_PSB;
        used += ipti_psb_scan(p + used, n - used, run);
        ipti_fuel_trace(config, *pos, *pos + used);
        *pos += used;
    }
    return IPT_OK;
}

/* ---- gaps: trace that was lost ---- */

/* Count the trace up to `to` as skipped, from where it was counted before. */
static void ipti_at_skip(ipt_where *at, uint64_t to)
{
    at->skipped += to - at->skip_to;
    at->skip_to = to;
}

/* Make one packet of the bytes from at->offset up to `end`, where a gap ends.
 * Nothing after it is decoded before the next PSB. */
static int ipti_pkt_gap(ipt_cursor_ *cur, ipt_where *at, ipt_packet *out,
                        uint64_t end)
{
    const uint64_t lost = end - at->offset;

    if (cur->state != IPTI_CUR_GAP)
        at->skip_from = at->skip_to = at->offset;
    at->packet_offset = at->offset;
    at->packet = IPT_PKT_GAP;
    at->gaps++;
    out->offset = at->offset;
    out->type = IPT_PKT_GAP;
    out->size = lost < UINT32_MAX ? (uint32_t) lost : UINT32_MAX;
    out->u.gap.lost = lost;
    cur->state = IPTI_CUR_GAP; /* up to a PSB, which ends cur->block */
    cur->run = 0;
    cur->quick = 0;
    cur->limit = end;
    at->offset = end;
    ipti_at_skip(at, end);
    ipti_fuel_burn(cur->config, 1);
    return IPT_OK;
}

/* After a gap: go to the next PSB. Returns 1 if another gap comes first, which
 * is the packet. */
static int ipti_pkt_resync(ipt_cursor_ *cur, ipt_where *at, ipt_packet *out)
{
    uint64_t pos = at->offset;
    uint64_t gap = 0;
    uint32_t run = cur->run;
    int status = ipti_psb_search(cur, &pos, &run, &gap);

    cur->limit = pos - ipti_psb_kept(run);
    ipti_at_skip(at, cur->limit);
    cur->run = (uint8_t) run;
    at->offset = pos;
    if (status == IPT_OK) {
        at->offset = cur->limit;
        at->resyncs++;
        cur->state = IPTI_CUR_SYNC;
    } else if (status > 0) {
        (void) ipti_pkt_gap(cur, at, out, gap);
    }
    return status;
}

/* Keep what a packet means to the cursor: a PEBS block begins, goes on or ends;
 * a PSB is the last one seen, and pairs after it belong to it; an OVF
 * counts. */
static inline void ipti_pkt_note(ipt_cursor_ *cur, ipt_where *at,
                                 const ipt_packet *packet, const uint8_t *p,
                                 size_t n)
{
    if (IPTI_UNLIKELY(cur->block || packet->type == IPT_PKT_BBP)) {
        ipti_pkt_block(cur, packet);
        cur->quick = 0;
    }
    if (packet->type == IPT_PKT_PSB) {
        cur->limit = at->offset + IPTI_SIZE_PSB;
        at->sync = at->offset;
        at->valid |= IPT_AT_SYNC;
        if (n < IPTI_SIZE_PSB + 2 || ipti_is_psb(p + IPTI_SIZE_PSB, 2)) {
            cur->state = IPTI_CUR_PSB;
            cur->quick = 0;
        }
    } else if (packet->type == IPT_PKT_OVF) {
        at->overflows++;
    }
}

/* Any packet except those of ipti_pkt_tnt and ipti_pkt_pad_ip. Returns its
 * size, or IPT_MORE if n bytes do not hold it. *type is always set, out->u only
 * on success. */
static int ipti_pkt_other(const ipt_cursor_ *cur, uint64_t pos,
                          ipt_packet *out, uint8_t *type, const uint8_t *p,
                          size_t n)
{
    const uint32_t errata = cur->config->errata;
    int fits;
    int size;

    if (cur->block && (p[0] & IPTI_BIP_MASK) == IPTI_BIP) {
        *type = IPT_PKT_BIP;
        size = 1 + (cur->block & IPTI_BLOCK_SIZE);
    } else {
        size = ipti_shape(p, n, type);
    }
    if (size == IPT_ERR_OPCODE) {
        if (cur->config->unknown)
            *type = IPT_PKT_UNKNOWN;
        return ipti_pkt_unknown(cur, pos, out, p, n);
    }
    if (size < 0)
        return size;
    if ((size_t) size > n)
        return IPT_MORE;
    if (errata & IPT_ERRATUM_SKD007 && *type == IPT_PKT_CYC && size == 2
        && (n > 2 || (cur->trace->open && !ipti_cur_gap(cur, pos)))
        && (size = ipti_pkt_skd007(type, p, n)) < 0)
        return size;
    fits = ipti_load(out, p, *type, (uint32_t) size);
    /* SKZ84: under VMX TSC scaling or offsetting a TMA may be corrupt, and one
     * more byte follows. Nothing of it is of use. */
    if (!fits && errata & IPT_ERRATUM_SKZ84 && *type == IPT_PKT_TMA) {
        *type = IPT_PKT_INVALID;
        return n > IPTI_SIZE_TMA ? IPTI_SIZE_TMA + 1 : (int) IPT_MORE;
    }
    return fits ? size : (int) IPT_ERR_PACKET;
}

/* A table for TNT-8 by its byte b, which is even. [b]: how many bits; [b + 1]:
 * which bits. */
#define IPTI_TNT_1(b, n) n, (b) >> 1 & ((1 << (n)) - 1)
#define IPTI_TNT_2(b, n) IPTI_TNT_1(b, n), IPTI_TNT_1((b) + 2, n)
#define IPTI_TNT_4(b, n) IPTI_TNT_2(b, n), IPTI_TNT_2((b) + 4, n)
#define IPTI_TNT_8(b, n) IPTI_TNT_4(b, n), IPTI_TNT_4((b) + 8, n)
#define IPTI_TNT_16(b, n) IPTI_TNT_8(b, n), IPTI_TNT_8((b) + 16, n)
#define IPTI_TNT_32(b, n) IPTI_TNT_16(b, n), IPTI_TNT_16((b) + 32, n)
static const uint8_t ipti_tnts[256]
    = {0, 0, 0, 0, IPTI_TNT_2(4, 1), IPTI_TNT_4(8, 2), IPTI_TNT_8(16, 3),
       IPTI_TNT_16(32, 4), IPTI_TNT_32(64, 5), IPTI_TNT_32(128, 6),
       IPTI_TNT_32(192, 6)};

/* What most of a trace is made of, at p, where 16 bytes can be read:
 *
 *   TNT-8   | 0 .. 0  1  b1 b2 .. bN      0 |  see ipti_load_tnt
 *   PAD     | 0   0   0   0   0   0   0   0 |  fewer than 16 of them
 *   IP      | IPBytes   | opcode            |  TIP, TIP.PGE, TIP.PGD, FUP:
 *   1-.     |        payload                |  SDM: "Target IP (TIP) Packet"
 *
 * Each returns the size, or 0 if it is another packet: nothing is written then.
 * TNT and the rest are told apart by a branch, so that the processor goes on
 * before it has this byte. The size of IP packets comes from a table, because a
 * branch on it would often be predicted wrong. */
static IPTI_HOT uint64_t ipti_pkt_tnt(ipt_packet *out, const uint8_t *p)
{
    const size_t first = p[0];

    if (first % 2 || first <= IPTI_EXT)
        return 0;
    out->type = IPT_PKT_TNT_8;
    out->u.tnt.bits = ipti_tnts[first + 1];
    out->u.tnt.count = ipti_tnts[first];
    return 1;
}

static IPTI_HOT uint64_t ipti_pkt_pad(ipt_packet *out, const uint8_t *p)
{
    uint64_t size = p[0] == IPTI_PAD ? ipti_pads(p) : IPTI_WINDOW;

    if (size == IPTI_PADS) /* or more: look at the other bytes, too */
        size = 7 + ipti_pads(p + 7);
    if (IPTI_UNLIKELY(size == IPTI_WINDOW))
        return 0;
    out->type = IPT_PKT_PAD;
    return size;
}

static IPTI_HOT uint64_t ipti_pkt_pad_ip(ipt_packet *out, const uint8_t *p)
{
    const size_t first = p[0];
    const size_t ipc = first >> 5;
    uint64_t size;

    if (first % 2 == 0)
        return ipti_pkt_pad(out, p);
    size = ipti_ips[first];
    if (IPTI_UNLIKELY(!size))
        return 0;
    out->type = ipti_ips[first - 1];
    out->u.ip.ipc = (uint8_t) ipc;
    out->u.ip.payload = ipti_le64(p + 1) & ipti_ip_mask[ipc];
    return size;
}

/* MTC, and CYC of one or two bytes, of which a trace with exact times is full.
 * Returns as ipti_pkt_pad_ip, which is asked first. */
static inline uint64_t ipti_pkt_clock(ipt_packet *out, const uint8_t *p,
                                      uint32_t errata)
{
    const uint8_t first = p[0];
    const uint32_t size = first & 4 ? 2 : 1;

    if ((first & IPTI_CYC_MASK) != IPTI_CYC) {
        if (first != IPTI_FIRST_MTC)
            return 0;
        out->type = IPT_PKT_MTC;
        out->u.mtc.ctc = p[1];
        return IPTI_SIZE_MTC;
    }
    if (size == 2 && (p[1] & 1 || errata & IPT_ERRATUM_SKD007))
        return 0;
    out->type = IPT_PKT_CYC;
    out->u.cyc.value = first >> 3;
    if (size == 2)
        out->u.cyc.value |= (uint64_t) (p[1] >> 1) << 5;
    return size;
}

/* Step over a packet of which type and payload are there already. */
static IPTI_HOT void ipti_pkt_step(ipt_where *at, ipt_packet *out, uint64_t pos,
                                   uint64_t size)
{
    out->offset = pos;
    out->size = (uint32_t) size;
    at->packet_offset = pos;
    at->packet = out->type;
    at->offset = pos + size;
    at->release = pos + size - IPTI_SWALLOWED;
}

/* The shape of a packet that no function above reads; 0, or one without a size,
 * if it is another. */
static IPTI_HOT unsigned ipti_pkt_form(const uint8_t *p)
{
    if (p[0] == IPTI_EXT)
        return ipti_ext(p[1]);
    if (p[0] == IPTI_MODE && p[1] < IPTI_SECOND_MODE_TSX)
        return IPTI_SHAPE(IPT_PKT_MODE_EXEC, IPTI_SIZE_MODE_EXEC);
    return p[0] == IPTI_FIRST_TSC ? IPTI_SHAPE(IPT_PKT_TSC, IPTI_SIZE_TSC) : 0;
}

/* As ipti_pkt_parse, where `quick` holds, for a packet of such a shape that
 * changes nothing of the cursor. Returns 0 if it is another: nothing but out->u
 * has changed then. */
static IPTI_HOT int ipti_pkt_plain(ipt_where *at, ipt_packet *out,
                                   const uint8_t *p)
{
    const unsigned shape = ipti_pkt_form(p);
    const uint8_t type = (uint8_t) shape;
    const uint32_t size = shape >> IPTI_SHAPE_SIZE;

    if (IPTI_UNLIKELY(size - 1 >= IPTI_SIZE_PSB - 1 || type == IPT_PKT_BBP
                      || !ipti_load(out, p, type, size)))
        return 0;
    out->type = type;
    if (type == IPT_PKT_OVF)
        at->overflows++;
    ipti_pkt_step(at, out, at->offset, size);
    return 1;
}

/* Get to a packet where the cursor is at none: after a PSB, after a gap, or not
 * synchronised. Returns 1 if another gap was found, which is the packet. */
static IPTI_APART int ipti_pkt_ready(ipt_cursor_ *cur, ipt_where *at,
                                     ipt_packet *out)
{
    if (cur->state == IPTI_CUR_PSB)
        return ipti_pkt_pairs(cur, at);
    return cur->state == IPTI_CUR_GAP ? ipti_pkt_resync(cur, at, out)
                                      : (int) IPT_ERR_NOSYNC;
}

/* There is no packet at at->offset (`none`), or only a part of one: a gap cut
 * it, more trace may come, or the trace ends. */
static int ipti_pkt_cut(ipt_cursor_ *cur, ipt_where *at, ipt_packet *out,
                        int none)
{
    const uint64_t gap = ipti_cur_gap(cur, at->offset);

    if (gap)
        return ipti_pkt_gap(cur, at, out, gap);
    if (cur->trace->open)
        return IPT_MORE;
    return none ? IPT_END : IPT_ERR_TRUNCATED;
}

/* The size and type of whatever packet is at p, and its fields in out->u. 16
 * bytes at p can be read, of which n belong to the trace. Returns as
 * ipti_pkt_other. */
static int ipti_pkt_shape(const ipt_cursor_ *cur, uint64_t pos,
                          ipt_packet *out, uint8_t *type, const uint8_t *p,
                          size_t n)
{
    int size = 0;

    if (p[0] == IPTI_PAD) {
        *type = IPT_PKT_PAD;
        return (int) ipti_pkt_run(p, n);
    }
    if (p[0] != IPTI_EXT
        && (!cur->block || (p[0] & IPTI_BIP_MASK) != IPTI_BIP)) {
        if (p[0] % 2 && ipti_ips[p[0]] > n) {
            *type = ipti_ips[p[0] - 1];
            return IPT_MORE;
        }
        size = (int) ipti_pkt_tnt(out, p);
        if (!size)
            size = (int) ipti_pkt_pad_ip(out, p);
        if (size)
            *type = out->type;
    }
    return size ? size : ipti_pkt_other(cur, pos, out, type, p, n);
}

/* Decode the packet at p and step over it. A negative status writes none. */
static IPTI_APART int ipti_pkt_parse(ipt_cursor_ *cur, ipt_where *at,
                                     ipt_packet *packet, const uint8_t *p,
                                     size_t n)
{
    const uint64_t pos = at->offset;
    uint8_t type = IPT_PKT_NONE;
    const int size = ipti_pkt_shape(cur, pos, packet, &type, p, n);

    at->packet_offset = pos;
    at->packet = type;
    if (size < 0)
        return size == IPT_MORE ? ipti_pkt_cut(cur, at, packet, 0) : size;
    packet->offset = pos;
    packet->type = type;
    packet->size = (uint32_t) size;
    ipti_cur_pay(cur, pos, pos + packet->size);
    ipti_pkt_note(cur, at, packet, p, n);
    at->offset = pos + packet->size;
    return IPT_OK;
}

/* Decode the packet at at->offset, wherever its bytes lie, and step over it. */
static IPTI_APART int ipti_pkt_read(ipt_cursor_ *cur, ipt_where *at,
                                    ipt_packet *packet)
{
    uint8_t window[IPTI_WINDOW];
    const uint8_t *p;
    size_t n;
    int status;

    ipti_cur_pay(cur, at->offset, at->offset);
    if (ipti_fuel_empty(cur->config))
        return IPT_BUDGET;
    status = ipti_cur_bytes(cur, at->offset, window, &p, &n);
    if (status < 0)
        return status;
    if (n == 0)
        return ipti_pkt_cut(cur, at, packet, 1);
    status = ipti_pkt_parse(cur, at, packet, p, n);
    ipti_cur_quicken(cur, at);
    return status;
}

/* Decode the next packet, whatever the cursor's state is, and step over it. */
static IPTI_PART int ipti_pkt_any(ipt_cursor_ *cur, ipt_where *at,
                                 ipt_packet *packet)
{
    const uint8_t *p;
    int status = IPT_OK;

    if (IPTI_LIKELY(ipti_cur_quick(cur, at->offset))) {
        p = ipti_cur_at(cur, at->offset);
        if (ipti_pkt_plain(at, packet, p))
            return IPT_OK;
        return ipti_pkt_parse(cur, at, packet, p,
                              cur->trace->seg[cur->seg].size
                                  - (size_t) (at->offset - cur->begin));
    }
    if (cur->state != IPTI_CUR_SYNC)
        status = ipti_pkt_ready(cur, at, packet);
    if (status)
        return status < 0 ? status : (int) IPT_OK;
    return ipti_pkt_read(cur, at, packet);
}

/* As ipti_pkt_plain for a packet of the common kinds. */
static IPTI_HOT int ipti_pkt_quick(const ipt_cursor_ *cur, ipt_where *at,
                                   ipt_packet *out, const uint8_t *p)
{
    const uint64_t pos = at->offset;
    uint64_t size;

    if (IPTI_LIKELY(ipti_pkt_tnt(out, p))) {
        ipti_pkt_step(at, out, pos, 1);
        return 1;
    }
    size = ipti_pkt_pad_ip(out, p);
    if (size) {
        ipti_pkt_step(at, out, pos, size);
        return 1;
    }
    size = ipti_pkt_clock(out, p, cur->config->errata);
    if (!size)
        return 0;
    ipti_pkt_step(at, out, pos, size);
    return 1;
}

/* ---- encode ---- */

/* A whole number of bytes at p, from the low end of value. */
static void ipti_put_bytes(uint8_t *p, uint64_t value, unsigned n)
{
    unsigned i;

    for (i = 0; i < n; i++)
        p[i] = (uint8_t) (value >> (8 * i));
}

static int ipti_store_tnt(uint8_t *p, const ipt_packet *packet)
{
    const int small = packet->type == IPT_PKT_TNT_8;
    uint8_t count = packet->u.tnt.count;
    uint64_t bits = packet->u.tnt.bits;

    if (count > (small ? 6 : 47) || (small && count == 0) || bits >> count)
        return IPT_ERR_PACKET;
    bits |= (uint64_t) 1 << count;
    if (small) {
        p[0] = (uint8_t) (bits << 1);
        return 1;
    }
    ipti_put_bytes(p + 2, bits, 6); /* the opcode is there */
    return IPTI_SIZE_TNT_64;
}

static int ipti_store_ip(uint8_t *p, const ipt_packet *packet)
{
    static const uint8_t opcodes[4]
        = {IPTI_TIP, IPTI_TIP_PGE, IPTI_TIP_PGD, IPTI_FUP};
    const uint8_t ipc = packet->u.ip.ipc;
    unsigned size;

    if (ipc > 7)
        return IPT_ERR_PACKET;
    p[0] = (uint8_t) (ipc << 5 | opcodes[packet->type - IPT_PKT_TIP]);
    size = ipti_ips[p[0]];
    if (!size || packet->u.ip.payload & ~ipti_ip_mask[ipc])
        return IPT_ERR_PACKET;
    ipti_put_bytes(p + 1, packet->u.ip.payload, size - 1);
    return (int) size;
}

static int ipti_store_cyc(uint8_t *p, const ipt_packet *packet)
{
    uint64_t rest = packet->u.cyc.value;
    int size = 1;

    p[0] = (uint8_t) ((rest & 0x1f) << 3 | IPTI_CYC);
    rest >>= 5;
    if (rest)
        p[0] |= 4;
    while (rest) {
        p[size] = (uint8_t) ((rest & 0x7f) << 1 | (rest >> 7 != 0));
        rest >>= 7;
        size++;
    }
    return size;
}

/* Write the opcode of a packet of one size. Returns its size, 0: another. */
static int ipti_store_opcode(uint8_t *p, uint8_t type)
{
    unsigned i;

    for (i = 0; i < sizeof(ipti_forms) / sizeof(ipti_forms[0]); i++) {
        if (ipti_forms[i].type == type) {
            p[0] = ipti_forms[i].first;
            p[1] = ipti_forms[i].second;
            return ipti_forms[i].size;
        }
    }
    return 0;
}

IPT_API int ipt_pkt_encode(uint8_t *buffer, size_t size,
                           const ipt_packet *packet)
{
    uint8_t bytes[IPTI_WINDOW];
    ipt_packet copy;
    int used;

    if (!buffer || !packet)
        return IPT_ERR_ARG;
    if (packet->type == IPT_PKT_PAD) {
        if (packet->size == 0 || packet->size > INT32_MAX)
            return IPT_ERR_PACKET;
        if (packet->size > size)
            return IPT_ERR_ROOM;
        IPT_MEMSET(buffer, IPTI_PAD, packet->size);
        return (int) packet->size;
    }
    IPTI_COPY(&copy, packet);
    IPT_MEMSET(bytes, 0, sizeof(bytes));
    used = ipti_store_opcode(bytes, packet->type);
    switch (packet->type) {
    case IPT_PKT_PSB:
        IPT_MEMCPY(bytes, ipti_psb, IPTI_SIZE_PSB);
        break;
    case IPT_PKT_TNT_8:
    case IPT_PKT_TNT_64:
        used = ipti_store_tnt(bytes, packet);
        break;
    case IPT_PKT_TIP:
    case IPT_PKT_TIP_PGE:
    case IPT_PKT_TIP_PGD:
    case IPT_PKT_FUP:
        used = ipti_store_ip(bytes, packet);
        break;
    case IPT_PKT_CYC:
        used = ipti_store_cyc(bytes, packet);
        break;
    case IPT_PKT_MNT:
        bytes[2] = IPTI_MNT_3RD;
        break;
    case IPT_PKT_PTW:
        bytes[0] = IPTI_EXT;
        bytes[1] = IPTI_PTW;
        used = packet->u.ptw.plc ? 10 : 6;
        break;
    case IPT_PKT_BIP:
        if (packet->u.bip.sz > 1)
            return IPT_ERR_PACKET;
        bytes[0] = IPTI_BIP;
        used = packet->u.bip.sz ? 5 : 9;
        break;
    case IPT_PKT_TRIG:
        bytes[0] = IPTI_TRIG;
        used = packet->u.trig.icntv ? 5 : 3;
        break;
    default:
        break;
    }
    if (used <= 0 || !ipti_fields(&copy, NULL, bytes, packet->type,
                                  (uint32_t) used))
        return IPT_ERR_PACKET;
    if ((size_t) used > size)
        return IPT_ERR_ROOM;
    IPT_MEMCPY(buffer, bytes, (size_t) used);
    return used;
}

/* Only these packets have an IP, and only PSB and OVF forget the last one. */
IPT_API int ipt_pkt_last_ip(uint64_t *last_ip, const ipt_packet *packet)
{
    if (!last_ip || !packet)
        return IPT_ERR_ARG;
    if (packet->type == IPT_PKT_PSB || packet->type == IPT_PKT_OVF)
        *last_ip = 0;
    if (packet->type < IPT_PKT_TIP || packet->type > IPT_PKT_FUP)
        return 0;
    *last_ip = ipti_ip_after(*last_ip, packet->u.ip.ipc & 7,
                             packet->u.ip.payload);
    return packet->u.ip.ipc != 0;
}

/* ---- decoder ---- */

IPT_API int ipt_pkt_init(ipt_pkt_decoder *decoder, const ipt_config *config,
                         const ipt_trace *trace)
{
    if (!decoder)
        return IPT_ERR_ARG;
    IPT_MEMSET(decoder, 0, sizeof(*decoder));
    return ipti_made(
        &decoder->magic_, sizeof(*decoder),
        ipti_cur_init(&decoder->cur_, &decoder->at, config, trace));
}

/* Not inlined, so that ipt_pkt_next saves no registers for it. */
static IPTI_APART int ipti_pkt_slow(ipt_pkt_decoder *decoder,
                                    ipt_packet *packet)
{
    return ipti_leave(&decoder->cur_, &decoder->at,
                      ipti_pkt_any(&decoder->cur_, &decoder->at, packet));
}

/* Where `quick` holds, for what ipti_pkt_quick does not know. */
static IPTI_APART int ipti_pkt_rare(ipt_pkt_decoder *decoder,
                                    ipt_packet *packet, const uint8_t *p)
{
    if (ipti_pkt_plain(&decoder->at, packet, p))
        return IPT_OK;
    return ipti_pkt_slow(decoder, packet);
}

IPT_API int ipt_pkt_next(ipt_pkt_decoder *decoder, ipt_packet *packet)
{
    const uint8_t *p;

    if (IPTI_BAD_CALL(decoder, packet))
        return IPTI_CALL_ERROR(decoder);
    if (IPTI_UNLIKELY(!ipti_cur_quick(&decoder->cur_, decoder->at.offset)))
        return ipti_pkt_slow(decoder, packet);
    p = ipti_cur_at(&decoder->cur_, decoder->at.offset);
    if (IPTI_UNLIKELY(!ipti_pkt_quick(&decoder->cur_, &decoder->at, packet, p)))
        return ipti_pkt_rare(decoder, packet, p);
    return IPT_OK;
}

/* ==========================================================================
 * [sync]  PSB forward, backward, at an offset
 *                               SDM: "Packet Stream Boundary (PSB) Packet"
 * Uses: [base], [pkt].  State: ipt_cursor_.
 *
 * A PSB is the last eight of a run of eight or more "02 82" pairs.
 * ========================================================================== */

/* Be synchronised to the PSB at `offset`. What was known from trace before it
 * is forgotten. */
static IPTI_APART void ipti_sync_found(ipt_cursor_ *cur, ipt_where *at,
                                       uint64_t offset)
{
    at->offset = offset;
    at->release = offset;
    at->sync = offset;
    at->valid = IPT_AT_SYNC;
    ipti_asid_unknown(&at->asid);
    at->tsc = 0;
    at->lost_mtc = 0;
    at->lost_cyc = 0;
    at->cbr = 0;
    at->error = 0;
    cur->state = IPTI_CUR_SYNC;
    cur->block = 0;
    cur->quick = 0;
    cur->limit = offset + IPTI_SIZE_PSB;
}

/* A search that ran out of trace or fuel goes on where it stopped, with the
 * bytes of the pattern that it had met. A new one begins 15 bytes early, but
 * not before the end of the last PSB or gap. */
static int ipti_sync_forward(ipt_cursor_ *cur, ipt_where *at)
{
    uint64_t pos = at->offset;
    uint32_t run = 0;
    uint64_t least;
    uint64_t gap;
    int status;

    ipti_cur_pay(cur, pos, pos);
    cur->quick = 0;
    if (cur->state == IPTI_CUR_FORWARD) {
        run = cur->run;
    } else {
        at->skip_from = at->skip_to = pos;
        least = cur->limit > cur->trace->offset ? cur->limit
                                                : cur->trace->offset;
        pos = pos > least + IPTI_SWALLOWED ? pos - IPTI_SWALLOWED : least;
    }
    while ((status = ipti_psb_search(cur, &pos, &run, &gap)) > 0) {
        pos = gap;
        run = 0;
        at->gaps++;
    }
    if (status == IPT_OK) {
        pos -= ipti_psb_kept(run);
        if (pos > at->skip_from) {
            ipti_at_skip(at, pos);
            at->resyncs++;
        } else {
            at->skip_from = at->skip_to = pos;
        }
        ipti_sync_found(cur, at, pos);
    } else if (status != IPT_END && status != IPT_ERR_GONE) {
        cur->state = IPTI_CUR_FORWARD;
        cur->run = (uint8_t) run;
        cur->limit = pos - ipti_psb_kept(run);
        at->offset = pos;
    }
    return status;
}

/* Does a PSB begin at pos, to which the cursor was moved? Returns 2 if a ninth
 * pair follows. Not charged to fuel: it crosses at most 16 pieces. */
static int ipti_sync_here(ipt_cursor_ *cur, uint64_t pos)
{
    uint8_t window[IPTI_WINDOW];
    const uint8_t *p;
    size_t n;

    (void) ipti_cur_bytes(cur, pos, window, &p, &n);
    if (n < IPTI_SIZE_PSB || !ipti_is_psb(p, IPTI_SIZE_PSB))
        return 0;
    (void) ipti_cur_bytes(cur, pos + IPTI_SIZE_PSB, window, &p, &n);
    return n >= 2 && ipti_is_psb(p, 2) ? 2 : 1;
}

/* Set *limit: a search backward finds PSBs that begin below it. That is the
 * position or, if the decoder was not synchronised yet, the end of the
 * trace. */
static int ipti_sync_limit(ipt_cursor_ *cur, uint64_t offset, uint64_t *limit)
{
    const int all = cur->state == IPTI_CUR_NOSYNC
                    || cur->state == IPTI_CUR_FORWARD;
    int status;
    uint64_t end;

    ipti_cur_pay(cur, offset, offset);
    status = ipti_cur_seek(cur, all ? UINT64_MAX : offset);
    end = ipti_cur_piece_end(cur);
    *limit = all || offset > end ? end : offset;
    return status;
}

/* Byte by byte, as a PSB is rare and going backward rarer. Of a run of more
 * than eight pairs the last eight are the PSB, and they come first here. */
static int ipti_sync_backward(ipt_cursor_ *cur, ipt_where *at)
{
    const uint64_t begin = cur->trace->offset;
    uint8_t gaps = cur->state == IPTI_CUR_BACKWARD && cur->run; /* passed */
    uint64_t pos;
    int status = ipti_sync_limit(cur, at->offset, &pos);

    if (status < 0)
        return status;
    while (pos > begin) {
        status = ipti_fuel_empty(cur->config) ? (int) IPT_BUDGET
                                              : ipti_cur_seek(cur, pos - 1);
        if (status >= 0 && cur->seg == IPTI_NOWHERE) {
            gaps = 1;
            pos = cur->begin;
            ipti_fuel_burn(cur->config, 1);
            continue;
        }
        if (status >= 0)
            status = ipti_sync_here(cur, pos - 1);
        if (status < 0) {
            cur->state = IPTI_CUR_BACKWARD;
            cur->run = gaps;
            at->offset = pos;
            return status;
        }
        ipti_fuel_trace(cur->config, pos - 1, pos);
        pos--;
        if (status == 1) { /* 2: this run's PSB is not below the limit */
            ipti_sync_found(cur, at, pos);
            return IPT_OK;
        }
    }
    return begin == 0 && !gaps ? (int) IPT_END : IPT_ERR_GONE;
}

/* [qry] and above: as long as nothing was handed out, a step back starts at
 * `from`, where the decoder was synchronised: packets after it were read only
 * to see which events come first. Then `from` is UINT64_MAX. */
static int ipti_sync_stepback(ipt_cursor_ *cur, ipt_where *at, uint64_t from)
{
    const uint64_t offset = at->offset;
    int status;

    ipti_cur_pay(cur, offset, offset);
    cur->quick = 0;
    if (from != UINT64_MAX && cur->state >= IPTI_CUR_SYNC)
        at->offset = from;
    status = ipti_sync_backward(cur, at);
    if (status < 0 && status != IPT_BUDGET)
        at->offset = offset;
    return status;
}

/* [pkt] may begin at any packet; then nothing before it may be read again. */
static int ipti_sync_set(ipt_cursor_ *cur, ipt_where *at, uint64_t offset,
                         int need_psb)
{
    int status;

    if (offset < cur->trace->offset)
        return IPT_ERR_ARG;
    ipti_cur_pay(cur, at->offset, at->offset);
    status = ipti_cur_seek(cur, offset);
    if (status >= 0 && offset > ipti_cur_piece_end(cur))
        return IPT_ERR_ARG;
    if (status >= 0)
        status = ipti_sync_here(cur, offset);
    if (status < 0)
        return status;
    if (status == 0 && need_psb)
        return IPT_ERR_NOSYNC;
    ipti_sync_found(cur, at, offset);
    if (status == 0) {
        at->valid = 0;
        cur->limit = offset;
    }
    return IPT_OK;
}

IPT_API int ipt_pkt_sync_forward(ipt_pkt_decoder *decoder)
{
    if (IPTI_BAD_SELF(decoder))
        return IPTI_SELF_ERROR(decoder);
    return ipti_leave(&decoder->cur_, &decoder->at,
                      ipti_sync_forward(&decoder->cur_, &decoder->at));
}

IPT_API int ipt_pkt_sync_backward(ipt_pkt_decoder *decoder)
{
    if (IPTI_BAD_SELF(decoder))
        return IPTI_SELF_ERROR(decoder);
    return ipti_leave(&decoder->cur_, &decoder->at,
                      ipti_sync_backward(&decoder->cur_, &decoder->at));
}

IPT_API int ipt_pkt_sync_set(ipt_pkt_decoder *decoder, uint64_t offset)
{
    if (IPTI_BAD_SELF(decoder))
        return IPTI_SELF_ERROR(decoder);
    return ipti_leave(&decoder->cur_, &decoder->at,
                      ipti_sync_set(&decoder->cur_, &decoder->at, offset, 0));
}

/* ==========================================================================
 * [time]  TSC, TMA, MTC, CYC, CBR to time and core:bus ratio
 * Uses: [base], [pkt].  State: ipt_clock.
 *
 * Four clocks meet here. TSC packets give the time stamp counter itself, 56
 * bits of it. MTC gives 8 bits of the crystal clock counter (CTC), from bit
 * config.mtc_freq up; TMA its low 16 bits at the time of a TSC, and the ticks
 * of the TSC since it last moved (FC). CYC counts core cycles, whose length
 * in TSC ticks (fcr, in 65536ths) CBR gives or calibration finds out.
 *
 *     TSC   TMA        MTC            MTC            time = base + fc
 *      |-----|----------|--------------|-------->
 *     base            base           base            moved by cpuid_15_*
 *       +fc +fc +fc      +fc +fc +fc    +fc          moved by CYC * fcr
 *
 * A CYC counts from the CYC before it, whatever stands between them. A TSC or
 * MTC right after a CYC is of the same time, and says it better.
 *
 * Calibration and time share no state but fcr: either works alone.
 * ========================================================================== */

/* Packets that may stand between PSB and PSBEND; FUP does as well. */
#define IPTI_PKT_HEADER                                        \
    (IPTI_PKT(MODE_EXEC) | IPTI_PKT(MODE_TSX) | IPTI_PKT(PIP)  \
     | IPTI_PKT(VMCS) | IPTI_PKT_NEUTRAL)

enum {                     /* ipt_clock.state_ */
    IPTI_TIME_TMA = 0x01,  /* a TMA came since the last TSC */
    IPTI_TIME_MTC = 0x02,  /* ctc_ holds all bits that MTC gives */
    IPTI_TIME_CAL = 0x04,  /* cal_ctc_ holds an MTC */
    IPTI_TIME_PSB = 0x08,  /* inside a PSB+ */
    IPTI_TIME_SKL168 = 0x10, /* no MTC since the PSB: see ipti_cal_skl168 */
    IPTI_TIME_CYC = 0x20   /* it is known what the next CYC counts from */
};

#define IPTI_TIME_FCR_BITS 16 /* fraction bits of fcr */
#define IPTI_TIME_MTC_BITS 8
#define IPTI_TIME_TMA_BITS 16
#define IPTI_TIME_TSC_BITS 56
#define IPTI_TIME_SPAN (1u << 23) /* clocks of CTC: no interval is longer */

IPTI_STATIC_ASSERT(clock, sizeof(ipt_clock) <= 136);

/* The crystal clock's bits that MTC gives, and those below them. */
static inline uint32_t ipti_time_ctc_mask(const ipt_config *config)
{
    return ((uint32_t) 1 << (config->mtc_freq + IPTI_TIME_MTC_BITS)) - 1;
}

/* Clocks from one CTC to a later one, both below the mask: they may have
 * wrapped once. More often, and time is wrong until the next TSC. */
static inline uint32_t ipti_time_ctc_delta(const ipt_config *config,
                                           uint32_t from, uint32_t to)
{
    return (to - from) & ipti_time_ctc_mask(config);
}

/* Convert ticks of the crystal clock, less than IPTI_TIME_SPAN, to those of the
 * TSC, at most 2^55. *rest carries what is less than a tick from one call to
 * the next, in parts of cpuid_15_eax. */
static int ipti_time_ctc_ticks(const ipt_config *config, uint32_t ctc,
                               uint32_t *rest, uint64_t *ticks)
{
    uint64_t parts;

    if (!config->cpuid_15_eax || !config->cpuid_15_ebx)
        return IPT_ERR_CONFIG;
    parts = (uint64_t) ctc * config->cpuid_15_ebx + *rest;
    *ticks = ipti_div(parts, config->cpuid_15_eax);
    *rest = (uint32_t) (parts - *ticks * config->cpuid_15_eax);
    return IPT_OK;
}

/* Counters of lost packets stop at their largest value. */
static inline void ipti_time_count(uint32_t *lost)
{
    *lost += *lost != UINT32_MAX;
}

/* The time, base + fc. */
static inline uint64_t ipti_time_now(const ipt_clock *clock)
{
    return clock->base_ + (clock->fc_ >> IPTI_TIME_FCR_BITS);
}

/* Hand out the time. With IPT_CONFIG_MONOTONIC it only moves ahead:
 * the difference is taken in 56 bits, so that a wrap of the TSC is a step
 * ahead. */
static void ipti_time_show(ipt_clock *clock)
{
    const uint64_t tsc = ipti_time_now(clock);
    uint64_t step;

    if (!(clock->config_->flags & IPT_CONFIG_MONOTONIC)) {
        clock->tsc = tsc;
        return;
    }
    step = (tsc - clock->tsc) << (64 - IPTI_TIME_TSC_BITS);
    if (!(step >> 63))
        clock->tsc += step >> (64 - IPTI_TIME_TSC_BITS);
}

/* ---- calibration: how many TSC ticks a cycle takes ---- */

/* Set fcr from an interval of ticks and cycles. In a part of it the processor
 * may have halted: cycles stand still then. If one seems to take more than 5/4
 * of what CBR says, it did; and so it did if the shift would lose bits, which
 * is a day or more. */
static IPTI_APART int ipti_cal_set(ipt_clock *clock, uint64_t ticks,
                                   uint64_t cycles)
{
    const uint64_t fcr = ipti_div(ticks << IPTI_TIME_FCR_BITS, cycles);
    const uint32_t most
        = (5u << IPTI_TIME_FCR_BITS) * clock->config_->nom_freq;

    if (ticks >> (64 - IPTI_TIME_FCR_BITS))
        return IPT_OK;
    if (!fcr) /* no clock is that fast; without it time would stand still */
        return IPT_ERR_PACKET;
    if (!clock->cal_cbr_
        || (!(fcr >> 32) && fcr * clock->cal_cbr_ * 4 <= most))
        clock->fcr = fcr;
    return IPT_OK;
}

/* Packets are missing: all counts start over. */
static void ipti_cal_restart(ipt_clock *clock)
{
    clock->cal_tsc_ = 0; /* the next TSC, and MTC, count from 0 */
    clock->cal_mtc_cyc_ = 0;
    clock->state_ &= (uint8_t) ~(IPTI_TIME_CAL | IPTI_TIME_SKL168);
}

/* The TSCs of two PSB+ and the cycles between them say how long a cycle is. A
 * TSC elsewhere comes where time was lost, so it only begins an interval. Where
 * there are MTCs, these are used instead: they are closer together. */
static int ipti_cal_tsc(ipt_clock *clock, const ipt_packet *packet)
{
    const uint64_t last = clock->cal_tsc_;
    const uint64_t cycles = clock->cal_tsc_cyc_;
    uint64_t ticks;

    clock->cal_tsc_ = packet->u.tsc.value;
    clock->cal_tsc_cyc_ = 0;
    if (!(clock->state_ & IPTI_TIME_PSB) || (clock->state_ & IPTI_TIME_CAL)
        || !last || !cycles)
        return IPT_OK;
    ticks = (packet->u.tsc.value - last)
            & (~(uint64_t) 0 >> (64 - IPTI_TIME_TSC_BITS));
    return ipti_cal_set(clock, ticks, cycles);
}

/* A CBR outside of a PSB+ says that the ratio has changed: what was measured
 * before it is void. */
static int ipti_cal_cbr(ipt_clock *clock, const ipt_packet *packet)
{
    const uint8_t nominal = clock->config_->nom_freq;

    if (!packet->u.cbr.ratio)
        return nominal ? IPT_ERR_PACKET : IPT_OK;
    if (!(clock->state_ & IPTI_TIME_PSB)) {
        ipti_cal_restart(clock);
        clock->fcr = 0;
    }
    clock->cal_cbr_ = nominal ? packet->u.cbr.ratio : 0;
    return nominal ? ipti_cal_set(clock, nominal, packet->u.cbr.ratio) : IPT_OK;
}

/* SKL168: before a PSB a packet may be missing: an MTC, or a CYC that only says
 * that its counter wrapped (4096 cycles). At the first MTC after the PSB: does
 * it look as if one is? */
static int ipti_cal_skl168(const ipt_clock *clock, uint32_t ctc, uint64_t ticks,
                           uint64_t cycles)
{
    const ipt_config *config = clock->config_;

    if (ctc > (uint32_t) 1 << config->mtc_freq)
        return 1;
    if (config->mtc_freq >= 10 || !clock->fcr || !ticks)
        return 0;
    /* Would 0xf00 more cycles still be less than the ticks? If the shift loses
     * bits, either answer will do: ipti_cal_set takes no such interval. */
    ticks = ipti_div((ticks << IPTI_TIME_FCR_BITS) - 1, clock->fcr);
    return ticks >= 0xf00 && cycles <= ticks - 0xf00;
}

/* Two MTCs and the cycles between them say how long a cycle is. They are known
 * where a CYC stands right before each; if nothing says yet how long one is, an
 * MTC before any CYC will do. Elsewhere the interval goes on: the next CYC has
 * cycles of before the MTC, too. */
static int ipti_cal_mtc(ipt_clock *clock, const ipt_packet *packet)
{
    const ipt_config *config = clock->config_;
    const uint32_t ctc = (uint32_t) packet->u.mtc.ctc << config->mtc_freq;
    const uint64_t cycles = clock->cal_mtc_cyc_;
    const int check = clock->state_ & IPTI_TIME_SKL168;
    uint32_t rest = 0;
    uint32_t delta;
    uint64_t ticks;
    int status;

    clock->state_ &= (uint8_t) ~IPTI_TIME_SKL168;
    delta = ipti_time_ctc_delta(config, clock->cal_ctc_, ctc);
    clock->cal_ctc_ = ctc;
    clock->cal_span_ += delta;
    if (clock->cal_span_ >= IPTI_TIME_SPAN)
        clock->state_ &= (uint8_t) ~IPTI_TIME_CAL;
    if ((uint32_t) packet->offset != clock->cyc_end_
        && (cycles || clock->fcr || clock->state_ & IPTI_TIME_CAL))
        return IPT_OK;
    if (!(clock->state_ & IPTI_TIME_CAL)) {
        clock->state_ |= IPTI_TIME_CAL;
        clock->cal_span_ = 0;
        clock->cal_mtc_cyc_ = 0;
        return IPT_OK;
    }
    if (!cycles)
        return IPT_OK;
    status = ipti_time_ctc_ticks(config, clock->cal_span_, &rest, &ticks);
    if (status < 0)
        return status;
    clock->cal_span_ = 0;
    clock->cal_mtc_cyc_ = 0;
    if (check && ipti_cal_skl168(clock, delta, ticks, cycles))
        return IPT_OK;
    return ipti_cal_set(clock, ticks, cycles);
}

/* Cycles since the last TSC and since the last MTC. Sums that overflow stay at
 * the largest value, from which no ratio is made that could be used. */
static inline void ipti_cal_cyc(ipt_clock *clock, const ipt_packet *packet)
{
    const uint64_t cycles = packet->u.cyc.value;

    clock->cyc_end_ = (uint32_t) packet->offset + packet->size;
    clock->cal_tsc_cyc_ += cycles;
    if (clock->cal_tsc_cyc_ < cycles)
        clock->cal_tsc_cyc_ = UINT64_MAX;
    clock->cal_mtc_cyc_ = cycles < UINT32_MAX - clock->cal_mtc_cyc_
                              ? clock->cal_mtc_cyc_ + (uint32_t) cycles
                              : UINT32_MAX;
}

/* Calibration sees each packet once, apart from time: see the banner. */
static int ipti_time_calibrate(ipt_clock *clock, const ipt_packet *packet)
{
    switch (packet->type) {
    case IPT_PKT_CYC:
        ipti_cal_cyc(clock, packet);
        return IPT_OK;
    case IPT_PKT_MTC:
        return ipti_cal_mtc(clock, packet);
    case IPT_PKT_TSC:
        return ipti_cal_tsc(clock, packet);
    case IPT_PKT_CBR:
        return ipti_cal_cbr(clock, packet);
    case IPT_PKT_PSB:
        clock->state_ |= IPTI_TIME_PSB;
        if (clock->config_->errata & IPT_ERRATUM_SKL168)
            clock->state_ |= IPTI_TIME_SKL168;
        return IPT_OK;
    case IPT_PKT_OVF:
    case IPT_PKT_GAP:
        clock->state_ &= (uint8_t) ~IPTI_TIME_PSB;
        ipti_cal_restart(clock);
        if (!(clock->config_->flags & IPT_CONFIG_KEEP_TCAL))
            clock->fcr = clock->cal_cbr_ = 0;
        return IPT_OK;
    default: /* PSBEND, or what ends the PSB+ if that is missing */
        if (packet->type >= IPT_PKT_COUNT
            || !ipti_pkt_in(IPTI_PKT_HEADER | IPTI_PKT(FUP), packet))
            clock->state_ &= (uint8_t) ~IPTI_TIME_PSB;
        return IPT_OK;
    }
}

/* ---- time ---- */

/* A TSC or MTC sets the time. If a CYC stands right before it, that is the
 * CYC's time as well; and if it is not known what the next CYC counts from, it
 * may be this. */
static void ipti_time_exact(ipt_clock *clock, const ipt_packet *packet,
                            uint64_t base)
{
    clock->moved_ += base - ipti_time_now(clock);
    clock->base_ = base;
    clock->fc_ = 0;
    if (!(clock->state_ & IPTI_TIME_CYC)
        || (uint32_t) packet->offset == clock->cyc_end_)
        clock->moved_ = 0;
    clock->state_ |= IPTI_TIME_CYC;
}

/* A TSC sets the time, and all that was counted since the last one is done
 * with. Its TMA, if there is one, comes next. */
static void ipti_time_tsc(ipt_clock *clock, const ipt_packet *packet)
{
    clock->state_ &= (uint8_t) ~(IPTI_TIME_TMA | IPTI_TIME_MTC);
    ipti_time_exact(clock, packet, packet->u.tsc.value);
    clock->rest_ = 0;
    clock->ctc_ = 0;
    clock->lost_mtc = 0;
    clock->lost_cyc = 0;
    if (!clock->has_tsc)
        clock->tsc = packet->u.tsc.value;
    clock->has_tsc = 1;
    ipti_time_show(clock);
}

/* TMA moves the base back to when the crystal clock last moved. If it holds
 * all bits that MTC gives, it is as good as an MTC. */
static int ipti_time_tma(ipt_clock *clock, const ipt_packet *packet)
{
    const ipt_config *config = clock->config_;

    if (!clock->has_tsc || (clock->state_ & IPTI_TIME_TMA))
        return IPT_ERR_CONTEXT;
    clock->state_ |= IPTI_TIME_TMA;
    clock->base_ -= packet->u.tma.fc;
    clock->fc_ += (uint64_t) packet->u.tma.fc << IPTI_TIME_FCR_BITS;
    clock->ctc_ = packet->u.tma.ctc & ipti_time_ctc_mask(config);
    if (config->mtc_freq + IPTI_TIME_MTC_BITS <= IPTI_TIME_TMA_BITS)
        clock->state_ |= IPTI_TIME_MTC;
    return IPT_OK;
}

/* The CTC at the TMA before the first MTC: TMA gave the low 16 bits, and the
 * higher ones are those of the MTC, or one less if the low ones wrapped. */
static uint32_t ipti_time_tma_ctc(const ipt_clock *clock, uint32_t mtc)
{
    const uint32_t low = ((uint32_t) 1 << IPTI_TIME_TMA_BITS) - 1;
    uint32_t ctc = (mtc & ~low) | clock->ctc_;

    if ((mtc & low) < clock->ctc_)
        ctc -= low + 1;
    return ctc & ipti_time_ctc_mask(clock->config_);
}

/* An MTC moves the base by the crystal clock. Cycles since the last MTC are
 * dropped, as it says more exactly how much time passed. Before a TMA, or if
 * the time of the last MTC is not known, it only says where the crystal clock
 * is. */
static int ipti_time_mtc(ipt_clock *clock, const ipt_packet *packet)
{
    const ipt_config *config = clock->config_;
    const uint32_t ctc = (uint32_t) packet->u.mtc.ctc << config->mtc_freq;
    const int tma = clock->state_ & IPTI_TIME_TMA;
    const int first = !(clock->state_ & IPTI_TIME_MTC);
    const int known = !first || tma; /* how long ago the base was */
    uint32_t last = clock->ctc_;
    uint64_t ticks = 0;
    int status;

    if (clock->has_tsc && !tma) /* its TMA is still to come */
        return IPT_OK;
    if (first && tma)
        last = ipti_time_tma_ctc(clock, ctc);
    if (known) {
        last = ipti_time_ctc_delta(config, last, ctc);
        status = ipti_time_ctc_ticks(config, last, &clock->rest_, &ticks);
        if (status < 0) { /* all is as if it had not come */
            ipti_time_count(&clock->lost_mtc);
            return status;
        }
    }
    clock->state_ |= IPTI_TIME_MTC;
    clock->ctc_ = ctc;
    clock->lost_cyc = 0;
    ipti_time_exact(clock, packet, clock->base_ + ticks);
    if (known)
        ipti_time_show(clock);
    return IPT_OK;
}

/* A CYC moves the time by its cycles. TSC and MTC may have counted some of them
 * already; if more than twice as much, the processor has slept, and all cycles
 * may be of later: those of before are fewer than CYC's threshold. Without fcr
 * it is counted as lost. */
static inline int ipti_time_cyc(ipt_clock *clock, const ipt_packet *packet)
{
    const uint64_t cycles = packet->u.cyc.value;
    const uint64_t fcr = clock->fcr;
    const uint64_t moved = clock->moved_;
    uint64_t fc = cycles * fcr;
    int status = IPT_OK;

    if (!fcr)
        status = IPT_NO_TIME;
    else if (IPTI_UNLIKELY((cycles | fcr) >> 32)
             && cycles > ipti_div(UINT64_MAX, fcr))
        status = IPT_ERR_PACKET;
    if (IPTI_UNLIKELY(moved != 0) && !(moved >> 63)
        && moved / 2 <= fc >> IPTI_TIME_FCR_BITS)
        fc = fc >> IPTI_TIME_FCR_BITS > moved
                 ? fc - (moved << IPTI_TIME_FCR_BITS) : 0;
    clock->moved_ = 0;
    clock->state_ |= IPTI_TIME_CYC;
    clock->cyc_end_ = (uint32_t) packet->offset + packet->size;
    if (IPTI_UNLIKELY(status < 0)) {
        ipti_time_count(&clock->lost_cyc);
        return status;
    }
    clock->fc_ += fc;
    ipti_time_show(clock);
    return IPT_OK;
}

/* Time sees each packet once, after calibration. */
static int ipti_time_update(ipt_clock *clock, const ipt_packet *packet)
{
    switch (packet->type) {
    case IPT_PKT_CYC:
        return ipti_time_cyc(clock, packet);
    case IPT_PKT_MTC:
        return ipti_time_mtc(clock, packet);
    case IPT_PKT_TSC:
        ipti_time_tsc(clock, packet);
        return IPT_OK;
    case IPT_PKT_TMA:
        return ipti_time_tma(clock, packet);
    case IPT_PKT_CBR:
        if (!packet->u.cbr.ratio)
            return IPT_ERR_PACKET;
        clock->cbr = packet->u.cbr.ratio;
        if (!(clock->state_ & IPTI_TIME_PSB)) /* it may have slept */
            clock->moved_ = 0;
        return IPT_OK;
    case IPT_PKT_PSB: /* of the time of a CYC right before it */
        if ((uint32_t) packet->offset == clock->cyc_end_)
            clock->cyc_end_ += packet->size;
        return IPT_OK;
    case IPT_PKT_OVF:
    case IPT_PKT_GAP: /* CYCs may be lost */
        clock->state_ &= (uint8_t) ~IPTI_TIME_CYC;
        clock->moved_ = 0;
        return IPT_OK;
    default:
        return IPT_OK;
    }
}

/* ---- what [evt] and the public functions call ---- */

static void ipti_time_init(ipt_clock *clock, const ipt_config *config)
{
    IPT_MEMSET(clock, 0, sizeof(*clock));
    clock->config_ = config;
    clock->magic_ = ipti_magic(sizeof(*clock));
}

/* Most of them are CYCs. */
static inline int ipti_time_packet(ipt_clock *clock, const ipt_packet *packet)
{
    int calibrated;
    int updated;

    if (packet->type == IPT_PKT_CYC) {
        ipti_cal_cyc(clock, packet);
        return ipti_time_cyc(clock, packet);
    }
    calibrated = ipti_time_calibrate(clock, packet);
    updated = ipti_time_update(clock, packet);
    return updated < 0 ? updated : calibrated;
}

/* Does the decoder of this clock leave out time? ipt_time_ never does. */
static inline int ipti_time_unwanted(const ipt_clock *clock)
{
#ifdef IPT_NO_CLOCK
    (void) clock;
    return 1;
#else
    return (clock->config_->flags & IPT_CONFIG_NO_TIME) != 0;
#endif
}

IPT_API int ipt_time_init(ipt_clock *clock, const ipt_config *config)
{
    if (!clock || !config)
        return IPT_ERR_ARG;
    if (ipti_config_values(config) < 0)
        return IPT_ERR_CONFIG;
    ipti_time_init(clock, config);
    return IPT_OK;
}

IPT_API int ipt_time_packet(ipt_clock *clock, const ipt_packet *packet)
{
    if (IPTI_BAD_SELF(clock))
        return IPTI_SELF_ERROR(clock);
    return packet ? ipti_time_packet(clock, packet) : IPT_ERR_ARG;
}

IPT_API int ipt_time_calibrate(ipt_clock *clock, const ipt_packet *packet)
{
    if (IPTI_BAD_SELF(clock))
        return IPTI_SELF_ERROR(clock);
    return packet ? ipti_time_calibrate(clock, packet) : IPT_ERR_ARG;
}

IPT_API int ipt_time_update(ipt_clock *clock, const ipt_packet *packet)
{
    if (IPTI_BAD_SELF(clock))
        return IPTI_SELF_ERROR(clock);
    return packet ? ipti_time_update(clock, packet) : IPT_ERR_ARG;
}

/* ==========================================================================
 * [evt]  packets to events               SDM: "Packet Generation Scenarios"
 * Uses: [base], [pkt], [sync], [time].  State: ipt_evt_state_.
 *
 * Every event passes through one queue of records. A record waits for the
 * packet that completes it and gives it its IP. Then it waits for nothing
 * (NOW), and ipti_evt_pop hands it out in queue order. Nothing is looked up
 * ahead: where a later packet decides what an earlier one means (PSB+, OVF),
 * the records wait in the queue until it comes. That is a phase.
 *
 * In a phase the queue always has room for the next packet. No packet makes
 * more than two records, so at most 13 wait when one comes. A PSB+ makes seven
 * (one for itself, PIP, VMCS, MODE.TSX, CBR, two for MODE.Exec) and an OVF
 * inside it one more, so at most seven wait when a PSB comes. If more would
 * wait, the phase ends before that packet in the way that is most likely: what
 * waits is handed out in order, and none of it is lost.
 *
 * So the queue runs full only of what no processor sends: packets over and over
 * without the FUP, TIP, EXSTOP or PWRX that they announce, or a PSB+ that says
 * something twice.
 * ========================================================================== */

enum {                       /* ipt_pending_.waits: for what */
    IPTI_WAIT_NOW = 0x01,    /* nothing: it is complete */
    IPTI_WAIT_HELD = 0x02,   /* the packet that ends the phase */
    IPTI_WAIT_TIP = 0x04,    /* TIP, TIP.PGE, TIP.PGD */
    IPTI_WAIT_FUP = 0x08,    /* FUP, which also is the source of a branch */
    IPTI_WAIT_TAKE = 0x10,   /* FUP, which has no other use then */
    IPTI_WAIT_EXSTOP = 0x20, /* EXSTOP (MWAIT) */
    IPTI_WAIT_PWRX = 0x40,   /* PWRX (PWRE) */
    IPTI_WAIT_CFE = 0x80     /* CFE (EVD) */
};

enum {              /* ipt_evt_state_.phase */
    IPTI_EVT_FLOW,  /* nothing particular */
    IPTI_EVT_START, /* begun with no IP to decompress others with */
    IPTI_EVT_PSB,   /* between PSB and PSBEND */
    IPTI_EVT_HELD,  /* after a PSB+ that may be BDM70's */
    IPTI_EVT_LOST,  /* after an OVF whose FUP may come */
    IPTI_EVT_BOGUS  /* after that FUP, which may be APL12's */
};

#define IPTI_EVT_FULL (IPT_PENDING_MAX_ - 2)     /* when a packet comes */
#define IPTI_EVT_FULL_PSB (IPT_PENDING_MAX_ - 8) /* when that is a PSB */

#define IPTI_EXEC_KNOWN 8 /* with bits 0 CS.L, 1 CS.D, 2 IF */

/* ---- last IP                              SDM: "IP Compression" ---- */

/* Move last_ip on by an IP packet. Returns 0 if its IP is suppressed; last_ip
 * then stays. */
static int ipti_evt_last_ip(ipt_evt_state_ *evt, const ipt_packet *packet)
{
    evt->last_ip = ipti_ip_after(evt->last_ip, packet->u.ip.ipc,
                                 packet->u.ip.payload);
    return packet->u.ip.ipc != 0;
}

/* ---- the queue ---- */

/* Insert a record before index `at`. If there is no room, evt has an error, and
 * the record returned is never read. */
static ipt_pending_ *ipti_evt_insert(ipt_evt_state_ *evt, unsigned at,
                                     const ipt_packet *packet, uint8_t type,
                                     uint8_t waits)
{
    ipt_pending_ *record = &evt->pending[at];

    if (evt->count >= IPT_PENDING_MAX_) {
        evt->error = IPT_ERR_EVENTS;
        return &evt->pending[IPT_PENDING_MAX_];
    }
    IPT_MEMMOVE(record + 1, record, (evt->count - at) * sizeof(*record));
    IPT_MEMSET(record, 0, sizeof(*record));
    evt->count++;
    record->event.offset = packet->offset;
    record->event.type = type;
    record->waits = waits;
    if (waits & (IPTI_WAIT_NOW | IPTI_WAIT_HELD))
        record->event.flags = IPT_EVENT_NO_IP;
    return record;
}

/* A new record at the end of the queue. In a PSB+ it is a state that the PSB+
 * repeats: it is held back, whatever `waits` says, for the PSB+'s time and
 * place. */
static ipt_pending_ *ipti_evt_push(ipt_evt_state_ *evt,
                                   const ipt_packet *packet, uint8_t type,
                                   uint8_t waits)
{
    const int psb = evt->phase == IPTI_EVT_PSB;
    ipt_pending_ *record = ipti_evt_insert(
        evt, evt->count, packet, type, psb ? (uint8_t) IPTI_WAIT_HELD : waits);

    if (psb)
        record->event.flags = IPT_EVENT_STATUS;
    return record;
}

/* The index of the first record of a type, or the end: a record can be written
 * there, but is not in the queue. */
static unsigned ipti_evt_first(const ipt_evt_state_ *evt, uint8_t type)
{
    unsigned i = 0;

    while (i < evt->count && evt->pending[i].event.type != type)
        i++;
    return i;
}

/* The first record of a type, or NULL. */
static ipt_pending_ *ipti_evt_find(ipt_evt_state_ *evt, uint8_t type)
{
    const unsigned i = ipti_evt_first(evt, type);

    return i < evt->count ? &evt->pending[i] : NULL;
}

/* The index of the first record that waits for one of `mask`, or the end. */
static unsigned ipti_evt_waiting(const ipt_evt_state_ *evt, unsigned mask)
{
    unsigned i = 0;

    while (i < evt->count && !(evt->pending[i].waits & mask))
        i++;
    return i;
}

/* Of the first `count` records, those that wait for exactly `from` wait for
 * `to` from now on. */
static void ipti_evt_await(ipt_evt_state_ *evt, unsigned count, uint8_t from,
                           uint8_t to, uint8_t flags)
{
    unsigned i;

    for (i = 0; i < count; i++) {
        if (evt->pending[i].waits == from) {
            evt->pending[i].waits = to;
            evt->pending[i].event.flags |= flags;
        }
    }
}

/* Complete the records that wait for one of `mask` with this IP, or without
 * one. */
static void ipti_evt_release(ipt_evt_state_ *evt, unsigned mask, uint64_t ip,
                             int has_ip)
{
    unsigned i;

    for (i = 0; i < evt->count; i++) {
        ipt_pending_ *record = &evt->pending[i];
        if (!(record->waits & mask))
            continue;
        record->waits = IPTI_WAIT_NOW;
        if (record->event.type == IPT_EVT_ASYNC_BRANCH
            || record->event.type == IPT_EVT_DISABLED) { /* where flow went */
            record->event.u.branch.to = has_ip ? ip : 0;
            if (!has_ip)
                record->event.flags |= IPT_EVENT_NO_TO;
        } else {
            if (!has_ip)
                record->event.flags |= IPT_EVENT_NO_IP;
            if (!(record->event.flags & IPT_EVENT_NO_IP))
                record->event.ip = ip;
        }
    }
}

/* No FUP will come: records that wait for one are complete without an IP.
 * MODE.Exec also waits for a TIP and may still get that. */
static void ipti_evt_no_fup(ipt_evt_state_ *evt)
{
    ipti_evt_await(evt, evt->count, IPTI_WAIT_TAKE, IPTI_WAIT_FUP, 0);
    ipti_evt_release(evt, IPTI_WAIT_FUP, 0, 0);
}

/* Move complete records before the waiting ones; both keep their order. The
 * record that is never read serves as the temporary, to save stack. */
static void ipti_evt_sort(ipt_evt_state_ *evt)
{
    ipt_pending_ *to = evt->pending;
    ipt_pending_ *record;

    for (record = to; record < &evt->pending[evt->count]; record++) {
        if (record->waits == IPTI_WAIT_NOW) {
            IPTI_COPY(&evt->pending[IPT_PENDING_MAX_], record);
            IPT_MEMMOVE(to + 1, to, (size_t) (record - to) * sizeof(*to));
            IPTI_COPY(to++, &evt->pending[IPT_PENDING_MAX_]);
        }
    }
}

/* Take a record out of the queue. */
static void ipti_evt_remove(ipt_evt_state_ *evt, unsigned i)
{
    evt->count--;
    if (i < evt->count)
        IPT_MEMMOVE(&evt->pending[i], &evt->pending[i + 1],
                    (evt->count - i) * sizeof(evt->pending[0]));
}

/* Drop the records that wait for one of `mask`: they never happened. */
static void ipti_evt_drop(ipt_evt_state_ *evt, unsigned mask)
{
    unsigned i;

    while ((i = ipti_evt_waiting(evt, mask)) < evt->count)
        ipti_evt_remove(evt, i);
}

/* ---- handing out ---- */

/* Set what depends on the type. Types with the same first members share their
 * place in the union: u.pebs stands for all those with a number of 64 bits,
 * u.pwrx for those with bytes. */
static void ipti_evt_set(ipt_pending_ *record, uint64_t data, uint8_t arg_0,
                         uint8_t arg_1, uint8_t arg_2)
{
    ipt_event *event = &record->event;

    switch (event->type) {
    case IPT_EVT_EXEC_MODE:
    case IPT_EVT_IFLAGS:
    case IPT_EVT_TSX:
    case IPT_EVT_PWRE:
    case IPT_EVT_PWRX:
        event->u.pwrx.last = arg_0;
        event->u.pwrx.deepest = arg_1;
        event->u.pwrx.interrupt = arg_2;
        event->u.pwrx.autonomous = (uint8_t) data;
        break;
    case IPT_EVT_TRIG:
        event->u.trig.icnt = (uint16_t) data;
        event->u.trig.trbv = arg_0;
        event->u.trig.icntv = arg_1;
        event->u.trig.mult = arg_2;
        break;
    default: /* tnt, paging, pebs */
        event->u.pebs.payload = data;
        event->u.pebs.id = arg_0;
        event->u.pebs.size = arg_1;
        break;
    }
}

/* Give an event the time of now. */
static inline void ipti_evt_now(const ipt_evt_state_ *evt, ipt_event *out)
{
    const ipt_clock *clock = &evt->clock;

    out->tsc = clock->tsc;
    out->lost_mtc = clock->lost_mtc;
    out->lost_cyc = clock->lost_cyc;
    out->cbr = clock->cbr;
    if (clock->has_tsc)
        out->flags |= IPT_EVENT_TSC;
}

/* An event has the time at which it is complete, or that of now, from here
 * on. */
static void ipti_evt_stamp(const ipt_evt_state_ *evt, ipt_pending_ *record)
{
    ipti_evt_now(evt, &record->event);
    record->stamped = 1;
}

/* Keep the time of now in the records that are held back and have none. */
static void ipti_evt_stamp_held(ipt_evt_state_ *evt)
{
    unsigned i;

    for (i = 0; i < evt->count; i++)
        if (evt->pending[i].waits == IPTI_WAIT_HELD
            && !evt->pending[i].stamped)
            ipti_evt_stamp(evt, &evt->pending[i]);
}

/* Make an event of a complete record. */
static IPTI_HOT void ipti_evt_fill(const ipt_evt_state_ *evt,
                                   const ipt_pending_ *r, ipt_event *out)
{
    IPTI_COPY(out, &r->event);
    if (out->flags & IPT_EVENT_NO_IP)
        out->ip = 0;
    if (!r->stamped)
        ipti_evt_now(evt, out);
}

/* Hand out the first complete record. Returns 0 if there is none. A record of
 * type NONE is there only to use up an IP. */
static int ipti_evt_pop(ipt_evt_state_ *evt, ipt_event *out)
{
    unsigned i;

    while ((i = ipti_evt_waiting(evt, IPTI_WAIT_NOW)) < evt->count) {
        const uint8_t type = evt->pending[i].event.type;
        if (type != IPT_EVT_NONE)
            ipti_evt_fill(evt, &evt->pending[i], out);
        ipti_evt_remove(evt, i);
        if (type != IPT_EVT_NONE) /* else it was there to use up an IP */
            return 1;
    }
    return 0;
}

/* ---- PSB+                 SDM: "PSB+ packets", and erratum BDM70 ---- */

/* A PSB begins: tracing counts as disabled until a FUP in the PSB+ says where
 * it is. Nothing may wait for a TIP or FUP across it. */
static void ipti_evt_psb(ipt_evt_state_ *evt, const ipt_packet *packet)
{
    unsigned open = IPTI_WAIT_TIP | IPTI_WAIT_FUP | IPTI_WAIT_CFE;

    /* it may stand between MWAIT and EXSTOP and between PWRE and PWRX */
    if (!ipti_evt_find(evt, IPT_EVT_OVERFLOW))
        open |= IPTI_WAIT_TAKE;
    if (ipti_evt_waiting(evt, open) < evt->count)
        evt->error = IPT_ERR_CONTEXT;
    ipti_evt_push(evt, packet, IPT_EVT_DISABLED, IPTI_WAIT_HELD)->event.flags
        = IPT_EVENT_STATUS; /* unless a FUP comes */
    if (evt->error)
        return;
    evt->phase = IPTI_EVT_PSB;
    evt->was_enabled = evt->enabled;
    evt->enabled = 0;
    evt->psb_fup = 0;
    evt->last_ip = 0;
}

/* The PSB+ ends. All its records get the time of now. The record that it began
 * with is ENABLED if there was a FUP, else it is of type `off`. */
static void ipti_evt_psb_end(ipt_evt_state_ *evt, const ipt_packet *packet,
                             uint8_t off)
{
    ipt_pending_ *record
        = &evt->pending[ipti_evt_first(evt, IPT_EVT_DISABLED)];

    record->event.offset = packet->offset;
    record->event.type = IPT_EVT_ENABLED;
    if (!evt->psb_fup) {
        record->event.type = off;
        record->event.flags |= IPT_EVENT_NO_IP;
    }
    ipti_evt_stamp_held(evt);
}

/* A phase ends: the records that it held back are complete, with this IP or
 * without one, and go before those that still wait. */
static void ipti_evt_decided(ipt_evt_state_ *evt, uint64_t ip, int has_ip)
{
    evt->phase = IPTI_EVT_FLOW;
    ipti_evt_release(evt, IPTI_WAIT_HELD, ip, has_ip);
    ipti_evt_sort(evt);
}

/* Tracing goes on at `ip` after an overflow. The first `count` records came
 * since. No instruction will be seen that causes them, so those without an IP
 * take effect at `ip`; those that mean nothing without their instruction are
 * lost. */
static void ipti_evt_lost_place(ipt_evt_state_ *evt, uint64_t ip,
                                unsigned count)
{
    unsigned i;

    for (i = 0; i < count; i++) {
        ipt_pending_ *record = &evt->pending[i];
        if (record->waits != IPTI_WAIT_HELD)
            continue;
        switch (record->event.type) {
        case IPT_EVT_PAGING:
            record->event.type = IPT_EVT_ASYNC_PAGING;
            break;
        case IPT_EVT_VMCS:
            record->event.type = IPT_EVT_ASYNC_VMCS;
            break;
        case IPT_EVT_OVERFLOW:
            break;
        case IPT_EVT_PTWRITE:
        case IPT_EVT_CFE:
        case IPT_EVT_TRIG:
            record->event.type = IPT_EVT_NONE;
            continue;
        default: /* it needs none */
            continue;
        }
        record->event.ip = ip;
        record->event.flags &= (uint8_t) ~IPT_EVENT_NO_IP;
    }
}

/* The phase after an overflow ends: tracing is disabled. */
static void ipti_evt_lost_off(ipt_evt_state_ *evt)
{
    ipti_evt_no_fup(evt);
    ipti_evt_decided(evt, 0, 0);
}

/* The phase after an overflow ends: tracing goes on at `ip`. What waits for a
 * FUP may still get one. */
static void ipti_evt_lost_on(ipt_evt_state_ *evt, uint64_t ip)
{
    evt->enabled = 1;
    ipti_evt_decided(evt, ip, 1);
}

/* The PSB+ holds: its FUP is right, or what BDM70 did was undone. If there was
 * an overflow before it, records before the PSB+ belong to the overflow, and
 * the FUP says where that left off, unless it has an IP already (from APL12's
 * FUP). */
static void ipti_evt_held_done(ipt_evt_state_ *evt)
{
    ipt_pending_ *lost = ipti_evt_find(evt, IPT_EVT_OVERFLOW);

    if (lost && evt->psb_fup) {
        const unsigned count = ipti_evt_first(evt, IPT_EVT_ENABLED);
        if (lost->event.flags & IPT_EVENT_NO_IP)
            ipti_evt_lost_place(evt, evt->psb_ip, count);
        ipti_evt_await(evt, count, IPTI_WAIT_TAKE, IPTI_WAIT_HELD,
                       IPT_EVENT_NO_IP); /* no FUP; a PSB ended WAIT_FUP */
        lost->waits = IPTI_WAIT_NOW;
    } else if (lost) {
        ipti_evt_no_fup(evt);
    }
    evt->synced = 1;
    ipti_evt_decided(evt, evt->psb_ip, evt->psb_fup);
}

/* The PSB+ is complete. It holds at once if tracing was known to be enabled, or
 * if it has no FUP. Otherwise its FUP may be wrong (BDM70), and the next packet
 * about flow shows it. After an overflow without an IP, a PSB+ without a FUP
 * may come before the FUP of the OVF. */
static void ipti_evt_psb_done(ipt_evt_state_ *evt, const ipt_packet *packet)
{
    const ipt_pending_ *lost = ipti_evt_find(evt, IPT_EVT_OVERFLOW);

    ipti_evt_psb_end(evt, packet, IPT_EVT_DISABLED);
    evt->enabled = evt->psb_fup;
    evt->phase = IPTI_EVT_HELD;
    if (lost && lost->event.flags & IPT_EVENT_NO_IP && !evt->psb_fup)
        evt->phase = IPTI_EVT_LOST;
    else if (!evt->psb_fup || evt->was_enabled)
        ipti_evt_held_done(evt);
}

/* BDM70: a TIP.PGE follows a PSB+ that says that tracing is enabled. It was
 * not: neither the FUP nor the MODE.Exec of the PSB+ holds. */
static void ipti_evt_bdm70(ipt_evt_state_ *evt)
{
    ipt_pending_ *record
        = &evt->pending[ipti_evt_first(evt, IPT_EVT_ENABLED)];

    record->event.type = IPT_EVT_DISABLED;
    record->event.flags |= IPT_EVENT_NO_IP;
    evt->psb_fup = 0;
    evt->last_ip = 0;
    ipti_evt_no_fup(evt);
}

/* What a MODE.Exec says, as evt->exec. */
static inline uint8_t ipti_evt_says(const ipt_packet *packet)
{
    return (uint8_t) (IPTI_EXEC_KNOWN | packet->u.exec.csl
                      | packet->u.exec.csd << 1 | packet->u.exec.iflag << 2);
}

/* By CS.L and CS.D. Both: not an execution mode. */
static const uint8_t ipti_evt_modes[4]
    = {IPT_MODE_16, IPT_MODE_64, IPT_MODE_32, IPT_MODE_UNKNOWN};

/* A mode waits for its FUP or for the TIP of the branch that changes it; in a
 * PSB+ it is part of the state. */
static void ipti_evt_push_exec(ipt_evt_state_ *evt, const ipt_packet *packet,
                               uint8_t type)
{
    ipt_pending_ *record = ipti_evt_push(evt, packet, type,
                                         IPTI_WAIT_TIP | IPTI_WAIT_TAKE);

    ipti_evt_set(record, 0, ipti_evt_modes[evt->exec & 3],
                 packet->u.exec.iflag, 0);
}

/* MODE.Exec: push the new mode and the new IF, unless they repeat the old. */
static void ipti_evt_exec(ipt_evt_state_ *evt, const ipt_config *config,
                          const ipt_packet *packet)
{
    const uint8_t was = evt->exec;
    const uint8_t now = ipti_evt_says(packet);
    const int psb = evt->phase == IPTI_EVT_PSB;
    const int iflags = (config->flags & IPT_CONFIG_IFLAGS) != 0;
    const int new_mode = !was || (was ^ now) & 3;
    const int new_iflag = iflags && (!was || (was ^ now) & 4);

    evt->exec = now;
    if (psb && was && evt->was_enabled && (new_mode || new_iflag))
        evt->error = IPT_ERR_STATUS;
    ipti_evt_push_exec(evt, packet, psb || new_mode
                                        ? IPT_EVT_EXEC_MODE
                                        : IPT_EVT_NONE); /* takes its FUP */
    if (iflags && (psb || new_iflag))
        ipti_evt_push_exec(evt, packet, IPT_EVT_IFLAGS);
}

/* A transaction begins or commits at its FUP. If it aborts, the FUP is also the
 * source of a branch. While tracing is disabled there is no FUP. */
static void ipti_evt_tsx(ipt_evt_state_ *evt, const ipt_packet *packet)
{
    ipt_pending_ *record;
    uint8_t waits = IPTI_WAIT_TAKE;

    if (!evt->enabled && evt->phase < IPTI_EVT_LOST)
        waits = IPTI_WAIT_NOW;
    else if (packet->u.tsx.abrt) /* FUP is where it aborts; TIP follows */
        waits = IPTI_WAIT_FUP;
    record = ipti_evt_push(evt, packet, IPT_EVT_TSX, waits);
    ipti_evt_set(record, 0, packet->u.tsx.intx, packet->u.tsx.abrt, 0);
}

/* ---- what waits for no IP ---- */

/* How a record waits that needs no IP: not at all, unless the phase holds
 * everything back. */
static uint8_t ipti_evt_loose(const ipt_evt_state_ *evt)
{
    return evt->phase <= IPTI_EVT_START ? IPTI_WAIT_NOW : IPTI_WAIT_HELD;
}

/* Push a record that needs no IP. In order with the others; if it is held back,
 * with the time of now. */
static ipt_pending_ *ipti_evt_aside(ipt_evt_state_ *evt,
                                    const ipt_packet *packet, uint8_t type)
{
    const uint8_t waits = ipti_evt_loose(evt);
    ipt_pending_ *record = ipti_evt_insert(evt, evt->count, packet, type,
                                           waits);

    if (waits != IPTI_WAIT_NOW && evt->phase != IPTI_EVT_PSB)
        ipti_evt_stamp(evt, record);
    return record;
}

/* Push a record that waits for a FUP if the packet says that one follows. */
static ipt_pending_ *ipti_evt_take(ipt_evt_state_ *evt,
                                   const ipt_packet *packet, uint8_t type,
                                   uint8_t ip)
{
    if (ip)
        return ipti_evt_push(evt, packet, type, IPTI_WAIT_TAKE);
    return ipti_evt_aside(evt, packet, type);
}

/* ---- address spaces ---- */

/* Make an event of a change of PIP.NR, which no CFE packet announced. It
 * happens where the branch in progress starts, if there is one. */
static void ipti_evt_vmx(ipt_evt_state_ *evt, const ipt_packet *packet)
{
    const ipt_pending_ *branch = ipti_evt_find(evt, IPT_EVT_ASYNC_BRANCH);
    ipt_pending_ *record;

    if (branch) { /* from there */
        const uint64_t ip = branch->event.ip;
        record = ipti_evt_insert(evt, (unsigned) (branch - evt->pending),
                                 packet, IPT_EVT_CFE, IPTI_WAIT_NOW);
        record->event.ip = ip;
        record->event.flags = 0;
    } else {
        record = ipti_evt_aside(evt, packet, IPT_EVT_CFE);
    }
    record->event.u.cfe.has = IPT_CFE_INFERRED;
    record->event.u.cfe.type
        = packet->u.pip.nr ? IPT_CFE_VMENTRY : IPT_CFE_VMEXIT;
}

/* A new address space. Between a FUP and its TIP it is part of the asynchronous
 * branch and waits for the TIP, at index `at`; else an instruction caused
 * it. */
static IPTI_HOT ipt_pending_ *ipti_evt_space(ipt_evt_state_ *evt,
                                             const ipt_packet *packet,
                                             unsigned at, uint8_t type,
                                             uint8_t async)
{
    if (evt->phase == IPTI_EVT_PSB)
        return ipti_evt_push(evt, packet, async, 0);
    if (ipti_evt_find(evt, IPT_EVT_ASYNC_BRANCH))
        return ipti_evt_insert(evt, at, packet, async, IPTI_WAIT_TIP);
    return ipti_evt_aside(evt, packet, type);
}

/* The first PIP only says what NR is; later ones may say that it changed. */
static void ipti_evt_pip(ipt_evt_state_ *evt, const ipt_config *config,
                         const ipt_packet *packet)
{
    const uint8_t vmx = (uint8_t) (1 + packet->u.pip.nr);
    ipt_pending_ *record;

    if (evt->vmx && evt->vmx != vmx && !evt->cfe
        && evt->phase != IPTI_EVT_PSB && config->flags & IPT_CONFIG_VMX_EVENTS)
        ipti_evt_vmx(evt, packet);
    evt->vmx = vmx;
    record = ipti_evt_space(evt, packet, evt->count, IPT_EVT_PAGING,
                            IPT_EVT_ASYNC_PAGING);
    ipti_evt_set(record, packet->u.pip.cr3, packet->u.pip.nr, 0, 0);
}

/* ---- packets with an IP ---- */

/* In a PSB+ a FUP says where flow is. Elsewhere it completes what waits for
 * one. If nothing does, it is that of an MWAIT that has no EXSTOP yet (SDM:
 * "binds to the IP of the next FUP"), or else the source of a branch whose TIP
 * comes next. One without an IP, which no processor sends, gives none. */
static void ipti_evt_fup(ipt_evt_state_ *evt, const ipt_packet *packet)
{
    const int has_ip = ipti_evt_last_ip(evt, packet);

    if (evt->phase == IPTI_EVT_PSB) { /* suppressed: tracing is disabled */
        evt->psb_fup = (uint8_t) has_ip;
        evt->psb_ip = evt->last_ip;
        return;
    }
    if (!has_ip) {
        ipti_evt_await(evt, evt->count, IPTI_WAIT_TAKE, IPTI_WAIT_NOW,
                       IPT_EVENT_NO_IP);
        return;
    }
    if (ipti_evt_find(evt, IPT_EVT_ASYNC_BRANCH)) {
        evt->error = IPT_ERR_CONTEXT;
        return;
    }
    if (ipti_evt_waiting(evt, IPTI_WAIT_FUP | IPTI_WAIT_TAKE) == evt->count
        && ipti_evt_waiting(evt, IPTI_WAIT_EXSTOP) < evt->count) {
        ipti_evt_release(evt, IPTI_WAIT_EXSTOP, evt->last_ip, 1);
        return;
    }
    if (ipti_evt_waiting(evt, IPTI_WAIT_TAKE) == evt->count)
        ipti_evt_push(evt, packet, IPT_EVT_ASYNC_BRANCH, IPTI_WAIT_TIP)
            ->event.ip = evt->last_ip;
    ipti_evt_release(evt, IPTI_WAIT_FUP | IPTI_WAIT_TAKE, evt->last_ip, 1);
}

/* TIP, TIP.PGE. If no FUP came before it, the packet is an event of its own,
 * which goes before the others that wait for its IP. A TIP.PGE without an IP,
 * which no processor sends, does not say where flow is: it stays disabled. */
static void ipti_evt_tip(ipt_evt_state_ *evt, const ipt_packet *packet)
{
    const int pge = packet->type == IPT_PKT_TIP_PGE;
    const int branch = ipti_evt_find(evt, IPT_EVT_ASYNC_BRANCH) != NULL;
    const int has_ip = ipti_evt_last_ip(evt, packet);

    if (pge && !has_ip)
        return;
    if (pge ? branch : !evt->enabled) {
        evt->error = IPT_ERR_CONTEXT;
    } else {
        evt->enabled = 1;
        if (!branch)
            ipti_evt_insert(evt, ipti_evt_waiting(evt, IPTI_WAIT_TIP), packet,
                            pge ? IPT_EVT_ENABLED : IPT_EVT_TIP, IPTI_WAIT_TIP);
        ipti_evt_release(evt, IPTI_WAIT_TIP, evt->last_ip, has_ip);
    }
}

/* Tracing is disabled, by the branch before or by the asynchronous one in
 * progress. */
static void ipti_evt_pgd(ipt_evt_state_ *evt, const ipt_packet *packet)
{
    const int has_ip = ipti_evt_last_ip(evt, packet);
    ipt_pending_ *branch = ipti_evt_find(evt, IPT_EVT_ASYNC_BRANCH);

    if (!evt->enabled) {
        evt->error = IPT_ERR_CONTEXT;
        return;
    }
    evt->enabled = 0;
    if (branch)
        branch->event.type = IPT_EVT_ASYNC_DISABLED;
    else
        branch = ipti_evt_push(evt, packet, IPT_EVT_DISABLED, IPTI_WAIT_NOW);
    branch->waits = IPTI_WAIT_NOW;
    if (has_ip)
        branch->event.u.branch.to = evt->last_ip;
    else
        branch->event.flags |= IPT_EVENT_NO_TO;
    /* what changes with it has no place in the flow that we see */
    ipti_evt_release(evt, IPTI_WAIT_TIP, 0, 0);
}

/* ---- overflow             SDM: "Internal Buffer Overflow" ----
 *
 * A FUP after OVF says where tracing goes on. If another packet about flow
 * comes first, tracing is disabled. Errata: SKD010 loses that FUP or TIP.PGE,
 * so that the place has to come from another packet; APL12 sends a FUP although
 * tracing is disabled; APL11 sends a TIP.PGD instead of the FUP. */

/* Packets were lost. If a FUP waits for its TIP, flow came there and left what
 * is traced. What waits for another packet gets nothing any more: while tracing
 * was enabled it is dropped, else it is complete as it is. Mode, NR and last IP
 * are not known. */
static void ipti_evt_ovf(ipt_evt_state_ *evt, const ipt_packet *packet)
{
    const unsigned waiting = IPTI_WAIT_TIP | IPTI_WAIT_FUP | IPTI_WAIT_TAKE
                             | IPTI_WAIT_EXSTOP | IPTI_WAIT_PWRX;
    ipt_pending_ *record = ipti_evt_find(evt, IPT_EVT_OVERFLOW);

    if (record) /* if it has an IP, from APL12's FUP, that holds */
        record->waits = IPTI_WAIT_NOW;
    if (evt->phase == IPTI_EVT_PSB) {
        ipti_evt_psb_end(evt, packet, IPT_EVT_NONE);
        ipti_evt_no_fup(evt);
        ipti_evt_decided(evt, evt->psb_ip, evt->psb_fup);
    }
    record = ipti_evt_find(evt, IPT_EVT_ASYNC_BRANCH);
    if (record) {
        record->event.type = IPT_EVT_ASYNC_DISABLED;
        record->event.flags |= IPT_EVENT_NO_TO;
        record->waits = IPTI_WAIT_NOW;
        evt->enabled = 0;
    }
    ipti_evt_drop(evt, IPTI_WAIT_CFE);
    if (evt->enabled)
        ipti_evt_drop(evt, waiting);
    else
        ipti_evt_release(evt, waiting, 0, 0);
    record = ipti_evt_push(evt, packet, IPT_EVT_OVERFLOW, IPTI_WAIT_HELD);
    ipti_evt_stamp(evt, record);
    if (evt->error)
        return;
    evt->phase = IPTI_EVT_LOST;
    evt->skipped = 0;
    evt->enabled = 0;
    evt->exec = 0;
    evt->vmx = 0;
    evt->last_ip = 0;
}

/* Move the overflow, the first record, after those that came between it and its
 * IP. */
static void ipti_evt_lost_last(ipt_evt_state_ *evt)
{
    IPTI_COPY(&evt->pending[IPT_PENDING_MAX_], &evt->pending[0]);
    ipti_evt_remove(evt, 0);
    IPTI_COPY(&evt->pending[evt->count++], &evt->pending[IPT_PENDING_MAX_]);
}

/* Packets without a FUP or an IP. The SDM has none between an OVF and its FUP,
 * but they do no harm there: the FUP is still the OVF's. */
static int ipti_evt_fupless(const ipt_packet *packet)
{
    const uint64_t types = IPTI_PKT(PIP) | IPTI_PKT(VMCS) | IPTI_PKT(PWRE)
                           | IPTI_PKT(BBP) | IPTI_PKT(BIP);

    return ipti_pkt_in(types, packet)
           || (packet->type == IPT_PKT_PTW && !packet->u.ptw.has_ip)
           || (packet->type == IPT_PKT_EXSTOP && !packet->u.exstop.has_ip)
           || (packet->type == IPT_PKT_BEP && !packet->u.bep.has_ip)
           || (packet->type == IPT_PKT_TRIG && !packet->u.trig.has_ip);
}

/* More packets that SKD010 allows between an OVF and the packet that has its
 * IP. */
static int ipti_evt_skd010(ipt_evt_state_ *evt, const ipt_packet *packet)
{
    return ipti_pkt_in(IPTI_PKT(MODE_EXEC) | IPTI_PKT(EVD) | IPTI_PKT(TRIG),
                       packet)
           || (packet->type == IPT_PKT_CFE && !packet->u.cfe.has_ip)
           || (packet->type == IPT_PKT_MODE_TSX
               && !ipti_evt_find(evt, IPT_EVT_TSX));
}

/* A packet in the phase after an overflow: does it say where tracing goes on,
 * or that it is disabled? Returns 1 if that was all that it says. */
static int ipti_evt_lost(ipt_evt_state_ *evt, uint32_t errata,
                         const ipt_packet *packet)
{
    const int skd010 = (errata & IPT_ERRATUM_SKD010) != 0;
    ipt_pending_ *psb = ipti_evt_find(evt, IPT_EVT_DISABLED);

    switch (packet->type) {
    case IPT_PKT_FUP:
        if (!ipti_evt_last_ip(evt, packet))
            return 1;
        ipti_evt_lost_place(evt, evt->last_ip, evt->count);
        if (psb) { /* which had no FUP: this one counts as its own */
            psb->event.type = IPT_EVT_ENABLED;
            psb->event.flags &= (uint8_t) ~IPT_EVENT_NO_IP;
            evt->synced = 1;
        } else if (!evt->skipped) {
            ipti_evt_lost_last(evt);
        }
        evt->psb_ip = evt->last_ip;
        if (!psb && !evt->skipped && errata & IPT_ERRATUM_APL12)
            evt->phase = IPTI_EVT_BOGUS;
        else
            ipti_evt_lost_on(evt, evt->psb_ip);
        /* else it may be that of what came before it */
        return !evt->skipped || !skd010;
    case IPT_PKT_TIP:
        if (skd010 && ipti_evt_last_ip(evt, packet)) {
            ipti_evt_lost_place(evt, evt->last_ip, evt->count);
            ipti_evt_release(evt, IPTI_WAIT_TIP, evt->last_ip, 1);
            ipti_evt_no_fup(evt);
            ipti_evt_lost_on(evt, evt->last_ip);
            return 1;
        }
        break;
    case IPT_PKT_TIP_PGD:
        if (!skd010 && !(errata & IPT_ERRATUM_APL11))
            break;
        (void) ipti_evt_last_ip(evt, packet);
        ipti_evt_release(evt, IPTI_WAIT_TIP, 0, 0);
        ipti_evt_lost_off(evt);
        return 1;
    case IPT_PKT_TNT_8:
    case IPT_PKT_TNT_64:
        break;
    case IPT_PKT_PSBEND: /* of the PSB+ that the OVF is in */
        return 1;
    case IPT_PKT_PSB: /* its FUP says it, and it repeats the mode */
        if (psb || evt->count > IPTI_EVT_FULL_PSB)
            ipti_evt_lost_off(evt);
        ipti_evt_drop(evt, IPTI_WAIT_TIP | IPTI_WAIT_CFE);
        ipti_evt_await(evt, evt->count, IPTI_WAIT_FUP, IPTI_WAIT_TAKE, 0);
        evt->exec = 0; /* the one that waited was dropped */
        return 0;
    default:
        if (ipti_evt_fupless(packet)
            || (skd010 && ipti_evt_skd010(evt, packet)))
            evt->skipped = 1;
        else
            ipti_evt_lost_off(evt);
        return 0;
    }
    if (evt->skipped || psb) { /* that came while tracing was disabled */
        ipti_evt_lost_off(evt);
        return 0;
    }
    evt->error = IPT_ERR_CONTEXT;
    return 1;
}

/* After a FUP that APL12 may have made up. These packets say whether tracing is
 * enabled; others may come in either case. The FUP of a PSB+ says it, too. */
static void ipti_evt_bogus(ipt_evt_state_ *evt, const ipt_packet *packet)
{
    const uint64_t off = IPTI_PKT(TIP_PGE) | IPTI_PKT(STOP);
    const uint64_t on = IPTI_PKT_FLOW | IPTI_PKT(FUP) | IPTI_PKT(OVF)
                        | IPTI_PKT(PSBEND);

    if (ipti_pkt_in(off, packet))
        ipti_evt_lost_off(evt);
    else if (ipti_pkt_in(on, packet)
             || (packet->type == IPT_PKT_PSB
                 && evt->count > IPTI_EVT_FULL_PSB))
        ipti_evt_lost_on(evt, evt->psb_ip);
}

/* ---- event trace          SDM: "Event Trace" ---- */

/* An EVD is a part of the event whose CFE comes next: CR2 alone, or VMXQ and
 * VMXR. Types that are not known are ignored. */
static void ipti_evt_evd(ipt_evt_state_ *evt, const ipt_packet *packet)
{
    const unsigned at = ipti_evt_waiting(evt, IPTI_WAIT_CFE);
    const uint8_t type = packet->u.evd.type;
    ipt_pending_ *record = &evt->pending[at];
    unsigned has;

    if (type > IPT_EVD_VMXR)
        return;
    has = (unsigned) IPT_CFE_HAS_CR2 << type;
    if (at == evt->count) {
        record = ipti_evt_push(evt, packet, IPT_EVT_CFE, IPTI_WAIT_CFE);
    } else if ((record->event.u.cfe.has | has) & IPT_CFE_HAS_CR2
               || record->event.u.cfe.has & has) {
        evt->error = IPT_ERR_CONTEXT; /* twice, or CR2 with another */
        return;
    }
    record->event.u.cfe.has = (uint8_t) (record->event.u.cfe.has | has);
    record->event.u.cfe.data[type == IPT_EVD_VMXR] = packet->u.evd.payload;
}

/* Sets of CFE types. */
#define IPTI_CFE_BIT(type) ((uint32_t) 1 << IPT_CFE_##type)
#define IPTI_CFE_NO_IP (IPTI_CFE_BIT(RSM) | IPTI_CFE_BIT(SIPI))
#define IPTI_CFE_VMEXITS (IPTI_CFE_BIT(VMEXIT) | IPTI_CFE_BIT(VMEXIT_INTR))
#define IPTI_CFE_VECTORS                                               \
    (IPTI_CFE_BIT(INTR) | IPTI_CFE_BIT(VMEXIT_INTR) | IPTI_CFE_BIT(SIPI) \
     | IPTI_CFE_BIT(UINTR) | IPTI_CFE_BIT(SWINTR))
#define IPTI_CFE_BRANCHES                                              \
    (IPTI_CFE_BIT(INTR) | IPTI_CFE_BIT(SMI) | IPTI_CFE_BIT(INIT)       \
     | IPTI_CFE_BIT(UINTR) | IPTI_CFE_BIT(SWINTR) | IPTI_CFE_VMEXITS   \
     | IPTI_CFE_NO_IP)
#define IPTI_CFE_INSNS                                                 \
    (IPTI_CFE_BIT(IRET) | IPTI_CFE_BIT(VMENTRY) | IPTI_CFE_BIT(SHUTDOWN) \
     | IPTI_CFE_BIT(UIRET) | IPTI_CFE_BIT(SYSCALL))

/* The types of CFE that may follow EVDs that said this. */
static uint32_t ipti_cfe_takes(uint8_t has)
{
    return has & IPT_CFE_HAS_CR2 ? IPTI_CFE_BIT(INTR) : IPTI_CFE_VMEXITS;
}

/* A CFE happens at its FUP, if it announces one; else at that of the branch
 * that it causes; else [bind] finds the instruction that causes it. */
static void ipti_evt_cfe(ipt_evt_state_ *evt, const ipt_packet *packet)
{
    const uint32_t type = (uint32_t) 1 << packet->u.cfe.type;
    const unsigned at = ipti_evt_waiting(evt, IPTI_WAIT_CFE);
    ipt_pending_ *record = &evt->pending[at];
    uint8_t waits = ipti_evt_loose(evt);

    evt->cfe = 1;
    if (type & IPTI_CFE_NO_IP && packet->u.cfe.has_ip) {
        evt->error = IPT_ERR_PACKET;
        return;
    }
    if (packet->u.cfe.has_ip)
        waits = IPTI_WAIT_TAKE;
    else if (type & IPTI_CFE_BRANCHES
             && (evt->enabled || evt->phase >= IPTI_EVT_LOST))
        waits = IPTI_WAIT_FUP;
    if (at == evt->count) {
        record = ipti_evt_push(evt, packet, IPT_EVT_CFE, waits);
    } else if (!(type & ipti_cfe_takes(record->event.u.cfe.has))) {
        evt->error = IPT_ERR_CONTEXT;
        return;
    }
    if (!(type & (IPTI_CFE_BRANCHES | IPTI_CFE_INSNS)))
        record->event.type = IPT_EVT_NONE;
    if (type & IPTI_CFE_NO_IP || waits & (IPTI_WAIT_NOW | IPTI_WAIT_HELD))
        record->event.flags = IPT_EVENT_NO_IP;
    record->waits = waits;
    record->event.u.cfe.type = packet->u.cfe.type;
    record->event.u.cfe.vector = packet->u.cfe.vector;
    if (type & IPTI_CFE_VECTORS)
        record->event.u.cfe.has |= IPT_CFE_HAS_VECTOR;
    ipti_evt_stamp_held(evt);
}

/* ---- the rest ---- */

/* EXSTOP completes MWAIT, with its FUP if it has one. If it has none, a FUP
 * before PWRX is that of the MWAIT all the same, as nothing interrupts a
 * processor that sleeps: a record is there only to use it up. */
static void ipti_evt_exstop(ipt_evt_state_ *evt, const ipt_packet *packet)
{
    const int has_ip = packet->u.exstop.has_ip;
    const unsigned at = ipti_evt_waiting(evt, IPTI_WAIT_EXSTOP);

    if (!has_ip && at < evt->count
        && evt->pending[at].event.type == IPT_EVT_MWAIT
        && ipti_evt_waiting(evt, IPTI_WAIT_PWRX) < evt->count)
        ipti_evt_insert(evt, evt->count, packet, IPT_EVT_NONE,
                        IPTI_WAIT_EXSTOP | IPTI_WAIT_PWRX);
    ipti_evt_await(evt, evt->count, IPTI_WAIT_EXSTOP,
                   has_ip ? (uint8_t) IPTI_WAIT_TAKE : ipti_evt_loose(evt),
                   has_ip ? 0 : IPT_EVENT_NO_IP);
    ipti_evt_stamp_held(evt);
    ipti_evt_take(evt, packet, IPT_EVT_EXSTOP, packet->u.exstop.has_ip);
}

/* Packets that are one event each. MWAIT waits for the EXSTOP that follows, or
 * for a FUP before it, PWRE for PWRX. Packets about time alone make none. */
static void ipti_evt_rest(ipt_evt_state_ *evt, const ipt_packet *packet)
{
    const uint8_t loose = ipti_evt_loose(evt);
    ipt_pending_ *record;

    switch (packet->type) {
    case IPT_PKT_MWAIT:
        record = ipti_evt_push(evt, packet, IPT_EVT_MWAIT, IPTI_WAIT_EXSTOP);
        record->event.u.mwait.hints = packet->u.mwait.hints;
        record->event.u.mwait.ext = packet->u.mwait.ext;
        break;
    case IPT_PKT_EXSTOP:
        ipti_evt_exstop(evt, packet);
        break;
    case IPT_PKT_PWRE:
        record = ipti_evt_push(evt, packet, IPT_EVT_PWRE, IPTI_WAIT_PWRX);
        record->event.flags = IPT_EVENT_NO_IP;
        ipti_evt_stamp(evt, record);
        ipti_evt_set(record, 0, packet->u.pwre.state, packet->u.pwre.sub_state,
                     packet->u.pwre.hw);
        break;
    case IPT_PKT_PWRX:
        ipti_evt_await(evt, evt->count, IPTI_WAIT_PWRX, loose,
                       IPT_EVENT_NO_IP);
        ipti_evt_await(evt, evt->count, IPTI_WAIT_EXSTOP | IPTI_WAIT_PWRX,
                       loose, IPT_EVENT_NO_IP);
        record = ipti_evt_aside(evt, packet, IPT_EVT_PWRX);
        ipti_evt_set(record, packet->u.pwrx.autonomous, packet->u.pwrx.last,
                     packet->u.pwrx.deepest, packet->u.pwrx.interrupt);
        record->event.u.pwrx.store = packet->u.pwrx.store;
        break;
    case IPT_PKT_STOP:
        ipti_evt_aside(evt, packet, IPT_EVT_STOP);
        break;
    case IPT_PKT_CBR:
        record = ipti_evt_aside(evt, packet, IPT_EVT_CBR);
        record->event.u.cbr.ratio = packet->u.cbr.ratio;
        if (evt->phase == IPTI_EVT_PSB)
            record->event.flags |= IPT_EVENT_STATUS;
        break;
    case IPT_PKT_MNT:
        ipti_evt_aside(evt, packet, IPT_EVT_MNT)->event.u.mnt.payload
            = packet->u.mnt.payload;
        break;
    case IPT_PKT_PTW:
        record = ipti_evt_take(evt, packet, IPT_EVT_PTWRITE,
                               packet->u.ptw.has_ip);
        record->event.u.ptwrite.payload = packet->u.ptw.payload;
        record->event.u.ptwrite.size = packet->u.ptw.plc ? 8 : 4;
        break;
    case IPT_PKT_BBP:
        record = ipti_evt_aside(evt, packet, IPT_EVT_PEBS_BEGIN);
        record->event.u.pebs.id = packet->u.bbp.type;
        record->event.u.pebs.size = packet->u.bbp.sz ? 4 : 8;
        break;
    case IPT_PKT_BIP:
        record = ipti_evt_aside(evt, packet, IPT_EVT_PEBS_ITEM);
        ipti_evt_set(record, packet->u.bip.payload, packet->u.bip.id,
                     packet->u.bip.sz ? 4 : 8, 0);
        break;
    case IPT_PKT_BEP:
        ipti_evt_take(evt, packet, IPT_EVT_PEBS_END, packet->u.bep.has_ip);
        break;
    case IPT_PKT_TRIG:
        if (packet->u.trig.has_ip /* it happens at its FUP: icnt has to be 0 */
            && (!packet->u.trig.icntv || packet->u.trig.icnt != 0)) {
            evt->error = IPT_ERR_PACKET;
            break;
        }
        record = ipti_evt_take(evt, packet, IPT_EVT_TRIG,
                               packet->u.trig.has_ip);
        ipti_evt_set(record, packet->u.trig.icnt, packet->u.trig.trbv,
                     packet->u.trig.icntv, packet->u.trig.mult);
        break;
    default:
        break;
    }
}

/* ---- the machine ---- */

/* Packets that the clock wants to see. */
#define IPTI_EVT_TIMING                                                 \
    (IPTI_PKT(TSC) | IPTI_PKT(CBR) | IPTI_PKT(TMA) | IPTI_PKT(MTC)      \
     | IPTI_PKT(CYC) | IPTI_PKT(PSB) | IPTI_PKT(PSBEND) | IPTI_PKT(OVF) \
     | IPTI_PKT(GAP))

/* Phase START: there is no last IP yet. A full IP sets it. Returns 1, with an
 * error, for one that would need it. */
static int ipti_evt_blind(ipt_evt_state_ *evt, const ipt_packet *packet)
{
    if (packet->type < IPT_PKT_TIP || packet->type > IPT_PKT_FUP
        || packet->u.ip.ipc == 0)
        return 0;
    if (packet->u.ip.ipc == 3 || packet->u.ip.ipc == 6)
        evt->phase = IPTI_EVT_FLOW;
    else
        evt->error = IPT_ERR_NO_IP;
    return evt->error != 0;
}

/* A FUP comes right after a PSB+ that said where an OVF left off: is it the
 * OVF's own, which says the same? */
static int ipti_evt_ovf_fup(ipt_evt_state_ *evt, const ipt_packet *packet)
{
    const uint64_t was = evt->last_ip;

    if (ipti_evt_last_ip(evt, packet) && evt->last_ip == evt->psb_ip)
        return 1;
    evt->last_ip = was;
    return 0;
}

/* End the phase in the way that is most likely, as no packet has said which. */
static void ipti_evt_likely(ipt_evt_state_ *evt)
{
    if (evt->phase == IPTI_EVT_HELD)
        ipti_evt_held_done(evt);
    else if (evt->phase == IPTI_EVT_LOST)
        ipti_evt_lost_off(evt);
    else if (evt->phase == IPTI_EVT_BOGUS)
        ipti_evt_lost_on(evt, evt->psb_ip);
}

/* Leave the phases that this packet ends. Returns 1 if it has no other
 * effect. */
static int ipti_evt_phase(ipt_evt_state_ *evt, const ipt_config *config,
                          const ipt_packet *packet)
{
    const int header /* and it may follow a PSB+ that is BDM70's */
        = ipti_pkt_in(IPTI_PKT_HEADER | IPTI_PKT(PSBEND), packet);

    if (evt->phase == IPTI_EVT_FLOW || ipti_pkt_in(IPTI_PKT_NEUTRAL, packet))
        return 0;
    if (evt->phase == IPTI_EVT_PSB && !header && packet->type != IPT_PKT_FUP
        && packet->type != IPT_PKT_OVF) {
        if (config->flags & IPT_CONFIG_STRICT)
            evt->error = IPT_ERR_CONTEXT;
        ipti_evt_psb_done(evt, packet); /* its PSBEND is missing */
        evt->clock.state_ &= (uint8_t) ~IPTI_TIME_PSB;
    }
    if (evt->phase == IPTI_EVT_HELD && header) {
        evt->skipped |= packet->type != IPT_PKT_PSBEND;
    } else if (evt->phase == IPTI_EVT_HELD) {
        if (packet->type == IPT_PKT_TIP_PGE)
            ipti_evt_bdm70(evt);
        ipti_evt_held_done(evt);
        if (packet->type == IPT_PKT_FUP && !evt->skipped
            && ipti_evt_find(evt, IPT_EVT_OVERFLOW))
            return ipti_evt_ovf_fup(evt, packet);
    }
    if (evt->phase == IPTI_EVT_BOGUS)
        ipti_evt_bogus(evt, packet);
    if (evt->phase == IPTI_EVT_LOST)
        return ipti_evt_lost(evt, config->errata, packet);
    if (evt->phase == IPTI_EVT_START)
        return ipti_evt_blind(evt, packet);
    return 0;
}

/* The trace ends: decide what waited for a further packet. Only a PSB+ with a
 * FUP after tracing was disabled is left undecided: it may be BDM70's. */
static int ipti_evt_end(ipt_evt_state_ *evt)
{
    if (evt->phase < IPTI_EVT_HELD
        || (evt->phase == IPTI_EVT_HELD && evt->synced
            && !ipti_evt_find(evt, IPT_EVT_OVERFLOW)))
        return 0;
    ipti_evt_likely(evt);
    return 1;
}

/* Trace was lost. What waits for a packet never happened as far as is known,
 * except MWAIT and PWRE, which say something in themselves. */
static void ipti_evt_gap(ipt_evt_state_ *evt, const ipt_packet *packet)
{
    (void) ipti_evt_end(evt);
    ipti_evt_release(evt, IPTI_WAIT_EXSTOP | IPTI_WAIT_PWRX, 0, 0);
    ipti_evt_drop(evt, ~(unsigned) IPTI_WAIT_NOW);
    evt->phase = IPTI_EVT_FLOW;
    ipti_evt_push(evt, packet, IPT_EVT_GAP, IPTI_WAIT_NOW)->event.u.gap.lost
        = packet->u.gap.lost;
    evt->enabled = 0;
    evt->synced = 0;
    evt->exec = 0;
    evt->vmx = 0;
    evt->last_ip = 0;
}

/* What a packet means in phase FLOW, or where the phase let it through. */
static void ipti_evt_dispatch(ipt_evt_state_ *evt, const ipt_config *config,
                              const ipt_packet *packet)
{
    unsigned at;

    switch (packet->type) {
    case IPT_PKT_PSB:
        ipti_evt_psb(evt, packet);
        break;
    case IPT_PKT_PSBEND:
        if (evt->phase == IPTI_EVT_PSB)
            ipti_evt_psb_done(evt, packet);
        else if (evt->phase != IPTI_EVT_HELD)
            evt->error = IPT_ERR_CONTEXT;
        break;
    case IPT_PKT_OVF:
        ipti_evt_ovf(evt, packet);
        break;
    case IPT_PKT_TNT_8:
    case IPT_PKT_TNT_64:
        if (evt->enabled)
            ipti_evt_set(ipti_evt_push(evt, packet, IPT_EVT_TNT, IPTI_WAIT_NOW),
                         packet->u.tnt.bits, packet->u.tnt.count, 0, 0);
        else
            evt->error = IPT_ERR_CONTEXT;
        break;
    case IPT_PKT_TIP:
    case IPT_PKT_TIP_PGE:
        ipti_evt_tip(evt, packet);
        break;
    case IPT_PKT_TIP_PGD:
        ipti_evt_pgd(evt, packet);
        break;
    case IPT_PKT_FUP:
        ipti_evt_fup(evt, packet);
        break;
    case IPT_PKT_MODE_EXEC:
        ipti_evt_exec(evt, config, packet);
        break;
    case IPT_PKT_MODE_TSX:
        ipti_evt_tsx(evt, packet);
        break;
    case IPT_PKT_PIP:
        ipti_evt_pip(evt, config, packet);
        break;
    case IPT_PKT_VMCS:
        /* before the paging that it brings */
        at = ipti_evt_first(evt, IPT_EVT_ASYNC_PAGING);
        ipti_evt_space(evt, packet, at, IPT_EVT_VMCS, IPT_EVT_ASYNC_VMCS)
            ->event.u.vmcs.base = packet->u.vmcs.base == IPTI_NO_VMCS
                                      ? IPT_ASID_UNKNOWN : packet->u.vmcs.base;
        break;
    case IPT_PKT_CFE:
        ipti_evt_cfe(evt, packet);
        break;
    case IPT_PKT_EVD:
        ipti_evt_evd(evt, packet);
        break;
    default:
        ipti_evt_rest(evt, packet);
        break;
    }
}

/* A timing packet moves the clock, unless IPT_CONFIG_NO_TIME is set. */
static inline void ipti_evt_tick(ipt_evt_state_ *evt, const ipt_packet *packet)
{
    if (ipti_time_unwanted(&evt->clock))
        return;
    (void) ipti_time_packet(&evt->clock, packet);
    evt->ticked = 1;
}

/* One packet: time first, then the phase, then its meaning. A TNT without bits
 * has no effect. */
static IPTI_APART void ipti_evt_packet(ipt_evt_state_ *evt,
                                       const ipt_config *config,
                                       const ipt_packet *packet)
{
    if (ipti_pkt_in(IPTI_EVT_TIMING, packet))
        ipti_evt_tick(evt, packet);
    if (packet->type == IPT_PKT_TNT_64 && packet->u.tnt.count == 0)
        return;
    if (packet->type == IPT_PKT_GAP)
        ipti_evt_gap(evt, packet);
    else if (!ipti_evt_phase(evt, config, packet) && !evt->error)
        ipti_evt_dispatch(evt, config, packet);
}

/* Does nothing wait for a packet, or to be handed out? */
static inline int ipti_evt_idle(const ipt_evt_state_ *evt)
{
    return !(evt->count | evt->phase | evt->error); /* IPTI_EVT_FLOW is 0 */
}

/* While all is idle, TNT, TIP, TIP.PGE and TIP.PGD are events as they are and
 * need no record: make the event of such a packet. */
static IPTI_HOT void ipti_evt_plain(ipt_evt_state_ *evt,
                                    const ipt_packet *packet, ipt_event *out)
{
    const int has_ip = packet->type != IPT_PKT_TNT_8
                       && ipti_evt_last_ip(evt, packet);

    out->offset = packet->offset;
    out->ip = 0;
    out->flags = IPT_EVENT_NO_IP;
    ipti_evt_now(evt, out);
    if (packet->type == IPT_PKT_TNT_8) {
        out->type = IPT_EVT_TNT;
        out->u.tnt.bits = packet->u.tnt.bits;
        out->u.tnt.count = packet->u.tnt.count;
    } else if (packet->type == IPT_PKT_TIP_PGD) {
        out->type = IPT_EVT_DISABLED;
        out->u.branch.to = has_ip ? evt->last_ip : 0;
        if (!has_ip)
            out->flags |= IPT_EVENT_NO_TO;
        evt->enabled = 0;
    } else {
        out->type = packet->type == IPT_PKT_TIP ? IPT_EVT_TIP : IPT_EVT_ENABLED;
        if (has_ip) {
            out->ip = evt->last_ip;
            out->flags &= (uint8_t) ~IPT_EVENT_NO_IP;
        }
        evt->enabled = 1;
    }
}

/* May ipti_evt_plain make an event of this IP packet? */
static IPTI_HOT int ipti_evt_flow(const ipt_evt_state_ *evt,
                                  const ipt_packet *packet)
{
    if (packet->type == IPT_PKT_TIP_PGE)
        return packet->u.ip.ipc != 0;
    return packet->type != IPT_PKT_FUP && evt->enabled;
}

/* ---- the short way ---- */

/* May ipti_evt_short be asked? In phase FLOW nothing waits, or one record does,
 * or an asynchronous branch and what happens with it. */
static IPTI_HOT int ipti_evt_calm(const ipt_evt_state_ *evt)
{
    const ipt_pending_ *const first = evt->pending;

    if (evt->phase | evt->error)
        return 0;
    if (!evt->count)
        return 1;
    return !(first->waits & IPTI_WAIT_NOW)
           && (evt->count == 1
               || (evt->count == 2 && first->event.type == IPT_EVT_ASYNC_BRANCH
                   && first[1].waits == IPTI_WAIT_TIP));
}

/* What ipti_evt_insert makes. */
static IPTI_HOT void ipti_evt_begin(ipt_event *event, const ipt_packet *packet,
                                    uint8_t type)
{
    IPT_MEMSET(event, 0, sizeof(*event));
    event->offset = packet->offset;
    event->type = type;
}

/* An event that needs no IP. */
static IPTI_HOT void ipti_evt_single(const ipt_evt_state_ *evt,
                                     const ipt_packet *packet, uint8_t type,
                                     ipt_event *out)
{
    ipti_evt_begin(out, packet, type);
    out->flags = IPT_EVENT_NO_IP;
    ipti_evt_now(evt, out);
}

/* The i-th record of a queue that ends with it. */
static IPTI_HOT ipt_event *ipti_evt_wait(ipt_evt_state_ *evt, unsigned i,
                                         const ipt_packet *packet,
                                         uint8_t type, uint8_t waits)
{
    ipt_pending_ *const record = &evt->pending[i];

    ipti_evt_begin(&record->event, packet, type);
    record->waits = waits;
    record->stamped = 0;
    evt->count = (uint8_t) (i + 1);
    return &record->event;
}

/* Hand out the first record, which is complete, of two at most. */
static IPTI_HOT int ipti_evt_head(ipt_evt_state_ *evt, ipt_event *out)
{
    ipti_evt_fill(evt, evt->pending, out);
    if (--evt->count)
        IPTI_COPY(&evt->pending[0], &evt->pending[1]);
    return 1;
}

/* A FUP begins an asynchronous branch or completes the record that takes it. */
static IPTI_HOT int ipti_evt_short_fup(ipt_evt_state_ *evt,
                                       const ipt_packet *packet, ipt_event *out)
{
    ipt_pending_ *const first = evt->pending;

    if (packet->u.ip.ipc == 0
        || (evt->count && (!(first->waits & IPTI_WAIT_TAKE)
                           || first->event.type <= IPT_EVT_ASYNC_BRANCH)))
        return -1;
    (void) ipti_evt_last_ip(evt, packet);
    if (!evt->count) {
        ipti_evt_wait(evt, 0, packet, IPT_EVT_ASYNC_BRANCH, IPTI_WAIT_TIP)->ip
            = evt->last_ip;
        return 0;
    }
    first->event.ip = evt->last_ip;
    return ipti_evt_head(evt, out);
}

/* A TIP completes the asynchronous branch, or comes before what waits for
 * it. */
static IPTI_HOT int ipti_evt_short_tip(ipt_evt_state_ *evt,
                                       const ipt_packet *packet, ipt_event *out)
{
    const int branch = evt->count
                       && evt->pending[0].event.type == IPT_EVT_ASYNC_BRANCH;
    int has_ip;

    if (!evt->enabled)
        return -1;
    has_ip = ipti_evt_last_ip(evt, packet);
    ipti_evt_release(evt, IPTI_WAIT_TIP, evt->last_ip, has_ip);
    if (branch)
        return ipti_evt_head(evt, out);
    ipti_evt_single(evt, packet, IPT_EVT_TIP, out);
    if (has_ip) {
        out->ip = evt->last_ip;
        out->flags &= (uint8_t) ~IPT_EVENT_NO_IP;
    }
    return 1;
}

/* A PIP is part of the asynchronous branch, or an instruction caused it. */
static IPTI_HOT int ipti_evt_short_pip(ipt_evt_state_ *evt,
                                       const ipt_config *config,
                                       const ipt_packet *packet, ipt_event *out)
{
    const int branch = evt->count
                       && evt->pending[0].event.type == IPT_EVT_ASYNC_BRANCH;
    const uint8_t vmx = (uint8_t) (1 + packet->u.pip.nr);

    if (evt->count > 1 || (config->flags & IPT_CONFIG_VMX_EVENTS
                           && evt->vmx != vmx && evt->vmx))
        return -1;
    evt->vmx = vmx;
    if (branch)
        out = ipti_evt_wait(evt, 1, packet, IPT_EVT_ASYNC_PAGING,
                            IPTI_WAIT_TIP);
    else
        ipti_evt_single(evt, packet, IPT_EVT_PAGING, out);
    out->u.paging.cr3 = packet->u.pip.cr3;
    out->u.paging.nr = packet->u.pip.nr;
    return !branch;
}

/* A mode waits, even if it repeats the old one: it takes its FUP. */
static IPTI_HOT int ipti_evt_short_exec(ipt_evt_state_ *evt,
                                        const ipt_config *config,
                                        const ipt_packet *packet)
{
    const uint8_t was = evt->exec;
    const uint8_t now = ipti_evt_says(packet);
    const uint8_t type = !was || (was ^ now) & 3 ? IPT_EVT_EXEC_MODE
                                                 : IPT_EVT_NONE;
    ipt_event *event;

    if (evt->count || config->flags & IPT_CONFIG_IFLAGS)
        return -1;
    evt->exec = now;
    event = ipti_evt_wait(evt, 0, packet, type,
                          IPTI_WAIT_TIP | IPTI_WAIT_TAKE);
    event->u.exec.mode = ipti_evt_modes[now & 3];
    event->u.exec.iflag = packet->u.exec.iflag;
    return 0;
}

static IPTI_HOT int ipti_evt_short_tnt(const ipt_evt_state_ *evt,
                                       const ipt_packet *packet, ipt_event *out)
{
    if (!evt->enabled || !packet->u.tnt.count)
        return -1;
    ipti_evt_single(evt, packet, IPT_EVT_TNT, out);
    out->u.tnt.bits = packet->u.tnt.bits;
    out->u.tnt.count = packet->u.tnt.count;
    return 1;
}

static IPTI_HOT int ipti_evt_short_mnt(const ipt_evt_state_ *evt,
                                       const ipt_packet *packet, ipt_event *out)
{
    ipti_evt_single(evt, packet, IPT_EVT_MNT, out);
    out->u.mnt.payload = packet->u.mnt.payload;
    return 1;
}

static IPTI_HOT int ipti_evt_short_ptw(ipt_evt_state_ *evt,
                                       const ipt_packet *packet, ipt_event *out)
{
    if (!packet->u.ptw.has_ip)
        ipti_evt_single(evt, packet, IPT_EVT_PTWRITE, out);
    else if (!evt->count)
        out = ipti_evt_wait(evt, 0, packet, IPT_EVT_PTWRITE, IPTI_WAIT_TAKE);
    else
        return -1;
    out->u.ptwrite.payload = packet->u.ptw.payload;
    out->u.ptwrite.size = packet->u.ptw.plc ? 8 : 4;
    return !packet->u.ptw.has_ip;
}

/* The functions below return as ipti_evt_short. */
static IPTI_HOT int ipti_evt_short_tick(ipt_evt_state_ *evt,
                                        const ipt_where *at, const uint8_t *p,
                                        uint8_t type, uint32_t size)
{
    ipt_packet packet; /* one that is in memory */

    if (!ipti_load(&packet, p, type, size))
        return -1;
    packet.type = type;
    packet.offset = at->offset;
    ipti_evt_tick(evt, &packet);
    return 0;
}

static IPTI_HOT int ipti_evt_short_ip(ipt_evt_state_ *evt, ipt_packet *packet,
                                      const uint8_t *p, uint64_t *size,
                                      ipt_event *out)
{
    *size = *p % 2 ? ipti_pkt_pad_ip(packet, p) : 0;
    if (*size && packet->type == IPT_PKT_FUP)
        return ipti_evt_short_fup(evt, packet, out);
    if (*size && packet->type == IPT_PKT_TIP)
        return ipti_evt_short_tip(evt, packet, out);
    return -1;
}

/* The packet at p where ipti_evt_brisk holds: as ipti_evt_packet, and
 * ipti_evt_pop after it. Returns whether there is an event, or -1 for what the
 * queue is to do: nothing has changed then but *out. */
static IPTI_HOT int ipti_evt_short(ipt_evt_state_ *evt,
                                   const ipt_config *config, ipt_where *at,
                                   const uint8_t *p, ipt_event *out)
{
    const unsigned shape = ipti_pkt_form(p);
    uint64_t size = shape >> IPTI_SHAPE_SIZE;
    ipt_packet packet; /* never in memory */
    int given = -1;

    packet.offset = at->offset;
    packet.type = (uint8_t) shape;
    switch (packet.type) {
    case IPT_PKT_NONE:
        given = ipti_evt_short_ip(evt, &packet, p, &size, out);
        break;
    case IPT_PKT_PIP:
        (void) ipti_load(&packet, p, IPT_PKT_PIP, IPTI_SIZE_PIP);
        given = ipti_evt_short_pip(evt, config, &packet, out);
        break;
    case IPT_PKT_MODE_EXEC:
        (void) ipti_load(&packet, p, IPT_PKT_MODE_EXEC, IPTI_SIZE_MODE_EXEC);
        given = ipti_evt_short_exec(evt, config, &packet);
        break;
    case IPT_PKT_TSC:
        given = ipti_evt_short_tick(evt, at, p, IPT_PKT_TSC, IPTI_SIZE_TSC);
        break;
    case IPT_PKT_TMA:
        given = ipti_evt_short_tick(evt, at, p, IPT_PKT_TMA, IPTI_SIZE_TMA);
        break;
    case IPT_PKT_TNT_64:
        if (ipti_load(&packet, p, IPT_PKT_TNT_64, IPTI_SIZE_TNT_64))
            given = ipti_evt_short_tnt(evt, &packet, out);
        break;
    case IPT_PKT_MNT:
        if (ipti_load(&packet, p, IPT_PKT_MNT, IPTI_SIZE_MNT))
            given = ipti_evt_short_mnt(evt, &packet, out);
        break;
    case IPT_PKT_PTW:
        if (!size)
            break;
        (void) ipti_load(&packet, p, IPT_PKT_PTW, (uint32_t) size);
        given = ipti_evt_short_ptw(evt, &packet, out);
        break;
    default:
        break;
    }
    if (given >= 0)
        ipti_pkt_step(at, &packet, at->offset, size);
    return given;
}

/* ---- the next event ---- */

/* May a packet for ipti_evt_clock begin with this byte? */
static inline int ipti_evt_timing(uint8_t first)
{
    return (first & IPTI_CYC_MASK) == IPTI_CYC || first == IPTI_FIRST_MTC
           || first == IPTI_PAD;
}

/* May one be there? Asked where the call would cost. */
static inline int ipti_evt_ticks(const ipt_cursor_ *cur, uint64_t pos)
{
    return ipti_cur_quick(cur, pos) && ipti_evt_timing(*ipti_cur_at(cur, pos));
}

/* Step over packets that do nothing but move the clock, if anything. Returns 0
 * if there is none, or if the cursor has to look closer. */
static IPTI_APART int ipti_evt_clock(const ipt_cursor_ *cur,
                                     ipt_evt_state_ *evt, ipt_where *at)
{
    const uint64_t from = at->offset;
    const uint8_t *p;
    ipt_packet packet;
    uint64_t size;

    while (ipti_cur_quick(cur, at->offset)) {
        p = ipti_cur_at(cur, at->offset);
        size = *p == IPTI_PAD
                   ? ipti_pkt_pad(&packet, p)
                   : ipti_pkt_clock(&packet, p, cur->config->errata);
        if (!size)
            break;
        ipti_pkt_step(at, &packet, at->offset, size);
        if (packet.type != IPT_PKT_PAD)
            ipti_evt_tick(evt, &packet);
    }
    return at->offset > from;
}

/* The next event, through the queue. Returns 1 when all is idle and the quick
 * way can go on. */
static IPTI_APART int ipti_evt_queue(ipt_cursor_ *cur, ipt_evt_state_ *evt,
                                     ipt_where *at, ipt_event *out)
{
    ipt_packet packet;
    int status;

    if (!IPTI_SMALL && evt->count == 1
        && evt->pending[0].waits == IPTI_WAIT_NOW
        && evt->pending[0].event.type != IPT_EVT_NONE) {
        ipti_evt_head(evt, out);
        return IPT_OK;
    }
    do {
        if (evt->count && ipti_evt_pop(evt, out))
            return IPT_OK;
        if (evt->error)
            return evt->error;
        if (evt->phase >= IPTI_EVT_HELD && evt->count > IPTI_EVT_FULL) {
            ipti_evt_likely(evt);
            continue;
        }
        if (ipti_evt_ticks(cur, at->offset) && ipti_evt_clock(cur, evt, at))
            continue;
        status = ipti_pkt_any(cur, at, &packet);
        ipti_cur_release(cur, at);
        if (status >= 0)
            ipti_evt_packet(evt, cur->config, &packet);
        else if (status == IPT_MORE || status == IPT_BUDGET
                 || !ipti_evt_end(evt))
            return status;
    } while (!ipti_evt_idle(evt));
    return 1;
}

/* A packet for the queue, where `quick` holds. Returns 0 if ipti_pkt_plain does
 * not read such packets. */
static IPTI_APART int ipti_evt_whole(const ipt_cursor_ *cur,
                                     ipt_evt_state_ *evt, ipt_where *at,
                                     const uint8_t *p)
{
    ipt_packet packet;

    if (!ipti_pkt_plain(at, &packet, p))
        return 0;
    ipti_evt_packet(evt, cur->config, &packet);
    return 1;
}

/* May ipti_evt_brief be asked? */
static IPTI_HOT int ipti_evt_brisk(const ipt_cursor_ *cur,
                                   const ipt_evt_state_ *evt, uint64_t pos)
{
    return ipti_evt_calm(evt) && ipti_cur_quick(cur, pos);
}

#define IPTI_EVT_REST 2 /* ipti_evt_queue is to go on */

/* As ipti_evt_queue, or IPTI_EVT_REST. */
static IPTI_HOT int ipti_evt_brief(ipt_cursor_ *cur, ipt_evt_state_ *evt,
                                   ipt_where *at, ipt_event *out)
{
    const uint8_t *p;
    int given;

    do {
        p = ipti_cur_at(cur, at->offset);
        given = (*p & IPTI_CYC_MASK) == IPTI_CYC
                    ? -1 : ipti_evt_short(evt, cur->config, at, p, out);
        if (given > 0)
            return IPT_OK;
        if (given < 0
            && !(ipti_evt_timing(*p) ? ipti_evt_clock(cur, evt, at)
                                     : ipti_evt_whole(cur, evt, at, p)))
            break;
        if (ipti_evt_idle(evt))
            return 1;
    } while (ipti_evt_brisk(cur, evt, at->offset));
    return IPTI_EVT_REST;
}

/* A function of its own: its packet is not on the stack while the queue goes
 * on. */
static IPTI_APART int ipti_evt_apart(ipt_cursor_ *cur, ipt_evt_state_ *evt,
                                     ipt_where *at, ipt_event *out)
{
    return ipti_evt_brief(cur, evt, at, out);
}

static IPTI_HOT int ipti_evt_slow(ipt_cursor_ *cur, ipt_evt_state_ *evt,
                                  ipt_where *at, ipt_event *out, int brisk)
{
    int status = IPTI_EVT_REST;

    if (!IPTI_SMALL && (brisk || ipti_evt_brisk(cur, evt, at->offset)))
        status = ipti_evt_apart(cur, evt, at, out);
    return status == IPTI_EVT_REST ? ipti_evt_queue(cur, evt, at, out)
                                   : status;
}

/* Step over PADs to the next packet. Returns 0 if that is not one for
 * ipti_evt_plain, or if the cursor has to look closer. */
static IPTI_HOT int ipti_evt_quick(const ipt_cursor_ *cur,
                                   const ipt_evt_state_ *evt, ipt_where *at,
                                   ipt_packet *packet)
{
    const uint8_t *p;
    uint64_t size;

    while (IPTI_LIKELY(ipti_evt_idle(evt) && ipti_cur_quick(cur, at->offset))) {
        p = ipti_cur_at(cur, at->offset);
        if (IPTI_LIKELY(evt->enabled && ipti_pkt_tnt(packet, p))) {
            ipti_pkt_step(at, packet, at->offset, 1);
            return 1;
        }
        size = ipti_pkt_pad_ip(packet, p);
        if (IPTI_UNLIKELY(!size))
            return -1;
        if (packet->type == IPT_PKT_PAD) {
            ipti_pkt_step(at, packet, at->offset, size);
            continue;
        }
        if (IPTI_UNLIKELY(!ipti_evt_flow(evt, packet)))
            return -1;
        ipti_pkt_step(at, packet, at->offset, size);
        return 1;
    }
    return 0;
}

/* The next event; *out is written if there is one. */
static inline int ipti_evt_fetch(ipt_cursor_ *cur, ipt_evt_state_ *evt,
                                 ipt_where *at, ipt_event *out)
{
    ipt_packet packet; /* never in memory */
    int status;

    do {
        status = ipti_evt_quick(cur, evt, at, &packet);
        if (IPTI_LIKELY(status > 0)) {
            ipti_evt_plain(evt, &packet, out);
            return IPT_OK;
        }
        status = ipti_evt_slow(cur, evt, at, out, status < 0);
    } while (status > 0);
    return status;
}

/* An event is used: its time is the time now. */
static inline void ipti_evt_time(ipt_where *at, const ipt_event *event)
{
    at->tsc = event->tsc;
    at->lost_mtc = event->lost_mtc;
    at->lost_cyc = event->lost_cyc;
    at->cbr = event->cbr;
    if (event->flags & IPT_EVENT_TSC)
        at->valid |= IPT_AT_TSC;
}

/* Keep the address space that an event of IPTI_EVT_ASIDS names; a GAP's is not
 * known. */
static void ipti_evt_asid(ipt_asid *asid, const ipt_event *event)
{
    const uint8_t type = event->type;

    if (type == IPT_EVT_PAGING || type == IPT_EVT_ASYNC_PAGING) {
        asid->cr3 = event->u.paging.cr3;
        asid->nr = event->u.paging.nr;
    } else if (type == IPT_EVT_VMCS || type == IPT_EVT_ASYNC_VMCS) {
        asid->vmcs = event->u.vmcs.base;
    } else {
        ipti_asid_unknown(asid);
    }
}

#define IPTI_EVT(type) ((uint64_t) 1 << IPT_EVT_##type) /* in sets of types */

/* Sets have 64 bits, of which the upper half is not used while there are so few
 * types: 32 bits cost less. */
#define IPTI_EVT_SET(types) \
    (IPT_EVT_COUNT <= 32 ? (uint32_t) (types) : (types))

/* Is an event type in a set? It is below 64. */
static inline int ipti_evt_in(uint64_t types, uint8_t type)
{
    return (int) (IPTI_EVT_SET(types) >> type & 1);
}

/* Events that ipti_evt_asid wants to see. */
#define IPTI_EVT_ASIDS                                          \
    (IPTI_EVT(PAGING) | IPTI_EVT(ASYNC_PAGING) | IPTI_EVT(VMCS) \
     | IPTI_EVT(ASYNC_VMCS) | IPTI_EVT(GAP))

/* An event is handed out. */
static inline void ipti_evt_given(ipt_where *at, const ipt_event *event)
{
    ipti_evt_time(at, event);
    if (IPTI_UNLIKELY(ipti_evt_in(IPTI_EVT_ASIDS, event->type)))
        ipti_evt_asid(&at->asid, event);
}

/* Are there events that the user does not want? */
static inline int ipti_evt_unwanted_any(const ipt_config *config)
{
    return IPTI_EVT_SET(config->unwanted) != 0;
}

/* Does the user want no events of this type? What they say is applied all the
 * same. */
static inline int ipti_evt_unwanted(const ipt_config *config, uint8_t type)
{
    return ipti_evt_in(config->unwanted, type);
}

/* Forget all; the decoder has synchronised. */
static void ipti_evt_reset(ipt_evt_state_ *evt, const ipt_config *config)
{
    IPT_MEMSET(evt, 0, sizeof(*evt));
    ipti_time_init(&evt->clock, config);
}

/* The numbers of an ipt_start are in range. */
static int ipti_start_check(const ipt_start *start)
{
    if (start->enabled > 1 || start->mode >= IPT_MODE_COUNT
        || start->asid.nr > 1 || start->has & ~IPT_START_ALL_
        || (start->stack_count && !start->stack))
        return IPT_ERR_ARG;
    return IPT_OK;
}

/* Stand at a packet, in a given state. */
static int ipti_evt_start(ipt_cursor_ *cur, ipt_evt_state_ *evt, ipt_where *at,
                          const ipt_start *start)
{
    ipt_packet packet;
    int status = ipti_start_check(start);

    if (status >= 0)
        status = ipti_sync_set(cur, at, start->offset, 0);
    if (status < 0)
        return status;
    ipti_evt_reset(evt, cur->config);
    evt->enabled = start->enabled;
    evt->synced = 1;
    evt->phase = start->has & IPT_START_LAST_IP ? IPTI_EVT_FLOW
                                                : IPTI_EVT_START;
    evt->last_ip = start->last_ip;
    if (start->has & IPT_START_ASID) {
        IPTI_COPY(&at->asid, &start->asid);
        evt->vmx = (uint8_t) (1 + start->asid.nr);
    }
    packet.type = IPT_PKT_CBR;
    packet.u.cbr.ratio = start->cbr;
    if (start->cbr)
        ipti_evt_tick(evt, &packet);
    packet.type = IPT_PKT_TSC;
    packet.u.tsc.value = start->tsc;
    if (start->has & IPT_START_TSC)
        ipti_evt_tick(evt, &packet);
    at->tsc = evt->clock.tsc;
    at->cbr = evt->clock.cbr;
    if (evt->clock.has_tsc)
        at->valid |= IPT_AT_TSC;
    return IPT_OK;
}

IPT_API int ipt_evt_init(ipt_evt_decoder *decoder, const ipt_config *config,
                         const ipt_trace *trace)
{
    if (!decoder)
        return IPT_ERR_ARG;
    IPT_MEMSET(decoder, 0, sizeof(*decoder));
    return ipti_made(
        &decoder->magic_, sizeof(*decoder),
        ipti_cur_init(&decoder->cur_, &decoder->at, config, trace));
}

/* A _sync function ends here, and _next with an error. */
static IPTI_APART int ipti_evt_synced(ipt_evt_decoder *decoder, int status)
{
    if (status >= 0)
        ipti_evt_reset(&decoder->evt_, decoder->cur_.config);
    return ipti_leave(&decoder->cur_, &decoder->at, status);
}

IPT_API int ipt_evt_sync_forward(ipt_evt_decoder *decoder)
{
    if (IPTI_BAD_SELF(decoder))
        return IPTI_SELF_ERROR(decoder);
    return ipti_evt_synced(decoder,
                           ipti_sync_forward(&decoder->cur_, &decoder->at));
}

IPT_API int ipt_evt_sync_backward(ipt_evt_decoder *decoder)
{
    if (IPTI_BAD_SELF(decoder))
        return IPTI_SELF_ERROR(decoder);
    return ipti_evt_synced(decoder,
                           ipti_sync_backward(&decoder->cur_, &decoder->at));
}

IPT_API int ipt_evt_sync_set(ipt_evt_decoder *decoder, uint64_t offset)
{
    if (IPTI_BAD_SELF(decoder))
        return IPTI_SELF_ERROR(decoder);
    return ipti_evt_synced(
        decoder, ipti_sync_set(&decoder->cur_, &decoder->at, offset, 1));
}

IPT_API int ipt_evt_start(ipt_evt_decoder *decoder, const ipt_start *start)
{
    if (IPTI_BAD_CALL(decoder, start))
        return IPTI_CALL_ERROR(decoder);
    return ipti_leave(&decoder->cur_, &decoder->at,
                      ipti_evt_start(&decoder->cur_, &decoder->evt_,
                                     &decoder->at, start));
}

/* As ipti_evt_queue. This and the next two are not inlined, so that
 * ipt_evt_next stays short. */
static IPTI_APART int ipti_evt_next(ipt_evt_decoder *decoder, ipt_event *event)
{
    const int status = ipti_evt_queue(&decoder->cur_, &decoder->evt_,
                                      &decoder->at, event);

    if (status < 0)
        return ipti_evt_synced(decoder, status);
    if (status == IPT_OK)
        ipti_evt_given(&decoder->at, event);
    return status;
}

/* As ipti_evt_next, where ipti_evt_brisk holds. */
static IPTI_APART int ipti_evt_prompt(ipt_evt_decoder *decoder,
                                      ipt_event *event)
{
    const int status = ipti_evt_brief(&decoder->cur_, &decoder->evt_,
                                      &decoder->at, event);

    if (status == IPTI_EVT_REST)
        return ipti_evt_next(decoder, event);
    if (status == IPT_OK)
        ipti_evt_given(&decoder->at, event);
    return status;
}

/* ipti_evt_prompt where it may be asked, else ipti_evt_next. */
static IPTI_APART int ipti_evt_either(ipt_evt_decoder *decoder,
                                      ipt_event *event)
{
    if (ipti_evt_brisk(&decoder->cur_, &decoder->evt_, decoder->at.offset))
        return ipti_evt_prompt(decoder, event);
    return ipti_evt_next(decoder, event);
}

/* The next event that the user wants. */
static IPTI_APART int ipti_evt_wanted(ipt_evt_decoder *decoder,
                                      ipt_event *event)
{
    ipt_event next;
    int status;

    do {
        status = ipti_evt_fetch(&decoder->cur_, &decoder->evt_, &decoder->at,
                                &next);
        if (status < 0)
            return ipti_leave(&decoder->cur_, &decoder->at, status);
        ipti_evt_given(&decoder->at, &next);
    } while (ipti_evt_unwanted(decoder->cur_.config, next.type));
    IPTI_COPY(event, &next);
    return IPT_OK;
}

IPT_API int ipt_evt_next(ipt_evt_decoder *decoder, ipt_event *event)
{
    ipt_packet packet; /* never in memory */
    int status;

    if (IPTI_BAD_CALL(decoder, event))
        return IPTI_CALL_ERROR(decoder);
    if (IPTI_UNLIKELY(ipti_evt_unwanted_any(decoder->cur_.config)))
        return ipti_evt_wanted(decoder, event);
    while (IPTI_UNLIKELY((status = ipti_evt_quick(
                              &decoder->cur_, &decoder->evt_, &decoder->at,
                              &packet)) <= 0)) {
        status = IPTI_SMALL   ? ipti_evt_next(decoder, event)
                 : status < 0 ? ipti_evt_prompt(decoder, event)
                              : ipti_evt_either(decoder, event);
        if (status <= 0)
            return status;
    }
    ipti_evt_plain(&decoder->evt_, &packet, event);
    ipti_evt_time(&decoder->at, event);
    return IPT_OK;
}

/* ==========================================================================
 * [qry]  what a walker of its own needs: branches, events, time
 * Uses: [base], [sync], [evt].  State: ipt_qry_decoder.
 *
 * A view of [evt]: TNT bits are collected, and the event after them is held. It
 * has no rules of its own about what binds where.
 * ========================================================================== */

IPT_API int ipt_qry_init(ipt_qry_decoder *decoder, const ipt_config *config,
                         const ipt_trace *trace)
{
    if (!decoder)
        return IPT_ERR_ARG;
    IPT_MEMSET(decoder, 0, sizeof(*decoder));
    return ipti_made(
        &decoder->magic_, sizeof(*decoder),
        ipti_cur_init(&decoder->cur_, &decoder->at, config, trace));
}

/* TNT bits take the time of their event when the first of them is used. */
static void ipti_qry_tnt_time(ipt_qry_decoder *decoder)
{
    if (decoder->fresh_)
        ipti_evt_time(&decoder->at, &decoder->event_);
    decoder->fresh_ = 0;
}

/* Fetch an event: its TNT bits are collected, any other event is held. */
static int ipti_qry_fetch(ipt_qry_decoder *decoder)
{
    ipt_event *event = &decoder->event_;
    int status;

    ipti_qry_tnt_time(decoder); /* before another event takes its place */
    for (;;) {
        status = ipti_evt_fetch(&decoder->cur_, &decoder->evt_, &decoder->at,
                                event);
        if (status < 0)
            return status;
        if (!ipti_evt_unwanted(decoder->cur_.config, event->type))
            break;
        ipti_evt_given(&decoder->at, event);
    }
    if (event->type != IPT_EVT_TNT) {
        decoder->have_event_ = 1;
        return IPT_OK;
    }
    if (event->u.tnt.count > 64 - decoder->tnt_count_) {
        decoder->evt_.error = IPT_ERR_EVENTS;
        return IPT_ERR_EVENTS;
    }
    decoder->fresh_ = 1;
    decoder->tnt_ = decoder->tnt_ << event->u.tnt.count | event->u.tnt.bits;
    decoder->tnt_count_ = (uint8_t) (decoder->tnt_count_ + event->u.tnt.count);
    return IPT_OK;
}

/* Fetch until there are TNT bits or an event. */
static int ipti_qry_fill(ipt_qry_decoder *decoder)
{
    if (decoder->cur_.state < IPTI_CUR_SYNC)
        return IPT_ERR_NOSYNC;
    return decoder->tnt_count_ || decoder->have_event_
               ? (int) IPT_OK
               : ipti_qry_fetch(decoder);
}

/* The status bits that go with what is handed out: is an event pending? An
 * error that comes next counts as one, and ipt_qry_event returns it. */
static int ipti_qry_status(ipt_qry_decoder *decoder)
{
    const int status = ipti_qry_fill(decoder);

    if (decoder->tnt_count_)
        return IPT_OK;
    if (status < 0)
        return status > IPT_ERR_ARG ? IPT_OK : IPT_EVENT_PENDING;
    return decoder->event_.type == IPT_EVT_TIP ? IPT_OK : IPT_EVENT_PENDING;
}

/* A _sync function ends here: read on to the first event, which has the IP. */
static int ipti_qry_synced(ipt_qry_decoder *decoder, uint64_t *ip, int status)
{
    if (status >= 0) {
        ipti_evt_reset(&decoder->evt_, decoder->cur_.config);
        decoder->tnt_count_ = 0;
        decoder->have_event_ = 0;
        decoder->from_ = decoder->at.sync;
        decoder->fresh_ = 0;
        status = ipti_qry_status(decoder);
        if (!decoder->have_event_ || decoder->event_.flags & IPT_EVENT_NO_IP)
            status |= IPT_IP_SUPPRESSED;
        else
            *ip = decoder->event_.ip;
    }
    return ipti_leave(&decoder->cur_, &decoder->at, status);
}

IPT_API int ipt_qry_sync_forward(ipt_qry_decoder *decoder, uint64_t *ip)
{
    if (IPTI_BAD_CALL(decoder, ip))
        return IPTI_CALL_ERROR(decoder);
    return ipti_qry_synced(decoder, ip,
                           ipti_sync_forward(&decoder->cur_, &decoder->at));
}

IPT_API int ipt_qry_sync_backward(ipt_qry_decoder *decoder, uint64_t *ip)
{
    if (IPTI_BAD_CALL(decoder, ip))
        return IPTI_CALL_ERROR(decoder);
    return ipti_qry_synced(decoder, ip,
                           ipti_sync_stepback(&decoder->cur_, &decoder->at,
                                              decoder->from_));
}

IPT_API int ipt_qry_sync_set(ipt_qry_decoder *decoder, uint64_t offset,
                             uint64_t *ip)
{
    if (IPTI_BAD_CALL(decoder, ip))
        return IPTI_CALL_ERROR(decoder);
    return ipti_qry_synced(
        decoder, ip, ipti_sync_set(&decoder->cur_, &decoder->at, offset, 1));
}

/* The oldest TNT bit. */
IPT_API int ipt_qry_cond_branch(ipt_qry_decoder *decoder, int *taken)
{
    int status;

    if (IPTI_BAD_CALL(decoder, taken))
        return IPTI_CALL_ERROR(decoder);
    status = ipti_qry_fill(decoder);
    if (status >= 0 && decoder->tnt_count_ == 0)
        status = IPT_ERR_QUERY;
    if (status >= 0) {
        ipti_qry_tnt_time(decoder);
        decoder->from_ = UINT64_MAX;
        decoder->tnt_count_--;
        *taken = (int) (decoder->tnt_ >> decoder->tnt_count_ & 1);
        status = ipti_qry_status(decoder);
    }
    return ipti_leave(&decoder->cur_, &decoder->at, status);
}

/* The next TIP. TNT bits that come before it, because it was deferred, are
 * kept. */
IPT_API int ipt_qry_indirect_branch(ipt_qry_decoder *decoder, uint64_t *ip)
{
    int status = IPT_OK;

    if (IPTI_BAD_CALL(decoder, ip))
        return IPTI_CALL_ERROR(decoder);
    if (decoder->cur_.state < IPTI_CUR_SYNC)
        status = IPT_ERR_NOSYNC;
    while (status >= 0 && !decoder->have_event_)
        status = ipti_qry_fetch(decoder);
    if (status >= 0 && decoder->event_.type != IPT_EVT_TIP)
        status = IPT_ERR_QUERY;
    if (status >= 0) {
        decoder->from_ = UINT64_MAX;
        decoder->have_event_ = 0;
        ipti_evt_time(&decoder->at, &decoder->event_);
        status = decoder->event_.flags & IPT_EVENT_NO_IP ? IPT_IP_SUPPRESSED
                                                         : IPT_OK;
        if (status == IPT_OK)
            *ip = decoder->event_.ip;
        status |= ipti_qry_status(decoder);
    }
    return ipti_leave(&decoder->cur_, &decoder->at, status);
}

/* The event that is held, if no TNT bit comes before it. */
IPT_API int ipt_qry_event(ipt_qry_decoder *decoder, ipt_event *event)
{
    int status;

    if (IPTI_BAD_CALL(decoder, event))
        return IPTI_CALL_ERROR(decoder);
    status = ipti_qry_fill(decoder);
    if (status >= 0
        && (decoder->tnt_count_ || decoder->event_.type == IPT_EVT_TIP))
        status = IPT_ERR_QUERY;
    if (status >= 0) {
        IPTI_COPY(event, &decoder->event_);
        decoder->from_ = UINT64_MAX;
        decoder->have_event_ = 0;
        ipti_evt_given(&decoder->at, event);
        status = ipti_qry_status(decoder);
    }
    return ipti_leave(&decoder->cur_, &decoder->at, status);
}

/* ==========================================================================
 * [classify]  code bytes -> instruction length, kind, displacement
 * Uses: [base].  State: none.
 * ========================================================================== */

/* A table-driven length decoder. The length is right for every instruction that
 * can execute; the kind says what matters to a trace. Bytes that no processor
 * executes are refused where that costs nothing.
 *
 * In the maps where the encoding alone fixes the length (VEX, EVEX, XOP, 0F 38,
 * 0F 3A) any opcode is accepted, so that vector instructions to come need no
 * update.
 *
 * The description of an opcode is one byte, `flags`:
 *
 *       7     6     5     4    3                    0
 *     | KEY | ODD |NOT64|MODRM| which immediate follows |  */
enum {
    /* 0 to 3, and 8: so many bytes (3 is ENTER's iw ib) */
    IPTI_X86_IMM8 = 1,
    IPTI_X86_IMM16 = 2,
    IPTI_X86_IMM_Z = 4,  /* 2 or 4 by operand size */
    IPTI_X86_IMM_V = 5,  /* 2, 4 or 8 by operand size: MOV B8 */
    IPTI_X86_FAR = 6,    /* offset by operand size, then a selector */
    IPTI_X86_REL_Z = 7,  /* as IMM_Z, but always 4 in 64-bit mode */
    IPTI_X86_IMM64 = 8,
    IPTI_X86_IMM32 = 9,
    IPTI_X86_OFFSET = 10, /* by address size: MOV A0 */
    IPTI_X86_IMM = 0x0f, /* mask of the above */

    IPTI_X86_MODRM = 0x10, /* a ModRM byte follows, with SIB, displacement */
    IPTI_X86_NOT64 = 0x20, /* not in 64-bit mode */
    IPTI_X86_ODD = 0x40,   /* a prefix, an escape (first byte), or no opcode */
    IPTI_X86_KEY = 0x80    /* has a kind, or depends on ModRM: _kind0, 1 */
};

#define IPTI_8(x) x, x, x, x, x, x, x, x /* a row of the tables below */

/* One-byte opcodes. Opcodes that begin something else in some mode (62 8F C4
 * C5 D5) are ODD. Checked against Zydis by tests/peer_zydis.c. */
static const uint8_t ipti_x86_map0[256] = {
    0x10, 0x10, 0x10, 0x10, 0x01, 0x04, 0x20, 0x20,         /* 00 */
    0x10, 0x10, 0x10, 0x10, 0x01, 0x04, 0x20, 0x40,         /* 08 */
    0x10, 0x10, 0x10, 0x10, 0x01, 0x04, 0x20, 0x20,         /* 10 */
    0x10, 0x10, 0x10, 0x10, 0x01, 0x04, 0x20, 0x20,         /* 18 */
    0x10, 0x10, 0x10, 0x10, 0x01, 0x04, 0x40, 0x20,         /* 20 */
    0x10, 0x10, 0x10, 0x10, 0x01, 0x04, 0x40, 0x20,         /* 28 */
    0x10, 0x10, 0x10, 0x10, 0x01, 0x04, 0x40, 0x20,         /* 30 */
    0x10, 0x10, 0x10, 0x10, 0x01, 0x04, 0x40, 0x20,         /* 38 */
    IPTI_8(0x00), IPTI_8(0x00), IPTI_8(0x00), IPTI_8(0x00), /* 40 */
    0x20, 0x20, 0x40, 0x10, 0x40, 0x40, 0x40, 0x40,         /* 60 */
    0x04, 0x14, 0x01, 0x11, 0x00, 0x00, 0x00, 0x00,         /* 68 */
    IPTI_8(0x81), IPTI_8(0x81),                             /* 70 */
    0x11, 0x14, 0x31, 0x11, 0x10, 0x10, 0x10, 0x10,         /* 80 */
    0x10, 0x10, 0x10, 0x10, 0x10, 0x10, 0x10, 0x40,         /* 88 */
    IPTI_8(0x00),                                           /* 90 */
    0x00, 0x00, 0xa6, 0x00, 0x00, 0x00, 0x00, 0x00,         /* 98 */
    0x0a, 0x0a, 0x0a, 0x0a, 0x00, 0x00, 0x00, 0x00,         /* a0 */
    0x01, 0x04, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,         /* a8 */
    IPTI_8(0x01), IPTI_8(0x05),                             /* b0 */
    0x11, 0x11, 0x82, 0x80, 0x40, 0x40, 0x91, 0x94,         /* c0 */
    0x03, 0x00, 0x82, 0x80, 0x80, 0x81, 0xa0, 0x80,         /* c8 */
    0x10, 0x10, 0x10, 0x10, 0x21, 0x40, 0x20, 0x00,         /* d0 */
    IPTI_8(0x10),                                           /* d8 */
    0x81, 0x81, 0x81, 0x81, 0x01, 0x01, 0x01, 0x01,         /* e0 */
    0x87, 0x87, 0xa6, 0x81, 0x00, 0x00, 0x00, 0x00,         /* e8 */
    0x40, 0x80, 0x40, 0x40, 0x00, 0x00, 0x91, 0x94,         /* f0 */
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x90, 0x90          /* f8 */
};

/* Opcodes after 0F. */
static const uint8_t ipti_x86_map1[256] = {
    0x10, 0x90, 0x10, 0x10, 0x40, 0x80, 0x00, 0x80,         /* 00 */
    0x00, 0x00, 0x40, 0x00, 0x40, 0x10, 0x00, 0x11,         /* 08 */
    IPTI_8(0x10), IPTI_8(0x10),                             /* 10 */
    0x10, 0x10, 0x90, 0x10, 0x40, 0x40, 0x40, 0x40,         /* 20 */
    IPTI_8(0x10),                                           /* 28 */
    0x00, 0x00, 0x00, 0x00, 0x80, 0x80, 0x40, 0x00,         /* 30 */
    IPTI_8(0x40), IPTI_8(0x10), IPTI_8(0x10), IPTI_8(0x10), /* 38 */
    IPTI_8(0x10), IPTI_8(0x10), IPTI_8(0x10),               /* 58 */
    0x11, 0x11, 0x11, 0x11, 0x10, 0x10, 0x10, 0x00,         /* 70 */
    0x90, 0x10, 0x40, 0x40, 0x10, 0x10, 0x10, 0x10,         /* 78 */
    IPTI_8(0x87), IPTI_8(0x87), IPTI_8(0x10), IPTI_8(0x10), /* 80 */
    0x00, 0x00, 0x00, 0x10, 0x11, 0x10, 0x10, 0x10,         /* a0 */
    0x00, 0x00, 0x80, 0x10, 0x11, 0x10, 0x90, 0x10,         /* a8 */
    IPTI_8(0x10),                                           /* b0 */
    0x90, 0x10, 0x91, 0x10, 0x10, 0x10, 0x10, 0x10,         /* b8 */
    0x10, 0x10, 0x11, 0x10, 0x11, 0x11, 0x11, 0x90,         /* c0 */
    IPTI_8(0x00), IPTI_8(0x10), IPTI_8(0x10), IPTI_8(0x10), /* c8 */
    IPTI_8(0x10), IPTI_8(0x10), IPTI_8(0x10)                /* e8 */
};

/* The instruction being taken apart. */
typedef struct ipti_x86 {
    const uint8_t *bytes;
    size_t size;    /* bytes there are, at most 15 */
    size_t pos;     /* bytes used; may pass size, the end checks */
    uint8_t mode;   /* IPT_MODE_ */
    uint8_t rex;    /* REX, or REX2 in REX's terms; 0: none in effect */
    uint8_t data;   /* 66 seen */
    uint8_t addr;   /* 67 seen */
    uint8_t lock;   /* F0 seen */
    uint8_t rep;    /* the last of F2, F3; it beats 66 as opcode extension */
    uint8_t map;    /* 0, 1: the tables above; 4: EVEX map 4; 2: any other */
    uint8_t opcode;
    uint8_t modrm;
} ipti_x86;

enum { IPTI_INSN_MAX = 15, IPTI_REX_W = 8, IPTI_REX_R = 4 };

/* Are n more bytes there? An instruction that would pass byte 15 is bad no
 * matter how few of its bytes the caller has, so that is asked first. */
static int ipti_x86_need(const ipti_x86 *x, size_t n)
{
    if (x->pos + n <= x->size)
        return 0;
    return x->pos + n > IPTI_INSN_MAX ? IPT_ERR_BAD_INSN : IPT_MORE;
}

/* The next byte, or a status. */
static int ipti_x86_byte(ipti_x86 *x)
{
    const int status = ipti_x86_need(x, 1);

    return status ? status : x->bytes[x->pos++];
}

/* The register, or the part of the opcode, that ModRM names. */
static unsigned ipti_x86_reg(const ipti_x86 *x)
{
    return x->modrm >> 3 & 7;
}

/* The flags of opcodes after VEX, EVEX (map 1 to 7) or XOP (8 to 10), of which
 * maps 7 and 10 are URDMSR, UWRMSR and such; BEXTR, LWPINS. */
static const uint8_t ipti_x86_maps[11]
    = {0x40, 0x10, 0x10, 0x11, 0x10, 0x10, 0x10, 0x19, 0x11, 0x10, 0x19};

static int ipti_x86_vector_flags(uint8_t lead, uint8_t map, uint8_t opcode)
{
    if (map > (lead == 0x8f ? 10 : 7))
        return IPT_ERR_BAD_INSN;
    if (map == 1) {
        if (opcode == 0x77 && lead != 0x62)
            return 0; /* VZEROUPPER */
        if ((opcode & 0xfc) == 0x70 || opcode == 0xc2
            || (opcode >= 0xc4 && opcode <= 0xc6))
            return IPTI_X86_MODRM | IPTI_X86_IMM8;
    }
    if (map != 4)
        return ipti_x86_maps[map];
    switch (opcode) { /* APX: integer instructions, with their immediates */
    case 0x24:
    case 0x2c:
    case 0x6b:
    case 0x80:
    case 0x83:
    case 0xc0:
    case 0xc1:
    case 0xd4: return IPTI_X86_MODRM | IPTI_X86_IMM8;
    case 0x69:
    case 0x81: return IPTI_X86_MODRM | IPTI_X86_IMM_Z;
    case 0xf6: return IPTI_X86_MODRM | IPTI_X86_IMM8 | IPTI_X86_KEY;
    case 0xf7: return IPTI_X86_MODRM | IPTI_X86_IMM_Z | IPTI_X86_KEY;
    default: return IPTI_X86_MODRM;
    }
}

/* After C4, C5, 62 or 8F: returns the opcode's flags, or a status.
 *
 *     C5  RvvvvLpp             map is 1
 *     C4  RXBmmmmm Wvvvvlpp    XOP (8F) the same, mmmmm from 8 up
 *     62  RXBRBmmm WvvvvXpp zLLbVaaa
 */
static int ipti_x86_vector(ipti_x86 *x, uint8_t lead)
{
    const size_t payload = lead == 0xc5 ? 1 : lead == 0x62 ? 3 : 2;
    const uint8_t *p = x->bytes + x->pos;
    int status = ipti_x86_need(x, 1);
    uint8_t map = 1;

    if (status)
        return status;
    if (lead == 0x8f && (*p & 0x18) == 0) /* POP */
        return IPTI_X86_MODRM | IPTI_X86_KEY;
    if (lead != 0x8f && *p < 0xc0 && x->mode != IPT_MODE_64)
        return IPTI_X86_MODRM; /* LES, LDS, BOUND */
    if (x->rex || x->data || x->rep || x->lock)
        return IPT_ERR_BAD_INSN;
    status = ipti_x86_need(x, payload + 1);
    if (status)
        return status;
    if (lead != 0xc5)
        map = *p & (lead == 0x62 ? 0x07 : 0x1f);
    if (map == 4) { /* pp and W do what 66 and REX.W do elsewhere */
        if (x->mode != IPT_MODE_64 || lead != 0x62)
            return IPT_ERR_BAD_INSN;
        x->data = (p[1] & 3) == 1;
        x->rex = p[1] >> 4 & IPTI_REX_W;
    }
    x->pos += payload + 1;
    x->opcode = p[payload];
    x->map = map == 4 ? 4 : 2;
    return ipti_x86_vector_flags(lead, map, x->opcode);
}

/* After D5 in 64-bit mode, which is REX2, with the opcode in map M: returns the
 * opcode's flags, or a status. The upper R X B extend the lower.
 *
 *     D5  MRXBWRXB opcode
 */
static int ipti_x86_rex2(ipti_x86 *x)
{
    const uint8_t *p = x->bytes + x->pos;
    const int status = ipti_x86_need(x, 2);
    uint8_t row;

    if (status)
        return status;
    if (x->rex)
        return IPT_ERR_BAD_INSN;
    x->pos += 2;
    x->rex = (uint8_t) (0x40 | (*p & 0x0f) | (*p >> 4 & 0x07));
    x->map = *p >> 7;
    x->opcode = p[1];
    row = x->opcode >> 4;
    if (x->map)
        return row == 3 || row == 8 ? (int) IPT_ERR_BAD_INSN
                                    : ipti_x86_map1[x->opcode];
    if (x->opcode == 0xa1) /* JMPABS */
        return x->data || x->addr || x->rep || x->lock || x->rex & IPTI_REX_W
                   ? (int) IPT_ERR_BAD_INSN
                   : IPTI_X86_IMM64 | IPTI_X86_KEY;
    if (row == 4 || row == 7 || row == 0xa || row == 0xe)
        return IPT_ERR_BAD_INSN;
    return x->opcode == 0x8f ? IPTI_X86_MODRM | IPTI_X86_KEY
                             : ipti_x86_map0[x->opcode];
}

/* After 0F: returns the opcode's flags, or a status. */
static int ipti_x86_escape(ipti_x86 *x)
{
    int byte = ipti_x86_byte(x);
    int flags;

    if (byte < 0)
        return byte;
    x->map = 1;
    flags = ipti_x86_map1[byte];
    if (byte == 0x38 || byte == 0x3a) {
        flags = IPTI_X86_MODRM | (byte == 0x3a ? IPTI_X86_IMM8 : 0);
        x->map = 2;
        byte = ipti_x86_byte(x);
        if (byte < 0)
            return byte;
    }
    x->opcode = (uint8_t) byte;
    return flags;
}

/* Prefixes and opcode: returns the opcode's flags, or a status. A REX counts
 * only as the last prefix; one before another prefix has no effect. */
static int ipti_x86_opcode(ipti_x86 *x)
{
    int byte;

    for (;;) {
        byte = ipti_x86_byte(x);
        if (byte < 0)
            return byte;
        if ((byte & 0xf0) == 0x40 && x->mode == IPT_MODE_64) {
            x->rex = (uint8_t) byte;
            continue;
        }
        x->opcode = (uint8_t) byte;
        if (!(ipti_x86_map0[byte] & IPTI_X86_ODD))
            return ipti_x86_map0[byte];
        switch (byte) {
        case 0x0f: return ipti_x86_escape(x);
        case 0x62:
        case 0x8f:
        case 0xc4:
        case 0xc5: return ipti_x86_vector(x, x->opcode);
        case 0xd5: /* AAD, but in 64-bit mode */
            return x->mode == IPT_MODE_64 ? ipti_x86_rex2(x) : IPTI_X86_IMM8;
        case 0x66: x->data = 1; break;
        case 0x67: x->addr = 1; break;
        case 0xf0: x->lock = 1; break;
        case 0xf2:
        case 0xf3: x->rep = x->opcode; break;
        default: break; /* segment, branch hint */
        }
        x->rex = 0;
    }
}

/* ModRM, SIB, displacement. MOV to and from control and debug registers has
 * a ModRM that always means registers. */
static int ipti_x86_modrm(ipti_x86 *x)
{
    int byte = ipti_x86_byte(x);
    unsigned mod;
    size_t wide = 4;

    if (byte < 0)
        return byte;
    x->modrm = (uint8_t) byte;
    mod = x->modrm >> 6;
    if (mod == 3 || ((x->opcode & 0xfc) == 0x20 && x->map == 1))
        return 0;
    if (x->mode != IPT_MODE_64 && (x->mode == IPT_MODE_16) != x->addr) {
        wide = 2;
        byte--; /* 6 alone has a displacement */
    } else if ((byte & 7) == 4) { /* SIB: its base follows the same rule */
        byte = ipti_x86_byte(x);
        if (byte < 0)
            return byte;
    }
    if (mod == 1)
        x->pos += 1;
    else if (mod == 2 || (byte & 7) == 5)
        x->pos += wide;
    return 0;
}

/* Bytes of immediate. */
static size_t ipti_x86_imm(const ipti_x86 *x, int flags)
{
    const size_t wide
        = x->rex & IPTI_REX_W || (x->mode == IPT_MODE_16) == x->data ? 4 : 2;

    switch (flags & IPTI_X86_IMM) {
    case IPTI_X86_IMM_Z: return wide;
    case IPTI_X86_IMM_V: return x->rex & IPTI_REX_W ? 8 : wide;
    case IPTI_X86_FAR: return wide + 2;
    case IPTI_X86_REL_Z: return x->mode == IPT_MODE_64 ? 4 : wide;
    case IPTI_X86_OFFSET:
        if (x->mode == IPT_MODE_64)
            return x->addr ? 4 : 8;
        return (x->mode == IPT_MODE_16) == x->addr ? 4 : 2;
    case IPTI_X86_IMM32: return 4;
    default: return (size_t) (flags & IPTI_X86_IMM);
    }
}

/* May LOCK precede it? Only what reads and writes memory back may have it. */
static int ipti_x86_lockable(const ipti_x86 *x)
{
    const uint8_t op = x->opcode;
    const unsigned reg = ipti_x86_reg(x);

    if (x->modrm >= 0xc0 || x->map > 1)
        return 0;
    if (x->map == 1)
        return op == 0xab || op == 0xb3 || op == 0xbb || op == 0xb0
               || op == 0xb1 || op == 0xc0 || op == 0xc1
               || (op == 0xba && reg > 4) || (op == 0xc7 && reg == 1);
    if (op < 0x38)
        return (op & 6) == 0;
    if (op >= 0x80 && op <= 0x83)
        return reg != 7;
    return op == 0x86 || op == 0x87
           || ((op & 0xfe) == 0xf6 && (reg == 2 || reg == 3))
           || ((op & 0xfe) == 0xfe && reg < 2);
}

/* The kind of a KEY opcode of the one-byte map, or a status. Drops flags'
 * immediate where ModRM says there is none. */
static int ipti_x86_kind0(const ipti_x86 *x, int *flags)
{
    const unsigned reg = ipti_x86_reg(x);

    switch (x->opcode) {
    case 0x8f: /* POP; XOP has been seen to */
        return reg ? (int) IPT_ERR_BAD_INSN : (int) IPT_INSN_OTHER;
    case 0x9a: return IPT_INSN_FAR_CALL;
    case 0xa1: return IPT_INSN_JMPABS; /* KEY only after REX2 */
    case 0xc2:
    case 0xc3: return IPT_INSN_RET;
    case 0xc6:
    case 0xc7: /* MOV; XABORT, XBEGIN */
        if (x->modrm == 0xf8)
            return x->opcode == 0xc7 ? IPT_INSN_XBEGIN : IPT_INSN_OTHER;
        return reg ? (int) IPT_ERR_BAD_INSN : (int) IPT_INSN_OTHER;
    case 0xca:
    case 0xcb: return IPT_INSN_FAR_RET;
    case 0xcc:
    case 0xcd:
    case 0xf1: return IPT_INSN_INT;
    case 0xce: return IPT_INSN_INTO;
    case 0xcf: return IPT_INSN_IRET;
    case 0xe8: return IPT_INSN_CALL;
    case 0xe9:
    case 0xeb: return IPT_INSN_JMP;
    case 0xea: return IPT_INSN_FAR_JMP;
    case 0xf6:
    case 0xf7: /* of this group only TEST has an immediate */
        if (reg > 1)
            *flags &= ~IPTI_X86_IMM;
        return IPT_INSN_OTHER;
    case 0xfe:
        return reg > 1 ? (int) IPT_ERR_BAD_INSN : (int) IPT_INSN_OTHER;
    case 0xff:
        if (reg == 7 || (x->modrm >= 0xc0 && (reg == 3 || reg == 5)))
            return IPT_ERR_BAD_INSN;
        return reg == 2   ? IPT_INSN_CALL_INDIRECT
               : reg == 3 ? IPT_INSN_FAR_CALL
               : reg == 4 ? IPT_INSN_JMP_INDIRECT
               : reg == 5 ? IPT_INSN_FAR_JMP
                          : IPT_INSN_OTHER;
    default: return IPT_INSN_JCC; /* 70-7F, E0-E3 */
    }
}

/* 0F 01 with a register form: each ModRM and prefix is its own instruction. */
static int ipti_x86_group7(const ipti_x86 *x)
{
    const int plain = !x->rep && !x->data;
    const int is64 = x->mode == IPT_MODE_64;

    switch (x->modrm) {
    case 0xc1: return plain ? IPT_INSN_VMCALL : IPT_INSN_OTHER;
    case 0xc2:
    case 0xc3: return plain ? IPT_INSN_VMENTRY : IPT_INSN_OTHER;
    case 0xca: /* ERETU, ERETS; without prefix CLAC */
        return x->rep && is64 ? IPT_INSN_IRET : IPT_INSN_OTHER;
    case 0xec:
        return x->rep == 0xf3 && is64 ? IPT_INSN_UIRET : IPT_INSN_OTHER;
    default: return IPT_INSN_OTHER;
    }
}

/* The kind of a KEY opcode after 0F, or a status; *flags as above. */
static int ipti_x86_kind1(const ipti_x86 *x, int *flags)
{
    const unsigned reg = ipti_x86_reg(x);
    const int memory = x->modrm < 0xc0;

    switch (x->opcode) {
    case 0x01: return ipti_x86_group7(x);
    case 0x05:
    case 0x34: return IPT_INSN_SYSCALL;
    case 0x07:
    case 0x35: return IPT_INSN_IRET; /* SYSRET, SYSEXIT */
    case 0x22:
        return reg == 3 && !(x->rex & IPTI_REX_R) ? IPT_INSN_MOV_CR3
                                                  : IPT_INSN_OTHER;
    case 0x78: /* VMREAD; with 66 EXTRQ, with F2 INSERTQ: two imm8 */
        if (!x->rep && !x->data)
            return IPT_INSN_OTHER;
        if (memory || x->rep == 0xf3 || (!x->rep && reg))
            return IPT_ERR_BAD_INSN;
        *flags |= IPTI_X86_IMM16;
        return IPT_INSN_OTHER;
    case 0xaa: return IPT_INSN_RSM;
    case 0xae:
        return x->rep == 0xf3 && reg == 4 ? IPT_INSN_PTWRITE : IPT_INSN_OTHER;
    case 0xb8: /* POPCNT; without F3 Itanium's */
        return x->rep != 0xf3 ? (int) IPT_ERR_BAD_INSN : (int) IPT_INSN_OTHER;
    case 0xba:
        return reg < 4 ? (int) IPT_ERR_BAD_INSN : (int) IPT_INSN_OTHER;
    case 0xc7: /* with 66 VMCLEAR, with F3 VMXON */
        return reg == 6 && memory && !x->rep && !x->data ? IPT_INSN_VMPTRLD
                                                         : IPT_INSN_OTHER;
    default: return IPT_INSN_JCC; /* 80-8F */
    }
}

/* What the last n bytes say, sign-extended. */
static int64_t ipti_x86_relative(const uint8_t *end, size_t n)
{
    if (n == 1)
        return (int64_t) (end[-1] ^ 0x80) - 0x80;
    if (n == 2)
        return (int64_t) (ipti_le16(end - 2) ^ 0x8000) - 0x8000;
    return (int64_t) (ipti_le32(end - 4) ^ 0x80000000u) - ((int64_t) 1 << 31);
}

/* What most instructions need: the size of the one at `bytes`, of which there
 * are 15, if it has no prefix but REX and is OTHER, or a plain near branch that
 * *code then describes. 0: see ipt_classify. */
static IPTI_HOT unsigned ipti_x86_plain(ipt_code *code, const uint8_t *bytes,
                                        uint8_t mode)
{
    const uint8_t *p = bytes;
    unsigned map = 0;
    uint8_t rex = 0;
    uint8_t opcode = *p++;
    uint8_t flags;
    uint8_t modrm;

    if (mode == IPT_MODE_64 && (opcode & 0xf0) == 0x40) {
        rex = opcode;
        opcode = *p++;
        if ((opcode & 0xf0) == 0x40)
            return 0;
    } else if (mode == IPT_MODE_16) {
        return 0;
    }
    flags = ipti_x86_map0[opcode];
    if (opcode == 0x0f) {
        map = 1;
        opcode = *p++;
        flags = (opcode & 0xfc) == 0x20 ? (int) IPTI_X86_ODD
                                        : ipti_x86_map1[opcode];
    }
    if (flags & (IPTI_X86_ODD | IPTI_X86_KEY | IPTI_X86_NOT64)) {
        if (flags & (IPTI_X86_ODD | IPTI_X86_NOT64))
            return 0;
        if (map ? (opcode & 0xf0) == 0x80 : opcode < 0x80)
            code->kind = IPT_INSN_JCC;
        else if (!map && opcode == 0xe8)
            code->kind = IPT_INSN_CALL;
        else if (!map && (opcode == 0xe9 || opcode == 0xeb))
            code->kind = IPT_INSN_JMP;
        else if (!map && opcode == 0xc3)
            code->kind = IPT_INSN_RET;
        else
            return 0;
        flags &= IPTI_X86_IMM;
        if (flags == IPTI_X86_REL_Z)
            flags = 4;
        code->ip16 = 0;
        code->displacement = flags ? ipti_x86_relative(p + flags, flags) : 0;
        return (unsigned) (p - bytes) + flags;
    }
    if (flags & IPTI_X86_MODRM) { /* as ipti_x86_modrm */
        modrm = *p++;
        if (modrm < 0xc0) {
            const uint8_t mod = modrm >> 6;
            const uint8_t base = (modrm & 7) == 4 ? *p++ & 7 : modrm & 7;
            p += mod == 1 ? 1 : mod == 2 || base == 5 ? 4 : 0;
        }
    }
    flags &= IPTI_X86_IMM;
    if (flags > IPTI_X86_IMM_V)
        return 0;
    if (flags == IPTI_X86_IMM_V)
        flags = rex & IPTI_REX_W ? 8 : 4;
    return (unsigned) (p - bytes) + flags;
}

IPT_API int ipt_classify(ipt_code *code, const uint8_t *bytes, size_t size,
                         uint8_t mode, void *context)
{
    /* without a ModRM there is no memory operand */
    ipti_x86 x = {bytes, size, 0, mode, 0, 0, 0, 0, 0, 0, 0, 0xc0};
    int kind = IPT_INSN_OTHER;
    int flags;
    int status;
    size_t immediate;

    (void) context;
    if (!code || !bytes || mode == IPT_MODE_UNKNOWN || mode >= IPT_MODE_COUNT)
        return IPT_ERR_ARG;
    if (size > IPTI_INSN_MAX)
        x.size = IPTI_INSN_MAX;
    flags = ipti_x86_opcode(&x);
    if (flags < 0)
        return flags;
    if ((flags & IPTI_X86_ODD)
        || ((flags & IPTI_X86_NOT64) && mode == IPT_MODE_64))
        return IPT_ERR_BAD_INSN;
    if (flags & IPTI_X86_MODRM) {
        status = ipti_x86_modrm(&x);
        if (status)
            return status;
    }
    if (flags & IPTI_X86_KEY) {
        kind = x.map == 1 ? ipti_x86_kind1(&x, &flags)
                          : ipti_x86_kind0(&x, &flags);
        if (kind < 0)
            return kind;
    }
    if (x.lock && !ipti_x86_lockable(&x))
        return IPT_ERR_BAD_INSN;
    immediate = ipti_x86_imm(&x, flags);
    status = ipti_x86_need(&x, immediate);
    if (status)
        return status;
    x.pos += immediate;
    code->size = (uint8_t) x.pos;
    code->kind = (uint8_t) kind;
    code->displacement = 0;
    code->ip16 = 0;
    if (kind == IPT_INSN_JCC || kind == IPT_INSN_JMP || kind == IPT_INSN_CALL
        || kind == IPT_INSN_XBEGIN) {
        code->displacement = ipti_x86_relative(bytes + x.pos, immediate);
        code->ip16 = mode != IPT_MODE_64 && (mode == IPT_MODE_16) != x.data;
    } else if (kind == IPT_INSN_JMPABS) {
        code->displacement = (int64_t) ipti_le64(bytes + x.pos - 8);
    }
    return 0;
}

/* ==========================================================================
 * [cache]  read callback, decoded code, address spaces
 * Uses: [base], [classify].  State: ipt_cache.
 *
 * Code is kept in runs: instructions one after another, of which all but the
 * last are OTHER. A run ends at an instruction of another kind, after
 * IPT_RUN_MAX_ instructions, or where code cannot be read or classified any
 * further. Run boundaries are arbitrary: no result may depend on them.
 * ========================================================================== */

#define IPTI_GROUP 8  /* lines that may have a run: the first of these ... */
#define IPTI_OWN 2    /* ... are its block's own, the others lie elsewhere */
#define IPTI_BLOCK 32 /* bytes of a block of code */
#define IPTI_SPAN (IPTI_BLOCK * IPTI_GROUP / IPTI_OWN) /* that share a group */
#define IPTI_REGION 21    /* code of 1 << 21 bytes has its lines together */
#define IPTI_SWEEP (2 * IPTI_GROUP) /* lines that a unit of fuel empties */
#define IPTI_CLEAR 1024   /* lines that one call empties at most */
#define IPTI_PAGE 4096    /* one call of config.read asks for bytes of one */
#define IPTI_ASK 96       /* bytes that it asks for at most, and ... */
#define IPTI_FEW 16       /* ... for a while if those are not there */
#define IPTI_RUN_BYTES (IPT_RUN_MAX_ * IPTI_INSN_MAX)
#define IPTI_CUT 0x80     /* last_: this one goes on in another mapping */

/* key_: the space, and below it the mode */
#define IPTI_MODE_BITS 2
#define IPTI_MODE_MAX 3
#define IPTI_SPACE_MAX (UINT16_MAX >> IPTI_MODE_BITS)

enum { /* key_ of a line that names an address space: there is none in it */
    IPTI_ALIAS = 1, /* by asid, what config.space said of it */
    IPTI_BY_ASID,   /* by asid, its number */
    IPTI_BY_SPACE   /* by what config.space said, its number */
};

IPTI_STATIC_ASSERT(window, sizeof(((ipt_window_ *) 0)->bytes) == IPTI_ASK);
IPTI_STATIC_ASSERT(run, IPTI_RUN_BYTES <= UINT16_MAX);
IPTI_STATIC_ASSERT(mode, IPT_MODE_COUNT - 1 <= IPTI_MODE_MAX);

/* In 16 and 32-bit mode addresses wrap at 4 GiB. */
static inline uint64_t ipti_mask(uint8_t mode)
{
    return mode == IPT_MODE_16 || mode == IPT_MODE_32 ? UINT32_MAX : UINT64_MAX;
}

static inline uint64_t ipti_wrap(uint8_t mode, uint64_t ip)
{
    return ip & ipti_mask(mode);
}

/* Where the code segment of ip begins, outside of 64-bit mode. */
static uint64_t ipti_code_base(const ipt_config *config, const ipt_asid *asid,
                               uint8_t mode, uint64_t ip)
{
    if (!config->cs_base || mode == IPT_MODE_64)
        return 0;
    ipti_fuel_burn(config, 1);
    return config->cs_base(asid, ipti_wrap(mode, ip), mode, config->context);
}

/* The address that callbacks get: they want linear ones. */
static uint64_t ipti_code_linear(const ipt_config *config, const ipt_asid *asid,
                                 uint8_t mode, uint64_t ip)
{
    if (config->flags & IPT_CONFIG_RELATIVE_IP)
        ip += ipti_code_base(config, asid, mode, ip);
    return ipti_wrap(mode, ip);
}

/* Where the direct branch at the end of a run leads. One with 16-bit operands
 * stays in the 64 KiB from CS.base on, if that is known. Targets are cut here
 * once, when the run is built. */
static inline uint64_t
ipti_code_target(const ipt_config *config, const ipt_asid *asid, uint8_t mode,
                 const ipt_cache_line *run, const ipt_code *code)
{
    const int relative = (config->flags & IPT_CONFIG_RELATIVE_IP) != 0;
    const uint64_t next = run->ip_ + run->size_;
    uint64_t target = next + (uint64_t) code->displacement;
    uint64_t base = 0;

    if (code->ip16 && (relative || config->cs_base)) {
        if (!relative)
            base = ipti_code_base(config, asid, mode, next - code->size);
        target = base + ((target - base) & 0xffff);
    }
    return ipti_wrap(mode, target);
}

/* What config.section says of the code at ip. */
static uint64_t ipti_code_section(const ipt_config *config,
                                  const ipt_asid *asid, uint8_t mode,
                                  uint64_t ip)
{
    ip = ipti_code_linear(config, asid, mode, ip);
    ipti_fuel_burn(config, 1);
    return config->section(asid, ip, config->context);
}

/* Does flow go on from the end of a run in another section? Until the run is
 * complete, target_ is the section of the instruction that comes next. Blocks
 * end after conditional branches and returns anyway. */
static IPTI_APART uint8_t ipti_run_leaves(const ipt_config *config,
                                          const ipt_asid *asid, uint8_t mode,
                                          ipt_cache_line *run,
                                          const ipt_code *code)
{
    uint64_t was = run->target_;
    uint64_t to = run->ip_ + run->size_;

    if (code->kind == IPT_INSN_JCC || code->kind == IPT_INSN_RET)
        return 0;
    if (run->count_ == 1)
        was = ipti_code_section(config, asid, mode, run->ip_);
    if (code->kind == IPT_INSN_JMP || code->kind == IPT_INSN_CALL)
        to = ipti_code_target(config, asid, mode, run, code);
    run->target_ = ipti_code_section(config, asid, mode, to);
    return run->target_ != was;
}

/* Call config.read. Returns the number of bytes; 0: there is none at ip. */
static int ipti_code_ask(const ipt_config *config, ipt_where *at, uint64_t ip,
                         uint8_t *buffer, size_t size)
{
    int status;

    ipti_fuel_burn(config, 1);
    status = config->read(buffer, size, &at->asid, ip, config->context);
    if (status > 0)
        return (size_t) status <= size ? status : (int) IPT_ERR_CALLBACK;
    if (status == 0 || status == IPT_NEED_PAGE)
        return 0;
    at->image_error = status;
    return IPT_ERR_IMAGE;
}

enum { /* what ends the bytes that were read */
    IPTI_READ_FULL,    /* the number asked for: the mapping may go on */
    IPTI_READ_MAPPING, /* the mapping, inside a page */
    IPTI_READ_PAGE
};

/* config.read gave nothing for the `size` bytes at ip that the window wants,
 * but may give fewer: how many? IPTI_FEW are asked for first, and will do, or
 * one if the window has the start of an instruction. */
static int ipti_window_fewer(const ipt_config *config, ipt_where *at,
                             ipt_window_ *window, uint64_t ip, size_t size)
{
    uint8_t *const buffer = window->bytes + window->size;
    size_t few = window->size ? 1 : IPTI_FEW;
    size_t most = size; /* are too many */
    size_t have = 0;
    int n = 0;

    window->ended = IPTI_READ_MAPPING;
    if (few >= size)
        few = size / 2;
    for (; most - have > 1; few = have + (most - have) / 2) {
        n = ipti_code_ask(config, at, ip, buffer, few);
        if (n < 0)
            return n;
        if ((size_t) n < few)
            most = n ? (size_t) n + 1 : few;
        if (n)
            have = (size_t) n;
        if (have == IPTI_FEW && most == size) {
            window->ended = IPTI_READ_FULL;
            break;
        }
    }
    if (have && n == 0) /* what was asked for last may have been written */
        n = ipti_code_ask(config, at, ip, buffer, have);
    if (n)
        return n;
    at->missing = ip;
    return IPT_NEED_PAGE;
}

static int ipti_code_classify(const ipt_config *config, ipt_code *code,
                              const uint8_t *bytes, size_t size, uint8_t mode)
{
    static const ipt_code none = {0, 0, IPT_INSN_COUNT, 0};
    int status;

    if (!config->classify)
        return ipt_classify(code, bytes, size, mode, NULL);
    IPTI_COPY(code, &none);
    status = config->classify(code, bytes, size, mode, config->context);
    if (status < 0)
        return status == IPT_MORE ? IPT_MORE : IPT_ERR_BAD_INSN;
    if (code->size == 0 || code->size > size || code->size > IPTI_INSN_MAX
        || code->kind >= IPT_INSN_COUNT)
        return IPT_ERR_CALLBACK;
    return IPT_OK;
}

/* Read code from ip on into the window, which shows too little of it. If it is
 * full inside a page, its bytes may end where their mapping does: reading from
 * ip on shows whether that is so. */
static int ipti_window_fill(const ipt_config *config, ipt_where *at,
                            uint8_t mode, ipt_window_ *window, uint64_t ip)
{
    const unsigned pos = (unsigned) (ip - window->ip);
    unsigned have = window->size - pos;
    size_t size;
    int n;

    if (have >= IPTI_INSN_MAX)
        return IPT_ERR_BAD_INSN;
    if (have && window->ended == IPTI_READ_FULL)
        have = 0;
    if (have && window->ended == IPTI_READ_MAPPING)
        window->cut = IPTI_CUT;
    IPT_MEMMOVE(window->bytes, window->bytes + pos, have);
    window->ip = ip;
    window->size = (uint8_t) have;
    ip = ipti_code_linear(config, &at->asid, mode, ip + have);
    size = IPTI_PAGE - (size_t) (ip % IPTI_PAGE);
    window->ended = IPTI_READ_PAGE;
    if (size > IPTI_ASK - have) {
        size = IPTI_ASK - have;
        window->ended = IPTI_READ_FULL;
    }
    n = ipti_code_ask(config, at, ip, window->bytes + have, size);
    if (n == 0)
        n = ipti_window_fewer(config, at, window, ip, size);
    else if (n > 0 && (size_t) n < size)
        window->ended = IPTI_READ_MAPPING;
    if (n < 0)
        return n;
    window->size = (uint8_t) (have + (unsigned) n);
    return IPT_OK;
}

/* Classify the instruction at ip; the window shows at least its start, if
 * anything. Returns IPT_MORE if it goes on after the end of a mapping: a run
 * ends before such an instruction, unless it is the first. */
static IPTI_APART int ipti_window_classify(const ipt_config *config,
                                           ipt_where *at, uint8_t mode,
                                           ipt_window_ *window, uint64_t ip,
                                           int first, ipt_code *code)
{
    int status;

    do {
        const unsigned pos = (unsigned) (ip - window->ip);
        status = window->size > pos
                     ? ipti_code_classify(config, code, window->bytes + pos,
                                          window->size - pos, mode)
                     : (int) IPT_MORE;
        if (status != IPT_MORE
            || (!first && window->ended == IPTI_READ_MAPPING))
            return status;
        status = ipti_window_fill(config, at, mode, window, ip);
    } while (status >= 0);
    return status;
}

/* Append the plain instructions after a run that the window shows. */
static void ipti_run_plain(ipt_cache_line *run, ipt_code *code,
                           const ipt_window_ *window, uint8_t mode)
{
    unsigned pos = (unsigned) (run->ip_ + run->size_ - window->ip);
    unsigned count = run->count_;
    unsigned n;

    code->kind = IPT_INSN_OTHER;
    while (count < IPT_RUN_MAX_ && window->size - pos >= IPTI_INSN_MAX
           && (n = ipti_x86_plain(code, window->bytes + pos, mode)) != 0) {
        run->sizes_[count++] = run->last_ = (uint8_t) n;
        pos += n;
        if (code->kind != IPT_INSN_OTHER)
            break;
    }
    run->kind_ = code->kind;
    run->count_ = (uint8_t) count;
    run->size_ = (uint16_t) (window->ip + pos - run->ip_);
}

/* Read and classify the run at ip; `window` may show its code already. An error
 * is that of the first instruction: what is wrong further on is found when flow
 * gets there. */
static IPTI_APART int ipti_run_build(const ipt_config *config, ipt_where *at,
                                     uint8_t mode, uint64_t ip,
                                     ipt_window_ *window, ipt_cache_line *run)
{
    int status = IPT_OK;
    ipt_code code;

    IPT_MEMSET(run, 0, sizeof(*run)); /* kind_: IPT_INSN_OTHER */
    run->ip_ = ip;
    window->cut = 0;
    if (window->size < IPTI_INSN_MAX
        || ip - window->ip > window->size - (unsigned) IPTI_INSN_MAX) {
        window->ip = ip;
        window->size = 0;
        status = ipti_window_fill(config, at, mode, window, ip);
    }
    while (status >= 0 && run->count_ < IPT_RUN_MAX_
           && run->kind_ == IPT_INSN_OTHER && !window->cut && !run->leaves_) {
        if (!config->classify && !config->section)
            ipti_run_plain(run, &code, window, mode);
        if (run->count_ == IPT_RUN_MAX_ || run->kind_ != IPT_INSN_OTHER)
            break;
        status = ipti_window_classify(config, at, mode, window, ip + run->size_,
                                      run->count_ == 0, &code);
        if (status < 0)
            break;
        run->sizes_[run->count_++] = code.size;
        run->size_ = (uint16_t) (run->size_ + code.size);
        run->last_ = (uint8_t) (code.size | window->cut);
        run->kind_ = code.kind;
        if (config->section)
            run->leaves_ = ipti_run_leaves(config, &at->asid, mode, run, &code);
    }
    if (window->cut || status < 0) /* what is wrong may be right next time */
        window->size = 0;
    if (run->kind_ != IPT_INSN_OTHER)
        run->target_ = ipti_code_target(config, &at->asid, mode, run, &code);
    ipti_fuel_burn(config, run->count_);
    return run->count_ ? (int) IPT_OK : status;
}

/* Read and classify the run at ip, without a cache. */
static IPTI_APART int ipti_run_read(const ipt_config *config, ipt_where *at,
                                    uint8_t mode, uint64_t ip,
                                    ipt_cache_line *run)
{
    ipt_window_ window;

    window.size = 0;
    return ipti_run_build(config, at, mode, ip, &window, run);
}

/* ---- lines ---- */

static inline uint16_t ipti_cache_key(uint16_t space, uint8_t mode)
{
    return (uint16_t) (space << IPTI_MODE_BITS | mode);
}

/* The line where the run at ip is looked for first. Each half of a block of
 * code has one. Neighbouring code has neighbouring lines: flow that stays in
 * some of a program's code meets few pages of the cache, what is to be
 * forgotten is found by its address, and what flow meets soon is in the next
 * lines. Of a space's next region the factor puts the lines elsewhere, whatever
 * power of two there are of them: its upper half and the region's own groups,
 * added, must not come near a multiple of that. */
static inline uint32_t ipti_cache_first(const ipt_cache *cache, uint16_t space,
                                        uint64_t ip)
{
    uint64_t hash = ip >> IPTI_REGION ^ (uint64_t) space << 28;

    hash = hash * 0x9e2f79b97f4a7c15u >> 32 & ~(uint64_t) (IPTI_GROUP - 1);
    return (uint32_t) (hash + ip / (IPTI_BLOCK / IPTI_OWN)) & cache->last_;
}

/* The line where it is looked for after `n` others. Two lines of a block's own
 * lie next to its neighbours': most blocks have no more runs, so few lines stay
 * empty between those in use. Other runs are in a group far away that no
 * neighbour uses. There the space is added, as the multiplication loses two
 * bits of it. */
static inline uint32_t ipti_cache_place(const ipt_cache *cache, uint16_t key,
                                        uint64_t ip, uint32_t n)
{
    const uint16_t space = key >> IPTI_MODE_BITS;
    uint32_t first = ipti_cache_first(cache, space, ip);

    if (n >= IPTI_OWN)
        first = (first * (IPTI_GROUP / IPTI_OWN) + space * IPTI_GROUP)
              & cache->last_;
    return first ^ n;
}

static inline int ipti_line_is(const ipt_cache_line *line, uint16_t key,
                               uint64_t ip)
{
    return line->ip_ == ip && line->key_ == key;
}

/* The number of the line with the run at ip; UINT32_MAX if there is none. Past
 * an empty line it can only be if another was forgotten there. */
static inline uint32_t ipti_cache_find(const ipt_cache *cache, uint16_t key,
                                uint64_t ip)
{
    uint32_t n;

    for (n = 0; n < IPTI_GROUP; n++) {
        const uint32_t i = ipti_cache_place(cache, key, ip, n);
        if (!cache->lines_[i].key_)
            break;
        if (ipti_line_is(&cache->lines_[i], key, ip))
            return i;
    }
    return UINT32_MAX;
}

/* ---- pages of which code is in use but in no line ---- */

/* Is the bit of ip's page set? If `set` is 1, it is set first. */
static IPTI_APART int ipti_cache_page(ipt_cache *cache, uint64_t ip,
                                      uint64_t set)
{
    const uint64_t hash = ip / IPTI_PAGE * 0x9e3779b97f4a7c15u >> 54;
    uint64_t *pages = &cache->pages_[hash / 64];

    *pages |= set << hash % 64;
    return (int) (*pages >> hash % 64 & 1);
}

/* The run is in no line, or will be in none, but decoders and memos may still
 * use what they know of it. */
static void ipti_cache_lose(ipt_cache *cache, const ipt_cache_line *run)
{
    const uint64_t last = ipti_wrap(run->key_ & IPTI_MODE_MAX,
                                    run->ip_ + run->size_ - 1);

    (void) ipti_cache_page(cache, run->ip_, 1);
    (void) ipti_cache_page(cache, last, 1);
}

/* Any code may be in use that is in no line. */
static void ipti_cache_unsure(ipt_cache *cache)
{
    IPT_MEMSET(cache->pages_, 0xff, sizeof(cache->pages_));
}

/* May code of [ip, ip + size) be in use that is in no line? Any may while lines
 * are emptied, as decoders do without them. */
static int ipti_cache_lost(ipt_cache *cache, uint64_t ip, uint64_t size)
{
    uint64_t pages = (ip % IPTI_PAGE + size - 1) / IPTI_PAGE;

    if (size == 0 || size > 64 * IPTI_PAGE || cache->renew_)
        return 1;
    do {
        if (ipti_cache_page(cache, ip + pages * IPTI_PAGE, 0))
            return 1;
    } while (pages--);
    return 0;
}

/* Decoders and memos forget what they know of code. */
static void ipti_cache_change(ipt_cache *cache)
{
    cache->version_++;
    IPT_MEMSET(cache->pages_, 0, sizeof(cache->pages_));
}

/* ---- lines that name address spaces ----
 *
 * Only the first two lines of a group can be names, and code never evicts
 * them. Their next_ has no meaning: a hint may be written to any line. */

/* Does the line name an address space that has a number, not only an alias? */
static inline int ipti_line_numbers(const ipt_cache_line *line)
{
    return line->key_ == IPTI_BY_ASID || line->key_ == IPTI_BY_SPACE;
}

/* Keep a run. Returns the number of its line. */
static uint32_t ipti_cache_put(ipt_cache *cache, const ipt_cache_line *run)
{
    const uint16_t key = run->key_;
    uint32_t to = ipti_cache_place(cache, key, run->ip_, 0);
    uint32_t n = 0;

    while (cache->lines_[to].key_ && ++n < IPTI_GROUP)
        to = ipti_cache_place(cache, key, run->ip_, n);
    if (n == IPTI_GROUP) {
        n = cache->clock_++ % IPTI_GROUP;
        to = ipti_cache_place(cache, key, run->ip_, n);
        if (cache->lines_[to].key_ >> IPTI_MODE_BITS == 0) /* a name */
            to = ipti_cache_place(cache, key, run->ip_, IPTI_OWN);
        ipti_cache_lose(cache, &cache->lines_[to]);
    }
    IPTI_COPY(&cache->lines_[to], run);
    return to;
}

/* Put what an address space is known by into *name: itself or, with
 * config.space, what that says of it. Returns 1 in the second case. */
static int ipti_asid_name(ipt_asid *name, const ipt_config *config,
                          const ipt_asid *asid)
{
    IPTI_COPY(name, asid);
    if (!config->space)
        return 0;
    ipti_fuel_burn(config, 1);
    name->cr3 = config->space(asid, config->context);
    name->vmcs = 0;
    name->nr = 0;
    return 1;
}

static uint32_t ipti_asid_hash(const ipt_asid *name)
{
    const uint64_t hash
        = (name->cr3 + name->nr) * 0x9e3779b97f4a7c15u ^ name->vmcs;

    return (uint32_t) (hash * 0xd6e8feb86659fd93u >> 32);
}

/* NULL: there is none. */
static ipt_cache_line *ipti_name_find(const ipt_cache *cache, uint16_t key,
                                      const ipt_asid *name)
{
    ipt_cache_line *line = &cache->lines_[ipti_asid_hash(name) & cache->last_
                                          & ~(IPTI_GROUP - 1u)];
    ipt_cache_line *const end = line + 2;

    for (; line < end; line++)
        if (ipti_line_is(line, key, name->cr3) && line->target_ == name->vmcs
            && line->size_ == name->nr)
            return line;
    return NULL;
}

static uint64_t ipti_name_value(const ipt_cache_line *line)
{
    return ipti_le64(line->sizes_);
}

/* Keep a name. It may evict code, an alias or an older name; an alias does not
 * evict a name that has a number. */
static void ipti_name_put(ipt_cache *cache, uint16_t key, const ipt_asid *name,
                          uint64_t value)
{
    ipt_cache_line *line = &cache->lines_[ipti_asid_hash(name) & cache->last_
                                          & ~(IPTI_GROUP - 1u)];
    unsigned i;

    if (ipti_line_numbers(line)
        && (!ipti_line_numbers(line + 1) || cache->clock_++ % 2))
        line++;
    if (ipti_line_numbers(line)) {
        if (key == IPTI_ALIAS)
            return;
        ipti_cache_unsure(cache); /* code of that space is not found by it */
    } else if (line->key_ > IPTI_ALIAS)
        ipti_cache_lose(cache, line);
    line->ip_ = name->cr3;
    line->target_ = name->vmcs;
    line->size_ = name->nr;
    line->key_ = key;
    for (i = 0; i < 8; i++)
        line->sizes_[i] = (uint8_t) (value >> 8 * i);
}

/* All numbers of spaces were used: empty all lines, a part of them in each
 * call, and begin again. Returns 0 while there are more to empty. */
static int ipti_cache_renew(ipt_cache *cache, const ipt_config *config)
{
    const uint32_t n = ipti_power(cache->last_ + 1, IPTI_CLEAR); /* both are */

    if (cache->renew_ == 0)
        cache->version_++; /* no number and no line is used from now on */
    ipti_cache_unsure(cache);
    cache->window_.size = 0;
    ipti_fuel_burn(config, n / IPTI_SWEEP);
    IPT_MEMSET(&cache->lines_[cache->renew_], 0, n * sizeof(cache->lines_[0]));
    cache->renew_ += n;
    if (cache->renew_ <= cache->last_)
        return 0;
    cache->renew_ = 0;
    cache->next_id_ = 0;
    return 1;
}

/* The number of what has this name; it gets one if it has none. */
static uint16_t ipti_name_number(ipt_cache *cache, uint16_t key,
                                 const ipt_asid *name)
{
    const ipt_cache_line *line = ipti_name_find(cache, key, name);

    if (line)
        return (uint16_t) ipti_name_value(line);
    ipti_name_put(cache, key, name, ++cache->next_id_);
    return cache->next_id_;
}

/* What the code space that config.space_at names is known by, in the range that
 * it says: a number of its own, which it gets here. The range is a part of the
 * name: under its number lines are kept, and found, for addresses in the range
 * alone, so whoever leaves it finds none. */
static void ipti_range_name(ipt_asid *name, ipt_cache *cache,
                            const ipt_config *config, const ipt_asid *asid,
                            uint64_t ip, ipt_place_ *place)
{
    uint64_t first = ip & ~(uint64_t) (IPTI_PAGE - 1);
    uint64_t last = ip | (IPTI_PAGE - 1);

    ipti_fuel_burn(config, 1);
    name->cr3 = config->space_at(asid, ip, &first, &last, config->context);
    place->first = ip < first ? ip : first;
    place->more = (last < ip ? ip : last) - place->first;
    name->vmcs = place->first;
    name->nr = 1;
    name->cr3 = ipti_name_number(cache, IPTI_BY_SPACE, name);
    name->vmcs = place->more;
    name->nr = 2;
}

/* Find the small number that stands for the address space at ip in lines; 0:
 * none, do without the cache. Numbers are not used twice, so a line of a space
 * that was forgotten is never found. */
static IPTI_APART void ipti_cache_space(ipt_cache *cache,
                                        const ipt_config *config,
                                        const ipt_asid *asid, uint64_t ip,
                                        ipt_place_ *place)
{
    const unsigned range = config->space_at != NULL; /* takes two numbers */
    uint16_t key = IPTI_BY_SPACE;
    ipt_cache_line *line;
    ipt_asid name;

    place->key = 0;
    place->first = 0;
    place->more = UINT64_MAX;
    if (IPTI_UNLIKELY(cache->next_id_ + range >= IPTI_SPACE_MAX)
        && !ipti_cache_renew(cache, config))
        return;
    if (range)
        ipti_range_name(&name, cache, config, asid, ip, place);
    else if (!ipti_asid_name(&name, config, asid))
        key = IPTI_BY_ASID;
    place->key = ipti_cache_key(ipti_name_number(cache, key, &name), 0);
    if (key == IPTI_BY_SPACE)
        cache->aliases_ = 1;
    if (key == IPTI_BY_ASID || range) /* an invalidation of a range means all */
        return;
    line = ipti_name_find(cache, IPTI_ALIAS, asid); /* whom else it means */
    if (!line || ipti_name_value(line) != name.cr3) {
        if (line)
            line->key_ = 0;
        ipti_name_put(cache, IPTI_ALIAS, asid, name.cr3);
    }
}

/* The number of the address space; 0: it has to be asked for. */
static inline uint16_t ipti_place_space(const ipt_place_ *place)
{
    return place->key >> IPTI_MODE_BITS;
}

/* Is it the number for code at ip? */
static int ipti_place_holds(const ipt_place_ *place, uint64_t ip)
{
    return ipti_place_space(place) && ip - place->first <= place->more;
}

/* Is it known which lines have code of that mode? */
static inline int ipti_place_known(const ipt_place_ *place, uint8_t mode)
{
    return ipti_place_space(place) && (place->key & IPTI_MODE_MAX) == mode;
}

/* The line with the number of an address space; NULL: it has none, or it is not
 * known which. */
static ipt_cache_line *ipti_cache_known(const ipt_cache *cache,
                                        const ipt_asid *asid)
{
    ipt_cache_line *line = ipti_name_find(cache, IPTI_BY_ASID, asid);
    const ipt_cache_line *alias;
    ipt_asid name;

    if (!cache->aliases_)
        return line;
    alias = ipti_name_find(cache, IPTI_ALIAS, asid);
    if (line || !alias) /* decoders name it in both ways, or may do so */
        return NULL;
    name.cr3 = ipti_name_value(alias);
    name.vmcs = 0;
    name.nr = 0;
    return ipti_name_find(cache, IPTI_BY_SPACE, &name);
}

/* ---- code ---- */

/* The window, which shows nothing if it was one on another space or mode. */
static ipt_window_ *ipti_cache_window(ipt_cache *cache, uint16_t key)
{
    ipt_window_ *window = &cache->window_;

    if (window->key != key)
        window->size = 0;
    window->key = key;
    return window;
}

/* Cut a run after `last`, where another code space begins, of which the window
 * may show something. Returns 0 if the first instruction goes on there. */
static int ipti_run_within(ipt_cache_line *run, ipt_window_ *window,
                           uint64_t last)
{
    if (window->ip + window->size - 1 > last)
        window->size = 0;
    while (run->ip_ + run->size_ - 1 > last && run->count_ > 1) {
        run->size_ = (uint16_t) (run->size_ - run->sizes_[--run->count_]);
        run->last_ = run->sizes_[run->count_ - 1];
        run->kind_ = IPT_INSN_OTHER;
        run->leaves_ = 0;
    }
    return run->ip_ + run->size_ - 1 <= last;
}

/* Read the run at ip into *run and keep it in the line *number. A run in two
 * mappings, or one that goes on after the last address of the mode, is not
 * kept; nor is what was read of another code space. */
static int ipti_cache_read(ipt_cache *cache, const ipt_config *config,
                           ipt_where *at, const ipt_place_ *place, uint64_t ip,
                           ipt_cache_line *run, uint32_t *number)
{
    const uint8_t mode = place->key & IPTI_MODE_MAX;
    ipt_window_ *window = ipti_cache_window(cache, place->key);
    const int status = ipti_run_build(config, at, mode, ip, window, run);

    run->key_ = place->key;
    if (status >= 0
        && ipti_run_within(run, window, place->first + place->more)
        && !(run->last_ & IPTI_CUT) && ipti_wrap(mode, ip + run->size_) > ip)
        *number = ipti_cache_put(cache, run);
    else if (status >= 0)
        ipti_cache_lose(cache, run);
    return status;
}

/* Get the run at ip from the cache, or read it if it is not there. */
static int ipti_cache_get(ipt_cache *cache, const ipt_config *config,
                          ipt_where *at, ipt_place_ *place, uint64_t ip,
                          ipt_cache_line *run)
{
    const uint32_t i = ipti_cache_find(cache, place->key, ip);

    if (i == UINT32_MAX)
        return ipti_cache_read(cache, config, at, place, ip, run,
                               &place->line);
    IPTI_COPY(run, &cache->lines_[i]);
    place->line = i;
    return IPT_OK;
}

/* The line with the run at ip, if that is the line which flow met last time
 * after line `*number` on the way `way`; else NULL. The link only says where to
 * look first: the line is compared. Links are followed one by one, so where
 * lines are far away, those of the next two blocks are fetched ahead. */
static IPTI_HOT const ipt_cache_line *
ipti_cache_follow(const ipt_cache *cache, uint32_t *number, unsigned way,
                  uint16_t key, uint64_t ip)
{
    const uint32_t i = cache->lines_[*number & cache->last_].next_[way];
    const ipt_cache_line *line = &cache->lines_[i];

    if (IPTI_UNLIKELY(!ipti_line_is(line, key, ip)))
        return NULL;
    IPTI_FETCH(line, 2);
    IPTI_FETCH(line, 3);
    IPTI_FETCH(line, 5);
    *number = i;
    return line;
}

/* The line with the run at ip, wherever it is; NULL if there is none. */
static const ipt_cache_line *ipti_cache_seek(ipt_cache *cache, uint32_t *number,
                                             unsigned way, uint16_t key,
                                             uint64_t ip)
{
    const uint32_t i = ipti_cache_find(cache, key, ip);

    if (i == UINT32_MAX)
        return NULL;
    cache->lines_[*number & cache->last_].next_[way] = i;
    *number = i;
    return &cache->lines_[i];
}

IPT_API int ipt_cache_init(ipt_cache *cache, ipt_cache_line *lines,
                           size_t count)
{
    const uint32_t used = ipti_power(count, (uint32_t) 1 << 31);

    if (!cache || !lines || count < 64)
        return IPT_ERR_ARG;
    IPT_MEMSET(cache, 0, sizeof(*cache));
    cache->lines_ = lines;
    cache->last_ = used - 1;
    cache->magic_ = ipti_magic(sizeof(*cache));
    ipti_cache_unsure(cache); /* a memo may be older */
    IPT_MEMSET(lines, 0, used * sizeof(lines[0]));
    return IPT_OK;
}

/* ---- bytes of code ----
 *
 * Those that were asked for are kept in lines, too: those of IPTI_BLOCK, from
 * ip_ on, are sizes_. target_ has a bit for each that is there. kind_ is the
 * mode, of which there is none in key_. Their line is the third where
 * runs of the block are looked for, the first that is never a name. */

IPTI_STATIC_ASSERT(bytes, IPTI_BLOCK == IPT_RUN_MAX_);

/* The line with the bytes of the block at ip; it has none yet if it was another
 * one's. */
static ipt_cache_line *ipti_bytes_line(ipt_cache *cache, uint16_t space,
                                       uint8_t mode, uint64_t ip)
{
    const uint16_t key = ipti_cache_key(space, 0);
    ipt_cache_line *line
        = &cache->lines_[ipti_cache_place(cache, key, ip, IPTI_OWN)];

    if (!ipti_line_is(line, key, ip) || line->kind_ != mode) {
        if (line->key_)
            ipti_cache_lose(cache, line);
        line->ip_ = ip;
        line->target_ = 0;
        line->key_ = key;
        line->size_ = IPTI_BLOCK;
        line->kind_ = mode;
    }
    return line;
}

/* Put what the window shows of the block into its line. */
static void ipti_bytes_put(ipt_cache_line *line, const ipt_window_ *window)
{
    const uint64_t pos = line->ip_ - window->ip;
    unsigned n;

    for (n = 0; n < IPTI_BLOCK; n++)
        if (pos + n < window->size) {
            line->sizes_[n] = window->bytes[pos + n];
            line->target_ |= (uint64_t) 1 << n;
        }
}

IPT_API int ipt_cache_code(ipt_cache *cache, const ipt_config *config,
                           const ipt_asid *asid, uint8_t mode, uint64_t ip,
                           uint8_t *buffer, size_t size)
{
    ipt_cache_line *line = NULL;
    ipt_window_ *window;
    ipt_place_ place;
    ipt_where at;
    int status;
    unsigned n;

    if (IPTI_BAD_SELF(cache))
        return IPTI_SELF_ERROR(cache);
    if (!config || !config->read || !asid || !buffer
        || mode == IPT_MODE_UNKNOWN || mode >= IPT_MODE_COUNT)
        return IPT_ERR_ARG;
    if (ipti_fuel_empty(config))
        return IPT_BUDGET;
    ipti_fuel_burn(config, 1 + size / 16);
    place.key = 0;
    IPTI_COPY(&at.asid, asid);
    for (; size; size--, ip++) {
        ip = ipti_wrap(mode, ip);
        n = ip % IPTI_BLOCK;
        if (!ipti_place_holds(&place, ip)) {
            ipti_cache_space(cache, config, asid, ip, &place);
            if (!ipti_place_space(&place))
                return IPT_BUDGET;
            place.key |= mode;
            line = NULL;
        }
        if (!line || n == 0)
            line = ipti_bytes_line(cache, ipti_place_space(&place), mode,
                                   ip - n);
        window = ipti_cache_window(cache, place.key);
        if (!(line->target_ >> n & 1)) {
            if (ip - window->ip >= window->size) {
                window->ip = ip;
                window->size = 0;
                status = ipti_window_fill(config, &at, mode, window, ip);
                if (status < 0)
                    return status;
            }
            ipti_bytes_put(line, window);
        }
        *buffer++ = line->sizes_[n];
    }
    return IPT_OK;
}

/* What is to be forgotten, in `spaces` spaces from number `space` on: the runs
 * that begin in from .. from + more and end after the first `before` bytes of
 * that. */
typedef struct ipti_area_ {
    uint64_t from, more;
    uint32_t space, spaces;
    uint64_t before;
} ipti_area_;

/* Forget the line if it is of the area: 1 if so. */
static inline int ipti_line_forget(ipt_cache_line *line, const ipti_area_ *area)
{
    const uint64_t pos = line->ip_ - area->from;
    const uint32_t space = (line->key_ >> IPTI_MODE_BITS) - area->space;
    const int is = pos <= area->more && space < area->spaces
                && (pos >= area->before || pos + line->size_ > area->before);

    if (is)
        line->key_ = 0;
    return is;
}

/* Forget the lines of the area in `groups` that follow each other. Returns 1 if
 * there were some. Most lines are far from the area: four of them are passed by
 * one turn of the loop. */
static IPTI_PART int ipti_lines_forget(ipt_cache_line *line, uint32_t groups,
                                       const ipti_area_ *area)
{
    const ipt_cache_line *const end = line + groups * IPTI_GROUP;
    int some = 0;

    for (; line < end; line += 4)
        if (line[0].ip_ - area->from <= area->more
            || line[1].ip_ - area->from <= area->more
            || line[2].ip_ - area->from <= area->more
            || line[3].ip_ - area->from <= area->more)
            some |= ipti_line_forget(line, area)
                  | ipti_line_forget(line + 1, area)
                  | ipti_line_forget(line + 2, area)
                  | ipti_line_forget(line + 3, area);
    return some;
}

/* The group that is number `nr` of those that can hold the area's code in a
 * space: first `own` groups with its blocks' own lines, then the others. *n is
 * how many are left; it becomes how many of these lie side by side. */
static uint32_t ipti_area_group(const ipt_cache *cache, const ipti_area_ *area,
                                uint32_t space, uint32_t own, uint32_t nr,
                                uint32_t *n)
{
    const uint32_t step = nr < own ? IPTI_SPAN : IPTI_BLOCK;
    const uint64_t steps = nr < own ? nr : nr - own;
    const uint64_t at = area->from + step * steps;
    const uint32_t region = (uint32_t) (~at % (1u << IPTI_REGION)) / step + 1;

    if (nr < own)
        *n = own - nr;
    if (*n > region)
        *n = region;
    return ipti_cache_place(cache, ipti_cache_key((uint16_t) space, 0), at,
                            nr < own ? 0 : IPTI_OWN) / IPTI_GROUP;
}

/* Forget the area in all groups or, if they are fewer, in those that can hold
 * its code. Goes on from group sweep_. A unit of fuel pays for two groups, so
 * that an odd one is paid. some: there may be such code in no line. */
static int ipti_cache_sweep(ipt_cache *cache, const ipti_area_ *area,
                            int some)
{
    const uint32_t groups = (cache->last_ + 1) / IPTI_GROUP;
    const uint64_t own = area->more / IPTI_SPAN + 1
        + (area->from % IPTI_SPAN + area->more % IPTI_SPAN) / IPTI_SPAN;
    const uint64_t both = own + own * (IPTI_SPAN / IPTI_BLOCK);
    uint32_t each = groups; /* in a space, or in all */
    uint32_t all = groups;
    uint32_t n = 1; /* groups that follow each other */

    if (own < groups && both * area->spaces < groups) {
        each = (uint32_t) both;
        all = each * area->spaces;
    }
    while (n && cache->sweep_ < all) {
        const uint32_t space = area->space + cache->sweep_ / each;
        uint32_t i = cache->sweep_ % each;
        n = each - i;
        if (each < groups)
            i = ipti_area_group(cache, area, space, (uint32_t) own, i, &n);
        if (n > groups - i)
            n = groups - i;
        if (cache->fuel) {
            const uint32_t paid = cache->sweep_ % 2;
            if (*cache->fuel < (n + 1 - paid) / 2)
                n = 2 * (uint32_t) *cache->fuel + paid;
            *cache->fuel -= (n + 1 - paid) / 2;
        }
        cache->sweep_ += n;
        some |= ipti_lines_forget(&cache->lines_[i * IPTI_GROUP], n, area);
    }
    if (some)
        ipti_cache_change(cache);
    if (cache->sweep_ < all)
        return IPT_BUDGET;
    cache->sweep_ = 0;
    return IPT_OK;
}

IPT_API int ipt_cache_invalidate(ipt_cache *cache, const ipt_asid *asid,
                                 uint64_t ip, uint64_t size)
{
    ipt_cache_line *known;
    ipti_area_ area;

    if (IPTI_BAD_SELF(cache))
        return IPTI_SELF_ERROR(cache);
    area.from = ip - IPTI_RUN_BYTES;
    area.more = size - 1 + IPTI_RUN_BYTES;
    area.before = IPTI_RUN_BYTES;
    if (area.more < IPTI_RUN_BYTES) { /* all */
        area.more = UINT64_MAX;
        area.before = 0;
    }
    area.space = 1;
    area.spaces = cache->next_id_;
    cache->window_.size = 0;
    known = asid ? ipti_cache_known(cache, asid) : NULL;
    if (known) { /* else forget in all */
        area.space = (uint16_t) ipti_name_value(known);
        area.spaces = 1;
    }
    if (known && size == 0) {
        known->key_ = 0; /* no line with its number is found any more */
        ipti_cache_change(cache);
        return IPT_OK;
    }
    return ipti_cache_sweep(cache, &area, ipti_cache_lost(cache, ip, size));
}

/* ==========================================================================
 * [bind]  where an event binds
 * Uses: [base], [evt].  State: ipt_bind_.
 *
 * [bind] determines, once, when an event is fetched, at which instruction it
 * happened. The trace determines that in one of six ways:
 *
 *   HERE     wherever flow is, as there is neither an IP nor an instruction to
 *            wait for
 *   AT       before the instruction at `ip`
 *   AFTER    after the instruction at `ip`
 *   CAUSED   after the next instruction of one of `kinds`
 *   BEFORE   before the next instruction of one of `kinds`
 *   COUNT    before the `count`-th instruction after the last IP of the trace,
 *            counted from 0
 *
 * An instruction causes at most one event of each sort. `once` is the sort of
 * an event that an instruction causes, as a bit. The walk keeps in `taken` the
 * bits of the events that the instruction before flow's ip has already caused:
 * an event whose bit is set there belongs to a later instruction. So does a
 * second event AFTER the same instruction. These combinations exist (effects:
 * the kinds of instructions whose effect the event may be, or 0):
 *
 *   how      kinds     once
 *   HERE     effects   0 if kinds is 0, else a bit
 *   AT       effects   0 if kinds is 0, else a bit
 *   AFTER    effects   a bit
 *   CAUSED   not 0     a bit
 *   BEFORE   not 0     0
 *   COUNT    0         0
 * ========================================================================== */

/* ---- sets of kinds of instructions ---- */

#define IPTI_KIND(kind) ((uint32_t) 1 << IPT_INSN_##kind)
#define IPTI_KINDS_FAR                                                   \
    (IPTI_KIND(FAR_CALL) | IPTI_KIND(FAR_JMP) | IPTI_KIND(FAR_RET)       \
     | IPTI_KIND(INT) | IPTI_KIND(SYSCALL) | IPTI_KIND(VMCALL)           \
     | IPTI_KIND(IRET) | IPTI_KIND(UIRET) | IPTI_KIND(VMENTRY)           \
     | IPTI_KIND(RSM) | IPTI_KIND(INTO))
#define IPTI_KINDS_CALL /* those that mean to come back */               \
    (IPTI_KIND(CALL) | IPTI_KIND(CALL_INDIRECT) | IPTI_KIND(FAR_CALL)    \
     | IPTI_KIND(INT) | IPTI_KIND(SYSCALL) | IPTI_KIND(VMCALL)           \
     | IPTI_KIND(INTO))
#define IPTI_KINDS_NEAR /* those that need a TIP */                      \
    (IPTI_KIND(JMP_INDIRECT) | IPTI_KIND(CALL_INDIRECT) | IPTI_KIND(RET) \
     | IPTI_KIND(JMPABS))

#define IPTI_KINDS_TIP /* these always need one */                       \
    ((IPTI_KINDS_FAR | IPTI_KINDS_NEAR)                                  \
     & ~(IPTI_KIND(RSM) | IPTI_KIND(INTO)))

/* Is the kind in a set? It is below 32. */
static inline int ipti_kind_in(uint8_t kind, uint32_t kinds)
{
    return kinds >> kind & 1;
}

/* Far branches may change mode, ring and address space. */
static inline int ipti_kind_far(uint8_t kind)
{
    return ipti_kind_in(kind, IPTI_KINDS_FAR);
}

/* May flow need trace to go on after an instruction of this kind? */
static inline int ipti_kind_leaves(uint8_t kind)
{
    return ipti_kind_in(kind,
                        IPTI_KINDS_FAR | IPTI_KINDS_NEAR | IPTI_KIND(JCC));
}

/* ---- events ---- */

enum { /* ipt_bind_.how */
    IPTI_BIND_HERE,
    IPTI_BIND_AT,
    IPTI_BIND_AFTER,
    IPTI_BIND_CAUSED, /* this one and the next wait for code */
    IPTI_BIND_BEFORE,
    IPTI_BIND_COUNT
};

enum { /* ipt_bind_.once, ipt_prev_.taken. ALL: there is no instruction before
        * ip, or the trace said after it where flow is: it causes no more. */
    IPTI_TAKEN_PAGING = 1, /* a MOV CR3 that disables tracing sends no PIP */
    IPTI_TAKEN_VMCS = 2,
    IPTI_TAKEN_PTWRITE = 4,
    IPTI_TAKEN_CFE = 8,
    IPTI_TAKEN_IP = 16, /* an event AFTER it, of whatever sort */
    IPTI_TAKEN_FAR /* that a far branch causes besides */
        = IPTI_TAKEN_PAGING | IPTI_TAKEN_VMCS | IPTI_TAKEN_CFE,
    IPTI_TAKEN_ALL = 31
};

/* The event is an effect of an instruction of one of these kinds: of the one at
 * its IP, if it has one; else of the next one of them. */
static void ipti_bind_effect(ipt_bind_ *bind, uint32_t kinds, uint8_t once)
{
    bind->kinds = kinds;
    bind->once = once;
    bind->how = bind->how == IPTI_BIND_AT ? IPTI_BIND_AFTER : IPTI_BIND_CAUSED;
}

/* IRET, UIRET and VM entries are instructions that cause the event. SYSCALL
 * comes before its instruction, all others at their IP. */
static void ipti_bind_cfe(ipt_bind_ *bind, const ipt_event *event)
{
    const uint8_t type = event->u.cfe.type;

    if (type == IPT_CFE_IRET)
        ipti_bind_effect(bind, IPTI_KIND(IRET), IPTI_TAKEN_CFE);
    else if (type == IPT_CFE_VMENTRY)
        ipti_bind_effect(bind, IPTI_KIND(VMENTRY), IPTI_TAKEN_CFE);
    else if (type == IPT_CFE_UIRET)
        ipti_bind_effect(bind, IPTI_KIND(UIRET), IPTI_TAKEN_CFE);
    else if (type == IPT_CFE_SYSCALL && bind->how == IPTI_BIND_HERE) {
        bind->how = IPTI_BIND_BEFORE;
        bind->kinds = IPTI_KIND(SYSCALL);
    }
    if (event->u.cfe.has & IPT_CFE_INFERRED) { /* from a PIP */
        bind->kinds = IPTI_KINDS_FAR; /* what changes the address space */
        bind->once = IPTI_TAKEN_CFE;
    }
}

/* Where does the event bind? Tracing is disabled before the instruction at the
 * target that the packet gives. If it gives none, the current branch did it,
 * which the walk sees itself, or a MOV CR3. Events of a PSB+ repeat the state:
 * no instruction causes them. */
static void ipti_bind_event(ipt_bind_ *bind, const ipt_event *event)
{
    IPT_MEMSET(bind, 0, sizeof(*bind));
    bind->how = event->flags & IPT_EVENT_NO_IP ? IPTI_BIND_HERE : IPTI_BIND_AT;
    bind->ip = event->ip;
    if (event->type == IPT_EVT_DISABLED && !(event->flags & IPT_EVENT_NO_TO)) {
        bind->how = IPTI_BIND_AT;
        bind->ip = event->u.branch.to;
    } else if (event->type == IPT_EVT_OVERFLOW) {
        bind->how = IPTI_BIND_HERE;
    }
    if (event->flags & IPT_EVENT_STATUS)
        return;
    switch (event->type) {
    case IPT_EVT_ENABLED:
        bind->how = IPTI_BIND_HERE;
        break;
    case IPT_EVT_DISABLED:
        if (event->flags & IPT_EVENT_NO_TO)
            ipti_bind_effect(bind, IPTI_KIND(MOV_CR3), IPTI_TAKEN_PAGING);
        break;
    case IPT_EVT_PAGING:
        ipti_bind_effect(bind, IPTI_KINDS_FAR | IPTI_KIND(MOV_CR3),
                         IPTI_TAKEN_PAGING);
        break;
    case IPT_EVT_VMCS:
        ipti_bind_effect(bind, IPTI_KINDS_FAR | IPTI_KIND(VMPTRLD),
                         IPTI_TAKEN_VMCS);
        break;
    case IPT_EVT_PTWRITE:
        ipti_bind_effect(bind, IPTI_KIND(PTWRITE), IPTI_TAKEN_PTWRITE);
        break;
    case IPT_EVT_CFE:
        ipti_bind_cfe(bind, event);
        break;
    case IPT_EVT_TRIG:
        if (bind->how == IPTI_BIND_HERE && event->u.trig.icntv) {
            bind->how = IPTI_BIND_COUNT;
            bind->count = event->u.trig.icnt;
        }
        break;
    default:
        break;
    }
}

/* May the event be an effect of an instruction of this kind that has caused
 * `taken`? */
static int ipti_bind_of(const ipt_bind_ *bind, uint8_t kind, unsigned taken)
{
    return ipti_kind_in(kind, bind->kinds) && bind->once & ~taken;
}

/* Has the event no place in flow? Such a packet may stand between any others of
 * an instruction, which it does not delay. */
static int ipti_bind_nothing(const ipt_event *event)
{
    return ipti_evt_in(IPTI_EVT(CBR) | IPTI_EVT(MNT) | IPTI_EVT(PWRE)
                           | IPTI_EVT(PWRX),
                       event->type)
           && !(event->flags & IPT_EVENT_STATUS);
}

/* Does the event wait for a PTWRITE? If flow comes to none, the PTW is a note
 * that somebody wrote into the trace. */
static int ipti_bind_notes(const ipt_bind_ *bind)
{
    return bind->how == IPTI_BIND_CAUSED
           && bind->once == IPTI_TAKEN_PTWRITE;
}

/* ==========================================================================
 * [walk]  the walk over the code that executed
 * Uses: [base], [pkt], [sync], [evt], [classify], [cache], [bind].
 * State: ipt_walk_.
 *
 * The walk is before the instruction at flow's ip. It has the run of code that
 * begins or goes on there, and what says how flow goes on: TNT bits, the target
 * of a TIP, or an event. It passes the run, instruction by instruction or as a
 * whole, up to where the event binds. The last instruction of the run takes the
 * bit or target that it needs. After it, or where an event cuts the run, the
 * walk is unsettled: before the instruction is handed out, what comes next is
 * fetched if nothing was, because it may be an event that binds right after
 * that instruction.
 *
 * This holds between two calls, whatever the trace, the code and the caller did
 * (tests/walk.h checks it after every call that decodes. It does not check
 * prev, nor whether an ip is of interest):
 *
 *   next    tnt holds at most 47 bits, bind is what [bind] makes of event if
 *           has_event
 *   flow    at most one of enabled, hidden; both 0: tracing is disabled, or not
 *           known to be enabled. ip is of interest if enabled
 *   prev    ip is of interest unless all of taken is set
 *   code    count 0: there is no current run. Else index <= count <= the run's,
 *           and calm is below count
 *   tally   counted <= code.index, if there is a current run
 *   out     waiting: at most count, and what follows is settled. ends_block:
 *           config.unwanted is not 0
 *   loop    branches is at most total
 *   probe   count is at most IPTI_PROBE
 *   calls   at most IPT_RETURN_STACK_ entries, top below that
 *   calm    all that ipti_walk_calm asks; and if there is a current run, it is
 *           not cut
 *
 * Two fields do not belong to any part:
 *   - calm is set by ipti_walk_span, for the ways of whole runs. It is cleared
 *     by ipti_walk_leave, by an endless loop, and where these ways end.
 *     ipti_walk_pull leaves it if it has nothing to give within a run.
 *   - end: there was nothing left to fetch, or flow is walked past the end of
 *     the trace. ipti_walk_ready and ipti_walk_settle set it.
 *
 * When the decoder is synchronised, ipti_walk_clear makes all parts 0 but next
 * and flow's ip; an item in progress is full then.
 *
 * Each part is written only by the functions below (check-layers looks for
 * some); all other code calls them. Four members have further writers:
 *   next.event   functions that fetch, apply or replace the current event
 *   code.run     functions that read or copy a run of code
 *   place.line   functions that look for a line
 *   stamp.after  functions that know the time of the next instruction
 *
 *   next    ipti_next_bits ipti_next_take ipti_next_target ipti_next_bind
 *           ipti_next_drop
 *   stamp   ipti_walk_fetch ipti_stamp_used ipti_stamp_due ipti_walk_give
 *   flow    ipti_flow_at ipti_flow_state ipti_apply_loss ipti_walk_take_event
 *           ipti_walk_start ipti_resync_event
 *   prev    ipti_prev_is ipti_prev_takes ipti_prev_none
 *   mode    ipti_walk_clear ipti_apply_mode ipti_walk_off ipti_apply_loss
 *           ipti_apply_tsx ipti_resync_event
 *   resync  ipti_apply_disabled ipti_walk_disable ipti_apply_loss
 *           ipti_resync_event ipti_resync_find
 *   tally   ipti_tally_none ipti_walk_account ipti_walk_run ipti_walk_past
 *           ipti_walk_enter
 *   code    ipti_code_none ipti_code_step ipti_walk_run ipti_walk_cut
 *           ipti_span_pass ipti_walk_enter
 *   place   ipti_place_none ipti_walk_code ipti_walk_cond ipti_walk_past
 *           ipti_walk_joined ipti_cov_seek
 *   out     ipti_walk_keep ipti_out_drop ipti_out_aside ipti_out_wanted
 *           ipti_walk_wait ipti_span_pass
 *   item    ipti_item_passed ipti_item_unsettled ipti_walk_ready
 *           ipti_walk_clear ipti_walk_pull
 *   marks   ipti_marks_lead ipti_marks_begin ipti_marks_end ipti_apply_tsx
 *           ipti_apply_disabled ipti_walk_apply
 *   loop    ipti_loop_end ipti_loop_stick ipti_loop_branch ipti_walk_other
 *   probe   ipti_walk_passes ipti_walk_bdm64 ipti_resync_find
 *   calls   ipti_calls_push ipti_calls_pop ipti_calls_clear ipti_calls_astray
 *           ipti_calls_keep ipti_calls_back
 * ========================================================================== */

/* More runs without a use of trace than any program has. */
#define IPTI_PATH_MAX (1u << 20)

static const uint32_t ipti_always = 0; /* for ipt_walk_.valid */

/* ---- filters                     SDM: "IP Filtering" ---- */

/* Is code at ip traced? Not where tracing stops; and if there are ranges of
 * what is traced, only in these. */
static int ipti_filter_traced(const ipt_filter *filter, uint64_t ip)
{
    unsigned there = 0; /* bits 1 << IPT_FILTER_ */
    unsigned hit = 0;
    unsigned i;

    for (i = 0; i < IPT_FILTERS; i++) {
        there |= 1u << filter[i].kind;
        if (ip >= filter[i].first && ip <= filter[i].last)
            hit |= 1u << filter[i].kind;
    }
    return !(hit & 1u << IPT_FILTER_STOP)
           && !(there & ~hit & 1u << IPT_FILTER_TRACE);
}

/* ---- loops without trace: Brent's algorithm ---- */

/* Trace was used: the path up to here was no endless loop. */
static inline void ipti_loop_end(ipt_loop_ *loop)
{
    loop->branches = loop->total = 0;
}

/* Flow does not go on. */
static inline void ipti_loop_stick(ipt_loop_ *loop)
{
    loop->total = IPTI_PATH_MAX;
}

/* Flow passed a run that ends with a direct branch. If the branch leads to an
 * address that was passed since trace was last used, it will always do so. The
 * address is that of branch 1, 3, 7, 15, ... `ends`: an event will end it. */
static inline void ipti_loop_branch(ipt_loop_ *loop, uint64_t target, int ends)
{
    const uint32_t branches = ends ? 0 : loop->branches + 1;

    loop->total++;
    if (branches > 1 && target == loop->ip)
        ipti_loop_stick(loop);
    else if ((branches & (branches + 1)) == 0)
        loop->ip = target;
    loop->branches = branches;
}

/* Has flow gone on for too long without trace? */
static inline int ipti_loop_stuck(const ipt_loop_ *loop)
{
    return loop->total >= IPTI_PATH_MAX;
}

/* ---- next: what says how flow goes on ---- */

#define IPTI_TNT_NONE ((uint64_t) 1 << 63) /* ipt_next_.tnt: its stop bit */

/* The form of ipt_next_.tnt: `count` bits, at most 63, are in the low end of
 * `bits`, as in the trace. */
static inline uint64_t ipti_tnt_hold(uint64_t bits, unsigned count)
{
    return (bits << 1 | 1) << (63 - count);
}

/* The reverse: bits as in the trace, under a stop bit. */
static inline uint64_t ipti_tnt_held(uint64_t tnt)
{
    return (tnt >> 1 | IPTI_TNT_NONE) >> ipti_low(tnt);
}

/* Is there a TNT bit? */
static IPTI_HOT int ipti_next_tnt(const ipt_next_ *next)
{
    return next->tnt != IPTI_TNT_NONE;
}

/* Are there two? */
static IPTI_HOT int ipti_next_two(const ipt_next_ *next)
{
    return next->tnt << 2 != 0;
}

/* Is there a TNT bit or the target of a TIP? */
static IPTI_HOT int ipti_next_flow(const ipt_next_ *next)
{
    return ipti_next_tnt(next) || next->has_tip;
}

/* Is there anything that says how flow goes on? */
static inline int ipti_next_any(const ipt_next_ *next)
{
    return ipti_next_flow(next) || next->has_event;
}

/* Is the next branch taken? There is a bit. */
static IPTI_HOT int ipti_next_taken(const ipt_next_ *next)
{
    return (int) (next->tnt >> 63);
}

/* TNT bits of the packet at `offset`. */
static inline void ipti_next_bits(ipt_next_ *next, uint64_t offset,
                                  uint64_t tnt)
{
    next->tnt = tnt;
    next->tnt_offset = offset;
}

/* A branch uses its bit. */
static IPTI_HOT void ipti_next_take(ipt_next_ *next)
{
    next->tnt <<= 1;
}

/* A TIP came, with the target of the next indirect branch. */
static inline void ipti_next_target(ipt_next_ *next, uint64_t offset,
                                    uint64_t ip)
{
    next->tip = ip;
    next->tip_offset = offset;
    next->has_tip = 1;
}

/* The current event is the next one. */
static void ipti_next_bind(ipt_next_ *next)
{
    next->has_event = 1;
    ipti_bind_event(&next->bind, &next->event);
}

enum { IPTI_NEXT_TNT = 1, IPTI_NEXT_TIP = 2, IPTI_NEXT_EVENT = 4 };
#define IPTI_NEXT_ALL (IPTI_NEXT_TNT | IPTI_NEXT_TIP | IPTI_NEXT_EVENT)

/* Drop bits, target or event: they were used, or are not wanted. */
static IPTI_HOT void ipti_next_drop(ipt_next_ *next, unsigned what)
{
    if (what & IPTI_NEXT_TNT)
        next->tnt = IPTI_TNT_NONE;
    if (what & IPTI_NEXT_TIP)
        next->has_tip = 0;
    if (what & IPTI_NEXT_EVENT)
        next->has_event = 0;
}

/* ---- flow, prev, mode, tally: where flow is ---- */

static IPTI_HOT void ipti_flow_at(ipt_flow_ *flow, uint64_t ip)
{
    flow->ip = ip;
}

static inline void ipti_flow_state(ipt_flow_ *flow, int enabled, int hidden)
{
    flow->enabled = (uint8_t) enabled;
    flow->hidden = (uint8_t) hidden;
}

static IPTI_HOT void ipti_prev_is(ipt_prev_ *prev, uint64_t ip, uint8_t kind)
{
    prev->ip = ip;
    prev->kind = kind;
}

static IPTI_HOT void ipti_prev_takes(ipt_prev_ *prev, unsigned taken)
{
    prev->taken = (uint8_t) taken;
}

/* Flow is somewhere else: no event to come is an effect of the instruction
 * before. */
static inline void ipti_prev_none(ipt_prev_ *prev)
{
    prev->kind = IPT_INSN_OTHER;
    prev->taken = IPTI_TAKEN_ALL;
}

/* The trace gave an IP: instructions count from here. */
static IPTI_HOT void ipti_tally_none(ipt_tally_ *tally)
{
    tally->icnt = 0;
}

/* ---- code, place: the run at flow's ip ---- */

/* There is no current run: the one at flow's ip has to be looked for. */
static inline void ipti_code_none(ipt_code_at_ *code)
{
    code->count = code->calm = 0;
}

static IPTI_HOT void ipti_code_step(ipt_code_at_ *code)
{
    code->index++;
}

/* The address space changed: its number in the cache has to be looked for. */
static inline void ipti_place_none(ipt_place_ *place)
{
    place->key = 0;
}

/* ---- out, item, marks: what is handed out ---- */

/* Drop the first n. */
static inline void ipti_out_drop(ipt_out_ *out, unsigned n)
{
    out->count = (uint8_t) (out->count - n);
    out->waiting = (uint8_t) (out->waiting > n ? out->waiting - n : 0);
    if (IPTI_UNLIKELY(out->count))
        IPT_MEMMOVE(out->events, out->events + n,
                    out->count * sizeof(out->events[0]));
}

/* The event that was kept last waits to be pulled; those before it are still
 * kept for the instruction that caused them. */
static void ipti_out_aside(ipt_out_ *out)
{
    ipt_event event;

    IPTI_COPY(&event, &out->events[out->count - 1]);
    IPT_MEMMOVE(out->events + 1, out->events,
                (out->count - 1u) * sizeof(out->events[0]));
    IPTI_COPY(&out->events[0], &event);
    out->waiting = 1;
}

#define IPTI_EVENTS_END_BLOCK ((IPTI_EVT(STOP) - 1) | IPTI_EVT(GAP))

/* Drop the events that the user does not want. Some end a block all the same:
 * those after which flow is elsewhere, or in another mode, address space or
 * transaction. A PSB+ changes nothing. */
static IPTI_APART void ipti_out_wanted(ipt_out_ *out, const ipt_config *config)
{
    const unsigned count = out->count;
    const ipt_event *event = out->events;

    out->count = 0;
    for (; event < out->events + count; event++)
        if (!ipti_evt_unwanted(config, event->type))
            IPTI_COPY(&out->events[out->count++], event);
        else if (!(event->flags & IPT_EVENT_STATUS)
                 && ipti_evt_in(IPTI_EVENTS_END_BLOCK, event->type))
            out->ends_block = 1;
}

/* A part of the item was passed: does the item end with it? full: before
 * anything else is passed, it has to be handed out. */
static IPTI_HOT void ipti_item_passed(ipt_item_ *item, int ends, int full)
{
    item->begun = (uint8_t) !ends;
    item->full = (uint8_t) full;
}

/* If one is in progress, it ends here, whatever comes. */
static inline void ipti_item_end(ipt_item_ *item)
{
    if (item->begun)
        ipti_item_passed(item, 1, 1);
}

static inline void ipti_item_unsettled(ipt_item_ *item, int unsettled)
{
    item->unsettled = (uint8_t) unsettled;
}

static inline void ipti_marks_lead(ipt_marks_ *marks, unsigned flags)
{
    marks->lead = (uint16_t) (marks->lead | flags);
}

/* An instruction begins and takes the marks that wait for it. */
static inline uint16_t ipti_marks_begin(ipt_marks_ *marks)
{
    const uint16_t lead = marks->lead;

    marks->lead = 0;
    return lead;
}

/* Take the marks of the instruction before flow's ip; drop them if flow is
 * elsewhere. */
static IPTI_HOT uint16_t ipti_marks_end(ipt_marks_ *marks)
{
    const uint16_t trail = marks->trail;

    marks->trail = 0;
    return trail;
}

/* If events were reached, the user may pull them now: what follows is settled.
 * Until now they said what the current instruction has caused: those that
 * nobody wants go only here. */
static inline void ipti_walk_wait(ipt_walk_ *w)
{
    if (ipti_evt_unwanted_any(w->cur.config))
        ipti_out_wanted(&w->out, w->cur.config);
    w->out.waiting = w->out.count;
    ipti_item_unsettled(&w->item, 0);
}

/* ---- fetching ---- */

/* Fetch an event from the queue; TNT and TIP go to their own places. */
static IPTI_PART int ipti_walk_queued(ipt_walk_ *w, ipt_where *at)
{
    const ipt_event *event = &w->next.event;
    int status = ipti_evt_fetch(&w->cur, &w->evt, at, &w->next.event);

    if (status < 0)
        return status;
    if (event->type == IPT_EVT_TNT)
        ipti_next_bits(
            &w->next, event->offset,
            ipti_tnt_hold(event->u.tnt.bits, event->u.tnt.count));
    else if (event->type == IPT_EVT_TIP && !(event->flags & IPT_EVENT_NO_IP))
        ipti_next_target(&w->next, event->offset, event->ip);
    else
        ipti_next_bind(&w->next);
    return IPT_OK;
}

/* Fetch what comes next. The time of a TNT or TIP waits until it is used. An
 * event that is older than the clock came before the timing packet that moved
 * it, so the next TNT or TIP takes that time. */
static IPTI_APART int ipti_walk_fetch(ipt_walk_ *w, ipt_where *at)
{
    const int status = ipti_walk_queued(w, at);

    if (status >= 0 && !w->next.has_event && w->evt.ticked) {
        w->evt.ticked = 0;
        w->stamp.time.flags = 0;
        ipti_evt_now(&w->evt, &w->stamp.time);
        w->stamp.fresh = 1;
    }
    return status;
}

/* ---- flow that is stepped over ----
 *
 * While config.flags exclude the address space, `hidden` is set and `enabled`
 * is not: no code is read, and all events are given but those of
 * ipti_event_inside. `speculative` is kept up to date. When the address space
 * is a wanted one again, flow is taken up at the first IP, of a TIP or an
 * event. */

#define IPTI_CR3 0xfffffffffffe0u /* the bits of CR3 that a PIP has */

/* Do config.flags ask for flow in the address space of now? */
static int ipti_walk_wanted(const ipt_walk_ *w, const ipt_where *at)
{
    const ipt_config *config = w->cur.config;
    const uint64_t mask = IPTI_CR3 & (config->cr3_mask ? config->cr3_mask
                                                       : UINT64_MAX);

    return !(config->flags & IPT_CONFIG_ROOT_ONLY && at->asid.nr)
           && !(config->flags & IPT_CONFIG_NON_ROOT_ONLY && !at->asid.nr)
           && !(config->flags & IPT_CONFIG_CR3_ONLY
                && (at->asid.cr3 == IPT_ASID_UNKNOWN
                    || (at->asid.cr3 ^ config->cr3) & mask));
}

/* Flow goes on at an IP that the trace gave. */
static void ipti_walk_go(ipt_walk_ *w, const ipt_where *at, uint64_t ip)
{
    const int wanted = ipti_walk_wanted(w, at);

    ipti_flow_at(&w->flow, ip);
    ipti_flow_state(&w->flow, wanted, !wanted);
    ipti_prev_none(&w->prev);
}

/* Flow was unknown and goes on at an IP that the trace gave. The instruction
 * before it counts as a branch without effects: BDM64 looks for a branch. */
static void ipti_walk_arrive(ipt_walk_ *w, const ipt_where *at, uint64_t ip)
{
    ipti_walk_go(w, at, ip);
    ipti_prev_is(&w->prev, ip, IPT_INSN_JMP);
    ipti_prev_takes(&w->prev, IPTI_TAKEN_IP);
}

/* What became of the transaction is a mark of the instruction before. */
static void ipti_apply_tsx(ipt_walk_ *w, const ipt_event *event)
{
    if (event->u.tsx.aborted)
        w->marks.trail |= IPT_FLOW_ABORTED;
    else if (w->mode.speculative && !event->u.tsx.speculative)
        w->marks.trail |= IPT_FLOW_COMMITTED;
    w->mode.speculative = event->u.tsx.speculative ? IPT_FLOW_SPECULATIVE : 0;
}

/* Is the event about nothing but the flow that is stepped over? */
static int ipti_event_inside(const ipt_event *event)
{
    return ipti_evt_in(IPTI_EVT(ASYNC_BRANCH) | IPTI_EVT(TIP) | IPTI_EVT(TSX)
                           | IPTI_EVT(PTWRITE) | IPTI_EVT(TRIG)
                           | IPTI_EVT(IFLAGS) | IPTI_EVT(PEBS_BEGIN)
                           | IPTI_EVT(PEBS_ITEM) | IPTI_EVT(PEBS_END),
                       event->type);
}

/* Flow is hidden: fetch the next event that is given all the same, or go on to
 * where flow is taken up. A TIP is in `event`, too. */
static IPTI_APART int ipti_walk_over(ipt_walk_ *w, ipt_where *at)
{
    const ipt_event *event = &w->next.event;

    while (w->flow.hidden) {
        int status = ipti_walk_fetch(w, at);
        if (status < 0)
            return status;
        ipti_next_drop(&w->next, IPTI_NEXT_TNT);
        ipti_tally_none(&w->tally);
        if (event->type != IPT_EVT_TNT && !(event->flags & IPT_EVENT_NO_IP)
            && ipti_walk_wanted(w, at))
            ipti_walk_arrive(w, at, event->ip);
        if (w->flow.hidden && event->type == IPT_EVT_TSX)
            ipti_apply_tsx(w, event); /* its marks belong to no item */
        if (w->next.has_event && (!w->flow.hidden || !ipti_event_inside(event)))
            return IPT_OK;
        ipti_next_drop(&w->next, IPTI_NEXT_ALL);
    }
    return ipti_walk_fetch(w, at);
}

enum { /* ipt_walk_.end: the trace has ended */
    IPTI_END_ALL = 1, /* nothing comes after the item and events given */
    IPTI_END_UNPROVEN /* flow goes on */
};

static inline int ipti_walk_unproven(const ipt_walk_ *w)
{
    return w->end == IPTI_END_UNPROVEN;
}

/* Make sure that something says how flow goes on. */
static inline int ipti_walk_source(ipt_walk_ *w, ipt_where *at)
{
    if (ipti_next_any(&w->next))
        return IPT_OK;
    return w->flow.hidden ? ipti_walk_over(w, at) : ipti_walk_fetch(w, at);
}

/* Has the branch at flow's ip gone where trace does not say: a return to a call
 * that was lost, or without a bit that was not traced? */
static inline int ipti_walk_astray(const ipt_walk_ *w)
{
    return w->calls.at.lost > 1;
}

/* The current event, if it comes next; NULL if TNT bits or a TIP come before
 * it. */
static inline const ipt_event *ipti_walk_event(const ipt_walk_ *w)
{
    return w->next.has_event && !ipti_next_flow(&w->next) ? &w->next.event
                                                          : NULL;
}

/* The offset of the packet that what comes next is from. */
static uint64_t ipti_walk_offset(const ipt_walk_ *w)
{
    if (ipti_next_tnt(&w->next))
        return w->next.tnt_offset;
    return w->next.has_tip ? w->next.tip_offset : w->next.event.offset;
}

/* ---- code ---- */

/* Count the instructions of the run that were passed since the last time. */
static inline void ipti_walk_account(ipt_walk_ *w)
{
    w->tally.icnt += (uint32_t) (w->code.index - w->tally.counted);
    w->tally.counted = w->code.index;
}

/* Cut the current run where the event may bind. */
static void ipti_walk_cut(ipt_walk_ *w)
{
    const ipt_bind_ *bind = &w->next.bind;
    const uint64_t ahead = ipti_wrap(w->mode.now, bind->ip - w->flow.ip);
    uint32_t kinds = bind->how == IPTI_BIND_BEFORE ? bind->kinds : 0;
    unsigned bytes = 0;
    unsigned n = 0;

    if (bind->how == IPTI_BIND_AT && ahead == w->code.run.size_)
        kinds = IPTI_KINDS_TIP; /* see ipti_walk_nlip */
    if (bind->how == IPTI_BIND_COUNT
        && bind->count - w->tally.icnt < w->code.count)
        w->code.count = (uint8_t) (bind->count - w->tally.icnt);
    if (w->code.count > 1 && ipti_kind_in(w->code.run.kind_, kinds))
        w->code.count--;
    if ((bind->how == IPTI_BIND_AT || bind->how == IPTI_BIND_AFTER)
        && ahead < w->code.run.size_) {
        do /* at least one: if ahead is 0, the event is after it */
            bytes += w->code.run.sizes_[n++];
        while (bytes < ahead);
        if (bytes == ahead || n == 1)
            w->code.count = (uint8_t) n;
    }
}

/* Get the run at `ip`, with or without a cache. */
static int ipti_walk_code(ipt_walk_ *w, ipt_where *at, uint64_t ip)
{
    const ipt_config *config = w->cur.config;

    if (w->mode.now == IPT_MODE_UNKNOWN)
        return IPT_ERR_MODE;
    if (ipti_fuel_empty(config))
        return IPT_BUDGET;
    w->place.mask = ipti_mask(w->mode.now);
    ip &= w->place.mask;
    if (w->cache && (w->place.version != *w->valid
                     || !ipti_place_holds(&w->place, ip))) {
        ipti_cache_space(w->cache, config, &at->asid, ip, &w->place);
        w->place.version = *w->valid;
    }
    w->place.key = ipti_cache_key(ipti_place_space(&w->place), w->mode.now);
    if (!ipti_place_space(&w->place))
        return ipti_run_read(config, at, w->mode.now, ip, &w->code.run);
    return ipti_cache_get(w->cache, config, at, &w->place, ip, &w->code.run);
}

/* Get the run at flow's ip, and cut it where an event binds. */
static int ipti_walk_run(ipt_walk_ *w, ipt_where *at)
{
    const ipt_config *config = w->cur.config;
    const int status = ipti_walk_code(w, at, w->flow.ip);

    ipti_code_none(&w->code);
    w->code.index = 0;
    w->tally.counted = 0;
    if (status < 0)
        return status;
    w->code.count = w->code.run.count_;
    if (w->out.count == 0) /* else it is that of the first that was kept */
        w->code.offset = ipti_walk_unproven(w) ? at->offset
                                               : ipti_walk_offset(w);
    if (w->out.count == 0 && ipti_walk_event(w))
        ipti_walk_cut(w);
    ipti_fuel_burn(config, w->code.count);
    return IPT_OK;
}

/* ---- events ---- */

#define IPTI_PROBE 256

/* For BDM64: would flow pass `target` within 256 instructions from its ip, as
 * far as it needs no trace and there is code? A missing page is waited for only
 * if it is that of the target: all of it will be there then. After IPT_BUDGET
 * or IPT_NEED_PAGE another call goes on. */
static int ipti_walk_passes(ipt_walk_ *w, ipt_where *at, uint64_t target)
{
    const ipt_cache_line *run = &w->code.run;
    unsigned i;
    int status;

    if (w->probe.count == 0)
        w->probe.ip = w->flow.ip;
    while (w->probe.count < IPTI_PROBE) {
        if (w->probe.ip == target) /* its code is not needed for that */
            return 1;
        ipti_code_none(&w->code);
        status = ipti_walk_code(w, at, w->probe.ip);
        if (status == IPT_NEED_PAGE && target > w->probe.ip
            && (target ^ w->probe.ip) < IPTI_PAGE)
            return status;
        if (status < 0)
            return status == IPT_BUDGET ? status : 0;
        ipti_fuel_burn(w->cur.config, run->count_);
        for (i = 0; i < run->count_ && w->probe.count < IPTI_PROBE;
             i++, w->probe.count++) {
            if (w->probe.ip == target)
                return 1;
            w->probe.ip
                = ipti_wrap(w->mode.now, w->probe.ip + run->sizes_[i]);
        }
        if (run->kind_ == IPT_INSN_JMP || run->kind_ == IPT_INSN_CALL)
            w->probe.ip = run->target_;
        else if (ipti_kind_leaves(run->kind_) && run->kind_ != IPT_INSN_RSM
                 && run->kind_ != IPT_INSN_INTO)
            break;
    }
    return 0;
}

/* BDM64: the target of the branch before a transaction's abort may be wrong. It
 * is, if the abort is not on the way from there: flow then was where the abort
 * is. */
static int ipti_walk_bdm64(ipt_walk_ *w, ipt_where *at, const ipt_event *event)
{
    const uint8_t kind = w->prev.kind;
    int status;

    if (!(w->cur.config->errata & IPT_ERRATUM_BDM64)
        || event->type != IPT_EVT_TSX || !event->u.tsx.aborted
        || event->flags & IPT_EVENT_NO_IP || w->mode.now == IPT_MODE_UNKNOWN
        || (!ipti_kind_leaves(kind) && kind != IPT_INSN_JMP
            && kind != IPT_INSN_CALL))
        return IPT_OK;
    status = ipti_walk_passes(w, at, event->ip);
    if (status < 0)
        return status;
    w->probe.count = 0;
    ipti_prev_is(&w->prev, w->prev.ip, IPT_INSN_OTHER); /* looked at, once */
    if (status == 0)
        ipti_flow_at(&w->flow, ipti_wrap(w->mode.now, event->ip));
    return IPT_OK;
}

/* Is the instruction at flow's ip of one of these kinds? */
static int ipti_walk_before(ipt_walk_ *w, ipt_where *at, uint32_t kinds)
{
    int status = ipti_walk_run(w, at);

    if (status < 0)
        return status;
    return w->code.run.count_ == 1 && ipti_kind_in(w->code.run.kind_, kinds);
}

/* SKD022: a VM entry that disables tracing sends a FUP with its own IP before
 * the TIP.PGD, as if it were interrupted. It is not. If the code is missing or
 * no instruction, it was a real interrupt. */
static int ipti_walk_skd022(ipt_walk_ *w, ipt_where *at, uint64_t ahead)
{
    int status;

    if (!(w->cur.config->errata & IPT_ERRATUM_SKD022)
        || w->next.event.type != IPT_EVT_ASYNC_DISABLED || ahead != 0)
        return IPT_OK;
    status = ipti_walk_before(w, at, IPTI_KIND(VMENTRY));
    if (status > 0) {
        w->next.event.type = IPT_EVT_DISABLED;
        w->next.event.flags |= IPT_EVENT_NO_IP;
        ipti_next_bind(&w->next);
        ipti_prev_takes(&w->prev, IPTI_TAKEN_ALL); /* enabled up to here */
        ipti_code_none(&w->code); /* this one does not cut it */
    }
    return status == IPT_BUDGET ? status : (int) IPT_OK;
}

/* NLIP: the next event has the IP after the instruction at flow's ip. If that
 * instruction needs a TIP, the event came before it, as flow cannot pass it
 * without one. */
static int ipti_walk_nlip(ipt_walk_ *w, ipt_where *at, uint64_t ahead)
{
    int status;

    if (!(w->cur.config->errata & IPT_ERRATUM_NLIP)
        || w->next.bind.how != IPTI_BIND_AT
        || w->next.event.type == IPT_EVT_DISABLED /* it is at its target */
        || w->next.event.flags & IPT_EVENT_STATUS || ahead - 1 >= IPTI_INSN_MAX)
        return IPT_OK;
    status = ipti_walk_before(w, at, IPTI_KINDS_TIP);
    if (status > 0 && w->code.run.size_ == ahead) {
        w->next.event.ip = w->flow.ip;
        ipti_next_bind(&w->next);
    }
    return status;
}

#define IPTI_ERRATA_CODE \
    (IPT_ERRATUM_SKD022 | IPT_ERRATUM_NLIP | IPT_ERRATUM_BDM64)

/* The errata that look at code. SKD022 and NLIP replace the bind. BDM64 comes
 * first, as it remembers how far it has looked: on the least fuel the others
 * would leave it none, again and again. */
static int ipti_walk_errata(ipt_walk_ *w, ipt_where *at)
{
    int status = ipti_walk_bdm64(w, at, &w->next.event);
    uint64_t ahead;

    if (status < 0)
        return status;
    ahead = ipti_wrap(w->mode.now, w->next.bind.ip - w->flow.ip);
    status = ipti_walk_skd022(w, at, ahead);
    return status < 0 ? status : ipti_walk_nlip(w, at, ahead);
}

/* Has flow arrived where the current event binds? */
static int ipti_walk_reached(ipt_walk_ *w, ipt_where *at)
{
    const ipt_bind_ *bind = &w->next.bind;
    int status;

    if (!w->flow.enabled)
        return 1;
    if (bind->how == IPTI_BIND_AFTER)
        return ipti_wrap(w->mode.now, bind->ip - w->prev.ip) == 0
               && !(w->prev.taken & (bind->once | IPTI_TAKEN_IP));
    if (ipti_bind_of(bind, w->prev.kind, w->prev.taken))
        return 1;
    if (w->cur.config->errata & IPTI_ERRATA_CODE) {
        status = ipti_walk_errata(w, at);
        if (status < 0)
            return status;
    }
    switch (bind->how) {
    case IPTI_BIND_HERE:
        return 1;
    case IPTI_BIND_AT:
        return ipti_wrap(w->mode.now, bind->ip - w->flow.ip) == 0;
    case IPTI_BIND_BEFORE:
        return ipti_walk_before(w, at, bind->kinds);
    case IPTI_BIND_COUNT:
        return bind->count < w->tally.icnt ? (int) IPT_ERR_PACKET
                                     : bind->count == w->tally.icnt;
    default:
        return 0;
    }
}

/* Tracing is enabled. A PSB+ only repeats it, and contradicts flow if flow is
 * known to be disabled. */
static int ipti_apply_enabled(ipt_walk_ *w, const ipt_where *at,
                              ipt_event *event)
{
    if (event->flags & IPT_EVENT_STATUS) {
        if (w->flow.synced) /* flow knows better where it is */
            return w->flow.enabled || w->flow.hidden ? (int) IPT_OK
                                                     : IPT_ERR_STATUS;
    } else {
        if (w->flow.enabled || w->flow.hidden)
            return IPT_ERR_CONTEXT;
        ipti_marks_lead(&w->marks, IPT_FLOW_ENABLED);
        if (w->resync.has && w->resync.ip == event->ip) {
            ipti_marks_lead(&w->marks, IPT_FLOW_RESUMED);
            event->flags |= IPT_EVENT_RESUMED;
        }
    }
    ipti_walk_go(w, at, event->ip);
    return IPT_OK;
}

/* Tracing is disabled: a MODE.Exec that came with the TIP.PGD takes effect. */
static IPTI_APART void ipti_walk_off(ipt_walk_ *w)
{
    ipti_flow_state(&w->flow, 0, 0);
    if (w->mode.next != IPT_MODE_UNKNOWN)
        w->mode.now = w->mode.next;
    w->mode.next = IPT_MODE_UNKNOWN;
}

/* Tracing is disabled. If it is enabled again at the place where it would go
 * on, it is resumed: that place is kept where it is known. */
static int ipti_apply_disabled(ipt_walk_ *w, const ipt_event *event)
{
    const int hidden = w->flow.hidden;

    if (event->flags & IPT_EVENT_STATUS)
        return w->flow.synced && (w->flow.enabled || hidden) ? IPT_ERR_STATUS
                                                             : IPT_OK;
    if (!w->flow.enabled && !hidden)
        return IPT_ERR_CONTEXT;
    ipti_walk_off(w);
    if (hidden) {
        w->resync.has = 0;
        return IPT_OK;
    }
    w->marks.trail |= IPT_FLOW_DISABLED;
    if (event->type == IPT_EVT_ASYNC_DISABLED)
        w->resync.ip = event->ip;
    else if (w->prev.kind == IPT_INSN_MOV_CR3 && event->flags & IPT_EVENT_NO_TO)
        w->resync.ip = w->prev.ip;
    else if (!(event->flags & IPT_EVENT_NO_TO)
             && w->flow.ip == event->u.branch.to)
        w->resync.ip = w->flow.ip;
    else
        return IPT_OK;
    w->resync.has = 1;
    return IPT_OK;
}

/* The mode changes. Only after an overflow may a PSB+ contradict it. */
static int ipti_apply_mode(ipt_walk_ *w, const ipt_event *event)
{
    if (event->flags & IPT_EVENT_STATUS && w->flow.enabled && w->flow.synced
        && !w->mode.old && w->mode.now != IPT_MODE_UNKNOWN
        && w->mode.now != event->u.exec.mode)
        return IPT_ERR_STATUS;
    w->mode.old = 0;
    if (w->flow.enabled && (event->flags & (IPT_EVENT_STATUS | IPT_EVENT_NO_IP))
                          == IPT_EVENT_NO_IP)
        w->mode.next = event->u.exec.mode; /* after a TIP.PGD to come */
    else
        w->mode.now = event->u.exec.mode;
    return IPT_OK;
}

/* The processor lost packets. Mode and address space stay, although packets
 * that changed them may be lost. If there is no IP, it is not known for sure
 * that tracing is disabled. Or there is a gap: nothing is known until the next
 * PSB+, which empties the stack of calls. */
static void ipti_apply_loss(ipt_walk_ *w, ipt_where *at, const ipt_event *event)
{
    if (event->type == IPT_EVT_OVERFLOW)
        ipti_walk_go(w, at, event->ip);
    if (event->flags & IPT_EVENT_NO_IP) {
        ipti_flow_state(&w->flow, 0, 0);
        w->flow.synced = 0;
    }
    w->mode.old = 1;
    w->mode.speculative = 0;
    w->resync.has = 0;
    ipti_calls_clear(&w->calls, 1, w->cur.config->flags);
    ipti_marks_lead(&w->marks, IPT_FLOW_RESYNCED);
    if (event->type == IPT_EVT_GAP) {
        w->mode.now = w->cur.config->mode; /* assumed */
        w->mode.next = IPT_MODE_UNKNOWN;
        ipti_place_none(&w->place);
        ipti_asid_unknown(&at->asid);
    }
}

/* The address space changes: flow may become skipped flow, or end being so. The
 * first one that a PSB+ names is not a change. */
static void ipti_apply_asid(ipt_walk_ *w, ipt_where *at, const ipt_event *event)
{
    const int vmcs = event->type == IPT_EVT_VMCS
                     || event->type == IPT_EVT_ASYNC_VMCS;
    const int known
        = (vmcs ? at->asid.vmcs : at->asid.cr3) != IPT_ASID_UNKNOWN;
    ipt_asid asid;

    IPTI_COPY(&asid, &at->asid);
    ipti_evt_asid(&asid, event);
    if (ipti_asid_same(&asid, &at->asid))
        return;
    IPTI_COPY(&at->asid, &asid);
    ipti_place_none(&w->place);
    if (w->flow.hidden && !(event->flags & IPT_EVENT_NO_IP))
        ipti_walk_go(w, at, event->ip);
    else if (w->flow.enabled && !ipti_walk_wanted(w, at))
        ipti_flow_state(&w->flow, 0, 1);
    if (known || !(event->flags & IPT_EVENT_STATUS))
        ipti_marks_lead(&w->marks, IPT_FLOW_ASID);
}

/* Is the current event an effect of the instruction before ip? Then it cannot
 * cause a second one of the sort. Any other event with an IP says that flow was
 * traced up to there: what follows is an effect of later instructions. */
static void ipti_walk_assign(ipt_walk_ *w, ipt_event *event)
{
    const ipt_bind_ *bind = &w->next.bind;
    const int after = bind->how == IPTI_BIND_AFTER;
    const int effect
        = after || ipti_bind_of(bind, w->prev.kind, w->prev.taken);

    if (effect)
        ipti_prev_takes(&w->prev, w->prev.taken | bind->once
                                      | (after ? IPTI_TAKEN_IP : 0));
    if (effect && event->type == IPT_EVT_PTWRITE && w->flow.enabled) {
        event->ip = w->prev.ip; /* if it had none, it has one now */
        event->flags &= (uint8_t) ~IPT_EVENT_NO_IP;
    } else if (!(event->flags & IPT_EVENT_NO_IP) && !after) {
        ipti_prev_takes(&w->prev, IPTI_TAKEN_ALL);
    }
}

/* Apply the current event to flow. */
static int ipti_walk_apply(ipt_walk_ *w, ipt_where *at, ipt_event *event)
{
    if (!(event->flags & IPT_EVENT_NO_IP) || event->type == IPT_EVT_TRIG)
        ipti_tally_none(&w->tally); /* TRIG counts instructions from here */
    ipti_walk_assign(w, event);
    switch (event->type) {
    case IPT_EVT_ENABLED:
        return ipti_apply_enabled(w, at, event);
    case IPT_EVT_DISABLED:
    case IPT_EVT_ASYNC_DISABLED:
        return ipti_apply_disabled(w, event);
    case IPT_EVT_ASYNC_BRANCH:
        if (event->flags & IPT_EVENT_NO_TO)
            return IPT_ERR_NO_IP;
        if (!w->flow.hidden)
            ipti_walk_go(w, at, event->u.branch.to);
        w->marks.trail |= IPT_FLOW_INTERRUPTED;
        break;
    case IPT_EVT_PAGING:
    case IPT_EVT_ASYNC_PAGING:
    case IPT_EVT_VMCS:
    case IPT_EVT_ASYNC_VMCS:
        ipti_apply_asid(w, at, event);
        break;
    case IPT_EVT_EXEC_MODE:
        return ipti_apply_mode(w, event);
    case IPT_EVT_TSX:
        ipti_apply_tsx(w, event);
        break;
    case IPT_EVT_OVERFLOW:
    case IPT_EVT_GAP:
        ipti_apply_loss(w, at, event);
        break;
    case IPT_EVT_STOP:
        if (w->flow.enabled)
            return IPT_ERR_CONTEXT;
        ipti_marks_lead(&w->marks, IPT_FLOW_STOPPED);
        break;
    case IPT_EVT_TIP: /* without an IP */
        return IPT_ERR_NO_IP;
    case IPT_EVT_TRIG:
        if (!w->flow.enabled && event->u.trig.icntv && event->u.trig.icnt != 0)
            return IPT_ERR_PACKET;
        if (w->flow.enabled && w->next.bind.how == IPTI_BIND_COUNT) {
            event->ip = w->flow.ip;
            event->flags &= (uint8_t) ~IPT_EVENT_NO_IP;
            event->u.trig.icnt = 0;
        }
        break;
    default:
        break;
    }
    return IPT_OK;
}

/* Keep the event for the user. */
static void ipti_walk_keep(ipt_walk_ *w, const ipt_event *event)
{
    if (w->out.count < IPT_REACHED_MAX_) /* callers see to it */
        IPTI_COPY(&w->out.events[w->out.count++], event);
    ipti_loop_end(&w->loop);
}

/* The time of TNT bits or a TIP is used, or is not wanted. */
static inline void ipti_stamp_used(ipt_stamp_ *stamp)
{
    stamp->fresh = 0;
}

static inline void ipti_stamp_due(ipt_stamp_ *stamp, unsigned due)
{
    stamp->due = (uint8_t) due;
}

enum {                  /* ipt_stamp_.due */
    IPTI_DUE_AFTER = 1, /* the next instruction has the time of `after` */
    IPTI_DUE_KEPT = 2   /* events of before a branch's TIP may come after it */
};

/* The next instruction has the time of now, not of the event before it. */
static void ipti_walk_due(ipt_walk_ *w)
{
    w->stamp.after.flags = 0;
    ipti_evt_now(&w->evt, &w->stamp.after);
    ipti_stamp_due(&w->stamp, w->stamp.due | IPTI_DUE_AFTER);
}

/* An instruction is next: its time is that of now. */
static IPTI_APART void ipti_walk_now(ipt_walk_ *w, ipt_where *at)
{
    if (w->stamp.due & IPTI_DUE_AFTER)
        ipti_evt_time(at, &w->stamp.after);
    ipti_stamp_due(&w->stamp, w->out.count ? w->stamp.due & IPTI_DUE_KEPT : 0);
}

/* Hand out the current event: `at` has its time when it is pulled, and so has
 * the next instruction. An OVERFLOW or PWRE is an exception: it has the time at
 * which it began, and the next item has the present time. Unwanted events are
 * not pulled, and kept events may be pulled after them. */
static void ipti_walk_give(ipt_walk_ *w)
{
    ipti_stamp_due(&w->stamp, w->stamp.due & IPTI_DUE_KEPT);
    if (ipti_evt_in(IPTI_EVT(OVERFLOW) | IPTI_EVT(PWRE), w->next.event.type)) {
        ipti_walk_due(w);
    } else if (w->stamp.due || ipti_evt_unwanted_any(w->cur.config)) {
        IPTI_COPY(&w->stamp.after, &w->next.event);
        ipti_stamp_due(&w->stamp, w->stamp.due | IPTI_DUE_AFTER);
    }
    ipti_walk_keep(w, &w->next.event);
    ipti_next_drop(&w->next, IPTI_NEXT_EVENT);
}

/* The events that wait go without being pulled. */
static void ipti_walk_miss(ipt_walk_ *w, ipt_where *at)
{
    if (w->out.waiting && !w->stamp.due)
        ipti_evt_time(at, &w->out.events[w->out.waiting - 1]);
    ipti_out_drop(&w->out, w->out.waiting);
}

/* Drop the events that were not pulled. Returns 1 if there were some: those
 * that come before the next instruction go, too. */
static int ipti_walk_drop(ipt_walk_ *w, ipt_where *at)
{
    if (!w->out.waiting)
        return 0;
    at->dropped += w->out.waiting;
    ipti_walk_miss(w, at);
    return 1;
}

/* Apply the current event and keep it for the user. A PSB+ begins with a status
 * event of ENABLED or DISABLED: the processor's return stack is empty there. If
 * nothing from before it waits for a packet after it, it is a seam. */
static int ipti_walk_take_event(ipt_walk_ *w, ipt_where *at)
{
    ipt_event *event = &w->next.event;
    const int status = ipti_walk_apply(w, at, event);
    unsigned i;

    if (status < 0)
        return status;
    if (event->flags & IPT_EVENT_STATUS
        && ipti_evt_in(IPTI_EVT(ENABLED) | IPTI_EVT(DISABLED), event->type)) {
        w->flow.synced = 1;
        ipti_calls_clear(&w->calls, 0, 0);
        event->flags |= IPT_EVENT_SEAM;
        for (i = 0; i < w->evt.count; i++)
            if (w->evt.pending[i].event.offset < at->sync)
                event->flags &= (uint8_t) ~IPT_EVENT_SEAM;
    }
    ipti_walk_give(w);
    ipti_code_none(&w->code);
    return IPT_OK;
}

/* TNT bits or a TIP are used for the first time: their time is the time now. If
 * it has moved, IPT_CONFIG_TICKS makes an event of that. */
static IPTI_APART void ipti_walk_tick(ipt_walk_ *w, ipt_where *at,
                                      uint64_t offset)
{
    const uint64_t before = at->tsc;
    ipt_event tick;

    IPTI_COPY(&tick, &w->stamp.time);
    ipti_stamp_used(&w->stamp);
    ipti_evt_time(at, &tick);
    if (!(w->cur.config->flags & IPT_CONFIG_TICKS) || tick.tsc == before)
        return;
    tick.type = IPT_EVT_TICK;
    tick.ip = w->flow.ip;
    tick.offset = offset;
    tick.flags &= IPT_EVENT_TSC;
    ipti_walk_keep(w, &tick);
}

/* After an instruction: get the events that bind right after it. After one that
 * disables tracing no more are looked for, as that may take long. An event that
 * waits for an instruction to come is left to that. A page that BDM64 looks at
 * is waited for: the event may belong to this instruction. */
static int ipti_walk_settle(ipt_walk_ *w, ipt_where *at)
{
    int status = !ipti_walk_astray(w); /* else they bind to no known place */

    while (status > 0 && w->out.count < IPT_REACHED_MAX_) {
        status = ipti_walk_source(w, at);
        if (!ipti_walk_unproven(w))
            w->end = status == IPT_END ? IPTI_END_ALL : 0;
        if (status >= 0)
            status = ipti_walk_event(w) ? ipti_walk_reached(w, at) : 0;
        if (status == IPT_MORE || status == IPT_BUDGET
            || (status == IPT_NEED_PAGE
                && w->next.bind.how != IPTI_BIND_BEFORE))
            return status;
        ipti_code_none(&w->code);
        if (status > 0)
            status = ipti_walk_take_event(w, at) >= 0 && w->flow.enabled;
        /* an error comes again */
    }
    ipti_walk_wait(w);
    return IPT_OK;
}

/* ---- instructions that end a run ---- */

/* The instruction at flow's ip ended tracing. */
static IPTI_APART int ipti_walk_disable(ipt_walk_ *w, ipt_where *at,
                                        uint8_t kind, uint64_t next)
{
    const int status = ipti_walk_take_event(w, at);

    if (status >= 0) {
        w->resync.ip = next;
        w->resync.has = (uint8_t) ipti_kind_in(kind, IPTI_KINDS_CALL);
    }
    return status;
}

/* Push the address after a CALL. In 16-bit code it wraps at the end of the 64
 * KiB of CS, if it is known where these are. */
static inline void ipti_walk_call(ipt_walk_ *w, const ipt_where *at,
                                  uint64_t next)
{
    const ipt_config *config = w->cur.config;
    uint64_t base = 0;

    if (w->mode.now == IPT_MODE_16
        && (config->cs_base || config->flags & IPT_CONFIG_RELATIVE_IP)) {
        if (!(config->flags & IPT_CONFIG_RELATIVE_IP))
            base = ipti_code_base(config, &at->asid, w->mode.now, next - 1);
        if (next - base == 0x10000)
            next = base;
    }
    ipti_calls_push(&w->calls, next);
}

/* A direct JMP or CALL. It may belong to an endless loop, unless an event comes
 * after a number of instructions. A CALL to the next instruction only reads the
 * IP: it pushes nothing. SKL014: if the branch leads out of the filters, the
 * TIP.PGD that says so may have no IP. */
static inline int ipti_walk_direct(ipt_walk_ *w, ipt_where *at, uint8_t kind,
                                   uint64_t next, uint64_t target)
{
    const ipt_config *config = w->cur.config;
    const ipt_event *event = ipti_walk_event(w);

    if (event && config->errata & IPT_ERRATUM_SKL014
        && event->type == IPT_EVT_DISABLED && event->flags & IPT_EVENT_NO_TO
        && !ipti_filter_traced(config->filter, target))
        return ipti_walk_disable(w, at, kind, next);
    if (kind == IPT_INSN_CALL && target != next)
        ipti_walk_call(w, at, next); /* else it only reads the IP */
    ipti_loop_branch(&w->loop, target,
                     event && w->next.bind.how == IPTI_BIND_COUNT);
    ipti_flow_at(&w->flow, target);
    return IPT_OK;
}

/* Fetch a deferred TIP, before which TNT bits are still to be used. Time stays
 * that of the bits. More bits would be an error, which stays. */
static IPTI_APART int ipti_walk_deferred(ipt_walk_ *w, ipt_where *at)
{
    const uint64_t bits = w->next.tnt;
    const uint64_t offset = w->next.tnt_offset;
    int status = ipti_walk_queued(w, at);

    if (w->next.tnt_offset != offset) { /* more bits: an error that stays */
        w->evt.error = IPT_ERR_MISMATCH;
        status = IPT_ERR_MISMATCH;
    }
    ipti_next_bits(&w->next, offset, bits);
    return status;
}

/* The current event comes before the next instruction: hand it out as
 * IPT_EVENT_FIRST, or drop it with the others that nobody pulls. If the user
 * does not want it, nothing waits then: flow goes on. */
static int ipti_walk_first(ipt_walk_ *w, ipt_where *at, int dropping)
{
    int status = ipti_walk_take_event(w, at);

    if (status < 0)
        return status;
    ipti_walk_wait(w);
    return dropping ? ipti_walk_drop(w, at) : (int) IPT_EVENT_FIRST;
}

/* Apply the address spaces among the events that were kept: the instruction at
 * hand has caused them before its TIP. */
static void ipti_walk_caused(ipt_walk_ *w, ipt_where *at)
{
    unsigned i;

    for (i = 0; i < w->out.count; i++)
        if (w->out.events[i].type == IPT_EVT_PAGING
            || w->out.events[i].type == IPT_EVT_VMCS)
            ipti_apply_asid(w, at, &w->out.events[i]);
}

/* The current event binds to nothing and stands among the packets of the branch
 * at ip: it comes before that. What the branch has caused is kept. If it is
 * unwanted, nothing waits then, and flow goes on. Apart, as it takes stack. */
static IPTI_APART int ipti_walk_aside(ipt_walk_ *w)
{
    const uint8_t type = w->next.event.type;

    ipti_walk_give(w);
    ipti_code_none(&w->code);
    ipti_out_aside(&w->out);
    if (ipti_evt_unwanted(w->cur.config, type))
        ipti_out_drop(&w->out, 1);
    return IPT_EVENT_FIRST;
}

/* A PTW comes before what the branch at ip needs, so no PTWRITE caused it: it
 * is a note. */
static int ipti_walk_note(ipt_walk_ *w, ipt_where *at)
{
    ipti_prev_takes(&w->prev, w->prev.taken | w->next.bind.once);
    return ipti_walk_first(w, at, 0);
}

/* Get the TIP that the instruction at flow's ip needs. Other events that it
 * causes come before the TIP and are kept: at most three, so that there is room
 * for DISABLED, OVERFLOW or a tick. No instruction causes more than three, so a
 * fourth is there only if one of them is a note. If the TIP is lost, nothing
 * proves that the instruction executed: what it caused and the loss come before
 * what follows. */
static IPTI_APART int ipti_walk_tip(ipt_walk_ *w, ipt_where *at, uint8_t kind,
                                    uint64_t next)
{
    const ipt_event *event = &w->next.event;
    int status;

    while (!w->next.has_tip) {
        if (w->next.has_event) {
            if (event->type == IPT_EVT_TIP)
                return IPT_ERR_NO_IP;
            if (event->type == IPT_EVT_OVERFLOW || event->type == IPT_EVT_GAP) {
                ipti_next_drop(&w->next, IPTI_NEXT_TNT);
                ipti_walk_caused(w, at);
                return ipti_walk_first(w, at, 0);
            }
            if (ipti_bind_nothing(event))
                return ipti_walk_aside(w);
            if (ipti_next_tnt(&w->next) || event->flags & IPT_EVENT_STATUS)
                return IPT_ERR_MISMATCH;
            if (event->type == IPT_EVT_DISABLED)
                return ipti_walk_disable(w, at, kind, next);
            if (ipti_bind_of(&w->next.bind, kind, w->prev.taken))
                ipti_prev_takes(&w->prev, w->prev.taken | w->next.bind.once);
            else if (!ipti_bind_notes(&w->next.bind))
                return IPT_ERR_MISMATCH;
            else if (w->out.count == 0)
                return ipti_walk_note(w, at);
            if (w->out.count == IPT_REACHED_MAX_ - 1)
                return IPT_ERR_MISMATCH;
            ipti_walk_keep(w, event);
            ipti_stamp_due(&w->stamp, w->stamp.due | IPTI_DUE_KEPT);
            ipti_next_drop(&w->next, IPTI_NEXT_EVENT);
        }
        status = ipti_next_tnt(&w->next) ? ipti_walk_deferred(w, at)
                              : ipti_walk_fetch(w, at);
        if (status < 0)
            return status;
    }
    return IPT_OK;
}

/* An indirect or far branch: go to its target, or tracing is disabled by it. */
static inline int ipti_walk_indirect(ipt_walk_ *w, ipt_where *at, uint8_t kind,
                                     uint64_t next)
{
    if (IPTI_UNLIKELY(!w->next.has_tip)) {
        int status = ipti_walk_tip(w, at, kind, next);
        if (status < 0 || !w->next.has_tip)
            return status;
    }
    if (IPTI_UNLIKELY(w->stamp.fresh) && !ipti_next_tnt(&w->next))
        ipti_walk_tick(w, at, w->next.tip_offset);
    ipti_flow_at(&w->flow, w->next.tip);
    ipti_next_drop(&w->next, IPTI_NEXT_TIP);
    ipti_tally_none(&w->tally);
    ipti_loop_end(&w->loop);
    return IPT_OK;
}

/* The branch at flow's ip executed, but where it went is not known: flow does
 * not go on, as in an endless loop. _ready returns the error for it. */
static IPTI_APART int ipti_walk_stray(ipt_walk_ *w, int error)
{
    ipti_calls_astray(&w->calls, error);
    ipti_loop_stick(&w->loop);
    return IPT_OK;
}

/* A near return. Compressed, it takes a TNT bit of 1 and goes where the last
 * call came from; else it takes a TIP. It pops in either case. */
static inline int ipti_walk_return(ipt_walk_ *w, ipt_where *at, uint64_t next)
{
    const uint32_t flags = w->cur.config->flags;
    uint64_t ip = 0;
    int status;

    if (flags & IPT_CONFIG_NO_RETCOMP || !ipti_next_tnt(&w->next)) {
        if ((flags & (IPT_CONFIG_NO_RETCOMP | IPT_CONFIG_NO_TNT))
            == IPT_CONFIG_NO_TNT)
            return ipti_walk_stray(w, IPT_ERR_NO_TNT);
        status = ipti_walk_indirect(w, at, IPT_INSN_RET, next);
        if (status >= 0)
            (void) ipti_calls_pop(&w->calls, &ip);
        return status;
    }
    if (!ipti_next_taken(&w->next))
        return IPT_ERR_RETCOMP;
    status = ipti_calls_pop(&w->calls, &ip);
    if (!status && !w->calls.at.lost)
        return IPT_ERR_RETURN;
    if (status)
        ipti_flow_at(&w->flow, ipti_wrap(w->mode.now, ip));
    ipti_next_take(&w->next);
    ipti_tally_none(&w->tally);
    if (IPTI_UNLIKELY(w->stamp.fresh))
        ipti_walk_tick(w, at, w->next.tnt_offset);
    ipti_loop_end(&w->loop);
    return status ? (int) IPT_OK /* else to a call from before a loss */
                  : ipti_walk_stray(w, IPT_ERR_RETURN_LOST);
}

/* Pass any instruction except a conditional branch that has its TNT bit. */
static inline int ipti_walk_other(ipt_walk_ *w, ipt_where *at, uint8_t kind,
                                  uint64_t next, uint64_t target)
{
    const ipt_event *event;
    int status;

    switch (kind) {
    case IPT_INSN_JCC: /* it disabled tracing, or a note comes first */
        if (w->cur.config->flags & IPT_CONFIG_NO_TNT)
            return ipti_walk_stray(w, IPT_ERR_NO_TNT);
        event = ipti_walk_event(w);
        if (event && ipti_bind_notes(&w->next.bind))
            return ipti_walk_note(w, at);
        if (!event || event->type != IPT_EVT_DISABLED
            || event->flags & IPT_EVENT_STATUS)
            return IPT_ERR_MISMATCH;
        return ipti_walk_disable(w, at, kind, next);
    case IPT_INSN_JMP:
    case IPT_INSN_CALL:
        return ipti_walk_direct(w, at, kind, next, target);
    case IPT_INSN_RET:
        return ipti_walk_return(w, at, next);
    case IPT_INSN_CALL_INDIRECT:
        status = ipti_walk_indirect(w, at, kind, next);
        if (status >= 0 && w->flow.enabled)
            ipti_walk_call(w, at, next);
        return status;
    case IPT_INSN_RSM: /* where it is traced, it is a far return */
    case IPT_INSN_INTO: /* on overflow it is a far call */
        if (kind == IPT_INSN_INTO && w->cur.config->flags & IPT_CONFIG_NO_TNT)
            return ipti_walk_stray(w, IPT_ERR_NO_TNT); /* or its TIP? */
        event = ipti_walk_event(w);
        if (w->next.has_tip || w->out.count /* kept: what it causes */
            || (event
                && (event->type == IPT_EVT_DISABLED
                    || ipti_kind_in(kind, w->next.bind.kinds))))
            return ipti_walk_indirect(w, at, kind, next);
        break;
    default:
        if (ipti_kind_leaves(kind))
            return ipti_walk_indirect(w, at, kind, next);
        break;
    }
    w->loop.total++;
    ipti_flow_at(&w->flow, next);
    return IPT_OK;
}

/* Pass a whole run that ends with a conditional branch, which has a TNT bit. */
static IPTI_PART void ipti_walk_cond(ipt_walk_ *w, const ipt_cache_line *run,
                                    uint64_t mask)
{
    const uint64_t target = run->target_;
    const uint64_t next = (run->ip_ + run->size_) & mask;
    const uint64_t ip = (next - (run->last_ & IPTI_INSN_MAX)) & mask;
    const uint16_t way = (uint16_t) ipti_next_taken(&w->next);

    ipti_next_take(&w->next);
    w->place.way = way;
    ipti_flow_at(&w->flow, way ? target : next);
    ipti_prev_is(&w->prev, ip, IPT_INSN_JCC);
    ipti_prev_takes(&w->prev, 0);
    ipti_loop_end(&w->loop);
    ipti_tally_none(&w->tally);
}

/* Pass the last instruction of a run; n instructions up to it are not in icnt
 * yet. On an error flow stays before it. */
static IPTI_APART int ipti_walk_past(ipt_walk_ *w, ipt_where *at,
                                     const ipt_cache_line *run, unsigned n)
{
    const uint64_t target = run->target_;
    const uint64_t next = (run->ip_ + run->size_) & w->place.mask;
    const uint64_t ip = (next - (run->last_ & IPTI_INSN_MAX)) & w->place.mask;
    const uint8_t kind = run->kind_;
    const uint8_t taken = w->prev.taken;
    int status;

    if (kind == IPT_INSN_JCC && ipti_next_tnt(&w->next)) {
        ipti_walk_cond(w, run, w->place.mask);
        if (IPTI_UNLIKELY(w->stamp.fresh))
            ipti_walk_tick(w, at, w->next.tnt_offset);
        return IPT_OK;
    }
    if (w->out.count == 0) /* else they are this instruction's */
        ipti_prev_takes(&w->prev, 0);
    ipti_flow_at(&w->flow, ip);
    w->tally.icnt += n; /* before what sets it, and them, to 0 */
    status = ipti_walk_other(w, at, kind, next, target);
    if (IPTI_UNLIKELY(status < 0)) {
        w->tally.icnt -= n;
        if (w->out.count == w->out.waiting) /* flow is where it was */
            ipti_prev_takes(&w->prev, w->prev.taken | taken);
        return status;
    }
    if (IPTI_UNLIKELY(ipti_loop_stuck(&w->loop)))
        w->calm = 0;
    w->place.way = w->flow.ip != next;
    ipti_prev_is(&w->prev, ip, kind);
    return IPT_OK;
}

/* Pass the last instruction of the current run, as ipti_walk_past, and do all
 * that has to be done then. Returns the marks that it has, IPT_FLOW_; on an
 * error they wait for it. */
static int ipti_walk_last(ipt_walk_ *w, ipt_where *at)
{
    const uint8_t kind = w->code.run.kind_;
    uint16_t lead;
    int status;

    if (ipti_walk_unproven(w) && ipti_kind_leaves(kind))
        return IPT_END;
    ipti_walk_account(w);
    lead = ipti_marks_begin(&w->marks);
    status = ipti_walk_past(w, at, &w->code.run, 1);
    if (status < 0) {
        ipti_marks_lead(&w->marks, lead);
        return status;
    }
    ipti_walk_caused(w, at);
    if (ipti_kind_far(kind)) /* what it causes comes before its TIP */
        ipti_prev_takes(&w->prev, w->prev.taken | IPTI_TAKEN_FAR);
    ipti_code_none(&w->code);
    if (!w->flow.enabled) /* what follows may take long */
        ipti_walk_wait(w);
    ipti_item_unsettled(&w->item, w->flow.enabled);
    return w->code.run.last_ & IPTI_CUT ? lead | IPT_FLOW_TRUNCATED : lead;
}

/* ---- the walk ---- */

/* Is there a TNT bit or a TIP next? It is fetched if need be. */
static IPTI_HOT int ipti_walk_flow(ipt_walk_ *w, ipt_where *at)
{
    return ipti_next_flow(&w->next)
           || (!w->next.has_event && ipti_walk_fetch(w, at) >= 0
               && !w->next.has_event);
}

/* Does it just go on from flow's ip? */
static IPTI_HOT int ipti_walk_flows(const ipt_walk_ *w, uint8_t calm)
{
    return w->calm == calm && w->place.version == w->cache->version_;
}

#define IPTI_LINE_MASK UINT64_MAX /* no line goes on after its last address */

/* The run there, if the cache has it where it is looked for first. */
static IPTI_HOT const ipt_cache_line *ipti_walk_likely(ipt_walk_ *w)
{
    return ipti_cache_follow(w->cache, &w->place.line, w->place.way,
                             w->place.key, w->flow.ip & w->place.mask);
}

static IPTI_APART const ipt_cache_line *ipti_walk_seek(ipt_walk_ *w)
{
    return ipti_cache_seek(w->cache, &w->place.line, w->place.way, w->place.key,
                           w->flow.ip & w->place.mask);
}

/* The run there, if the cache has it; else NULL. */
static IPTI_HOT const ipt_cache_line *ipti_walk_line(ipt_walk_ *w)
{
    const ipt_cache_line *run = ipti_walk_likely(w);

    return IPTI_LIKELY(run != NULL) ? run : ipti_walk_seek(w);
}

/* Can it be passed as a whole? Not if it ends with a far branch, as what that
 * causes comes before its TIP; with a conditional one that has no bit; or,
 * while there are bits, with one that takes a TIP. */
static IPTI_HOT int ipti_walk_whole(const ipt_walk_ *w,
                                    const ipt_cache_line *run)
{
    uint32_t not_now = IPTI_KINDS_FAR;

    if (!run)
        return 0;
    if (IPTI_LIKELY(run->kind_ == IPT_INSN_JCC))
        return ipti_next_tnt(&w->next);
    if (ipti_next_tnt(&w->next))
        not_now |= w->cur.config->flags & IPT_CONFIG_NO_RETCOMP
                       ? IPTI_KINDS_NEAR
                       : IPTI_KINDS_NEAR & ~IPTI_KIND(RET);
    return !ipti_kind_in(run->kind_, not_now);
}

enum { IPTI_FLOWS = 1, IPTI_BURNS }; /* ipt_walk_.calm: without, with fuel */

/* A call succeeds: is there nothing to be looked at but flow? */
static inline uint8_t ipti_walk_calm(const ipt_walk_ *w)
{
    const ipt_config *config = w->cur.config;
    const int calm = !w->marks.lead && !w->out.count && !w->out.ends_block
                     && !w->item.unsettled && !w->next.has_event
                     && !w->stamp.due && !ipti_walk_unproven(w)
                     && ipti_place_known(&w->place, w->mode.now)
                     && !(config->flags & IPT_CONFIG_TICKS)
                     && !ipti_loop_stuck(&w->loop)
                     && (!w->code.count || ipti_walk_whole(w, &w->code.run));

    return calm ? config->fuel ? IPTI_BURNS : IPTI_FLOWS : 0;
}

/* Pass a whole run. Returns 0 if something may happen in it; an error comes
 * again on the slower way. */
static IPTI_PART int ipti_walk_leap(ipt_walk_ *w, ipt_where *at,
                                   const ipt_cache_line *run)
{
    if (!ipti_walk_whole(w, run))
        return 0;
    if (ipti_walk_past(w, at, run, run->count_) >= 0)
        return 1;
    ipti_flow_at(&w->flow, run->ip_);
    return 0;
}

/* Does the run end with a conditional branch that has a bit, and is nothing
 * else to be done? */
static IPTI_PART int ipti_walk_plain(const ipt_walk_ *w,
                                    const ipt_cache_line *run)
{
    return run && run->kind_ == IPT_INSN_JCC && ipti_next_tnt(&w->next)
           && !w->stamp.fresh;
}

/* ... and are there two, so that it is known that flow goes on? */
static IPTI_PART int ipti_walk_brief(const ipt_walk_ *w,
                                     const ipt_cache_line *run)
{
    return run && run->kind_ == IPT_INSN_JCC && ipti_next_two(&w->next)
           && !w->stamp.fresh;
}

/* Get to an instruction and look up its code: take the events that come before
 * it first. */
static int ipti_walk_ready(ipt_walk_ *w, ipt_where *at)
{
    int dropping = ipti_walk_drop(w, at);
    int status;

    if (w->code.index < w->code.count && w->place.version == *w->valid)
        return IPT_OK;
    if (w->code.index < w->code.count)
        ipti_walk_account(w);
    ipti_code_none(&w->code);
    w->end = 0;
    for (;;) {
        status = ipti_walk_source(w, at);
        if (status < 0 && ipti_walk_astray(w)) {
            if (status == IPT_MORE || status == IPT_BUDGET)
                return status;
            break; /* the quick ways have looked ahead, too */
        }
        if (status == IPT_END && w->flow.enabled
            && w->cur.config->flags & IPT_CONFIG_WALK_ON)
            w->end = IPTI_END_UNPROVEN;
        else if (status < 0)
            return status;
        if (!ipti_walk_event(w) || w->out.count || ipti_walk_astray(w))
            break; /* kept: the branch at ip has taken events already */
        status = ipti_walk_reached(w, at);
        if (status < 0)
            return status;
        if (status == 0
            && !(ipti_loop_stuck(&w->loop) && ipti_bind_notes(&w->next.bind)))
            break;
        status = ipti_walk_first(w, at, dropping);
        (void) ipti_marks_end(&w->marks); /* of what was handed out */
        if (status < 0 && (status != IPT_EVENT_FIRST || w->out.waiting))
            return status;
    }
    if (!w->flow.enabled)
        return IPT_ERR_CONTEXT;
    if (ipti_loop_stuck(&w->loop)) {
        ipti_code_none(&w->code);
        return ipti_walk_astray(w) ? -(int) w->calls.at.lost
                                   : (int) IPT_ERR_LOOP;
    }
    (void) ipti_marks_end(&w->marks);
    ipti_flow_at(&w->flow, ipti_wrap(w->mode.now, w->flow.ip));
    if (w->code.count == 0) /* else ipti_walk_reached has looked */
        status = ipti_walk_run(w, at);
    if (status < 0)
        return status;
    w->item.from = UINT64_MAX;
    if (IPTI_UNLIKELY(w->stamp.due))
        ipti_walk_now(w, at);
    return status;
}

/* Is the next instruction the last one of its run? */
static inline int ipti_walk_at_last(const ipt_walk_ *w)
{
    return w->code.index + 1 == w->code.run.count_
           && w->code.index < w->code.count;
}

/* Pass the instructions up to where an event cuts the run, at most `most` of
 * them and not the last one of the run. Returns how many. */
static unsigned ipti_walk_pass(ipt_walk_ *w, unsigned most)
{
    const unsigned whole = w->code.count == w->code.run.count_;
    const unsigned ahead = (unsigned) (w->code.count - w->code.index) - whole;
    const unsigned n = ahead < most ? ahead : most;
    unsigned size;
    unsigned i;

    for (i = 0; i < n; i++) {
        size = w->code.run.sizes_[w->code.index];
        ipti_prev_is(&w->prev, w->flow.ip, IPT_INSN_OTHER);
        ipti_flow_at(&w->flow, (w->flow.ip + size) & w->place.mask);
        ipti_code_step(&w->code);
    }
    if (w->code.index == w->code.count) {
        ipti_walk_account(w);
        ipti_prev_takes(&w->prev, 0);
        ipti_item_unsettled(&w->item, 1);
    }
    return n;
}

/* Forget everything about flow but its ip, which at.ip has: the decoder was
 * just synchronised. All parts but next are as after _init, except that an item
 * in progress was proven: it is handed out first. If the mode is UNKNOWN, that
 * of the config is assumed. */
static IPTI_APART void ipti_walk_clear(ipt_walk_ *w, const ipt_where *at,
                                       uint8_t mode)
{
    const uint8_t full = w->item.full | w->item.begun;

    ipti_next_drop(&w->next, IPTI_NEXT_ALL);
    IPT_MEMSET((uint8_t *) w + offsetof(ipt_walk_, flow.enabled), 0,
               sizeof(*w) - offsetof(ipt_walk_, flow.enabled));
    w->item.from = at->sync;
    w->item.full = full;
    w->mode.old = mode == IPT_MODE_UNKNOWN;
    w->mode.now = w->mode.old ? w->cur.config->mode : mode;
}

/* As after _init. */
static void ipti_walk_reset(ipt_walk_ *w, const ipt_where *at)
{
    ipti_evt_reset(&w->evt, w->cur.config);
    ipti_walk_clear(w, at, IPT_MODE_UNKNOWN);
}

/* The status bits that go with an item. */
static int ipti_walk_status(const ipt_walk_ *w)
{
    return (w->out.waiting && !w->item.full ? IPT_EVENT_PENDING : 0)
           | (w->flow.enabled ? 0 : IPT_IP_SUPPRESSED)
           | (ipti_walk_unproven(w) ? IPT_UNPROVEN | IPT_LAST : 0)
           | (w->end && !w->out.count && !w->item.full ? IPT_LAST : 0);
}

/* Get the events that come before the next instruction, as far as the trace at
 * hand says, unless some are to be pulled first; no instruction waits for them.
 * Returns the status bits. */
static int ipti_walk_look(ipt_walk_ *w, ipt_where *at)
{
    ipti_walk_wait(w);
    if (!w->out.waiting && !w->resync.state) {
        (void) ipti_walk_settle(w, at);
        (void) ipti_marks_end(&w->marks);
        ipti_walk_wait(w);
    }
    return ipti_walk_status(w);
}

/* Every call ends here, except those that find that flow just goes on. */
static int ipti_walk_leave(ipt_walk_ *w, ipt_where *at, int status)
{
    w->calm = 0;
    at->ip = w->flow.ip;
    at->mode = w->mode.now;
    if (w->flow.enabled)
        at->valid |= IPT_AT_IP;
    else
        at->valid &= (uint8_t) ~IPT_AT_IP;
    return ipti_leave(&w->cur, at, status);
}

static int ipti_walk_synced(ipt_walk_ *w, ipt_where *at, int status)
{
    if (status >= 0) {
        ipti_walk_reset(w, at);
        status = ipti_walk_look(w, at);
    }
    return ipti_walk_leave(w, at, status);
}

/* The status of a call of a view: an error without a decoder, else `call`. */
#define IPTI_VIEW(view, call) \
    (IPTI_BAD_SELF(view) ? (int) IPTI_SELF_ERROR(view) : (call))

enum { /* how: to which PSB */
    IPTI_SYNC_FORWARD,
    IPTI_SYNC_BACKWARD,
    IPTI_SYNC_SET /* the one at `offset` */
};

/* A _sync function. Inline, so that a program has no code but for those that it
 * calls. */
static IPTI_PART int ipti_walk_sync(ipt_walk_ *w, ipt_where *at, int how,
                                    uint64_t offset)
{
    if (how == IPTI_SYNC_FORWARD)
        return ipti_walk_synced(w, at, ipti_sync_forward(&w->cur, at));
    if (how == IPTI_SYNC_BACKWARD)
        return ipti_walk_synced(
            w, at, ipti_sync_stepback(&w->cur, at, w->item.from));
    return ipti_walk_synced(w, at, ipti_sync_set(&w->cur, at, offset, 1));
}

/* Stand at a packet, in a given state. */
static int ipti_walk_start(ipt_walk_ *w, ipt_where *at, const ipt_start *start)
{
    uint32_t i;
    int status;

    if (!start)
        return IPT_ERR_ARG;
    status = ipti_evt_start(&w->cur, &w->evt, at, start);
    if (status < 0)
        return ipti_walk_leave(w, at, status);
    ipti_walk_clear(w, at, start->mode);
    w->flow.synced = 1;
    if (start->enabled)
        ipti_walk_go(w, at, start->ip);
    for (i = 0; i < start->stack_count; i++)
        ipti_calls_push(&w->calls, start->stack[i]);
    return ipti_walk_leave(w, at, ipti_walk_look(w, at));
}

/* The user names the address space that flow is in. */
static int ipti_walk_asid(ipt_walk_ *w, ipt_where *at, const ipt_asid *asid)
{
    if (w->cur.state < IPTI_CUR_SYNC)
        return ipti_walk_leave(w, at, IPT_ERR_NOSYNC);
    if (asid->nr > 1)
        return ipti_walk_leave(w, at, IPT_ERR_ARG);
    if (w->code.index < w->code.count)
        ipti_walk_account(w);
    ipti_code_none(&w->code);
    ipti_place_none(&w->place);
    w->evt.vmx = (uint8_t) (1 + asid->nr);
    if (!ipti_asid_same(asid, &at->asid))
        ipti_item_end(&w->item);
    IPTI_COPY(&at->asid, asid);
    if (w->flow.enabled && !ipti_walk_wanted(w, at)) {
        ipti_flow_state(&w->flow, 0, 1);
        ipti_item_unsettled(&w->item, 0);
        ipti_next_drop(&w->next, IPTI_NEXT_TNT | IPTI_NEXT_TIP);
        if (w->next.has_event && ipti_event_inside(&w->next.event))
            ipti_next_drop(&w->next, IPTI_NEXT_EVENT);
    }
    return ipti_walk_leave(w, at, IPT_OK);
}

/* What decoders with a walk have in common. */
static int ipti_walk_init(ipt_walk_ *w, ipt_where *at, const ipt_config *config,
                          const ipt_trace *trace, ipt_cache *cache)
{
    const int status = ipti_cur_init(&w->cur, at, config, trace);

    if (status < 0)
        return status;
    if (!config->read)
        return IPT_ERR_CONFIG;
    if (cache && cache->magic_ != ipti_magic(sizeof(*cache)))
        return IPT_ERR_STATE;
    w->cache = cache;
    w->valid = cache ? &cache->version_ : &ipti_always;
    ipti_walk_reset(w, at);
    return IPT_OK;
}

enum { /* ipt_resync_.state */
    IPTI_RESYNC_NONE,
    IPTI_RESYNC_OFF, /* since tracing was disabled */
    IPTI_RESYNC_ON
};

/* Tracing was enabled when _resync began, and the current event enables it
 * again: the packet that disabled it is lost. Give a DISABLED for it. Apart, as
 * it takes stack. */
static IPTI_APART void ipti_resync_off(ipt_walk_ *w)
{
    ipt_event disabled;

    IPTI_COPY(&disabled, &w->next.event);
    disabled.type = IPT_EVT_DISABLED;
    disabled.ip = 0;
    disabled.flags |= IPT_EVENT_NO_IP | IPT_EVENT_NO_TO;
    disabled.u.branch.to = 0;
    ipti_walk_keep(w, &disabled);
}

/* Take up flow at the current event if it says where flow is. Returns 0 if a
 * later one has to. */
static int ipti_resync_event(ipt_walk_ *w, ipt_where *at)
{
    const ipt_event *event = &w->next.event;
    const int has_ip = !(event->flags & IPT_EVENT_NO_IP);

    if (event->flags & IPT_EVENT_STATUS) { /* as if synchronising here */
        w->flow.synced = 0;
        w->mode.old = 1;
        if (has_ip && event->type != IPT_EVT_ENABLED)
            ipti_walk_go(w, at, event->ip); /* that was given already */
        return 1;
    }
    if (event->type == IPT_EVT_ENABLED && w->resync.state == IPTI_RESYNC_ON)
        ipti_resync_off(w);
    if (event->type == IPT_EVT_ENABLED || event->type == IPT_EVT_OVERFLOW)
        return 1;
    if (event->type == IPT_EVT_DISABLED) { /* by what is not known */
        ipti_walk_give(w);
        return 1;
    }
    if (event->type == IPT_EVT_PAGING || event->type == IPT_EVT_VMCS
        || (event->type == IPT_EVT_EXEC_MODE && !has_ip)) {
        /* a mode without an IP: with a TIP.PGD, or while tracing is disabled */
        (void) ipti_walk_take_event(w, at); /* no error, and no status */
        return 0;
    }
    if (event->type == IPT_EVT_TIP) {
        ipti_next_drop(&w->next, IPTI_NEXT_EVENT);
        return 0;
    }
    if (has_ip && w->resync.offset != event->offset + 1) {
        w->resync.offset = event->offset + 1; /* in case it does not help */
        ipti_walk_go(w, at, event->ip);
        return 1;
    }
    if (!has_ip && w->next.bind.how < IPTI_BIND_CAUSED && !w->evt.enabled
        && !ipti_evt_find(&w->evt, IPT_EVT_DISABLED))
        return 1; /* tracing is disabled, by no event to come */
    ipti_walk_give(w);
    return 0;
}

/* Drop what flow needed here, and take flow up at the next packet that has an
 * IP. */
static int ipti_resync_find(ipt_walk_ *w, ipt_where *at)
{
    uint64_t offset = 0;
    int status = IPT_OK;
    int found = 0;

    if (w->cur.state < IPTI_CUR_SYNC)
        return IPT_ERR_NOSYNC;
    (void) ipti_walk_drop(w, at);
    if (!w->resync.state) {
        at->skip_from
            = ipti_next_any(&w->next) ? ipti_walk_offset(w) : at->offset;
        at->skip_to = at->skip_from;
        w->probe.count = 0;
        w->resync.state = w->flow.enabled || w->flow.hidden ? IPTI_RESYNC_ON
                                                            : IPTI_RESYNC_OFF;
        if (w->resync.state == IPTI_RESYNC_ON)
            w->resync.has = 0;
        ipti_calls_clear(&w->calls, 1, w->cur.config->flags);
        ipti_walk_caused(w, at);
    }
    ipti_code_none(&w->code);
    ipti_item_unsettled(&w->item, 0);
    ipti_walk_off(w);
    ipti_loop_end(&w->loop);
    while (!found) {
        ipti_next_drop(&w->next, IPTI_NEXT_TNT);
        status = w->out.count == IPT_REACHED_MAX_ ? (int) IPT_END
                                                  : ipti_walk_source(w, at);
        if (status < 0) { /* or there is no room for another event */
            if (!w->out.count || status == IPT_MORE || status == IPT_BUDGET)
                return status;
            ipti_walk_wait(w);
            if (w->out.waiting) /* to be pulled first */
                return ipti_walk_status(w);
            continue; /* they are unwanted */
        }
        offset = ipti_walk_offset(w);
        if (w->next.has_tip) {
            ipti_walk_arrive(w, at, w->next.tip);
            ipti_walk_due(w);
            ipti_tally_none(&w->tally);
            ipti_next_drop(&w->next, IPTI_NEXT_TIP);
            found = 1;
        } else if (w->next.has_event) {
            found = ipti_resync_event(w, at);
        }
    }
    at->resyncs++;
    if (offset > at->skip_to) /* else there was a gap on the way */
        ipti_at_skip(at, offset);
    ipti_marks_lead(&w->marks, IPT_FLOW_RESYNCED);
    w->resync.state = 0;
    return ipti_walk_look(w, at);
}

/* _resync. Each call uses up at least one packet. */
static int ipti_walk_resync(ipt_walk_ *w, ipt_where *at)
{
    if (w->evt.error == IPT_ERR_MISMATCH /* ipti_walk_deferred's: of flow */
        || w->evt.error == IPT_ERR_STATUS) /* the PSB+ is right */
        w->evt.error = IPT_OK;
    ipti_item_end(&w->item);
    return ipti_walk_leave(w, at, ipti_resync_find(w, at));
}

/* Before a _next: finish a _resync that stopped for trace, fuel or room for
 * events. An error that it meets stays. */
static int ipti_walk_resume(ipt_walk_ *w, ipt_where *at)
{
    int status = w->cur.state < IPTI_CUR_SYNC ? (int) IPT_ERR_NOSYNC : IPT_OK;

    if (w->resync.state && status >= 0) {
        status = ipti_resync_find(w, at);
        if (status >= 0 && w->out.waiting)
            status = IPT_EVENT_FIRST;
    }
    return status;
}

/* `at` gets the time of an event. If a branch has caused it before its TIP,
 * what `at` had is for the next instruction. */
static void ipti_walk_timed(ipt_walk_ *w, ipt_where *at, const ipt_event *event)
{
    ipt_event *after = &w->stamp.after;

    if (w->stamp.due == IPTI_DUE_KEPT) {
        after->tsc = at->tsc;
        after->lost_mtc = at->lost_mtc;
        after->lost_cyc = at->lost_cyc;
        after->cbr = at->cbr;
        ipti_stamp_due(&w->stamp, IPTI_DUE_KEPT | IPTI_DUE_AFTER);
    }
    ipti_evt_time(at, event);
}

/* Hand out the first event that was reached. After the last one, look for more
 * that come before the next instruction. */
static IPTI_APART int ipti_walk_pull(ipt_walk_ *w, ipt_where *at,
                                     ipt_event *event)
{
    if (w->cur.state < IPTI_CUR_SYNC)
        return ipti_walk_leave(w, at, IPT_ERR_NOSYNC);
    if (!w->out.waiting || w->item.full) { /* what is in progress comes first */
        if (!w->code.count)
            w->calm = 0;
        return ipti_leave(&w->cur, at, IPT_END);
    }
    IPTI_COPY(event, &w->out.events[0]);
    w->item.from = UINT64_MAX;
    ipti_walk_timed(w, at, event);
    ipti_out_drop(&w->out, 1);
    return ipti_walk_leave(w, at, w->out.count ? ipti_walk_status(w)
                                               : ipti_walk_look(w, at));
}

/* ---- spans: what views see of flow ----
 *
 * A view makes items of spans: [insn] one of each, [blk] one of those up to
 * `ends`. ipti_walk_span passes the instructions at flow's ip, up to the end of
 * the run or to where an event cuts it, and settles them. Where `ends` is set,
 * it returns the status bits that go with an item, at.ip is where flow goes on,
 * and the events that come after it wait to be pulled; else IPT_OK, and `at` is
 * as it was. Two things may come apart from each other:
 *
 *   count > 0, status < 0   the instructions were passed. The view keeps them,
 *                           and hands out nothing
 *   count 0, status >= 0    what the view has kept is settled now, and gets the
 *                           flags of this span besides
 *
 * A view may have no other way (tests/truth/depth.c has none). It pulls events
 * by ipti_walk_pull, or leaves them: they go with the next span.
 *
 * Where nothing can happen, short ways give spans of one instruction:
 * ipti_walk_step inside of a run; at its end ipti_walk_branch or, if that
 * returns 0, ipti_walk_turn. After these ipti_walk_on or ipti_walk_load takes
 * up the next run. */

typedef struct ipti_span {
    uint64_t offset; /* of the packet that proves them */
    uint64_t ip;     /* of the first instruction */
    uint64_t end_ip; /* of the last one, ... */
    uint16_t count;
    uint16_t flags;  /* IPT_FLOW_ */
    uint8_t kind;    /* ... its IPT_INSN_ */
    uint8_t size;    /* ... and its size */
    uint8_t mode;    /* IPT_MODE_ */
    uint8_t ends;    /* the item ends with it, or has ended before it */
    const ipt_cache_line *run; /* see ipti_walk_short */
} ipti_span;

/* Up to which instruction of the current run may flow step without a look at
 * anything? 0 where addresses wrap in the run, and where no trace proves it. */
static inline uint8_t ipti_walk_steps(const ipt_walk_ *w)
{
    const uint64_t end = w->code.run.ip_ + w->code.run.size_;

    return (end & w->place.mask) == end && !ipti_walk_unproven(w)
               ? (uint8_t) (w->code.count - 1) : 0;
}

/* Does a block end after an instruction of that kind? */
static IPTI_HOT int ipti_walk_ends(const ipt_walk_ *w, uint8_t kind)
{
    const uint32_t flags = w->cur.config->flags;

    return ipti_kind_leaves(kind)
           || (kind == IPT_INSN_JMP && flags & IPT_CONFIG_END_ON_JUMP)
           || (kind == IPT_INSN_CALL && flags & IPT_CONFIG_END_ON_CALL);
}

/* Does an event that is not wanted end the item in progress? */
static IPTI_HOT int ipti_span_cut(const ipt_walk_ *w, unsigned most)
{
    return most && w->item.begun && w->out.ends_block;
}

/* Pass the next instructions of the run at flow's ip. If the last of the run
 * fails, those before it are a span; the error comes again. An instruction with
 * IPTI_CUT is a run of its own: no steps there. */
static IPTI_PART int ipti_span_pass(ipt_walk_ *w, ipt_where *at, unsigned most,
                                    ipti_span *span)
{
    int status = ipti_walk_ready(w, at);
    unsigned n;

    if (status < 0)
        return status;
    if (ipti_span_cut(w, most))
        return IPT_EVENT_FIRST;
    if (!w->item.begun)
        w->out.ends_block = 0; /* an event before a block does not end it */
    span->offset = w->code.offset;
    span->ip = w->flow.ip;
    span->mode = w->mode.now;
    span->flags = w->mode.speculative;
    n = ipti_walk_pass(w, most ? most : 1);
    if (n > 0) {
        span->flags |= ipti_marks_begin(&w->marks);
        span->size = (uint8_t) (w->flow.ip - w->prev.ip);
    }
    if (!most && n) {
        w->code.calm = ipti_walk_steps(w);
    } else if (n == 0 || (n < most && ipti_walk_at_last(w))) {
        status = ipti_walk_last(w, at);
        if (status < 0 && n == 0)
            return status;
        if (status >= 0) {
            span->flags |= (uint16_t) status;
            span->size = w->code.run.last_ & IPTI_INSN_MAX;
            span->ends = w->code.run.leaves_
                         | (w->code.run.last_ & IPTI_CUT);
            n++;
        }
    }
    span->kind = w->prev.kind;
    span->end_ip = w->prev.ip;
    span->count = (uint16_t) n;
    span->ends = n >= most || span->ends || ipti_walk_ends(w, span->kind);
    return IPT_OK;
}

/* Pass a span, if the last one is settled, and settle it. Before an error the
 * block in progress ends; the error comes again. Where a call can go on, it
 * stays in progress. */
static IPTI_PART int ipti_span_next(ipt_walk_ *w, ipt_where *at, unsigned most,
                                    ipti_span *span)
{
    int status = IPT_OK;
    int cut;

    if (!w->item.full || w->item.unsettled) /* else of before a _sync */
        status = ipti_walk_resume(w, at);
    if (status < 0)
        return status;
    if (!w->item.full) {
        do {
            status = ipti_span_pass(w, at, most, span);
            cut = ipti_span_cut(w, most);
        } while (status == IPT_EVENT_FIRST && !w->out.waiting && !cut);
        if (status < 0 && !cut
            && (!most || !w->item.begun || status == IPT_MORE
                || status == IPT_BUDGET || status == IPT_NEED_PAGE))
            return status;
        ipti_item_passed(&w->item, status < 0 || span->ends, 1);
    }
    return w->item.unsettled ? ipti_walk_settle(w, at) : (int) IPT_OK;
}

/* Get the next span: see above. `most` is how many instructions the item may
 * get: an item ends with the last of them. If `most` is 0, the span is one
 * instruction, and an item. */
static IPTI_PART int ipti_walk_span(ipt_walk_ *w, ipt_where *at, unsigned most,
                                    ipti_span *span)
{
    int status;

    IPT_MEMSET(span, 0, sizeof(*span)); /* lest compilers warn */
    status = ipti_span_next(w, at, most, span);
    if (status >= 0) {
        span->ends = !most || !w->item.begun || w->out.waiting
                     || w->out.ends_block;
        ipti_item_passed(&w->item, span->ends, 0);
        if (!span->ends)
            return IPT_OK;
        span->flags |= ipti_marks_end(&w->marks);
        status = ipti_walk_status(w);
    }
    status = ipti_walk_leave(w, at, status);
    if (status >= 0 && (most ? !w->code.count : w->code.calm))
        w->calm = ipti_walk_calm(w);
    return status;
}

/* Pass the next instruction, which is at `ip` and has `size` bytes, if it is
 * not the last one of its run, nothing can happen around it, and no code was
 * forgotten since the run was looked up. Returns 0 if not. */
static IPTI_HOT int ipti_walk_step(ipt_walk_ *w, uint64_t *ip, unsigned *size)
{
    if (IPTI_UNLIKELY(w->code.index >= w->code.calm
                      || w->place.version != *w->valid))
        return 0;
    *size = w->code.run.sizes_[w->code.index];
    *ip = w->flow.ip;
    ipti_flow_at(&w->flow, w->flow.ip + *size); /* see ipti_walk_steps */
    ipti_code_step(&w->code);
    return 1;
}

/* The last instruction of the current run, which was passed, as a span. */
static IPTI_HOT int ipti_span_last(const ipt_walk_ *w, ipti_span *span)
{
    span->offset = w->code.offset;
    span->ip = w->prev.ip;
    span->flags = w->mode.speculative;
    span->mode = w->mode.now;
    span->kind = w->prev.kind;
    span->size = w->code.run.last_;
    span->count = 1;
    return 1;
}

/* Pass the last instruction of the current run, if it is a conditional branch
 * that leaves a bit, and nothing can happen around it. */
static IPTI_HOT int ipti_walk_branch(ipt_walk_ *w, ipti_span *span)
{
    if (IPTI_UNLIKELY(!ipti_walk_flows(w, IPTI_FLOWS))
        || !ipti_walk_brief(w, &w->code.run))
        return 0;
    ipti_walk_cond(w, &w->code.run, IPTI_LINE_MASK);
    return ipti_span_last(w, span);
}

/* As ipti_walk_branch, whatever the last instruction is. Returns 0 where
 * ipti_walk_span has to go on, as after one that is not settled; an error comes
 * again there. */
static IPTI_HOT int ipti_walk_turn(ipt_walk_ *w, ipt_where *at,
                                   ipti_span *span)
{
    int flows;

    span->count = span->flags = 0;
    if (!w->calm || w->place.version != *w->valid)
        return 0;
    if (ipti_walk_plain(w, &w->code.run)) {
        ipti_walk_cond(w, &w->code.run, IPTI_LINE_MASK);
    } else if (ipti_walk_past(w, at, &w->code.run,
                              (unsigned) w->code.count - w->tally.counted)
               < 0) {
        w->calm = 0;
        return 0;
    }
    flows = ipti_walk_flow(w, at);
    if (IPTI_UNLIKELY(!flows)) {
        w->calm = 0;
        ipti_code_none(&w->code);
        ipti_item_unsettled(&w->item, 1);
        ipti_item_passed(&w->item, 1, 1);
    }
    (void) ipti_span_last(w, span);
    return flows;
}

/* Take up the run that comes next: it is passed by steps. Returns 0 if
 * something may happen in it. offset: of the packet that proves it. */
static IPTI_HOT int ipti_walk_enter(ipt_walk_ *w, const ipt_cache_line *run,
                                    uint64_t *offset)
{
    if (IPTI_UNLIKELY(!ipti_walk_whole(w, run)))
        return 0;
    w->code.offset = ipti_walk_offset(w);
    if (*offset != w->code.offset) /* a store that a copy soon reads is slow */
        *offset = w->code.offset;
    ipti_flow_at(&w->flow, run->ip_);
    w->code.index = 0;
    w->tally.counted = 0;
    w->code.count = run->count_;
    w->code.calm = (uint8_t) (run->count_ - 1);
    IPTI_COPY(&w->code.run, run);
    return 1;
}

/* After ipti_walk_turn: take up the next run, if flow just goes on there. Fuel
 * is burnt for all of it. */
static IPTI_HOT int ipti_walk_load(ipt_walk_ *w, ipt_where *at,
                                   uint64_t *offset)
{
    at->ip = w->flow.ip;
    if (!w->calm || ipti_fuel_empty(w->cur.config)
        || !ipti_walk_enter(w, ipti_walk_line(w), offset)) {
        ipti_code_none(&w->code);
        w->calm = 0;
    } else {
        ipti_fuel_burn(w->cur.config, w->code.count);
    }
    return IPT_OK;
}

static IPTI_APART int ipti_walk_reload(ipt_walk_ *w, ipt_where *at,
                                       uint64_t *offset)
{
    return ipti_walk_load(w, at, offset);
}

/* After ipti_walk_branch: the same, most likely at once. */
static IPTI_HOT int ipti_walk_on(ipt_walk_ *w, ipt_where *at, uint64_t *offset)
{
    if (IPTI_SMALL || !ipti_walk_enter(w, ipti_walk_likely(w), offset))
        return ipti_walk_reload(w, at, offset);
    at->ip = w->flow.ip;
    return IPT_OK;
}

/* ---- spans of whole runs ----
 *
 * While flow just goes on, a span is a block, of one run or more. */

/* Flow passed `run`: it is a span, or goes on after one. offset: of the packet
 * that proves it. */
static IPTI_HOT void ipti_span_add(const ipt_walk_ *w, ipti_span *span,
                                   const ipt_cache_line *run, uint64_t offset)
{
    if (span->count == 0) {
        span->ip = run->ip_;
        span->flags = w->mode.speculative;
        span->mode = w->mode.now;
    }
    span->offset = offset;
    span->end_ip = w->prev.ip;
    span->count = (uint16_t) (span->count + run->count_);
    span->kind = w->prev.kind;
    span->size = run->last_;
}

/* Pass a run that ends with a conditional branch, which has a TNT bit. */
static IPTI_HOT int ipti_span_cond(ipt_walk_ *w, ipt_where *at,
                                   const ipt_cache_line *run, ipti_span *span)
{
    const uint64_t offset = w->next.tnt_offset;

    ipti_walk_cond(w, run, IPTI_LINE_MASK);
    span->count = 0;
    ipti_span_add(w, span, run, offset);
    at->ip = w->flow.ip;
    return 1;
}

/* The short way: pass the run at flow's ip if it ends with a conditional branch
 * that leaves a bit. What may have to wait for trace, or for events, goes
 * through ipti_walk_leaps, with what span->run says, if this returns 0, and
 * through ipti_walk_span if it returns less. */
static IPTI_HOT int ipti_walk_short(ipt_walk_ *w, ipt_where *at,
                                    ipti_span *span)
{
    span->run = NULL;
    if (IPTI_UNLIKELY(!ipti_walk_flows(w, IPTI_FLOWS)))
        return ipti_walk_flows(w, IPTI_BURNS) - 1;
    span->run = ipti_walk_likely(w);
    if (IPTI_UNLIKELY(!ipti_walk_brief(w, span->run)))
        return 0;
    return ipti_span_cond(w, at, span->run, span);
}

/* `run` ends with a direct jump. The one after it, if that ends as
 * ipti_walk_plain says: its branch leaves nothing of what the jump changes.
 * NULL if it does not, and where a block ends with the jump. */
static IPTI_PART const ipt_cache_line *
ipti_walk_joined(ipt_walk_ *w, const ipt_cache_line *run)
{
    const uint64_t target = run->target_ & w->place.mask;
    const unsigned way = target != run->ip_ + run->size_;
    uint32_t number = w->place.line;

    if (run->leaves_ || w->loop.total
        || w->cur.config->flags & IPT_CONFIG_END_ON_JUMP)
        return NULL;
    run = ipti_cache_follow(w->cache, &number, way, w->place.key, target);
    if (!ipti_walk_plain(w, run))
        return NULL;
    w->place.line = number;
    return run;
}

/* Pass whole runs, from `run` on, up to the end of a block. Returns 1 if it is
 * settled; 0 if it, or what comes after it, is for ipti_walk_span. */
static inline int ipti_span_more(ipt_walk_ *w, ipt_where *at,
                                 const ipt_cache_line *run, ipti_span *span)
{
    int flows;
    int ends;

    while (span->count <= UINT16_MAX - IPT_RUN_MAX_) {
        const uint64_t offset = ipti_walk_offset(w);
        if (ipti_walk_plain(w, run))
            ipti_walk_cond(w, run, IPTI_LINE_MASK);
        else if (!ipti_walk_leap(w, at, run))
            return 0;
        if (w->calm != IPTI_FLOWS)
            ipti_fuel_burn(w->cur.config, run->count_);
        ipti_span_add(w, span, run, offset);
        ends = ipti_walk_ends(w, span->kind) || run->leaves_
               || span->count == UINT16_MAX;
        flows = ipti_walk_flow(w, at);
        ipti_item_passed(&w->item, ends, !flows);
        ipti_item_unsettled(&w->item, !flows);
        if (!flows || ends || !w->calm)
            return flows;
        if (w->calm != IPTI_FLOWS && ipti_fuel_empty(w->cur.config))
            return 0;
        run = ipti_walk_line(w);
    }
    return 0;
}

/* Pass a block, where flow just goes on. run: what follows, or NULL if that has
 * to be looked for, as where there is fuel to burn. A block of one run, or of
 * two with a direct jump between them, needs no loop. Returns 0 if
 * ipti_walk_span has to go on after `count` instructions. */
static IPTI_PART int ipti_walk_leaps(ipt_walk_ *w, ipt_where *at,
                                     const ipt_cache_line *run, ipti_span *span)
{
    const ipt_cache_line *last = run;

    span->ip = span->count = span->flags = 0; /* lest compilers warn */
    span->kind = span->size = span->mode = 0;
    if (w->calm == IPTI_BURNS) {
        if (ipti_fuel_empty(w->cur.config))
            return 0;
        last = run = ipti_walk_likely(w);
    } else if (run && run->kind_ == IPT_INSN_JMP) {
        last = ipti_walk_joined(w, run);
    }
    if (ipti_walk_plain(w, last)) {
        (void) ipti_span_cond(w, at, last, span);
        span->ip = run->ip_;
        if (last != run)
            span->count = (uint16_t) (span->count + run->count_);
        if (w->calm == IPTI_BURNS)
            ipti_fuel_burn(w->cur.config, span->count);
        if (IPTI_LIKELY(ipti_walk_flow(w, at)))
            return 1;
        ipti_item_passed(&w->item, 1, 1);
        ipti_item_unsettled(&w->item, 1);
        return 0;
    }
    if (!ipti_walk_flow(w, at)
        || !ipti_span_more(w, at, run ? run : ipti_walk_seek(w), span))
        return 0;
    ipti_item_passed(&w->item, 1, 0);
    at->ip = w->flow.ip;
    return 1;
}

/* ==========================================================================
 * [blk]  blocks in execution order, a view of the walk
 * Uses: [base], [walk].  State: ipt_blk_decoder.
 * ========================================================================== */

IPT_API int ipt_blk_init(ipt_blk_decoder *decoder, const ipt_config *config,
                         const ipt_trace *trace, ipt_cache *cache)
{
    if (!decoder)
        return IPT_ERR_ARG;
    IPT_MEMSET(decoder, 0, sizeof(*decoder));
    return ipti_made(
        &decoder->magic_, sizeof(*decoder),
        ipti_walk_init(&decoder->walk_, &decoder->at, config, trace, cache));
}

IPT_API int ipt_blk_sync_forward(ipt_blk_decoder *decoder)
{
    return IPTI_VIEW(decoder, ipti_walk_sync(&decoder->walk_, &decoder->at,
                                             IPTI_SYNC_FORWARD, 0));
}

IPT_API int ipt_blk_sync_backward(ipt_blk_decoder *decoder)
{
    return IPTI_VIEW(decoder, ipti_walk_sync(&decoder->walk_, &decoder->at,
                                             IPTI_SYNC_BACKWARD, 0));
}

IPT_API int ipt_blk_sync_set(ipt_blk_decoder *decoder, uint64_t offset)
{
    return IPTI_VIEW(decoder, ipti_walk_sync(&decoder->walk_, &decoder->at,
                                             IPTI_SYNC_SET, offset));
}

IPT_API int ipt_blk_start(ipt_blk_decoder *decoder, const ipt_start *start)
{
    return IPTI_VIEW(decoder, ipti_walk_start(&decoder->walk_, &decoder->at,
                                              start));
}

IPT_API int ipt_blk_set_asid(ipt_blk_decoder *decoder, const ipt_asid *asid)
{
    if (IPTI_BAD_CALL(decoder, asid))
        return IPTI_CALL_ERROR(decoder);
    return ipti_walk_asid(&decoder->walk_, &decoder->at, asid);
}

IPT_API int ipt_blk_resync(ipt_blk_decoder *decoder)
{
    return IPTI_VIEW(decoder,
                     ipti_walk_resync(&decoder->walk_, &decoder->at));
}

/* A block of one span. */
static IPTI_HOT int ipti_blk_make(ipt_block *block, const ipti_span *span)
{
    block->offset = span->offset;
    block->ip = span->ip;
    block->end_ip = span->end_ip;
    block->count = span->count;
    block->flags = span->flags;
    block->kind = span->kind;
    block->last_size = span->size;
    block->mode = span->mode;
    return IPT_OK;
}

/* Add a span to the block in progress. */
static void ipti_blk_join(ipt_block *block, const ipti_span *span)
{
    if (span->count && !block->count) {
        block->ip = span->ip;
        block->flags = 0;
        block->mode = span->mode;
    }
    if (span->count) {
        block->offset = span->offset;
        block->end_ip = span->end_ip;
        block->count = (uint16_t) (block->count + span->count);
        block->kind = span->kind;
        block->last_size = span->size;
    }
    block->flags |= span->flags;
}

/* The way for blocks where something may happen before, in or after them. */
static IPTI_APART int ipti_blk_slow(ipt_blk_decoder *decoder, ipt_block *block)
{
    ipti_span span;
    int status;

    do {
        status = ipti_walk_span(&decoder->walk_, &decoder->at,
                                UINT16_MAX - (unsigned) decoder->block_.count,
                                &span);
        ipti_blk_join(&decoder->block_, &span);
    } while (status >= 0 && !span.ends);
    if (status >= 0) {
        IPTI_COPY(block, &decoder->block_);
        decoder->block_.count = 0;
    }
    return status;
}

/* The way for blocks of whole runs, where flow just goes on. run: what follows,
 * or NULL if that has to be looked for. */
static IPTI_APART int ipti_blk_run(ipt_blk_decoder *decoder, ipt_block *block,
                                   const ipt_cache_line *run)
{
    ipti_span span;

    if (IPTI_LIKELY(ipti_walk_leaps(&decoder->walk_, &decoder->at, run, &span)))
        return ipti_blk_make(block, &span);
    if (span.count)
        (void) ipti_blk_make(&decoder->block_, &span);
    return ipti_blk_slow(decoder, block);
}

IPT_API int ipt_blk_next(ipt_blk_decoder *decoder, ipt_block *block)
{
    ipti_span span;
    int passed;

    if (IPTI_BAD_CALL(decoder, block))
        return IPTI_CALL_ERROR(decoder);
    passed = ipti_walk_short(&decoder->walk_, &decoder->at, &span);
    if (IPTI_LIKELY(passed > 0))
        return ipti_blk_make(block, &span);
    return passed == 0 ? ipti_blk_run(decoder, block, span.run)
                       : ipti_blk_slow(decoder, block);
}

IPT_API int ipt_blk_event(ipt_blk_decoder *decoder, ipt_event *event)
{
    if (IPTI_BAD_CALL(decoder, event))
        return IPTI_CALL_ERROR(decoder);
    return ipti_walk_pull(&decoder->walk_, &decoder->at, event);
}

/* ==========================================================================
 * [insn]  instructions in execution order, a view of the walk
 * Uses: [base], [walk].  State: ipt_insn_decoder.
 * ========================================================================== */

IPT_API int ipt_insn_init(ipt_insn_decoder *decoder, const ipt_config *config,
                          const ipt_trace *trace, ipt_cache *cache)
{
    if (!decoder)
        return IPT_ERR_ARG;
    IPT_MEMSET(decoder, 0, sizeof(*decoder));
    return ipti_made(
        &decoder->magic_, sizeof(*decoder),
        ipti_walk_init(&decoder->walk_, &decoder->at, config, trace, cache));
}

IPT_API int ipt_insn_sync_forward(ipt_insn_decoder *decoder)
{
    return IPTI_VIEW(decoder, ipti_walk_sync(&decoder->walk_, &decoder->at,
                                             IPTI_SYNC_FORWARD, 0));
}

IPT_API int ipt_insn_sync_backward(ipt_insn_decoder *decoder)
{
    return IPTI_VIEW(decoder, ipti_walk_sync(&decoder->walk_, &decoder->at,
                                             IPTI_SYNC_BACKWARD, 0));
}

IPT_API int ipt_insn_sync_set(ipt_insn_decoder *decoder, uint64_t offset)
{
    return IPTI_VIEW(decoder, ipti_walk_sync(&decoder->walk_, &decoder->at,
                                             IPTI_SYNC_SET, offset));
}

IPT_API int ipt_insn_start(ipt_insn_decoder *decoder, const ipt_start *start)
{
    return IPTI_VIEW(decoder, ipti_walk_start(&decoder->walk_, &decoder->at,
                                              start));
}

IPT_API int ipt_insn_set_asid(ipt_insn_decoder *decoder, const ipt_asid *asid)
{
    if (IPTI_BAD_CALL(decoder, asid))
        return IPTI_CALL_ERROR(decoder);
    return ipti_walk_asid(&decoder->walk_, &decoder->at, asid);
}

IPT_API int ipt_insn_resync(ipt_insn_decoder *decoder)
{
    return IPTI_VIEW(decoder,
                     ipti_walk_resync(&decoder->walk_, &decoder->at));
}

/* An instruction of a span of one, or more flags of it: see ipti_walk_span. */
static IPTI_HOT void ipti_insn_take(ipt_insn *insn, const ipti_span *span)
{
    if (span->count) {
        insn->offset = span->offset;
        insn->ip = span->ip;
        insn->flags = 0;
        insn->size = span->size;
        insn->kind = span->kind;
        insn->mode = span->mode;
    }
    insn->flags |= span->flags;
}

/* An instruction that differs from insn_ only in these. */
static IPTI_HOT void ipti_insn_copy(const ipt_insn_decoder *decoder,
                                    ipt_insn *insn, const ipti_span *span)
{
    IPTI_COPY(insn, &decoder->insn_);
    insn->ip = span->ip;
    insn->size = span->size;
    insn->kind = span->kind;
}

/* The way for instructions where something may happen before or after them. The
 * last one stays in decoder->insn_, because the short way makes the next one
 * from it. */
static IPTI_APART int ipti_insn_slow(ipt_insn_decoder *decoder, ipt_insn *insn)
{
    ipt_walk_ *w = &decoder->walk_;
    ipti_span span;
    const int status = ipti_walk_span(w, &decoder->at, 0, &span);

    ipti_insn_take(&decoder->insn_, &span);
    if (status >= 0) {
        IPTI_COPY(insn, &decoder->insn_);
        decoder->insn_.kind = IPT_INSN_OTHER;
        decoder->insn_.flags &= IPT_FLOW_SPECULATIVE;
    }
    return status;
}

/* Hand out the last instruction of a run, whatever it is. */
static IPTI_APART int ipti_insn_turn(ipt_insn_decoder *decoder, ipt_insn *insn)
{
    ipt_walk_ *w = &decoder->walk_;
    ipti_span span;

    if (!ipti_walk_turn(w, &decoder->at, &span)) {
        ipti_insn_take(&decoder->insn_, &span);
        return ipti_insn_slow(decoder, insn);
    }
    ipti_insn_copy(decoder, insn, &span);
    return ipti_walk_load(w, &decoder->at, &decoder->insn_.offset);
}

/* ... a conditional branch, most likely. */
static IPTI_APART int ipti_insn_last(ipt_insn_decoder *decoder, ipt_insn *insn)
{
    ipti_span span;

    if (!ipti_walk_branch(&decoder->walk_, &span))
        return ipti_insn_turn(decoder, insn);
    ipti_insn_copy(decoder, insn, &span);
    return ipti_walk_on(&decoder->walk_, &decoder->at, &decoder->insn_.offset);
}

/* While flow steps through a run, each instruction is a copy of insn_ at
 * another address. */
IPT_API int ipt_insn_next(ipt_insn_decoder *decoder, ipt_insn *insn)
{
    uint64_t ip = 0;
    unsigned size = 0;

    if (IPTI_BAD_CALL(decoder, insn))
        return IPTI_CALL_ERROR(decoder);
    if (IPTI_UNLIKELY(!ipti_walk_step(&decoder->walk_, &ip, &size)))
        return ipti_insn_last(decoder, insn);
    IPTI_COPY(insn, &decoder->insn_);
    insn->ip = ip;
    insn->size = (uint8_t) size;
    decoder->at.ip = ip + size;
    return IPT_OK;
}

IPT_API int ipt_insn_event(ipt_insn_decoder *decoder, ipt_event *event)
{
    if (IPTI_BAD_CALL(decoder, event))
        return IPTI_CALL_ERROR(decoder);
    return ipti_walk_pull(&decoder->walk_, &decoder->at, event);
}

/* ==========================================================================
 * [cov]  trace straight to coverage
 * Uses: [base], [pkt], [sync], [evt], [classify], [cache], [bind], [walk].
 * State: ipt_cov_decoder.
 *
 * What flow does from an address on, given the next branches, is always the
 * same as long as the code is. So it is walked once, learned, and from then on
 * looked up:
 *
 *   trace   | TNT | TNT | PAD | TNT | TIP | TNT | MTC | TNT | TIP.PGD | ...
 *           |------------ leg ------------|---------- leg ------------|
 *
 *   leg     bits 1 0 1 1 0 1 0 0 1 1 0 1, then a TIP to X
 *           ip = A    |           |
 *           |- line --|-- line ---|- line --------------|
 *           A         B           C                     X
 *
 * A leg is TNT bits and what stands after them: a TIP, a TIP.PGD, or a PSB+
 * that says what is known already. It also ends, with nothing after it, where
 * it holds 57 bits or more, and before a TNT-64 that does not fit. MTC, TSC,
 * CYC and PAD inside it are passed. TMA and CBR are not: outside of a PSB+
 * they are for the walk. While tracing is disabled there are no lines: a
 * TIP.PGE, a PSB+ and packets that name a state or an address space are each a
 * leg that is just passed.
 *
 * A line of the memo says what flow does with a leg from `ip` on, or with the
 * first bits of one: which edges it passes and how often (slots of the bitmap),
 * which frames it leaves on the stack of calls, how many bits it takes, whether
 * it takes what is after them (DONE), and where flow is then. One line does for
 * most legs. Where it does not, as its items are used up or it popped a frame
 * that it did not push, another goes on from its end.
 *
 * The key of a line is all that this depends on: space and mode, ip, the bits
 * under a stop bit, and the kind of what is after them. Of its IP only those of
 * a TIP.PGD and a PSB+ count; at a TIP flow just is there. The rest is the
 * memo's formula: filters, flags, errata, the size of the bitmap, and whether
 * there are a table of blocks and a config.section.
 *
 * What no line is for, and all else that a trace may hold, goes to the walk, at
 * the packet with the next bit (ipti_cov_back); the walk gives flow back when
 * only bits are fetched (ipti_cov_plain). Whoever takes fewer bits than
 * there are leaves the rest under the stop bit.
 *
 * A leg that the memo does not know is taken in pieces of up to 8 bits. A piece
 * that is not known is walked, and a line is learned for it. A line for the
 * whole leg is made only when all of its pieces were known: the second time.
 *
 * While the memo is full of lines that are not found again (noise), no line is
 * made for a whole leg: lines of 8 bits are met again sooner. Nor is one made
 * for legs of 57 bits or more while those are nearly always new. One leg in 64
 * is tried as a whole even then.
 * ========================================================================== */

#define IPTI_COV_PRIME 0x9e3779b97f4a7c15u

/* ---- outputs ---- */

static inline uint64_t ipti_cov_mix(uint64_t v)
{
    return (v ^ v >> 31) * 0x7fb5d329728ea185u;
}

/* What stands for an edge in bitmap and hash. */
static inline uint64_t ipti_cov_name(uint64_t from, uint64_t to)
{
    return ipti_cov_mix(to) ^ ipti_cov_mix(from) >> 1;
}

/* Does the branch that flow passed last count, by the filter? */
static IPTI_HOT int ipti_cov_counts(const ipt_cov_decoder *decoder)
{
    const ipt_cov_config *cov = decoder->cov_;
    const ipt_prev_ *prev = &decoder->walk_.prev;

    if (prev->kind != IPT_INSN_JCC && !(cov->flags & IPT_COV_INDIRECT))
        return 0;
    return !cov->filter || ipti_filter_traced(cov->filter, prev->ip);
}

static inline void ipti_cov_count(const ipt_cov_config *cov, uint32_t slot,
                                  uint32_t count)
{
    const uint32_t sum = cov->bitmap[slot] + count;

    cov->bitmap[slot] = (uint8_t) (cov->flags & IPT_COV_SATURATE && sum > 255
                                       ? 255 : sum);
}

/* The branch that flow passed last counts. */
static void ipti_cov_edge(ipt_cov_decoder *decoder)
{
    const ipt_cov_config *cov = decoder->cov_;
    const ipt_prev_ *prev = &decoder->walk_.prev;
    const uint64_t to = decoder->walk_.flow.ip;
    const uint64_t name = ipti_cov_name(prev->ip, to);

    if (cov->bitmap)
        ipti_cov_count(cov, (uint32_t) name % cov->bitmap_size, 1);
    if (cov->flags & IPT_COV_HASH)
        decoder->hash = decoder->hash * IPTI_COV_PRIME + name;
    if (cov->edge)
        cov->edge(prev->ip, to, prev->kind, cov->context);
}

#define IPTI_SEEN_WAYS 32 /* marks from its own on where a block may be */

/* Is the block new to the table? If there is no room for it, it counts as
 * new. */
static int ipti_seen_new(ipt_cov_seen *seen, uint64_t ip, uint32_t size,
                         uint8_t mode)
{
    const uint64_t at = ipti_cov_mix(ip + (uint64_t) size * mode) >> 32;
    ipt_cov_mark *mark;
    unsigned i;

    for (i = 0; i < IPTI_SEEN_WAYS; i++) {
        mark = &seen->marks_[(at + i) & seen->mask_];
        if (mark->mode_ == IPT_MODE_UNKNOWN) {
            mark->ip_ = ip;
            mark->size_ = size;
            mark->mode_ = mode;
            seen->count++;
            return 1;
        }
        if (mark->ip_ == ip && mark->size_ == size && mark->mode_ == mode)
            return 0;
    }
    seen->lost++;
    return 1;
}

IPT_API int ipt_cov_seen_init(ipt_cov_seen *seen, ipt_cov_mark *marks,
                              size_t count)
{
    const uint32_t used = ipti_power(count, (uint32_t) 1 << 31);

    if (!seen || !marks || count < 64)
        return IPT_ERR_ARG;
    IPT_MEMSET(seen, 0, sizeof(*seen));
    seen->marks_ = marks;
    seen->mask_ = used - 1;
    seen->magic_ = ipti_magic(sizeof(*seen));
    IPT_MEMSET(marks, 0, used * sizeof(marks[0]));
    return IPT_OK;
}

/* The block in progress has ended. */
static void ipti_cov_block_end(ipt_cov_decoder *decoder)
{
    const ipt_cov_config *cov = decoder->cov_;
    const uint64_t ip = decoder->block_.ip;
    const uint32_t size = (uint32_t) (decoder->block_.end - ip);
    const uint8_t mode = decoder->block_.mode;

    decoder->block_.mode = IPT_MODE_UNKNOWN;
    if (mode != IPT_MODE_UNKNOWN
        && (!cov->seen || ipti_seen_new(cov->seen, ip, size, mode))
        && cov->block)
        cov->block(ip, size, mode, cov->context);
}

/* Flow passes code of that mode from `ip` up to `end`, that of the run; NULL:
 * not up to there. */
static IPTI_APART void ipti_cov_block(ipt_cov_decoder *decoder, uint64_t ip,
                                      uint64_t end, const ipt_cache_line *run,
                                      uint8_t mode)
{
    const uint8_t kind = run ? run->kind_ : (uint8_t) IPT_INSN_OTHER;

    if (decoder->block_.mode != mode
        || ipti_wrap(mode, decoder->block_.end - ip) != 0) {
        ipti_cov_block_end(decoder);
        decoder->block_.ip = decoder->block_.end = ip;
        decoder->block_.mode = mode;
    }
    end = decoder->block_.end += end - ip;
    if (kind == IPT_INSN_JMP || kind == IPT_INSN_CALL || ipti_kind_leaves(kind)
        || (run && run->leaves_) || end - decoder->block_.ip > UINT32_MAX / 2)
        ipti_cov_block_end(decoder);
}

/* ---- the memo ----
 *
 * A line says what flow does from `ip` on, given the TNT bits that come next
 * and, when they are used up, what comes after them. It takes `used` of the
 * bits and, if DONE, what comes after them; flow is then at `next`. On the way
 * it passes edges and leaves frames on the stack of calls. Popping a frame that
 * it did not push itself (POP) is the last thing it does. All of that follows
 * from the key and the code, so what a line says need not be walked again. */

#define IPTI_WAYS 4 /* lines of a memo that may hold the same */

/* ipt_cov_line.key_ */
#define IPTI_COV_USED 0x3fu /* TNT bits that are taken */
#define IPTI_COV_DONE 0x40u
#define IPTI_COV_SOME 0x7fu /* these: 0 if a line takes nothing */
#define IPTI_COV_STACK 0x80u /* frames or a pop */
#define IPTI_COV_POP 0x8000u /* the last branch pops a frame from before */
#define IPTI_COV_RESULT 0x80ffu /* all of these; the rest is the key: */
#define IPTI_COV_MODE 8
#define IPTI_COV_AFTER 0x1c00u /* what comes after the bits: */
#define IPTI_COV_NONE 0u /* nothing, so far */
#define IPTI_COV_TIP 0x0400u
#define IPTI_COV_PGD 0x0800u /* its IP, like those below, is part of the key */
#define IPTI_COV_PGD_NO_IP 0x0c00u
#define IPTI_COV_PSB 0x1000u /* a PSB+ that says what is known, and an IP */
#define IPTI_COV_TO 0x1800u /* a bit of those with an IP in the key */
#define IPTI_COV_REST 0xfcffu /* what is not space or mode */
#define IPTI_COV_SPACE 16
#define IPTI_COV_SPACES UINT16_MAX

#define IPTI_COV_TIMES 0x3fu             /* items_: of an edge; slot above it */
#define IPTI_COV_SLOTS ((uint32_t) 1 << 26)
#define IPTI_COV_FULL ((uint64_t) 1 << 57) /* more bits than a line needs */
#define IPTI_COV_PIECE 8                 /* bits of a short line */

/* Key of a line that names an address space. Its mode says what gave the name,
 * its IP is the memo's epoch. */
#define IPTI_COV_NAME (IPTI_COV_DONE | IPTI_COV_PGD)
#define IPTI_COV_NAMES 2u /* in the place of a space: spreads names */

IPTI_STATIC_ASSERT(cov_line, sizeof(ipt_cov_line) == 64);
/* The walk holds at most 47 bits, and a TNT-8 adds 6 to what is not full. */
IPTI_STATIC_ASSERT(cov_held, IPTI_COV_FULL >> 48);
IPTI_STATIC_ASSERT(cov_full, IPTI_COV_FULL <= (uint64_t) 1 << 57);

/* All numbers of spaces were used: empty the lines, a part of them in each
 * call, as far as there is fuel. Returns 0 while there are more. */
static int ipti_memo_renew(ipt_cov_memo *memo, const ipt_config *config)
{
    const uint32_t most = ipti_fuel_empty(config) ? 0 : IPTI_CLEAR;
    const uint32_t n = memo->renew_ < most ? memo->renew_ : most;

    memo->renew_ -= n;
    IPT_MEMSET(&memo->lines_[memo->renew_], 0, n * sizeof(memo->lines_[0]));
    ipti_fuel_burn(config, n / IPTI_SWEEP);
    if (memo->renew_ == 0)
        memo->next_id_ = 0;
    return memo->renew_ == 0;
}

/* The name of a cache or a table, for memos; it gets one if it has none. One
 * that is initialised again gets another. */
static IPTI_APART uint64_t ipti_memo_call(ipt_cov_memo *memo, uint64_t *name)
{
    if (!*name)
        *name = ipti_cov_mix((uint64_t) (uintptr_t) memo
                             + ++memo->named_ * IPTI_COV_PRIME) | 1;
    return *name;
}

/* Does a line name an address space? Only the first two of a set can, and
 * others never take their place. */
static int ipti_memo_names(const ipt_cov_memo *memo, const ipt_cov_line *line)
{
    return line->key_ && line->key_ >> IPTI_COV_SPACE == 0
           && line->next_ == memo->epoch_;
}

/* The number of the line that a key belongs to; those of its set differ in the
 * low bits. `own`: the part of the key that spreads lines. */
static inline uint64_t ipti_memo_at(uint64_t mask, uint32_t own, uint64_t ip,
                                    uint64_t tnt)
{
    const uint64_t hash = (ip ^ (uint64_t) own << 32) * IPTI_COV_PRIME
                          + (tnt * IPTI_COV_PRIME >> 8);

    return hash >> 40 & mask;
}

/* What a line takes of what comes after the bits. From IPTI_COV_PGD on, its IP
 * is part of the key. */
static inline uint32_t ipti_line_after(const ipt_cov_line *line)
{
    return line->key_ & IPTI_COV_DONE ? line->key_ & IPTI_COV_AFTER
                                      : IPTI_COV_NONE;
}

/* Look for the line with this key. IPTI_COV_RESULT is what the line found, by
 * which it is not looked up. */
static IPTI_HOT const ipt_cov_line *
ipti_memo_find(const ipt_cov_memo *memo, uint32_t own, uint32_t key,
               uint64_t ip, uint64_t tnt, uint64_t to)
{
    const uint64_t at = ipti_memo_at(memo->mask_, own, ip, tnt);
    const ipt_cov_line *line = &memo->lines_[at & ~(IPTI_WAYS - (uint64_t) 1)];
    const ipt_cov_line *const end = line + IPTI_WAYS;

    key |= own;
    for (; line < end; line++)
        if (line->ip_ == ip && line->tnt_ == tnt
            && ((line->key_ ^ key) & ~IPTI_COV_RESULT) == 0
            && (!(key & IPTI_COV_TO) || !(line->key_ & IPTI_COV_DONE)
                || line->next_ == to))
            return line;
    return NULL;
}

/* Give an address space a number; 0: there are no more. */
static uint32_t ipti_memo_name(ipt_cov_memo *memo, uint32_t key,
                               const ipt_asid *name)
{
    ipt_cov_line *line
        = &memo->lines_[ipti_memo_at(memo->mask_, IPTI_COV_NAMES, name->cr3,
                                     name->vmcs)
                        & ~(IPTI_WAYS - (uint64_t) 1)];

    if (memo->next_id_ == IPTI_COV_SPACES)
        return 0;
    if (ipti_memo_names(memo, line)
        && (!ipti_memo_names(memo, line + 1) || memo->clock_++ % 2))
        line++;
    IPT_MEMSET(line, 0, sizeof(*line));
    line->ip_ = name->cr3;
    line->tnt_ = name->vmcs;
    line->next_ = memo->epoch_;
    line->from_ = ++memo->next_id_;
    line->key_ = key;
    return line->from_;
}

#define IPTI_NOISY 64 /* noise_, novel_: most long lines will be of no use */

/* Would a line for a whole leg with these bits not be found again, most of the
 * time: as the memo is too full, or as all full legs are new? */
static inline uint8_t ipti_memo_noisy(ipt_cov_memo *memo, uint64_t tnt)
{
    return (memo->noise_ == IPTI_NOISY
            || (memo->novel_ == IPTI_NOISY && tnt >= IPTI_COV_FULL))
           && memo->clock_++ % IPTI_NOISY;
}

/* Legs of n bytes were known as a whole. A byte has six TNT bits at most: in
 * fewer bytes than these none was a full one. */
static inline void ipti_memo_known(ipt_cov_memo *memo, size_t n)
{
    if (n >= (ipti_top(IPTI_COV_FULL) + 5) / 6)
        memo->novel_ = (uint8_t) (memo->novel_ - memo->novel_ / 8);
}

/* Put a line into its group: into an empty place, or else it evicts a line that
 * is not the name of a space. noise_ says how full the memo is:
 * it goes up with each line that is lost and down with each empty place. */
static void ipti_memo_insert(ipt_cov_memo *memo, const ipt_cov_line *line)
{
    const uint32_t best = (uint32_t) ipti_memo_at(
        memo->mask_, line->key_ & ~IPTI_COV_REST, line->ip_, line->tnt_);
    uint32_t to;
    uint32_t i;

    for (i = 0; i < IPTI_WAYS && memo->lines_[best ^ i].key_; i++)
        ;
    if (i < IPTI_WAYS) {
        to = best ^ i;
        memo->noise_ = (uint8_t) (memo->noise_ - (memo->noise_ > 0));
    } else { /* rather evict a long one: short ones make it up */
        to = best ^ (memo->clock_++ % IPTI_WAYS);
        for (i = 0; i < IPTI_WAYS; i++)
            if (memo->lines_[to ^ i].tnt_ >> IPTI_COV_PIECE > 1)
                break;
        to ^= i % IPTI_WAYS;
        if (ipti_memo_names(memo, &memo->lines_[to]))
            to ^= 2;
        memo->lost++;
        memo->noise_ = (uint8_t) (memo->noise_ + (memo->noise_ < IPTI_NOISY));
    }
    IPTI_COPY(&memo->lines_[to], line);
}

IPT_API int ipt_cov_memo_init(ipt_cov_memo *memo, ipt_cov_line *lines,
                              size_t count)
{
    const uint32_t used = ipti_power(count, (uint32_t) 1 << 24);

    if (!memo || !lines || count < IPTI_WAYS)
        return IPT_ERR_ARG;
    IPT_MEMSET(memo, 0, sizeof(*memo));
    memo->lines_ = lines;
    memo->mask_ = used - 1;
    memo->magic_ = ipti_magic(sizeof(*memo));
    IPT_MEMSET(lines, 0, used * sizeof(lines[0]));
    return IPT_OK;
}

/* ---- what a line does ---- */

/* The items that edges and frames have. */
static inline unsigned ipti_cov_items(const ipt_cov_config *cov)
{
    return cov->flags & IPT_COV_HASH ? IPT_COV_ITEMS_ - 2 : IPT_COV_ITEMS_;
}

static inline uint64_t ipti_sign32(uint32_t v)
{
    return ((uint64_t) v ^ 0x80000000u) - 0x80000000u;
}

/* Is v what ipti_sign32 makes of its lower 32 bits? */
static inline int ipti_fits32(uint64_t v)
{
    return (v + 0x80000000u) >> 32 == 0;
}

/* Push the frames that a line leaves, or pop the one it pops. Returns the line,
 * with the popped IP as next_; NULL: the stack is empty, and nothing else says
 * the IP. */
static IPTI_APART const ipt_cov_line *
ipti_cov_frames(ipt_cov_decoder *decoder, const ipt_cov_line *line)
{
    ipt_walk_ *w = &decoder->walk_;
    const unsigned last = ipti_cov_items(decoder->cov_) - 1;
    uint64_t ip;
    unsigned i;

    ipti_calls_keep(&w->calls, line->peak_);
    for (i = 0; i < line->frames_; i++)
        ipti_calls_push(&w->calls,
                        line->ip_ + ipti_sign32(line->items_[last - i]));
    if (!(line->key_ & IPTI_COV_POP))
        return line;
    if (!ipti_calls_pop(&w->calls, &ip))
        return ipti_line_after(line) == IPTI_COV_TIP ? line : NULL;
    IPTI_COPY(&decoder->learn_.line, line);
    decoder->learn_.line.next_ = ipti_wrap(w->mode.now, ip);
    return &decoder->learn_.line;
}

static inline uint64_t ipti_line_get_path(const ipt_cov_line *line)
{
    return line->items_[IPT_COV_ITEMS_ - 2]
           + ((uint64_t) line->items_[IPT_COV_ITEMS_ - 1] << 32);
}

/* The hash of a path that a line goes on with. */
static uint64_t ipti_line_path(const ipt_cov_line *line, uint64_t hash)
{
    unsigned i;
    unsigned k;

    for (i = 0; i < line->edges_; i++)
        for (k = line->items_[i] & IPTI_COV_TIMES; k > 0; k--)
            hash *= IPTI_COV_PRIME;
    return hash + ipti_line_get_path(line);
}

static inline void ipti_cov_item(uint8_t *bitmap, uint32_t item)
{
    bitmap[item >> 6] = (uint8_t) (bitmap[item >> 6] + (item & IPTI_COV_TIMES));
}

/* Count n edges. */
static IPTI_HOT void ipti_cov_add(uint8_t *bitmap, const uint32_t *item,
                                  unsigned n)
{
    switch (n & 7) { /* no compare for a larger n, as there is none */
    case 7: ipti_cov_item(bitmap, item[6]); IPTI_FALL_THROUGH
    case 6: ipti_cov_item(bitmap, item[5]); IPTI_FALL_THROUGH
    case 5: ipti_cov_item(bitmap, item[4]); IPTI_FALL_THROUGH
    case 4: ipti_cov_item(bitmap, item[3]); IPTI_FALL_THROUGH
    case 3: ipti_cov_item(bitmap, item[2]); IPTI_FALL_THROUGH
    case 2: ipti_cov_item(bitmap, item[1]); IPTI_FALL_THROUGH
    case 1: ipti_cov_item(bitmap, item[0]); break;
    default: break;
    }
}

/* ---- learning a line from the walk ---- */

/* Have a line count an edge so many times, within so many items. Returns 0 if
 * it has no room. */
static IPTI_HOT int ipti_line_add(ipt_cov_line *line, uint32_t slot,
                                  uint32_t times, unsigned items)
{
    const unsigned n = line->edges_;
    unsigned i;

    for (i = 0; i < n && line->items_[i] >> 6 != slot; i++)
        ;
    if (i == items)
        return 0;
    if (i == n) {
        line->items_[n] = slot << 6;
        line->edges_++;
    }
    line->items_[i] += times;
    return 1;
}

static void ipti_line_set_path(ipt_cov_line *line, uint64_t hash)
{
    line->items_[IPT_COV_ITEMS_ - 2] = (uint32_t) hash;
    line->items_[IPT_COV_ITEMS_ - 1] = (uint32_t) (hash >> 32);
}

/* What the branch that the walk passed, which had a stack of `top`, does to the
 * stack. Returns 0 if the line cannot do it: it has no room for a frame. */
static int ipti_cov_stack(ipt_cov_decoder *decoder, uint8_t top)
{
    const ipt_walk_ *w = &decoder->walk_;
    const unsigned items = ipti_cov_items(decoder->cov_);
    ipt_cov_learn_ *learn = &decoder->learn_;
    ipt_cov_line *line = &learn->line;
    const uint64_t delta = w->calls.ip[top] - line->ip_; /* if it is a call */

    if (w->cur.config->flags & IPT_CONFIG_NO_RETCOMP)
        return 1;
    if (w->prev.kind == IPT_INSN_RET) {
        if (learn->frames)
            learn->frames--;
        else
            line->key_ |= IPTI_COV_POP;
        return 1;
    }
    if (w->calls.at.top == top)
        return 1;
    if (++learn->frames > learn->peak)
        learn->peak = learn->frames;
    if (line->edges_ + learn->frames > items || !ipti_fits32(delta))
        return 0;
    line->items_[items - learn->frames] = (uint32_t) delta;
    return 1;
}

/* The walk passed a branch by n bits; the stack was `top` before. If the branch
 * leaves, the line goes up to there. Returns 0 if there is no room for that, or
 * for more. What the line cannot reach leaves all of it as it was. */
static IPTI_HOT int ipti_cov_learned(ipt_cov_decoder *decoder, unsigned n,
                                     uint8_t top)
{
    const ipt_walk_ *w = &decoder->walk_;
    const ipt_cov_config *cov = decoder->cov_;
    ipt_cov_line *line = &decoder->learn_.line;
    const uint64_t from = w->prev.ip - line->ip_;
    unsigned room;
    uint64_t name;

    if (ipti_walk_astray(w) || !ipti_fits32(from)
        || (w->prev.kind != IPT_INSN_JCC && !ipti_cov_stack(decoder, top)))
        return 0;
    if (!w->flow.enabled || !ipti_kind_leaves(w->prev.kind))
        return 1;
    room = ipti_cov_items(cov) - decoder->learn_.frames;
    if (n && !(line->key_ & IPTI_COV_POP) && ipti_cov_counts(decoder)) {
        name = ipti_cov_name(w->prev.ip, w->flow.ip);
        if (!ipti_line_add(line, cov->bitmap
                                     ? (uint32_t) name % cov->bitmap_size : 0,
                           1, room))
            return 0;
        if (cov->flags & IPT_COV_HASH)
            ipti_line_set_path(
                line, ipti_line_get_path(line) * IPTI_COV_PRIME + name);
    }
    line->kind_ = w->prev.kind;
    line->frames_ = decoder->learn_.frames;
    line->peak_ = decoder->learn_.peak;
    line->key_ += n;
    line->from_ = (uint32_t) from;
    line->next_ = w->flow.ip;
    return !(line->key_ & IPTI_COV_POP && n)
           && !(ipti_next_tnt(&w->next) && line->edges_ == room);
}

/* Add a piece to the line of the whole leg. Returns 0 if it does not fit. A
 * piece that pops a frame ends the line, because applying a line pushes all its
 * frames before it pops one. */
static IPTI_APART int ipti_cov_join(ipt_cov_decoder *decoder,
                                    const ipt_cov_line *piece)
{
    const ipt_cov_config *cov = decoder->cov_;
    const unsigned items = ipti_cov_items(cov);
    const unsigned more = piece->frames_;
    const uint64_t shift = piece->ip_ - decoder->learn_.whole.ip_;
    const uint64_t from = ipti_sign32(piece->from_) + shift;
    const unsigned frames = decoder->learn_.whole.frames_;
    const unsigned peak = frames + piece->peak_;
    ipt_cov_line whole;
    unsigned i;

    IPTI_COPY(&whole, &decoder->learn_.whole);
    if (!ipti_fits32(from))
        return 0;
    for (i = 0; i < piece->edges_; i++)
        if (!ipti_line_add(&whole, piece->items_[i] >> 6,
                           piece->items_[i] & IPTI_COV_TIMES, items - frames))
            return 0;
    if (whole.edges_ + frames + more > items)
        return 0;
    for (i = 1; i <= more; i++) {
        const uint64_t delta = ipti_sign32(piece->items_[items - i]) + shift;
        if (!ipti_fits32(delta))
            return 0;
        whole.items_[items - frames - i] = (uint32_t) delta;
    }
    if (cov->flags & IPT_COV_HASH)
        ipti_line_set_path(&whole,
                           ipti_line_path(piece, ipti_line_get_path(&whole)));
    if (peak > whole.peak_)
        whole.peak_ = (uint8_t) peak;
    whole.key_ |= piece->key_ & (IPTI_COV_STACK | IPTI_COV_POP);
    whole.key_ += piece->key_ & IPTI_COV_USED;
    if (((piece->key_ ^ whole.key_) & IPTI_COV_AFTER) == 0
        && (whole.key_ & IPTI_COV_USED) == ipti_top(whole.tnt_))
        whole.key_ |= piece->key_ & IPTI_COV_DONE;
    whole.kind_ = piece->kind_;
    whole.frames_ = (uint8_t) (frames + more);
    whole.from_ = (uint32_t) from;
    whole.next_ = piece->next_;
    IPTI_COPY(&decoder->learn_.whole, &whole);
    return 1;
}

/* ---- the walk ---- */

/* Pass the last instruction of the run. */
static int ipti_cov_last(ipt_cov_decoder *decoder)
{
    ipt_walk_ *w = &decoder->walk_;
    const uint64_t tnt = w->next.tnt;
    const uint8_t top = w->calls.at.top;
    int status;

    decoder->learn_.mode = w->mode.now; /* takes no stack */
    status = ipti_walk_last(w, &decoder->at);
    if (IPTI_UNLIKELY(status < 0))
        return status;
    if (IPTI_UNLIKELY(decoder->cov_->block || decoder->cov_->seen))
        ipti_cov_block(decoder, w->prev.ip,
                       w->prev.ip + (w->code.run.last_ & IPTI_INSN_MAX),
                       &w->code.run, decoder->learn_.mode);
    if (decoder->learn_.on)
        decoder->learn_.on
            = ipti_cov_learned(decoder, tnt != w->next.tnt, top) != 0;
    else if (w->flow.enabled && !ipti_walk_astray(w)
             && ipti_kind_leaves(w->prev.kind)
             && w->tally.icnt == 0 /* else an INTO or RSM that is no branch */
             && ipti_cov_counts(decoder))
        ipti_cov_edge(decoder);
    return IPT_OK;
}

/* Pass instructions up to the end of the run or to where an event cuts it. */
static int ipti_cov_pass(ipt_cov_decoder *decoder)
{
    ipt_walk_ *w = &decoder->walk_;
    const uint64_t ip = w->flow.ip;

    if (ipti_walk_pass(w, IPT_RUN_MAX_)
        && IPTI_UNLIKELY(decoder->cov_->block || decoder->cov_->seen))
        ipti_cov_block(decoder, ip, ip + ((w->flow.ip - ip) & w->place.mask),
                       NULL, w->mode.now);
    return ipti_walk_at_last(w) ? ipti_cov_last(decoder) : (int) IPT_OK;
}

/* Get to an instruction and look up its code. Returns 0 if events were taken
 * instead. */
static int ipti_cov_ready(ipt_cov_decoder *decoder)
{
    ipt_walk_ *w = &decoder->walk_;
    int status = IPT_OK;

    if (w->item.unsettled)
        status = ipti_walk_settle(w, &decoder->at);
    if (status >= 0 && !w->out.waiting)
        status = ipti_walk_ready(w, &decoder->at);
    if (IPTI_UNLIKELY(w->out.waiting)) {
        ipti_walk_miss(w, &decoder->at); /* flow follows them */
        return 0;
    }
    return status < 0 ? status : 1;
}

/* ---- the fast path ----
 *
 * Where only TNT bits, targets and the like decide where flow goes, they are
 * taken straight from the trace's bytes: as many bits as a line may use, and
 * what comes after them. What the memo does not know is walked and learned.
 * Anything else goes to the walk as if this had never been tried: from the same
 * place, with the same bits and packets to come. */

/* The bits of a run below bit n. */
static inline uint64_t ipti_cov_left(uint64_t tnt, unsigned n)
{
    const uint64_t stop = (uint64_t) 1 << n;

    return (tnt & (stop - 1)) | stop;
}

/* Put the walk where the fast path is. */
static void ipti_cov_stand(ipt_walk_ *w)
{
    uint8_t taken = w->prev.kind == IPT_INSN_OTHER ? IPTI_TAKEN_ALL : 0;

    if (ipti_kind_far(w->prev.kind))
        taken = IPTI_TAKEN_FAR;
    ipti_prev_takes(&w->prev, taken);
    ipti_next_drop(&w->next, IPTI_NEXT_ALL);
    ipti_code_none(&w->code);
    ipti_stamp_used(&w->stamp);
    ipti_tally_none(&w->tally);
    ipti_loop_end(&w->loop);
}

/* Flow is at ip. If leg_.line is not NULL, it led to there. */
static void ipti_cov_at(ipt_cov_decoder *decoder, uint64_t ip)
{
    ipt_walk_ *w = &decoder->walk_;
    const ipt_cov_line *line = decoder->leg_.line;

    ipti_flow_at(&w->flow, ip);
    if (line)
        ipti_prev_is(&w->prev, line->ip_ + ipti_sign32(line->from_),
                     line->kind_);
}

/* Do what the line says that was found for decoder->leg_ or its first bits.
 * Returns 1 if the leg is used up, 0 if a part of it is left, and < 0 if the
 * walk has to go on. */
static IPTI_APART int ipti_cov_take(ipt_cov_decoder *decoder,
                                    const ipt_cov_line *line)
{
    ipt_walk_ *w = &decoder->walk_;
    const ipt_cov_config *cov = decoder->cov_;
    ipt_cov_leg_ *leg = &decoder->leg_;
    const uint32_t key = line->key_;
    const unsigned left = ipti_top(leg->tnt) - (key & IPTI_COV_USED);
    const uint32_t after = ipti_line_after(line);
    unsigned i;

    if (key & IPTI_COV_STACK && !(line = ipti_cov_frames(decoder, line)))
        return IPT_ERR_RETURN;
    if (cov->bitmap && !cov->flags)
        ipti_cov_add(cov->bitmap, line->items_, line->edges_);
    for (i = 0; cov->bitmap && cov->flags && i < line->edges_; i++)
        ipti_cov_count(cov, line->items_[i] >> 6,
                       line->items_[i] & IPTI_COV_TIMES);
    if (cov->flags & IPT_COV_HASH)
        decoder->hash = ipti_line_path(line, decoder->hash);
    leg->tnt = ipti_cov_left(leg->tnt, left);
    leg->line = line;
    ipti_cov_at(decoder, after == IPTI_COV_NONE ? line->next_ : leg->to);
    if (after == IPTI_COV_PSB && cov->seen)
        ipti_flow_at(&w->flow, line->ip_ + ipti_sign32(line->items_[0]));
    if (after == IPTI_COV_PGD || after == IPTI_COV_PGD_NO_IP)
        ipti_flow_state(&w->flow, 0, 0);
    if (w->flow.enabled && (after == IPTI_COV_TIP || key & IPTI_COV_POP)
        && ipti_cov_counts(decoder))
        ipti_cov_edge(decoder);
    return after == leg->after && left == 0;
}

/* Give the walk the bits and events of a run, without their packets. */
static void ipti_cov_load(ipt_walk_ *w, const ipt_cov_leg_ *leg, uint64_t tnt,
                          uint32_t after)
{
    ipt_event *event = &w->next.event;

    ipti_cov_stand(w);
    ipti_next_bits(&w->next, w->next.tnt_offset,
                   ipti_tnt_hold(tnt, ipti_top(tnt)));
    if (after == IPTI_COV_TIP)
        ipti_next_target(&w->next, w->next.tip_offset, leg->to);
    if (after <= IPTI_COV_TIP)
        return;
    event->ip = event->u.branch.to = leg->to;
    if (after == IPTI_COV_PSB) {
        event->type = IPT_EVT_ENABLED;
        event->flags = IPT_EVENT_STATUS;
    } else {
        event->type = IPT_EVT_DISABLED;
        event->flags = IPT_EVENT_NO_IP;
        if (after == IPTI_COV_PGD_NO_IP)
            event->flags |= IPT_EVENT_NO_TO;
    }
    ipti_next_bind(&w->next);
}

/* The run that flow meets next, which is not the one it met last time. NULL: it
 * cannot be had from the cache. */
static IPTI_APART const ipt_cache_line *ipti_cov_seek(ipt_cov_decoder *decoder)
{
    ipt_walk_ *w = &decoder->walk_;
    ipt_cache *cache = w->cache;
    const ipt_cache_line *run = ipti_walk_seek(w);
    const uint64_t ip = w->flow.ip & w->place.mask;
    uint32_t number = UINT32_MAX;

    if (run || !ipti_place_holds(&w->place, ip))
        return run;
    (void) ipti_cache_read(cache, w->cur.config, &decoder->at, &w->place, ip,
                           &w->code.run, &number);
    if (number == UINT32_MAX)
        return NULL;
    cache->lines_[w->place.line & cache->last_].next_[w->place.way] = number;
    w->place.line = number;
    return &cache->lines_[number];
}

/* Pass runs that nothing can cut, as long as there are bits or a target. What
 * not_plain says is asked again: the events of legs disable tracing or repeat
 * its state, after which what is known of the place mostly holds. */
static IPTI_APART void ipti_cov_leap(ipt_cov_decoder *decoder)
{
    ipt_walk_ *w = &decoder->walk_;
    const ipt_config *config = w->cur.config;
    const ipt_cache_line *run;
    uint64_t tnt;
    uint8_t top;

    if (!ipti_place_known(&w->place, w->mode.now)
        || w->place.version != *w->valid || w->code.count
        || config->fuel || config->flags & IPT_CONFIG_TICKS)
        return;
    while (decoder->learn_.on
           && (ipti_next_tnt(&w->next) || w->next.has_tip)) {
        run = ipti_walk_likely(w);
        if (IPTI_UNLIKELY(!run))
            run = ipti_cov_seek(decoder);
        if (IPTI_LIKELY(ipti_walk_plain(w, run))) {
            ipti_walk_cond(w, run, w->place.mask);
            if (!ipti_cov_learned(decoder, 1, 0))
                decoder->learn_.on = 0;
        } else {
            tnt = w->next.tnt;
            top = w->calls.at.top;
            if (ipti_loop_stuck(&w->loop)
                || !ipti_walk_leap(w, &decoder->at, run))
                return;
            if (!ipti_cov_learned(decoder, tnt != w->next.tnt, top))
                decoder->learn_.on = 0;
        }
        if (decoder->cov_->seen)
            ipti_cov_block(decoder, run->ip_, run->ip_ + run->size_, run,
                           w->mode.now);
    }
}

/* Walk what the leg holds: the bits of the line that is learned and what comes
 * after them, by leaps and steps. Fails at a deferred TIP, too: the leg does
 * not keep the order of packets that matters there. */
static void ipti_cov_try(ipt_cov_decoder *decoder)
{
    ipt_walk_ *w = &decoder->walk_;
    ipt_cov_learn_ *learn = &decoder->learn_;
    ipt_cov_line *line = &learn->line;
    int status = IPT_OK;

    learn->frames = learn->peak = 0;
    learn->on = 1;
    while (status >= 0 && learn->on && ipti_next_any(&w->next)) {
        ipti_cov_leap(decoder);
        if (!learn->on || !ipti_next_any(&w->next))
            break;
        ipti_item_unsettled(&w->item, 0);
        status = ipti_cov_ready(decoder);
        if (status > 0 && w->code.count == w->code.run.count_
            && ipti_next_tnt(&w->next) && ipti_kind_leaves(w->code.run.kind_)
            && w->code.run.kind_ != IPT_INSN_JCC
            && (w->code.run.kind_ != IPT_INSN_RET
                || w->cur.config->flags & IPT_CONFIG_NO_RETCOMP))
            status = IPT_ERR_MISMATCH;
        if (status > 0)
            status = ipti_cov_pass(decoder);
    }
    if (status >= 0 && learn->on) {
        line->frames_ = learn->frames;
        line->peak_ = learn->peak;
        line->key_ |= IPTI_COV_DONE;
    }
    if (line->key_ & IPTI_COV_POP || line->peak_)
        line->key_ |= IPTI_COV_STACK;
    learn->on = 0;
}

/* Learn a line for `tnt`, which is all of the leg's bits with `after`, or the
 * first of them: as much of it as the walk follows and has room. Flow stays.
 * Returns NULL if that is nothing.
 *
 * With a table of blocks, a line that passes a PSB+ takes no bits and counts no
 * edge. It says where the block began, so that flow goes on there and the whole
 * block is passed at its branch. No line is made where that is too far away, or
 * where tracing was disabled in the middle of a block. */
static IPTI_APART const ipt_cov_line *ipti_cov_learn(ipt_cov_decoder *decoder,
                                                     uint64_t tnt,
                                                     uint32_t after)
{
    const ipt_cov_leg_ *leg = &decoder->leg_;
    ipt_walk_ *w = &decoder->walk_;
    ipt_cov_line *line = &decoder->learn_.line;
    const uint64_t prev_ip = w->prev.ip;
    const uint8_t prev_kind = w->prev.kind;
    const uint8_t unsettled = w->item.unsettled;
    const ipt_calls_at_ calls = w->calls.at;
    uint64_t back; /* to where the block began */

    IPT_MEMSET(line, 0, sizeof(*line));
    line->ip_ = w->flow.ip;
    line->tnt_ = tnt;
    line->key_ = decoder->keys_.own | after;
    ipti_cov_load(w, leg, tnt, after);
    ipti_cov_try(decoder);
    decoder->misses++;
    if (line->key_ & IPTI_COV_DONE && after > IPTI_COV_TIP) {
        back = (decoder->block_.mode ? decoder->block_.ip : leg->to)
               - line->ip_;
        line->next_ = leg->to;
        if (after == IPTI_COV_PSB) {
            line->kind_ = IPT_INSN_OTHER;
            if (decoder->cov_->seen)
                line->items_[0] = (uint32_t) back;
        }
        if (after == IPTI_COV_PSB ? decoder->cov_->seen && !ipti_fits32(back)
                                  : decoder->block_.mode != IPT_MODE_UNKNOWN)
            line->key_ &= ~IPTI_COV_SOME;
    }
    decoder->block_.mode = IPT_MODE_UNKNOWN; /* flow goes back to its start */
    if (line->key_ & IPTI_COV_SOME)
        ipti_memo_insert(decoder->cov_->memo, line);
    ipti_out_drop(&w->out, w->out.count);
    ipti_flow_at(&w->flow, line->ip_);
    ipti_flow_state(&w->flow, 1, 0);
    ipti_prev_is(&w->prev, prev_ip, prev_kind);
    ipti_item_unsettled(&w->item, unsettled);
    ipti_calls_back(&w->calls, calls);
    ipti_calls_keep(&w->calls, decoder->learn_.peak); /* the rest was lost */
    return line->key_ & IPTI_COV_SOME ? line : NULL;
}

/* The line for flow at ip, in one memo or the other. */
static IPTI_APART const ipt_cov_line *
ipti_cov_find(const ipt_cov_decoder *decoder, uint32_t after, uint64_t ip,
              uint64_t tnt, uint64_t to)
{
    const ipt_cov_line *line = NULL;

    if (decoder->keys_.shared)
        line = ipti_memo_find(decoder->cov_->shared, decoder->keys_.shared,
                              after, ip, tnt, to);
    return line ? line
                : ipti_memo_find(decoder->cov_->memo, decoder->keys_.own, after,
                                 ip, tnt, to);
}

/* The memo does not know the leg as a whole: make a line for it from pieces, as
 * far as they fit into one, and learn the pieces that are missing. Returns as
 * ipti_cov_take. */
static int ipti_cov_miss(ipt_cov_decoder *decoder)
{
    ipt_cov_leg_ *leg = &decoder->leg_;
    ipt_cov_memo *memo = decoder->cov_->memo;
    const int apart = leg->after == IPTI_COV_PSB && decoder->cov_->seen;
    ipt_cov_line *whole = &decoder->learn_.whole;
    const ipt_cov_line *line;
    int status = 0;

    if (leg->tnt >= IPTI_COV_FULL && memo->novel_ < IPTI_NOISY)
        memo->novel_++;
    IPT_MEMSET(whole, 0, sizeof(*whole));
    whole->ip_ = decoder->walk_.flow.ip;
    whole->tnt_ = leg->tnt;
    whole->key_ = decoder->keys_.own | leg->after;
    while (status == 0) {
        const unsigned n = ipti_top(leg->tnt);
        const int last = apart ? n == 0 : n <= IPTI_COV_PIECE;
        const uint64_t tnt = n <= IPTI_COV_PIECE
                                 ? leg->tnt : leg->tnt >> (n - IPTI_COV_PIECE);
        const uint32_t after = last ? leg->after : IPTI_COV_NONE;
        line = last && tnt == whole->tnt_ /* which is not known */
                   ? NULL
                   : ipti_cov_find(decoder, after, decoder->walk_.flow.ip, tnt,
                                   leg->to);
        decoder->hits += line != NULL;
        if (!line) {
            line = ipti_cov_learn(decoder, tnt, after);
            leg->noisy = 1; /* the next time it may be worth it */
        }
        if (!line)
            return IPT_ERR_MISMATCH; /* or another one: see the walk */
        if (whole->key_ & IPTI_COV_POP || (apart && last)
            || (!leg->noisy && !ipti_cov_join(decoder, line)))
            break;
        status = ipti_cov_take(decoder, line);
    }
    if (whole->key_ & IPTI_COV_SOME && !leg->noisy)
        ipti_memo_insert(memo, whole);
    return status;
}

/* ---- runs of packets ---- */

/* Collect TNT bits from p on until *tnt reaches `full`, past PAD. Returns where
 * they end. */
static IPTI_HOT const uint8_t *ipti_cov_scan(const uint8_t *p,
                                             const uint8_t *end, uint64_t full,
                                             uint64_t *tnt)
{
    uint64_t bits = *tnt;
    uint64_t few;

    while (p < end && !(*p & 1)) {
        if (*p > IPTI_EXT) {
            few = *p++ >> 1;
            bits = ((bits - 1) << ipti_top(few)) + few; /* its stop bit: 1 */
            if (bits >= full)
                break;
        } else if (*p == IPTI_PAD) {
            p += ipti_pads(p);
        } else {
            break;
        }
    }
    *tnt = bits;
    return p;
}

/* Pass a TNT-64 or a packet of timing at p, and add its bits. Returns where it
 * ends; p: it is neither, or for the walk, or its bits do not fit. */
static IPTI_APART const uint8_t *ipti_cov_other(const uint8_t *p, uint64_t *tnt)
{
    uint64_t more;
    unsigned n;
    int size;

    if (*p == IPTI_FIRST_MTC)
        return p + IPTI_SIZE_MTC;
    if (*p == IPTI_FIRST_TSC)
        return p + IPTI_SIZE_TSC;
    if ((*p & IPTI_CYC_MASK) == IPTI_CYC) {
        size = ipti_shape_cyc(p, IPTI_WINDOW);
        return size <= 0 || (size == 2 && p[1] == IPTI_FIRST_OVF /* SKD007 */
                             && p[2] == IPTI_SECOND_OVF)
                   ? p : p + size;
    }
    if (*p != IPTI_EXT || p[1] != IPTI_SECOND_TNT_64)
        return p;
    more = ipti_bits(p + 2, 0, 48);
    n = more ? ipti_top(more) : 0;
    if (n == 0 || ipti_top(*tnt) + n > IPTI_COV_USED - 1)
        return p;
    *tnt = *tnt << n | (more ^ (uint64_t) 1 << n);
    return p + IPTI_SIZE_TNT_64;
}

/* Collect bits from packets of both kinds, up to a full leg or to another
 * packet. */
static IPTI_APART const uint8_t *
ipti_cov_bits(const uint8_t *p, const uint8_t *end, uint64_t *tnt)
{
    const uint8_t *next = p;

    do {
        p = ipti_cov_scan(next, end, IPTI_COV_FULL, tnt);
        next = p;
        if (p < end && *tnt < IPTI_COV_FULL)
            next = ipti_cov_other(p, tnt);
    } while (next != p && *tnt < IPTI_COV_FULL);
    return next;
}

static inline unsigned ipti_cov_expand(uint64_t *last, const uint8_t *p,
                                       unsigned ipc)
{
    *last = ipti_ip_after(*last, ipc, ipti_le64(p + 1) & ipti_ip_mask[ipc]);
    return ipti_ips[ipc << 5 | IPTI_TIP];
}

/* Decompress the IP of the packet at p. Returns its size, 0: it has none. It
 * branches on the size, so that the processor goes on before a table would
 * answer. */
static IPTI_HOT unsigned ipti_cov_ip(uint64_t *last, const uint8_t *p)
{
    const unsigned ipc = p[0] >> 5;

    if (ipc == 1)
        return ipti_cov_expand(last, p, 1);
    if (ipc == 2)
        return ipti_cov_expand(last, p, 2);
    if (ipc == 3)
        return ipti_cov_expand(last, p, 3);
    if (ipc == 4)
        return ipti_cov_expand(last, p, 4);
    return ipc == 6 ? ipti_cov_expand(last, p, 6) : 0;
}

/* Find what stands for the address space in the memos. Returns 0: nothing. */
static int ipti_cov_keys(ipt_cov_decoder *decoder)
{
    const ipt_walk_ *w = &decoder->walk_;
    const ipt_config *config = w->cur.config;
    const ipt_cov_config *cov = decoder->cov_;
    const ipt_asid *asid = &decoder->at.asid;
    const uint32_t version = w->cache ? w->cache->version_ : 0;
    const uint32_t mode = (uint32_t) w->mode.now << IPTI_COV_MODE;
    ipt_cov_memo *memo = cov->memo;
    const uint64_t code
        = version + (w->cache ? ipti_memo_call(memo, &w->cache->name_) : 0);
    uint32_t own = decoder->keys_.own >> IPTI_COV_SPACE;
    uint32_t shared = decoder->keys_.shared >> IPTI_COV_SPACE;

    if (memo->renew_ && !ipti_memo_renew(memo, config))
        return 0;
    if (memo->code_ != code || memo->cache_ != w->cache) {
        memo->epoch_++; /* code was invalidated, or may have been */
        memo->code_ = code;
        memo->cache_ = w->cache;
    }
    if (decoder->keys_.epoch != memo->epoch_ /* which is not 0 */
        || !ipti_asid_same(asid, &decoder->keys_.asid)) {
        ipt_asid name;
        const uint32_t by_space = ipti_asid_name(&name, config, asid) ? 2 : 0;
        const uint32_t key
            = IPTI_COV_NAME | (by_space + name.nr) << IPTI_COV_MODE;
        const ipt_cov_line *known = ipti_memo_find(
            memo, IPTI_COV_NAMES, key, name.cr3, name.vmcs, memo->epoch_);
        own = known ? known->from_ : ipti_memo_name(memo, key, &name);
        if (own == 0) { /* no more numbers */
            memo->renew_ = memo->mask_ + 1;
            memo->epoch_++;
            return 0;
        }
        known = cov->shared ? ipti_memo_find(cov->shared, IPTI_COV_NAMES, key,
                                             name.cr3, name.vmcs,
                                             cov->shared->epoch_)
                            : NULL;
        shared = known ? known->from_ : 0;
        IPTI_COPY(&decoder->keys_.asid, asid);
        decoder->keys_.epoch = memo->epoch_;
    }
    if (decoder->keys_.version != version)
        shared = 0;
    decoder->keys_.own = own << IPTI_COV_SPACE | mode;
    decoder->keys_.shared = shared ? shared << IPTI_COV_SPACE | mode : 0;
    return 1;
}

/* The trace named the address space *asid. Returns 0 if that is for the walk:
 * it changes while tracing is enabled, or the like. */
static int ipti_cov_space(ipt_cov_decoder *decoder, const ipt_asid *asid)
{
    ipt_walk_ *w = &decoder->walk_;

    if (ipti_asid_same(asid, &decoder->at.asid))
        return 1;
    if (w->flow.enabled
        || w->cur.config->flags
               & (IPT_CONFIG_ROOT_ONLY | IPT_CONFIG_NON_ROOT_ONLY
                  | IPT_CONFIG_CR3_ONLY))
        return 0;
    if (asid->cr3 != decoder->at.asid.cr3 || asid->nr != decoder->at.asid.nr)
        w->evt.vmx = (uint8_t) (1 + asid->nr);
    IPTI_COPY(&decoder->at.asid, asid);
    ipti_place_none(&w->place);
    decoder->leg_.psb_size = 0;
    return ipti_cov_keys(decoder);
}

/* The packet at p names a state. Returns its size if that state is known
 * already, goes to *asid, or does not matter here; 0: it is for the walk. */
static unsigned ipti_cov_state(const ipt_walk_ *w, const uint8_t *p,
                               ipt_asid *asid)
{
    ipt_packet packet;

    if (*p == IPTI_FIRST_TSC)
        return IPTI_SIZE_TSC;
    if (*p == IPTI_FIRST_MTC)
        return IPTI_SIZE_MTC;
    if (*p == IPTI_MODE && p[1] >> 5 == 0) {
        ipti_load_exec(&packet, p);
        return w->evt.exec == ipti_evt_says(&packet) ? IPTI_SIZE_MODE_EXEC : 0;
    }
    if (*p == IPTI_MODE && (p[1] & 0xe0) == IPTI_SECOND_MODE_TSX)
        return IPTI_SIZE_MODE_TSX; /* edges and blocks do not show it */
    if (*p != IPTI_EXT)
        return 0;
    switch (p[1]) {
    case IPTI_SECOND_CBR:
        return IPTI_SIZE_CBR;
    case IPTI_SECOND_TMA:
        return ipti_load_tma(&packet, p) < 0 ? 0 : IPTI_SIZE_TMA;
    case IPTI_SECOND_PIP:
        ipti_load_pip(&packet, p);
        asid->cr3 = packet.u.pip.cr3;
        asid->nr = packet.u.pip.nr;
        return IPTI_SIZE_PIP;
    case IPTI_SECOND_VMCS:
        ipti_load_vmcs(&packet, p);
        asid->vmcs = packet.u.vmcs.base;
        return IPTI_SIZE_VMCS;
    default:
        return 0;
    }
}

static inline const uint8_t *ipti_cov_pads(const uint8_t *p, const uint8_t *end)
{
    while (p < end && *p == IPTI_PAD)
        p += ipti_pads(p);
    return p;
}

/* A PSB+ at p that says nothing new, except the IP while tracing is enabled, or
 * the address space while it is disabled. Returns its size; 0: it is another
 * one, or makes more records (its own and up to n) than [evt] has room for. TNT
 * bits or a target have to follow: then flow goes on from its IP, and nothing
 * counts instructions from there. */
static IPTI_APART size_t ipti_cov_psb(ipt_cov_decoder *decoder,
                                      const uint8_t *p, uint64_t *ip)
{
    const uint8_t *const begin = p;
    const uint8_t *const end = decoder->leg_.end;
    ipt_asid asid;
    unsigned has_ip = 0;
    unsigned size = IPTI_SIZE_PSB;
    unsigned n;

    IPTI_COPY(&asid, &decoder->at.asid);
    *ip = 0;
    if (!ipti_is_psb(p, IPTI_SIZE_PSB))
        return 0;
    for (n = 0; size && n < IPT_PENDING_MAX_; n += 1u + (*p == IPTI_MODE)) {
        p = ipti_cov_pads(p + size, end);
        if (p >= end || (*p == IPTI_EXT && p[1] == IPTI_SECOND_PSBEND))
            break;
        if ((*p & IPTI_IP_MASK) == IPTI_FUP)
            size = has_ip = *p > IPTI_FUP ? ipti_cov_expand(ip, p, *p >> 5) : 0;
        else
            size = ipti_cov_state(&decoder->walk_, p, &asid);
    }
    if (p >= end || *p != IPTI_EXT || p[1] != IPTI_SECOND_PSBEND
        || !has_ip != !decoder->walk_.flow.enabled)
        return 0;
    p = ipti_cov_pads(p + IPTI_SIZE_PSBEND, end);
    if (p >= end || (has_ip && (*p & 1 || *p == IPTI_EXT)
                     && (!ipti_ips[*p] || *p & 0x10 /* PGE, FUP */
                         || *p == IPTI_TIP)))
        return 0;
    return ipti_cov_space(decoder, &asid) ? (size_t) (p - begin) : 0;
}

/* The PSB+ at leg->psb was passed. */
static void ipti_cov_psb_passed(ipt_cov_decoder *decoder,
                                const ipt_cov_leg_ *leg)
{
    ipt_walk_ *w = &decoder->walk_;
    const uint64_t offset = leg->offset + (uint64_t) (leg->psb - leg->window);

    ipti_calls_clear(&w->calls, 0, 0);
    w->cur.limit = offset + IPTI_SIZE_PSB;
    decoder->at.sync = offset;
    decoder->at.valid |= IPT_AT_SYNC;
}

/* Tracing is disabled: pass the packet at p if it only says where flow will be,
 * or nothing new. Returns its size, 0: it says more. A MODE waits for its
 * TIP.PGE: whatever comes between the two is for the walk. Apart, as it takes
 * stack. */
static IPTI_APART unsigned ipti_cov_quiet(ipt_cov_decoder *decoder,
                                          const uint8_t *p)
{
    ipt_asid asid;
    unsigned size;

    IPTI_COPY(&asid, &decoder->at.asid);
    if (*p == IPTI_MODE
        && (p[IPTI_SIZE_MODE_EXEC] & IPTI_IP_MASK) != IPTI_TIP_PGE)
        return 0;
    size = ipti_cov_state(&decoder->walk_, p, &asid);
    return size && ipti_cov_space(decoder, &asid) ? size : 0;
}

/* Tracing is disabled: pass a packet or a PSB+. Returns 0 if what comes is for
 * the walk. */
static int ipti_cov_off(ipt_cov_decoder *decoder, ipt_cov_leg_ *leg)
{
    ipt_walk_ *w = &decoder->walk_;
    uint64_t tnt = leg->held;
    const uint8_t *p = ipti_cov_bits(leg->p, leg->end, &tnt);
    size_t size;
    uint64_t ip;

    if (tnt != 1 || p >= leg->end)
        return 0;
    if (IPTI_LIKELY((*p & IPTI_IP_MASK) == IPTI_TIP_PGE)) {
        size = ipti_cov_expand(&leg->last_ip, p, *p >> 5);
        if (size <= 1)
            return 0;
        ipti_flow_at(&w->flow, leg->last_ip);
        ipti_flow_state(&w->flow, 1, 0);
        ipti_prev_none(&w->prev);
    } else if (*p != IPTI_EXT || p[1] != IPTI_SECOND_PSB) {
        size = ipti_cov_quiet(decoder, p);
    } else {
        if (!leg->psb_size || (size_t) (leg->end - p) <= leg->psb_size
            || IPT_MEMCMP(p, leg->psb, leg->psb_size) != 0) /* the last again */
            leg->psb_size = ipti_cov_psb(decoder, p, &ip);
        size = leg->psb_size;
        leg->psb = p;
        if (size) {
            leg->last_ip = 0;
            ipti_cov_psb_passed(decoder, leg);
        }
    }
    if (!size)
        return 0;
    leg->p = p + size;
    leg->moved = 1;
    return 1;
}

/* Collect the leg from p on: its bits, its IP, and the key of what comes after
 * the bits, which is a TIP, a PGD, or more bits. Returns where the leg ends;
 * NULL: something else comes after the bits. */
static IPTI_HOT const uint8_t *
ipti_cov_reach(const uint8_t *p, const uint8_t *end, uint32_t own,
               uint64_t *tnt, uint32_t *key, uint64_t *to)
{
    const uint32_t tip = own | IPTI_COV_TIP;
    const uint8_t *next = ipti_cov_scan(p, end, IPTI_COV_FULL, tnt);
    uint64_t more;
    unsigned size;

    *key = tip;
    if (IPTI_UNLIKELY((*next & IPTI_IP_MASK) != IPTI_TIP
                      || *tnt >= IPTI_COV_FULL)) {
        if (*tnt < IPTI_COV_FULL && (*next & IPTI_IP_MASK) != IPTI_TIP_PGD) {
            more = *tnt;
            next = ipti_cov_bits(next, end, &more);
            *tnt = more;
        }
        if (*tnt >= IPTI_COV_FULL)
            *key = own;
        else if ((*next & IPTI_IP_MASK) == IPTI_TIP_PGD)
            *key = own | IPTI_COV_PGD;
        else if ((*next & IPTI_IP_MASK) != IPTI_TIP)
            return NULL;
    }
    if (IPTI_UNLIKELY(next >= end))
        return NULL;
    if (IPTI_UNLIKELY(*key < tip))
        return next;
    size = ipti_cov_ip(to, next);
    return size ? next + size : NULL;
}

/* A leg begins, which ends at `next`; after: what is after the bits, with
 * `to`. */
static void ipti_cov_ahead(ipt_cov_leg_ *leg, const uint8_t *next,
                           uint32_t after, uint64_t to)
{
    leg->ahead = 1;
    leg->next = next;
    leg->after = after;
    leg->to = to;
}

/* Collect the next leg. Returns 0 if there is no bit and nothing that can be
 * passed here. */
static int ipti_cov_collect(ipt_cov_decoder *decoder, ipt_cov_leg_ *leg)
{
    const uint8_t *p;
    uint64_t to = leg->last_ip;
    size_t psb_size;
    unsigned size = 0;

    leg->tnt = leg->held;
    p = ipti_cov_bits(leg->p, leg->end, &leg->tnt);
    ipti_cov_ahead(leg, p, IPTI_COV_NONE, to);
    if (p >= leg->end || leg->tnt >= IPTI_COV_FULL)
        return leg->tnt != 1;
    if (*p == IPTI_TIP_PGD) {
        ipti_cov_ahead(leg, p + 1, IPTI_COV_PGD_NO_IP, 0);
        return 1;
    }
    if ((*p & IPTI_IP_MASK) == IPTI_TIP || (*p & IPTI_IP_MASK) == IPTI_TIP_PGD)
        size = ipti_cov_ip(&to, p);
    if (size) {
        ipti_cov_ahead(leg, p + size, (*p & IPTI_IP_MASK) == IPTI_TIP
                                          ? IPTI_COV_TIP : IPTI_COV_PGD, to);
        return 1;
    }
    psb_size = ipti_cov_psb(decoder, p, &to);
    if (!psb_size)
        return leg->tnt != 1;
    ipti_cov_ahead(leg, p + psb_size, IPTI_COV_PSB, to);
    leg->psb = p;
    leg->psb_size = 0;
    return 1;
}

/* The leg was passed. */
static void ipti_cov_passed(ipt_cov_decoder *decoder, ipt_cov_leg_ *leg)
{
    leg->p = leg->next;
    leg->held = 1;
    leg->moved = 1;
    leg->ahead = 0;
    if (leg->after != IPTI_COV_PGD_NO_IP)
        leg->last_ip = leg->to;
    if (leg->after == IPTI_COV_PSB)
        ipti_cov_psb_passed(decoder, leg);
}

/* Copy where the fast path is to the rest of the decoder. */
static void ipti_cov_flush(ipt_cov_decoder *decoder)
{
    const ipt_cov_leg_ *leg = &decoder->leg_;
    ipt_walk_ *w = &decoder->walk_;
    const uint64_t offset = leg->offset + (uint64_t) (leg->p - leg->window);

    ipti_cur_pay(&w->cur, decoder->at.offset, offset);
    decoder->at.offset = offset;
    w->evt.enabled = w->flow.enabled;
    w->evt.last_ip = leg->last_ip;
}

/* The leg cannot be followed to its end: the walk goes on from where flow is,
 * at the packet that holds the next bit. */
static IPTI_APART void ipti_cov_back(ipt_cov_decoder *decoder)
{
    ipt_cov_leg_ *leg = &decoder->leg_;
    ipt_walk_ *w = &decoder->walk_;
    const uint8_t *p = leg->p;
    uint64_t offset = w->next.tnt_offset;
    uint64_t tnt = leg->held;
    uint64_t before;
    unsigned used;

    (void) ipti_cov_bits(p, leg->end, &tnt);
    used = ipti_top(tnt) - ipti_top(leg->tnt);
    tnt = leg->held;
    ipti_cov_stand(w);
    decoder->slow_ = leg->offset + (uint64_t) (leg->next - leg->window);
    if (leg->next == leg->p) /* all bits were held */
        decoder->slow_++;
    while (ipti_top(tnt) < used) {
        before = tnt;
        p = ipti_cov_scan(p, leg->end, tnt << 1, &tnt);
        offset = leg->offset + (uint64_t) (p - leg->window);
        if (tnt == before)
            p = ipti_cov_other(p, &tnt);
        else
            offset--; /* it has one byte */
    }
    ipti_next_bits(&w->next, offset,
                   ipti_tnt_hold(tnt, ipti_top(tnt) - used));
    decoder->at.offset = leg->offset + (uint64_t) (p - leg->window);
}

/* The line for flow at ip, mostly the first of its set. */
static IPTI_HOT const ipt_cov_line *
ipti_cov_look(const ipt_cov_decoder *decoder, const ipt_cov_line *lines,
              uint64_t mask, uint32_t own, uint32_t key, uint64_t ip,
              uint64_t tnt, uint64_t to)
{
    const ipt_cov_line *line = lines + ipti_memo_at(mask, own, ip, tnt);

    if (IPTI_LIKELY(line->ip_ == ip && line->tnt_ == tnt
                    && ((line->key_ ^ key) & ~IPTI_COV_RESULT) == 0
                    && (key <= (own | IPTI_COV_TIP)
                        || !(line->key_ & IPTI_COV_DONE)
                        || line->next_ == to)))
        return line;
    return ipti_cov_find(decoder, key & IPTI_COV_AFTER, ip, tnt, to);
}

/* Pass legs while the memo has lines for them, which is nearly always: those
 * that end at a TIP, at a PGD that a PGE follows, or because they are full.
 * Fewer bits than a full leg are kept, so each leg uses up trace. It may
 * end inside a leg, which is `ahead` then. */
static IPTI_APART void ipti_cov_dash(ipt_cov_decoder *decoder, uint8_t *bitmap)
{
    const ipt_cov_config *cov = decoder->cov_;
    const uint32_t shared = decoder->keys_.shared;
    const ipt_cov_memo *memo = shared ? cov->shared : cov->memo;
    const uint32_t own = shared ? shared : decoder->keys_.own;
    const uint32_t tip = own | IPTI_COV_TIP;
    const ipt_cov_line *const lines = memo->lines_;
    const uint64_t mask = memo->mask_;
    ipt_cov_leg_ *leg = &decoder->leg_;
    const uint8_t *const end = leg->end;
    const uint8_t *p = leg->p;
    const uint8_t *next;
    const uint8_t *after;
    const ipt_cov_line *line = NULL;
    uint64_t ip = decoder->walk_.flow.ip;
    uint64_t last_ip = leg->last_ip;
    uint64_t tnt = leg->held;
    uint64_t to;
    uint32_t key;

    leg->line = NULL;
    for (;;) {
        to = last_ip;
        next = ipti_cov_reach(p, end, own, &tnt, &key, &to);
        if (IPTI_UNLIKELY(!next))
            break;
        for (;;) {
            line = ipti_cov_look(decoder, lines, mask, own, key, ip, tnt, to);
            if (IPTI_UNLIKELY(!line))
                break;
            if (IPTI_UNLIKELY(line->key_ & IPTI_COV_STACK)
                && !(line = ipti_cov_frames(decoder, line)))
                break;
            ipti_cov_add(bitmap, line->items_, line->edges_);
            leg->line = line;
            decoder->hits++;
            if (IPTI_LIKELY(line->key_ & IPTI_COV_DONE))
                break;
            ip = line->next_;
            tnt = ipti_cov_left(tnt,
                                ipti_top(tnt) - (line->key_ & IPTI_COV_USED));
            if (tnt == 1 && key < tip)
                break;
        }
        if (IPTI_UNLIKELY(!line))
            break;
        p = next;
        last_ip = ip = to;
        tnt = 1;
        if (IPTI_LIKELY(key == tip))
            continue;
        if (key < tip) {
            ip = line->next_;
            continue;
        }
        next = ipti_cov_pads(p, end);
        after = next;
        if (IPTI_LIKELY(next < end && (*next & IPTI_IP_MASK) == IPTI_TIP_PGE))
            next += ipti_cov_ip(&last_ip, next);
        if (IPTI_UNLIKELY(next == after)) {
            ipti_flow_state(&decoder->walk_.flow, 0, 0);
            break;
        }
        leg->line = NULL;
        ip = last_ip;
        p = next;
    }
    if (p != leg->p) {
        ipti_memo_known(cov->memo, (size_t) (p - leg->p));
        if (!leg->line) /* a PGE was last */
            ipti_prev_none(&decoder->walk_.prev);
        leg->held = leg->moved = 1;
    }
    ipti_cov_at(decoder, ip);
    leg->p = p;
    leg->last_ip = last_ip;
    leg->tnt = tnt;
    if (!line && next)
        ipti_cov_ahead(leg, next, key & IPTI_COV_AFTER, to);
}

/* The memo is noisy and has no line for the leg: take short lines as long as
 * they only count edges and use all of their bits. What comes next then depends
 * on next_ alone, so that little has to wait for it. If only bits come after
 * these, those that are left begin the next leg. A full leg has seven pieces
 * and at least a bit, so they are of the last packet (see ipti_cov_back). */
static IPTI_APART void ipti_cov_noise(ipt_cov_decoder *decoder)
{
    const ipt_cov_config *cov = decoder->cov_;
    const uint32_t shared = decoder->keys_.shared;
    const ipt_cov_memo *memo = shared ? cov->shared : cov->memo;
    const uint32_t own = shared ? shared : decoder->keys_.own;
    ipt_cov_leg_ *leg = &decoder->leg_;
    const ipt_cov_line *line;
    uint64_t ip = decoder->walk_.flow.ip;
    uint64_t tnt = leg->tnt;
    unsigned n;

    do {
        for (n = ipti_top(tnt); n > IPTI_COV_PIECE; n -= IPTI_COV_PIECE) {
            line = ipti_cov_look(decoder, memo->lines_, memo->mask_, own, own,
                                 ip, ipti_cov_left(tnt >> (n - IPTI_COV_PIECE),
                                                   IPTI_COV_PIECE), 0);
            if (!line || (uint8_t) line->key_ /* a pop is STACK, too */
                             != (IPTI_COV_PIECE | IPTI_COV_DONE))
                break;
            /* All items: no branch to be guessed, and the rest count 0. */
            ipti_cov_add(cov->bitmap, line->items_, IPT_COV_ITEMS_);
            leg->line = line;
            decoder->hits++;
            ip = line->next_;
        }
        tnt = ipti_cov_left(tnt, n);
        if (leg->after != IPTI_COV_NONE || n > IPTI_COV_PIECE)
            break;
        leg->p = leg->next;
        leg->held = tnt;
        leg->moved = 1;
        leg->next = ipti_cov_scan(leg->p, leg->end, IPTI_COV_FULL, &tnt);
        leg->ahead = tnt >= IPTI_COV_FULL && ipti_memo_noisy(cov->memo, tnt);
    } while (leg->ahead);
    leg->tnt = tnt;
    ipti_cov_at(decoder, ip);
}

/* Go on as far as there are lines or lines can be learned. Returns < 0 if the
 * walk has to go on in the middle of a leg. */
static int ipti_cov_fast(ipt_cov_decoder *decoder)
{
    const ipt_cov_config *cov = decoder->cov_;
    ipt_cov_leg_ *leg = &decoder->leg_;
    const ipt_flow_ *flow = &decoder->walk_.flow;
    const ipt_cov_line *line;
    int status;

    for (;;) {
        if (flow->enabled && !leg->ahead && !cov->flags && cov->bitmap
            && leg->held < IPTI_COV_FULL) {
            ipti_cov_dash(decoder, cov->bitmap);
            leg->noisy = leg->ahead && ipti_memo_noisy(cov->memo, leg->tnt);
            if (leg->noisy)
                ipti_cov_noise(decoder);
        }
        if (!flow->enabled) {
            if (!ipti_cov_off(decoder, leg))
                return 0;
            continue;
        }
        if (!leg->ahead) {
            if (!ipti_cov_collect(decoder, leg))
                return 0;
            leg->noisy = ipti_memo_noisy(cov->memo, leg->tnt);
        }
        ipti_cov_flush(decoder);
        line = ipti_cov_find(decoder, leg->after, flow->ip, leg->tnt, leg->to);
        if (line) {
            decoder->hits++;
            if (!leg->noisy)
                ipti_memo_known(cov->memo, (size_t) (leg->next - leg->p));
            status = ipti_cov_take(decoder, line);
        } else
            status = ipti_cov_miss(decoder);
        if (status < 0)
            return status;
        if (status > 0)
            ipti_cov_passed(decoder, leg);
    }
}

/* Take the fast path from where the walk is, if there is trace, and a memo for
 * it; put the walk where it ended. */
static void ipti_cov_skip(ipt_cov_decoder *decoder)
{
    ipt_walk_ *w = &decoder->walk_;
    const uint64_t *fuel = w->cur.config->fuel;
    ipt_cov_leg_ *leg = &decoder->leg_;
    size_t n;

    leg->window = ipti_cur_here(&w->cur, decoder->at.offset, &n);
    if (!leg->window || !ipti_cov_keys(decoder))
        return;
    if (fuel && n / 16 > *fuel)
        n = (size_t) *fuel * 16 + 16;
    leg->offset = decoder->at.offset;
    leg->p = leg->window;
    leg->end = leg->window + (n - (IPTI_WINDOW - 1));
    leg->psb_size = 0;
    leg->held = ipti_tnt_held(w->next.tnt);
    leg->last_ip = w->evt.last_ip;
    leg->ahead = 0;
    leg->moved = 0;
    if (w->prev.taken == IPTI_TAKEN_ALL) /* for ipti_cov_stand */
        ipti_prev_none(&w->prev);
    if (ipti_cov_fast(decoder) < 0) {
        ipti_cov_back(decoder);
        return;
    }
    ipti_cov_flush(decoder);
    if (leg->moved)
        ipti_cov_stand(w);
}

/* Does the walk hold only what the fast path can take over? */
static int ipti_cov_plain(const ipt_cov_decoder *decoder)
{
    const ipt_walk_ *w = &decoder->walk_;
    const ipt_evt_state_ *evt = &w->evt;

    return decoder->fast_ && decoder->at.offset >= decoder->slow_
           && !(w->next.has_tip | w->next.has_event | w->out.waiting
                | w->out.count | w->resync.state)
           && w->end != IPTI_END_UNPROVEN
           && w->flow.synced && !w->flow.hidden && !ipti_walk_astray(w)
           && w->code.index >= w->code.count
           && evt->count == 0 && evt->phase == IPTI_EVT_FLOW && evt->error == 0
           && evt->enabled == w->flow.enabled
           && ipti_walk_wanted(w, &decoder->at) && w->cur.state == IPTI_CUR_SYNC
           && w->cur.block == 0 && w->mode.now != IPT_MODE_UNKNOWN
           && !decoder->block_.mode
           && (!w->flow.enabled || w->prev.taken == IPTI_TAKEN_ALL
               || ipti_kind_leaves(w->prev.kind));
}

/* ---- runs ---- */

/* Add the filters to the sum that becomes the formula. */
static uint64_t ipti_cov_filters(uint64_t sum, const ipt_filter *filter)
{
    const ipt_filter *const end = filter + IPT_FILTERS;

    for (; filter < end; filter++) {
        sum *= IPTI_COV_PRIME;
        if (filter->kind)
            sum += ipti_cov_name(filter->first, filter->last) ^ filter->kind;
    }
    return sum;
}

/* Everything that lines depend on, except the code and their key. The ~ keeps
 * it from 0, which is the formula of a memo that no run has filled. */
static uint64_t ipti_cov_formula(const ipt_config *config,
                                 const ipt_cov_config *cov)
{
    uint64_t sum = ipti_cov_name(
        config->flags
            & (IPT_CONFIG_NO_RETCOMP | IPT_CONFIG_RELATIVE_IP
               | IPT_CONFIG_NO_TNT),
        ~config->errata);

    sum = sum * IPTI_COV_PRIME + (cov->flags & ~IPT_COV_SATURATE);
    sum = sum * IPTI_COV_PRIME + (cov->seen != NULL);
    sum = sum * IPTI_COV_PRIME + (config->section != NULL);
    sum = sum * IPTI_COV_PRIME + (cov->bitmap ? cov->bitmap_size : 0);
    sum = ipti_cov_filters(sum, config->filter);
    return cov->filter ? ipti_cov_filters(sum, cov->filter) : sum;
}

/* Begin a run. A memo of another formula is emptied. If that fails, the decoder
 * has no trace, and ipti_cov_may sees that. */
static int ipti_cov_begin(ipt_cov_decoder *decoder, const ipt_config *config,
                          const ipt_cov_config *cov, const ipt_trace *trace,
                          ipt_cache *cache)
{
    ipt_cov_memo *memo = cov->memo;
    uint64_t seen = 0;
    uint64_t formula;
    int status = IPT_OK;
    unsigned i;

    if (cov->flags & ~IPT_COV_FLAGS_ || (cov->bitmap && !cov->bitmap_size))
        status = IPT_ERR_CONFIG;
    for (i = 0; cov->filter && i < IPT_FILTERS; i++)
        if (cov->filter[i].kind > IPT_FILTER_STOP)
            status = IPT_ERR_CONFIG;
    IPT_MEMSET(decoder, 0, sizeof(*decoder));
    decoder->cov_ = cov;
    decoder->verdict = IPT_COV_UNFINISHED;
    decoder->walk_.cur.config = config; /* for a _begin, if this one fails */
    decoder->walk_.cache = cache;
    if (status >= 0)
        status = ipti_walk_init(&decoder->walk_, &decoder->at, config, trace,
                                cache);
    formula = status < 0 ? 0 : ipti_cov_formula(config, cov);
    if (status >= 0 && ((memo && IPTI_BAD_SELF(memo))
                        || (cov->shared && IPTI_BAD_SELF(cov->shared))
                        || (cov->seen && IPTI_BAD_SELF(cov->seen))))
        status = IPT_ERR_STATE;
    if (status >= 0 && cov->shared && cov->shared->formula_ != formula)
        status = IPT_ERR_CONFIG;
    if (status < 0) {
        decoder->walk_.cur.trace = NULL;
        return status;
    }
    decoder->keys_.formula = formula;
    decoder->fast_ = memo && !cov->edge && (!cov->block || cov->seen)
                     && (!cov->bitmap || cov->bitmap_size <= IPTI_COV_SLOTS);
    if (memo && cov->seen)
        seen = ipti_memo_call(memo, &cov->seen->name_);
    if (memo && (memo->formula_ != formula || memo->seen_ != seen)) {
        memo->epoch_++;
        memo->formula_ = formula;
        memo->seen_ = seen;
    }
    decoder->begin = decoder->at.offset;
    if (cache)
        decoder->keys_.version = cache->version_;
    if (cache && cov->shared)
        ipti_cache_unsure(cache); /* it holds code that others read */
    return IPT_OK;
}

IPT_API int ipt_cov_init(ipt_cov_decoder *decoder, const ipt_config *config,
                         const ipt_cov_config *cov, const ipt_trace *trace,
                         ipt_cache *cache)
{
    if (!decoder || !cov)
        return IPT_ERR_ARG;
    return ipti_made(&decoder->magic_, sizeof(*decoder),
                     ipti_cov_begin(decoder, config, cov, trace, cache));
}

IPT_API int ipt_cov_begin(ipt_cov_decoder *decoder, const ipt_trace *trace)
{
    int status;

    if (IPTI_BAD_SELF(decoder))
        return IPTI_SELF_ERROR(decoder);
    status = ipti_cov_begin(decoder, decoder->walk_.cur.config, decoder->cov_,
                            trace, decoder->walk_.cache);
    decoder->magic_ = ipti_magic(sizeof(*decoder));
    return status;
}

/* Go to the next PSB. */
static IPTI_APART int ipti_cov_sync(ipt_cov_decoder *decoder)
{
    ipt_walk_ *w = &decoder->walk_;
    const int status = ipti_sync_forward(&w->cur, &decoder->at);

    if (!decoder->begun_ && (status >= 0 || status == IPT_END)) {
        decoder->begun_ = status >= 0;
        if (status < 0) /* nothing is decoded, of all that there is */
            decoder->at.offset = ipti_cur_piece_end(&w->cur);
        if (decoder->begin != decoder->at.offset)
            decoder->verdict |= IPT_COV_SKIPPED;
        decoder->begin = decoder->at.offset;
    }
    if (status >= 0)
        ipti_walk_reset(w, &decoder->at);
    return status;
}

/* A run stops: set the verdict. */
static int ipti_cov_stop(ipt_cov_decoder *decoder, int status)
{
    if (status == IPT_NEED_PAGE)
        decoder->verdict |= IPT_COV_NO_PAGE;
    else if (status == IPT_ERR_TRUNCATED)
        decoder->verdict |= IPT_COV_TRUNCATED;
    else if (status <= IPT_ERR_ARG)
        decoder->verdict |= IPT_COV_ERROR;
    if (decoder->at.overflows)
        decoder->verdict |= IPT_COV_OVERFLOW;
    if (decoder->at.gaps)
        decoder->verdict |= IPT_COV_GAP;
    if (status == IPT_END) {
        ipti_cov_block_end(decoder);
        decoder->verdict &= ~IPT_COV_UNFINISHED;
    }
    return ipti_walk_leave(&decoder->walk_, &decoder->at, status);
}

/* May a run go on? Not if its _begin failed, or if the memo now belongs to
 * decoders with another config. */
static int ipti_cov_may(ipt_cov_decoder *decoder)
{
    const ipt_cov_config *cov;
    int status = IPT_OK;

    if (IPTI_BAD_SELF(decoder))
        return IPTI_SELF_ERROR(decoder);
    cov = decoder->cov_;
    if (!decoder->walk_.cur.trace)
        status = IPT_ERR_STATE;
    else if (decoder->fast_
             && (cov->memo->formula_ != decoder->keys_.formula
                 || cov->memo->seen_ != (cov->seen ? cov->seen->name_ : 0)
                 || (cov->shared
                     && cov->shared->formula_ != decoder->keys_.formula)))
        status = IPT_ERR_CONFIG;
    if (status < 0)
        decoder->at.error = status;
    return status;
}

IPT_API int ipt_cov_start(ipt_cov_decoder *decoder, const ipt_start *start)
{
    int status = ipti_cov_may(decoder);

    if (status < 0)
        return status;
    status = ipti_walk_start(&decoder->walk_, &decoder->at, start);
    if (status >= 0) {
        decoder->begin = start->offset;
        decoder->begun_ = 1;
    }
    return status;
}

/* Go on until there is a reason to stop: by the memo where flow allows that,
 * else by a step of the walk. Nobody pulls events here, so what waits is
 * dropped. */
IPT_API int ipt_cov_run(ipt_cov_decoder *decoder)
{
    ipt_walk_ *w;
    int status = ipti_cov_may(decoder);

    if (status < 0)
        return status;
    w = &decoder->walk_;
    if (!decoder->gave_up_)
        decoder->verdict &= ~IPT_COV_NO_PAGE;
    if (w->cur.state < IPTI_CUR_SYNC)
        status = ipti_cov_sync(decoder);
    if (status >= 0)
        do {
            ipti_walk_miss(w, &decoder->at);
            status = ipti_walk_resume(w, &decoder->at);
        } while (status == IPT_EVENT_FIRST && w->resync.state);
    ipti_walk_miss(w, &decoder->at);
    while (status >= 0 || status == IPT_EVENT_FIRST) {
        if (ipti_cov_plain(decoder))
            ipti_cov_skip(decoder);
        status = ipti_cov_ready(decoder);
        if (status > 0)
            status = ipti_cov_pass(decoder);
    }
    return ipti_cov_stop(decoder, status);
}

/* First as the walk does, with the next IP in the trace; where that fails, only
 * a PSB helps. A search for one that has used up its bytes or fuel goes on in
 * the next call: syncing_. */
IPT_API int ipt_cov_resync(ipt_cov_decoder *decoder)
{
    ipt_walk_ *w;
    int status = ipti_cov_may(decoder);

    if (status < 0)
        return status;
    w = &decoder->walk_;
    status = IPT_ERR_NOSYNC;
    if (decoder->verdict & IPT_COV_NO_PAGE)
        decoder->gave_up_ = 1;
    if (!decoder->syncing_)
        status = ipti_walk_resync(w, &decoder->at);
    if (status < 0 && status != IPT_MORE && status != IPT_BUDGET
        && status != IPT_END) { /* only a PSB helps */
        if (!decoder->syncing_)
            w->cur.state = IPTI_CUR_NOSYNC;
        status = ipti_cov_sync(decoder);
        decoder->syncing_ = status == IPT_MORE || status == IPT_BUDGET;
    }
    return ipti_cov_stop(decoder, status < 0 ? status : (int) IPT_OK);
}

IPT_API int ipt_cov_invalidate(ipt_cov_decoder *decoder, const ipt_asid *asid,
                               uint64_t ip, uint64_t size)
{
    if (IPTI_BAD_SELF(decoder))
        return IPTI_SELF_ERROR(decoder);
    if (decoder->walk_.cache) /* the memo sees its version */
        return ipt_cache_invalidate(decoder->walk_.cache, asid, ip, size);
    decoder->keys_.version = 1; /* not that of the run: nothing shared holds */
    if (decoder->cov_->memo)
        decoder->cov_->memo->epoch_++;
    return IPT_OK;
}

/* ==========================================================================
 * [hot]  hot traces, made of blocks
 * Uses: [base], [bind].  State: ipt_hot.
 *
 * Flow is in a kept trace (inside_), or it is recorded (recorded_), or neither;
 * never both. In a trace, left_ of its blocks may come, and next_ is the first
 * of them; outside of one left_ is 0. The link_ of a trace is the trace that
 * flow went to from it last, in the same address space and mode. Links are
 * indices, so all are cleared when traces move.
 *
 * A head of a kept trace knows its trace, and the trace its head: a head that
 * loses its place takes its trace with it.
 *
 * Memory: config.blocks begins with the recording; after it comes the pool. In
 * the pool the blocks of traces are in the order of config.traces, where the
 * trace kept last is last. Neither has holes, except traces that were deleted
 * while config.deleted was not called for them yet.
 *
 * Callbacks may call ipt_hot_mark_head, _delete and _invalidate. So a deleted
 * trace is unlinked at once, but config.deleted is called only when nothing is
 * half done, after the callback has returned. Only ipt_hot_feed adds traces or
 * begins a recording. After a callback its caller looks again at heads, traces,
 * and whether the recording is still there.
 *
 * Full tables: a new head takes one off the count of the weakest head of its
 * set, and takes its place when that count is 0. A kept trace restores the
 * count of its head each time it runs. A trace has credit: at first as if it
 * had run `threshold` times, then each run adds its number of blocks. Each time
 * a place is searched, all traces lose a sixteenth of it. The new trace takes
 * the place of the one with the least credit, unless that has more than the new
 * one would.
 * ========================================================================== */

/* The block after these does not follow the one before it, ... */
#define IPTI_HOT_BEFORE                                                        \
    (IPT_FLOW_ENABLED | IPT_FLOW_RESYNCED | IPT_FLOW_ASID | IPT_FLOW_STOPPED)
/* ... nor does the one after these. */
#define IPTI_HOT_AFTER                                                         \
    (IPT_FLOW_DISABLED | IPT_FLOW_INTERRUPTED | IPT_FLOW_ABORTED)

/* A direct branch ends the block: its target is in the code. */
#define IPTI_HOT_DIRECT (IPTI_KIND(JCC) | IPTI_KIND(JMP) | IPTI_KIND(CALL))

/* Is the tag in this address space? NULL: any. */
static int ipti_hot_in(const ipt_hot_tag *tag, const ipt_asid *asid)
{
    return !asid || ipti_asid_same(asid, &tag->asid);
}

/* Do two tags name the same block? */
static int ipti_hot_same(const ipt_hot_tag *a, const ipt_hot_tag *b)
{
    return a->ip == b->ip && a->mode == b->mode && ipti_hot_in(a, &b->asid);
}

/* ---- heads ---- */

/* Delete trace i, which leaves a hole until ipti_hot_tell. evicted: it had to
 * make room. */
static void ipti_hot_doom(ipt_hot *h, uint32_t i, int evicted)
{
    ipt_hot_trace *trace = &h->config_->traces[i];

    h->config_->heads[trace->head_].trace_ = 0;
    h->config_->heads[trace->head_].count = 0;
    trace->count = 0;
    h->dying_++;
    h->stats.deleted++;
    h->stats.evicted += evicted != 0;
    if (h->inside_ == i + 1)
        h->inside_ = h->left_ = 0;
}

/* Make a head with this tag, in one of the places from head on. NULL: there is
 * no room for it, and it is not forced. */
static IPTI_APART ipt_hot_head *
ipti_hot_make(ipt_hot *h, ipt_hot_head *head, const ipt_hot_tag *tag, int force)
{
    ipt_hot_head *end = head + (h->mask_ & 3u);
    ipt_hot_head *weakest = head;

    for (; weakest->used && head <= end; head++)
        if (!head->used || head->count < weakest->count)
            weakest = head;
    if (weakest->used) {
        h->stats.heads_lost++;
        weakest->count -= weakest->count > 0;
        if (weakest->count && !force)
            return NULL;
        if (weakest->trace_)
            ipti_hot_doom(h, weakest->trace_ - 1, 1);
    }
    IPT_MEMSET(weakest, 0, sizeof(*weakest));
    IPTI_COPY(&weakest->tag, tag);
    weakest->used = 1;
    return weakest;
}

/* If there is no such head: LOOK makes none; TRY makes one if there is room or
 * the weakest may be evicted; FORCE evicts the weakest in any case. */
enum { IPTI_HOT_LOOK, IPTI_HOT_TRY, IPTI_HOT_FORCE };

/* The head with this tag, which has one of four places, fewer in a small table.
 * If there is none: NULL, or it is made. */
static inline ipt_hot_head *ipti_hot_head(ipt_hot *h, const ipt_hot_tag *tag,
                                          int how)
{
    const uint64_t sum = tag->ip + tag->asid.cr3 + tag->asid.vmcs;
    const uint64_t hash = sum * 0x9e3779b97f4a7c15u;
    ipt_hot_head *first
        = &h->config_->heads[(uint32_t) (hash >> 32) & h->mask_ & ~3u];
    ipt_hot_head *head = first;

    for (; head <= first + (h->mask_ & 3u); head++)
        if (ipti_hot_same(&head->tag, tag) && head->used)
            return head;
    return how ? ipti_hot_make(h, first, tag, how == IPTI_HOT_FORCE) : NULL;
}

/* Call config.deleted for the traces that were deleted, and close the holes;
 * not while a callback runs. In each round the traces that have blocks move to
 * the front. A callback may delete traces that have moved: then there is
 * another round. No trace is added here, so it ends. */
static void ipti_hot_tell(ipt_hot *h)
{
    const ipt_hot_config *config = h->config_;
    uint32_t to;
    uint32_t i;

    for (; h->dying_ && !h->busy_; h->kept = to) {
        h->pool_end_ = h->room_;
        for (to = i = 0; i < h->kept; i++) {
            ipt_hot_trace trace;

            IPTI_COPY(&trace, &config->traces[i]);
            config->traces[i].count = 0;
            if (!trace.count) {
                h->dying_--;
                h->busy_++;
                if (config->deleted)
                    config->deleted(&trace.tag, config->context);
                h->busy_--;
                continue;
            }
            IPT_MEMMOVE(&config->blocks[h->pool_end_],
                        &config->blocks[trace.first],
                        trace.count * sizeof(config->blocks[0]));
            trace.first = h->pool_end_;
            trace.link_ = 0;
            h->pool_end_ += trace.count;
            IPTI_COPY(&config->traces[to++], &trace);
            config->heads[trace.head_].trace_ = to;
            if (h->inside_ == i + 1) {
                h->inside_ = to;
                h->next_ = &config->blocks[h->pool_end_ - h->left_];
            }
        }
    }
}

/* ---- the recording ---- */

/* Is there room for the recording without deleting a trace? */
static int ipti_hot_fits(const ipt_hot *h)
{
    return h->kept < h->config_->trace_count
           && h->recorded_ <= h->config_->block_count - h->pool_end_;
}

/* The index of the trace with the least credit; there is at least one, and none
 * is deleted. All runs from before count less from now on. */
static uint32_t ipti_hot_weakest(ipt_hot *h)
{
    ipt_hot_trace *traces = h->config_->traces;
    uint32_t weakest = 0;
    uint32_t i;

    for (i = 0; i < h->kept; i++) {
        traces[i].credit_ -= (traces[i].credit_ + 15) / 16;
        if (traces[i].credit_ < traces[weakest].credit_)
            weakest = i;
    }
    return weakest;
}

/* Forget the recording, if there is one: its head counts from 0 again. */
static void ipti_hot_stop(ipt_hot *h, int aborted)
{
    ipt_hot_head *head;

    if (!h->recorded_)
        return;
    head = ipti_hot_head(h, &h->tag_, IPTI_HOT_LOOK);
    h->recorded_ = 0;
    if (head)
        head->count = 0;
    h->stats.aborted += aborted != 0;
    h->busy_++;
    if (aborted && h->config_->aborted)
        h->config_->aborted(&h->tag_, h->config_->context);
    h->busy_--;
}

/* The recording is complete: offer it to config.trace, make room, keep it. The
 * callbacks may end it meanwhile, so it is looked for after each. */
static void ipti_hot_finish(ipt_hot *h)
{
    const ipt_hot_config *config = h->config_;
    ipt_hot_head *head;
    ipt_hot_trace *trace;
    int keep = ipti_hot_fits(h)
               || config->traces[ipti_hot_weakest(h)].credit_
                  <= (uint64_t) h->threshold_ * h->recorded_;

    h->stats.refused += !keep;
    if (keep) {
        h->stats.told++;
        h->busy_++;
        if (config->trace)
            keep = config->trace(&h->tag_, config->blocks, h->recorded_,
                                 config->context) == IPT_HOT_KEEP;
        h->busy_--;
        h->stats.dropped += h->recorded_ && !keep;
    }
    if (!keep)
        ipti_hot_stop(h, 0);
    for (ipti_hot_tell(h); h->recorded_ && !ipti_hot_fits(h); ipti_hot_tell(h))
        ipti_hot_doom(h, ipti_hot_weakest(h), 1);
    if (!h->recorded_)
        return;

    head = ipti_hot_head(h, &h->tag_, IPTI_HOT_FORCE);
    trace = &config->traces[h->kept++];
    IPT_MEMSET(trace, 0, sizeof(*trace));
    IPTI_COPY(&trace->tag, &h->tag_);
    trace->credit_ = (uint64_t) h->threshold_ * h->recorded_;
    trace->first = h->pool_end_;
    trace->count = h->recorded_;
    trace->head_ = (uint32_t) (head - config->heads);
    IPT_MEMCPY(&config->blocks[trace->first], config->blocks,
               trace->count * sizeof(config->blocks[0]));
    head->trace_ = h->kept;
    head->count = h->threshold_;
    h->pool_end_ += trace->count;
    h->recorded_ = 0;
}

/* ---- blocks ---- */

/* Flow is at the first block of trace i - 1. */
static inline void ipti_hot_enter(ipt_hot *h, uint32_t i,
                                  const ipt_block *block)
{
    ipt_hot_trace *trace = &h->config_->traces[i - 1];

    trace->runs++;
    trace->credit_ += trace->count;
    h->config_->heads[trace->head_].count = h->threshold_;
    h->stats.inside += block->count;
    h->inside_ = i;
    h->next_ = &h->config_->blocks[trace->first + 1];
    h->left_ = trace->count - 1;
}

/* Add the block at now_ to the recording, or end the recording before it.
 * reached: flow got to the block in a way that makes it a head. Returns 1 if it
 * was added. */
static IPTI_APART int ipti_hot_record(ipt_hot *h, const ipt_block *block,
                                      int reached)
{
    const ipt_hot_config *config = h->config_;
    int ends = h->recorded_ == h->room_ ? IPT_HOT_END : IPT_HOT_DECIDE;

    if (ends == IPT_HOT_END)
        h->stats.cut += h->room_ < h->max_blocks_;
    else if (config->end_trace) {
        h->busy_++;
        ends = config->end_trace(&h->tag_, block->ip, config->context);
        h->busy_--;
        ipti_hot_tell(h);
    }
    if (ends != IPT_HOT_END && ends != IPT_HOT_CONTINUE && h->recorded_ > 1
        && (reached || ipti_hot_head(h, &h->now_, IPTI_HOT_LOOK)))
        ends = IPT_HOT_END;
    if (h->recorded_ && ends != IPT_HOT_END)
        IPTI_COPY(&config->blocks[h->recorded_++], block);
    else if (h->recorded_)
        ipti_hot_finish(h);
    return h->recorded_ != 0;
}

IPT_API int ipt_hot_init(ipt_hot *h, const ipt_hot_config *config)
{
    if (!h || !config)
        return IPT_ERR_ARG;
    IPT_MEMSET(h, 0, sizeof(*h));
    if (!config->heads || !config->traces || !config->blocks
        || !config->head_count || !config->trace_count
        || config->block_count < 2)
        return IPT_ERR_CONFIG;
    h->config_ = config;
    h->mask_ = ((uint32_t) 1 << ipti_top(config->head_count)) - 1;
    IPT_MEMSET(config->heads, 0, sizeof(*config->heads) * (h->mask_ + 1u));
    h->threshold_ = config->threshold ? config->threshold : 50;
    h->max_blocks_ = config->max_blocks ? config->max_blocks : 128;
    h->room_ = config->block_count / 2 < h->max_blocks_
                     ? config->block_count / 2 : h->max_blocks_;
    h->pool_end_ = h->room_;
    return ipti_made(&h->magic_, sizeof(*h), IPT_OK);
}

/* The rest of ipt_hot_feed: the block is neither the next one of the trace that
 * flow is in, nor the head of the trace that came after it last time. asid: not
 * NULL if the block does not follow the one before. */
static IPTI_APART int ipti_hot_move(ipt_hot *h, const ipt_block *block,
                                    const ipt_asid *asid)
{
    const uint32_t from = asid ? 0 : h->inside_;
    int reached = from != 0;
    ipt_hot_head *head;

    if (!asid && block->ip <= h->now_.ip && h->kind_ < IPT_INSN_COUNT)
        reached |= ipti_kind_in(h->kind_, IPTI_HOT_DIRECT);
    if (asid) {
        IPTI_COPY(&h->now_.asid, asid);
        h->now_.mode = block->mode;
        ipti_hot_stop(h, 1);
    }
    h->now_.ip = block->ip;
    h->kind_ = block->kind;
    h->cut_off_ = (block->flags & IPTI_HOT_AFTER) != 0;
    h->inside_ = h->left_ = 0;
    if (h->recorded_ && ipti_hot_record(h, block, reached))
        return IPT_OK;

    head = ipti_hot_head(h, &h->now_, reached ? IPTI_HOT_TRY : IPTI_HOT_LOOK);
    if (head && head->trace_) {
        ipti_hot_enter(h, head->trace_, block);
        if (from)
            h->config_->traces[from - 1].link_ = h->inside_;
    } else if (head && ++head->count >= h->threshold_) {
        IPTI_COPY(&h->tag_, &h->now_);
        IPTI_COPY(&h->config_->blocks[0], block);
        h->recorded_ = 1;
    }
    if (h->dying_)
        ipti_hot_tell(h);
    return IPT_OK;
}

/* Mostly it is the block that the trace has next, or the first block of a trace
 * that is linked to this one. Else _move looks for a trace. */
IPT_API int ipt_hot_feed(ipt_hot *h, const ipt_block *block,
                         const ipt_asid *asid)
{
    const ipt_hot_trace *traces;
    uint32_t link;

    if (IPTI_BAD_SELF(h) || h->busy_ || !block || !asid)
        return h && block && asid ? IPT_ERR_STATE : IPT_ERR_ARG;
    h->stats.blocks++;
    h->stats.insns += block->count;
    if (h->cut_off_ || block->flags & IPTI_HOT_BEFORE
        || block->mode != h->now_.mode
        || !ipti_asid_same(asid, &h->now_.asid))
        return ipti_hot_move(h, block, asid);
    if (h->left_ && h->next_->ip == block->ip) {
        h->stats.inside += block->count;
        h->next_++;
        h->left_--;
    } else {
        traces = h->config_->traces;
        link = h->inside_ ? traces[h->inside_ - 1].link_ : 0;
        if (!link || traces[link - 1].tag.ip != block->ip)
            return ipti_hot_move(h, block, NULL);
        ipti_hot_enter(h, link, block);
    }
    h->now_.ip = block->ip;
    h->kind_ = block->kind;
    if (block->flags & IPTI_HOT_AFTER)
        h->cut_off_ = 1;
    return IPT_OK;
}

IPT_API int ipt_hot_break(ipt_hot *h)
{
    if (IPTI_BAD_SELF(h) || h->busy_)
        return IPTI_SELF_ERROR(h);
    h->cut_off_ = 1;
    ipti_hot_stop(h, 1);
    ipti_hot_tell(h);
    return IPT_OK;
}

IPT_API int ipt_hot_mark_head(ipt_hot *h, const ipt_hot_tag *tag)
{
    if (IPTI_BAD_SELF(h) || !tag)
        return h && tag ? IPT_ERR_STATE : IPT_ERR_ARG;
    ipti_hot_head(h, tag, IPTI_HOT_FORCE);
    ipti_hot_tell(h);
    return IPT_OK;
}

IPT_API int ipt_hot_delete(ipt_hot *h, const ipt_hot_tag *tag)
{
    const ipt_hot_head *head;

    if (IPTI_BAD_SELF(h) || !tag)
        return h && tag ? IPT_ERR_STATE : IPT_ERR_ARG;
    head = ipti_hot_head(h, tag, IPTI_HOT_LOOK);
    if (head && head->trace_)
        ipti_hot_doom(h, head->trace_ - 1, 0);
    else if (h->recorded_ && ipti_hot_same(tag, &h->tag_))
        ipti_hot_stop(h, 1);
    else
        return 0;
    ipti_hot_tell(h);
    return 1;
}

/* Has one of these blocks code in [ip, ip + size)? */
static int ipti_hot_touches(const ipt_block *b, uint32_t count, uint64_t ip,
                            uint64_t size)
{
    for (; count > 0; count--, b++)
        if (size == 0 || b->ip - ip < size
            || ip - b->ip < b->end_ip + b->last_size - b->ip)
            return 1;
    return 0;
}

/* Traces, heads and what is being recorded. Callbacks come last, when all of it
 * is gone. */
IPT_API int ipt_hot_invalidate(ipt_hot *h, const ipt_asid *asid, uint64_t ip,
                               uint64_t size)
{
    uint32_t i;

    if (IPTI_BAD_SELF(h))
        return IPTI_SELF_ERROR(h);
    for (i = 0; i < h->kept; i++) {
        const ipt_hot_trace *trace = &h->config_->traces[i];
        const ipt_block *first = &h->config_->blocks[trace->first];
        if (ipti_hot_in(&trace->tag, asid)
            && ipti_hot_touches(first, trace->count, ip, size))
            ipti_hot_doom(h, i, 0);
    }
    for (i = 0; i <= h->mask_; i++) {
        ipt_hot_head *head = &h->config_->heads[i];
        if (ipti_hot_in(&head->tag, asid)
            && (size == 0 || head->tag.ip - ip < size))
            head->used = 0;
    }
    if (ipti_hot_in(&h->tag_, asid)
        && ipti_hot_touches(h->config_->blocks, h->recorded_, ip, size))
        ipti_hot_stop(h, 1);
    ipti_hot_tell(h);
    return IPT_OK;
}

/* ==========================================================================
 * [gen]  executed branches to a trace
 * Uses: [base], [pkt], [evt], [bind].  State: ipt_gen.
 *
 * Everything is checked before anything is written, so that a call that fails
 * has written nothing. A PSB+ follows only a packet that says
 * exactly where flow is: a TNT bit, a TIP, a TIP.PGE, an OVF with its FUP.
 * ========================================================================== */

/* ---- packets ---- */

/* A packet with all fields 0. */
static void ipti_gen_packet(ipt_packet *packet, uint8_t type)
{
    IPT_MEMSET(packet, 0, sizeof(*packet));
    packet->type = type;
}

/* Append a packet. Room and fields were checked, so ipt_pkt_encode cannot fail
 * here. If it does, that is our fault, and every later call says
 * IPT_ERR_STATE. */
static void ipti_gen_write(ipt_gen *gen, const ipt_packet *packet)
{
    int size = ipt_pkt_encode(gen->out + gen->used, gen->size - gen->used,
                              packet);

    if (size < 0) {
        gen->magic_ = 0;
        return;
    }
    gen->used += (size_t) size;
    gen->from_psb_ += (uint64_t) size;
}

/* Append a packet, after a CYC if the clock has moved since the last one. Type
 * NONE stands for no packet. */
static void ipti_gen_put(ipt_gen *gen, const ipt_packet *packet)
{
    if (packet->type == IPT_PKT_NONE)
        return;
    if (gen->config_.flags & IPT_GEN_CYC && gen->clock != gen->time_.cyc) {
        ipt_packet cyc;

        ipti_gen_packet(&cyc, IPT_PKT_CYC);
        cyc.u.cyc.value = gen->clock - gen->time_.cyc;
        gen->time_.cyc = gen->clock;
        ipti_gen_write(gen, &cyc);
    }
    ipti_gen_write(gen, packet);
}

/* ---- addresses                                 SDM: "IP Compression" ---- */

/* TIP, TIP.PGE, TIP.PGD or FUP, in the shortest form that can express its IP;
 * IPBytes 6, all bits, can express any. While there is no last IP, it is sent
 * with 48 or 64 bits (3 or 6), as by processors. `known` 0: with its IP
 * suppressed. */
static void ipti_gen_put_ip(ipt_gen *gen, uint8_t type, uint64_t ip, int known)
{
    const unsigned step = gen->have_ip_ ? 1 : 3;
    unsigned ipc = 0;
    ipt_packet packet;

    ipti_gen_packet(&packet, type);
    if (known) {
        do {
            ipc += step;
            packet.u.ip.payload = ip & ipti_ip_mask[ipc];
        } while (ipti_ip_after(gen->last_ip_, ipc, packet.u.ip.payload) != ip);
        packet.u.ip.ipc = (uint8_t) ipc;
        gen->last_ip_ = ip;
        gen->have_ip_ = 1;
    }
    ipti_gen_put(gen, &packet);
}

/* Write the branches collected so far: the TNT bits, then the TIPs that waited
 * for them. Every packet that has a place in the flow comes after them.
 *                                                 SDM: "Deferred TIPs" */
static void ipti_gen_put_tnt(ipt_gen *gen)
{
    const unsigned count = ipti_top(gen->tnt_);
    ipt_packet packet;
    uint8_t i;

    ipti_gen_packet(&packet, count > 6 ? IPT_PKT_TNT_64 : IPT_PKT_TNT_8);
    packet.u.tnt.bits = gen->tnt_ ^ (uint64_t) 1 << count;
    packet.u.tnt.count = (uint8_t) count;
    if (count > 0)
        ipti_gen_put(gen, &packet);
    gen->tnt_ = 1;
    for (i = 0; i < gen->tip_count_; i++)
        ipti_gen_put_ip(gen, IPT_PKT_TIP, gen->tips_[i], 1);
    gen->tip_count_ = 0;
}

/* A TNT bit: a full TNT packet is written at once. */
static void ipti_gen_branched(ipt_gen *gen, unsigned taken)
{
    const unsigned most = gen->config_.flags & IPT_GEN_TNT_64 ? 47 : 6;

    gen->tnt_ = gen->tnt_ << 1 | taken;
    if (gen->tnt_ >> most)
        ipti_gen_put_tnt(gen);
}

/* TIP, TIP.PGE or TIP.PGD, after a MODE.Exec that waits for one. */
static void ipti_gen_put_tip(ipt_gen *gen, uint8_t type, uint64_t ip, int known)
{
    ipti_gen_put_tnt(gen);
    if (gen->next_exec_.type != IPT_PKT_NONE) {
        IPTI_COPY(&gen->exec_, &gen->next_exec_);
        gen->next_exec_.type = IPT_PKT_NONE;
        ipti_gen_put(gen, &gen->exec_);
    }
    ipti_gen_put_ip(gen, type, ip, known);
}

/* The target of an indirect branch. */
static void ipti_gen_indirect(ipt_gen *gen, uint64_t to)
{
    if (!(gen->config_.flags & IPT_GEN_DEFER)
        || gen->next_exec_.type != IPT_PKT_NONE) {
        ipti_gen_put_tip(gen, IPT_PKT_TIP, to, 1);
        return;
    }
    gen->tips_[gen->tip_count_++] = to;
    if (gen->tip_count_ == IPT_GEN_TIPS_)
        ipti_gen_put_tnt(gen);
}

/* ---- time             SDM: "Tracking Time Based on Packets" ---- */

/* The TSC now: core cycles since the ratio was set, by that ratio. */
static uint64_t ipti_gen_tsc(const ipt_gen *gen)
{
    const ipt_gen_time_ *time = &gen->time_;
    uint64_t cycles = gen->clock - time->base_clock;

    if (gen->config_.nom_freq && time->cbr)
        cycles = ipti_div(cycles * gen->config_.nom_freq, time->cbr);
    return time->base_tsc + cycles;
}

/* a * b / c, rounded down, where a alone may be large. */
static uint64_t ipti_gen_scale(uint64_t a, uint32_t b, uint32_t c)
{
    const uint64_t whole = ipti_div(a, c);

    return whole * b + ipti_div((a - whole * c) * b, c);
}

/* The crystal clock now. */
static uint64_t ipti_gen_ctc(const ipt_gen *gen)
{
    return ipti_gen_scale(ipti_gen_tsc(gen), gen->config_.cpuid_15_eax,
                          gen->config_.cpuid_15_ebx);
}

/* gen->clock when this MTC period begins; if the TSC is past that moment, when
 * its base was set. */
static uint64_t ipti_gen_edge(const ipt_gen *gen, uint64_t period)
{
    const ipt_gen_config *config = &gen->config_;
    const ipt_gen_time_ *time = &gen->time_;
    uint64_t ticks = ipti_gen_scale(period << config->mtc_freq,
                                    config->cpuid_15_ebx, config->cpuid_15_eax);

    ticks = ticks > time->base_tsc ? ticks - time->base_tsc : 0;
    if (config->nom_freq && time->cbr)
        ticks = ipti_div(ticks * time->cbr + config->nom_freq - 1,
                         config->nom_freq);
    return time->base_clock + ticks;
}

/* Which MTC period this is, and when the next one begins. */
static void ipti_gen_period(ipt_gen *gen)
{
    gen->time_.period = ipti_gen_ctc(gen) >> gen->config_.mtc_freq;
    gen->time_.mtc = ipti_gen_edge(gen, gen->time_.period + 1);
}

/* TSC and, with MTC, the TMA that says where the crystal clock is. */
static void ipti_gen_put_tsc(ipt_gen *gen)
{
    const ipt_gen_config *config = &gen->config_;
    const uint64_t tsc = ipti_gen_tsc(gen);
    ipt_packet packet;

    if (!(config->flags & IPT_GEN_TSC))
        return;
    ipti_gen_packet(&packet, IPT_PKT_TSC);
    packet.u.tsc.value = tsc & (UINT64_MAX >> 8);
    ipti_gen_put(gen, &packet);
    if (config->flags & IPT_GEN_MTC) {
        const uint64_t ctc = ipti_gen_ctc(gen);
        const uint64_t fc /* since the crystal clock moved last */
            = tsc - ipti_gen_scale(ctc, config->cpuid_15_ebx,
                                   config->cpuid_15_eax);
        ipti_gen_packet(&packet, IPT_PKT_TMA);
        packet.u.tma.ctc = (uint16_t) ctc;
        packet.u.tma.fc = (uint16_t) (fc < 0x1ff ? fc : 0x1ff);
        ipti_gen_put(gen, &packet);
        ipti_gen_period(gen);
    }
}

/* Write an MTC if one is due, with the CYC of the time when it was due. An MTC
 * has eight bits of the crystal clock: after a longer time a TSC takes its
 * place. */
static void ipti_gen_tick(ipt_gen *gen)
{
    const uint64_t clock = gen->clock;
    const uint64_t last = gen->time_.period;
    ipt_packet packet;
    uint64_t edge;

    if (!(gen->config_.flags & IPT_GEN_MTC) || clock < gen->time_.mtc)
        return;
    ipti_gen_period(gen);
    if (gen->time_.period - last > UINT8_MAX
        && gen->config_.flags & IPT_GEN_TSC) {
        ipti_gen_put_tsc(gen);
    } else if (gen->time_.period > last) {
        ipti_gen_packet(&packet, IPT_PKT_MTC);
        edge = ipti_gen_edge(gen, gen->time_.period);
        gen->clock = edge > gen->time_.cyc ? edge : gen->time_.cyc;
        packet.u.mtc.ctc = (uint8_t) gen->time_.period;
        ipti_gen_put(gen, &packet);
        gen->clock = clock;
    }
}

/* ---- PSB+                 SDM: "Packet Stream Boundary (PSB) Packet" ---- */

/* A PSB+ repeats all state; flow is at `ip`, if tracing is enabled. It forgets
 * the last IP and the calls, as the decoder does. */
static void ipti_gen_put_psb(ipt_gen *gen, uint64_t ip)
{
    ipt_packet packet;

    ipti_gen_packet(&packet, IPT_PKT_PSB);
    ipti_gen_put_tnt(gen);
    gen->from_psb_ = 0;
    gen->have_ip_ = 0;
    ipti_calls_clear(&gen->calls_, 0, 0);
    ipti_gen_put(gen, &packet);
    ipti_gen_put_tsc(gen);
    packet.type = IPT_PKT_CBR;
    packet.u.cbr.ratio = gen->time_.cbr;
    if (gen->time_.cbr)
        ipti_gen_put(gen, &packet);
    ipti_gen_put(gen, &gen->pip_);
    ipti_gen_put(gen, &gen->vmcs_);
    ipti_gen_put(gen, &gen->exec_);
    packet.type = IPT_PKT_MODE_TSX;
    packet.u.tsx.intx = gen->tsx_;
    if (gen->tsx_)
        ipti_gen_put(gen, &packet);
    if (gen->enabled_)
        ipti_gen_put_ip(gen, IPT_PKT_FUP, ip, 1);
    packet.type = IPT_PKT_PSBEND;
    ipti_gen_put(gen, &packet);
}

/* The trace says exactly that flow is at `ip`, or that tracing is disabled:
 * write a PSB+ here if one is due. */
static void ipti_gen_settle(ipt_gen *gen, uint64_t ip)
{
    const uint32_t period = gen->config_.psb_period;

    if (period && gen->from_psb_ >= period)
        ipti_gen_put_psb(gen, ip);
}

/* Outside of 64-bit mode addresses wrap at 4 GiB: they are linear ones, so in
 * 16-bit code the base of CS may lift them above 64 KiB. */
static uint64_t ipti_gen_narrow(const ipt_gen *gen, uint64_t ip)
{
    return gen->exec_.u.exec.csl ? ip : (uint32_t) ip;
}

/* ---- events ---- */

/* The packet that says what an event says: of type NONE if it has none, and one
 * that cannot be written if it is not known here or says what cannot be. */
static void ipti_gen_data(ipt_packet *packet, const ipt_event *event)
{
    static const uint8_t types[IPT_EVT_CFE + 1] = { /* by IPT_EVT_ */
        IPT_PKT_INVALID, IPT_PKT_NONE, IPT_PKT_NONE, IPT_PKT_NONE,
        IPT_PKT_NONE, IPT_PKT_PIP, IPT_PKT_PIP, IPT_PKT_VMCS, IPT_PKT_VMCS,
        IPT_PKT_OVF, IPT_PKT_MODE_EXEC, IPT_PKT_MODE_TSX, IPT_PKT_STOP,
        IPT_PKT_PTW, IPT_PKT_EXSTOP, IPT_PKT_MWAIT, IPT_PKT_PWRE, IPT_PKT_PWRX,
        IPT_PKT_CBR, IPT_PKT_MNT, IPT_PKT_INVALID, IPT_PKT_INVALID, IPT_PKT_CFE
    };
    const uint8_t has_ip = (event->flags & IPT_EVENT_NO_IP) == 0;

    ipti_gen_packet(packet, IPT_PKT_INVALID);
    if (event->type <= IPT_EVT_CFE)
        packet->type = types[event->type];
    switch (packet->type) {
    case IPT_PKT_MODE_EXEC:
        packet->u.exec.csl = event->u.exec.mode == IPT_MODE_64;
        packet->u.exec.csd = event->u.exec.mode == IPT_MODE_32;
        packet->u.exec.iflag = event->u.exec.iflag != 0;
        break;
    case IPT_PKT_MODE_TSX:
        packet->u.tsx.intx = event->u.tsx.speculative != 0;
        packet->u.tsx.abrt = event->u.tsx.aborted != 0;
        break;
    case IPT_PKT_PTW:
        packet->u.ptw.payload = event->u.ptwrite.payload;
        packet->u.ptw.plc = event->u.ptwrite.size == 8;
        packet->u.ptw.has_ip = has_ip;
        if (event->u.ptwrite.size != 8 && event->u.ptwrite.size != 4)
            packet->type = IPT_PKT_INVALID;
        break;
    case IPT_PKT_EXSTOP:
        packet->u.exstop.has_ip = has_ip;
        break;
    case IPT_PKT_VMCS:
        packet->u.vmcs.base = event->u.vmcs.base == IPT_ASID_UNKNOWN
                                 ? IPTI_NO_VMCS : event->u.vmcs.base;
        break;
    case IPT_PKT_PWRE:
        packet->u.pwre.hw = event->u.pwre.hw;
        packet->u.pwre.state = event->u.pwre.state;
        packet->u.pwre.sub_state = event->u.pwre.sub_state;
        break;
    case IPT_PKT_CFE:
        packet->u.cfe.type = event->u.cfe.type;
        packet->u.cfe.vector = event->u.cfe.vector;
        packet->u.cfe.has_ip = has_ip;
        break;
    default: /* the event's members are those of the packet, in this order */
        IPT_MEMCPY(&packet->u, &event->u, sizeof(packet->u));
        break;
    }
}

/* Can this event happen now, and does it say all that it has to? */
static int ipti_gen_check(const ipt_gen *gen, const ipt_event *event,
                          const ipt_packet *packet)
{
    const uint64_t from = IPTI_EVT(ENABLED) | IPTI_EVT(ASYNC_BRANCH)
                          | IPTI_EVT(ASYNC_DISABLED);
    const int no_ip = (event->flags & IPT_EVENT_NO_IP) != 0;
    uint64_t on = IPTI_EVT(ASYNC_BRANCH) | IPTI_EVT(ASYNC_DISABLED)
                  | IPTI_EVT(DISABLED) | IPTI_EVT(PTWRITE)
                  | IPTI_EVT(ASYNC_PAGING) | IPTI_EVT(ASYNC_VMCS);
    uint8_t bytes[IPTI_WINDOW];

    if (packet->type != IPT_PKT_NONE
        && ipt_pkt_encode(bytes, sizeof(bytes), packet) < 0)
        return IPT_ERR_ARG;
    if (!no_ip)
        on |= IPTI_EVT(CFE) | IPTI_EVT(EXSTOP);
    if (gen->wait_ && event->type == IPT_EVT_DISABLED)
        return IPT_ERR_CONTEXT; /* it waits for an ASYNC_ event */
    if ((no_ip && ipti_evt_in(from, event->type))
        || (event->type == IPT_EVT_ASYNC_BRANCH
            && event->flags & IPT_EVENT_NO_TO)
        || (event->type == IPT_EVT_EXEC_MODE
            && (event->u.exec.mode == IPT_MODE_UNKNOWN
                || event->u.exec.mode >= IPT_MODE_COUNT))
        || (event->type == IPT_EVT_TSX && gen->enabled_ && no_ip
            && !event->u.tsx.aborted))
        return IPT_ERR_ARG;
    if (ipti_evt_in(gen->enabled_ ? IPTI_EVT(ENABLED) | IPTI_EVT(STOP) : on,
                    event->type))
        return IPT_ERR_CONTEXT;
    return IPT_OK;
}

/* The FUP of an asynchronous event, and what comes between it and the TIP. */
static void ipti_gen_put_from(ipt_gen *gen, uint64_t ip)
{
    ipti_gen_put_ip(gen, IPT_PKT_FUP, ip, 1);
    if (ipti_pkt_in(gen->wait_, &gen->pip_))
        ipti_gen_put(gen, &gen->pip_);
    if (ipti_pkt_in(gen->wait_, &gen->vmcs_))
        ipti_gen_put(gen, &gen->vmcs_);
    gen->wait_ = 0;
}

/* Does a mode or an address space wait for the next IP? */
static int ipti_gen_waits(const ipt_gen *gen)
{
    return gen->wait_ || gen->next_exec_.type != IPT_PKT_NONE;
}

/* What waits holds from here on: no other packet at `ip` would say it. */
static void ipti_gen_restate(ipt_gen *gen, uint64_t ip)
{
    if (gen->next_exec_.type != IPT_PKT_NONE)
        IPTI_COPY(&gen->exec_, &gen->next_exec_);
    gen->next_exec_.type = IPT_PKT_NONE;
    gen->wait_ = 0;
    ipti_gen_put_psb(gen, ip);
}

/* OVF: what a decoder knew of IPs and calls is void. What waits changed while
 * trace was lost. */
static void ipti_gen_overflow(ipt_gen *gen, const ipt_event *event)
{
    gen->have_ip_ = 0;
    ipti_calls_clear(&gen->calls_, 0, 0);
    gen->enabled_ = (event->flags & IPT_EVENT_NO_IP) == 0;
    gen->tsx_ = 0;
    gen->time_.cyc = gen->clock; /* cycles were lost, too */
    ipti_gen_put_tsc(gen);
    if (gen->enabled_)
        ipti_gen_put_ip(gen, IPT_PKT_FUP, event->ip, 1);
    gen->lost_ = gen->enabled_;
    if (ipti_gen_waits(gen))
        ipti_gen_restate(gen, event->ip);
    else if (gen->enabled_)
        ipti_gen_settle(gen, event->ip);
}

/* Events that wait for the next IP, or say what changed over a loss. */
#define IPTI_GEN_LATER \
    (IPTI_EVT(ASYNC_PAGING) | IPTI_EVT(ASYNC_VMCS) | IPTI_EVT(EXEC_MODE))

/* What an event does, and the packets of it after its own. */
static void ipti_gen_apply(ipt_gen *gen, const ipt_event *event,
                           const ipt_packet *packet)
{
    const int has_to = (event->flags & IPT_EVENT_NO_TO) == 0;

    if (!ipti_evt_in(IPTI_GEN_LATER, event->type))
        gen->lost_ = 0;
    switch (event->type) {
    case IPT_EVT_ENABLED:
        gen->enabled_ = 1;
        if (event->flags & IPT_EVENT_STATUS) {
            ipti_gen_put_psb(gen, event->ip);
            gen->have_ip_ = 0; /* its FUP is no last IP: erratum BDM70 */
        }
        ipti_gen_put_tip(gen, IPT_PKT_TIP_PGE, event->ip, 1);
        ipti_gen_settle(gen, event->ip);
        break;
    case IPT_EVT_DISABLED:
    case IPT_EVT_ASYNC_DISABLED:
        if (event->type == IPT_EVT_ASYNC_DISABLED)
            ipti_gen_put_from(gen, event->ip);
        else if (has_to) /* by a CALL or RET out of a filter? For both of */
            ipti_calls_clear(&gen->calls_, 0, 0); /* them only this is right */
        ipti_gen_put_tip(gen, IPT_PKT_TIP_PGD, event->u.branch.to, has_to);
        gen->enabled_ = 0;
        ipti_gen_settle(gen, 0);
        break;
    case IPT_EVT_ASYNC_BRANCH:
        ipti_gen_put_from(gen, event->ip);
        ipti_gen_put_tip(gen, IPT_PKT_TIP, event->u.branch.to, 1);
        ipti_gen_settle(gen, event->u.branch.to);
        break;
    case IPT_EVT_EXEC_MODE:
        IPTI_COPY(&gen->next_exec_, packet);
        break;
    case IPT_EVT_ASYNC_PAGING:
        gen->wait_ |= IPTI_PKT(PIP);
        IPTI_FALL_THROUGH
    case IPT_EVT_PAGING:
        IPTI_COPY(&gen->pip_, packet);
        break;
    case IPT_EVT_ASYNC_VMCS:
        gen->wait_ |= IPTI_PKT(VMCS);
        IPTI_FALL_THROUGH
    case IPT_EVT_VMCS:
        IPTI_COPY(&gen->vmcs_, packet);
        break;
    case IPT_EVT_CBR:
        gen->time_.base_tsc = ipti_gen_tsc(gen); /* time goes on from here */
        gen->time_.base_clock = gen->clock;
        gen->time_.cbr = event->u.cbr.ratio;
        gen->time_.mtc = gen->clock; /* look again */
        break;
    case IPT_EVT_TSX:
        gen->tsx_ = packet->u.tsx.intx;
        /* An abort's FUP is that of the asynchronous branch which follows. */
        if (gen->enabled_ && !packet->u.tsx.abrt)
            ipti_gen_put_ip(gen, IPT_PKT_FUP, event->ip, 1);
        break;
    case IPT_EVT_OVERFLOW:
        ipti_gen_overflow(gen, event);
        break;
    case IPT_EVT_PTWRITE:
    case IPT_EVT_EXSTOP:
    case IPT_EVT_CFE:
        if ((event->flags & IPT_EVENT_NO_IP) == 0)
            ipti_gen_put_ip(gen, IPT_PKT_FUP, event->ip, 1);
        break;
    default: /* its packet says it all */
        break;
    }
    if (gen->lost_ && ipti_gen_waits(gen) && event->ip == gen->last_ip_)
        ipti_gen_restate(gen, event->ip);
}

/* The packets before, and with, what the event does. EVD comes before CFE. */
static void ipti_gen_put_data(ipt_gen *gen, const ipt_event *event,
                              const ipt_packet *packet)
{
    ipt_packet evd;
    uint8_t i;

    ipti_gen_packet(&evd, IPT_PKT_EVD);
    for (i = 0; event->type == IPT_EVT_CFE && i <= IPT_EVD_VMXR; i++) {
        if (event->u.cfe.has & IPT_CFE_HAS_CR2 << i) {
            evd.u.evd.type = i;
            evd.u.evd.payload = event->u.cfe.data[i == IPT_EVD_VMXR];
            ipti_gen_put(gen, &evd);
        }
    }
    if (!ipti_evt_in(IPTI_GEN_LATER, event->type))
        ipti_gen_put(gen, packet);
}

/* ---- public ---- */

/* Is there a writer, initialised, and with room for one call? */
static int ipti_gen_ready(const ipt_gen *gen)
{
    if (IPTI_BAD_SELF(gen))
        return IPTI_SELF_ERROR(gen);
    if (gen->used > gen->size || gen->size - gen->used < IPT_GEN_ROOM)
        return IPT_ERR_ROOM;
    return gen->out ? (int) IPT_OK : IPT_ERR_ARG;
}

IPT_API int ipt_gen_init(ipt_gen *gen, const ipt_gen_config *config,
                         uint8_t mode)
{
    if (!gen || !config || mode == IPT_MODE_UNKNOWN || mode >= IPT_MODE_COUNT
        || (config->flags & ~(IPT_CONFIG_NO_RETCOMP | IPT_GEN_FLAGS_)) != 0
        || config->mtc_freq > 15)
        return IPT_ERR_ARG;
    if (config->flags & IPT_GEN_MTC
        && (config->cpuid_15_eax == 0 || config->cpuid_15_ebx == 0
            || config->cpuid_15_ebx / config->cpuid_15_eax > 511))
        return IPT_ERR_ARG;
    IPT_MEMSET(gen, 0, sizeof(*gen));
    IPTI_COPY(&gen->config_, config);
    gen->exec_.type = IPT_PKT_MODE_EXEC;
    gen->exec_.u.exec.csl = mode == IPT_MODE_64;
    gen->exec_.u.exec.csd = mode == IPT_MODE_32;
    gen->time_.cbr = config->cbr;
    gen->time_.base_tsc = config->tsc;
    gen->tnt_ = 1;
    gen->magic_ = ipti_magic(sizeof(*gen));
    return IPT_OK;
}

IPT_API int ipt_gen_branch(ipt_gen *gen, uint8_t kind, uint64_t ip,
                           uint8_t size, uint64_t to)
{
    const int status = ipti_gen_ready(gen);
    uint64_t next;

    if (status == IPT_ERR_ARG || status == IPT_ERR_STATE)
        return status;
    if (kind >= IPT_INSN_COUNT || size == 0 || size > 15)
        return IPT_ERR_ARG;
    if (!gen->enabled_ || gen->wait_)
        return IPT_ERR_CONTEXT;
    if (status < 0)
        return status;

    gen->lost_ = 0;
    next = ipti_gen_narrow(gen, ip + size);
    ipti_gen_tick(gen);
    switch (kind) {
    case IPT_INSN_CALL:
        if (to != next) /* "call next" reads the IP, it will not return */
            ipti_calls_push(&gen->calls_, next);
        return IPT_OK;
    case IPT_INSN_JCC:
        ipti_gen_branched(gen, to != next);
        break;
    case IPT_INSN_RET: /* SDM: "Indirect Transfer Compression for Returns" */
        if (gen->config_.flags & IPT_CONFIG_NO_RETCOMP)
            ipti_gen_indirect(gen, to);
        else if (ipti_calls_pop(&gen->calls_, &next)
                 && ipti_gen_narrow(gen, next) == to)
            ipti_gen_branched(gen, 1); /* compressed: it went there */
        else /* never deferred: a TNT bit before it would look like it */
            ipti_gen_put_tip(gen, IPT_PKT_TIP, to, 1);
        break;
    case IPT_INSN_CALL_INDIRECT:
        ipti_calls_push(&gen->calls_, next);
        IPTI_FALL_THROUGH
    case IPT_INSN_JMP_INDIRECT:
    case IPT_INSN_JMPABS:
        ipti_gen_indirect(gen, to);
        break;
    default:
        if (!ipti_kind_far(kind) || (kind == IPT_INSN_INTO && to == next))
            return IPT_OK; /* no trace, so no place for a PSB+ */
        ipti_gen_put_tip(gen, IPT_PKT_TIP, to, 1);
        break;
    }
    ipti_gen_settle(gen, to);
    return IPT_OK;
}

IPT_API int ipt_gen_event(ipt_gen *gen, const ipt_event *event)
{
    const int ready = ipti_gen_ready(gen);
    ipt_packet packet;
    int status;

    if (ready == IPT_ERR_ARG || ready == IPT_ERR_STATE)
        return ready;
    if (!event)
        return IPT_ERR_ARG;
    ipti_gen_data(&packet, event);
    status = ipti_gen_check(gen, event, &packet);
    if (status < 0)
        return status;
    if (ready < 0)
        return ready;

    if (gen->from_psb_ == 0) { /* the trace begins, and so do MTCs */
        gen->time_.cyc = gen->clock; /* no CYC before the first PSB */
        if (gen->config_.flags & IPT_GEN_MTC)
            ipti_gen_period(gen);
        ipti_gen_put_psb(gen, 0);
    }
    ipti_gen_tick(gen);
    if (event->type != IPT_EVT_EXEC_MODE)
        ipti_gen_put_tnt(gen);
    ipti_gen_put_data(gen, event, &packet);
    ipti_gen_apply(gen, event, &packet);
    return IPT_OK;
}

IPT_API int ipt_gen_flush(ipt_gen *gen)
{
    const int status = ipti_gen_ready(gen);

    if (status >= 0)
        ipti_gen_put_tnt(gen);
    return status;
}

/* ==========================================================================
 * [hw]  from the registers of the processor that traced
 *       SDM: "Trace Output", "IA32_RTIT_CTL MSR", CPUID leaves 14H and 15H
 * Uses: [base], [pkt].  State: none.
 * ========================================================================== */

/* IA32_RTIT_CTL: the fields of 4 bits; ipt.h has the bits
 *
 *     | 47..44 | 43..40 | 39..36 | 35..32 | 27..24  |  22..19   | 17..14  |
 *     | ADDR3_ | ADDR2_ | ADDR1_ | ADDR0_ | PSBFreq | CycThresh | MTCFreq |
 *     |  CFG   |  CFG   |  CFG   |  CFG   |         |           |         |  */
#define IPTI_CTL_MTC_FREQ 14
#define IPTI_CTL_CYC_THRESH 19
#define IPTI_CTL_PSB_FREQ 24
#define IPTI_CTL_ADDR_CFG 32
#define IPTI_CTL_FIELDS 0x0000ffff0f7bc000u

/* CPUID leaf 14H, subleaf 0, EBX: what there is */
#define IPTI_CPUID_CYC (1u << 1) /* CYC, CycThresh, PSBFreq */
#define IPTI_CPUID_ADDR (1u << 2)
#define IPTI_CPUID_MTC (1u << 3)
/* ECX: output; IPs are linear addresses */
#define IPTI_CPUID_TOPA (1u << 0)
#define IPTI_CPUID_RANGE (1u << 2)
#define IPTI_CPUID_FABRIC (1u << 3)
#define IPTI_CPUID_LIP (1u << 31)
/* subleaf 1: which values a field may have, a bit each, and how many ADDRn_CFG
 *
 *     EAX |    31..16    | 2..0  |    EBX |    31..16    |     15..0     |
 *         | of MTCFreq   | ADDRn |        | of PSBFreq   | of CycThresh  |  */
#define IPTI_CPUID_ADDRS 7u

/* A ToPA entry
 *
 *     |             51 .. 12             | 9..6 |  4   |  2  |  0  |
 *     | region's address, or next table's| size | STOP | INT | END |
 *
 * END: a link to another table. The region has 4 KiB << size. */
#define IPTI_TOPA_END 1u
#define IPTI_TOPA_SIZE 6
#define IPTI_TOPA_ADDRESS 0x000ffffffffff000u

#define IPTI_TOPA_FLAGS ((uint64_t) (IPT_TOPA_INT | IPT_TOPA_STOP))
#define IPTI_TOPA_SIZE_MAX ((uint64_t) 4096 << 15)

/* A place in the output: the region of the ToPA entry at `entry`, and where in
 * it. */
typedef struct ipti_hw_spot {
    uint64_t entry;
    uint64_t physical;
    uint64_t size;
    uint64_t offset;
} ipti_hw_spot;

/* Read the ToPA entry at spot->entry or, if that is a link, the one it leads
 * to. A link to a link is refused, so this ends whatever the tables hold. */
static int ipti_hw_entry(ipti_hw_spot *spot, const ipt_topa *topa)
{
    const uint8_t *p = topa->map(spot->entry, 8, topa->context);

    if (p && ipti_le64(p) & IPTI_TOPA_END) {
        spot->entry = ipti_le64(p) & IPTI_TOPA_ADDRESS;
        p = topa->map(spot->entry, 8, topa->context);
    }
    if (!p)
        return IPT_ERR_CALLBACK;
    spot->physical = ipti_le64(p) & IPTI_TOPA_ADDRESS;
    spot->size = (uint64_t) 4096 << (ipti_le64(p) >> IPTI_TOPA_SIZE & 15);
    return ipti_le64(p) & IPTI_TOPA_END ? IPT_ERR_ARG : IPT_OK;
}

/* Where output goes on, by two registers.
 *
 * IA32_RTIT_OUTPUT_MASK_PTRS
 *
 *     |   63 .. 32   |         31 .. 7         | 6 .. 0 |
 *     | OutputOffset | size - 1, or ToPA entry | 1 .. 1 |  */
static int ipti_hw_output(ipti_hw_spot *spot, const ipt_topa *topa,
                          uint64_t base, uint64_t mask_ptrs)
{
    const uint64_t low = mask_ptrs & 0xffffffffu;
    int status = IPT_OK;

    spot->offset = mask_ptrs >> 32;
    if (topa->rtit_ctl & IPT_RTIT_TOPA) {
        spot->entry = (base & IPTI_TOPA_ADDRESS) + (low >> 7) * 8;
        status = ipti_hw_entry(spot, topa);
    } else {
        spot->entry = 0;
        spot->physical = base & ~(uint64_t) 0x7f;
        spot->size = (low | 0x7f) + 1;
    }
    return status >= 0 && spot->offset > spot->size ? IPT_ERR_ARG : status;
}

/* Where the trace that is wanted begins, if output goes on at `last`. */
static int ipti_hw_first(ipti_hw_spot *first, const ipti_hw_spot *last,
                         const ipt_topa *topa)
{
    IPTI_COPY(first, last);
    if (topa->wrapped)
        return IPT_OK;
    if (topa->since_mask_ptrs)
        return ipti_hw_output(first, topa, topa->since_base,
                              topa->since_mask_ptrs);
    first->offset = 0;
    if (!(topa->rtit_ctl & IPT_RTIT_TOPA))
        return IPT_OK;
    first->entry = topa->table;
    return ipti_hw_entry(first, topa);
}

/* Append a segment to the n there are; none if size is 0. n may be a status,
 * which stays. Returns how many there are then. */
static int ipti_hw_add(ipt_segment *segments, uint32_t room, int n,
                       const ipt_topa *topa, uint64_t physical, uint64_t size)
{
    if (n < 0 || !size)
        return n;
    if ((uint32_t) n >= room || size > SIZE_MAX)
        return IPT_ERR_ROOM;
    segments[n].data = topa->map(physical, size, topa->context);
    segments[n].size = (size_t) size;
    return segments[n].data ? n + 1 : IPT_ERR_CALLBACK;
}

IPT_API int ipt_segments_from_topa(ipt_segment *segments, uint32_t room,
                                   const ipt_topa *topa)
{
    ipti_hw_spot first;
    ipti_hw_spot last;
    int status;
    int n;

    if (!segments || !topa || !topa->map || room > 0x7fffffffu)
        return IPT_ERR_ARG;
    status = ipti_hw_output(&last, topa, topa->output_base,
                            topa->output_mask_ptrs);
    if (status >= 0)
        status = ipti_hw_first(&first, &last, topa);
    if (status < 0)
        return status;
    if (!topa->wrapped && first.entry == last.entry
        && first.offset <= last.offset)
        return ipti_hw_add(segments, room, 0, topa,
                           last.physical + first.offset,
                           last.offset - first.offset);
    n = ipti_hw_add(segments, room, 0, topa, first.physical + first.offset,
                    first.size - first.offset);
    while (n >= 0 && topa->rtit_ctl & IPT_RTIT_TOPA) {
        first.entry += 8;
        status = ipti_hw_entry(&first, topa);
        if (status < 0)
            return status;
        if (first.entry == last.entry)
            break;
        n = ipti_hw_add(segments, room, n, topa, first.physical, first.size);
    }
    return ipti_hw_add(segments, room, n, topa, last.physical, last.offset);
}

/* Append an entry to the n there are. Returns how many there are then. */
static int ipti_hw_put(uint8_t *table, uint32_t room, int n, uint64_t entry)
{
    if ((uint32_t) n >= room)
        return IPT_ERR_ROOM;
    ipti_put_bytes(table + (size_t) n * 8, entry, 8);
    return n + 1;
}

/* Append the entries of a region: the size of each is a power of two, and its
 * address a multiple of that. Returns how many there are then. */
static int ipti_hw_put_region(uint8_t *table, uint32_t room, int n,
                              const ipt_region *region)
{
    uint64_t at = region->physical;
    uint64_t left = region->size;

    if (!left || (at | left) & 4095 || (region->flags & ~IPTI_TOPA_FLAGS)
        || at > IPTI_TOPA_ADDRESS || left - 4096 > IPTI_TOPA_ADDRESS - at)
        return IPT_ERR_ARG;
    while (n >= 0 && left) {
        uint64_t size = 4096;

        while (size < IPTI_TOPA_SIZE_MAX && !(at & size) && size * 2 <= left)
            size *= 2;
        left -= size;
        n = ipti_hw_put(table, room, n,
                        at | (ipti_low(size) - 12) << IPTI_TOPA_SIZE
                            | (left ? 0 : region->flags));
        at += size;
    }
    return n;
}

IPT_API int ipt_topa_from_regions(uint8_t *table, uint32_t room, uint64_t next,
                                  const ipt_region *regions, uint32_t count)
{
    int n = 0;
    uint32_t i;

    if (!table || !regions || !count || room > 0x7fffffffu
        || next & ~IPTI_TOPA_ADDRESS)
        return IPT_ERR_ARG;
    for (i = 0; i < count && n >= 0; i++)
        n = ipti_hw_put_region(table, room, n, &regions[i]);
    return n < 0 ? n : ipti_hw_put(table, room, n, next | IPTI_TOPA_END);
}

/* Which bits of the field at `shift` cannot be written: all or none. Without
 * the feature (`there`) the field has to be 0. With it, it has to be one of
 * `values`, unless it is 0 and does not count. */
static uint64_t ipti_hw_field(uint64_t rtit_ctl, unsigned shift, uint32_t there,
                              uint32_t values, uint64_t counts)
{
    const unsigned value = rtit_ctl >> shift & 15;
    const int bad = there ? (value || counts) && !(values >> value & 1)
                          : value != 0;

    return bad ? (uint64_t) 15 << shift : 0;
}

/* The bits that IA32_RTIT_CTL may have on this processor, apart from fields. */
static uint64_t ipti_hw_bits(const ipt_cpuid_14 *cpu)
{
    static const uint64_t of[9] = { /* bit i of EBX */
        IPT_RTIT_CR3_FILTER, IPT_RTIT_CYC_EN, 0, IPT_RTIT_MTC_EN,
        IPT_RTIT_PTW_EN | IPT_RTIT_FUP_ON_PTW, IPT_RTIT_PWR_EVT_EN,
        IPT_RTIT_INJECT_PSB_PMI, IPT_RTIT_EVENT_EN, IPT_RTIT_DIS_TNT
    };
    uint64_t bits = IPT_RTIT_TRACE_EN | IPT_RTIT_OS | IPT_RTIT_USER
                    | IPT_RTIT_TSC_EN | IPT_RTIT_DIS_RETC | IPT_RTIT_BRANCH_EN;
    unsigned i;

    for (i = 0; i < 9; i++)
        bits |= cpu->ebx >> i & 1 ? of[i] : 0;
    bits |= cpu->ecx & IPTI_CPUID_TOPA ? IPT_RTIT_TOPA : 0;
    return bits | (cpu->ecx & IPTI_CPUID_FABRIC ? IPT_RTIT_FABRIC_EN : 0);
}

IPT_API uint64_t ipt_rtit_ctl_missing(uint64_t rtit_ctl,
                                      const ipt_cpuid_14 *cpu)
{
    uint64_t missing;
    uint32_t cyc;
    unsigned addrs;
    unsigned i;

    if (!cpu)
        return ~(uint64_t) 0;
    cyc = cpu->ebx & IPTI_CPUID_CYC;
    addrs = cpu->ebx & IPTI_CPUID_ADDR ? cpu->eax_1 & IPTI_CPUID_ADDRS : 0;
    missing = rtit_ctl & ~IPTI_CTL_FIELDS & ~ipti_hw_bits(cpu);
    if (!(rtit_ctl & (IPT_RTIT_TOPA | IPT_RTIT_FABRIC_EN))
        && !(cpu->ecx & IPTI_CPUID_RANGE))
        missing |= IPT_RTIT_TOPA;
    missing |= ipti_hw_field(rtit_ctl, IPTI_CTL_MTC_FREQ,
                             cpu->ebx & IPTI_CPUID_MTC, cpu->eax_1 >> 16,
                             rtit_ctl & IPT_RTIT_MTC_EN);
    missing |= ipti_hw_field(rtit_ctl, IPTI_CTL_CYC_THRESH, cyc,
                             cpu->ebx_1 & 0xffff, rtit_ctl & IPT_RTIT_CYC_EN);
    missing |= ipti_hw_field(rtit_ctl, IPTI_CTL_PSB_FREQ, cyc,
                             cpu->ebx_1 >> 16, 0);
    for (i = 0; i < IPT_FILTERS; i++)
        missing |= ipti_hw_field(rtit_ctl, IPTI_CTL_ADDR_CFG + 4 * i, i < addrs,
                                 1 << IPT_FILTER_TRACE | 1 << IPT_FILTER_STOP,
                                 0);
    return missing;
}

/* CPUID leaf 1, EAX
 *
 *     | 27 .. 20 | 19 .. 16 | 11 .. 8 | 7 .. 4 |
 *     | family + | model +  | family  | model  |  */
IPT_API int ipt_config_from_msrs(ipt_config *config, const ipt_msrs *msrs)
{
    ipt_filter filter[IPT_FILTERS];
    uint32_t family;
    uint32_t eax;
    unsigned i;

    if (!config || !msrs)
        return IPT_ERR_ARG;
    for (i = 0; i < IPT_FILTERS; i++) {
        const unsigned cfg
            = msrs->rtit_ctl >> (IPTI_CTL_ADDR_CFG + 4 * i) & 15;

        if (cfg > IPT_FILTER_STOP) /* numbered as the SDM does */
            return IPT_ERR_ARG;
        filter[i].first = cfg ? msrs->rtit_addr[i][0] : 0;
        filter[i].last = cfg ? msrs->rtit_addr[i][1] : 0;
        filter[i].kind = (uint8_t) cfg;
    }
    IPT_MEMCPY(config->filter, filter, sizeof(filter));
    config->flags &= ~(IPT_CONFIG_NO_RETCOMP | IPT_CONFIG_RELATIVE_IP
                       | IPT_CONFIG_NO_TNT);
    if (msrs->rtit_ctl & IPT_RTIT_DIS_RETC)
        config->flags |= IPT_CONFIG_NO_RETCOMP;
    if (msrs->rtit_ctl & IPT_RTIT_DIS_TNT)
        config->flags |= IPT_CONFIG_NO_TNT;
    if (!(msrs->cpuid_14_ecx & IPTI_CPUID_LIP))
        config->flags |= IPT_CONFIG_RELATIVE_IP;
    eax = msrs->cpuid_1_eax;
    family = eax >> 8 & 15;
    if (family == 15)
        family += eax >> 20 & 255;
    ipt_cpu_errata(&config->errata, (uint16_t) family,
                   (uint8_t) (eax >> 12 & 0xf0) | (eax >> 4 & 15));
    config->mtc_freq = msrs->rtit_ctl >> IPTI_CTL_MTC_FREQ & 15;
    config->nom_freq = msrs->platform_info >> 8 & 0xff;
    config->cpuid_15_eax = msrs->cpuid_15_eax;
    config->cpuid_15_ebx = msrs->cpuid_15_ebx;
    return IPT_OK;
}

/* ==========================================================================
 * [strings]  names and texts
 * Uses: nothing.  State: none.
 *
 * Each table is one array of texts, one after another: an array of pointers to
 * them would need relocation.
 * ========================================================================== */

#ifndef IPT_NO_STRINGS

#define IPTI_X(name, value, cause, remedy) value,
static const int8_t ipti_status_values[] = {IPT_STATUS_LIST(IPTI_X)};
#undef IPTI_X
#define IPTI_X(name, value, cause, remedy) #name "\0" cause "\0" remedy "\0"
static const char ipti_status_texts[] = IPT_STATUS_LIST(IPTI_X);
#undef IPTI_X

/* The packets and the events, in order: enumerator, name, the fields of u that
 * hold something. */
#define IPTI_NO_FIELDS(X)
#define IPTI_TNT_FIELDS(X) X(tnt, bits) X(tnt, count)
#define IPTI_IP_FIELDS(X) X(ip, ipc) X(ip, payload)
#define IPTI_PWRE_FIELDS(X) X(pwre, state) X(pwre, sub_state) X(pwre, hw)
#define IPTI_PWRX_FIELDS(X)                                  \
    X(pwrx, last) X(pwrx, deepest) X(pwrx, interrupt) \
    X(pwrx, store) X(pwrx, autonomous)
#define IPTI_MWAIT_FIELDS(X) X(mwait, hints) X(mwait, ext)
#define IPTI_TRIG_FIELDS(X) \
    X(trig, icnt) X(trig, trbv) X(trig, icntv) X(trig, mult)
#define IPTI_VMCS_FIELDS(X) X(vmcs, base)
#define IPTI_CBR_FIELDS(X) X(cbr, ratio)
#define IPTI_MNT_FIELDS(X) X(mnt, payload)
#define IPTI_GAP_FIELDS(X) X(gap, lost)

#define IPTI_PKT_EXEC_FIELDS(X) X(exec, csl) X(exec, csd) X(exec, iflag)
#define IPTI_PKT_TSX_FIELDS(X) X(tsx, intx) X(tsx, abrt)
#define IPTI_PIP_FIELDS(X) X(pip, cr3) X(pip, nr)
#define IPTI_TSC_FIELDS(X) X(tsc, value)
#define IPTI_TMA_FIELDS(X) X(tma, ctc) X(tma, fc)
#define IPTI_MTC_FIELDS(X) X(mtc, ctc)
#define IPTI_CYC_FIELDS(X) X(cyc, value)
#define IPTI_PTW_FIELDS(X) X(ptw, payload) X(ptw, plc) X(ptw, has_ip)
#define IPTI_EXSTOP_FIELDS(X) X(exstop, has_ip)
#define IPTI_BBP_FIELDS(X) X(bbp, type) X(bbp, sz)
#define IPTI_BIP_FIELDS(X) X(bip, payload) X(bip, id) X(bip, sz)
#define IPTI_BEP_FIELDS(X) X(bep, has_ip)
#define IPTI_PKT_CFE_FIELDS(X) X(cfe, type) X(cfe, vector) X(cfe, has_ip)
#define IPTI_EVD_FIELDS(X) X(evd, type) X(evd, payload)
#define IPTI_PKT_TRIG_FIELDS(X) IPTI_TRIG_FIELDS(X) X(trig, has_ip)
#define IPTI_PACKETS(X)                                                     \
    X(NONE, none, IPTI_NO_FIELDS) X(PAD, pad, IPTI_NO_FIELDS)               \
    X(PSB, psb, IPTI_NO_FIELDS) X(PSBEND, psbend, IPTI_NO_FIELDS)           \
    X(OVF, ovf, IPTI_NO_FIELDS) X(STOP, stop, IPTI_NO_FIELDS)               \
    X(TNT_8, tnt_8, IPTI_TNT_FIELDS) X(TNT_64, tnt_64, IPTI_TNT_FIELDS)     \
    X(TIP, tip, IPTI_IP_FIELDS) X(TIP_PGE, tip_pge, IPTI_IP_FIELDS)         \
    X(TIP_PGD, tip_pgd, IPTI_IP_FIELDS) X(FUP, fup, IPTI_IP_FIELDS)         \
    X(MODE_EXEC, mode_exec, IPTI_PKT_EXEC_FIELDS)                           \
    X(MODE_TSX, mode_tsx, IPTI_PKT_TSX_FIELDS) X(PIP, pip, IPTI_PIP_FIELDS) \
    X(VMCS, vmcs, IPTI_VMCS_FIELDS) X(TSC, tsc, IPTI_TSC_FIELDS)            \
    X(CBR, cbr, IPTI_CBR_FIELDS) X(TMA, tma, IPTI_TMA_FIELDS)               \
    X(MTC, mtc, IPTI_MTC_FIELDS) X(CYC, cyc, IPTI_CYC_FIELDS)               \
    X(MNT, mnt, IPTI_MNT_FIELDS) X(PTW, ptw, IPTI_PTW_FIELDS)               \
    X(EXSTOP, exstop, IPTI_EXSTOP_FIELDS)                                   \
    X(MWAIT, mwait, IPTI_MWAIT_FIELDS) X(PWRE, pwre, IPTI_PWRE_FIELDS)      \
    X(PWRX, pwrx, IPTI_PWRX_FIELDS) X(BBP, bbp, IPTI_BBP_FIELDS)            \
    X(BIP, bip, IPTI_BIP_FIELDS) X(BEP, bep, IPTI_BEP_FIELDS)               \
    X(CFE, cfe, IPTI_PKT_CFE_FIELDS) X(EVD, evd, IPTI_EVD_FIELDS)           \
    X(TRIG, trig, IPTI_PKT_TRIG_FIELDS) X(UNKNOWN, unknown, IPTI_NO_FIELDS) \
    X(INVALID, invalid, IPTI_NO_FIELDS) X(GAP, gap, IPTI_GAP_FIELDS)

#define IPTI_BRANCH_FIELDS(X) X(branch, to)
#define IPTI_PAGING_FIELDS(X) X(paging, cr3) X(paging, nr)
#define IPTI_EXEC_FIELDS(X) X(exec, mode) X(exec, iflag)
#define IPTI_IFLAGS_FIELDS(X) X(exec, iflag)
#define IPTI_TSX_FIELDS(X) X(tsx, speculative) X(tsx, aborted)
#define IPTI_PTWRITE_FIELDS(X) X(ptwrite, payload) X(ptwrite, size)
#define IPTI_CFE_FIELDS(X)                          \
    X(cfe, data[0]) X(cfe, data[1]) X(cfe, type) \
    X(cfe, has) X(cfe, vector)
#define IPTI_BEGIN_FIELDS(X) X(pebs, id) X(pebs, size)
#define IPTI_ITEM_FIELDS(X) X(pebs, payload) X(pebs, id) X(pebs, size)
#define IPTI_EVENTS(X)                                                      \
    X(NONE, none, IPTI_NO_FIELDS) X(ENABLED, enabled, IPTI_NO_FIELDS)       \
    X(DISABLED, disabled, IPTI_BRANCH_FIELDS)                               \
    X(ASYNC_DISABLED, async_disabled, IPTI_BRANCH_FIELDS)                   \
    X(ASYNC_BRANCH, async_branch, IPTI_BRANCH_FIELDS)                       \
    X(PAGING, paging, IPTI_PAGING_FIELDS)                                   \
    X(ASYNC_PAGING, async_paging, IPTI_PAGING_FIELDS)                       \
    X(VMCS, vmcs, IPTI_VMCS_FIELDS)                                         \
    X(ASYNC_VMCS, async_vmcs, IPTI_VMCS_FIELDS)                             \
    X(OVERFLOW, overflow, IPTI_NO_FIELDS)                                   \
    X(EXEC_MODE, exec_mode, IPTI_EXEC_FIELDS) X(TSX, tsx, IPTI_TSX_FIELDS)  \
    X(STOP, stop, IPTI_NO_FIELDS) X(PTWRITE, ptwrite, IPTI_PTWRITE_FIELDS)  \
    X(EXSTOP, exstop, IPTI_NO_FIELDS) X(MWAIT, mwait, IPTI_MWAIT_FIELDS)    \
    X(PWRE, pwre, IPTI_PWRE_FIELDS) X(PWRX, pwrx, IPTI_PWRX_FIELDS)         \
    X(CBR, cbr, IPTI_CBR_FIELDS) X(MNT, mnt, IPTI_MNT_FIELDS)               \
    X(TIP, tip, IPTI_NO_FIELDS) X(TNT, tnt, IPTI_TNT_FIELDS)                \
    X(CFE, cfe, IPTI_CFE_FIELDS) X(TRIG, trig, IPTI_TRIG_FIELDS)            \
    X(IFLAGS, iflags, IPTI_IFLAGS_FIELDS)                                   \
    X(PEBS_BEGIN, pebs_begin, IPTI_BEGIN_FIELDS)                            \
    X(PEBS_ITEM, pebs_item, IPTI_ITEM_FIELDS)                               \
    X(PEBS_END, pebs_end, IPTI_NO_FIELDS) X(TICK, tick, IPTI_NO_FIELDS)     \
    X(GAP, gap, IPTI_GAP_FIELDS)

/* Each enumerator has a row, at its place. */
#define IPTI_X(suffix, name, fields) IPTI_ROW_PKT_##suffix,
enum { IPTI_PACKETS(IPTI_X) IPTI_ROW_PKT_COUNT };
#undef IPTI_X
#define IPTI_X(suffix, name, fields) IPTI_ROW_EVT_##suffix,
enum { IPTI_EVENTS(IPTI_X) IPTI_ROW_EVT_COUNT };
#undef IPTI_X
#define IPTI_X(suffix, name, fields) \
    && (int) IPTI_ROW_PKT_##suffix == (int) IPT_PKT_##suffix
IPTI_STATIC_ASSERT(packets, (int) IPTI_ROW_PKT_COUNT == (int) IPT_PKT_COUNT
                                IPTI_PACKETS(IPTI_X));
#undef IPTI_X
#define IPTI_X(suffix, name, fields) \
    && (int) IPTI_ROW_EVT_##suffix == (int) IPT_EVT_##suffix
IPTI_STATIC_ASSERT(events, (int) IPTI_ROW_EVT_COUNT == (int) IPT_EVT_COUNT
                               IPTI_EVENTS(IPTI_X));
#undef IPTI_X

/* Of each row its name, the names of its fields, and an empty text. */
#define IPTI_FIELD_NAME(member, field) #field "\0"
#define IPTI_X(suffix, name, fields) #name "\0" fields(IPTI_FIELD_NAME) "\0"
static const char ipti_pkt_texts[] = IPTI_PACKETS(IPTI_X);
static const char ipti_evt_texts[] = IPTI_EVENTS(IPTI_X);
#undef IPTI_X

/* The fields of all rows, one after another. */
typedef struct ipti_field {
    uint8_t at; /* offset in the packet or event */
    uint8_t size;
} ipti_field;

#define IPTI_X(suffix, name, fields) fields(IPTI_FIELD_AT)
#define IPTI_FIELD_OF(type, path) \
    {(uint8_t) offsetof(type, path), (uint8_t) sizeof(((type *) 0)->path)},
#define IPTI_FIELD_AT(member, field) IPTI_FIELD_OF(ipt_packet, u.member.field)
static const ipti_field ipti_pkt_fields[] = {IPTI_PACKETS(IPTI_X) {0, 0}};
#undef IPTI_FIELD_AT
#define IPTI_FIELD_AT(member, field) IPTI_FIELD_OF(ipt_event, u.member.field)
static const ipti_field ipti_evt_fields[] = {IPTI_EVENTS(IPTI_X) {0, 0}};
#undef IPTI_FIELD_AT
#undef IPTI_FIELD_OF
#undef IPTI_X

static const char ipti_insn_names[] =
    "other\0jcc\0jmp\0call\0jmp_indirect\0call_indirect\0ret\0jmpabs\0"
    "far_call\0far_jmp\0far_ret\0int\0syscall\0vmcall\0iret\0uiret\0vmentry\0"
    "rsm\0xbegin\0ptwrite\0mov_cr3\0vmptrld\0into\0";

/* The text with index i. */
static const char *ipti_text(const char *texts, unsigned i)
{
    while (i > 0)
        if (*texts++ == 0)
            i--;
    return texts;
}

/* The name of a row, of which there are `count`. Its fields begin at
 * *field, if that is not NULL. */
static const char *ipti_row(const char *texts, unsigned row, unsigned count,
                            const ipti_field **field)
{
    if (row >= count)
        return "?\0"; /* a row without fields */
    while (row > 0) {
        texts = ipti_text(texts, 1);
        if (*texts == 0) {
            texts++;
            row--;
        } else if (field) {
            ++*field;
        }
    }
    return texts;
}

/* A text that is written, as far as it has room. */
typedef struct ipti_words {
    char *to;
    size_t size;
    size_t used; /* may be more */
} ipti_words;

static void ipti_words_char(ipti_words *words, char c)
{
    if (words->used < words->size)
        words->to[words->used] = c;
    words->used++;
}

static void ipti_words_text(ipti_words *words, const char *text)
{
    while (*text)
        ipti_words_char(words, *text++);
}

static void ipti_words_hex(ipti_words *words, uint64_t value)
{
    unsigned shift = 60;

    while (shift && !(value >> shift))
        shift -= 4;
    for (;; shift -= 4) {
        ipti_words_char(words, "0123456789abcdef"[value >> shift & 15]);
        if (!shift)
            break;
    }
}

/* An item's field: of 1, 2, 4 or 8 bytes. */
static uint64_t ipti_field_value(const void *item, const ipti_field *field)
{
    const void *p = (const uint8_t *) item + field->at;

    return field->size == 1   ? *(const uint8_t *) p
           : field->size == 2 ? *(const uint16_t *) p
           : field->size == 4 ? *(const uint32_t *) p
                              : *(const uint64_t *) p;
}

/* The words of the item that has this row. */
static int ipti_words_of(const char *row, const ipti_field *field,
                         const void *item, char *text, size_t size)
{
    ipti_words words = {text, size, 0};

    ipti_words_text(&words, row);
    while (*(row = ipti_text(row, 1)) != 0) {
        ipti_words_char(&words, ' ');
        ipti_words_text(&words, row);
        ipti_words_char(&words, '=');
        ipti_words_hex(&words, ipti_field_value(item, field++));
    }
    text[words.used < size ? words.used : size - 1] = 0;
    return (int) words.used;
}

IPT_API int ipt_packet_words(const ipt_packet *packet, char *text, size_t size)
{
    const ipti_field *field = ipti_pkt_fields;
    const char *row;

    if (!packet || !text || size == 0)
        return IPT_ERR_ARG;
    row = ipti_row(ipti_pkt_texts, packet->type, IPT_PKT_COUNT, &field);
    return ipti_words_of(row, field, packet, text, size);
}

IPT_API int ipt_event_words(const ipt_event *event, char *text, size_t size)
{
    const ipti_field *field = ipti_evt_fields;
    const char *row;

    if (!event || !text || size == 0)
        return IPT_ERR_ARG;
    row = ipti_row(ipti_evt_texts, event->type, IPT_EVT_COUNT, &field);
    return ipti_words_of(row, field, event, text, size);
}

/* A text for a status: 0 its name, 1 cause, 2 remedy; `good` for one that is no
 * error. */
static const char *ipti_status_text(unsigned which, int status,
                                    const char *good)
{
    unsigned i;

    for (i = 0; i < sizeof(ipti_status_values); i++)
        if (ipti_status_values[i] == status)
            return ipti_text(ipti_status_texts, 3 * i + which);
    return status >= 0 ? good : "?";
}

IPT_API const char *ipt_status_name(int status)
{
    return ipti_status_text(0, status, "IPT_OK");
}

IPT_API const char *ipt_status_cause(int status)
{
    return ipti_status_text(1, status, "success");
}

IPT_API const char *ipt_status_remedy(int status)
{
    return ipti_status_text(2, status, "nothing to do");
}

IPT_API const char *ipt_pkt_name(uint8_t type)
{
    return ipti_row(ipti_pkt_texts, type, IPT_PKT_COUNT, NULL);
}

IPT_API const char *ipt_evt_name(uint8_t type)
{
    return ipti_row(ipti_evt_texts, type, IPT_EVT_COUNT, NULL);
}

IPT_API const char *ipt_insn_name(uint8_t kind)
{
    return kind < IPT_INSN_COUNT ? ipti_text(ipti_insn_names, kind) : "?";
}

#endif /* IPT_NO_STRINGS */

#if (defined(__ARM_ARCH_6M__) || defined(__ARM_ARCH_8M_BASE__)) \
    && defined(__GNUC__) && !defined(__clang__)
#pragma GCC pop_options
#endif

#ifdef __cplusplus
}
#endif
#endif /* IPT_IMPL_H */
