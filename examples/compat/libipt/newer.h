/* newer.h: what libipt 2.1 and 2.2 have and the intel-pt.h of 2.0.5 has not,
 * under names of our own, so that any of the three will do.
 *
 * SPDX-License-Identifier: MIT */
#ifndef NEWER_H
#define NEWER_H
#include <intel-pt.h>
#include <stdint.h>

struct pt_event_decoder;

/* Types of packets. */
enum {
    SHIM_PPT_CFE = ppt_ptw + 1, /* 2.1 */
    SHIM_PPT_EVD,
    SHIM_PPT_TRIG /* 2.2 */
};

typedef union shim_payload {
    struct {
        uint32_t leaf;
        uint32_t csl : 1;
        uint32_t csd : 1;
        uint32_t iflag : 1;
    } exec;
    struct {
        uint32_t type;
        uint8_t vector;
        uint32_t ip : 1;
    } cfe;
    struct {
        uint32_t type;
        uint64_t payload;
    } evd;
    struct {
        uint8_t trbv;
        uint16_t icnt;
        uint32_t ip : 1;
        uint32_t icntv : 1;
        uint32_t mult : 1;
    } trig;
} shim_payload;

/* Types of events. */
enum {
    SHIM_EVT_TIP = ptev_mnt + 1, /* 2.1 */
    SHIM_EVT_TNT,
    SHIM_EVT_IFLAGS,
    SHIM_EVT_INTERRUPT,
    SHIM_EVT_IRET,
    SHIM_EVT_SMI,
    SHIM_EVT_RSM,
    SHIM_EVT_SIPI,
    SHIM_EVT_INIT,
    SHIM_EVT_VMENTRY,
    SHIM_EVT_VMEXIT,
    SHIM_EVT_SHUTDOWN,
    SHIM_EVT_UINTR,
    SHIM_EVT_UIRET,
    SHIM_EVT_TRIG, /* 2.2 */
    SHIM_EVT_SWINTR,
    SHIM_EVT_SYSCALL
};

typedef union shim_variant {
    struct {
        uint64_t ip;
    } at; /* TIP, IRET, SMI, INIT, ... */
    struct {
        uint64_t bits;
        uint8_t size;
    } tnt;
    struct {
        uint32_t iflag : 1;
        uint64_t ip;
    } iflags;
    struct {
        uint32_t has_cr2 : 1;
        uint8_t vector;
        uint64_t cr2;
        uint64_t ip;
    } interrupt;
    struct {
        uint8_t vector;
        uint64_t ip;
    } vector; /* SIPI, UINTR, SWINTR */
    struct {
        uint32_t has_vector : 1;
        uint32_t has_vmxr : 1;
        uint32_t has_vmxq : 1;
        uint8_t vector;
        uint64_t vmxr;
        uint64_t vmxq;
        uint64_t ip;
    } vmexit;
    struct {
        uint8_t trbv;
        uint16_t icnt;
        uint64_t ip;
        uint32_t mult : 1;
    } trig;
} shim_variant;

/* An event as all three have it; its size is that of 2.1 and 2.2. */
typedef union shim_pt_event {
    struct pt_event old;
    struct {
        uint64_t head[offsetof(struct pt_event, variant) / sizeof(uint64_t)];
        shim_variant variant;
    } newer;
} shim_pt_event;

#define SHIM_EVENT_2_0 64 /* its size in 2.0.5 */

/* Bits of the flags that a configuration has for each kind of decoder. */
#define SHIM_BLK_KEEP_TCAL (1u << 3)
#define SHIM_BLK_IFLAGS (1u << 4)
#define SHIM_INSN_KEEP_TCAL (1u << 1)
#define SHIM_INSN_IFLAGS (1u << 2)
#define SHIM_EVT_KEEP_TCAL (1u << 0)
#define SHIM_EVT_IFLAGS_ON (1u << 1)

#define SHIM_EXPORT __attribute__((visibility("default")))

#if LIBIPT_VERSION < 0x201
SHIM_EXPORT struct pt_event_decoder *
pt_evt_alloc_decoder(const struct pt_config *config);
SHIM_EXPORT void pt_evt_free_decoder(struct pt_event_decoder *d);
SHIM_EXPORT int pt_evt_sync_forward(struct pt_event_decoder *d);
SHIM_EXPORT int pt_evt_sync_backward(struct pt_event_decoder *d);
SHIM_EXPORT int pt_evt_sync_set(struct pt_event_decoder *d, uint64_t offset);
SHIM_EXPORT int pt_evt_get_offset(const struct pt_event_decoder *d,
                                  uint64_t *offset);
SHIM_EXPORT int pt_evt_get_sync_offset(const struct pt_event_decoder *d,
                                       uint64_t *offset);
SHIM_EXPORT const struct pt_config *
pt_evt_get_config(const struct pt_event_decoder *d);
SHIM_EXPORT int pt_evt_next(struct pt_event_decoder *d,
                            struct pt_event *event, size_t size);
#endif
#if LIBIPT_VERSION < 0x202
SHIM_EXPORT int pt_insn_resync(struct pt_insn_decoder *d);
SHIM_EXPORT int pt_blk_resync(struct pt_block_decoder *d);
#endif

#endif /* NEWER_H */
