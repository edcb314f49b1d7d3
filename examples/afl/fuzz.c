/* fuzz.c: fuzzes target.c by coverage that comes from a trace.
 *
 * PT hardware is not needed: the processor traps after each instruction of the
 * target, and the trap writes the trace that PT would. With PT, leave out what
 * is under "the trace", and let the processor write it.
 *
 *     cc -O1 -c examples/afl/target.c
 *     clang -O1 -I. -c examples/afl/fuzz.c
 *     clang -no-pie -fsanitize=fuzzer -o fuzz fuzz.o target.o && ./fuzz
 *
 * -no-pie because coverage is counted by address: at another address in each
 * run, an input would count elsewhere, and two branches may share a counter.
 *
 * AFL++: afl-clang-fast for clang, without instrumentation of fuzz.c:
 *
 *     afl-clang-fast -no-pie -fsanitize=fuzzer -o fuzz fuzz.o target.o
 *     afl-fuzz -i seeds -o found ./fuzz
 *
 * BLIND=1 in the environment fuzzes without coverage. Linux on x86-64 only.
 *
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#define IPT_IMPLEMENTATION
#define IPT_STATIC
#include "ipt.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <x86intrin.h>

#define TRAP_FLAG 0x100u
#define COUNTERS 4096

int target(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Where the linker has put the target. */
extern const uint8_t __start_traced[], __stop_traced[];

/* libFuzzer takes counters that lie in this section for coverage; AFL++ has
 * its own. */
__attribute__((section("__libfuzzer_extra_counters")))
static uint8_t counters[COUNTERS];
extern uint8_t *__afl_area_ptr __attribute__((weak));

static void check(int ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "fuzz: %s\n", what);
    _Exit(2); /* not a finding */
}

/* ---- the trace ---- */

static uint8_t bytes[1 << 20];
static ipt_gen gen;
static uint64_t last; /* address of the instruction that executed; 0: none */

static int is_traced(uint64_t ip)
{
    return ip - (uint64_t) (uintptr_t) __start_traced
           < (uint64_t) (__stop_traced - __start_traced);
}

static void tell(uint8_t type, uint64_t ip, uint64_t to)
{
    ipt_event event;

    memset(&event, 0, sizeof(event));
    event.type = type;
    event.ip = ip;
    event.u.branch.to = to;
    check(ipt_gen_event(&gen, &event) == IPT_OK, "event");
}

/* The instruction at `last` has executed; ip is next. */
static void step(uint64_t ip)
{
    ipt_code code;

    if (last && !is_traced(ip)) { /* as PT with an address filter */
        tell(IPT_EVT_DISABLED, last, ip);
    } else if (last) {
        check(ipt_classify(&code, (const uint8_t *) (uintptr_t) last, 15,
                           IPT_MODE_64, NULL)
                  == IPT_OK,
              "unknown instruction");
        check(ipt_gen_branch(&gen, code.kind, last, code.size, ip) == IPT_OK,
              "trace too long");
    } else if (is_traced(ip)) {
        tell(IPT_EVT_ENABLED, ip, 0);
    }
    last = is_traced(ip) ? ip : 0;
}

static void on_trap(int number, siginfo_t *info, void *context)
{
    (void) number, (void) info;
    step((uint64_t) ((ucontext_t *) context)->uc_mcontext.gregs[REG_RIP]);
}

/* Run the target. Returns the size of its trace. */
static size_t run_traced(const uint8_t *data, size_t size)
{
    static const ipt_gen_config config;

    check(ipt_gen_init(&gen, &config, IPT_MODE_64) == IPT_OK, "generator");
    gen.out = bytes;
    gen.size = sizeof(bytes);
    last = 0;
    __writeeflags(__readeflags() | TRAP_FLAG);
    target(data, size);
    __writeeflags(__readeflags() & ~(unsigned long long) TRAP_FLAG);
    check(ipt_gen_flush(&gen) == IPT_OK, "trace too long");
    return gen.used;
}

/* ---- its coverage ---- */

static ipt_segment piece = {bytes, 0};
static const ipt_trace trace = {&piece, 1, 0, 0};
static ipt_config config;
static ipt_cov_config cov;
static ipt_cache cache;
static ipt_cache_line cache_lines[1024];
static ipt_cov_memo memo;
static ipt_cov_line memo_lines[1024];
static ipt_cov_decoder decoder;

static int read_self(uint8_t *buffer, size_t size, const ipt_asid *asid,
                     uint64_t ip, void *context)
{
    const uint64_t left = (uint64_t) (uintptr_t) __stop_traced - ip;

    (void) asid, (void) context;
    if (!is_traced(ip))
        return IPT_NEED_PAGE;
    size = size < left ? size : (size_t) left;
    memcpy(buffer, (const void *) (uintptr_t) ip, size);
    return (int) size;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    struct sigaction action;

    (void) argc, (void) argv;
    memset(&action, 0, sizeof(action));
    action.sa_sigaction = on_trap;
    action.sa_flags = SA_SIGINFO;
    check(sigaction(SIGTRAP, &action, NULL) == 0, "SIGTRAP");
    config.read = read_self;
    cov.bitmap = &__afl_area_ptr ? __afl_area_ptr : counters;
    cov.bitmap_size = COUNTERS;
    cov.flags = IPT_COV_INDIRECT;
    cov.memo = &memo;
    check(ipt_cache_init(&cache, cache_lines, 1024) == IPT_OK
              && ipt_cov_memo_init(&memo, memo_lines, 1024) == IPT_OK
              && ipt_cov_init(&decoder, &config, &cov, &trace, &cache)
                     == IPT_OK,
          "set up");
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (getenv("BLIND")) {
        cov.bitmap[0] = 1; /* all inputs look the same */
        target(data, size);
        return 0;
    }
    piece.size = run_traced(data, size);
    check(ipt_cov_begin(&decoder, &trace) == IPT_OK, "begin");
    check(ipt_cov_run(&decoder) == IPT_END && decoder.verdict == 0,
          "the trace is not whole");
    return 0;
}
