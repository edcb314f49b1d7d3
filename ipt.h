/* ipt.h - decode Intel Processor Trace anywhere: no heap, no libc, no OS.
 *
 * SPDX-License-Identifier: MIT
 *
 * DO THIS
 *
 *   Copy ipt.h and ipt_impl.h. Include "ipt.h" wherever you need it; in one C
 *   or C++ file put `#define IPT_IMPLEMENTATION` before it. To decode a trace:
 *
 *       static ipt_cache_line lines[4096];      // 256 KiB
 *       static ipt_insn_decoder decoder;        // less than 3 KiB
 *       ipt_segment piece = {trace_bytes, trace_size};
 *       ipt_trace trace = {&piece, 1, 0, 0};
 *       static ipt_config config;               // all zero
 *       ipt_cache cache;                        // makes it faster
 *       ipt_insn insn;
 *       int status;
 *
 *       config.read = read_code;                // see CODE
 *       ipt_cache_init(&cache, lines, 4096);
 *       ipt_insn_init(&decoder, &config, &trace, &cache); // or NULL: none
 *       status = ipt_insn_sync_forward(&decoder);
 *       while (status >= 0 || status == IPT_EVENT_FIRST) {
 *           status = ipt_insn_next(&decoder, &insn);
 *           if (status >= 0)
 *               use(&insn);
 *       }
 *       // IPT_END: done. IPT_ERR_STATE: _init failed. Else see decoder.at.
 *
 *   To decode a stream, with trace.open = 1, config.fuel = &fuel, and recovery
 *   from errors (a VM exit handler returns for more(), fuel and missing pages):
 *
 *       int (*find)(ipt_insn_decoder *) = ipt_insn_sync_forward;
 *       do {
 *           status = find ? find(&decoder) : ipt_insn_next(&decoder, &insn);
 *           if (status >= 0 || status == IPT_EVENT_FIRST) {
 *               if (!find && status >= 0)
 *                   use(&insn);
 *               find = NULL;
 *           } else if (status == IPT_MORE)
 *               more(&trace);                   // append, or open = 0
 *           else if (status == IPT_BUDGET)
 *               fuel = 10000;                   // when there is time
 *           else if (status != IPT_END)         // error, page given up
 *               find = find ? ipt_insn_sync_forward : ipt_insn_resync;
 *       } while (status != IPT_END && status != IPT_ERR_STATE);
 *
 *   examples/minimal.c is the first as a program, vmm.c the second in a VMM.
 *
 * WHICH LAYER
 *
 *   packets        ipt_pkt_*   what the bytes say; needs no code
 *   events         ipt_evt_*   packets bound together; needs no code
 *   queries        ipt_qry_*   events, branch by branch, for your own walk
 *   blocks         ipt_blk_*   straight runs of instructions, in order
 *   instructions   ipt_insn_*  the same, one instruction at a time
 *   coverage       ipt_cov_*   edges counted, as fast as it goes
 *   hot traces     ipt_hot_*   blocks that often run one after the other
 *   a trace        ipt_gen_*   the other direction: execution to trace
 *
 *   The first five have the same verbs: _init, _sync_forward, _sync_backward,
 *   _sync_set, _next. Queries have no _next. Coverage takes a whole trace. All
 *   six read an ipt_trace under an ipt_config; [hot] takes blocks.
 *
 * CONTRACT
 *
 *   Memory.   You place every struct and array. There is nothing to free. A
 *             plain memcpy clones a decoder; the clone decodes as the original
 *             would. _init borrows its arguments and all they point to: leave
 *             them in place while the decoder is in use (pieces: ipt_trace).
 *   Fields    that end in an underscore are private. Every decoder begins with
 *             a public one, `ipt_where at`: where decoding stopped, and why.
 *   Zero      in a config field means the default.
 *   Trust.    Trace bytes, code bytes and what callbacks return are hostile:
 *             whatever they hold, you get a status, never undefined behaviour.
 *             Pointers and struct contents that you pass are trusted.
 *   Threads.  Nothing is global. Only one thread at a time may use a decoder,
 *             or any of the decoders that share a cache, memo or fuel counter.
 *             Decoders in parallel threads may share a trace, and a config
 *             without fuel whose callbacks may run in parallel.
 *   Bounds.   No recursion, no allocation, less than 1 KiB of stack (gcc -O2 or
 *             -Os on x86-64, without your callbacks). A loop over a _next that
 *             stops at errors ends on a finite trace; fuel bounds each call.
 *   Trace     bytes are only read, and only inside the pieces you gave. Forward
 *             decoding never reads below at.release again.
 *
 * STATUS
 *
 *   Every function returns an int, except for texts and ipt_rtit_ctl_missing.
 *     >= 0         success: the results were written. Bits: IPT_EVENT_PENDING,
 *                  IPT_IP_SUPPRESSED, IPT_LAST, IPT_UNPROVEN
 *     -1 .. -15    a note: nothing is wrong, and no result was written. Call
 *                  again once its cause is gone; after EVENT_FIRST, at once
 *     -16 .. -31   an error of your call      -32 .. -63  of the trace
 *     -64 .. -95   of the image or the code   -127        of ipt: please report
 *   With a negative status no item is written. All items decoded before an
 *   error are given before it. Errors of trace and code are repeated until a
 *   _sync or _resync; IMAGE, CALLBACK and BAD_INSN only until your callback
 *   answers differently, TRUNCATED until the missing bytes arrive.
 *
 *   Interrupts, mode changes, loss of trace and the like are events, each bound
 *   to a place between two instructions. They are given in order: as long as a
 *   status has IPT_EVENT_PENDING, ipt_insn_event (ipt_blk_event) gives one. If
 *   you do not fetch them, they are dropped; flow is the same.
 *
 * CODE
 *
 *   ipt reads traced code only through config.read:
 *
 *       int read(uint8_t *buffer, size_t size, const ipt_asid *asid,
 *                uint64_t ip, void *context);
 *
 *   1. It copies the bytes at the linear address ip (or see
 *      IPT_CONFIG_RELATIVE_IP). Expect any ip, in any order, canonical or not.
 *   2. It returns the number of bytes that it copied, 1 .. size: fewer than
 *      size only if the mapping ends there. size is at most 96, and the bytes
 *      are all in one 4 KiB page. If it can only copy all or nothing, it
 *      returns 0 for nothing, and is asked for fewer bytes: 20 calls at most.
 *   3. It returns 0 or IPT_NEED_PAGE if the byte at ip is not available now.
 *      The decoder stops with IPT_NEED_PAGE; at.missing and at.asid name the
 *      missing byte. The next call asks again; nothing is repeated or lost. For
 *      errata BDM64 and SKD022 the decoder also looks at, but never waits for,
 *      code that flow may not reach.
 *   4. It returns any other negative value for an error of its own: the decoder
 *      keeps that value in at.image_error and returns IPT_ERR_IMAGE.
 *   5. It does not call into the same decoder or cache.
 *
 * TRACE
 *
 *   One ipt_trace holds the trace of one logical processor (or thread). Its
 *   segments are the pieces of memory that hold the trace, oldest first.
 *     perf      the AUX ring, as two segments; ptsplit cuts up a perf.data
 *     KVM       a perf event with exclude_host. kAFL and Nyx: the ToPA buffer
 *               of a vcpu, which is mapped, after each run
 *     Xen       vmtrace, a ring per vcpu: [position, size), then [0, position)
 *     own MSRs  ipt_segments_from_topa, ipt_config_from_msrs: examples/msr.c
 *   A ring buffer that has wrapped starts inside a packet: use _sync_forward.
 *
 * IN PARALLEL
 *
 *   A trace can be cut at any PSB (ipt_pkt_sync_forward finds them) and its
 *   parts decoded in parallel, each with a decoder and a cache of its own: no
 *   branch is in flight across a PSB, and a PSB empties the return stack. To
 *   join two parts, let decoder B start at the PSB by _sync_set, and let
 *   decoder A, which started earlier, go on past that PSB. Find an event with
 *   IPT_EVENT_SEAM that both give at the same offset. Compare the first JCC,
 *   RET or indirect branch (insn.kind) that each gives after it. If ip, mode,
 *   address space (at.asid before its _next) and IPT_FLOW_SPECULATIVE are
 *   equal, so is all that follows: use A's items up to and including that
 *   branch, then B's. If they differ, or if an error comes first, try the next
 *   such event. Before the join only A's items are right: B does not know
 *     - mode, address space and TSX state that the PSB+ does not repeat,
 *     - whether tracing resumes where it was disabled, and therefore
 *       IPT_FLOW_RESYNCED, _ASID and _STOPPED of the next instruction,
 *     - PWRE and MWAIT events in progress; IPT_EVENT_SEAM is not set then.
 *   Even after the join, these may differ: time (at.tsc, at.cbr, lost_mtc,
 *   lost_cyc), TICK events and inferred CFE events. See ptparallel.c.
 *
 * References name sections of the Intel SDM, volume 3, chapter "Intel Processor
 * Trace", order number 325462-081. */

#ifndef IPT_H
#define IPT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* 0xMMmmpp. _init stores it, mixed with the struct's size, in each struct. */
#define IPT_VERSION 0x000200

/* Macros, to be defined before ipt.h is included. None changes a struct.
 *
 *   IPT_IMPLEMENTATION  in one file: compile the bodies
 *   IPT_STATIC          only with IPT_IMPLEMENTATION: all functions are static,
 *                       and the compiler drops those that are not called
 *   IPT_API             linkage of the functions, if `extern` does not suit
 *   IPT_MEMCPY IPT_MEMMOVE IPT_MEMSET IPT_MEMCMP
 *                       replace the compiler's own, also where structs are
 *                       copied: define all four or none. They take libc's
 *                       arguments (EDK II's SetMem has another order)
 *   IPT_NO_STRINGS      leaves out the functions that return or write texts
 *   IPT_NO_CLOCK        saves the code for time: decodes as if each config had
 *                       IPT_CONFIG_NO_TIME */
#ifndef IPT_API
#ifndef IPT_STATIC
#define IPT_API extern
#elif defined(__GNUC__)
#define IPT_API static __attribute__((__unused__))
#else
#define IPT_API static inline
#endif
#endif

/* ==========================================================================
 * Status
 * ========================================================================== */

/* X(name, value, cause, remedy) */
#define IPT_STATUS_LIST(X)                                                    \
    X(IPT_END, -1, "the trace ends here", "nothing to do")                    \
    X(IPT_MORE, -2, "more bytes are needed to go on",                         \
      "append them, or end the trace: open = 0")                              \
    X(IPT_BUDGET, -3, "config.fuel is used up", "refill it and call again")   \
    X(IPT_NEED_PAGE, -4, "code at at.missing is not there",                   \
      "supply it and call again, or synchronise further on")                  \
    X(IPT_EVENT_FIRST, -5, "an event comes before the next instruction",      \
      "pull it with _event; or just call again")                              \
    X(IPT_NO_TIME, -6, "there is no timing information yet",                  \
      "go on; give nom_freq or cpuid_15_* if cycles are to be counted")       \
    X(IPT_ERR_ARG, -16, "an argument is NULL or out of range",                \
      "check the call")                                                       \
    X(IPT_ERR_STATE, -17, "the struct was not initialised by this version",   \
      "call its _init; build all files with the same ipt.h")                  \
    X(IPT_ERR_CONFIG, -18, "a field of the config is NULL or out of range",   \
      "check read, flags, errata, unwanted, mode, mtc_freq, filter, "         \
      "cpuid_15_*, memo")                                                     \
    X(IPT_ERR_NOSYNC, -19, "the decoder is not synchronised",                 \
      "call a _sync function; _sync_set wants the offset of a PSB")           \
    X(IPT_ERR_ROOM, -20, "the buffer given is too small",                     \
      "give a larger one")                                                    \
    X(IPT_ERR_GONE, -21, "earlier trace is needed that is gone",              \
      "keep more pieces, or synchronise forward")                             \
    X(IPT_ERR_QUERY, -22, "the trace does not hold what was asked for next",  \
      "ask for what the code needs; drain events first")                      \
    X(IPT_ERR_OPCODE, -32, "no packet begins with these bytes",               \
      "synchronise forward; see config.unknown")                              \
    X(IPT_ERR_PACKET, -33, "a packet has reserved or contradictory bits",     \
      "synchronise forward")                                                  \
    X(IPT_ERR_TRUNCATED, -34, "the trace ends inside a packet",               \
      "append the rest, or take it as the end")                               \
    X(IPT_ERR_CONTEXT, -35, "the packet is not legal at this place",          \
      "synchronise forward")                                                  \
    X(IPT_ERR_NO_IP, -36, "the IP that is needed here is not in the packet",  \
      "synchronise forward")                                                  \
    X(IPT_ERR_STATUS, -37, "a PSB+ contradicts what was decoded before it",   \
      "synchronise to at.sync; trace was lost or corrupted before it")        \
    X(IPT_ERR_EVENTS, -38, "too many packets wait to be bound to an IP",      \
      "synchronise forward")                                                  \
    X(IPT_ERR_MISMATCH, -39, "the trace does not fit the code at at.ip",      \
      "check that the image holds the code that ran; then synchronise")       \
    X(IPT_ERR_RETURN, -40, "a compressed return has no call to return to",    \
      "synchronise forward; was DisRETC set while this was traced?")          \
    X(IPT_ERR_MODE, -41, "the execution mode is not known",                   \
      "synchronise to a PSB+ that holds a MODE.Exec")                         \
    X(IPT_ERR_RETCOMP, -42, "a return would take a TNT bit of 0",              \
      "check that the image holds the code that ran; then synchronise")       \
    X(IPT_ERR_RETURN_LOST, -43, "a return's call was before a loss of trace", \
      "resync: flow goes on at the next IP in the trace")                     \
    X(IPT_ERR_NO_TNT, -44, "where a branch went was not traced",              \
      "resync: flow goes on at the next IP in the trace")                     \
    X(IPT_ERR_IMAGE, -64, "config.read failed, see at.image_error",           \
      "see your callback")                                                    \
    X(IPT_ERR_CALLBACK, -65, "a callback's answer breaks its contract",       \
      "see your callback")                                                    \
    X(IPT_ERR_BAD_INSN, -66, "no instruction begins with the bytes at at.ip", \
      "check that the image holds the code that ran; then synchronise")       \
    X(IPT_ERR_LOOP, -67, "the code at at.ip loops endlessly without trace",   \
      "check that the image holds the code that ran; then synchronise")       \
    X(IPT_ERR_INTERNAL, -127, "a state that should not exist",                \
      "please report it, with the trace")

#define IPT_X_(name, value, cause, remedy) name = value,
enum ipt_status { IPT_STATUS_LIST(IPT_X_) IPT_OK = 0 };
#undef IPT_X_

/* Bits of a non-negative status. */
#define IPT_EVENT_PENDING 1 /* an _event call has an event to give */
#define IPT_IP_SUPPRESSED 2 /* tracing is disabled after this item, or the flow
                             * after it is skipped (IPT_CONFIG_ROOT_ONLY ...) */
#define IPT_UNPROVEN 4      /* the trace no longer proves this item; its offset
                             * is that of the end of the trace */
#define IPT_LAST 8          /* [blk] [insn]: a hint. If it is set, the trace is
                             * closed, and no proven item and no event follows.
                             * It may be missing although nothing follows: in
                             * skipped flow; if only unusable packets or events
                             * of config.unwanted remain; after an event, or an
                             * item that waited for a _sync or _resync, if fuel
                             * or code did not last to look ahead */

#ifndef IPT_NO_STRINGS

/* Name, cause and remedy of a status, in English, never NULL. The name of every
 * non-negative status is "IPT_OK". */
IPT_API const char *ipt_status_name(int status);
IPT_API const char *ipt_status_cause(int status);
IPT_API const char *ipt_status_remedy(int status);

#endif

/* Which function returns which notes and faults (IPT_ and IPT_ERR_ left out).
 * X is any layer that has the function; + f: those of f as well. Not shown:
 * every function checks its arguments and its struct (ARG, STATE), and every
 * function that reads trace returns GONE if you dropped bytes at or above
 * at.release.
 *
 *   function                      notes                   faults
 *   ipt_X_init                                            CONFIG
 *   ipt_X_sync_forward            END MORE BUDGET
 *   ipt_X_sync_backward           END BUDGET              GONE
 *   ipt_X_sync_set                BUDGET                  NOSYNC; not [pkt]
 *   ipt_X_start                   BUDGET                  [cov]: CONFIG
 *   ipt_pkt_next                  END MORE BUDGET         OPCODE PACKET NOSYNC
 *                                                         TRUNCATED CALLBACK
 *   ipt_evt_next                  + ipt_pkt_next          CONTEXT NO_IP STATUS
 *                                                         EVENTS
 *   ipt_qry_cond_branch, _indirect_branch, _event
 *                                 + ipt_evt_next          QUERY
 *   ipt_insn_next, ipt_blk_next   + ipt_evt_next          MISMATCH RETURN MODE
 *                                 NEED_PAGE EVENT_FIRST   RETCOMP IMAGE LOOP
 *                                                         BAD_INSN CALLBACK
 *                                                         RETURN_LOST NO_TNT
 *   ipt_insn_resync, ipt_blk_     + ipt_evt_next
 *   ipt_insn_event, ipt_blk_      END                     NOSYNC
 *   ipt_insn_set_asid, ipt_blk_                           NOSYNC
 *   ipt_cov_begin                                         CONFIG
 *   ipt_cov_run                   + ipt_insn_next, but    CONFIG
 *                                 not EVENT_FIRST
 *   ipt_cov_resync                END MORE BUDGET         CONFIG
 *   ipt_cache_invalidate, ipt_cov_  BUDGET
 *   ipt_time_packet               NO_TIME                 CONTEXT CONFIG PACKET
 *   ipt_pkt_encode                                        ROOM PACKET
 *   ipt_classify                  MORE                    BAD_INSN
 *   ipt_gen_branch, _event, _flush                        ROOM CONTEXT
 *   ipt_segments_from_topa                                ROOM CALLBACK
 *   ipt_topa_from_regions                                 ROOM */

/* ==========================================================================
 * [base]  trace, image and configuration
 * ========================================================================== */

/* A piece of trace in memory. Pieces are in trace order: one for a plain
 * buffer, two for a ring, many for ToPA. A packet may begin in one piece and
 * end in another.
 *
 * A gap is a piece without bytes. It says that `size` bytes of trace were lost
 * between the pieces before and after it; if you do not know how many, any
 * number up to SIZE_MAX will do. Lost bytes count in stream offsets. Offsets
 * saturate: no gap leads beyond 2^63, and from there on each gap counts for one
 * byte.
 *
 * A gap, together with the packet that it cuts off, is given as one IPT_PKT_GAP
 * and one IPT_EVT_GAP. Decoding goes on by itself at the next PSB. Append a gap
 * as a whole: it must not grow afterwards. */
