/* hot.h: hot traces as they should be: a model with memory without bounds, and
 * a pair of it and an ipt_hot that are fed alike. The model is made of what is
 * known of DynamoRIO's traces, not of ipt_impl.h; it looks slow and plain.
 *
 * A pair compares each callback with that of the model, one by one, as long as
 * no table was full; and of each trace given, always, that it is a piece of the
 * stream, begins at a head and is not given twice. */
#ifndef IPT_TESTS_HOT_H
#define IPT_TESTS_HOT_H
#include "../ipt.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Have room for one more in a growing array. */
static inline void *hot_grow(void *array, size_t count, size_t size)
{
    if (count & (count - 1)) return array;
    array = realloc(array, (count ? 2 * count : 1) * size);
    if (!array) abort();
    return array;
}

/* ---- what was given ---- */

enum { HOT_ASKED, HOT_TOLD, HOT_DELETED, HOT_ABORTED };

typedef struct hot_entry {
    int what; /* HOT_ */
    ipt_hot_tag tag;
    uint64_t count; /* of a trace; the next ip, of a question */
    uint64_t hash;  /* of its blocks */
} hot_entry;

typedef struct hot_log {
    hot_entry *at;
    size_t count;
} hot_log;

static inline uint64_t hot_mix(uint64_t a, uint64_t b)
{
    a = (a ^ b) * 0x9e3779b97f4a7c15u;
    return a ^ a >> 29;
}

static inline uint64_t hot_hash(const ipt_block *b, size_t count)
{
    uint64_t hash = count;
    for (size_t i = 0; i < count; i++)
        hash = hot_mix(hot_mix(hot_mix(hash + b[i].flags + b[i].offset,
                                       b[i].ip), b[i].end_ip),
                       (uint64_t) b[i].count << 16 | (uint64_t) b[i].kind << 8
                           | b[i].last_size);
    return hash;
}

static inline int hot_same_tag(const ipt_hot_tag *a, const ipt_hot_tag *b)
{
    return a->ip == b->ip && a->mode == b->mode && a->asid.cr3 == b->asid.cr3
           && a->asid.vmcs == b->asid.vmcs && a->asid.nr == b->asid.nr;
}

static inline void hot_say(hot_log *log, int what, const ipt_hot_tag *tag,
                           uint64_t count, uint64_t hash)
{
    log->at = (hot_entry *) hot_grow(log->at, log->count, sizeof *log->at);
    memset(&log->at[log->count], 0, sizeof *log->at);
    log->at[log->count].what = what;
    log->at[log->count].tag = *tag;
    log->at[log->count].count = count;
    log->at[log->count++].hash = hash;
}

/* ---- what a client answers: by chance, but the same to both ---- */

enum { HOT_PLAIN, HOT_FICKLE };

static inline int hot_answer_end(int client, const ipt_hot_tag *tag,
                                 uint64_t next)
{
    unsigned n = (unsigned) (hot_mix(tag->ip, next) % 16);
    if (client == HOT_PLAIN) return IPT_HOT_DECIDE;
    return n == 0 ? (int) IPT_HOT_END
           : n < 5 ? (int) IPT_HOT_CONTINUE : (int) IPT_HOT_DECIDE;
}

static inline int hot_answer_trace(int client, const ipt_hot_tag *tag,
                                   uint64_t count)
{
    return client == HOT_FICKLE && hot_mix(tag->ip, count) % 8 == 0
               ? (int) IPT_HOT_DROP : (int) IPT_HOT_KEEP;
}

/* ---- the model ---- */

typedef struct model_tag {
    ipt_hot_tag tag;
    size_t next;      /* of the same bucket, plus 1 */
    size_t trace;     /* kept, plus 1 */
    uint64_t counter;
    int head;
    int told;    /* for the pair: ipt_hot has told it and not deleted it */
    int genuine; /* for the pair: a head of the stream as ipt_hot saw it */
} model_tag;

typedef struct model_trace {
    size_t tag;
    ipt_block *blocks;
    size_t count;
    int gone;
    uint64_t covered; /* instructions */
} model_trace;

#ifndef MODEL_BUCKETS
#define MODEL_BUCKETS 65536
#endif

