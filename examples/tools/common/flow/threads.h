/* threads.h: whose flow it is: the queues of trace of a perf.data, thread by
 * thread.
 *
 *     threads_init(&t, &config);
 *     while (perffile_next(&file, &record) >= 0)
 *         threads_add(&t, &record);         // each record of the file
 *     threads_start(&t);
 *     threads_run(&t);                      // calls config.flow
 *     threads_free(&t);
 *
 * A queue is of a thread, or of a cpu, which threads share. There the records
 * of switches say whose turn it is, as far as time is known: tracing of user
 * code ends before a switch and begins again after it, and a thread that got
 * the cpu at a certain time runs from then on. All that is known of the moment
 * when tracing begins again is that it lies between two times, which are those
 * of packets or of AUX records. If several threads had the cpu between these
 * two, the one counts that goes on where it was stopped. What is still open is
 * marked: threads_who.sure is 0.
 *
 * Where the kernel is traced, and it is known where its function __switch_to is,
 * a thread changes where flow enters that: the record of the switch comes
 * earlier, the next thread's own one later. Else it changes at the time of the
 * record.
 *
 * All queues are decoded together. Records that change code are applied in the
 * order of time, each after the flow that came before it. Where time is too
 * coarse for that, a record is applied early: when flow needs code that is not
 * there. Without time all records are applied in this way.
 *
 * SPDX-License-Identifier: MIT */
#ifndef THREADS_H
#define THREADS_H
#include "align.h"
#include "dates.h"
#include "ipt.h"
#include "../perf/perffile.h"
#include "../perf/window.h"
#include "pids.h"

/* Kinds of loss; each is counted for itself. */
typedef enum threads_loss {
    THREADS_OVERFLOW,  /* the processor lost packets (OVF) */
    THREADS_TRUNCATED, /* AUX: the buffer was full, or tracing had to stop */
    THREADS_PARTIAL,   /* AUX: tracing was off for part of the time */
    THREADS_COLLISION, /* AUX: with another user of the unit */
    THREADS_MISSING,   /* the file has no record of some trace */
    THREADS_SNAPSHOT,  /* trace before a snapshot or sample is not there */
    THREADS_PAUSED,    /* tracing began paused, or an event paused it */
    THREADS_SIDEBAND,  /* LOST: records that would say what runs where */
    THREADS_NO_CODE,   /* flow is at an address where no code is known */
    THREADS_ERROR,     /* trace that cannot be decoded, or not with this code */
    THREADS_NO_TNT,    /* a branch in trace of `notnt`: nobody knows where to */
    THREADS_UNSURE,    /* instructions whose thread is not sure */
    THREADS_LOSSES
} threads_loss;

/* Whose flow, where and when. */
typedef struct threads_who {
    uint32_t pid;
    uint32_t tid;   /* 0 and 0: not known, or the idle task */
    uint32_t cpu;   /* UINT32_MAX: not known */
    uint32_t queue; /* its number, in the order of the file */
    uint64_t tsc;   /* 0: not known */
    uint64_t run;   /* since its last switch; 0: not known. See threads_off */
    uint32_t machine; /* 0 here; a session sets them where it knows the thread */
    uint32_t vcpu;    /* ... of a guest, whose pid and tid are above then */
    uint8_t sure;
    uint8_t guest;  /* in VMX non-root operation: code of a guest */
} threads_who;

