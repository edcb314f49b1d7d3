/* session.c: see session.h.
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "session.h"
#include "../perf/events.h"
#include "../code/debuginfod.h"
#include "../code/kallsyms.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

void session_init(session *s, const tool_args *args,
                  const session_config *config, void *context)
{
    memset(s, 0, sizeof *s);
    s->args = args;
    s->config = config;
    s->context = context;
    s->to = s->first_record = UINT64_MAX;
    spaces_init(&s->spaces, args);
    symbols_init(&s->symbols);
    guests_init(&s->guests);
    functions_init(&s->functions);
    lines_init(&s->lines);
    bare_init(&s->bare);
    s->view.all = &s->spaces;
}

void session_free(session *s)
{
    if (s->is_open) {
        threads_free(&s->threads);
        perffile_close(&s->file);
    }
    for (size_t i = 0; i < s->task_count; i++) free(s->list[i]);
    session_absent_clear(s);
    free(s->absent);
    free(s->list);
    pids_free(&s->tasks);
    pids_free(&s->replaced);
    pids_free(&s->guest_tasks);
    names_free(&s->comms);
    functions_free(&s->functions);
    free(s->tids.list);
    free(s->pids.list);
    free(s->cpus.list);
    symbols_free(&s->symbols);
    lines_free(&s->lines);
    bare_free(&s->bare);
    guests_free(&s->guests);
    spaces_free(&s->spaces);
}

/* ---- options ---- */

static int parse_numbers(const tool_args *args, const char *option,
                         const char *value, session_numbers *n)
{
    const char *s = value;
    uint64_t number;
    do {
        if (!tool_scan(&s, &number) || number > UINT32_MAX
            || (*s && *s != ','))
            return tool_bad_argument(args, option, value);
        if (!tool_grow(&n->list, n->count + 1, sizeof *n->list)) {
            fprintf(stderr, "%s: out of memory.\n", args->program);
            return 1;
        }
        n->list[n->count++] = (uint32_t) number;
    } while (*s++ == ',');
    return -1;
}

int session_seconds(const char **s, uint64_t *ns)
{
    uint64_t unit = 1000000000;
    uint64_t n = 0;
    const char *const begin = *s;
    for (; **s >= '0' && **s <= '9'; ++*s) {
        if (n > UINT64_MAX / unit / 20) return 0;
        n = 10 * n + (uint64_t) (**s - '0');
    }
    *ns = n * unit;
    if (**s == '.')
        for (++*s; **s >= '0' && **s <= '9' && unit; ++*s)
            *ns += (uint64_t) (**s - '0') * (unit /= 10);
    return *s != begin;
}

static int parse_time(const tool_args *args, const char *value, session *s)
{
    const char *at = value;
    int ok = *at == ',' || session_seconds(&at, &s->from);
    ok = ok && *at++ == ',' && (!*at || session_seconds(&at, &s->to)) && !*at;
    return ok ? -1 : tool_bad_argument(args, "--time", value);
}

static int parse_lead(const tool_args *args, const char *value, session *s)
{
    const char *at = value;
    uint64_t n = UINT32_MAX;
    if (strcmp(value, "all") != 0 && (!tool_scan(&at, &n) || *at || n >> 31))
        return tool_bad_argument(args, "--stack-before", value);
    s->lead = (uint32_t) n;
    return -1;
}

static int use_debuginfod(const tool_args *args, session *s)
{
    const char *const why = debuginfod_start();
    if (why) {
        fprintf(stderr, "%s: --debuginfod: %s.\n", args->program, why);
        return 1;
    }
    s->symbols.fetch = s->lines.fetch = debuginfod_fetch;
    return -1;
}

int session_follow(tool_args *args, session *s, const char *word)
{
    static const char *const names[] = {"--tid", "--pid", "--cpu", "--time",
                                        "--stack-before", "--comm"};
    const char *value;
    unsigned i = 0;
    if (strcmp(word, "--quiet") == 0) {
        s->quiet = 1;
        return -1;
    }
    if (strcmp(word, "--strict") == 0) {
        s->strict = 1;
        return -1;
    }
    if (strcmp(word, "--raw-times") == 0) {
        s->raw_times = 1;
        return -1;
    }
    if (strcmp(word, "--no-demangle") == 0) {
        s->mangled = 1;
        return -1;
    }
    if (strcmp(word, "--max-memory") == 0) {
        const int status = tool_size(args, word, &s->max_memory);
        return status ? status : -1;
    }
    if (strcmp(word, "--debuginfod") == 0) return use_debuginfod(args, s);
    while (i < 6 && strcmp(word, names[i]) != 0) i++;
    if (i == 6) {
        const int status = guests_option(args, &s->guests, word);
        return status ? status : spaces_option(args, &s->spaces, word);
    }
    value = tool_argument(args, word);
    if (!value) return args->wrong;
    switch (i) {
    case 0: return parse_numbers(args, word, value, &s->tids);
    case 1: return parse_numbers(args, word, value, &s->pids);
    case 2: return parse_numbers(args, word, value, &s->cpus);
    case 3: return parse_time(args, value, s);
    case 4: return parse_lead(args, value, s);
    default: s->comm = value; return -1;
    }
}