typedef struct ipt_segment {
    const uint8_t *data; /* NULL: a gap, if size is not 0 */
    size_t size;         /* bytes */
} ipt_segment;

/* The trace. You own it and its segments. Between calls you may
 *   - append segments, or let the last one grow,
 *   - drop segments that end at or below at.release: raise offset by their
 *     sizes, and drop an empty one only together with one that is not,
 *   - have seg point to a copy of the array, for example to a larger one,
 *   - close the trace: open = 0.
 * If decoders share a trace, change it only while none of them is in a call.
 * Use the lowest at.release among them, and cut pieces again (see below) only
 * once all of them have returned IPT_MORE.
 *
 * After IPT_MORE you may also cut the trace into other pieces, as long as bytes
 * and stream offsets stay the same: merge some pieces, or copy the bytes from
 * at.release on to the front of the new bytes and begin there. There are at
 * most 31 bytes to copy, or more only inside a packet of config.unknown.
 *
 * A decoder does not notice any other change, not even in a _sync function. To
 * decode another trace from the same buffer, call _init or ipt_cov_begin. */
typedef struct ipt_trace {
    const ipt_segment *seg;
    uint32_t count;  /* segments */
    uint8_t open;    /* 1: more will come, so its end is IPT_MORE; 0: IPT_END */
    uint64_t offset; /* stream offset of seg[0].data[0], at most 2^63 before
                      * the first gap. It defines where all offsets that ipt
                      * reports count from: usually the first byte traced */
} ipt_trace;

/* An address space. cr3 and vmcs are IPT_ASID_UNKNOWN until the trace has a PIP
 * and a VMCS packet. */
#define IPT_ASID_UNKNOWN 0xffffffffffffffffu
typedef struct ipt_asid {
    uint64_t cr3;  /* bits 51:5 of CR3 from the last PIP, others 0. The page
                    * table is at bits 51:12; bits 11:5 may be of a PCID */
    uint64_t vmcs; /* physical address from the last VMCS packet, or
                    * IPT_ASID_UNKNOWN if that packet says there is no VMCS */
    uint8_t nr;    /* 1: VMX non-root operation (PIP.NR) */
} ipt_asid;

/* Execution modes (MODE.Exec: CS.L and CS.D). */
enum ipt_mode {
    IPT_MODE_UNKNOWN,
    IPT_MODE_16,
    IPT_MODE_32,
    IPT_MODE_64,
    IPT_MODE_COUNT
};

typedef struct ipt_packet ipt_packet;
typedef struct ipt_code ipt_code;

/* A range of addresses that tracing was restricted to (IA32_RTIT_ADDRn). */
enum ipt_filter_kind { IPT_FILTER_OFF, IPT_FILTER_TRACE, IPT_FILTER_STOP };
#define IPT_FILTERS 4
typedef struct ipt_filter {
    uint64_t first;
    uint64_t last; /* inclusive; if it is below first, the range is empty */
    uint8_t kind;  /* IPT_FILTER_: not used, trace in here, stop in here */
} ipt_filter;

/* Settings, constant while a decoder runs. Begin with all zero. _init checks
 * them once and keeps the pointer; all layers use the same type. */
typedef struct ipt_config {
    /* Your own pointer, passed to every callback below. */
    void *context;

    /* Read traced code; the five rules are under CODE above. [blk], [insn] and
     * [cov] need it; the other layers do not use it. */
    int (*read)(uint8_t *buffer, size_t size, const ipt_asid *asid,
                uint64_t ip, void *context);

    /* Classifies an instruction, with the contract of ipt_classify; 0: use
     * ipt_classify. zydis_glue/ipt_zydis.h has one that uses Zydis. */
    int (*classify)(ipt_code *code, const uint8_t *bytes, size_t size,
                    uint8_t mode, void *context);

    /* Called for bytes that begin no known packet, with up to 16 bytes of the
     * trace at packet->offset. If the packet is yours, fill packet->u.unknown
     * as you like and return the packet's size, 1 .. 255; if not, return a
     * negative value. 0: there are no such packets. */
    int (*unknown)(ipt_packet *packet, const uint8_t *bytes, size_t size,
                   void *context);

    /* Maps an address space to the number of a code space: address spaces with
     * equal numbers have the same code at the same addresses, so that the cache
     * can share it. 0: each (cr3, vmcs, nr) is a code space of its own. */
    uint64_t (*space)(const ipt_asid *asid, void *context);

    /* Like `space`, for a range of addresses: between two invalidations,
     * address spaces with equal numbers have the same code at the same
     * addresses from *first to *last. You choose that range of whole pages
     * around ip; before the call it is the page of ip. With one range for the
     * kernel and one for the rest, a kernel is read once for all processes. It
     * is called when flow enters a range. It replaces `space` for the cache,
     * but not for memos: they learn the kernel again for each `space`. ip and
     * range are addresses as in ipt_cache_invalidate. 0: `space` holds for all
     * addresses. */
    uint64_t (*space_at)(const ipt_asid *asid, uint64_t ip, uint64_t *first,
                         uint64_t *last, void *context);

    /* CS.base, where the code segment of the code at ip begins. For firmware:
     * real mode, SMM, segments of 16 and 32 bits. It is called when code is
     * read, except in 64-bit mode. Its answers may change whenever those of
     * config.read may. 0: CS begins at 0. If it does not, and you do not know
     * where, see IPT_CONFIG_RELATIVE_IP. */
    uint64_t (*cs_base)(const ipt_asid *asid, uint64_t ip, uint8_t mode,
                        void *context);

    /* Identifies the file, or whatever else the code at ip is mapped from, by a
     * number. Blocks end where the number changes. It is called for each
     * instruction when code is read, with the address that `read` gets. Its
     * answers may change whenever those of `read` may. Decoders that share a
     * cache share this callback, too. 0: blocks do not end between mappings. */
    uint64_t (*section)(const ipt_asid *asid, uint64_t ip, void *context);

    /* Work that calls may do before they return IPT_BUDGET. One unit pays for
     * 16 trace bytes, for an instruction walked or classified, or for a
     * callback. Calls count it down. At zero a call only finishes a packet, or
     * a run of at most 32 instructions, that it has begun. Refill the counter
     * and call again: decoding goes on where it stopped. NULL: no bound.
     * A call may leave up to 256 bytes of trace for a later call to pay for; a
     * call that fails pays for all of them. A unit takes at most 25,000 host
     * instructions (gcc -O2 on x86-64), not counting callbacks and pieces
     * without bytes.
     * If you invalidate all code before every call, each call reads its code
     * again. It then needs more than two units for each of 32 instructions and
     * one for each callback, or it makes no progress. */
    uint64_t *fuel;

    uint32_t flags;  /* IPT_CONFIG_ */
    uint32_t errata; /* IPT_ERRATUM_, of the processor that traced */

    /* Event types to suppress, as bits 1 << IPT_EVT_; 0: none. TNT and TIP are
     * always given. A suppressed event still takes effect on flow, mode,
     * address space and time, and at.dropped does not count it. It ends a block
     * only if it changes where flow goes, the mode, the address space or the
     * state of a transaction. */
    uint64_t unwanted;

    /* Facts about the traced cpu that improve time. Without them time is
     * coarser, and nothing else changes. */
    uint32_t cpuid_15_eax; /* CPUID leaf 0x15: the TSC counts ebx ticks in */
    uint32_t cpuid_15_ebx; /* eax ticks of the crystal clock. If either is 0,
                            * MTC packets cannot be used */
    uint8_t mtc_freq;      /* RTIT_CTL.MTCFreq during tracing, 0 .. 15 */
    uint8_t nom_freq;      /* TSC rate in units of the bus clock: bits 15:8 of
                            * MSR_PLATFORM_INFO. 0: CBR packets do not give the
                            * length of a cycle */

    /* The mode to assume until the trace has a MODE.Exec. 0: decoding ends with
     * IPT_ERR_MODE where the mode is needed and not known. */
    uint8_t mode; /* IPT_MODE_ */

    /* The address filters during tracing. Used only to find where SKL014 lost
     * an IP. */
    ipt_filter filter[IPT_FILTERS];

    /* With IPT_CONFIG_CR3_ONLY: decode only where CR3 equals `cr3` in the bits
     * of cr3_mask; cr3 has the format of the register. PIP packets hold bits
     * 51:5, so only these are compared. cr3_mask 0: all of them. */
    uint64_t cr3;
    uint64_t cr3_mask; /* clear bit 12 to match both halves of a process under
                        * Linux's page-table isolation, bits 11:5 to match any
                        * PCID */
} ipt_config;

/* config.flags */
#define IPT_CONFIG_NO_RETCOMP 0x01u /* traced with RTIT_CTL.DisRETC = 1 */
#define IPT_CONFIG_IFLAGS 0x02u     /* give IPT_EVT_IFLAGS events */
#define IPT_CONFIG_STRICT 0x04u     /* a PSB+ without PSBEND is an error */
#define IPT_CONFIG_WALK_ON 0x08u    /* go on after the end of a closed trace,
                                     * up to the first branch that needs trace:
                                     * IPT_UNPROVEN */
#define IPT_CONFIG_END_ON_CALL 0x10u /* end blocks after direct near calls */
#define IPT_CONFIG_END_ON_JUMP 0x20u /* end blocks after direct near jumps */
#define IPT_CONFIG_TICKS 0x40u     /* give IPT_EVT_TICK events */
#define IPT_CONFIG_KEEP_TCAL 0x80u /* OVF leaves the length of a cycle known */
#define IPT_CONFIG_MONOTONIC 0x100u /* time does not go backwards: an estimate
                                     * below an earlier one is held back until
                                     * time has passed that one, and a TSC that
                                     * wraps at 56 bits goes on above them */
/* The next three flags restrict [blk], [insn] and [cov] to one kind of flow.
 * Other flow is skipped: its code is not read, and its events ASYNC_BRANCH,
 * TSX, PTWRITE, TRIG, IFLAGS and PEBS_ are not given. After the PIP that leads
 * back, decoding goes on at the first packet with an IP. An address space that
 * is not known counts as root operation, and as different from config.cr3; see
 * _set_asid.
 *
 * The skipped flow has to fulfil two conditions. It returns from every call
 * that it makes, as VM exit handlers do; traces without return compression do
 * not need this. Its TIPs are not deferred (SDM: "Deferred TIPs"): the decoder
 * takes all TNT bits before the packet with the IP as those of skipped flow. */
#define IPT_CONFIG_ROOT_ONLY 0x200u /* VMX root operation: hosts, no VMX */
#define IPT_CONFIG_NON_ROOT_ONLY 0x400u /* guests */
#define IPT_CONFIG_CR3_ONLY 0x800u /* where CR3 is config.cr3, see there */
#define IPT_CONFIG_VMX_EVENTS 0x1000u /* give CFE events, with
                                       * IPT_CFE_INFERRED, for VM entries and
                                       * exits that only PIP.NR shows, as long
                                       * as the trace has no CFE packets */
/* Set: outside of 64-bit mode IPs count from CS.base, as in the traces of
 * processors with CPUID.14H:ECX[31] = 0. This goes for the IPs in all results,
 * in filters and in ipt_cache_invalidate; config.read gets cs_base + ip.
 * Not set: IPs are linear addresses.
 * Direct branches with 16-bit operands stay in the 64 KiB from CS.base on. The
 * exception: IPs are linear and config.cs_base is 0. */
#define IPT_CONFIG_RELATIVE_IP 0x2000u
#define IPT_CONFIG_NO_TIME 0x4000u /* no time: timing packets are skipped. tsc,
                                    * cbr, lost_mtc and lost_cyc of `at` and
                                    * of events are 0, IPT_AT_TSC and
                                    * IPT_EVENT_TSC are never set, and there are
                                    * no TICK events. All else is the same.
                                    * ipt_time_ functions ignore this flag */
/* A compressed return whose call is from before a loss goes to that call, as in
 * libipt, instead of giving IPT_ERR_RETURN_LOST. This is right only if the lost
 * flow returned from each call it made, and from no other: if it did not, the
 * decoder gives instructions that never ran. */
#define IPT_CONFIG_KEEP_CALLS 0x8000u
/* The trace has no TNT packets (RTIT_CTL.DisTNT = 1). The decoder gives flow as
 * far as TIP and FUP prove it. Flow ends after a conditional branch; after an
 * INTO, because the next TIP may belong to a later branch; and, unless
 * NO_RETCOMP is set, after a near return. There the next call returns
 * IPT_ERR_NO_TNT, and _resync goes on at the next IP. If there is a TNT bit
 * nevertheless, the branch uses it. */
#define IPT_CONFIG_NO_TNT 0x10000u
#define IPT_CONFIG_FLAGS_ 0x1ffffu

/* config.errata. BDM70 (SKD024, SKL021, KBL021) needs no flag. */
#define IPT_ERRATUM_BDM64 0x01u  /* wrong branch target before a TSX abort */
#define IPT_ERRATUM_SKD007 0x02u /* OVF overwrites part of a CYC */
#define IPT_ERRATUM_SKD010 0x04u /* FUP or TIP.PGE missing after OVF */
#define IPT_ERRATUM_SKD022 0x08u /* bogus FUP at VM entry that disables */
#define IPT_ERRATUM_SKL014 0x10u /* no IP in TIP.PGD of a direct branch */
#define IPT_ERRATUM_SKL168 0x20u /* CYC and MTC dropped before PSB */
#define IPT_ERRATUM_SKZ84 0x40u  /* corrupt TMA under VMX TSC scaling */
#define IPT_ERRATUM_APL11 0x80u  /* OVF may be followed by TIP.PGD */
#define IPT_ERRATUM_APL12 0x100u /* OVF may be followed by a bogus FUP */
#define IPT_ERRATUM_NLIP 0x200u  /* Goldmont: the FUP before an indirect or far
                                  * branch has the IP after that branch */
#define IPT_ERRATUM_ALL_ 0x3ffu

/* The errata of a processor, for config.errata. family and model are those of
 * CPUID leaf 1: the extended family is added to the family, and the extended
 * model is the upper four bits of the model.
 *
 * returns  1: *errata was written; 0: the processor is not in the list, and
 *          *errata is 0
 *          IPT_ERR_ARG */
IPT_API int ipt_cpu_errata(uint32_t *errata, uint16_t family, uint8_t model);

/* The position of a decoder, and where and why it stopped. Read-only. */
typedef struct ipt_where {
    uint64_t offset;        /* stream offset of the first packet not yet used */
    uint64_t release;       /* forward decoding reads no trace below this any
                             * more; up to 15 bytes below offset, or up to 31
                             * while a _sync_forward is not done */
    uint64_t sync;          /* offset of the last PSB read (IPT_AT_SYNC); flow
                             * may not have reached it yet */
    uint64_t packet_offset; /* offset of the packet read last; see packet */
    uint64_t ip;            /* [blk] [insn] [cov]: the next instruction
                             * (IPT_AT_IP); after an error of the trace or the
                             * code, the instruction concerned */
    uint64_t missing;       /* after IPT_NEED_PAGE: the first missing byte, as
                             * config.read was asked for it */
    uint64_t tsc;           /* time of the item given last: of the last packet
                             * needed to prove its end. lost_mtc, lost_cyc, cbr
                             * and IPT_AT_TSC are of that time, too. Without
                             * IPT_AT_TSC, tsc counts from an unknown time */
    ipt_asid asid;          /* the address space traced now */
    uint64_t skip_from;     /* the trace that was skipped last, by _resync, */
    uint64_t skip_to;       /* by _sync_forward, or after a gap */
    /* Counts from _init on; in [cov] from the last _begin on. */
    uint64_t skipped;       /* bytes of skipped trace, gaps included */
    uint64_t dropped;       /* events that were not fetched */
    uint32_t overflows;     /* OVF packets */
    uint32_t gaps;          /* pieces without bytes, see ipt_segment */
    uint32_t resyncs;       /* how often decoding went on after skipped trace */
    uint32_t lost_mtc;      /* MTC and CYC packets that could not be used, */
    uint32_t lost_cyc;      /* from the last TSC packet up to tsc */
    int error;              /* the last negative status; 0: none since _sync */
    int image_error;        /* after IPT_ERR_IMAGE: what config.read returned */
    uint8_t packet;         /* type of the packet read last, IPT_PKT_ */
    uint8_t cbr;            /* core:bus ratio, 0: unknown */
    uint8_t valid;          /* IPT_AT_ */
    uint8_t mode;           /* IPT_MODE_ of the code traced now, or the mode
                             * assumed for it; not in [pkt] */
} ipt_where;

/* at.valid: which fields are known */
#define IPT_AT_SYNC 1
#define IPT_AT_IP 2
#define IPT_AT_TSC 4

/* Each kind of loss is reported in its own way, and nothing is guessed:
 *
 *   the processor lost packets        IPT_EVT_OVERFLOW, at.overflows
 *   pieces of trace were lost         IPT_EVT_GAP, at.gaps
 *   there is no PSB to begin at       IPT_END, at.valid without IPT_AT_SYNC
 *   the trace ends inside a packet    IPT_ERR_TRUNCATED
 *   trace was dropped too early       IPT_ERR_GONE
 *   bytes are not a packet            IPT_ERR_OPCODE, IPT_ERR_PACKET
 *   packets do not fit each other     IPT_ERR_CONTEXT, IPT_ERR_STATUS
 *   an IP is missing in a packet      IPT_ERR_NO_IP
 *   trace does not fit the code       IPT_ERR_MISMATCH, IPT_ERR_RETURN, ...
 *   code is missing                   IPT_NEED_PAGE, IPT_ERR_IMAGE
 *   flow returns to a call that was made before such a loss
 *                                     IPT_ERR_RETURN_LOST
 *   a branch needs a TNT bit in a trace without TNT packets
 *                                     IPT_ERR_NO_TNT
 *   trace was skipped                 at.resyncs, at.skipped, at.skip_from,
 *                                     at.skip_to; IPT_FLOW_RESYNCED, but not
 *                                     after a _sync function
 *   events were not fetched           at.dropped
 *   clock packets could not be used   at.lost_mtc, at.lost_cyc
 *
 * After an OVF only its IP is certain: IPT_FLOW_RESYNCED of the next
 * instruction says so. MODE.Exec, PIP, VMCS and MODE.TSX may be among the lost
 * packets. Until new ones arrive, the decoder keeps the mode, the address space
 * (at.asid) and the return stack, clears IPT_FLOW_SPECULATIVE, and does not
 * advance at.tsc. A PSB+ with other values is not an error here; if it has
 * another address space, IPT_FLOW_ASID is set. An OVF without an IP counts as
 * tracing disabled, and it is not known where tracing resumes. */

