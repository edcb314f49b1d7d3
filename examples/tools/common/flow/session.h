/* session.h: the flow of a perf.data, as far as a user asks for it: what tools
 * that show it in their ways have in common.
 *
 *     session_init(&s, &args, &config, context);
 *     status = session_parse(&args, &s, help, more, &name);
 *     if (status < 0) status = session_open(&s, name);
 *     if (status == 0) status = session_run(&s); // calls config.flow, ...
 *     status = session_end(&s, status);
 *     session_free(&s);
 *
 * SPDX-License-Identifier: MIT */
#ifndef SESSION_H
#define SESSION_H
#include "../perf/bare.h"
#include "../perf/guests.h"
#include "../code/functions.h"
#include "../code/lines.h"
#include "../code/names.h"
#include "../code/options.h"
#include "pids.h"
#include "spaces.h"
#include "stack.h"
#include "../code/symbols.h"
#include "threads.h"
#include "../code/tool.h"

/* Numbers of --tid, --pid or --cpu. */
typedef struct session_numbers {
    uint32_t *list;
    size_t count;
} session_numbers;

/* A thread. */
typedef struct session_task {
    uint32_t tid;
    uint32_t pid;
    uint32_t machine;      /* it is one of that guest; 0: of the host */
    const char *comm;      /* its name now, until session_free */
    const char *last_comm; /* ... and in the end */
    uint8_t wanted;        /* by --tid, --pid and --comm */
    uint8_t exited;        /* a record says so */
    const char *absent;    /* the file that flow went into when code was missing
                              last; or NULL */
    void *user;
} session_task;

/* What is at an address. */
typedef struct session_place {
    const char *name;  /* of the function, demangled, without parameters; NULL:
                          none is known */
    const char *file;  /* ... or what JIT code is called; NULL */
    uint64_t offset;   /* in the function; else in the file; else the address */
    uint64_t first;    /* the function's addresses; without a name those that */
    uint64_t last;     /* are known to have none, in the same file */
    const files_file *in; /* the code, and where in it; NULL: not known */
    uint64_t in_offset;
    uint32_t function; /* its number in session.functions; 0: nothing is there,
                          or there is no memory */
    uint32_t whole;    /* that of the function which this is a part of */
    uint8_t is_part;   /* ... and where flow comes to by jumps */
    uint8_t is_absent; /* `file` is mapped here, and is not there */
} session_place;

/* The function there, for stack.h. */
stack_function session_function(const session_place *place);

typedef struct session session;

/* A file that is not there, and how often flow went into it. */
typedef struct session_absent {
    char *name;
    uint64_t count;
} session_absent;

/* Each may be NULL. They are called for all threads whose trace is decoded; see
 * session_wants. */
typedef struct session_config {
    void (*flow)(session *s, session_task *t, const threads_who *who,
                 const ipt_block *block);
    void (*event)(session *s, session_task *t, const threads_who *who,
                  const ipt_event *event);
    void (*lost)(session *s, session_task *t, const threads_who *who,
                 threads_loss loss, const ipt_where *at);
    /* See threads_config.date. */
    void (*date)(session *s, session_task *t, const threads_who *who,
                 const dates_date *date, int own);
    /* Follow an option of the tool's own, as spaces_option does. */
    int (*option)(tool_args *args, session *s, const char *word);
    /* A process runs another program from here on. */
    void (*exec)(session *s, session_task *t);
    uint32_t flags;     /* IPT_CONFIG_ */
    uint8_t insn;       /* 1: blocks of one instruction each */
    uint8_t symbols;    /* 1: session_find gives names of functions */
    uint8_t never_mark; /* see threads.h */
    uint8_t guests;     /* 1: threads of guests are threads, where records say
                           which runs; 0: all is of the host's */
} session_config;