const char session_help[] =
    "  --tid <n>,...             these threads only.\n"
    "  --pid <n>,...             these processes only.\n"
    "  --comm <name>             threads with this name only.\n"
    "  --cpu <n>,...             these cpus only.\n"
    "  --time <a>,<b>            from a to b, seconds as ptflow prints them;\n"
    "                            either may be missing. What is before it is\n"
    "                            not decoded, so that callers are not known.\n"
    "  --stack-before <n>        with --time, decode from n PSBs further back, or\n"
    "                            all: the callers that are then known are.\n"
    "  --raw-times               times as they are in the trace. Else those of a\n"
    "                            thread do not go back.\n"
    "  --no-demangle             names of functions as the linker has them.\n"
    "  --debuginfod              ask the servers in DEBUGINFOD_URLS for debug\n"
    "                            files that are not here.\n"
    "  --max-memory <size>       end where it takes more memory: bytes, or with\n"
    "                            K, M, G. Half of it is for records.\n"
    "  --quiet                   no progress, nothing about losses.\n"
    "  --strict                  status 1 if anything is lost.\n"
    SPACES_HELP GUESTS_HELP;

static int follow_option(tool_args *args, const char *word, void *context)
{
    session *const s = (session *) context;
    int status = s->config->option(args, s, word);
    if (!status) status = bare_option(args, &s->bare, word);
    return status ? status : session_follow(args, s, word);
}

int session_parse(tool_args *args, session *s, const char *help,
                  const char *more, const char **name)
{
    const char *const texts[] = {help, session_help, BARE_HELP, more,
                                 OPTIONS_FILES_HELP, OPTIONS_STATUS_HELP,
                                 NULL};
    const char *why = NULL;
    int status = options_parse(args, texts, 0, follow_option, s);
    if (status >= 0) return status;
    *name = NULL;
    if (bare_kinds(&s->bare) + (*args->next != NULL) > 1)
        why = "--pt, --simple-pt, --lldb and a file: one of them";
    else if (!s->bare.trace
             && (s->bare.file_count
                 || (s->bare.described && !bare_kinds(&s->bare))))
        why = "--elf, --raw, --cpu-model, --nom-freq, ...: there is no --pt";
    if (!why)
        return bare_kinds(&s->bare) ? -1 : options_file(args, name);
    fprintf(stderr, "%s: %s.\n", args->program, why);
    return OPTIONS_WRONG;
}

/* ---- threads ---- */

static int is_one_of(const session_numbers *n, uint32_t number)
{
    if (n->count == 0) return 1;
    for (size_t i = 0; i < n->count; i++)
        if (n->list[i] == number) return 1;
    return 0;
}

/* Something of a thread comes. */
static void match(session *s, const session_task *t)
{
    s->matched |= t->wanted && s->always;
}

static void choose_task(session *s, session_task *t)
{
    t->wanted = is_one_of(&s->tids, t->tid) && is_one_of(&s->pids, t->pid)
             && (!s->comm || strcmp(t->comm, s->comm) == 0);
    if (t == s->last) match(s, t);
}

/* The task of a number in a table; NULL without memory. */
static session_task *find_in(session *s, pids *table, uint32_t number,
                             const session_task *from)
{
    session_task *t = (session_task *) pids_find(table, number);
    if (t) return t;
    if (s->task_count == s->task_max) {
        if (!tool_grow(&s->list, 2 * s->task_max + 16, sizeof *s->list)) {
            s->no_memory = 1;
            return NULL;
        }
        s->task_max = 2 * s->task_max + 16;
    }
    t = (session_task *) calloc(1, sizeof *t);
    if (!t || pids_set(table, number, t)) {
        free(t);
        s->no_memory = 1;
        return NULL;
    }
    s->list[s->task_count++] = t;
    *t = *from;
    choose_task(s, t);
    return t;
}

static session_task *find_task(session *s, uint32_t pid, uint32_t tid)
{
    session_task *const t = (session_task *) pids_find(&s->tasks, tid);
    session_task from;
    if (t) return t;
    memset(&from, 0, sizeof from);
    from.tid = tid;
    from.pid = pid;
    from.comm = from.last_comm = "";
    return find_in(s, &s->tasks, tid, &from);
}

session_task *session_task_of(const session *s, uint32_t tid)
{
    return (session_task *) pids_find(&s->tasks, tid);
}

session_task *session_task_at(session *s, uint32_t pid, uint32_t tid)
{
    return find_task(s, pid, tid);
}

/* The kernel's names of threads have 15 bytes at most. */
static const char *keep_comm(session *s, const char *name)
{
    char comm[16] = "";
    uint32_t number;
    for (unsigned n = 0; n < 15 && name[n]; n++) comm[n] = name[n];
    number = names_add(&s->comms, comm);
    if (!number) s->no_memory = 1;
    return names_text(&s->comms, number);
}

static void name_task(session *s, uint32_t pid, uint32_t tid,
                      const char *name)
{
    session_task *const t = find_task(s, pid, tid);
    if (!t) return;
    t->comm = keep_comm(s, name);
    t->pid = pid;
    choose_task(s, t);
}

/* The name that a thread has in the end. Until a record says otherwise at its
 * time, it has the first one of the file. */