/* ==========================================================================
 * [pkt]  bytes to one packet, and back        SDM: "Packet Definitions"
 * ========================================================================== */

enum ipt_packet_type {
    IPT_PKT_NONE,      /* no packet (ipt_where.packet before the first) */
    IPT_PKT_PAD,       /* a run of PAD bytes; size says how many. A long run,
                        * or one that trace or fuel cuts, comes in several */
    IPT_PKT_PSB,       /* synchronisation boundary, begins a PSB+ */
    IPT_PKT_PSBEND,    /* ends a PSB+ */
    IPT_PKT_OVF,       /* internal buffer overflow: packets were lost */
    IPT_PKT_STOP,      /* TraceStop */
    IPT_PKT_TNT_8,     /* u.tnt: 1 .. 6 conditional branches, returns */
    IPT_PKT_TNT_64,    /* u.tnt: 0 .. 47 of them; processors send at least 1 */
    IPT_PKT_TIP,       /* u.ip: target of an indirect branch or event */
    IPT_PKT_TIP_PGE,   /* u.ip: tracing enabled here */
    IPT_PKT_TIP_PGD,   /* u.ip: tracing disabled */
    IPT_PKT_FUP,       /* u.ip: source of an asynchronous event */
    IPT_PKT_MODE_EXEC, /* u.exec: execution mode */
    IPT_PKT_MODE_TSX,  /* u.tsx: transaction state */
    IPT_PKT_PIP,       /* u.pip: CR3 and VMX operation */
    IPT_PKT_VMCS,      /* u.vmcs: VMCS pointer */
    IPT_PKT_TSC,       /* u.tsc */
    IPT_PKT_CBR,       /* u.cbr: core:bus ratio */
    IPT_PKT_TMA,       /* u.tma: TSC/MTC alignment */
    IPT_PKT_MTC,       /* u.mtc: mini time counter */
    IPT_PKT_CYC,       /* u.cyc: cycles since the last CYC */
    IPT_PKT_MNT,       /* u.mnt: maintenance, model specific */
    IPT_PKT_PTW,       /* u.ptw: PTWRITE */
    IPT_PKT_EXSTOP,    /* u.exstop: execution stopped */
    IPT_PKT_MWAIT,     /* u.mwait */
    IPT_PKT_PWRE,      /* u.pwre: power entry */
    IPT_PKT_PWRX,      /* u.pwrx: power exit */
    IPT_PKT_BBP,       /* u.bbp: begins a PEBS block */
    IPT_PKT_BIP,       /* u.bip: an item of a PEBS block */
    IPT_PKT_BEP,       /* u.bep: ends a PEBS block */
    IPT_PKT_CFE,       /* u.cfe: control-flow event */
    IPT_PKT_EVD,       /* u.evd: data of the CFE that follows */
    IPT_PKT_TRIG,      /* u.trig: trigger */
    IPT_PKT_UNKNOWN,   /* made by config.unknown */
    IPT_PKT_INVALID,   /* bytes that erratum SKZ84 corrupted */
    IPT_PKT_GAP,       /* u.gap: trace was lost, see ipt_segment */
    IPT_PKT_COUNT
};

/* u.cfe.type (SDM: "Control Flow Event (CFE) Packet") */
enum ipt_cfe_type {
    IPT_CFE_INTR = 1,
    IPT_CFE_IRET = 2,
    IPT_CFE_SMI = 3,
    IPT_CFE_RSM = 4,
    IPT_CFE_SIPI = 5,
    IPT_CFE_INIT = 6,
    IPT_CFE_VMENTRY = 7,
    IPT_CFE_VMEXIT = 8,
    IPT_CFE_VMEXIT_INTR = 9,
    IPT_CFE_SHUTDOWN = 10,
    IPT_CFE_UINTR = 12,
    IPT_CFE_UIRET = 13,
    IPT_CFE_SWINTR = 14,
    IPT_CFE_SYSCALL = 15
};

/* u.evd.type */
enum ipt_evd_type { IPT_EVD_CR2 = 0, IPT_EVD_VMXQ = 1, IPT_EVD_VMXR = 2 };

/* One packet. `type` determines which member of u holds its payload; do not
 * read the others. */
struct ipt_packet {
    uint64_t offset; /* stream offset of its first byte */
    uint32_t size;   /* bytes; a run of PAD is one packet */
    uint8_t type;    /* IPT_PKT_ */
    union {
        struct {
            uint64_t bits; /* 1: taken; the oldest branch is bit count - 1 */
            uint8_t count; /* 1 .. 6, 1 .. 47 */
        } tnt;
        struct {
            uint64_t payload; /* as sent, zero-extended */
            uint8_t ipc;      /* IPBytes: 0 suppressed, 1 low 16 bits, 2 low 32,
                               * 3 48 sign-extended, 4 low 48, 6 all 64 */
        } ip;                 /* TIP, TIP_PGE, TIP_PGD, FUP */
        struct {
            uint8_t csl;   /* CS.L and EFER.LMA */
            uint8_t csd;   /* CS.D */
            uint8_t iflag; /* RFLAGS.IF (with event trace) */
        } exec;
        struct {
            uint8_t intx; /* inside a transaction from here on */
            uint8_t abrt; /* a transaction aborts here */
        } tsx;
        struct {
            uint64_t cr3; /* physical address, bits 51:5 */
            uint8_t nr;   /* VMX non-root operation */
        } pip;
        struct {
            uint64_t base; /* physical address, bits 51:12; all ones: there
                            * is no current VMCS */
        } vmcs;
        struct {
            uint64_t value; /* low 56 bits of the TSC */
        } tsc;
        struct {
            uint8_t ratio; /* core clock : bus clock */
        } cbr;
        struct {
            uint16_t ctc; /* low 16 bits of the crystal clock counter */
            uint16_t fc;  /* 9 bits: TSC ticks since that counter moved */
        } tma;
        struct {
            uint8_t ctc; /* 8 bits of the crystal clock counter */
        } mtc;
        struct {
            uint64_t value; /* core cycles */
        } cyc;
        struct {
            uint64_t payload;
        } mnt;
        struct {
            uint64_t payload; /* the operand of PTWRITE */
            uint8_t plc;      /* 0: 4 bytes, 1: 8 bytes */
            uint8_t has_ip;   /* the IP bit: a FUP follows */
        } ptw;
        struct {
            uint8_t has_ip; /* the IP bit: a FUP follows */
        } exstop;
        struct {
            uint32_t hints; /* EAX of MWAIT */
            uint32_t ext;   /* ECX of MWAIT, bits 1:0 */
        } mwait;
        struct {
            uint8_t hw;        /* entry was not asked for by software */
            uint8_t state;     /* resolved thread C-state, raw 4 bits */
            uint8_t sub_state; /* its sub-state, raw 4 bits */
        } pwre;
        struct {
            uint8_t last;       /* last core C-state, raw 4 bits */
            uint8_t deepest;    /* deepest core C-state, raw 4 bits */
            uint8_t interrupt;  /* wake reason: external interrupt */
            uint8_t store;      /* wake reason: store to monitored address */
            uint8_t autonomous; /* wake reason: hardware autonomous condition */
        } pwrx;
        struct {
            uint8_t type; /* 5 bits: kind of block */
            uint8_t sz;   /* items have 1: 4, 0: 8 payload bytes */
        } bbp;
        struct {
            uint64_t payload;
            uint8_t id; /* 5 bits: which field of the block */
            uint8_t sz; /* as the block's BBP said */
        } bip;
        struct {
            uint8_t has_ip; /* the IP bit: a FUP follows */
        } bep;
        struct {
            uint8_t type; /* IPT_CFE_, 5 bits */
            uint8_t vector;
            uint8_t has_ip; /* the IP bit: a FUP follows */
        } cfe;
        struct {
            uint64_t payload;
            uint8_t type; /* IPT_EVD_, 6 bits */
        } evd;
        struct {
            uint16_t icnt;  /* instructions since the last IP (if icntv) */
            uint8_t trbv;   /* which triggers fired */
            uint8_t icntv;  /* icnt is there */
            uint8_t mult;   /* more than one trigger */
            uint8_t has_ip; /* the IP bit: a FUP follows */
        } trig;
        struct {
            uint64_t lost; /* bytes; packet.size is UINT32_MAX if more */
        } gap;
        uint64_t unknown[2]; /* whatever config.unknown wrote */
    } u;
};

/* A decoder of packets. */
typedef struct ipt_pkt_decoder ipt_pkt_decoder;

/* Prepare a decoder; it is not synchronised afterwards.
 *
 * returns  IPT_OK; IPT_ERR_ARG for NULL; IPT_ERR_CONFIG */
IPT_API int ipt_pkt_init(ipt_pkt_decoder *decoder, const ipt_config *config,
                         const ipt_trace *trace);

/* Go to the next PSB after the current position (the first one after _init).
 * A PSB that begins up to 15 bytes before the position is found, too: a corrupt
 * packet may have swallowed its first bytes. Eight or more "02 82" pairs are
 * one PSB, of which the last eight count. Gaps are passed and only counted.
 *
 * returns  IPT_OK: at.sync and at.offset are the PSB's offset
 *          IPT_END: there is none; the position stays where this call found it
 *          IPT_MORE, IPT_BUDGET: none was found yet, up to at.offset. Another
 *          call goes on there; until one finds a PSB the decoder is not
 *          synchronised
 *          IPT_ERR_ARG, IPT_ERR_STATE */
IPT_API int ipt_pkt_sync_forward(ipt_pkt_decoder *decoder);

/* Go to the last PSB that begins before the current position (the last one of
 * the trace after _init). For [qry], [blk] and [insn] the current position is
 * the PSB of the last _sync until you have taken an item or an event; from then
 * on it is at.offset, and the call may find the same PSB again.
 *
 * returns  IPT_OK
 *          IPT_END: there is none, and the trace is complete from its start
 *          IPT_ERR_GONE: there is none in the rest of a trace whose start was
 *          dropped or that has gaps
 *          IPT_BUDGET: none was found yet. Another call goes on; until one
 *          finds a PSB the decoder is not synchronised
 *          IPT_ERR_ARG, IPT_ERR_STATE */
IPT_API int ipt_pkt_sync_backward(ipt_pkt_decoder *decoder);

/* Go to a stream offset. For a packet decoder any offset will do; all others
 * need a PSB there.
 *
 * returns  IPT_OK; IPT_ERR_ARG: outside of the trace; IPT_ERR_STATE
 *          IPT_ERR_NOSYNC (not [pkt]): no PSB begins there
 *          IPT_BUDGET: there are very many pieces before it; call again */
IPT_API int ipt_pkt_sync_set(ipt_pkt_decoder *decoder, uint64_t offset);

/* Decode one packet and step over it.
 *
 * returns  IPT_OK: *packet was written
 *          IPT_END; IPT_MORE: there are not yet bytes of a whole packet
 *          IPT_BUDGET
 *          IPT_ERR_OPCODE, IPT_ERR_PACKET: not a packet; the position stays
 *          IPT_ERR_TRUNCATED: the closed trace ends inside this packet
 *          IPT_ERR_NOSYNC, IPT_ERR_CALLBACK, IPT_ERR_ARG, IPT_ERR_STATE
 * cost     at most 16 bytes read; of a run of PAD, all */
IPT_API int ipt_pkt_next(ipt_pkt_decoder *decoder, ipt_packet *packet);

/* Write one packet. packet->offset and size are not used, except that size is
 * the length of a PAD run. The caller picks u.ip.ipc; see ipt_gen for a
 * writer that does. CYC takes its shortest form.
 *
 * returns  the number of bytes written, 1 .. 16 (PAD: packet->size)
 *          IPT_ERR_ROOM: size is too small; nothing was written
 *          IPT_ERR_PACKET: a field is out of range, or the type has no bytes
 *          IPT_ERR_ARG for NULL */
IPT_API int ipt_pkt_encode(uint8_t *buffer, size_t size,
                           const ipt_packet *packet);

/* Decompress the IP of a packet, for callers that read packets. Call it for
 * each packet, in order, with *last_ip 0 at first (SDM: "IP Compression").
 *
 * returns  1: the packet has an IP, now in *last_ip
 *          0: it has none: the IP is suppressed, or the packet is not a TIP,
 *             TIP.PGE, TIP.PGD or FUP; PSB and OVF set *last_ip to 0
 *          IPT_ERR_ARG for NULL */
IPT_API int ipt_pkt_last_ip(uint64_t *last_ip, const ipt_packet *packet);

/* ==========================================================================
 * [time]  timing packets to time          SDM: "Tracking Time Stamp Counter"
 * ========================================================================== */

/* A clock that timing packets set and move. TSC packets set it. MTC and CYC
 * packets move it in between: MTC by the crystal clock (config.cpuid_15_*,
 * mtc_freq), CYC by core cycles. The length of a cycle is measured by MTCs and
 * the CYCs between them; without MTCs by the TSCs of PSB+; or it is taken from
 * CBR (config.nom_freq). A measured length above 5/4 of CBR's is not used: the
 * processor halted during it. A CYC counts from the CYC before it. An MTC or
 * TSC that directly follows a CYC (by the packets' `offset` and `size`) has the
 * same time as that CYC.
 *
 * Nothing is guessed: a packet that cannot be used is counted, and time stands
 * still until one can be used. Time may step back when a better measurement
 * corrects an estimate that was too fast; IPT_CONFIG_MONOTONIC prevents that.
 *
 * You may read these fields at any time; do not write them:
 *
 *   uint64_t tsc       the estimated TSC; without has_tsc: ticks since an
 *                      unknown time
 *   uint64_t fcr       TSC ticks that a core cycle takes, times 65536; 0: not
 *                      known
 *   uint32_t lost_mtc  MTCs since the last TSC that could not be used
 *   uint32_t lost_cyc  CYCs since the last TSC or MTC that could not be used
 *   uint8_t has_tsc    there was a TSC packet
 *   uint8_t cbr        core:bus ratio, 0: unknown */
typedef struct ipt_clock ipt_clock;

/* Prepare a clock. It keeps the pointer `config`, and uses only flags, errata,
 * cpuid_15_*, mtc_freq and nom_freq of it. You need a clock only if you read
 * packets: the layers above have one inside.
 *
 * returns  IPT_OK; IPT_ERR_ARG for NULL; IPT_ERR_CONFIG */
IPT_API int ipt_time_init(ipt_clock *clock, const ipt_config *config);

/* Feed a packet to the clock. Pass all packets, in order: it uses TSC, TMA,
 * MTC, CYC and CBR, and follows PSB, PSBEND and OVF. No packet breaks it: after
 * an error go on with the next packet.
 *
 * returns  IPT_OK: clock->tsc and the other fields hold as of this packet
 *          IPT_NO_TIME: a CYC, and the length of a cycle is not known
 *          IPT_ERR_CONTEXT: a TMA without a TSC before it, or a second one
 *          IPT_ERR_CONFIG: an MTC, which cannot be used without cpuid_15_*
 *          IPT_ERR_PACKET: a ratio of 0, or values that contradict each other
 *          IPT_ERR_ARG, IPT_ERR_STATE
 *          Unless it is IPT_OK, the packet was not used, or only partly; a CYC
 *          or MTC then counts in lost_cyc or lost_mtc.
 * cost     constant; at most three divisions, for an MTC */
IPT_API int ipt_time_packet(ipt_clock *clock, const ipt_packet *packet);

/* The two halves of ipt_time_packet, for callers that need to know which of
 * them failed, or that skip the first. ipt_time_calibrate measures the length
 * of a cycle (fcr); ipt_time_update moves the time (all other fields).
 *
 * returns  as ipt_time_packet */
IPT_API int ipt_time_calibrate(ipt_clock *clock, const ipt_packet *packet);
IPT_API int ipt_time_update(ipt_clock *clock, const ipt_packet *packet);

/* ==========================================================================
 * [evt]  packets to events               SDM: "Packet Generation Scenarios"
 * ========================================================================== */

enum ipt_event_type {
    IPT_EVT_NONE,
    IPT_EVT_ENABLED,        /* tracing enabled at ip */
    IPT_EVT_DISABLED,       /* by the branch before; u.branch.to: its target.
                             * Without a target the cause may be a MOV CR3: if
                             * one without a PAGING event of its own precedes
                             * the branch, it is assumed to be the cause */
    IPT_EVT_ASYNC_DISABLED, /* before the instruction at ip; u.branch.to. Also
                             * an interrupt whose target an overflow lost */
    IPT_EVT_ASYNC_BRANCH,   /* from ip to u.branch.to: interrupt, abort */
    IPT_EVT_PAGING,         /* u.paging, by an instruction */
    IPT_EVT_ASYNC_PAGING,   /* u.paging, at ip */
    IPT_EVT_VMCS,           /* u.vmcs, by an instruction */
    IPT_EVT_ASYNC_VMCS,     /* u.vmcs, at ip */
    IPT_EVT_OVERFLOW,       /* trace was lost; tracing goes on at ip. After
                             * ipt_where is a list of what is known then. If the
                             * next packet does not fit an overflow, you get
                             * IPT_ERR_CONTEXT and no event */
    IPT_EVT_EXEC_MODE,      /* u.exec, at ip: the mode changes here. A MODE.Exec
                             * that repeats the mode gives no event, except in a
                             * PSB+: that event has IPT_EVENT_STATUS */
    IPT_EVT_TSX,            /* u.tsx, at ip */
    IPT_EVT_STOP,           /* TraceStop */
    IPT_EVT_PTWRITE,        /* u.ptwrite, by the PTWRITE at ip, or by the next
                             * one. [blk], [insn]: IPT_EVENT_NO_IP while tracing
                             * is enabled means that flow reached no PTWRITE
                             * before it needed the trace after this packet: a
                             * program wrote the packet into the trace. Such a
                             * stray PTW gives IPT_ERR_MISMATCH in two cases:
                             * flow passes the IP of a later event before it, or
                             * it is the fourth event between a branch and its
                             * TIP */
    IPT_EVT_EXSTOP,         /* execution stopped, at ip */
    IPT_EVT_MWAIT,          /* u.mwait, at ip */
    IPT_EVT_PWRE,           /* u.pwre */
    IPT_EVT_PWRX,           /* u.pwrx */
    IPT_EVT_CBR,            /* u.cbr: core:bus ratio changed */
    IPT_EVT_MNT,            /* u.mnt */
    IPT_EVT_TIP,            /* [evt] only: ip is the target of a branch */
    IPT_EVT_TNT,            /* [evt] only: u.tnt */
    IPT_EVT_CFE,            /* u.cfe: interrupt, SMI, VM exit, ..., at ip.
                             * IRET, UIRET and VMENTRY come after their
                             * instruction, SYSCALL before it, with or without
                             * an IP */
    IPT_EVT_TRIG,           /* u.trig: a trigger fired */
    IPT_EVT_IFLAGS,         /* u.exec.iflag changed, at ip */
    IPT_EVT_PEBS_BEGIN,     /* u.pebs: a PEBS block begins; id is its type */
    IPT_EVT_PEBS_ITEM,      /* u.pebs: an item of the block */
    IPT_EVT_PEBS_END,       /* the block ends; it belongs to ip */
    IPT_EVT_TICK,           /* [blk], [insn]: time has moved on, at ip */
    IPT_EVT_GAP,            /* u.gap: trace was lost, see ipt_segment. The state
                             * is unknown until the events of the next PSB+ */
    IPT_EVT_COUNT
};