typedef struct threads_config {
    /* Code of a process, as ipt_config.read. */
    int (*code)(uint8_t *buffer, size_t size, uint32_t pid,
                const ipt_asid *asid, uint64_t ip, void *context);
    /* Apply a record that may change code; by way of threads_changed it says
     * what did. Never called twice for a record. */
    void (*apply)(const perfdata_record *record, void *context);
    /* ... of this number: see threads_apply. May be NULL. */
    void (*applies)(size_t row, void *context);
    /* Instructions; in the order of each thread. Their offsets do not go back
     * in a queue, unless trace is damaged: flow up to an interrupt has that of
     * its FUP, and bits of a TNT between this and the TIP are used before. May
     * be NULL. */
    void (*flow)(const threads_who *who, const ipt_block *block, void *context);
    /* An event between them. May be NULL. */
    void (*event)(const threads_who *who, const ipt_event *event,
                  void *context);
    /* A packet says the time: all that this queue gave before was done by then,
     * what comes after it was not. own: it is the packet of the event that comes
     * next. May be NULL. */
    void (*date)(const threads_who *who, const dates_date *date, int own,
                 void *context);
    /* Something is missing here; status: IPT_, or 0. It may have been counted
     * before. May be NULL. */
    void (*lost)(const threads_who *who, threads_loss loss, int status,
                 const ipt_where *at, void *context);
    /* Now and then: how much trace is done. Not 0 ends it. May be NULL. */
    int (*progress)(uint64_t done, uint64_t size, void *context);
    /* Which threads are wanted: 0 for those whose queues need not be decoded.
     * Asked for queues of threads only. May be NULL. */
    int (*wanted)(uint32_t pid, uint32_t tid, void *context);
    /* Where a process is traced by now, for ipt_config.filter; NULL: everywhere.
     * May be NULL. */
    const ipt_filter *(*filter)(uint32_t pid, void *context);
    /* In trace of cpus without records of switches: the process of a CR3 that the
     * trace names, of which one thread is known, with its number; 0: none is
     * known. IPT_ASID_UNKNOWN: the trace names none. May be NULL. */
    uint32_t (*process)(uint64_t cr3, void *context);
    void *context;
    perffile *file;     /* has to stay open */
    uint64_t switch_ip; /* of the kernel's __switch_to; 0: not known */
    uint32_t flags;     /* IPT_CONFIG_, besides what the file says */
    uint8_t insn;       /* 1: blocks of one instruction each */
    uint8_t never_mark; /* 1: for tests: nothing is marked */
    uint8_t is_bare; /* mappings are of guests, too */
    uint8_t raw_times;  /* 0: a thread's times do not go back, though those of
                           the trace do: an estimate was too late */
    uint64_t from;      /* ns; what is before that or after `to` is not asked */
    uint64_t to;        /* ... for: what is decoded of it need not be all, and is
                           not counted; 0 and UINT64_MAX, or both 0: all is */
    uint32_t lead;      /* PSBs that are decoded before it; UINT32_MAX: all */
    uint64_t ends;      /* not 0: the end of each thread is asked for, about so many
                           bytes of trace: see threads_since */
    /* See threads_slice; `state` is all that what comes depends on, but for the
     * caller's part of it. May be NULL. */
    void (*cut)(uint64_t state, void *context);
} threads_config;

/* What a record of a switch says: from `tsc` on, another thread has the cpu. */
typedef struct threads_run_ {
    uint64_t tsc; /* of the out record */
    uint64_t in;  /* of the in record: no user code before it */
    uint32_t cpu;
    uint32_t pid;
    uint32_t tid;
    uint32_t order;
    uint32_t queue; /* of the cpu */
    size_t before;  /* the run of the same thread before it, ... */
    size_t after;   /* ... and after it; SIZE_MAX */
} threads_run_;

/* A record that is kept. */
typedef struct threads_row_ {
    uint64_t tsc;
    size_t at;      /* of its bytes */
    uint32_t event; /* of the file */
    uint32_t pid;   /* whose code it changes; UINT32_MAX: that of all */
    uint32_t ppid;  /* of FORK */
    uint32_t maker; /* of a mapping: the thread that made it; 0 */
    uint16_t size;
    uint8_t brings; /* code of pid, where there was none or other code */
    uint8_t execs;  /* pid runs another program from here on */
    uint8_t applied;
} threads_row_;

/* An AUX record: what was in the buffer at which time. */
typedef struct threads_aux_ {
    uint64_t tsc;
    uint64_t position;
    uint32_t key; /* cpu or tid */
} threads_aux_;

/* A tracepoint: a thread was woken. */
typedef struct threads_wake_ {
    uint64_t tsc;
    uint32_t tid;
    uint32_t by;
    uint8_t waking; /* sched_waking, which is always in the one that wakes */
} threads_wake_;