static void note_comm(session *s, const perfdata_record *r)
{
    const session_task *parent;
    session_task *t = NULL;
    const char *comm = "";
    if (r->type == PERFDATA_COMM) {
        t = find_task(s, r->u.comm.pid, r->u.comm.tid);
        comm = r->u.comm.name;
    } else if (r->type == PERFDATA_FORK) {
        parent = session_task_of(s, r->u.task.ptid);
        if (parent) t = find_task(s, r->u.task.pid, r->u.task.tid);
        if (t) comm = parent->last_comm;
        if (t) t->exited = 0;
    } else if (r->type == PERFDATA_EXIT) {
        t = find_task(s, r->u.task.pid, r->u.task.tid);
        if (t) t->exited = 1;
        return;
    }
    if (!t) return;
    t->last_comm = keep_comm(s, comm);
    if (!*t->comm) t->comm = t->last_comm;
    choose_task(s, t);
}

#define COUNTERS_SEEN 4096u /* records that are looked at: some a processor */

/* Which event a counter has whose PEBS records are in the trace. */
static void note_counter(session *s, const perfdata_record *r)
{
    const uint64_t n = r->u.hw_id;
    events_event event;
    const char *name;
    if (r->type != PERFDATA_AUX_OUTPUT_HW_ID || n >= 64
        || !(r->sample.has & (PERFDATA_SAMPLE_IDENTIFIER | PERFDATA_SAMPLE_ID))
        || s->counters_seen == COUNTERS_SEEN)
        return;
    s->counters_seen++;
    if (!events_get(s->file.data, r->event, &event)) return;
    name = names_text(&s->comms, names_add(&s->comms, event.name));
    s->counters[n] = !s->counters[n] || s->counters[n] == name ? name : "";
}

/* Without time threads have their last names. */
static void use_last_comms(session *s)
{
    for (size_t i = 0; i < s->task_count && !s->threads.timed; i++) {
        session_task *const t = s->list[i];
        name_task(s, t->pid, t->tid, t->last_comm);
    }
}

/* ---- what threads.h asks and says ---- */

static int read_code(uint8_t *buffer, size_t size, uint32_t pid,
                     const ipt_asid *asid, uint64_t ip, void *context)
{
    session *const s = (session *) context;
    s->view.pid = pid;
    return spaces_read(buffer, size, asid, ip, &s->view);
}

static void changed(session *s, const spaces_change *change)
{
    s->changes++;
    if (change->is_new) return;
    threads_changed(&s->threads, change->ip, change->size);
    if (change->size && pids_set(&s->replaced, change->pid, s)) s->no_memory = 1;
}

static void note_names(session *s, const perfdata_record *r)
{
    const session_task *parent;
    if (r->type == PERFDATA_COMM) {
        name_task(s, r->u.comm.pid, r->u.comm.tid, r->u.comm.name);
    } else if (r->type == PERFDATA_FORK) {
        parent = session_task_of(s, r->u.task.ptid);
        if (parent) name_task(s, r->u.task.pid, r->u.task.tid, parent->comm);
    }
}

static void apply_record(const perfdata_record *r, void *context)
{
    session *const s = (session *) context;
    spaces_change change;
    if (spaces_apply(&s->spaces, r, &change)) changed(s, &change);
    while (s->threads.timed && spaces_next(&s->spaces) <= r->sample.time
           && spaces_advance(&s->spaces, r->sample.time, &change))
        changed(s, &change);
    if (s->threads.timed) note_names(s, r);
    if (r->type == PERFDATA_COMM && r->misc & PERFDATA_MISC_COMM_EXEC
        && s->config->exec) {
        session_task *const t = find_task(s, r->u.comm.pid, r->u.comm.tid);
        if (t) s->config->exec(s, t);
    }
}

int session_wants(session *s, const session_task *t, const threads_who *who)
{
    uint64_t ns;
    if (!t->wanted || s->always) return t->wanted;
    if (!is_one_of(&s->cpus, who->cpu)) return 0;
    if (s->from || s->to != UINT64_MAX) {
        ns = session_ns(s, who->tsc);
        if (!who->tsc || !s->threads.timed || ns < s->from || ns > s->to) return 0;
    }
    s->matched = 1;
    return 1;
}

/* Are threads of guests followed? */
static int has_guests(const session *s)
{
    return s->config->guests && s->guests.thread_count && s->threads.timed;
}

/* Flow of a guest: whose it is, and its task; that of the host's thread if that is
 * not known. */
static session_task *find_guest(session *s, threads_who *who)
{
    guests_now *const now = &s->guest;
    const uint64_t ns = who->tsc ? session_ns(s, who->tsc) : 0;
    session_task from, *t;
    if (s->guest_of != who->tid || ns < now->from || ns >= now->to)
        s->guest_of = ns && guests_find(&s->guests, who->tid, ns, now)
                    ? who->tid : 0;
    if (!s->guest_of) {
        who->sure = 0;
        return find_task(s, who->pid, who->tid);
    }
    who->machine = now->machine;
    who->vcpu = now->vcpu;
    who->pid = now->pid;
    who->tid = now->tid;
    who->sure &= now->sure;
    memset(&from, 0, sizeof from);
    from.tid = now->tid;
    from.pid = now->pid;
    from.machine = now->machine;
    from.comm = from.last_comm = now->comm;
    t = find_in(s, &s->guest_tasks, now->thread, &from);
    if (t && t->comm != now->comm) {
        t->comm = t->last_comm = now->comm;
        choose_task(s, t);
    }
    return t;
}