/* All bits that config.unwanted may have. */
#define IPT_UNWANTED_ \
    ((((uint64_t) 1 << IPT_EVT_COUNT) - 1)                                    \
     & ~((uint64_t) 1 << IPT_EVT_TIP | (uint64_t) 1 << IPT_EVT_TNT))

/* ipt_event.flags */
#define IPT_EVENT_NO_IP 1  /* ip is not known, or tracing is disabled */
#define IPT_EVENT_NO_TO 2  /* u.branch.to is not known */
#define IPT_EVENT_STATUS 4 /* PSB+ repeats the state; nothing happened here */
#define IPT_EVENT_TSC 8    /* there was a TSC packet, so tsc is absolute */
#define IPT_EVENT_RESUMED 16 /* enabled where it was disabled ([blk], [insn]) */
#define IPT_EVENT_SEAM 32 /* [blk], [insn]: decoding may be joined here, see IN
                           * PARALLEL above: nothing before this PSB waits for
                           * packets after it. Set together with STATUS, on
                           * ENABLED and DISABLED, so neither may be in
                           * config.unwanted. It may be missing if another PSB+
                           * comes next */

/* u.cfe.has */
#define IPT_CFE_HAS_VECTOR 1
#define IPT_CFE_HAS_CR2 2
#define IPT_CFE_HAS_VMXQ 4
#define IPT_CFE_HAS_VMXR 8
#define IPT_CFE_INFERRED 16 /* from PIP.NR: there was no CFE packet */

/* One event. `type` determines which member of u holds its data. */
typedef struct ipt_event {
    uint64_t offset; /* of the packet that caused it; for the ENABLED or
                      * DISABLED of a PSB+, of its PSBEND */
    uint64_t ip;     /* where it binds; 0 with IPT_EVENT_NO_IP */
    uint64_t tsc;    /* its time, see ipt_clock; for OVERFLOW and PWRE, the
                      * time at which they began */
    uint32_t lost_mtc;
    uint32_t lost_cyc;
    uint8_t type;    /* IPT_EVT_ */
    uint8_t flags;   /* IPT_EVENT_ */
    uint8_t cbr;     /* core:bus ratio, 0: unknown */
    union {
        struct {
            uint64_t to;
        } branch;
        struct {
            uint64_t bits; /* 1: taken; the oldest branch is bit count - 1 */
            uint8_t count;
        } tnt;
        struct {
            uint64_t cr3; /* physical address */
            uint8_t nr;   /* VMX non-root operation */
        } paging;
        struct {
            uint64_t base; /* as ipt_asid.vmcs */
        } vmcs;
        struct {
            uint8_t mode;  /* IPT_MODE_ */
            uint8_t iflag; /* RFLAGS.IF */
        } exec;
        struct {
            uint8_t speculative; /* inside a transaction from here on */
            uint8_t aborted;
        } tsx;
        struct {
            uint64_t payload;
            uint8_t size; /* 4 or 8 */
        } ptwrite;
        struct {
            uint32_t hints;
            uint32_t ext;
        } mwait;
        struct {
            uint8_t state;
            uint8_t sub_state;
            uint8_t hw;
        } pwre;
        struct {
            uint8_t last;
            uint8_t deepest;
            uint8_t interrupt;
            uint8_t store;
            uint8_t autonomous;
        } pwrx;
        struct {
            uint8_t ratio;
        } cbr;
        struct {
            uint64_t payload;
        } mnt;
        struct {
            uint64_t data[2]; /* cr2 or exit qualification; exit reason */
            uint8_t type;     /* IPT_CFE_ */
            uint8_t has;      /* IPT_CFE_HAS_, IPT_CFE_INFERRED */
            uint8_t vector;
        } cfe;
        struct {
            uint16_t icnt; /* instructions since the last IP, if icntv */
            uint8_t trbv;
            uint8_t icntv;
            uint8_t mult;
        } trig;
        struct {
            uint64_t payload;
            uint8_t id;
            uint8_t size; /* bytes of an item's payload, 4 or 8 */
        } pebs;
        struct {
            uint64_t lost; /* bytes: the gap and the cut packet before it */
        } gap;
    } u;
} ipt_event;

/* A decoder of events. */
typedef struct ipt_evt_decoder ipt_evt_decoder;

/* As for packets. Event, block and instruction decoders synchronise only to a
 * PSB, and then forget the trace before it. */
IPT_API int ipt_evt_init(ipt_evt_decoder *decoder, const ipt_config *config,
                         const ipt_trace *trace);
IPT_API int ipt_evt_sync_forward(ipt_evt_decoder *decoder);
IPT_API int ipt_evt_sync_backward(ipt_evt_decoder *decoder);
IPT_API int ipt_evt_sync_set(ipt_evt_decoder *decoder, uint64_t offset);

/* A start without a PSB: a packet to begin with, and the state before it. Begin
 * with all zero. */
typedef struct ipt_start {
    uint64_t offset;  /* stream offset of a packet, not inside a PSB+ */
    uint64_t last_ip; /* IP of the last IP packet; compressed IPs refer to it */
    uint64_t ip;      /* of the next instruction, if enabled */
    uint64_t tsc;     /* the time */
    ipt_asid asid;
    const uint64_t *stack; /* [blk] [insn] [cov] return addresses, newest last,
                            * for compressed returns. They are copied */
    uint32_t stack_count;  /* only the last 64 are used */
    uint8_t has;     /* IPT_START_: which of the above are known */
    uint8_t enabled; /* 1: tracing is enabled, at ip */
    uint8_t mode;    /* IPT_MODE_; 0: config.mode */
    uint8_t cbr;     /* core:bus ratio, 0: unknown */
} ipt_start;

#define IPT_START_LAST_IP 1 /* without it, a compressed IP gives IPT_ERR_NO_IP
                             * until there was a full IP, a PSB or an OVF */
#define IPT_START_ASID 2
#define IPT_START_TSC 4
#define IPT_START_ALL_ 7

/* Begin at a packet that need not be a PSB. As in the _sync functions, the
 * decoder forgets all that it decoded before.
 *
 * returns  IPT_OK; IPT_ERR_ARG: a field out of range, or an offset outside of
 *          the trace; IPT_ERR_STATE; IPT_BUDGET, as ipt_pkt_sync_set */
IPT_API int ipt_evt_start(ipt_evt_decoder *decoder, const ipt_start *start);

/* The next event, TNT and TIP included.
 *
 * returns  IPT_OK: *event was written
 *          IPT_END, IPT_MORE, IPT_BUDGET; the errors of ipt_pkt_next
 *          IPT_ERR_CONTEXT: a packet that is not allowed here
 *          IPT_ERR_NO_IP: a packet must have an IP here and has none, or its IP
 *          is compressed and the last IP is not known
 *          IPT_ERR_STATUS, IPT_ERR_EVENTS */
IPT_API int ipt_evt_next(ipt_evt_decoder *decoder, ipt_event *event);

/* ==========================================================================
 * [qry]  for callers that walk the code themselves
 * ========================================================================== */

/* A decoder for queries. */
typedef struct ipt_qry_decoder ipt_qry_decoder;

/* As for events. *ip is set to the address where tracing goes on. If the status
 * has IPT_IP_SUPPRESSED, *ip is not written: tracing is disabled, or it is not
 * known to be enabled because the trace, the fuel or an error ended the call
 * inside the PSB+. *ip comes from ENABLED and DISABLED events, so neither may
 * be in config.unwanted.
 *
 * All functions here set IPT_EVENT_PENDING as soon as there is no TNT bit left
 * before the next event. The event may bind further on, at its ip. An error
 * that comes next is pending in the same way; ipt_qry_event returns it. */
IPT_API int ipt_qry_init(ipt_qry_decoder *decoder, const ipt_config *config,
                         const ipt_trace *trace);
IPT_API int ipt_qry_sync_forward(ipt_qry_decoder *decoder, uint64_t *ip);
IPT_API int ipt_qry_sync_backward(ipt_qry_decoder *decoder, uint64_t *ip);
IPT_API int ipt_qry_sync_set(ipt_qry_decoder *decoder, uint64_t offset,
                             uint64_t *ip);

/* Was the next conditional branch (or compressed return) taken? *taken: 0, 1.
 *
 * returns  >= 0; IPT_ERR_QUERY: the trace has something else next
 *          the notes and errors of ipt_evt_next */
IPT_API int ipt_qry_cond_branch(ipt_qry_decoder *decoder, int *taken);

/* Where did the next indirect branch, uncompressed return or far branch go?
 * *ip is written unless the status has IPT_IP_SUPPRESSED. Up to 64 TNT bits
 * before a deferred TIP are kept for later calls.
 *
 * returns  as ipt_qry_cond_branch; IPT_ERR_EVENTS: more than 64 TNT bits */
IPT_API int ipt_qry_indirect_branch(ipt_qry_decoder *decoder, uint64_t *ip);

/* The next event. IPT_EVT_TNT and IPT_EVT_TIP are never given.
 *
 * returns  as ipt_qry_cond_branch */
IPT_API int ipt_qry_event(ipt_qry_decoder *decoder, ipt_event *event);

/* ==========================================================================
 * [classify]  code bytes to length, kind, displacement
 * ========================================================================== */

/* Kinds of instructions, as far as a decoder of trace distinguishes them. */
enum ipt_insn_kind {
    IPT_INSN_OTHER,         /* flow goes on after it */
    IPT_INSN_JCC,           /* conditional: Jcc, LOOPcc, JCXZ: one TNT bit */
    IPT_INSN_JMP,           /* near direct: no trace */
    IPT_INSN_CALL,          /* near direct: no trace */
    IPT_INSN_JMP_INDIRECT,  /* near indirect: TIP */
    IPT_INSN_CALL_INDIRECT, /* near indirect: TIP */
    IPT_INSN_RET,           /* near: a TNT bit if compressed, else TIP */
    IPT_INSN_JMPABS,        /* APX: TIP, although its target is in the code */
    IPT_INSN_FAR_CALL,
    IPT_INSN_FAR_JMP,
    IPT_INSN_FAR_RET,
    IPT_INSN_INT,     /* INT n, INT3, INT1 */
    IPT_INSN_SYSCALL, /* SYSCALL, SYSENTER */
    IPT_INSN_VMCALL,
    IPT_INSN_IRET, /* IRET, SYSRET, SYSEXIT, ERETU, ERETS */
    IPT_INSN_UIRET,
    IPT_INSN_VMENTRY, /* VMLAUNCH, VMRESUME */
    IPT_INSN_RSM,
    IPT_INSN_XBEGIN, /* displacement: the fallback address */
    IPT_INSN_PTWRITE,
    IPT_INSN_MOV_CR3, /* MOV to CR3 */
    IPT_INSN_VMPTRLD,
    IPT_INSN_INTO, /* a far call if OF is set; otherwise without trace */
    IPT_INSN_COUNT
};

/* One instruction, classified. */
struct ipt_code {
    int64_t displacement; /* direct branches, XBEGIN: target minus the address
                           * of the next instruction; JMPABS: the target */
    uint8_t size;         /* bytes, 1 .. 15 */
    uint8_t kind;         /* IPT_INSN_ */
    uint8_t ip16;         /* 1: the target of this direct branch is cut to 16
                           * bits, counted from CS.base: 16-bit operands */
};

/* Find the length and kind of the instruction at `bytes`.
 *
 * mode     IPT_MODE_16, _32 or _64
 * context  not used: the signature is that of config.classify
 * returns  IPT_OK: *code was written
 *          IPT_MORE: it is longer than size
 *          IPT_ERR_BAD_INSN: no instruction begins with these bytes
 *          IPT_ERR_ARG
 * cost     at most 15 bytes read */
IPT_API int ipt_classify(ipt_code *code, const uint8_t *bytes, size_t size,
                         uint8_t mode, void *context);

/* ==========================================================================
 * [cache]  code that was read and classified, in your memory
 * ========================================================================== */

/* A line of the cache, 64 bytes: one run of instructions. */
typedef struct ipt_cache_line ipt_cache_line;

/* A code cache, for any number of decoders that read the same code and are used
 * by one thread at a time. It changes only speed, never results, as long as the
 * answers of config.read depend on asid and ip alone. When code changes, call
 * ipt_cache_invalidate.
 *
 *   uint64_t *fuel  yours to set, after ipt_cache_init. It bounds the work of
 *                   ipt_cache_invalidate: one unit for 16 lines. NULL:
 *                   unbounded */
typedef struct ipt_cache ipt_cache;

/* Give a cache its memory: `count` lines, at least 64 (4 KiB). The largest
 * power of two of them is used. Decoders that used it have to be initialised
 * again, too. A memo need not be: what it knew of the code is forgotten. Of
 * several memos of one cache, initialise either all or none.
 *
 * returns  IPT_OK; IPT_ERR_ARG
 * cost     linear in `count`: it clears them */
IPT_API int ipt_cache_init(ipt_cache *cache, ipt_cache_line *lines,
                           size_t count);

/* Copy the bytes of code at ip, those of an instruction, say, from what was
 * read to decode them. What is asked for stays in the cache, in lines of their
 * own; config.read is asked only for what is not there (any more).
 *
 *   cache    that of the decoder
 *   config   that of the decoder
 *   asid     the address space that it executed in: at.asid as it was before
 *            the call of _next that gave the instruction
 *   mode     of the instruction or block
 *   returns  IPT_OK: `size` bytes were written
 *            IPT_NEED_PAGE: not all of them are there
 *            IPT_BUDGET: call again, with the same arguments
 *            IPT_ERR_IMAGE, IPT_ERR_CALLBACK; IPT_ERR_ARG, IPT_ERR_STATE
 *   cost     a line for every 32 bytes of code is looked for */
IPT_API int ipt_cache_code(ipt_cache *cache, const ipt_config *config,
                           const ipt_asid *asid, uint8_t mode, uint64_t ip,
                           uint8_t *buffer, size_t size);

/* Forget code: [ip, ip + size), in one address space or (asid NULL) in all;
 * size 0 means the whole address space. Takes effect at once, also for decoders
 * that are in the middle of that code. With config.space_at, asid is ignored:
 * the code is forgotten in all address spaces.
 *
 * Addresses are linear. If you are notified of writes by physical page, let
 * config.read record (frame, asid, page) for every page that it copies from; on
 * a write, invalidate each recorded (asid, page) of the frame and delete these
 * records. That covers all cached code of the frame, if address spaces with
 * equal numbers by config.space have the same frames. If there is no room for a
 * record, forget all: ip 0, size 0, asid NULL. examples/frames.h does this; it
 * works with ipt_cov_invalidate, too.
 *
 * returns  IPT_OK; IPT_ERR_ARG, IPT_ERR_STATE
 *          IPT_BUDGET: cache->fuel is used up. Call again, with the same
 *          arguments, before you decode anything
 * cost     in one address space: 8 lines are looked at for every 32 of
 *          size + 512 bytes, however large the cache is. In all: the same for
 *          each address space in the cache, but no line twice. Constant for
 *          the whole of an address space that is in the cache */
IPT_API int ipt_cache_invalidate(ipt_cache *cache, const ipt_asid *asid,
                                 uint64_t ip, uint64_t size);

/* ==========================================================================
 * [blk]  the walk: blocks in execution order
 * ========================================================================== */

/* Flags of blocks and instructions. Those for what comes just after are set by
 * the first four wanted events there, and not by later ones. */
#define IPT_FLOW_SPECULATIVE 0x001 /* executed inside a transaction */
#define IPT_FLOW_ENABLED 0x002     /* tracing was enabled just before it */
#define IPT_FLOW_RESUMED 0x004     /* ... where it had been disabled */
#define IPT_FLOW_RESYNCED 0x008    /* trace was lost just before it, or _resync
                                    * skipped some; a _sync does not set it */
#define IPT_FLOW_ASID 0x010        /* the address space changed before it */
#define IPT_FLOW_DISABLED 0x020    /* tracing was disabled just after it */
#define IPT_FLOW_INTERRUPTED 0x040 /* an asynchronous branch just after it */
#define IPT_FLOW_ABORTED 0x080     /* its transaction aborted after it */
#define IPT_FLOW_COMMITTED 0x100   /* its transaction committed after it */
#define IPT_FLOW_STOPPED 0x200     /* there was a TraceStop before it */
#define IPT_FLOW_TRUNCATED 0x400   /* its bytes are from two mappings */

/* Instructions that executed one after the other. A block ends
 *   - after each instruction that needs trace to go on: conditional, indirect
 *     and far branches, returns
 *   - at each event. An event of config.unwanted ends a block only if it
 *     changes where flow goes, the mode, the address space or the state of a
 *     transaction
 *   - after an instruction in two mappings, and where config.section changes
 *   - after 65535 instructions
 *   - with IPT_CONFIG_END_ON_CALL and _JUMP after direct calls and jumps.
 * Nothing else ends it: blocks are the same for every cache, cut of the trace
 * and amount of fuel. With both flags a block is contiguous. Without them it
 * goes on at the targets of calls and jumps: ipt_classify says where. */
typedef struct ipt_block {
    uint64_t offset;   /* of the packet that proves its last instruction */
    uint64_t ip;       /* of its first instruction */
    uint64_t end_ip;   /* of its last instruction */
    uint16_t count;    /* instructions, at least 1 */
    uint16_t flags;    /* IPT_FLOW_ */
    uint8_t kind;      /* of its last instruction */
    uint8_t last_size; /* size of its last instruction */
    uint8_t mode;      /* IPT_MODE_ */
} ipt_block;

/* A decoder of blocks. */
typedef struct ipt_blk_decoder ipt_blk_decoder;

