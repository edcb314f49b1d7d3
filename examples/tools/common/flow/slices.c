/* slices.c: see slices.h.
 *
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "slices.h"
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SLICE ((uint64_t) 1 << 18) /* bytes, or a 32nd of a short file, but ... */
#define LEAST ((uint64_t) 1 << 12)
#define PIPE  (1 << 20)            /* bytes in a pipe */
#define KEPT  ((size_t) 12 << 20)  /* bytes of output that wait, at most, ... */
#define TAKEN ((size_t) 96 << 20)  /* ... or of all processes, with `take` */
#define READ  ((size_t) 1 << 18)
#define OTHERS 830u /* of 1000: what decoding costs another process */
#define AHEAD 3u                   /* slices that a process is to decode */

/* What a process says of a slice. Names follow: absent of them. */
typedef struct result {
    uint64_t begin; /* states */
    uint64_t end;
    uint64_t bytes;
    uint64_t instructions;
    uint64_t skipped;
    uint64_t losses[THREADS_LOSSES];
    uint64_t counts[SLICES_MAX];
    uint64_t absent;
    uint8_t guest_times;
    uint8_t matched;
    uint8_t failed;  /* output cannot be written */
    uint8_t unclear; /* or it ended before its end */
} result;

typedef struct absent {
    uint64_t count;
    uint64_t size; /* of the name, which follows */
} absent;

static int put_all(int fd, const void *bytes, size_t size)
{
    const char *at = (const char *) bytes;
    while (size) {
        const ssize_t n = write(fd, at, size);
        if (n <= 0) return -1;
        at += n;
        size -= (size_t) n;
    }
    return 0;
}

static int get_all(int fd, void *bytes, size_t size)
{
    char *at = (char *) bytes;
    while (size) {
        const ssize_t n = read(fd, at, size);
        if (n <= 0) return -1;
        at += n;
        size -= (size_t) n;
    }
    return 0;
}

/* ---- in another process ---- */

static void say(slices *s, const void *bytes, size_t size)
{
    if (put_all(s->to, bytes, size)) _exit(1);
}

/* A number from the first process, which ends all by ending. */
static uint64_t hear(slices *s)
{
    uint64_t n;
    if (get_all(s->from, &n, sizeof n)) _exit(0);
    return n;
}

static void say_piece(slices *s, const void *bytes, uint64_t size)
{
    say(s, &size, sizeof size);
    say(s, bytes, (size_t) size);
}

int slices_write(slices *s, const void *bytes, size_t size)
{
    struct pollfd now = {s->from, POLLIN, 0};
    if (!s->may_write && size < KEPT && poll(&now, 1, 0) <= 0) return 0;
    if (!s->may_write) hear(s);
    s->may_write = 1;
    if (s->config.take)
        say_piece(s, bytes, size);
    else if (put_all(STDOUT_FILENO, bytes, size))
        s->failed = 1;
    else
        s->written += size;
    return 1;
}

/* The first process has come to where its own slice begins: that has to be as the
 * slice before has ended. */
static void on_own_cut(slices *s, uint64_t state)
{
    threads *const t = &s->config.session->threads;
    if (t->muted)
        s->end = state;
    else if (state == s->end)
        s->begun = 1;
    else
        threads_unclear(t);
}

static void on_cut(uint64_t state, void *context)
{
    const session *const of = (const session *) context;
    slices *const s = of->slices;
    state ^= s->config.state(s->config.context);
    if (!s->is_process) {
        on_own_cut(s, state);
        return;
    }
    if (of->threads.muted)
        s->end = state;
    else
        s->begin = state;
    if (!of->threads.muted) say(s, &state, sizeof state);
    if (!of->threads.muted) s->begun = 1;
}

/* A slice is about to be decoded. */
static void begin(slices *s, size_t slice)
{
    session *const of = s->config.session;
    s->begun = slice < 2;
    for (size_t i = 0; i < of->task_count; i++) of->list[i]->absent = NULL;
    threads_slice(&of->threads, slice);
}

/* A slice was decoded: 1, but not all of it. */
static int is_unclear(const slices *s, size_t slice, int status)
{
    const threads *const t = &s->config.session->threads;
    const int last = slice == t->cut_count + 1;
    return status != 0 || t->stopped || !s->begun || (slice && !last && !t->muted);
}

/* The files that were missing in a slice. */
static void say_absent(slices *s, const uint64_t *before, size_t count)
{
    const session *const of = s->config.session;
    for (size_t i = 0; i < of->absent_count; i++) {
        absent a;
        a.count = of->absent[i].count - (i < count ? before[i] : 0);
        a.size = strlen(of->absent[i].name);
        say(s, &a, sizeof a);
        say(s, of->absent[i].name, (size_t) a.size);
    }
}