/* Flow of another thread than the last. */
static __attribute__((noinline)) void
on_other_flow(session *s, const threads_who *who, const ipt_block *b)
{
    s->last = find_task(s, who->pid, who->tid);
    if (!s->last) return;
    match(s, s->last);
    s->config->flow(s, s->last, who, b);
}

static void on_flow(const threads_who *who, const ipt_block *b, void *context)
{
    session *const s = (session *) context;
    if (who->guest && has_guests(s)) {
        threads_who now = *who;
        s->last = find_guest(s, &now);
        if (!s->last) return;
        match(s, s->last);
        s->config->flow(s, s->last, &now, b);
    } else if (s->last && s->last->tid == who->tid && !s->last->machine) {
        s->config->flow(s, s->last, who, b);
    } else {
        on_other_flow(s, who, b);
    }
}

static void on_event(const threads_who *who, const ipt_event *e, void *context)
{
    session *const s = (session *) context;
    threads_who now = *who;
    session_task *const t = who->guest && has_guests(s)
        ? find_guest(s, &now) : find_task(s, who->pid, who->tid);
    if (!t) return;
    match(s, t);
    s->config->event(s, t, &now, e);
}

#define ABSENT 64u /* names of files */

int session_absent_add(session *s, const char *name, uint64_t count)
{
    size_t i = 0;
    while (i < s->absent_count && strcmp(s->absent[i].name, name) != 0) i++;
    if (i == ABSENT) return 0;
    if (i == s->absent_count) {
        if (!tool_grow(&s->absent, i + 1, sizeof *s->absent)) return -1;
        s->absent[i].name = tool_copy(name, strlen(name));
        s->absent[i].count = 0;
        if (!s->absent[i].name) return -1;
        s->absent_count++;
    }
    s->absent[i].count += count;
    return 0;
}

void session_absent_clear(session *s)
{
    while (s->absent_count) free(s->absent[--s->absent_count].name);
}

/* Flow has come to code that is missing: in a file that is not there? A return to
 * before that leads into the same. */
static void note_absent(session *s, session_task *t, const threads_who *who,
                        int status, const ipt_where *at)
{
    const uint64_t count = s->threads.losses[THREADS_NO_CODE];
    uint64_t first, last;
    s->view.pid = who->pid;
    if (status != IPT_ERR_RETURN_LOST)
        t->absent = at->valid & IPT_AT_IP && !who->guest
                      ? spaces_absent(&s->view, at->ip, &first, &last) : NULL;
    if (count != s->absent_told && !t->absent && s->threads.slice > 1
        && status == IPT_ERR_RETURN_LOST)
        threads_unclear(&s->threads);
    if (count == s->absent_told || !t->absent) {
        s->absent_told = count;
        return;
    }
    s->absent_told = count;
    session_absent_add(s, t->absent, 1);
}

static void on_lost(const threads_who *who, threads_loss loss, int status,
                    const ipt_where *at, void *context)
{
    session *const s = (session *) context;
    threads_who now = *who;
    session_task *const t = who->guest && has_guests(s)
        ? find_guest(s, &now) : find_task(s, who->pid, who->tid);
    if (t && loss == THREADS_NO_CODE) note_absent(s, t, &now, status, at);
    if (t && s->config->lost) s->config->lost(s, t, &now, loss, at);
}

static void on_date(const threads_who *who, const dates_date *date, int own,
                    void *context)
{
    session *const s = (session *) context;
    session_task *const t = s->last && s->last->tid == who->tid
        && !s->last->machine ? s->last : find_task(s, who->pid, who->tid);
    if (t) s->config->date(s, t, who, date, own);
}

static int want_thread(uint32_t pid, uint32_t tid, void *context)
{
    const session *const s = (const session *) context;
    return has_guests(s)
        || (is_one_of(&s->tids, tid) && is_one_of(&s->pids, pid));
}

static const ipt_filter *find_filter(uint32_t pid, void *context)
{
    const session *const s = (const session *) context;
    return spaces_filter(&s->spaces, pid);
}

/* The function of a filter; of several with that name the first. */
static int find_symbol(const files_file *file, const char *name,
                       uint64_t *first, uint64_t *size, void *context)
{
    session *const s = (session *) context;
    const symbol *const found = symbols_named(&s->symbols, file, name);
    if (!found) return 0;
    *first = found->first;
    *size = found->last - found->first + 1;
    return 1;
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double) now.tv_sec + (double) now.tv_nsec * 1e-9;
}

/* Is this part of --max-memory used? */
static int is_full(session *s, uint64_t part)
{
    if (s->max_memory && tool_memory() > s->max_memory / part) s->is_full = 1;
    return s->is_full;
}

