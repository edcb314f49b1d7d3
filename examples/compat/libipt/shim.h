/* shim.h: what the parts of this libipt.so.2 share. It is libipt's interface,
 * as Debian's intel-pt.h declares it, on top of ipt.h.
 *
 * SPDX-License-Identifier: MIT */
#ifndef SHIM_H
#define SHIM_H
#include "ipt.h"
#include <intel-pt.h>
#include <stddef.h>
#include "newer.h"

#ifdef _WIN32
#define HIDDEN /* a .def file says what is exported */
#else
#define HIDDEN __attribute__((visibility("hidden")))
#endif
#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)

/* Which libipt a client was built for: see the table in ../compat.md. */
enum { SHIM_UNKNOWN, SHIM_2_0, SHIM_2_1 };

/* What the last call said in which that could be seen, of any decoder. */
extern HIDDEN uint8_t shim_client;

/* A client of which a decoder of its own says this. */
static inline uint8_t shim_client_now(uint8_t own)
{
    return own ? own : __atomic_load_n(&shim_client, __ATOMIC_RELAXED);
}

/* The size of a client's pt_event says it. Returns what its decoder is to say
 * from now on. */
static inline uint8_t shim_client_of(size_t size, uint8_t own)
{
    uint8_t client;
    if (size >= sizeof(shim_pt_event)) client = SHIM_2_1;
    else if (size == SHIM_EVENT_2_0) client = SHIM_2_0;
    else return own;
    __atomic_store_n(&shim_client, client, __ATOMIC_RELAXED);
    return client;
}

/* A trace under a configuration. Decoders begin with one. */
typedef struct shim_trace {
    struct pt_config theirs; /* a copy, without what its caller left out */
    ipt_config config;
    ipt_segment piece;
    ipt_trace trace;
    int unknown; /* what the callback for unknown packets returned last */
    struct pt_packet_unknown packet; /* ... and wrote */
} shim_trace;

/* Copy a user's configuration: 0, or a negative error. */
HIDDEN int shim_copy_config(struct pt_config *to, const struct pt_config *from);

/* Prepare what a decoder decodes: 0, or a negative error. The trace borrows
 * itself, so it stays where it is. */
HIDDEN int shim_trace_init(shim_trace *t, const struct pt_config *config);

/* What the flags of an event or query decoder ask for. */
HIDDEN void shim_event_flags(shim_trace *t);

/* Does a PSB begin there that the trace has not all of? For libipt its bytes
 * say nothing then. */
HIDDEN int shim_is_cut(const shim_trace *t, const ipt_where *at);

/* An error of theirs for one of ours, of a decoder that stands there. */
HIDDEN int shim_error(const shim_trace *t, const ipt_where *at, int status);

/* libipt's class of an instruction of ours. */
HIDDEN enum pt_insn_class shim_class(uint8_t kind);

/* Does a client's libipt have it? TNT and TIP count as events of 2.1. */
HIDDEN int shim_has_event(const ipt_event *event, uint8_t client);

/* Events that are passed because it is not known (yet) whether the client has
 * them. The oldest give way. */
#define SHIM_HELD 8
typedef struct shim_held {
    ipt_event list[SHIM_HELD];
    unsigned count;
} shim_held;

/* Keep one if the client may turn out to have it. */
HIDDEN void shim_hold(shim_held *held, const ipt_event *event, uint8_t client);

/* The oldest one. 0: there is none. */
HIDDEN int shim_release(shim_held *held, ipt_event *event);

/* A trigger that counts from the last IP has one for libipt, where flow is not
 * followed. */
static inline void shim_trigger(ipt_event *event)
{
    if (event->type == IPT_EVT_TRIG && event->u.trig.icntv)
        event->flags &= (uint8_t) ~IPT_EVENT_NO_IP;
}

/* Make one that it has an event of theirs, in a struct of the user's. */
HIDDEN void shim_event(struct pt_event *to, size_t size, const ipt_event *from);

/* Copy to a struct of the user's: as much as both have, the rest zero. */
HIDDEN void shim_copy(void *to, size_t to_size, const void *from,
                      size_t from_size);

/* Is there a PSB at an offset? 0, or the error that says that there is not. For
 * 2.1 and 2.2 there may be PADs before it: the offset is moved on. */
HIDDEN int shim_psb_at(const shim_trace *t, uint64_t *offset);

/* Where libipt's decoder stands while the packet at an offset is the next one
 * that says more than the time: at it, or, if that one is `taken`, after it at
 * the next such packet. */
HIDDEN uint64_t shim_ahead(const shim_trace *t, uint64_t offset, int taken);

/* The packet that completes an event. */
HIDDEN uint64_t shim_event_offset(const shim_trace *t, const ipt_event *e);

/* ---- images ---- */

#define SHIM_RAW pt_max_insn_size

/* A part of a section, at an address. */
typedef struct shim_part {
    uint64_t begin;
    uint64_t size;
    const uint8_t *bytes; /* NULL: the section is not mapped for this image */
    struct shim_section *section;
    uint64_t offset; /* into the section */
    struct pt_asid asid;
    int isid;
} shim_part;

struct pt_image {
    char *name;
    shim_part *parts;
    size_t count;
    size_t room;
    size_t hit;     /* where a byte was found last */
    uint32_t pins;  /* parts that are mapped */
    uint64_t version; /* of the code; no two images have the same */
    struct shim_cache *cache; /* left by the last decoder; NULL: none yet */
    read_memory_callback_t *callback;
    void *context;
    int error; /* what the callback returned last, if that was one */
};

/* Code that was read and classified. One decoder uses it at a time; it is the
 * image's, too, so that the next decoder need not begin again. */
typedef struct shim_cache {
    ipt_cache cache;
    uint64_t version; /* of the image that it is right for */
    int owners;
    int busy;
    size_t count; /* of its lines, which come after it */
} shim_cache;

/* A cache that nobody else uses, the image's if possible, for a trace of so
 * many bytes; NULL: no memory. */
HIDDEN shim_cache *shim_cache_take(struct pt_image *image, uint64_t size);
HIDDEN void shim_cache_drop(shim_cache *c);

/* The callback has an error: the image's. It is below all statuses of ours. */
#define SHIM_USER_ERROR (-1000)

/* Images that are part of a decoder. */
HIDDEN void shim_image_init(struct pt_image *image);
HIDDEN void shim_image_end(struct pt_image *image);

/* An ipt_config.read on an image. */
HIDDEN int shim_image_read(struct pt_image *image, uint8_t *buffer,
                           size_t size, const ipt_asid *asid, uint64_t ip);

/* The part at an address, mapped; NULL: there is none. */
HIDDEN const shim_part *shim_image_find(struct pt_image *image,
                                        const ipt_asid *asid, uint64_t ip);

/* As the one above, at once where it is that of the last time. */
static inline const shim_part *shim_image_at(struct pt_image *image,
                                             const ipt_asid *asid, uint64_t ip)
{
    if (LIKELY(image->hit < image->count)) {
        const shim_part *p = &image->parts[image->hit];
        if (ip - p->begin < p->size && p->bytes
            && (p->asid.cr3 == pt_asid_no_cr3 || asid->cr3 == p->asid.cr3)
            && (p->asid.vmcs == pt_asid_no_vmcs || asid->vmcs == p->asid.vmcs))
            return p;
    }
    return shim_image_find(image, asid, ip);
}

#endif /* SHIM_H */