static void decode(slices *s, size_t slice)
{
    session *const of = s->config.session;
    const threads *const t = &of->threads;
    const size_t count = of->absent_count;
    uint64_t *const before =
        (uint64_t *) calloc(count + 1, sizeof *before);
    result r;
    int status;
    if (!before) _exit(1);
    memset(&r, 0, sizeof r);
    for (size_t i = 0; i < count; i++) before[i] = of->absent[i].count;
    for (unsigned i = 0; i < THREADS_LOSSES; i++) r.losses[i] = t->losses[i];
    for (size_t i = 0; i < s->config.count; i++)
        r.counts[i] = s->config.counts[i];
    r.instructions = t->instructions;
    r.skipped = t->skipped;
    s->written = s->begin = s->end = 0;
    s->may_write = slice == 0 || s->config.take != NULL;
    begin(s, slice);
    s->skip = slice ? 0 : hear(s);
    if (s->begun) say(s, &s->begin, sizeof s->begin);
    s->config.begin(s->config.context);
    status = session_run(of);
    if (!s->begun) say(s, &s->begin, sizeof s->begin);
    if (!s->may_write) hear(s);
    s->may_write = 1;
    s->config.end(s->config.context);
    if (s->config.take) say_piece(s, NULL, 0);
    r.end = s->end;
    r.bytes = s->written;
    for (unsigned i = 0; i < THREADS_LOSSES; i++)
        r.losses[i] = t->losses[i] - r.losses[i];
    for (size_t i = 0; i < s->config.count; i++)
        r.counts[i] = s->config.counts[i] - r.counts[i];
    r.instructions = t->instructions - r.instructions;
    r.skipped = t->skipped - r.skipped;
    r.absent = of->absent_count;
    r.guest_times = t->guest_times;
    r.matched = of->matched;
    r.failed = s->failed;
    r.unclear = (uint8_t) is_unclear(s, slice, status);
    say(s, &r, sizeof r);
    say_absent(s, before, count);
    free(before);
}

static void work(slices *s)
{
    session *const of = s->config.session;
    s->is_process = 1;
    of->slices = s;
    of->is_screen = 0;
    of->threads.config.cut = on_cut;
    if (!freopen("/dev/null", "w", stderr)) _exit(1);
    for (;;) decode(s, (size_t) hear(s));
}

/* ---- in the first one ---- */

void slices_init(slices *s, const slices_config *config)
{
    session *const of = config->session;
    cpu_set_t set;
    const uint64_t part = of->threads.size / 32;
    const uint64_t bytes = part > SLICE ? SLICE : part < LEAST ? LEAST : part;
    uint64_t want = config->processes;
    memset(s, 0, sizeof *s);
    s->config = *config;
    if (threads_cut(&of->threads, bytes)) of->no_memory = 1;
    if (of->max_memory || of->threads.cut_count == 0) return;
    if (!want)
        want = sched_getaffinity(0, sizeof set, &set)
                   ? 1 : (uint64_t) CPU_COUNT(&set);
    if (!config->processes && want > of->threads.size / (2 * SLICE))
        want = of->threads.size / (2 * SLICE);
    if (want > SLICES_MAX) want = SLICES_MAX;
    if (want > of->threads.cut_count + 1) want = of->threads.cut_count + 1;
    s->processes = (unsigned) want;
    s->decodes = config->own && config->share * want < 1000;
}

static int start(slices *s)
{
    const unsigned n = s->count;
    slices_process *const own = &s->list[n];
    int to[2], from[2];
    if (pipe(to)) return -1;
    if (pipe(from)) {
        close(to[0]);
        close(to[1]);
        return -1;
    }
    if (s->config.take) fcntl(from[1], F_SETPIPE_SZ, PIPE); /* else it is small */
    memset(own, 0, sizeof *own);
    own->pid = fork();
    if (own->pid == 0) {
        for (unsigned i = 0; i < n; i++) {
            close(s->list[i].to);
            close(s->list[i].from);
        }
        close(to[1]);
        close(from[0]);
        s->from = to[0];
        s->to = from[1];
        work(s);
    }
    close(to[0]);
    close(from[1]);
    own->to = to[1];
    own->from = from[0];
    s->count += own->pid > 0;
    if (own->pid > 0) return 0;
    close(own->to);
    close(own->from);
    return -1;
}

/* End all: as soon as they hear nothing more, or at once. */
static void stop(slices *s, int at_once)
{
    for (unsigned i = 0; i < s->count; i++) {
        close(s->list[i].to);
        close(s->list[i].from);
        free(s->list[i].bytes);
    }
    for (unsigned i = 0; i < s->count; i++) {
        if (!s->list[i].pid) continue;
        if (at_once) kill(s->list[i].pid, SIGKILL);
        waitpid(s->list[i].pid, NULL, 0);
    }
    free(s->owner);
    s->owner = NULL;
}