static int on_progress(uint64_t done, uint64_t size, void *context)
{
    session *const s = (session *) context;
    const double now = s->is_screen ? seconds() : 0;
    if (s->stop || s->no_memory || is_full(s, 1)) return 1;
    if (!s->is_screen || now - s->shown < 0.2) return 0;
    s->shown = now;
    fprintf(stderr, "\r%s: %3.0f %%, %" PRIu64 " instructions",
            s->args->program,
            size ? 100.0 * (double) done / (double) size : 100.0,
            s->threads.instructions);
    return 0;
}

/* ---- the whole ---- */

static int out_of_memory(const session *s)
{
    fprintf(stderr, "%s: out of memory.\n", s->args->program);
    return 1;
}

static int read_records(session *s)
{
    perfdata_record r;
    unsigned count = 0;
    int status;
    while ((status = perffile_next(&s->file, &r)) != PERFDATA_END) {
        if (!s->cut_records && ++count % 64 == 0 && is_full(s, 2)) {
            s->is_full = 0; /* what is decoded may take the other half */
            s->cut_records = 1;
        }
        if (s->cut_records && status >= 0 && r.type != PERFDATA_AUXTRACE)
            continue;
        if (status < 0) {
            perffile_complain(s->args, &s->file, status, r.offset);
            if (status == PERFDATA_ERR_FIELDS || status == PERFDATA_ERR_STRING)
                continue;
            break;
        }
        if (guests_note(&s->guests, s->file.data->big_endian, &r))
            return out_of_memory(s);
        if (guests_has(&s->guests, &r)) {
            if (guests_add(&s->guests, &r)) return out_of_memory(s);
            continue;
        }
        if (r.sample.time && r.sample.time < s->first_record)
            s->first_record = r.sample.time;
        if (r.sample.time > s->last_record) s->last_record = r.sample.time;
        spaces_index(&s->spaces, &r);
        note_comm(s, &r);
        note_counter(s, &r);
        if (threads_add(&s->threads, &r) || s->no_memory)
            return out_of_memory(s);
    }
    return status != PERFDATA_ERR_CUT && status != PERFDATA_END;
}

/* The process of a CR3. */
static uint32_t find_process(uint64_t cr3, void *context)
{
    const session *const s = (const session *) context;
    return bare_process(&s->bare, cr3);
}

static void configure(session *s)
{
    const session_config *const from = s->config;
    threads_config *const c = &s->decoder;
    c->code = read_code;
    c->apply = apply_record;
    if (from->flow) c->flow = on_flow;
    if (from->event) c->event = on_event;
    c->lost = on_lost;
    if (from->date) c->date = on_date;
    c->progress = on_progress;
    c->wanted = want_thread;
    c->filter = find_filter;
    if (bare_has_process(&s->bare)) c->process = find_process;
    c->context = s;
    c->file = &s->file;
    c->flags = from->flags;
    c->insn = from->insn;
    c->never_mark = from->never_mark;
    c->raw_times = s->raw_times;
    c->is_bare = s->spaces.is_bare;
    c->from = s->from;
    c->to = s->to;
    c->lead = s->lead;
    s->always = s->cpus.count == 0 && s->from == 0 && s->to == UINT64_MAX;
}

static void start_symbols(session *s)
{
    char *const path = spaces_kallsyms(&s->spaces);
    if (path) symbols_kernel(&s->symbols, path);
    free(path);
}

#define KASLR ((uint64_t) 1 << 21) /* the kernel is moved by multiples of it */

/* Where the function of a kernel's file was; 0: not known. */
static uint64_t find_in_kernel(session *s, const files_file *file,
                               const char *name)
{
    const symbol *const found = symbols_named(&s->symbols, file, name);
    uint64_t at = 0;
    image code;
    if (!found) return 0;
    image_init(&code);
    image_add_segments(&code, NULL, file);
    for (uint32_t i = 0; i < code.section_count && !at; i++) {
        const image_section *const part = &code.sections[i];
        if (found->first - part->from < part->size)
            at = part->base + (found->first - part->from)
               + (s->spaces.kernel_symbol - code.sections->base) / KASLR * KASLR;
    }
    image_free(&code);
    return at;
}

/* Where flow enters the kernel's __switch_to; 0: not known. */
static uint64_t find_switch(session *s)
{
    char *const path = spaces_kallsyms(&s->spaces);
    const files_file *const file = spaces_vmlinux(&s->spaces);
    const files_file *const kernel = s->spaces.kernel_file;
    const char name[] = "__switch_to";
    const symbol *const found =
        kernel ? symbols_named(&s->symbols, kernel, name) : NULL;
    uint64_t at = path ? kallsyms_find(path, name) : 0;
    free(path);
    if (!at && found) at = spaces_in_kernel(&s->spaces, found->first);
    if (!at && file && s->spaces.kernel_symbol)
        at = find_in_kernel(s, file, name);
    return at;
}

static int open_file(session *s, const char *name)
{
    char *made;
    int status;
    if (!bare_kinds(&s->bare))
        return perffile_open(s->args, name, &s->file);
    s->bare.quiet = s->quiet;
    made = bare_write(s->args, &s->bare,
                      s->bare.folder ? spaces_folder(&s->spaces)
                                     : spaces_bare(&s->spaces));
    if (!made) return 1;
    status = perffile_open(s->args, made, &s->file);
    remove(made);
    free(made);
    return status;
}