/* As for packets; config.read is needed. `cache` may be NULL: code is then read
 * and classified each time that flow reaches it, and kept for up to 32
 * instructions. If code changes while it is traced, use a cache: only a cache
 * has a function that makes it forget code.
 *
 * A block (or an instruction) may be proven and not yet given when you
 * synchronise, because the decoder did not know yet what follows it. The next
 * ipt_blk_next (or ipt_insn_next) gives it; the events of the new position come
 * after it. */
IPT_API int ipt_blk_init(ipt_blk_decoder *decoder, const ipt_config *config,
                         const ipt_trace *trace, ipt_cache *cache);
IPT_API int ipt_blk_sync_forward(ipt_blk_decoder *decoder);
IPT_API int ipt_blk_sync_backward(ipt_blk_decoder *decoder);
IPT_API int ipt_blk_sync_set(ipt_blk_decoder *decoder, uint64_t offset);

/* As ipt_insn_start, ipt_insn_set_asid. */
IPT_API int ipt_blk_start(ipt_blk_decoder *decoder, const ipt_start *start);
IPT_API int ipt_blk_set_asid(ipt_blk_decoder *decoder, const ipt_asid *asid);

/* As ipt_insn_resync. The next ipt_blk_next gives the block in progress,
 * whatever this returns: call ipt_blk_next once more even after IPT_END. */
IPT_API int ipt_blk_resync(ipt_blk_decoder *decoder);

/* The next block; otherwise exactly as ipt_insn_next. */
IPT_API int ipt_blk_next(ipt_blk_decoder *decoder, ipt_block *block);
IPT_API int ipt_blk_event(ipt_blk_decoder *decoder, ipt_event *event);

/* ==========================================================================
 * [insn]  the same, one instruction at a time
 * ========================================================================== */

/* One executed instruction. */
typedef struct ipt_insn {
    uint64_t offset; /* of the packet that proves it */
    uint64_t ip;
    uint16_t flags; /* IPT_FLOW_ */
    uint8_t size;   /* bytes, 1 .. 15 */
    uint8_t kind;   /* IPT_INSN_ */
    uint8_t mode;   /* IPT_MODE_ */
} ipt_insn;

/* A decoder of instructions. */
typedef struct ipt_insn_decoder ipt_insn_decoder;

/* As for blocks. */
IPT_API int ipt_insn_init(ipt_insn_decoder *decoder, const ipt_config *config,
                          const ipt_trace *trace, ipt_cache *cache);

/* Synchronise to a PSB. The status has IPT_EVENT_PENDING if an event comes
 * before the first instruction, and IPT_IP_SUPPRESSED if tracing is disabled
 * there, or if the trace, the fuel or an error ended the call inside the PSB+.
 * To know this the call reads ahead. If it meets another PSB there, at.sync
 * moves to that one, and _sync_forward will not find it again. */
IPT_API int ipt_insn_sync_forward(ipt_insn_decoder *decoder);
IPT_API int ipt_insn_sync_backward(ipt_insn_decoder *decoder);
IPT_API int ipt_insn_sync_set(ipt_insn_decoder *decoder, uint64_t offset);

/* As ipt_evt_start; returns as ipt_insn_sync_forward. */
IPT_API int ipt_insn_start(ipt_insn_decoder *decoder, const ipt_start *start);

/* Set the address space of the next instruction if you know it and the trace
 * does not: VMX controls may conceal PIP and VMCS packets. It is valid until
 * the next PIP, VMCS, gap or synchronisation.
 *
 * returns  IPT_OK; IPT_ERR_NOSYNC, IPT_ERR_ARG, IPT_ERR_STATE */
IPT_API int ipt_insn_set_asid(ipt_insn_decoder *decoder, const ipt_asid *asid);

/* Go on after an error, or give up a missing page: leave the flow at at.ip and
 * go on at the next packet with an IP. Return stack and address space stay. A
 * loop over this function that stops at errors ends. If it returns a note, the
 * next call continues, whether of this function or of _next. Events on the way
 * are given, also before IPT_END or an error, and take effect. If tracing is
 * reported as enabled while it was enabled already, the disabling packet was
 * lost: a DISABLED without IP and target is inserted before that event.
 *
 * returns  as ipt_insn_sync_forward; IPT_ERR_NOSYNC: not synchronised at all
 *          the errors of ipt_evt_next: only a _sync function gets past a packet
 *          that cannot be decoded */
IPT_API int ipt_insn_resync(ipt_insn_decoder *decoder);

/* The next instruction that executed. An instruction is given only when the
 * trace read so far proves that it executed.
 *
 * returns  >= 0: *insn was written. IPT_EVENT_PENDING: events follow this
 *          instruction. Fetch them with ipt_insn_event before the next call,
 *          which drops the rest and counts them (at.dropped).
 *          IPT_IP_SUPPRESSED: tracing is disabled after this instruction
 *          IPT_EVENT_FIRST: an event that became known only now comes before
 *          the next instruction. Fetch it, or call again to drop it. This
 *          happens with open traces, fuel or missing pages. It also happens if
 *          a packet that the next instruction needs was lost, before a stray
 *          PTW (see IPT_EVT_PTWRITE), before a branch with a CBR, MNT, PWRE or
 *          PWRX between its packets, and during a _resync that met more than
 *          four events
 *          IPT_END, IPT_MORE, IPT_BUDGET, IPT_NEED_PAGE (see at.missing)
 *          IPT_ERR_MISMATCH: trace and code contradict each other at at.ip
 *          IPT_ERR_RETURN, IPT_ERR_RETCOMP, IPT_ERR_MODE
 *          IPT_ERR_RETURN_LOST: the return at at.ip executed and was given. Its
 *          target is not known, because its call was before an overflow, a gap
 *          or a _resync. Returns of later calls are not affected. See
 *          IPT_CONFIG_KEEP_CALLS
 *          IPT_ERR_NO_TNT: the branch at at.ip executed and was given. Its
 *          target is not known, because the trace has no bit for it. See
 *          IPT_CONFIG_NO_TNT
 *          IPT_ERR_IMAGE, IPT_ERR_CALLBACK, IPT_ERR_BAD_INSN, IPT_ERR_LOOP
 *          the errors of ipt_evt_next; IPT_ERR_NOSYNC */
IPT_API int ipt_insn_next(ipt_insn_decoder *decoder, ipt_insn *insn);

/* The next event, while one is pending.
 *
 * returns  >= 0: *event was written; IPT_EVENT_PENDING: there is another one
 *          IPT_END: none is pending
 *          IPT_ERR_NOSYNC, IPT_ERR_ARG, IPT_ERR_STATE */
IPT_API int ipt_insn_event(ipt_insn_decoder *decoder, ipt_event *event);

/* ==========================================================================
 * [cov]  trace straight to coverage
 *
 *     static uint8_t bitmap[65536];
 *     static ipt_cache_line cache_lines[16384];    // 1 MiB
 *     static ipt_cov_line memo_lines[16384];       // 1 MiB
 *     static ipt_cov_decoder decoder;
 *     static ipt_cov_config cov;                   // all zero
 *     ipt_cov_memo memo;                           // the rest as at the top
 *
 *     cov.bitmap = bitmap, cov.bitmap_size = sizeof(bitmap), cov.memo = &memo;
 *     ipt_cache_init(&cache, cache_lines, 16384);
 *     ipt_cov_memo_init(&memo, memo_lines, 16384);
 *     status = ipt_cov_init(&decoder, &config, &cov, &trace, &cache);
 *     while (status >= 0 && run_target(&piece)) {  // its trace is in `piece`
 *         memset(bitmap, 0, sizeof(bitmap));
 *         status = ipt_cov_begin(&decoder, &trace);
 *         while (status >= 0 && (status = ipt_cov_run(&decoder)) != IPT_END)
 *             status = ipt_cov_resync(&decoder);   // gives up missing pages
 *         if (status == IPT_END) {
 *             look_at(bitmap, decoder.verdict);    // 0: this is all that ran
 *             status = IPT_OK;
 *         }
 *     }
 * ========================================================================== */

/* A line of a memo, 64 bytes. */
typedef struct ipt_cov_line ipt_cov_line;

/* A memo: it remembers where runs of TNT bits lead, so that the decoder need
 * not walk them again. It changes only speed, never results.
 *
 * Decoders with equal configs, the same cache and the same table of blocks may
 * share a memo, in any order of calls, one thread at a time. Two kinds of
 * decoders clear it:
 *   - one with another config or another table of blocks, when it begins (the
 *     list of settings that count is at ipt_cov_begin). This also ends the runs
 *     of the other decoders.
 *   - one with another cache, each time it is used. The other decoders can go
 *     on with their runs; they have to learn again.
 * Decoders without a cache count as having the same one: they have to read the
 * same code. While no decoder writes to a memo, any number of threads may read
 * it in parallel: see ipt_cov_config.shared.
 *
 *   uint64_t lost   lines evicted so far, also before the memo was cleared. If
 *                   it grows while a program that ran before, under the same
 *                   configs, still has misses, use a larger memo */
typedef struct ipt_cov_memo ipt_cov_memo;

/* Give a memo its memory: `count` lines, at least 4, of which the largest power
 * of two is used. One line for each different block that a program executes is
 * enough for nearly all that the memo can learn; take twice as many if all
 * blocks run equally often. 16384 (1 MiB) suit most programs.
 * Runs that use or share the memo must be restarted with ipt_cov_begin. This is
 * not detected reliably.
 *
 * returns  IPT_OK; IPT_ERR_ARG
 * cost     linear in `count`: it clears them */
IPT_API int ipt_cov_memo_init(ipt_cov_memo *memo, ipt_cov_line *lines,
                              size_t count);

/* An entry of a table of blocks, 16 bytes. */
typedef struct ipt_cov_mark ipt_cov_mark;

/* A table of the blocks seen so far: address, size and mode, regardless of the
 * address space. For any number of decoders that are used by one thread at a
 * time.
 *
 *   uint64_t count  blocks in it
 *   uint64_t lost   how often there was no room for a block. Such a block
 *                   counts as new each time that it is walked */
typedef struct ipt_cov_seen ipt_cov_seen;

/* Give a table its memory, or clear it: `count` marks, at least 64, of which
 * the largest power of two is used. Twice the number of blocks is enough.
 *
 * returns  IPT_OK; IPT_ERR_ARG
 * cost     linear in `count`: it clears them */
IPT_API int ipt_cov_seen_init(ipt_cov_seen *seen, ipt_cov_mark *marks,
                              size_t count);

/* The kinds of coverage that you want, in any combination. Begin with all zero.
 *
 * An edge leads from the address of a branch to its target, or to the next
 * instruction if it was not taken. Edges of conditional branches always count;
 * with IPT_COV_INDIRECT those of indirect and far branches and of returns
 * count, too. A branch that ends tracing has no edge. The path is the sequence
 * of the edges that count. */
typedef struct ipt_cov_config {
    /* Counters: an edge adds one to counter s % bitmap_size, where s is the low
     * half of mix(to) ^ mix(from) >> 1 and mix(v) is (v ^ v >> 31) times
     * 0x7fb5d329728ea185. If the size is a power of two, this is the counter
     * that libxdc uses. ipt never clears the bitmap. 0: none. */
    uint8_t *bitmap;
    uint32_t bitmap_size; /* counters, at least 1 if there is a bitmap; above
                           * 1 << 26 no memo is used */

    uint32_t flags; /* IPT_COV_ */

    /* Called for each edge, with the kind of the branch (IPT_INSN_); may be 0.
     * With `edge`, or with `block` but without `seen`, no memo is used. */
    void (*edge)(uint64_t from, uint64_t to, uint8_t kind, void *context);

    /* Called for each block when it has ended: `size` bytes of code at ip that
     * executed one after the other. A block ends after every branch, where an
     * event leads away, and where config.section changes. With `seen` it is
     * called only for a block that is new to that table. May be 0. */
    void (*block)(uint64_t ip, uint32_t size, uint8_t mode, void *context);

    void *context; /* passed to both callbacks */

    /* An array of IPT_FILTERS ranges of branch addresses; each element is read,
     * so set the kind of all. Edges in STOP ranges do not count. If there are
     * TRACE ranges, only edges in them count. A change of filter clears the
     * memo. Blocks, and the table of blocks, do not depend on the filter.
     * 0: all edges count. */
    const ipt_filter *filter;

    ipt_cov_memo *memo;         /* 0: walk everything. `shared` is not used
                                 * then, although _init and _begin check it */
    const ipt_cov_memo *shared; /* a memo that earlier runs have filled: looked
                                 * into first, and only read. It needs `memo`,
                                 * which may be small. When a run begins, the
                                 * code has to be the code that it was filled
                                 * with; this is not checked. 0: none */

    /* The table of blocks seen so far; new blocks are added. 0: every block
     * counts as new. If this is set, `shared` must have been filled with a
     * table set, too; if it is 0, without one. Blocks on paths that `shared`
     * has count as seen, and are not added. */
    ipt_cov_seen *seen;
} ipt_cov_config;

/* ipt_cov_config.flags */
#define IPT_COV_INDIRECT 0x01u /* edges of indirect branches count, too */
#define IPT_COV_SATURATE 0x02u /* counters stop at 255; otherwise they wrap */
#define IPT_COV_HASH 0x04u     /* compute the hash of the path */
#define IPT_COV_FLAGS_ 0x07u

/* ipt_cov_decoder.verdict, as of the end of the last _run or _resync. 0: the
 * run was decoded completely. An empty trace gives 0, too; at.valid is then
 * without IPT_AT_SYNC, as it is after ipt_cov_start until a PSB comes. */
#define IPT_COV_UNFINISHED 0x01u /* the end was not reached (yet) */
#define IPT_COV_SKIPPED 0x02u    /* the trace before the first PSB, or all of a
                                  * trace without a PSB, was not decoded */
#define IPT_COV_OVERFLOW 0x04u   /* the processor lost trace */
#define IPT_COV_GAP 0x08u        /* trace was lost between two pieces */
#define IPT_COV_NO_PAGE 0x10u    /* the code at at.missing is missing. The next
                                  * ipt_cov_run clears this bit, unless a
                                  * _resync has given the page up */
#define IPT_COV_ERROR 0x20u      /* ipt_cov_run returned an error, other than
                                  * IPT_ERR_TRUNCATED. The bit stays, even if
                                  * a callback's new answer let flow go on */
#define IPT_COV_TRUNCATED 0x40u  /* the trace ends inside a packet */

/* A decoder of coverage. Do not use tsc, cbr, lost_mtc, lost_cyc and IPT_AT_TSC
 * of `at`: coverage does not keep time.
 *
 *   uint64_t begin    stream offset of the run's first PSB; after
 *                     ipt_cov_start that of its first packet
 *   uint64_t hash     of the path so far, with IPT_COV_HASH
 *   uint64_t hits     steps of this run that were found in a memo
 *   uint64_t misses   steps of this run that had to be walked, and were
 *                     learned. Memos join steps: the same trace may take fewer
 *                     of them later
 *   uint32_t verdict  IPT_COV_UNFINISHED and the other bits above; 0: the run
 *                     was decoded completely */
typedef struct ipt_cov_decoder ipt_cov_decoder;

/* Prepare a decoder for its first run. It borrows both configs and all they
 * point to, as it borrows `trace` and `cache`. `cache` may be NULL.
 *
 * returns  IPT_OK; IPT_ERR_ARG, IPT_ERR_STATE
 *          IPT_ERR_CONFIG: also if `shared` was filled under other configs, or
 *          not at all */
IPT_API int ipt_cov_init(ipt_cov_decoder *decoder, const ipt_config *config,
                         const ipt_cov_config *cov, const ipt_trace *trace,
                         ipt_cache *cache);

/* Begin the next run: forget flow, hash and verdict; keep code and memo. Clear
 * the bitmap yourself, if you wish. The configs are read again here: change
 * them before this call and not during a run. The memo is cleared if one of
 * these has changed:
 *   - flags: of ipt_cov_config all but SATURATE, of ipt_config NO_RETCOMP and
 *     RELATIVE_IP
 *   - errata, and either filter
 *   - the size of the bitmap, and whether there is a bitmap
 *   - the table of blocks
 *   - whether there is a config.section.
 * Other changes, to callbacks, their context or their answers, are not
 * detected: call ipt_cov_invalidate for all code after this. After an error
 * there is no run until a _begin succeeds.
 *
 * returns  as ipt_cov_init */
IPT_API int ipt_cov_begin(ipt_cov_decoder *decoder, const ipt_trace *trace);

/* After _init or _begin: the run begins at a packet that need not be a PSB, as
 * with ipt_insn_start. Without IPT_START_LAST_IP no memo is used until there is
 * a full IP, a PSB or an OVF.
 *
 * returns  as ipt_insn_start; IPT_ERR_STATE, IPT_ERR_CONFIG: as ipt_cov_run */
IPT_API int ipt_cov_start(ipt_cov_decoder *decoder, const ipt_start *start);

/* Decode from the first PSB to the end of the trace.
 *
 * returns  IPT_END: the end was reached. decoder->verdict names any losses
 *          IPT_MORE, IPT_BUDGET, IPT_NEED_PAGE: supply it and call again
 *          the errors of ipt_insn_next, once flow is lost: ipt_cov_resync
 *          IPT_ERR_STATE: the last _begin failed
 *          IPT_ERR_CONFIG: a decoder with another config has begun to use the
 *          memo, or the memo or its table of blocks was initialised again: call
 *          ipt_cov_begin
 *          Whatever it returns, all outputs are complete up to decoder->at but
 *          for the block in progress. That block is given when it ends, or with
 *          IPT_END, and never if you abandon the run before. */
IPT_API int ipt_cov_run(ipt_cov_decoder *decoder);

/* Go on after an error, or give up a missing page: find the next packet that
 * says where flow is, which a PSB+ does in any case. Then call ipt_cov_run.
 *
 * returns  >= 0; IPT_END: there is no such packet; IPT_MORE, IPT_BUDGET
 *          IPT_ERR_STATE, IPT_ERR_CONFIG: as ipt_cov_run */
IPT_API int ipt_cov_resync(ipt_cov_decoder *decoder);

/* Forget code in the decoder's cache, as ipt_cache_invalidate does (calling
 * that for the cache has the same effect). Unless the cache certainly has no
 * such code, this also clears the decoder's memo, and the shared memo is not
 * used for the rest of the run. The next _begin uses the shared memo again: if
 * the code is then still different from the code it was filled with, set
 * ipt_cov_config.shared to 0 first.
 * Without a cache this always clears the memo, and only this decoder stops
 * using a shared one: call it for each decoder that shares it.
 *
 * returns  as ipt_cache_invalidate */
IPT_API int ipt_cov_invalidate(ipt_cov_decoder *decoder, const ipt_asid *asid,
                               uint64_t ip, uint64_t size);