struct session {
    const tool_args *args;
    const session_config *config;
    const char *counters[64]; /* the events of PEBS's counters: NULL, "": several */
    uint32_t counters_seen; /* records that say so */
    void *context;         /* the caller's */
    perffile file;
    spaces spaces;
    spaces_view view;
    symbols symbols;
    functions functions;   /* with config.symbols */
    lines lines;
    bare bare;             /* if it has a trace, the file is made of it */
    threads threads;
    session_task **list;   /* in the order in which they were found */
    size_t task_count;
    uint64_t changes;      /* of code: what session_find said may not hold */
    pids replaced;         /* processes that had other code where some is now */
    int stop;              /* set it to end */
    uint8_t quiet;         /* --quiet */
    uint8_t strict;        /* --strict */
    uint8_t mangled;       /* --no-demangle */
    uint8_t raw_times;     /* --raw-times */
    uint8_t always;        /* what session_wants says is task.wanted */
    /* private */
    session_absent *absent; /* in the order in which they were found */
    size_t absent_count;
    uint64_t absent_told;   /* losses of no code that were looked at */
    struct slices *slices;  /* slices.h, in its processes; or NULL */
    threads_config decoder;
    names_table comms;
    pids tasks;
    size_t task_max;
    session_task *last;    /* whose flow came last; or NULL */
    session_numbers tids;
    session_numbers pids;
    session_numbers cpus;
    const char *comm;
    guests guests;
    guests_now guest;      /* what guests_find said, .. */
    uint32_t guest_of;     /* ... of this thread of the host; 0: nothing */
    pids guest_tasks;      /* by guests_now.thread */
    uint64_t from;         /* ns */
    uint64_t to;
    uint32_t lead;         /* --stack-before, as threads_config.lead */
    uint64_t max_memory;   /* --max-memory; 0: all */
    uint8_t is_full;       /* ... was reached: trace is left out; */
    uint8_t cut_records;   /* ... half of it was: records are */
    uint64_t first_record; /* ns; UINT64_MAX: none has a time */
    uint64_t last_record;
    uint64_t lost;         /* of all kinds */
    uint8_t matched;       /* there was something that is wanted */
    double shown;
    uint8_t is_screen;
    uint8_t no_memory;
    uint8_t is_open;
};

void session_init(session *s, const tool_args *args,
                  const session_config *config, void *context);
void session_free(session *s);

/* Follow all options: the session's and the tool's, as options.h does. The text
 * for --help is `help`, which is how the tool is used and its options, then the
 * session's options, then `more`. Returns -1, with the name of the file or with
 * a bare trace, or the exit status. */
int session_parse(tool_args *args, session *s, const char *help,
                  const char *more, const char **name);

/* For a tool with a command line of its own: the options of all sessions, for
 * --help; and follow one of them, as spaces_option does. */
extern const char session_help[];
int session_follow(tool_args *args, session *s, const char *word);

/* Read the records of a file. 0, or the exit status with a message. The config
 * may be changed before it. */
int session_open(session *s, const char *name);

/* Is there trace, or a sample whose trace could not be kept? 0; with neither
 * that is said, and 1. */
int session_has_trace(const session *s);

/* Decode. 0, or the exit status. */
int session_run(session *s);

/* Lines are about to be printed while it decodes: where both are on a terminal
 * there is no progress from now on. */
void session_prints(session *s);

/* Say what is lost, to standard error. Returns the exit status, which is `status`
 * unless that is 0 and nothing was decoded, or nothing that was selected; or, with
 * --strict, anything was lost. */
int session_end(session *s, int status);

/* Flow went into a file that is not there, so often. -1 without memory. */
int session_absent_add(session *s, const char *name, uint64_t count);
void session_absent_clear(session *s);

/* Is this thread, with this cpu and time, asked for? */
int session_wants(session *s, const session_task *t, const threads_who *who);

/* The thread of that number, or NULL; one that is made if there is none, NULL
 * without memory. */
session_task *session_task_of(const session *s, uint32_t tid);
session_task *session_task_at(session *s, uint32_t pid, uint32_t tid);

/* SECONDS[.FRACTION] at *s, which is moved, to ns; 0 if there is none. */
int session_seconds(const char **s, uint64_t *ns);

/* A time of the trace in ns; in 1/256 of a ns. */
uint64_t session_ns(const session *s, uint64_t tsc);
uint64_t session_fine(const session *s, uint64_t tsc);

/* All that ran is known: say which functions the user chose with `option` if
 * they are several. If there is none that is said, and which are similar: 0. */
int session_chosen(session *s, const char *option, functions_choice *choice);

/* What is at an address of a process, or of its guest, until `changes` changes:
 * 1, or 0. */
int session_find(session *s, uint32_t pid, uint8_t guest, uint64_t ip,
                 session_place *place);

#endif /* SESSION_H */