int session_open(session *s, const char *name)
{
    int status = open_file(s, name);
    if (status) return status;
    s->is_open = 1;
    s->is_screen = (uint8_t) (isatty(2) && !s->quiet);
    configure(s);
    s->functions.mangled = s->mangled;
    threads_init(&s->threads, &s->decoder);
    s->spaces.symbol = find_symbol;
    s->spaces.context = s;
    spaces_open(&s->spaces, s->file.data, s->file.folder);
    if (s->bare.lldb.kernel)
        status = spaces_kernel(&s->spaces, s->bare.lldb.kernel,
                               s->bare.lldb.kernel_base);
    if (status == 0) status = read_records(s);
    if (status == 0) status = spaces_start(&s->spaces);
    if (guests_sort(&s->guests)) status = out_of_memory(s);
    s->threads.config.switch_ip = find_switch(s);
    if (status == 0 && threads_start(&s->threads)) status = out_of_memory(s);
    use_last_comms(s);
    if (status == 0 && s->config->symbols) {
        start_symbols(s);
        status = guests_start(&s->guests, s->args);
    }
    return status;
}

/* What comes next on the screen is alone in its line. */
static void wipe(session *s)
{
    if (s->is_screen && s->shown > 0) fputs("\r\033[K", stderr);
    s->is_screen = 0;
}

void session_prints(session *s)
{
    if (s->is_screen && isatty(1)) wipe(s);
}

int session_has_trace(const session *s)
{
    const threads *const t = &s->threads;
    if (t->queues.queue_count || t->losses[THREADS_MISSING]) return 0;
    fprintf(stderr, "%s: there is no trace in it: perf record -e intel_pt//u "
                    "makes one, or ptcapture.\n", s->args->program);
    return 1;
}

int session_run(session *s)
{
    const int status = threads_run(&s->threads);
    wipe(s);
    return status < 0 || s->no_memory ? out_of_memory(s) : 0;
}

static void print_loss(session *s, const char *what, uint64_t count)
{
    s->lost += count;
    if (count && !s->quiet)
        fprintf(stderr, "%s: lost: %-36s %" PRIu64 "\n", s->args->program,
                what, count);
}

/* How often flow went into files that are not there; the others. */
static uint64_t print_absent(session *s)
{
    uint64_t others = s->threads.losses[THREADS_NO_CODE];
    for (size_t i = 0; i < s->absent_count; i++) {
        s->lost += s->absent[i].count;
        others -= s->absent[i].count;
        if (s->quiet) continue;
        fprintf(stderr, "%s: lost: inside ", s->args->program);
        tool_print(stderr, tool_base(s->absent[i].name));
        fprintf(stderr, ", which is not there: %" PRIu64 " time%s\n",
                s->absent[i].count, TOOL_S(s->absent[i].count));
    }
    return others;
}

/* The first files that are not there, and what helps. Where no code was missing
 * nobody needs them. */
static void print_no_files(const session *s)
{
    static const char vdso[] = "[vdso]";
    unsigned count = 0;
    if (!s->threads.losses[THREADS_NO_CODE] || s->quiet) return;
    for (size_t i = 0; i < SPACES_NO_FILE && s->spaces.no_file[i]; i++) {
        if (strcmp(s->spaces.no_file[i], vdso) == 0) continue;
        if (count++)
            fputs(", ", stderr);
        else
            fprintf(stderr, "%s: not there: ", s->args->program);
        tool_print(stderr, s->spaces.no_file[i]);
    }
    if (count)
        fprintf(stderr, "; say where %s: --symfs <folder>\n",
                count > 1 ? "copies are" : "a copy is");
    for (size_t i = 0; i < SPACES_NO_FILE && s->spaces.no_file[i]; i++)
        if (strcmp(s->spaces.no_file[i], vdso) == 0)
            fprintf(stderr, "%s: not there: %s; say where a copy is: --vdso "
                            "<file>\n", s->args->program, vdso);
}

static void print_losses(session *s)
{
    const spaces_losses *const l = &s->spaces.losses;
    if (!s->quiet)
        fprintf(stderr, "%s: %s%" PRIu64 " instruction%s, %" PRIu32 " queue%s\n",
                s->args->program,
                s->threads.windowed ? "in this time only: "
                : s->threads.skips ? "in the end only: " : "",
                s->threads.instructions,
                TOOL_S(s->threads.instructions),
                s->threads.queues.queue_count,
                TOOL_S(s->threads.queues.queue_count));
    for (unsigned i = 0; i < THREADS_LOSSES; i++)
        print_loss(s, threads_text((threads_loss) i),
                   i == THREADS_NO_CODE ? print_absent(s)
                                        : s->threads.losses[i]);
    if (s->threads.guest_times && s->threads.timed && !s->quiet)
        fprintf(stderr, "%s: times in guests are by their clocks: what a VMCS "
                        "adds to the TSC is not known; perf inject "
                        "--vm-time-correlation takes it off\n",
                s->args->program);
    if (s->guests.records && !has_guests(s) && !s->quiet)
        fprintf(stderr, "%s: %" PRIu64 " record%s made in guests: their threads "
                        "are not followed\n", s->args->program,
                s->guests.records, s->guests.records == 1 ? " was" : "s were");
    print_loss(s, "bytes of trace after a full buffer", s->threads.skipped);
    print_loss(s, "records, by --max-memory", s->cut_records);
    print_loss(s, "trace, by --max-memory", s->is_full);
    print_loss(s, "mappings without a file", l->no_file);
    print_no_files(s);
    print_loss(s, "mappings of another version", l->other_build);
    print_loss(s, "jitdump files damaged", l->jit_damaged);
    print_loss(s, "jitdump files of another clock", l->jit_unsure);
    print_loss(s, "kernel code not in the copy", l->kernel_gone);
}