/* ==========================================================================
 * [hot]  hot traces, made of blocks
 *
 * A trace is a list of blocks that ran one after the other. It begins at a
 * block that runs often, its head. Traces are built as DynamoRIO builds them:
 * when a head has run often enough, the blocks that run next are recorded.
 *
 *     static ipt_hot_head heads[4096];
 *     static ipt_hot_trace traces[1024];
 *     static ipt_block blocks[16384];
 *
 *     config.heads = heads, config.head_count = 4096; ...
 *     ipt_hot_init(&hot, &config);
 *     for (;;) {
 *         ipt_asid asid = decoder.at.asid;      // of the block to come
 *         status = ipt_blk_next(&decoder, &block);
 *         if (status >= 0)
 *             ipt_hot_feed(&hot, &block, &asid);
 *         else if (...)                          // an error: flow is lost
 *             ipt_hot_break(&hot);
 *     }
 *
 * A block becomes a head when
 *   - flow reaches it from a kept trace, by any kind of branch,
 *   - flow reaches it by a direct branch (the last instruction of the block
 *     before is JCC, JMP or CALL), and its address is not above that of the
 *     block before, or
 *   - you mark it.
 * A head counts its runs, except inside a kept trace and while another trace is
 * recorded. The run that reaches `threshold` becomes the first block of a
 * recording. The recording ends before a block when
 *   - it has max_blocks, or there is no more memory for it,
 *   - config.end_trace returns IPT_HOT_END, or
 *   - config.end_trace returns IPT_HOT_DECIDE, the recording has more than one
 *     block, and the next block is a head or the first one of a kept trace.
 * The recording is aborted when flow does not go on by itself: trace was lost,
 * tracing was disabled or enabled, an interrupt or a transaction's abort came
 * between, mode or address space changed, or ipt_hot_break was called. Its head
 * then counts from 0 again, and config.aborted is called.
 *
 * Flow is in a kept trace from its head on, as long as the blocks are those of
 * the trace. Blocks may be in several traces.
 *
 * An event may cut a block in two (see ipt_block); each part is a block here.
 * Use IPT_CONFIG_END_ON_CALL and _JUMP: blocks are contiguous then. Without
 * them the code of a block is not known, so ipt_hot_invalidate may miss a
 * block, and direct jumps inside a block make no heads.
 * ========================================================================== */

/* Identifies a trace or its head: the address of the first block. */
typedef struct ipt_hot_tag {
    uint64_t ip;
    ipt_asid asid;
    uint8_t mode; /* IPT_MODE_ */
} ipt_hot_tag;

/* A head. Read-only. */
typedef struct ipt_hot_head {
    ipt_hot_tag tag;
    uint32_t count;  /* runs; if it has a trace, how soon it is evicted */
    uint32_t trace_; /* index of its kept trace, plus 1 */
    uint8_t used;    /* 0: this entry is free */
} ipt_hot_head;

/* A kept trace. Read-only. */
typedef struct ipt_hot_trace {
    ipt_hot_tag tag;
    uint64_t runs;  /* how often flow reached its head since it was kept */
    uint64_t credit_; /* blocks of its runs, as far as they still count */
    uint32_t first; /* index of its first block in config.blocks */
    uint32_t count; /* blocks; 0: deleted, which only a callback can see */
    uint32_t head_; /* index of its head */
    uint32_t link_; /* index of the trace that came after it last, plus 1 */
} ipt_hot_trace;

/* Return values of config.end_trace. */
enum ipt_hot_answer { IPT_HOT_DECIDE, IPT_HOT_END, IPT_HOT_CONTINUE };

/* Return values of config.trace. */
enum ipt_hot_verdict { IPT_HOT_KEEP, IPT_HOT_DROP };

#define IPT_HOT_NO_LIMIT 0xffffffffu

/* Memory, limits and callbacks. Begin with all zero. Callbacks may call
 * ipt_hot_mark_head, _delete and _invalidate, but neither _feed nor _break. */
typedef struct ipt_hot_config {
    /* Your own pointer, passed to every callback below. */
    void *context;

    /* Does the trace being recorded end before the block at `next`? Called
     * before each block except the first. IPT_HOT_END: yes. IPT_HOT_CONTINUE:
     * no, unless it has max_blocks. IPT_HOT_DECIDE and any other value: the
     * rules above decide. May be 0, which is the same as IPT_HOT_DECIDE. */
    int (*end_trace)(const ipt_hot_tag *tag, uint64_t next, void *context);

    /* A trace is complete. `blocks` is valid until this returns. IPT_HOT_KEEP:
     * keep it. Any other value: drop it; its head then counts from 0 again. If
     * the callback deletes or invalidates the trace, it is dropped. May be 0:
     * all traces are kept. */
    int (*trace)(const ipt_hot_tag *tag, const ipt_block *blocks,
                 uint32_t count, void *context);

    /* A kept trace was deleted: by ipt_hot_delete, _invalidate, or because
     * there was no room. If a callback deleted it, this is called after that
     * has returned. Several at once come in the order in which they were kept.
     * May be 0. */
    void (*deleted)(const ipt_hot_tag *tag, void *context);

    /* A recording was aborted. May be 0. */
    void (*aborted)(const ipt_hot_tag *tag, void *context);

    /* Your memory; none of the counts is 0. */
    ipt_hot_head *heads;
    ipt_hot_trace *traces;
    ipt_block *blocks;
    uint32_t head_count;  /* the largest power of two of them is used */
    uint32_t trace_count; /* traces that can be kept */
    uint32_t block_count; /* at least 2. max_blocks of them, but at most half,
                           * are for the trace being recorded, the rest for
                           * kept traces */

    uint32_t threshold;  /* runs of a head; 0: 50 */
    uint32_t max_blocks; /* of a trace; 0: 128; IPT_HOT_NO_LIMIT */
} ipt_hot_config;

/* Counts. The last four count effects of full tables: if all are 0, the traces
 * are those that unbounded memory would give. */
typedef struct ipt_hot_stats {
    uint64_t blocks;  /* blocks fed */
    uint64_t inside;  /* instructions in kept traces */
    uint64_t insns;   /* all instructions */
    uint64_t told;    /* complete traces passed to config.trace */
    uint64_t dropped; /* complete traces that config.trace did not keep */
    uint64_t deleted; /* kept traces deleted, `evicted` included */
    uint64_t aborted; /* recordings aborted */
    uint64_t heads_lost; /* no room for a head: it or another one was forgotten,
                          * or counts one less */
    uint64_t evicted;    /* kept traces deleted to make room */
    uint64_t refused;    /* complete traces not passed to config.trace, because
                          * there was no room and the kept traces run more
                          * often */
    uint64_t cut;        /* traces that ended because there was no room to
                          * record another block */
} ipt_hot_stats;

/* A builder of hot traces. A clone by memcpy needs copies of the three tables,
 * and a config that points to them.
 *
 *   ipt_hot_stats stats
 *   uint32_t kept   traces: the first ones of config.traces, in order */
typedef struct ipt_hot ipt_hot;

/* Prepare a builder. It borrows the config and its memory.
 *
 * returns  IPT_OK; IPT_ERR_ARG
 *          IPT_ERR_CONFIG: memory is missing
 * cost     linear in head_count: it clears them */
IPT_API int ipt_hot_init(ipt_hot *h, const ipt_hot_config *config);

/* A block has run, after the one fed before.
 *
 * asid     its address space: decoder.at.asid before ipt_blk_next gave it
 * returns  IPT_OK; IPT_ERR_ARG; IPT_ERR_STATE: also from inside a callback
 * cost     bounded; if it completes a trace, linear in the memory for traces
 *          and blocks */
IPT_API int ipt_hot_feed(ipt_hot *h, const ipt_block *block,
                         const ipt_asid *asid);

/* The next block does not follow the one fed last: after an error of the
 * decoder, at a cut between two traces.
 *
 * returns  as ipt_hot_feed */
IPT_API int ipt_hot_break(ipt_hot *h);

/* Make a block a head, unless it is one already. It gets a place even if the
 * table is full.
 *
 * returns  as ipt_hot_feed. Callbacks may call it, too */
IPT_API int ipt_hot_mark_head(ipt_hot *h, const ipt_hot_tag *tag);

/* Delete the trace with this tag, or abort its recording. Its head then counts
 * from 0 again.
 *
 * returns  1: there was one; 0: there was none
 *          IPT_ERR_ARG, IPT_ERR_STATE */
IPT_API int ipt_hot_delete(ipt_hot *h, const ipt_hot_tag *tag);

/* Code changes: delete the traces with code in [ip, ip + size), abort a
 * recording with such code, and forget the heads in that range, even marked
 * ones. This is done in one address space or (asid NULL) in all; size 0 means
 * the whole address space. All code between the first and the last instruction
 * of a block counts as its code.
 *
 * returns  IPT_OK; IPT_ERR_ARG, IPT_ERR_STATE
 * cost     linear in the memory */
IPT_API int ipt_hot_invalidate(ipt_hot *h, const ipt_asid *asid, uint64_t ip,
                               uint64_t size);

/* ==========================================================================
 * [gen]  executed branches to a trace
 *
 * For emulators, simulators and tests: report the instructions that ran, in
 * order, and get the trace that a processor would write. Use one ipt_gen for
 * each logical processor; it reads no code and allocates nothing.
 * examples/emit.c is a toy processor that traces itself,
 * examples/tools/ptrecord.c traces any Linux program, tests/truth/ traces QEMU.
 *
 *     ipt_gen_init(&gen, &config, IPT_MODE_64);
 *     gen.out = buffer, gen.size = sizeof(buffer);
 *     // ENABLED at the first instruction; then, for each that has executed:
 *     gen.clock += cycles;             // only for packets of time
 *     status = ipt_gen_branch(&gen, kind, ip, size, next_ip);
 *     if (status == IPT_ERR_ROOM) {    // take gen.used bytes, do it again
 *         fwrite(gen.out, 1, gen.used, file);
 *         gen.used = 0;
 *     }
 *     // at the end: ipt_gen_flush(&gen), the same way, and take the rest
 *
 * ipt_classify, called once for each instruction that you translate, gives kind
 * and size. You may leave out kinds that leave no trace, which cost next to
 * nothing. Direct calls are the exception: compressed returns need them.
 *
 *   what happened                     what to report
 *   a branch, taken or not            ipt_gen_branch
 *   ... to where nothing is traced:   DISABLED instead of it. To another ring
 *   ring, address space, filter       or CR3: IPT_EVENT_NO_TO; out of an
 *                                     address filter: u.branch.to. Flow
 *                                     may also leave it without a branch
 *   ... from there                    ENABLED, ip: the first traced again
 *   an interrupt, fault, VM exit      ASYNC_BRANCH, ip: the instruction that
 *                                     did not execute, u.branch.to: the handler
 *   ... to where nothing is traced    ASYNC_DISABLED, ip and NO_TO or to
 *   ... with another CR3, VMCS        ASYNC_PAGING, ASYNC_VMCS, before it
 *   MOV CR3; VM entry; VMPTRLD        PAGING; PAGING, and the branch; VMCS
 *   CS.L, CS.D, RFLAGS.IF change      EXEC_MODE, before the branch or event
 *   a transaction begins, commits     TSX, ip: the next instruction
 *   ... aborts                        TSX, then ASYNC_BRANCH, both with the ip
 *                                     of the abort
 *   PTWRITE                           PTWRITE, ip: its own, or NO_IP
 *   flow reaches a TraceStop range    DISABLED, then STOP
 *   trace is lost                     report nothing while it is; then
 *                                     OVERFLOW, ip: the first traced again, or
 *                                     NO_IP if tracing is disabled
 *   MWAIT, C-states, new ratio,       MWAIT, EXSTOP, PWRE, PWRX, CBR, CFE
 *   event trace
 *
 * Rings, address filters and buffers are your part: decide yourself whether an
 * instruction is traced. While tracing is disabled ipt_gen_branch does nothing
 * and returns IPT_ERR_CONTEXT, which you may ignore.
 * ========================================================================== */

/* The kind of trace to write. Begin with all zero. */
typedef struct ipt_gen_config {
    uint32_t flags;      /* IPT_CONFIG_NO_RETCOMP: no compressed returns;
                          * IPT_GEN_ */
    uint32_t psb_period; /* bytes between PSB+; 0: only at the start */
    uint64_t tsc;          /* the TSC when gen.clock is 0 */
    uint32_t cpuid_15_eax; /* these four as in ipt_config; MTC needs eax and */
    uint32_t cpuid_15_ebx; /* ebx above 0, and ebx at most 511 times eax */
    uint8_t mtc_freq;
    uint8_t nom_freq; /* 0: the TSC counts core cycles at any ratio */
    uint8_t cbr;      /* core:bus ratio at the start, 0: no CBR */
} ipt_gen_config;

/* ipt_gen_config.flags */
#define IPT_GEN_TNT_64 0x10000u /* up to 47 branches in a packet */
#define IPT_GEN_DEFER 0x20000u  /* TIPs wait for the TNT packet in progress;
                                 * those of returns only with NO_RETCOMP */
#define IPT_GEN_TSC 0x40000u    /* TSC (with MTC: TMA) in PSB+, after OVF */
#define IPT_GEN_MTC 0x80000u    /* MTC every 1 << mtc_freq crystal clocks */
#define IPT_GEN_CYC 0x100000u   /* CYC before packets */
#define IPT_GEN_FLAGS_ 0x1f0000u

/* A trace writer. These fields are yours:
 *
 *   uint8_t *out    your buffer
 *   size_t size     its size in bytes
 *   size_t used     bytes written: take them and set this back to 0
 *   uint64_t clock  core cycles: advance it between calls. An MTC that is due
 *                   is written in the next call, with the CYC of the time when
 *                   it was due; if several are due, only the last is written */
typedef struct ipt_gen ipt_gen;

/* The most room that one call needs, in bytes. */
#define IPT_GEN_ROOM 256

/* Prepare a writer: everything in it is cleared, so set out and size after this
 * call. The trace begins with a PSB+ at the first event.
 *
 * mode     IPT_MODE_: the first execution mode
 * returns  IPT_OK; IPT_ERR_ARG */
IPT_API int ipt_gen_init(ipt_gen *gen, const ipt_gen_config *config,
                         uint8_t mode);

/* An instruction executed: its kind (IPT_INSN_), address and size, and the
 * address `to` of the next one.
 *
 * returns  IPT_OK
 *          IPT_ERR_ROOM: fewer than IPT_GEN_ROOM bytes are left; nothing is
 *          done
 *          IPT_ERR_CONTEXT: tracing is not enabled, or an ASYNC_PAGING or
 *          ASYNC_VMCS waits for its ASYNC_ event; nothing is done
 *          IPT_ERR_ARG, IPT_ERR_STATE */
IPT_API int ipt_gen_branch(ipt_gen *gen, uint8_t kind, uint64_t ip,
                           uint8_t size, uint64_t to);

/* Something other than a branch happened: report it as the event that a decoder
 * is to find, by the list above. Begin with all zero; type, ip, flags (NO_IP,
 * NO_TO) and u are used.
 *
 *   DISABLED      With a target it empties the call stack, because the branch
 *                 may have been a call or a return; without one the call stack
 *                 stays. Calls and returns while tracing is disabled have no
 *                 effect: decoders do not see them either. A return is
 *                 compressed if its call was traced, no matter what ran
 *                 untraced in between.
 *   ENABLED       With IPT_EVENT_STATUS it begins with a PSB+ that already has
 *                 the IP, as at a VM entry that loads RTIT_CTL.
 *   EXEC_MODE     To begin with iflag set, report one before the first ENABLED.
 *   OVERFLOW      Empties the call stack, too. Branches reported before it are
 *                 not lost. Report EXEC_MODE, ASYNC_PAGING and ASYNC_VMCS that
 *                 changed while trace was lost right before it, or after it
 *                 with its ip. They are written in a PSB+.
 *   CFE           Without an IP, while tracing is enabled, it takes the IP of
 *                 the next ASYNC_ event, if its type has one.
 *   MNT           Writes an MNT packet with its payload.
 *
 * returns  as ipt_gen_branch
 *          IPT_ERR_CONTEXT: not allowed while tracing is enabled, or disabled,
 *          or while an address space waits for its ASYNC_ event; nothing is
 *          done
 *          IPT_ERR_ARG: the type is not in the list, or a field that it needs
 *          is missing; nothing is done */
IPT_API int ipt_gen_event(ipt_gen *gen, const ipt_event *event);

/* Write out the TNT packet in progress.
 *
 * returns  as ipt_gen_branch */
IPT_API int ipt_gen_flush(ipt_gen *gen);

/* ==========================================================================
 * [hw]  from the registers of the processor that traced
 *       SDM: "Trace Output", "IA32_RTIT_CTL MSR", CPUID leaves 14H and 15H
 * ========================================================================== */

/* The output registers of a processor: they locate its trace. */
typedef struct ipt_topa {
    uint64_t rtit_ctl;         /* IA32_RTIT_CTL; only its bit ToPA is used */
    uint64_t output_base;      /* IA32_RTIT_OUTPUT_BASE, and ..._MASK_PTRS, */
    uint64_t output_mask_ptrs; /* read when tracing was off */
    /* The values of these two registers at your previous call: only newer trace
     * is returned. since_mask_ptrs 0, which the register never is: all trace is
     * new. */
    uint64_t since_base;
    uint64_t since_mask_ptrs;
    /* With ToPA and since_mask_ptrs 0: physical address of the table with whose
     * first entry tracing began. */
    uint64_t table;
    uint8_t wrapped; /* 1: the output has wrapped past the previous position:
                      * return the whole buffer, oldest first, starting at the
                      * current position. The hardware does not report this:
                      * fill the output with zeros and see whether bytes after
                      * the end changed, or use a region with IPT_TOPA_INT */
    /* Maps physical memory: returns a pointer to `size` bytes that stays valid
     * while the segments are used (for an entry of a table, 8 bytes: during the
     * call), or NULL. Expect any address: tables are hostile. */
    const uint8_t *(*map)(uint64_t physical, uint64_t size, void *context);
    void *context;
} ipt_topa;

/* Make segments, oldest first, for an ipt_trace from the output in a single
 * range or a Table of Physical Addresses. The tables are hostile: `room` bounds
 * the work, whatever they hold.
 *
 *   room     segments there is room for; one more than the table has regions
 *            is enough
 *   returns  0 .. room: segments written
 *            IPT_ERR_ROOM: too few, or the tables form a loop without the
 *                current entry
 *            IPT_ERR_CALLBACK: map returned NULL
 *            IPT_ERR_ARG: also if the current position is outside its region */
IPT_API int ipt_segments_from_topa(ipt_segment *segments, uint32_t room,
                                   const ipt_topa *topa);