typedef struct hot_model {
    uint64_t threshold, limit; /* limit 0: none */
    int client;
    hot_log log;
    size_t *buckets;
    model_tag *tags;
    size_t tag_count;
    model_trace *traces;
    size_t trace_count;
    size_t walking, step;      /* in a trace, plus 1: the block to come */
    ipt_block *recording;
    size_t recorded, recorder; /* blocks, and the tag */
    ipt_block last;
    ipt_asid last_asid;
    int follows; /* there is a last block that flow goes on from */
    uint64_t covered, insns;
} hot_model;

static inline size_t model_find(hot_model *m, const ipt_hot_tag *tag)
{
    size_t bucket = hot_mix(tag->ip, tag->asid.cr3) % MODEL_BUCKETS;
    size_t i;
    if (!m->buckets)
        m->buckets = (size_t *) calloc(MODEL_BUCKETS, sizeof *m->buckets);
    if (!m->buckets) abort();
    for (i = m->buckets[bucket]; i; i = m->tags[i - 1].next)
        if (hot_same_tag(&m->tags[i - 1].tag, tag)) return i - 1;
    m->tags = (model_tag *) hot_grow(m->tags, m->tag_count, sizeof *m->tags);
    memset(&m->tags[m->tag_count], 0, sizeof *m->tags);
    m->tags[m->tag_count].tag = *tag;
    m->tags[m->tag_count].next = m->buckets[bucket];
    m->buckets[bucket] = ++m->tag_count;
    return m->tag_count - 1;
}

static inline ipt_hot_tag hot_tag_of(uint64_t ip, const ipt_asid *asid,
                                     uint8_t mode)
{
    ipt_hot_tag tag;
    memset(&tag, 0, sizeof tag);
    tag.ip = ip;
    tag.asid = *asid;
    tag.mode = mode;
    return tag;
}

static inline void model_abort(hot_model *m)
{
    if (!m->recorded) return;
    m->recorded = 0;
    m->tags[m->recorder].counter = 0;
    hot_say(&m->log, HOT_ABORTED, &m->tags[m->recorder].tag, 0, 0);
}

static inline void model_gone(hot_model *m, size_t i)
{
    model_tag *tag = &m->tags[m->traces[i].tag];
    m->traces[i].gone = 1;
    if (m->walking == i + 1) m->walking = 0;
    tag->trace = 0;
    tag->counter = 0;
    hot_say(&m->log, HOT_DELETED, &tag->tag, 0, 0);
}

static inline void model_complete(hot_model *m)
{
    model_tag *tag = &m->tags[m->recorder];
    model_trace *t;
    size_t n = m->recorded;
    m->recorded = 0;
    hot_say(&m->log, HOT_TOLD, &tag->tag, n, hot_hash(m->recording, n));
    if (hot_answer_trace(m->client, &tag->tag, n) != IPT_HOT_KEEP) {
        tag->counter = 0;
        return;
    }
    m->traces = (model_trace *) hot_grow(m->traces, m->trace_count,
                                         sizeof *m->traces);
    t = &m->traces[m->trace_count++];
    t->tag = m->recorder;
    t->gone = 0;
    t->covered = 0;
    t->count = n;
    t->blocks = (ipt_block *) malloc(n * sizeof *t->blocks);
    if (!t->blocks) abort();
    memcpy(t->blocks, m->recording, n * sizeof *t->blocks);
    tag->trace = m->trace_count;
}

static inline void model_record(hot_model *m, const ipt_block *b)
{
    m->recording = (ipt_block *) hot_grow(m->recording, m->recorded,
                                              sizeof *m->recording);
    m->recording[m->recorded++] = *b;
}

/* Does the recording end before a block? */
static inline int model_ends(hot_model *m, size_t next, int backward)
{
    const model_tag *tag = &m->tags[m->recorder];
    const model_tag *to = &m->tags[next];
    if (m->limit && m->recorded >= m->limit) return 1;
    hot_say(&m->log, HOT_ASKED, &tag->tag, to->tag.ip, 0);
    switch (hot_answer_end(m->client, &tag->tag, to->tag.ip)) {
    case IPT_HOT_END: return 1;
    case IPT_HOT_CONTINUE: return 0;
    default: break;
    }
    if (m->recorded == 1) return 0;
    return backward || to->head || to->trace;
}