/* Names that are not what they could be. */
static void print_missing(const session *s)
{
    const char *why = tool_missing(TOOL_LIBELF);
    const char *what = "names of functions in files are not known";
    int any = s->functions.count > 0;
    if (!why && !s->mangled) {
        why = tool_missing(TOOL_LIBIBERTY);
        what = "names of C++ are as the linker has them";
        any = 0;
        for (uint32_t n = 1; why && n <= s->functions.count && !any; n++) {
            const char *const name = functions_name(&s->functions, n);
            any = name && strncmp(name, "_Z", 2) == 0;
        }
    }
    if (why && any && !s->quiet)
        fprintf(stderr, "%s: %s: %s.\n", s->args->program, what, why);
}

/* What there is, where that is not what was selected. */
static void print_threads(const session *s)
{
    fputs("; its threads:", stderr);
    for (size_t i = 0; i < s->task_count && i < 8; i++) {
        fprintf(stderr, "%s %" PRIu32 " ", i ? "," : "", s->list[i]->tid);
        tool_print(stderr, s->list[i]->last_comm);
    }
    fputs(s->task_count > 8 ? ", ...\n" : "\n", stderr);
}

static void print_unmatched(const session *s)
{
    const int timed = s->from || s->to != UINT64_MAX;
    fprintf(stderr, "%s: nothing in it is of this%s%s%s%s%s",
            s->args->program, s->tids.count ? " --tid" : "",
            s->pids.count ? " --pid" : "", s->comm ? " --comm" : "",
            s->cpus.count ? " --cpu" : "", timed ? " --time" : "");
    if (timed && s->first_record <= s->last_record)
        fprintf(stderr, "; its times: %" PRIu64 ".%09" PRIu64 " to %" PRIu64
                ".%09" PRIu64 "\n", s->first_record / 1000000000,
                s->first_record % 1000000000, s->last_record / 1000000000,
                s->last_record % 1000000000);
    else if (timed)
        fputs("; it has no times\n", stderr);
    else
        print_threads(s);
}

int session_end(session *s, int status)
{
    const session_config *const c = s->config;
    const int selects = s->comm || s->tids.count || s->pids.count || !s->always;
    print_losses(s);
    print_missing(s);
    if (status) return status;
    if (selects && !s->matched && (c->flow || c->event)) {
        print_unmatched(s);
        return OPTIONS_NOTHING;
    }
    if (!s->threads.instructions && !s->matched) {
        fprintf(stderr, "%s: nothing was decoded.\n", s->args->program);
        return OPTIONS_NOTHING;
    }
    return s->strict && s->lost ? OPTIONS_NOTHING : OPTIONS_DONE;
}

uint64_t session_ns(const session *s, uint64_t tsc)
{
    const uint64_t *const pt = s->threads.pt;
    return perfdata_ns(pt[PERFDATA_PT_TIME_SHIFT], pt[PERFDATA_PT_TIME_MULT],
                       pt[PERFDATA_PT_TIME_ZERO], tsc);
}

uint64_t session_fine(const session *s, uint64_t tsc)
{
    const uint64_t *const pt = s->threads.pt;
    const uint64_t shift = pt[PERFDATA_PT_TIME_SHIFT];
    const uint64_t part = shift < 64 ? tsc & (((uint64_t) 1 << shift) - 1) : 0;
    const uint64_t ns = session_ns(s, tsc) << 8;
    if (shift < 8 || shift > 56) return ns;
    return ns | (part * pt[PERFDATA_PT_TIME_MULT] >> (shift - 8) & 255);
}

/* ---- functions ---- */

/* What stands for code that is in no file. */
static uint32_t label_of(session *s, const char *name)
{
    char text[1024];
    if (name && *name != '[')
        snprintf(text, sizeof text, "[%.1000s]", name);
    else
        snprintf(text, sizeof text, "%.1000s", name ? name : "[unknown]");
    return functions_label(&s->functions, text);
}

/* Where a symbol is from. */
enum { OF_FILE, OF_KERNEL, OF_MAP, OF_GUEST };

static uint32_t number_of(session *s, const spaces_found *at, uint32_t pid,
                          int from, const symbol *func)
{
    functions_about about;
    memset(&about, 0, sizeof about);
    about.object = at->name;
    if (func) {
        about.symbol = func->name;
        about.first = func->first;
        about.kind = (uint8_t) func->kind;
    }
    if (from == OF_FILE) about.file = at->file;
    if (from == OF_FILE && func)
        about.source = symbols_source(&s->symbols, at->file, func);
    if (from == OF_MAP) about.pid = pid;
    return functions_add(&s->functions, &about);
}