/* A region for output: `size` bytes from `physical` on, both multiples of
 * 4096. */
typedef struct ipt_region {
    uint64_t physical; /* below 2^52 */
    uint64_t size;
    uint64_t flags; /* IPT_TOPA_, what happens when it is full */
} ipt_region;

#define IPT_TOPA_INT 0x04u  /* an interrupt; output goes on meanwhile */
#define IPT_TOPA_STOP 0x10u /* output stops; IA32_RTIT_STATUS.Stopped */

/* Make a Table of Physical Addresses from regions, in their order. A region
 * becomes as few entries as its address and its size allow; its last entry gets
 * the flags. The last entry of the table is a link; output follows it unless a
 * region stops output.
 *
 *   table    8 bytes an entry, little-endian. The processor needs it in one
 *            piece of physical memory, at a multiple of 4096
 *   room     entries there is room for
 *   next     physical address of the table that the link leads to; for a ring,
 *            that of this table
 *   returns  2 .. room: entries written. A processor without bit 1 of CPUID
 *                leaf 14H, ECX, takes no more than 2, and a link to itself
 *            IPT_ERR_ROOM; IPT_ERR_ARG: also no region, or one that is empty,
 *                not of whole pages, or past 2^52 */
IPT_API int ipt_topa_from_regions(uint8_t *table, uint32_t room, uint64_t next,
                                  const ipt_region *regions, uint32_t count);

/* Bits of IA32_RTIT_CTL. The n of a field is 0 .. 15. */
#define IPT_RTIT_TRACE_EN 0x01u
#define IPT_RTIT_CYC_EN 0x02u
#define IPT_RTIT_OS 0x04u   /* CPL 0 */
#define IPT_RTIT_USER 0x08u /* CPL 1 .. 3 */
#define IPT_RTIT_PWR_EVT_EN 0x10u
#define IPT_RTIT_FUP_ON_PTW 0x20u
#define IPT_RTIT_FABRIC_EN 0x40u
#define IPT_RTIT_CR3_FILTER 0x80u /* only where CR3 is IA32_RTIT_CR3_MATCH */
#define IPT_RTIT_TOPA 0x100u
#define IPT_RTIT_MTC_EN 0x200u
#define IPT_RTIT_TSC_EN 0x400u
#define IPT_RTIT_DIS_RETC 0x800u
#define IPT_RTIT_PTW_EN 0x1000u
#define IPT_RTIT_BRANCH_EN 0x2000u /* flow; erratum BDM106: always set it */
#define IPT_RTIT_MTC_FREQ(n) ((uint64_t) (n) << 14)   /* 2^n clocks apart */
#define IPT_RTIT_CYC_THRESH(n) ((uint64_t) (n) << 19) /* 2^(n-1) cycles apart */
#define IPT_RTIT_PSB_FREQ(n) ((uint64_t) (n) << 24)   /* 2^(n+11) bytes apart */
#define IPT_RTIT_EVENT_EN 0x80000000u
#define IPT_RTIT_ADDR(i, kind) ((uint64_t) (kind) << (32 + 4 * (i)))
                                  /* i: 0 .. 3; kind: IPT_FILTER_ */
#define IPT_RTIT_DIS_TNT 0x0080000000000000u
#define IPT_RTIT_INJECT_PSB_PMI 0x0100000000000000u

/* CPUID leaf 14H. */
typedef struct ipt_cpuid_14 {
    uint32_t ebx; /* subleaf 0 */
    uint32_t ecx;
    uint32_t eax_1; /* subleaf 1; 0 where EAX of subleaf 0 is 0 */
    uint32_t ebx_1;
} ipt_cpuid_14;

/* The bits of rtit_ctl that this processor does not support; a field counts as
 * a whole. Writing the register raises #GP unless this is 0. Reserved bits are
 * not supported. IPT_RTIT_TOPA is in the result if it and FABRIC_EN are 0 and
 * the processor has no single-range output. cpu NULL: all bits. */
IPT_API uint64_t ipt_rtit_ctl_missing(uint64_t rtit_ctl,
                                      const ipt_cpuid_14 *cpu);

/* Registers and CPUID leaves of the processor that traced. */
typedef struct ipt_msrs {
    uint64_t rtit_ctl;        /* IA32_RTIT_CTL while it traced */
    uint64_t rtit_addr[4][2]; /* IA32_RTIT_ADDRn_A and _B */
    uint64_t platform_info; /* MSR_PLATFORM_INFO; 0: not known */
    uint32_t cpuid_1_eax;   /* CPUID leaf 1: the model, for its errata */
    uint32_t cpuid_14_ecx;  /* leaf 14H, subleaf 0. Without its bit 31 IPs are
                             * not linear, so do not leave it 0 unread */
    uint32_t cpuid_15_eax;  /* leaf 15H: TSC and crystal clock */
    uint32_t cpuid_15_ebx;
} ipt_msrs;

/* Set the fields of a config that follow from these: errata, filter, mtc_freq,
 * nom_freq, cpuid_15_* and the flags IPT_CONFIG_NO_RETCOMP and
 * IPT_CONFIG_RELATIVE_IP. All others stay as they are.
 *
 * returns  IPT_OK; IPT_ERR_ARG: also an ADDRn_CFG that the SDM reserves */
IPT_API int ipt_config_from_msrs(ipt_config *config, const ipt_msrs *msrs);

/* ==========================================================================
 * [strings]  names and texts
 * ========================================================================== */

#ifndef IPT_NO_STRINGS

/* Names of IPT_PKT_, IPT_EVT_ and IPT_INSN_ values as in this file, in lower
 * case and without the prefix; "?" if out of range. */
IPT_API const char *ipt_pkt_name(uint8_t type);
IPT_API const char *ipt_evt_name(uint8_t type);
IPT_API const char *ipt_insn_name(uint8_t kind);

/* Write a packet or an event as text: its name and the fields of its member of
 * u, in hexadecimal, like "tip ipc=1 payload=12f0". An event's ip, time and
 * flags are left out. The text is cut if there is no room; size includes its
 * final 0, and IPT_WORDS_MAX is always enough.
 *
 * returns  the length of the whole text, without the 0;
 *          IPT_ERR_ARG for NULL and a size of 0 */
#define IPT_WORDS_MAX 128
IPT_API int ipt_packet_words(const ipt_packet *packet, char *text, size_t size);
IPT_API int ipt_event_words(const ipt_event *event, char *text, size_t size);

#endif /* IPT_NO_STRINGS */

/* ==========================================================================
 * Coming from elsewhere
 * ========================================================================== */

/* COMING FROM LIBIPT
 *
 *   pt_config_init             ipt_config config = {0}
 *   pt_config.begin, .end      ipt_trace: pieces, of a trace that may go on
 *   pt_config.decode.callback  config.unknown
 *   pt_config.cpu, pt_cpu_errata
 *                              ipt_cpu_errata; an unknown cpu is no error
 *   pt_config.cpuid_0x15_*, mtc_freq, nom_freq, addr_filter, flags
 *                              config.cpuid_15_*, mtc_freq, nom_freq, filter,
 *                              flags: one set for all layers
 *   pt_asid_init               ipt_asid asid = {0}, or at.asid
 *   pt_alloc_encoder, pt_enc_next, _sync_set, _get_offset, pt_free_encoder
 *                              ipt_pkt_encode, into any buffer; ipt_gen_* for
 *                              whole traces
 *   pt_L_alloc_decoder (L: pkt, evt, qry, insn, blk)
 *                              ipt_L_init; the struct is yours
 *   pt_L_free_decoder          nothing to free
 *   pt_L_sync_forward, _backward, _set, pt_L_next, pt_L_event,
 *   pt_insn_resync, pt_blk_resync, pt_qry_cond_branch, pt_qry_indirect_branch
 *                              ipt_L_ and the same verb, without size argument
 *   pt_L_get_offset, pt_L_get_sync_offset
 *                              decoder.at.offset, decoder.at.sync
 *   pt_L_time, pt_L_core_bus_ratio, pt_L_asid
 *                              decoder.at.tsc, lost_mtc, lost_cyc, cbr, asid
 *   pt_L_get_config, pt_enc_get_config
 *                              not needed: the config is yours
 *   pt_image_*, pt_iscache_*, pt_L_set_image, pt_L_get_image
 *                              config.read, the only image; one for files and
 *                              ELF is in examples/tools/common
 *   block cache (internal)     ipt_cache, which works with the callback
 *   pt_asid                    ipt_asid, with the VMX non-root bit
 *   pts_event_pending, pts_ip_suppressed
 *                              IPT_EVENT_PENDING, IPT_IP_SUPPRESSED
 *   pts_eos                    IPT_LAST, which may be missing at the end;
 *                              IPT_CONFIG_WALK_ON goes on after it
 *   -pte_eos                   IPT_END, IPT_MORE, IPT_ERR_TRUNCATED
 *   -pte_nomap                 IPT_NEED_PAGE (resumable), IPT_ERR_IMAGE
 *   -pte_bad_query             IPT_ERR_MISMATCH; in [qry] IPT_ERR_QUERY
 *   -pte_bad_context           IPT_ERR_CONTEXT
 *   -pte_bad_opc, -pte_bad_packet
 *                              IPT_ERR_OPCODE, IPT_ERR_PACKET
 *   -pte_bad_retcomp, -pte_retstack_empty
 *                              IPT_ERR_RETCOMP, IPT_ERR_RETURN,
 *                              IPT_ERR_RETURN_LOST
 *   -pte_bad_status_update     IPT_ERR_STATUS
 *   -pte_no_enable             IPT_ERR_CONTEXT
 *   -pte_nomem, -pte_overflow  IPT_ERR_EVENTS
 *   -pte_bad_insn              IPT_ERR_BAD_INSN
 *   -pte_no_time, -pte_no_cbr  no IPT_AT_TSC in at.valid; at.cbr is 0
 *   -pte_bad_config, -pte_internal
 *                              IPT_ERR_CONFIG, by _init; IPT_ERR_INTERNAL
 *   -pte_noip, -pte_ip_suppressed
 *                              IPT_ERR_NO_IP
 *   -pte_nosync, -pte_invalid  IPT_ERR_NOSYNC, IPT_ERR_ARG
 *   -pte_event_ignored         no error; at.dropped counts them
 *   pt_event.variant           ipt_event.u; IPT_EVT_CFE stands for interrupt,
 *                              iret, smi, ..., swintr, syscall
 *   pt_event.status_update     IPT_EVENT_STATUS: a PSB+ repeats the state
 *   pt_last_ip (internal)      ipt_pkt_last_ip
 *   pt_insn.raw                ipt_cache_code
 *   pt_insn.isid               none: your callback knows; see image_section_at
 *                              in examples/tools/common
 *   pt_block.isid              config.section ends blocks where it changes
 *   pt_errstr, pt_errcode      ipt_status_name, _cause, _remedy; no negation
 *   pt_library_version         IPT_VERSION
 *   pt_get_exec_mode, pt_set_exec_mode
 *                              event.u.exec.mode; packet.u.exec
 *   pt_ptw_size                event.u.ptwrite.size
 *   libipt-sb                  not here
 *
 *   An error never comes together with an item: items decoded before it are
 *   given first, by calls of their own. */

/* COMING FROM LIBXDC
 *
 *   libxdc_init, libxdc_free   ipt_cov_init; nothing to free
 *     filter                   ipt_cov_config.filter: of edges only. What is
 *                              traced at all, the processor's filters decide
 *     page_cache_fetch         ipt_config.read, with the address space
 *     bitmap, size             ipt_cov_config.bitmap: the same counters, if
 *                              size is a power of two
 *   libxdc_decode              ipt_cov_begin with the trace, ipt_cov_run; the
 *                              buffer needs no end mark and no room
 *     where no PSB is          ipt_cov_start, and config.mode
 *     decoder_success          IPT_END, and decoder.verdict 0
 *     decoder_success_pt_overflow
 *                              IPT_END, and IPT_COV_OVERFLOW in verdict
 *     decoder_page_fault, libxdc_get_page_fault_addr
 *                              IPT_NEED_PAGE, which goes on; at.missing
 *     decoder_unkown_packet, decoder_error
 *                              IPT_ERR_; ipt_cov_resync goes on
 *   libxdc_bitmap_reset        clear your bitmap
 *   libxdc_bitmap_get_hash     hash your bitmap; IPT_COV_HASH is of the path
 *   libxdc_reset_trace_cache   ipt_cov_invalidate
 *   libxdc_register_edge_callback, libxdc_register_bb_callback
 *                              ipt_cov_config.edge; .block with .seen: once
 *                              for each block that executed
 *   libxdc_register_ip_callback
 *                              none: ipt_evt_next has the IPs
 *   libxdc_enable_tracing, libxdc_disable_tracing
 *                              ipt_cov_config.edge
 *   libxdc_get_release_version IPT_VERSION */

/* COMING FROM DYNAMORIO
 *
 *   What a program did is decoded later, perhaps elsewhere: no code is changed,
 *   nothing is predicted, and traces are history. One ipt_hot, one thread; make
 *   one for each stream of flow. Below, each call of DynamoRIO, then ours.
 *
 *   dr_register_trace_event    called before a trace enters the code cache, and
 *                              perhaps again later to translate addresses
 *     config.trace             called once, before it is kept; may drop it.
 *                              The list of its blocks comes in place of code
 *   dr_register_end_trace_event
 *                              asks before each further block whether the trace
 *                              ends there
 *     config.end_trace         so does this; IPT_HOT_CONTINUE is advice, too
 *   CUSTOM_TRACE_DR_DECIDES, _END_NOW, _CONTINUE
 *     IPT_HOT_DECIDE, _END, _CONTINUE
 *   dr_register_delete_event   says what was deleted, perhaps after there is a
 *                              new fragment with the tag
 *     config.deleted           says so at once, before any new trace
 *   dr_mark_trace_head         makes the block a trace head
 *     ipt_hot_mark_head        makes the tag one, until it is invalidated or
 *                              the table of heads is full
 *   dr_trace_head_at, dr_trace_exists_at
 *     none: look at the heads and traces in your memory
 *   dr_delete_fragment         deletes a fragment, perhaps later
 *     ipt_hot_delete           deletes a trace at once
 *   dr_flush_region, dr_delay_flush_region, dr_unlink_flush_region
 *                              remove code at once, later, or unlinked
 *     ipt_hot_invalidate       there is one way, at once
 *   -trace_threshold 50        runs of a head until it is recorded; 0: never
 *     config.threshold         0 stands for 50
 *   -max_trace_bbs 128         0: no limit
 *     config.max_blocks        0 stands for 128; IPT_HOT_NO_LIMIT
 *   -trace_counter_on_delete 0 where a head's counter begins after a deletion
 *     always 0; so it is after a trace was dropped or a recording was aborted
 *   a tag                      an address
 *     ipt_hot_tag              an address in an address space and a mode
 *   DR_EMIT_MUST_END_TRACE     a block after which its trace ends
 *     IPT_HOT_END              from config.end_trace, for the block after it
 *   drcontext                  the thread
 *     config.context           yours */

/* ==========================================================================
 * Layouts
 *
 * Nothing from here on needs reading: it is here so that you can place structs
 * and so that the compiler knows their sizes. Fields that are for you are named
 * where the struct is declared, above.
 * ========================================================================== */

/* The cursor over trace segments, shared by all decoders. */
typedef struct ipt_cursor_ {
    const ipt_config *config;
    const ipt_trace *trace;
    uint64_t origin; /* trace->offset when seg_begin was worked out */
    uint64_t begin;  /* stream offset where segment `piece` begins */
    uint64_t limit;  /* sync forward reads nothing below this again */
    uint64_t quick;  /* in segment `seg`, up to here, packets of common kinds
                      * need no other check; 0: they do */
    uint32_t piece;  /* index of the segment that holds the position */
    uint32_t seg;    /* the same, if that is not a gap */
    uint8_t run;     /* bytes of a PSB that a search met when it stopped; if it
                      * went backward, whether it passed a gap */
    uint8_t state;   /* IPTI_CUR_ */
    uint8_t block;   /* BBP context: 0 none, 4 or 8 payload bytes an item,
                      * and IPTI_BLOCK_ */
    uint32_t paid;   /* if `quick` is not 0, up to this unit of fuel trace is
                      * paid for; modulo 2^32 */
} ipt_cursor_;

struct ipt_pkt_decoder {
    ipt_where at;
    ipt_cursor_ cur_;
    uint32_t magic_;
};

struct ipt_clock {
    uint64_t tsc;      /* estimated TSC; without has_tsc: ticks since some time
                        * before */
    uint64_t fcr; /* TSC ticks a core cycle takes, times 65536; 0: unknown */
    uint32_t lost_mtc; /* MTCs that could not be used since the last TSC */
    uint32_t lost_cyc; /* CYCs that could not since the last TSC or MTC */
    uint8_t has_tsc;   /* there was a TSC packet */
    uint8_t cbr;       /* core:bus ratio, 0: unknown */
    uint8_t state_;    /* IPTI_TIME_ */
    uint8_t cal_cbr_;  /* ratio of the last CBR, 0: none since an OVF */
    uint32_t magic_;
    const ipt_config *config_;
    uint64_t base_;    /* TSC at the last TSC, MTC */
    uint64_t fc_;      /* ticks since then, by CYC and TMA, times 65536 */
    uint64_t cal_tsc_; /* calibration: the last TSC, 0: none; ... */
    uint64_t cal_tsc_cyc_; /* ... and cycles since then */
    uint32_t cal_mtc_cyc_; /* cycles since an MTC after a CYC, ... */
    uint32_t cal_span_; /* ... and crystal clocks up to the last MTC, ... */
    uint32_t cal_ctc_; /* ... when it showed this */
    uint32_t ctc_;     /* crystal clock at the last MTC or TMA */
    uint32_t rest_;    /* of a tick missing in base_, by MTCs: a numerator over
                        * cpuid_15_eax */
    uint32_t cyc_end_; /* offset after the last CYC, its low bits */
    uint64_t moved_;   /* ticks since what the next CYC counts from */
};

/* An event that waits for the packet that completes it, or to be handed out. */
typedef struct ipt_pending_ {
    ipt_event event; /* that it will be; with its time, if it is stamped */
    uint8_t waits;   /* IPTI_WAIT_ */
    uint8_t stamped; /* it has the time at which its first packet came */
} ipt_pending_;

#define IPT_PENDING_MAX_ 15