/* Does flow go from the last block to this one by itself? */
static inline int model_goes_on(const hot_model *m, const ipt_block *b,
                                const ipt_asid *asid)
{
    const unsigned before = IPT_FLOW_ENABLED | IPT_FLOW_RESYNCED | IPT_FLOW_ASID
                            | IPT_FLOW_STOPPED;
    const unsigned after
        = IPT_FLOW_DISABLED | IPT_FLOW_INTERRUPTED | IPT_FLOW_ABORTED;
    if (!m->follows || b->flags & before || m->last.flags & after) return 0;
    return b->mode == m->last.mode && asid->cr3 == m->last_asid.cr3
           && asid->vmcs == m->last_asid.vmcs && asid->nr == m->last_asid.nr;
}

static inline int model_backward(const hot_model *m, const ipt_block *b)
{
    switch (m->last.kind) {
    case IPT_INSN_JCC:
    case IPT_INSN_JMP:
    case IPT_INSN_CALL: return b->ip <= m->last.ip;
    default: return 0;
    }
}

static inline void model_step(hot_model *m, const ipt_block *b,
                              const ipt_asid *asid)
{
    const int on = model_goes_on(m, b, asid);
    const int backward = on && model_backward(m, b);
    const ipt_hot_tag where = hot_tag_of(b->ip, asid, b->mode);
    const size_t here = model_find(m, &where);
    model_tag *tag = &m->tags[here];

    if (!on) model_abort(m);
    if (m->walking) {
        model_trace *t = &m->traces[m->walking - 1];
        if (on && m->step < t->count && t->blocks[m->step].ip == b->ip) {
            m->step++;
            m->covered += b->count;
            t->covered += b->count;
            return;
        }
        m->walking = 0;
        if (on) tag->head = 1;
    }
    if (m->recorded) {
        if (!model_ends(m, here, backward)) {
            model_record(m, b);
            return;
        }
        model_complete(m);
    }
    if (backward) tag->head = 1;
    if (tag->trace) {
        m->walking = tag->trace;
        m->step = 1;
        m->covered += b->count;
        m->traces[tag->trace - 1].covered += b->count;
    } else if (tag->head && ++tag->counter >= m->threshold) {
        m->recorder = here;
        model_record(m, b);
    }
}

/* Instructions of the traces, so many, that covered most; it spends them. */
static inline uint64_t model_best(hot_model *m, unsigned traces)
{
    uint64_t sum = 0;
    for (; traces && m->trace_count; traces--) {
        model_trace *best = m->traces;
        for (size_t i = 1; i < m->trace_count; i++)
            if (m->traces[i].covered > best->covered) best = &m->traces[i];
        sum += best->covered;
        best->covered = 0;
    }
    return sum;
}

static inline void model_feed(hot_model *m, const ipt_block *b,
                              const ipt_asid *asid)
{
    model_step(m, b, asid);
    m->insns += b->count;
    m->last = *b;
    m->last_asid = *asid;
    m->follows = 1;
}

static inline void model_break(hot_model *m)
{
    m->follows = 0;
    m->walking = 0;
    model_abort(m);
}

static inline int model_delete(hot_model *m, const ipt_hot_tag *tag)
{
    const size_t i = model_find(m, tag);
    if (m->tags[i].trace) model_gone(m, m->tags[i].trace - 1);
    else if (m->recorded && m->recorder == i) model_abort(m);
    else return 0;
    return 1;
}

static inline int model_in(const ipt_asid *asid, const ipt_hot_tag *tag)
{
    return !asid
           || (asid->cr3 == tag->asid.cr3 && asid->vmcs == tag->asid.vmcs
               && asid->nr == tag->asid.nr);
}

/* Is one of these blocks in [ip, ip + size)? On a circle of 2^64 addresses. */
static inline int model_hit(const ipt_block *b, size_t count, uint64_t ip,
                            uint64_t size)
{
    for (size_t i = 0; i < count; i++) {
        const uint64_t length = b[i].end_ip - b[i].ip + b[i].last_size;
        if (size == 0 || ip - b[i].ip < length || b[i].ip - ip < size) return 1;
    }
    return 0;
}

static inline void model_invalidate(hot_model *m, const ipt_asid *asid,
                                    uint64_t ip, uint64_t size)
{
    size_t i;
    if (m->recorded && model_in(asid, &m->tags[m->recorder].tag)
        && model_hit(m->recording, m->recorded, ip, size))
        model_abort(m);
    for (i = 0; i < m->trace_count; i++)
        if (!m->traces[i].gone && model_in(asid, &m->tags[m->traces[i].tag].tag)
            && model_hit(m->traces[i].blocks, m->traces[i].count, ip, size))
            model_gone(m, i);
    for (i = 0; i < m->tag_count; i++)
        if (model_in(asid, &m->tags[i].tag)
            && (size == 0 || m->tags[i].tag.ip - ip < size))
            m->tags[i].head = 0, m->tags[i].counter = 0;
}

