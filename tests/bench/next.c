/* next.c: events by the event layer that libipt has since 2.1, in the library
 * that LIBIPT_NEXT names; the bench is compiled with the header of 2.0.5, so what
 * it needs is declared here. */
#define _GNU_SOURCE
#include "bench.h"

#ifdef __has_include
#if __has_include(<intel-pt.h>)
#define HAVE_LIBIPT
#endif
#endif

#ifdef HAVE_LIBIPT
#include <dlfcn.h>
#include <intel-pt.h>
#include <string.h>

#define EVENT_SIZE 72

static void *(*evt_alloc)(const struct pt_config *);
static void (*evt_free)(void *);
static int (*evt_sync)(void *);
static int (*evt_next)(void *, struct pt_event *, size_t);

static const struct {
    const char *name;
    void *function;
} wanted[] = {
    {"pt_evt_alloc_decoder", &evt_alloc},
    {"pt_evt_free_decoder", &evt_free},
    {"pt_evt_sync_forward", &evt_sync},
    {"pt_evt_next", &evt_next},
};

const char *bench_next_open(const char *library)
{
    /* what it calls of itself is its own, and not the system's */
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    size_t i;

    for (i = 0; handle && i < sizeof wanted / sizeof wanted[0]; i++) {
        void *found = dlsym(handle, wanted[i].name);
        if (!found)
            return "it has no event layer";
        memcpy(wanted[i].function, &found, sizeof found);
    }
    return handle ? NULL : dlerror();
}

static int prepare(const bench_case *c)
{
    (void) c;
    return evt_next != NULL;
}

/* 0 items: there is something in it that it does not know. */
static uint64_t pass_events(const bench_case *c)
{
    struct pt_config config;
    union { /* it is larger there */
        struct pt_event event;
        uint8_t bytes[EVENT_SIZE];
    } next;
    void *decoder;
    uint64_t count = 0;
    uint64_t sum = 0;
    int status;

    memset(&config, 0, sizeof(config));
    config.size = sizeof(config);
    config.begin = c->trace;
    config.end = c->trace + c->size;
    decoder = evt_alloc(&config);
    status = decoder ? evt_sync(decoder) : -pte_nomem;
    while (status >= 0) {
        while ((status = evt_next(decoder, &next.event, sizeof(next))) >= 0) {
            count++;
            sum += (uint64_t) next.event.type;
        }
        if (status != -pte_eos && !c->dense)
            status = evt_sync(decoder);
    }
    evt_free(decoder);
    bench_sink += sum;
    return status == -pte_eos ? count : 0;
}

const bench_row bench_next[] = {
    {"events", "libipt 2.1", prepare, pass_events, 0, 1, 1},
    {0},
};
#else
const char *bench_next_open(const char *library)
{
    (void) library;
    return "built without libipt-dev";
}

const bench_row bench_next[] = {
    {"events", "libipt 2.1", NULL, NULL, 0, 1, 1},
    {0},
};
#endif