typedef struct ipt_evt_state_ {
    ipt_clock clock;
    uint64_t last_ip;    /* for decompression; 0 after PSB and OVF */
    uint64_t psb_ip;     /* of the FUP in the last PSB+, or after an OVF */
    int error;           /* comes when all before it is handed out */
    uint8_t phase;       /* IPTI_EVT_ */
    uint8_t psb_fup;     /* the last PSB+ has a FUP */
    uint8_t enabled;     /* tracing is enabled */
    uint8_t was_enabled; /* ... and was, before the PSB+ in progress */
    uint8_t synced;      /* a PSB+ has said whether it is */
    uint8_t exec;        /* last MODE.Exec: IPTI_EXEC_, 0: none */
    uint8_t skipped;     /* packets were passed since the OVF */
    uint8_t vmx;         /* 1 + last PIP.NR, 0: not known */
    uint8_t cfe;         /* there are CFE packets */
    uint8_t ticked;      /* [blk]: time may have moved */
    uint8_t count;       /* of pending */
    ipt_pending_ pending[IPT_PENDING_MAX_ + 1];
} ipt_evt_state_;

struct ipt_evt_decoder {
    ipt_where at;
    ipt_cursor_ cur_;
    ipt_evt_state_ evt_;
    uint32_t magic_;
};

struct ipt_qry_decoder {
    ipt_where at;
    ipt_cursor_ cur_;
    ipt_evt_state_ evt_;
    ipt_event event_;    /* the next one, if have_event_ */
    uint64_t from_;      /* as in ipt_item_ */
    uint64_t tnt_;       /* tnt_count_ branches to come, oldest on top */
    uint8_t tnt_count_;
    uint8_t have_event_;
    uint8_t fresh_; /* event_ made tnt_, of which no bit is used yet */
    uint32_t magic_;
};

#define IPT_RUN_MAX_ 32
struct ipt_cache_line {
    uint64_t ip_;     /* of its first instruction */
    uint64_t target_; /* of its last one, if that is a direct branch */
    uint16_t key_;    /* address space and mode; 0: the line is empty */
    uint16_t size_;   /* bytes */
    uint8_t count_; /* instructions, 1 .. IPT_RUN_MAX_ */
    uint8_t kind_;  /* of its last instruction; the others are OTHER */
    uint8_t last_;  /* size of its last instruction */
    uint8_t leaves_; /* flow goes on from it in another section */
    uint32_t next_[2]; /* lines met after this one; to be checked */
    uint8_t sizes_[IPT_RUN_MAX_]; /* of each instruction */
};

/* Bytes of code that were read last. */
typedef struct ipt_window_ {
    uint64_t ip;   /* of the first one */
    uint16_t key;  /* address space and mode */
    uint8_t size;
    uint8_t ended; /* IPTI_READ_: what ended them */
    uint8_t cut;   /* the current instruction goes on in another mapping */
    uint8_t bytes[96]; /* as many as one call of config.read asks for */
} ipt_window_;

struct ipt_cache {
    uint64_t *fuel;
    ipt_cache_line *lines_;
    uint32_t last_;    /* number of lines - 1 */
    uint32_t magic_;
    uint32_t version_; /* counts changes of code that somebody may know */
    uint32_t clock_;
    uint32_t sweep_;   /* where ipt_cache_invalidate goes on */
    uint32_t renew_;   /* lines emptied so that numbers can start over */
    uint16_t next_id_; /* the last number that was given to a space */
    uint8_t aliases_;  /* config.space was asked */
    uint64_t name_;    /* for memos; 0: it has none yet */
    uint64_t pages_[16]; /* bits, by the page's hash: code of these pages may
                          * be known that is in no line */
    ipt_window_ window_;
};

#define IPT_RETURN_STACK_ 64 /* SDM: "Return Compression" */
typedef struct ipt_calls_at_ {
    uint8_t top;   /* index of the next push */
    uint8_t count; /* of entries below it, modulo the size */
    uint8_t lost;  /* 1: there were others, from before flow was lost; more: it
                    * is not known where flow went, see ipti_calls_astray */
    uint8_t spare;
} ipt_calls_at_;

/* Calls that were not returned from. A call too many takes the place of the
 * oldest. */
typedef struct ipt_calls_ {
    uint64_t ip[IPT_RETURN_STACK_]; /* of the instruction after each */
    ipt_calls_at_ at;
} ipt_calls_;

#define IPT_REACHED_MAX_ 4

typedef struct ipt_bind_ {
    uint64_t ip;    /* if AT or AFTER */
    uint32_t kinds; /* bits 1 << IPT_INSN_ */
    uint32_t count; /* if COUNT: instructions */
    uint8_t how;    /* IPTI_BIND_ */
    uint8_t once;   /* IPTI_TAKEN_ */
} ipt_bind_;

/* Flow since trace was last used. */
typedef struct ipt_loop_ {
    uint64_t ip;       /* passed since then, if branches is not 0 */
    uint32_t branches; /* passed since then, ... */
    uint32_t total;    /* ... and runs */
} ipt_loop_;

/* BDM64: how far ahead of flow the code was looked at. */
typedef struct ipt_probe_ {
    uint64_t ip;    /* if count is not 0 */
    uint32_t count; /* instructions so far */
} ipt_probe_;

/* What says how flow goes on: TNT bits, the target of a TIP, or an event. If
 * there are more than one, bits come before the TIP (a deferred one may be used
 * before them), and both before the event. */
typedef struct ipt_next_ {
    uint64_t tnt;        /* branches to come, the oldest in bit 63, those after
                          * it below, then a stop bit */
    uint64_t tnt_offset; /* of the packet they are from */
    uint64_t tip;        /* where the next indirect branch goes, if has_tip */
    uint64_t tip_offset;
    uint8_t has_tip;
    uint8_t has_event; /* event is the next one, not reached yet */
    ipt_event event;
    ipt_bind_ bind; /* of event */
} ipt_next_;

/* When a TNT or a TIP came, and what comes before the next instruction. */
typedef struct ipt_stamp_ {
    ipt_event time; /* of which only the time counts */
    uint8_t fresh;  /* they have not been used yet */
    uint8_t due;    /* IPTI_DUE_ */
    ipt_event after;
} ipt_stamp_;

/* Where flow is. */
typedef struct ipt_flow_ {
    uint64_t ip;     /* of the next instruction, if enabled */
    uint8_t enabled; /* ip is known */
    uint8_t hidden;  /* tracing is enabled, but flow is stepped over */
    uint8_t synced;  /* a PSB+ was seen since synchronising */
} ipt_flow_;

/* The instruction before flow's ip. */
typedef struct ipt_prev_ {
    uint64_t ip;
    uint8_t kind;  /* IPT_INSN_ */
    uint8_t taken; /* IPTI_TAKEN_: what it has caused */
} ipt_prev_;

/* How code at flow's ip executes. */
typedef struct ipt_mode_ {
    uint16_t speculative; /* IPT_FLOW_SPECULATIVE or 0 */
    uint8_t now;          /* IPT_MODE_ */
    uint8_t next;         /* ... from where tracing ends on, if not UNKNOWN */
    uint8_t old;          /* it is from before an overflow */
} ipt_mode_;

/* Where flow is taken up again. */
typedef struct ipt_resync_ {
    uint64_t ip;     /* where tracing was disabled, ... */
    uint8_t has;     /* ... if there is such a place */
    uint8_t state;   /* IPTI_RESYNC_: of a _resync that is not done; ... */
    uint64_t offset; /* ... of the event it began at, plus 1 */
} ipt_resync_;

/* Instructions since the last IP from the trace. */
typedef struct ipt_tally_ {
    uint32_t icnt;   /* how many, ... */
    uint8_t counted; /* ... so many of the current run among them */
} ipt_tally_;

/* The run of code at flow's ip, and where in it that is. */
typedef struct ipt_code_at_ {
    uint64_t offset; /* of the packet that proves `run` */
    uint8_t count;   /* instructions of `run` up to where an event cuts it,
                      * 0: run is not what is at ip */
    uint8_t index;   /* of the instruction at ip in `run` */
    uint8_t calm;    /* instructions before this index are */
    ipt_cache_line run;
} ipt_code_at_;

/* Where code is looked for. */
typedef struct ipt_place_ {
    uint64_t mask;    /* of addresses in the current mode */
    uint64_t first;   /* the number is for code from here on, ... */
    uint64_t more;    /* ... and so many bytes after this one */
    uint32_t version; /* *valid when it was looked for */
    uint32_t line;    /* the one of the cache that was passed last, ... */
    uint16_t way;     /* ... and which of its next_ flow took */
    uint16_t key;     /* of lines: cache's number for the address space, 0: ask,
                       * and the mode */
} ipt_place_;

/* Events that were reached. */
typedef struct ipt_out_ {
    ipt_event events[IPT_REACHED_MAX_];
    uint8_t count;
    uint8_t waiting;    /* so many of them are to be pulled; those after them
                         * are kept for the instruction that caused them */
    uint8_t ends_block; /* one that is not wanted ends the block */
} ipt_out_;

/* The instruction or the block in progress. */
typedef struct ipt_item_ {
    uint64_t from;     /* where the decoder synchronised; UINT64_MAX: something
                        * was handed out since then */
    uint8_t full;      /* it is handed out before more is passed */
    uint8_t begun;     /* it is a block that may go on */
    uint8_t unsettled; /* what follows it is not known */
} ipt_item_;

/* IPT_FLOW_ */
typedef struct ipt_marks_ {
    uint16_t lead;  /* for the next instruction */
    uint16_t trail; /* for the one before flow's ip */
} ipt_marks_;

typedef struct ipt_walk_ {
    ipt_cursor_ cur;
    ipt_evt_state_ evt;
    ipt_cache *cache;      /* NULL: none */
    const uint32_t *valid; /* cache's version_; without a cache always 0 */
    uint8_t calm;          /* IPTI_FLOWS, IPTI_BURNS: so is what comes next; if
                            * there is a current run, what comes after it */
    ipt_next_ next;
    ipt_flow_ flow; /* after its ip all is 0 when the decoder is synchronised */
    ipt_stamp_ stamp;
    ipt_prev_ prev;
    ipt_mode_ mode;
    ipt_resync_ resync;
    ipt_tally_ tally;
    ipt_code_at_ code;
    ipt_place_ place;
    ipt_out_ out;
    ipt_item_ item;
    ipt_marks_ marks;
    uint8_t end; /* IPTI_END_ */
    ipt_loop_ loop;
    ipt_probe_ probe;
    ipt_calls_ calls;
} ipt_walk_;

struct ipt_blk_decoder {
    ipt_where at;
    ipt_walk_ walk_;
    ipt_block block_; /* in progress; count 0: none */
    uint32_t magic_;
};

struct ipt_insn_decoder {
    ipt_where at;
    ipt_walk_ walk_;
    ipt_insn insn_; /* executed, not yet handed out, if walk_.item.full */
    uint32_t magic_;
};

#define IPT_COV_ITEMS_ 7
struct ipt_cov_line {
    uint64_t ip_;    /* where flow is, ... */
    uint64_t tnt_;   /* ... and the TNT bits from there on, under a stop bit */
    uint64_t next_;  /* where it is then */
    uint32_t key_;   /* space, mode, what comes after the bits, what is used of
                      * it; 0: the line is empty */
    uint32_t from_;  /* the last branch, relative to ip_ */
    uint8_t kind_;   /* of it */
    uint8_t edges_;
    uint8_t frames_; /* that are left, ... */
    uint8_t peak_;   /* ... and at most at a time */
    uint32_t items_[IPT_COV_ITEMS_]; /* edges: slot and how often; frames from
                                      * the end, relative to ip_. The last two
                                      * are the hash, with IPT_COV_HASH */
};

struct ipt_cov_memo {
    uint64_t lost;     /* lines that others took the place of */
    ipt_cov_line *lines_;
    uint64_t formula_; /* what the lines depend on */
    uint32_t mask_;    /* number of lines - 1 */
    uint32_t magic_;
    uint32_t clock_;
    const ipt_cache *cache_;
    uint64_t epoch_;   /* changes when all lines are forgotten */
    uint32_t renew_;   /* lines to be emptied so that numbers can start over */
    uint32_t next_id_; /* the last number that was given to a space */
    uint8_t noise_;    /* how full it was, lately */
    uint8_t novel_;    /* full legs that were not known, lately */
    uint64_t seen_;    /* the table that has the blocks of the lines, 0: none */
    uint64_t code_;    /* the name of cache_, which has another one when it is
                        * initialised again, plus its version */
    uint32_t named_;   /* caches and tables that it gave a name */
};

struct ipt_cov_mark {
    uint64_t ip_;
    uint32_t size_;
    uint32_t mode_; /* 0: the place is free */
};

struct ipt_cov_seen {
    uint64_t count; /* blocks in it */
    uint64_t lost;  /* times that there was no room for a block: it was taken
                     * for a new one then, and will be again */
    ipt_cov_mark *marks_;
    uint64_t name_; /* for memos; 0: it has none yet */
    uint32_t mask_; /* number of marks - 1 */
    uint32_t magic_;
};

/* The block in progress. */
typedef struct ipt_cov_block_ {
    uint64_t ip;
    uint64_t end; /* where it goes on */
    uint8_t mode; /* 0: there is none */
} ipt_cov_block_;

/* A leg of the way: TNT bits and what comes after them. */
typedef struct ipt_cov_leg_ {
    uint64_t tnt;      /* bits to be used, under a stop bit */
    uint64_t to;       /* the IP after them */
    uint64_t last_ip;  /* for decompression, before this leg */
    uint64_t offset;   /* of the window: trace bytes up to `end`, at each */
    const uint8_t *p;  /* of which 16 can be read; p: where bits begin */
    const uint8_t *window;
    const uint8_t *end;
    const uint8_t *next; /* where what comes after ends */
    const uint8_t *psb;  /* the last PSB+ passed while tracing was disabled */
    const struct ipt_cov_line *line; /* that led to where flow is */
    uint64_t held; /* bits that the walk had of a packet before p */
    size_t psb_size;
    uint32_t after;  /* IPTI_COV_ */
    uint8_t ahead;   /* there is one, not passed yet */
    uint8_t moved;   /* flow is not where the walk was */
    uint8_t noisy;   /* no line for the whole of it */
} ipt_cov_leg_;

/* What of a line's key is the same for a while. */
typedef struct ipt_cov_keys_ {
    uint64_t formula; /* what lines of a memo depend on, in this run */
    ipt_asid asid;    /* that the following are for */
    uint32_t own;     /* key_: space and mode in the memo, ... */
    uint32_t shared;  /* ... and in the shared one; 0: not in there */
    uint64_t epoch;   /* of the memo */
    uint32_t version; /* of the cache, when the run began */
} ipt_cov_keys_;

/* Lines in the making. */
typedef struct ipt_cov_learn_ {
    ipt_cov_line line;  /* being learned from the walk */
    ipt_cov_line whole; /* being made of others */
    uint8_t mode;       /* before the instruction that flow passes */
    uint8_t on;         /* `line` is learned, and may have room for more */
    uint8_t frames;     /* that the path leaves on the stack of calls, ... */
    uint8_t peak;       /* ... and at most at a time */
} ipt_cov_learn_;

struct ipt_cov_decoder {
    ipt_where at;
    uint64_t begin;   /* stream offset of the run's first PSB */
    uint64_t hash;    /* of the path so far, with IPT_COV_HASH */
    uint64_t hits;    /* steps of this run that the memos knew, ... */
    uint64_t misses;  /* ... and that had to be walked to be learned */
    uint32_t verdict; /* IPT_COV_UNFINISHED ... on this run */
    uint32_t magic_;
    const ipt_cov_config *cov_;
    ipt_walk_ walk_;
    ipt_cov_block_ block_;
    ipt_cov_keys_ keys_;
    ipt_cov_leg_ leg_; /* the window into the trace is that of one call */
    ipt_cov_learn_ learn_;
    uint64_t slow_;   /* walk up to this offset, at least */
    uint8_t gave_up_; /* a missing page */
    uint8_t syncing_; /* in _resync */
    uint8_t begun_;   /* `begin` is known */
    uint8_t fast_;    /* the memo is of use */
};

struct ipt_hot {
    ipt_hot_stats stats;
    uint32_t kept; /* traces: the first ones of config.traces, in order */
    uint32_t magic_;
    const ipt_hot_config *config_;
    ipt_hot_tag now_;     /* of the block fed last */
    ipt_hot_tag tag_;     /* of the recording, if there is one, ... */
    uint32_t recorded_;   /* ... and its blocks so far; 0: there is none */
    uint32_t room_;       /* for the trace being recorded; the pool follows */
    uint32_t max_blocks_;
    uint32_t threshold_;
    uint32_t mask_;       /* heads that are used - 1 */
    uint32_t pool_end_;   /* index of the first block that is free */
    uint32_t dying_;      /* traces */
    uint32_t inside_;     /* index of the trace that flow is in, plus 1 */
    uint32_t left_;       /* blocks of it that may come */
    const ipt_block *next_; /* the first of these, if there are any */
    uint8_t kind_;        /* of the block fed last */
    uint8_t cut_off_;     /* the next block does not follow it */
    uint8_t busy_;        /* in so many callbacks */
};

/* What a trace writer knows of time. */
typedef struct ipt_gen_time_ {
    uint64_t cyc;        /* clock of the last CYC */
    uint64_t mtc;        /* clock when the next MTC is due */
    uint64_t period;     /* MTC periods passed */
    uint64_t base_clock; /* when the ratio was set, ... */
    uint64_t base_tsc;   /* ... and the TSC then */
    uint8_t cbr;         /* the ratio */
} ipt_gen_time_;

#define IPT_GEN_TIPS_ 8
struct ipt_gen {
    uint8_t *out;
    size_t size;
    size_t used;
    uint64_t clock;
    ipt_gen_config config_;
    uint64_t last_ip_;
    uint64_t from_psb_; /* bytes since the last PSB, 0: there was none */
    uint64_t wait_; /* PIP, VMCS: for the next ASYNC_ event; a bit for a type */
    uint64_t tnt_;  /* branches not yet written, stop bit above them */
    uint64_t tips_[IPT_GEN_TIPS_]; /* deferred */
    ipt_packet pip_;       /* the last one; of type NONE: it is not known */
    ipt_packet vmcs_;      /* as pip_ */
    ipt_packet exec_;      /* MODE.Exec in effect */
    ipt_packet next_exec_; /* waits for an IP; of type NONE: none does */
    ipt_gen_time_ time_;
    ipt_calls_ calls_;
    uint8_t tip_count_;
    uint8_t have_ip_;
    uint8_t enabled_;
    uint8_t tsx_;  /* inside a transaction */
    uint8_t lost_; /* flow is where an OVF's FUP says, last_ip_ */
    uint32_t magic_;
};

#ifdef __cplusplus
}
#endif

#endif /* IPT_H */

#ifdef IPT_IMPLEMENTATION
#include "ipt_impl.h"
#endif