/* The numbers of a function and of the whole that it is a part of. The second
 * half of a stub is the stub. */
static void set_function(session *s, const spaces_found *at, uint32_t pid,
                         int from, const symbol *func, session_place *place)
{
    const symbol *whole = func;
    if (func->kind & (SYMBOL_PART | SYMBOL_SPLIT) && from != OF_MAP)
        whole = symbols_whole(from == OF_GUEST ? &s->guests.kernel
                                               : &s->symbols,
                              from == OF_FILE ? at->file : NULL, func);
    place->whole = number_of(s, at, pid, from, whole);
    place->is_part = (func->kind & SYMBOL_PART) != 0;
    place->function = func->kind & SYMBOL_STUB || whole == func
        ? place->whole : number_of(s, at, pid, from, func);
    if (!place->function) return;
    s->functions.list[place->function - 1].whole = place->whole;
    place->name = functions_name(&s->functions, place->function);
}

/* Print functions in a line. */
static void print_functions(session *s, const char *words,
                            const uint32_t *numbers, size_t count)
{
    fputs(words, stderr);
    for (size_t i = 0; i < count; i++) {
        if (i) fputs(", ", stderr);
        tool_print(stderr, functions_text(&s->functions, numbers[i]));
    }
}

int session_chosen(session *s, const char *option, functions_choice *choice)
{
    uint32_t some[10];
    size_t count = 0;
    for (uint32_t n = 1; n <= s->functions.count; n++) {
        if (functions_chosen(&s->functions, choice, n) <= 0) continue;
        if (count < 10) some[count] = n;
        count++;
    }
    if (count == 1) return 1;
    fprintf(stderr, "%s: %s ", s->args->program, option);
    tool_print(stderr, choice->pattern);
    if (count) {
        fprintf(stderr, ": %zu functions", count);
        print_functions(s, ": ", some, count < 10 ? count : 10);
        fputs(count > 10 ? ", ...\n" : "\n", stderr);
        return 1;
    }
    fputs(": nothing called so ran", stderr);
    count = functions_similar(&s->functions, choice->pattern, some, 5);
    if (count) print_functions(s, "; similar: ", some, count);
    fputs(".\n", stderr);
    return 0;
}

/* The addresses of a symbol, as far as they are mapped. */
static void set_range(session_place *place, const spaces_found *at,
                      uint64_t ip, uint64_t before, uint64_t after)
{
    place->first = ip - at->first < before ? at->first : ip - before;
    place->last = at->last - ip < after ? at->last : ip + after;
}

/* What is at an address without code: 1, or 0 if nothing is. */
static int find_absent(session *s, uint64_t ip, session_place *place)
{
    const char *const name =
        spaces_absent(&s->view, ip, &place->first, &place->last);
    if (!name) return 0;
    place->file = name;
    place->offset = ip - place->first;
    place->is_absent = 1;
    place->function = place->whole = label_of(s, tool_base(name));
    return 1;
}

stack_function session_function(const session_place *place)
{
    stack_function f;
    memset(&f, 0, sizeof f);
    f.first = place->first;
    f.last = place->last;
    f.name = place->is_part ? place->whole : place->function;
    f.gap = !place->name;
    f.absent = place->is_absent;
    f.part = place->is_part;
    f.start = place->name && strcmp(place->name, "_start") == 0;
    return f;
}

int session_find(session *s, uint32_t pid, uint8_t guest, uint64_t ip,
                 session_place *place)
{
    const ipt_asid asid = {IPT_ASID_UNKNOWN, IPT_ASID_UNKNOWN, guest};
    const symbol *func = NULL;
    int from = OF_FILE;
    spaces_found at;
    uint64_t offset, first, last;
    memset(place, 0, sizeof *place);
    place->offset = ip;
    s->view.pid = pid;
    if (!spaces_find(&s->view, &asid, ip, &at)) return find_absent(s, ip, place);
    place->file = at.name;
    place->first = at.first;
    place->last = at.last;
    place->offset = offset = at.offset;
    place->in = at.file;
    place->in_offset = offset;
    if (!s->config->symbols) return 1;
    if (ip >> 63 && !guest
        && (func = symbols_at(&s->symbols, ip)) != NULL) {
        offset = ip;
        from = OF_KERNEL;
    }
    if (ip >> 63 && guest && (func = symbols_at(&s->guests.kernel, ip)) != NULL) {
        offset = ip;
        from = OF_GUEST;
    }
    if (!func && at.file) func = symbols_find(&s->symbols, at.file, offset);
    if (!func && !(ip >> 63) && !guest
        && (func = symbols_mapped(&s->symbols, pid, ip)) != NULL) {
        offset = ip;
        from = OF_MAP;
    }
    if (func) {
        set_function(s, &at, pid, from, func, place);
        place->offset = offset - func->first;
        set_range(place, &at, ip, place->offset, func->last - offset);
        return 1;
    }
    if (at.file) {
        symbols_gap(&s->symbols, at.file, offset, &first, &last);
        set_range(place, &at, ip, offset - first, last - offset);
        place->function = number_of(s, &at, pid, from, NULL);
    } else {
        place->function = label_of(s, at.name);
    }
    place->whole = place->function;
    return 1;
}