static inline void model_end(hot_model *m)
{
    for (size_t i = 0; i < m->trace_count; i++) free(m->traces[i].blocks);
    free(m->traces);
    free(m->tags);
    free(m->buckets);
    free(m->recording);
    free(m->log.at);
}

/* ---- the pair ---- */

#ifndef HOT_STREAM
#define HOT_STREAM 65536 /* blocks that are remembered, a power of two */
#endif

typedef struct hot_pair {
    hot_model model;
    hot_log log;
    ipt_hot hot;
    ipt_hot_config config;
    size_t same;          /* so many entries of both logs were compared */
    uint64_t fed, joined; /* blocks; the first since flow went on */
    ipt_block *stream;
    char wrong[200];      /* what went wrong first */
} hot_pair;

static inline void pair_wrong(hot_pair *p, const char *what,
                              const ipt_hot_tag *tag)
{
    if (!p->wrong[0])
        snprintf(p->wrong, sizeof p->wrong,
                 "%s: %" PRIx64 " in mode %u, after block %" PRIu64
                 ", callback %zu", what, tag->ip, tag->mode, p->fed, p->same);
}

static inline int pair_end_trace(const ipt_hot_tag *tag, uint64_t next,
                                 void *context)
{
    hot_pair *p = (hot_pair *) context;
    hot_say(&p->log, HOT_ASKED, tag, next, 0);
    return hot_answer_end(p->model.client, tag, next);
}

/* The block fed last is not in the trace: it ended before that one. */
static inline int pair_trace(const ipt_hot_tag *tag,
                             const ipt_block *blocks, uint32_t count,
                             void *context)
{
    hot_pair *p = (hot_pair *) context;
    const size_t i = model_find(&p->model, tag);
    const int answer = hot_answer_trace(p->model.client, tag, count);
    hot_say(&p->log, HOT_TOLD, tag, count, hot_hash(blocks, count));
    if (p->model.tags[i].told) pair_wrong(p, "told twice", tag);
    if (!p->model.tags[i].genuine) pair_wrong(p, "begins at no head", tag);
    if (count == 0 || p->fed - p->joined < count || blocks[0].ip != tag->ip)
        pair_wrong(p, "is not a piece of the stream", tag);
    for (uint32_t k = 0; k < count && count < HOT_STREAM; k++)
        if (hot_hash(&p->stream[(p->fed - count + k) % HOT_STREAM], 1)
            != hot_hash(&blocks[k], 1))
            pair_wrong(p, "is not what ran", tag);
    p->model.tags[i].told = answer == IPT_HOT_KEEP;
    return answer;
}

static inline void pair_deleted(const ipt_hot_tag *tag, void *context)
{
    hot_pair *p = (hot_pair *) context;
    const size_t i = model_find(&p->model, tag);
    hot_say(&p->log, HOT_DELETED, tag, 0, 0);
    if (!p->model.tags[i].told) pair_wrong(p, "deleted, not kept", tag);
    p->model.tags[i].told = 0;
}

static inline void pair_aborted(const ipt_hot_tag *tag, void *context)
{
    hot_say(&((hot_pair *) context)->log, HOT_ABORTED, tag, 0, 0);
}

/* What full tables did. */
static inline uint64_t pair_lost(const hot_pair *p)
{
    const ipt_hot_stats *s = &p->hot.stats;
    return s->heads_lost + s->evicted + s->refused + s->cut;
}

/* blocks: of the pool; as many more are for the recording. limit 0: none. */
static inline int pair_begin(hot_pair *p, uint32_t threshold, uint32_t limit,
                             int client, uint32_t heads, uint32_t traces,
                             uint32_t blocks)
{
    memset(p, 0, sizeof *p);
    p->model.threshold = threshold;
    p->model.limit = limit;
    p->model.client = client;
    p->config.context = p;
    p->config.end_trace = pair_end_trace;
    p->config.trace = pair_trace;
    p->config.deleted = pair_deleted;
    p->config.aborted = pair_aborted;
    p->config.threshold = threshold;
    p->config.max_blocks = limit ? limit : IPT_HOT_NO_LIMIT;
    p->config.head_count = heads;
    p->config.trace_count = traces;
    p->config.block_count = limit && limit < blocks ? blocks + limit
                                                    : 2 * blocks;
    /* of exactly this size, so that sanitizers see what lies beyond */
    p->config.heads = (ipt_hot_head *) malloc(heads * sizeof *p->config.heads);
    p->config.traces
        = (ipt_hot_trace *) malloc(traces * sizeof *p->config.traces);
    p->config.blocks = (ipt_block *) malloc(p->config.block_count
                                                * sizeof *p->config.blocks);
    p->stream = (ipt_block *) calloc(HOT_STREAM, sizeof *p->stream);
    if (!p->config.heads || !p->config.traces || !p->config.blocks
        || !p->stream)
        abort();
    return ipt_hot_init(&p->hot, &p->config);
}