#define THREADS_STOPS_ 16

/* Places of a thread. */
typedef struct threads_places_ {
    uint64_t stops[THREADS_STOPS_]; /* where it stopped lately, newest first */
    align_places may;  /* where it goes on */
    align_places left; /* ... if a signal handler returns */
} threads_places_;

/* Threads that had no flow so far share places: not known; of a thread that was
 * made after the file began; lost. */
enum { THREADS_UNKNOWN_, THREADS_FRESH_, THREADS_LOST_, THREADS_SHARED_ };

/* What is known of a thread. */
typedef struct threads_thread_ {
    uint32_t pid;
    uint32_t tid;
    threads_places_ *places; /* threads.shared[.], or its own */
    uint64_t born;      /* when it was made, by .. */
    uint64_t told;      /* its latest time that was said */
    uint32_t parent;    /* ... this thread; 0: not known */
    uint8_t stop_count;
    uint8_t known;   /* it goes on at stops[0], or as a signal makes it */
    uint8_t in_call; /* it stopped in a system call */
    uint8_t seen;    /* some of its flow was */
    uint8_t shared;  /* its places are */
    uint8_t cut;     /* there may be flow of it before `since` */
    uint64_t since;  /* all its flow from there on is decoded; 0: all */
    uint32_t group;   /* not 0: or where another one with this number does, as
                         their flow may have been mixed up */
} threads_thread_;

typedef struct threads_queue_ threads_queue_;

/* When a queue goes on, and in which order queues do: threads.c. */
typedef struct threads_turn_ {
    uint64_t time;
    uint64_t turn;
} threads_turn_;

typedef struct threads {
    threads_config config;
    perfdata_queues queues;
    ipt_config decoder;
    uint64_t pt[PERFDATA_PT_WORDS];
    uint32_t cyc_threshold; /* as in dates.h */
    uint8_t has_pt;
    uint8_t in_kernel;    /* a thread changes at switch_ip */
    uint8_t filtered;     /* flow leaves what is traced, and comes back */
    uint8_t timed;
    uint8_t kernel;       /* is traced */
    uint8_t windowed;     /* see threads_config.from */
    uint8_t skips;        /* there is trace before what is decoded */
    uint8_t cyc;
    uint8_t mtc;
    uint8_t coarse;       /* by cpu, and TSC is all: at which of its stops a
                             thread was switched is not known */
    uint8_t from_exec;    /* there is no trace of threads before an exec */
    uint8_t started;
    uint8_t stopped;      /* by progress, or ... */
    uint8_t no_memory;
    uint64_t slack;       /* what a ns is, in ticks, and a little */
    uint64_t since;       /* config.from and to, in ticks */
    uint64_t until;
    uint64_t *cuts;       /* times: see threads_cut */
    size_t cut_count;
    size_t slice;         /* that is decoded, from 1; 0: all */
    dates *starts;        /* of each queue, as its last slice began, and as that
                             ended; NULL */
    uint64_t least;       /* ... when that began; 0: it did not, or is the first */
    uint8_t muted;        /* what comes is not in it */
    uint64_t applied;     /* which rows were */
    uint64_t lost_tsc;    /* records were lost from here on */
    threads_run_ *runs;   /* sorted by cpu, then time */
    size_t run_count, run_max;
    threads_row_ *rows;   /* sorted by time */
    size_t row_count, row_max, row_next;
    uint8_t *bytes;
    size_t byte_count, byte_max;
    threads_aux_ *aux;    /* sorted by key, then time */
    size_t aux_count, aux_max;
    threads_wake_ *wakes; /* sorted by tid, then time */
    size_t wake_count, wake_max;
    uint64_t wake_events[3]; /* numbers of tracepoints: sched_waking, .. */
    uint8_t wakes_known;  /* 0: not looked for yet; else which there are: 2 << n */
    threads_thread_ *list; /* sorted by tid, from threads_start on */
    size_t thread_count, thread_max;
    pids known;            /* threads_add: numbers in the list, from 1 */
    threads_places_ shared[THREADS_SHARED_];
    threads_queue_ *all;
    threads_turn_ *turns; /* of each of them, from `leaf` on */
    size_t leaf;          /* a power of two */
    uint64_t open;        /* bytes that were read of queues that go on */
    window_span *parts;   /* ... what is decoded; NULL: all */
    uint64_t plans;       /* that were made of what all do */
    pids cpus;             /* those that switched */
    ipt_cache cache;      /* of all slices, ... */
    void *cache_memory;
    uint64_t done;        /* bytes of trace */
    uint64_t size;
    uint64_t losses[THREADS_LOSSES];
    uint64_t instructions;
    uint8_t guest_times;  /* flow of a guest has times: by the guest's clock */
    uint64_t skipped;     /* bytes of trace after a full buffer, up to a PSB */
    uint64_t calls[16];   /* a filter: where system calls came back to */
    uint32_t groups;      /* so far */
    uint8_t in_time;      /* where a run begins, time is later than that of its
                             record, in this file; ... */
    uint8_t early;        /* ... not always */
    struct align *aligner;
    uint64_t traced;      /* bytes of trace, in all queues */
} threads;