/* ---- what the others say ---- */

/* Take what is in a pipe. */
static void fill(slices_process *p)
{
    ssize_t n;
    if (p->at && (p->at > p->room / 2 || p->at == p->used)) {
        memmove(p->bytes, p->bytes + p->at, p->used - p->at);
        p->used -= p->at;
        p->at = 0;
    }
    if (p->room - p->used < READ) {
        if (!tool_grow(&p->bytes, 2 * p->room + READ, 1)) {
            p->ended = 1;
            return;
        }
        p->room = 2 * p->room + READ;
    }
    n = read(p->from, p->bytes + p->used, p->room - p->used);
    if (n > 0) p->used += (size_t) n;
    p->ended = n <= 0;
}

/* Take what all have said; wait for one of them, or NULL: for none. What others say
 * stays in their pipes when there is much. */
static void gather(slices *s, const slices_process *wanted)
{
    struct pollfd fds[SLICES_MAX + 1];
    size_t kept = 0;
    for (unsigned i = 0; i < s->count; i++)
        kept += s->list[i].used - s->list[i].at;
    for (unsigned i = 0; i < s->count; i++) {
        const slices_process *const p = &s->list[i];
        fds[i].fd = !p->ended && (p == wanted || kept < TAKEN) ? p->from : -1;
        fds[i].events = POLLIN;
        fds[i].revents = 0;
    }
    if (poll(fds, s->count, wanted ? -1 : 0) <= 0) return;
    for (unsigned i = 0; i < s->count; i++)
        if (fds[i].revents) fill(&s->list[i]);
}

/* Wait for so much. -1: the process has ended. */
static int await(slices *s, slices_process *p, size_t size)
{
    while (p->used - p->at < size && !p->ended) gather(s, p);
    return p->used - p->at < size ? -1 : 0;
}

static int get(slices *s, slices_process *p, void *bytes, size_t size)
{
    if (await(s, p, size)) return -1;
    memcpy(bytes, p->bytes + p->at, size);
    p->at += size;
    return 0;
}

/* A process has ended: how? */
static int has_ended(const slices *s, slices_process *p)
{
    int status;
    if (waitpid(p->pid, &status, 0) == p->pid) {
        p->pid = 0;
        if (WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE) raise(SIGPIPE);
    }
    fprintf(stderr, "%s: a process has ended that decoded a part.\n",
            s->config.session->args->program);
    return 1;
}

static int add_absent(slices *s, slices_process *from)
{
    session *const of = s->config.session;
    char name[4097];
    absent a;
    if (get(s, from, &a, sizeof a) || a.size >= sizeof name
        || get(s, from, name, (size_t) a.size))
        return -1;
    name[a.size] = 0;
    if (a.count && session_absent_add(of, name, a.count)) return -1;
    return 0;
}

static int add_result(slices *s, slices_process *from, result *r)
{
    session *const of = s->config.session;
    threads *const t = &of->threads;
    if (get(s, from, r, sizeof *r)) return -1;
    s->written += r->bytes;
    for (unsigned i = 0; i < THREADS_LOSSES; i++) t->losses[i] += r->losses[i];
    for (size_t i = 0; i < s->config.count; i++)
        s->config.counts[i] += r->counts[i];
    t->instructions += r->instructions;
    t->skipped += r->skipped;
    t->guest_times |= r->guest_times;
    of->matched |= r->matched;
    for (uint64_t i = 0; i < r->absent; i++)
        if (add_absent(s, from)) return -1;
    return 0;
}

/* What the process whose turn it is writes. 0, or -1: it has ended. */
static int take_pieces(slices *s, slices_process *from)
{
    uint64_t size = s->config.take != NULL;
    while (size) {
        if (get(s, from, &size, sizeof size) || await(s, from, (size_t) size))
            return -1;
        if (size)
            s->config.take(from->bytes + from->at, (size_t) size,
                           s->config.context);
        from->at += (size_t) size;
    }
    return 0;
}

/* ---- slice after slice ---- */

/* Is a slice its own? Where records change code shortly before it, the process that
 * decodes it has to read trace from before these. Else all should end at once. */
static int is_own(slices *s, uint64_t slice)
{
    const threads *const t = &s->config.session->threads;
    const uint64_t from = slice > 2 ? t->cuts[slice - 3] : 0;
    if (!s->decodes
        || (slice - s->others) * 1000 + s->others * s->config.share
               > (s->others + 1) * OTHERS / (s->processes - 1))
        return 0;
    while (s->row < t->row_count && t->rows[s->row].tsc < from) s->row++;
    return slice == 1 || s->row == t->row_count
        || t->rows[s->row].tsc > t->cuts[slice - 2] + t->slack;
}