static inline void pair_finish(hot_pair *p)
{
    model_end(&p->model);
    free(p->log.at);
    free(p->config.heads);
    free(p->config.traces);
    free(p->config.blocks);
    free(p->stream);
}

/* Both have said the same, unless a table was full. */
static inline void pair_compare(hot_pair *p)
{
    const hot_log *got = &p->log;
    const hot_log *want = &p->model.log;
    static const char *const names[]
        = {"asked", "told", "deleted", "aborted"};
    if (pair_lost(p)) return;
    for (; p->same < got->count && p->same < want->count; p->same++) {
        const hot_entry *g = &got->at[p->same];
        const hot_entry *w = &want->at[p->same];
        if (g->what != w->what)
            pair_wrong(p, names[g->what], &g->tag);
        if (g->what != w->what || !hot_same_tag(&g->tag, &w->tag)
            || g->count != w->count || g->hash != w->hash)
            pair_wrong(p, names[w->what], &w->tag);
    }
    if (got->count > p->same)
        pair_wrong(p, names[got->at[p->same].what], &got->at[p->same].tag);
    if (want->count > p->same)
        pair_wrong(p, names[want->at[p->same].what], &want->at[p->same].tag);
    if (p->hot.stats.inside != p->model.covered
        || p->hot.stats.insns != p->model.insns)
        pair_wrong(p, "statistics", &p->hot.now_);
    if (p->same > HOT_STREAM) /* no more than a few are of use */
        p->log.count = p->model.log.count = p->same = 0;
}

static inline void pair_remember(hot_pair *p, const ipt_block *b)
{
    p->stream[p->fed++ % HOT_STREAM] = *b;
}

/* What is a head is seen from outside: by where ipt_hot says that flow is. */
static inline void pair_feed(hot_pair *p, const ipt_block *b,
                             const ipt_asid *asid)
{
    const ipt_hot_tag where = hot_tag_of(b->ip, asid, b->mode);
    const size_t here = model_find(&p->model, &where);
    const int on = model_goes_on(&p->model, b, asid);
    const ipt_hot *h = &p->hot;

    if (!on) p->joined = p->fed;
    if (on && model_backward(&p->model, b)) p->model.tags[here].genuine = 1;
    if (on && h->inside_ && (h->left_ == 0 || h->next_->ip != b->ip))
        p->model.tags[here].genuine = 1;
    if (ipt_hot_feed(&p->hot, b, asid) != IPT_OK)
        pair_wrong(p, "not fed", &where);
    pair_remember(p, b);
    model_feed(&p->model, b, asid);
    pair_compare(p);
}

static inline void pair_break(hot_pair *p)
{
    ipt_hot_break(&p->hot);
    model_break(&p->model);
    pair_compare(p);
}

static inline void pair_mark(hot_pair *p, const ipt_hot_tag *tag)
{
    const size_t i = model_find(&p->model, tag);
    p->model.tags[i].head = p->model.tags[i].genuine = 1;
    ipt_hot_mark_head(&p->hot, tag);
    pair_compare(p);
}

static inline void pair_delete(hot_pair *p, const ipt_hot_tag *tag)
{
    const int got = ipt_hot_delete(&p->hot, tag);
    const int want = model_delete(&p->model, tag);
    if (got != want && !pair_lost(p)) pair_wrong(p, "ipt_hot_delete", tag);
    pair_compare(p);
}

static inline void pair_invalidate(hot_pair *p, const ipt_asid *asid,
                                   uint64_t ip, uint64_t size)
{
    ipt_hot_invalidate(&p->hot, asid, ip, size);
    model_invalidate(&p->model, asid, ip, size);
    pair_compare(p);
}

#endif /* IPT_TESTS_HOT_H */