/* config is copied. */
void threads_init(threads *t, const threads_config *config);
void threads_free(threads *t);

/* Note a record; each record of the file is given, in its order. 0, or -1
 * without memory. */
int threads_add(threads *t, const perfdata_record *record);

/* All records were noted: sort them. 0, or -1 without memory. */
int threads_start(threads *t);

/* Decode. 0; -1 without memory; 1: ended by config.progress. */
int threads_run(threads *t);

/* Cut time into slices, cut_count + 1, with about so many bytes of each queue or
 * more: no queue goes on after a cut before all have come to it. Where it cannot be
 * done there is one. -1 without memory. */
int threads_cut(threads *t, uint64_t bytes);

/* From now on threads_run decodes one slice of these, and a little before it, while
 * `muted` is set. It may be called again for later ones. config.cut is called where
 * the slice begins, but for slice 1, and where it ends, but for the last one. If the
 * states of two slices are one where they meet, there is nothing in them that
 * decoding the whole does not have. */
void threads_slice(threads *t, size_t slice);

/* What a slice has from here on may depend on what was before it: it ends, and
 * nothing more is in it. threads_run returns 1. */
void threads_unclear(threads *t);

/* Others decode: apply a record that they have. */
void threads_apply(threads *t, size_t row);

/* Others have decoded all: apply all records. */
void threads_finish(threads *t);

/* From config.apply: code has changed, of all processes or of one. */
void threads_changed(threads *t, uint64_t ip, uint64_t size);

/* When the flow of a thread begins of which all is decoded from there on; 0: all is.
 * *cut: there may be more before. Known once there is flow. */
uint64_t threads_since(const threads *t, uint32_t tid, int *cut);

/* A thread whose `run` changes had no processor meanwhile: 1, and from when to
 * when; 0: not known. run 0: it had none so far; after 0: at the end, when *to
 * may be UINT64_MAX. *run becomes `after`, or a run of the thread before that:
 * ask again. */
int threads_off(const threads *t, uint64_t *run, uint64_t after,
                uint64_t *from, uint64_t *to);

/* Who had the cpu after a run, from when to when (UINT64_MAX: to the end): the
 * number of that run, or 0. tid 0: nobody, or it is not known. */
uint64_t threads_next(const threads *t, uint64_t run, uint32_t *tid,
                      uint64_t *from, uint64_t *to);

/* Which thread woke one, the last time from .. to, as tracepoints say: 1, or 0.
 * *by 0: nobody ran there. */
int threads_woken(const threads *t, uint32_t tid, uint64_t from, uint64_t to,
                  uint32_t *by);

/* The trace of a queue that is in memory: from a callback, that of the flow which
 * it is given. NULL: there is none. */
const ipt_trace *threads_trace(const threads *t, uint32_t queue);

/* What a kind of loss is, in a few words. */
const char *threads_text(threads_loss loss);

#endif /* THREADS_H */