/* Say who decodes the slices to come. 0, or -1: *p has ended. */
static int assign(slices *s, unsigned count, slices_process **p)
{
    const uint64_t all = s->config.session->threads.cut_count + 1;
    const unsigned most = s->config.take ? AHEAD : 1;
    for (; s->next <= all; s->next++) {
        unsigned best = 0;
        if (is_own(s, s->next)) continue;
        for (unsigned i = 1; i < count; i++)
            if (s->list[i].queued < s->list[best].queued) best = i;
        *p = &s->list[best];
        if ((*p)->queued == most) break;
        (*p)->queued++;
        s->others++;
        s->owner[s->next] = (uint8_t) (best + 1);
        if (put_all((*p)->to, &s->next, sizeof s->next)) return -1;
    }
    return 0;
}

static int on_progress(uint64_t done, uint64_t size, void *context)
{
    const session *const of = (const session *) context;
    (void) done;
    (void) size;
    if (of->slices->calls++ % 16 == 0) gather(of->slices, NULL);
    return of->stop || of->no_memory;
}

/* The first process decodes a slice. 0; -1: not all of it. */
static int decode_own(slices *s, size_t slice)
{
    session *const of = s->config.session;
    threads *const t = &of->threads;
    const threads_config kept = t->config;
    int status;
    of->slices = s;
    of->absent_told = t->losses[THREADS_NO_CODE];
    begin(s, slice);
    t->config.cut = on_cut;
    t->config.progress = on_progress;
    s->config.own(1, s->config.context);
    status = threads_run(t);
    s->config.own(0, s->config.context);
    status = is_unclear(s, slice, status);
    t->config = kept;
    t->muted = t->stopped = 0;
    threads_slice(t, 0);
    return -status;
}

/* Take a slice that another process decodes. As join. */
static int take_slice(slices *s, slices_process *p, uint64_t slice)
{
    uint64_t begins;
    result r;
    if (get(s, p, &begins, sizeof begins)) return has_ended(s, p);
    if (slice > 1 && begins != s->end) return -1;
    if ((!s->config.take && put_all(p->to, &slice, sizeof slice))
        || take_pieces(s, p) || add_result(s, p, &r))
        return has_ended(s, p);
    if (r.failed) {
        fprintf(stderr, "%s: cannot write to standard output.\n",
                s->config.session->args->program);
        return 1;
    }
    p->queued--;
    s->end = r.end;
    return r.unclear ? -1 : 0;
}

/* Slice after slice, each by the process that has it. 0: all are done; -1: not all
 * are; 1, with a message. */
static int join(slices *s, unsigned count)
{
    const threads *const t = &s->config.session->threads;
    const uint64_t all = t->cut_count + 1;
    slices_process *p;
    int how;
    s->owner = (uint8_t *) calloc(t->cut_count + 2, 1);
    if (!s->owner) return -1;
    for (uint64_t i = s->next = 1; i <= all; i++) {
        if (assign(s, count, &p)) return has_ended(s, p);
        how = s->owner[i] ? take_slice(s, &s->list[s->owner[i] - 1], i)
                          : decode_own(s, (size_t) i);
        if (how) return how;
        if (t->config.progress)
            t->config.progress(i, all, t->config.context);
    }
    return 0;
}

/* A process decodes all, without what was taken: 0, or 1 with a message. */
static int take_all(slices *s, slices_process *p)
{
    const uint64_t words[] = {0, *s->config.taken};
    uint64_t begins;
    result r;
    if (put_all(p->to, words, sizeof words)
        || get(s, p, &begins, sizeof begins) || take_pieces(s, p)
        || add_result(s, p, &r) || (r.unclear && !s->config.session->stop))
        return has_ended(s, p);
    return 0;
}

int slices_run(slices *s)
{
    threads *const t = &s->config.session->threads;
    const threads before = *t;
    const unsigned others = s->config.taken != NULL; /* and one that waits */
    const unsigned want = s->processes - s->decodes + others;
    uint64_t counts[SLICES_MAX];
    int how, fits;
    fflush(stdout);
    for (size_t i = 0; i < s->config.count; i++) counts[i] = s->config.counts[i];
    while (s->count < want && start(s) == 0) continue;
    if (s->count < 1 + others) {
        stop(s, 1);
        return -1;
    }
    how = join(s, s->count - others);
    if (how < 0) {
        memcpy(t->losses, before.losses, sizeof t->losses);
        t->instructions = before.instructions;
        t->skipped = before.skipped;
        t->guest_times = before.guest_times;
        for (size_t i = 0; i < s->config.count; i++)
            s->config.counts[i] = counts[i];
        session_absent_clear(s->config.session);
    }
    fits = how >= 0;
    if (!fits && others) how = take_all(s, &s->list[s->count - 1]);
    stop(s, how != 0 || !fits);
    if (how == 0) threads_finish(t);
    return how;
}
