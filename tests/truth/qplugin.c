/* qplugin.c: a plugin for QEMU's user mode emulators that records what runs.
 *
 *     cc -shared -fPIC -O2 -o qplugin.so qplugin.c
 *     qemu-x86_64 -plugin ./qplugin.so,out=DIR,skip=N,max=N /bin/gzip ...
 *
 * Written to DIR, in the byte order of the host:
 *
 *     code.bin   32 bytes for each instruction that was translated: its address
 *                (8), size, 1 if its translation block ends with it, its bytes
 *                (15). Its index is its number. Code that changes gets new
 *                numbers.
 *     maps       /proc/self/maps at the end: which files the code is of, where
 *                QEMU has the program's addresses as they are.
 *     N.run      one file for each thread: pairs of 32 bit, a number and a
 *                count: that many instructions ran, numbered one by one.
 *
 * An instruction is recorded before it runs, so one that faults is there, too;
 * the iterations of a REP are one. Recording begins after skip instructions of
 * the first thread and ends after max more, and so does the program. What it
 * forks is not recorded.
 *
 * Written for QEMU 7.2. Debian does not package qemu-plugin.h, hence the
 * prototypes. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- qemu-plugin.h ---- */

typedef uint64_t qemu_plugin_id_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
typedef void (*trans_cb)(qemu_plugin_id_t id, struct qemu_plugin_tb *tb);
typedef void (*exec_cb)(unsigned vcpu, void *data);
typedef void (*vcpu_cb)(qemu_plugin_id_t id, unsigned vcpu);
typedef void (*exit_cb)(qemu_plugin_id_t id, void *data);

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, trans_cb cb);
void qemu_plugin_register_vcpu_exit_cb(qemu_plugin_id_t id, vcpu_cb cb);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, exit_cb cb,
                                    void *data);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn,
                                            exec_cb cb, int flags, void *data);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(
    const struct qemu_plugin_tb *tb, size_t index);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);

__attribute__((visibility("default"))) int qemu_plugin_version = 1;
__attribute__((visibility("default"))) int
qemu_plugin_install(qemu_plugin_id_t id, const void *info, int argc,
                    char **argv);

/* ---- instructions ---- */

typedef struct code {
    uint64_t ip;
    uint8_t size;
    uint8_t last;
    uint8_t bytes[15];
    uint8_t zero[7];
} code;

#define REP 0x80000000u
#define CODE_MAX (1u << 22)
#define HASH_SIZE (1u << 23)

static code *codes; /* CODE_MAX of them, of which few pages are touched */
static uint32_t *hash;
static uint32_t code_count;
static char folder[1024];
static uint64_t max_insns = UINT64_MAX;
static uint64_t skip_insns;

static void fail(const char *what)
{
    fprintf(stderr, "qplugin: %s\n", what);
    _exit(99);
}

static FILE *create(const char *name)
{
    char path[1100];
    FILE *f;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    f = fopen(path, "wb");
    if (!f)
        fail("cannot create its files; does out=DIR exist?");
    return f;
}

/* The number of an instruction, with REP set for the string instructions that
 * QEMU repeats. */
static uint32_t number(const code *c)
{
    const uint8_t *b = c->bytes;
    uint64_t h = c->ip * 0x9e3779b97f4a7c15u >> 41;
    uint32_t rep = 0;
    int i;

    for (i = 0; i < c->size; i++) {
        if (b[i] == 0xf2 || b[i] == 0xf3)
            rep = REP;
        else if (b[i] != 0x66 && b[i] != 0x67 && b[i] >> 4 != 4
                 && b[i] != 0x2e && b[i] != 0x36 && b[i] != 0x3e
                 && b[i] != 0x26 && b[i] != 0x64 && b[i] != 0x65)
            break;
    }
    if (i == c->size || !((b[i] >= 0xa4 && b[i] <= 0xa7)
                          || (b[i] >= 0xaa && b[i] <= 0xaf)
                          || (b[i] >= 0x6c && b[i] <= 0x6f)))
        rep = 0;
    for (; hash[h % HASH_SIZE]; h++)
        if (memcmp(&codes[hash[h % HASH_SIZE] - 1], c, sizeof(*c)) == 0)
            return (hash[h % HASH_SIZE] - 1) | rep;
    if (code_count == CODE_MAX)
        fail("too much code");
    codes[code_count] = *c;
    hash[h % HASH_SIZE] = ++code_count;
    return (code_count - 1) | rep;
}

/* ---- threads ---- */

#define ROOM 65536

typedef struct thread {
    FILE *f;
    uint64_t skip;
    uint64_t left;
    uint32_t last;
    uint32_t first; /* of the run in progress */
    uint32_t count;
    uint32_t used;
    uint8_t done;
    uint32_t out[ROOM];
} thread;

static thread *threads[4096];
static int thread_count;
static volatile int stopped;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void put_run(thread *t)
{
    if (t->count) {
        t->out[t->used++] = t->first;
        t->out[t->used++] = t->count;
    }
    t->count = 0;
    if (t->used == ROOM) {
        if (fwrite(t->out, 4, ROOM, t->f) != ROOM)
            fail("cannot write");
        t->used = 0;
    }
}

static void finish(thread *t)
{
    if (t->done)
        return;
    t->done = 1;
    put_run(t);
    fwrite(t->out, 4, t->used, t->f);
    fclose(t->f);
}

static void copy_maps(void)
{
    FILE *from = fopen("/proc/self/maps", "rb");
    FILE *to = create("maps");
    int c;

    while (from && (c = getc(from)) != EOF)
        putc(c, to);
    if (from)
        fclose(from);
    fclose(to);
}

static void finish_all(void)
{
    FILE *f;
    int i;

    for (i = 0; i < 4096; i++)
        if (threads[i])
            finish(threads[i]);
    f = create("code.bin");
    fwrite(codes, sizeof(*codes), code_count, f);
    fclose(f);
    copy_maps();
}

static thread *new_thread(unsigned vcpu)
{
    thread *t = (thread *) calloc(1, sizeof(*t));
    char name[32];

    if (!t || vcpu >= 4096)
        fail("too many threads");
    pthread_mutex_lock(&lock);
    snprintf(name, sizeof(name), "%d.run", thread_count++);
    t->f = create(name);
    t->left = max_insns;
    t->skip = vcpu == 0 ? skip_insns : 0;
    t->last = UINT32_MAX;
    threads[vcpu] = t;
    pthread_mutex_unlock(&lock);
    return t;
}

static __attribute__((noinline)) void stop(unsigned vcpu, thread *t)
{
    finish(t);
    if (vcpu == 0) {
        stopped = 1;
        usleep(50000); /* the others notice */
        finish_all();
        _exit(0);
    }
}

/* ---- callbacks ---- */

static void executed(unsigned vcpu, void *data)
{
    const uint32_t n = (uint32_t) (uintptr_t) data;
    thread *t = threads[vcpu];

    if (!t)
        t = new_thread(vcpu);
    if (t->skip) {
        t->skip--;
        return;
    }
    if (t->done || (n & REP && n == t->last))
        return;
    t->last = n;
    if ((n & ~REP) == t->first + t->count) {
        t->count++;
    } else {
        put_run(t);
        t->first = n & ~REP;
        t->count = 1;
    }
    if (--t->left == 0 || stopped)
        stop(vcpu, t);
}

static void ignored(unsigned vcpu, void *data)
{
    (void) vcpu;
    (void) data;
}

static exec_cb on_insn = executed;

static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
    const size_t n = qemu_plugin_tb_n_insns(tb);
    size_t i;

    (void) id;
    for (i = 0; i < n; i++) {
        struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
        code c;
        memset(&c, 0, sizeof(c));
        c.ip = qemu_plugin_insn_vaddr(insn);
        c.size = (uint8_t) qemu_plugin_insn_size(insn);
        c.last = i + 1 == n;
        if (c.size > 15)
            fail("an instruction of more than 15 bytes");
        memcpy(c.bytes, qemu_plugin_insn_data(insn), c.size);
        qemu_plugin_register_vcpu_insn_exec_cb(
            insn, on_insn, 0, (void *) (uintptr_t) number(&c));
    }
}

static void thread_exits(qemu_plugin_id_t id, unsigned vcpu)
{
    (void) id;
    if (vcpu != 0 && vcpu < 4096 && threads[vcpu]) {
        finish(threads[vcpu]);
        threads[vcpu] = NULL; /* its number may be given again */
    }
}

static void exits(qemu_plugin_id_t id, void *data)
{
    (void) id;
    (void) data;
    if (on_insn == executed)
        finish_all();
}

static void in_child(void)
{
    int i;

    for (i = 0; i < 4096; i++)
        if (threads[i])
            threads[i]->done = 1;
    on_insn = ignored;
}

int qemu_plugin_install(qemu_plugin_id_t id, const void *info, int argc,
                        char **argv)
{
    int i;

    (void) info;
    for (i = 0; i < argc; i++) {
        if (!strncmp(argv[i], "out=", 4))
            snprintf(folder, sizeof(folder), "%s", argv[i] + 4);
        else if (!strncmp(argv[i], "max=", 4))
            max_insns = strtoull(argv[i] + 4, NULL, 0);
        else if (!strncmp(argv[i], "skip=", 5))
            skip_insns = strtoull(argv[i] + 5, NULL, 0);
        else
            fail("options are out=DIR, skip=N and max=N");
    }
    codes = (code *) calloc(CODE_MAX, sizeof(*codes));
    hash = (uint32_t *) calloc(HASH_SIZE, sizeof(*hash));
    if (!folder[0] || !codes || !hash)
        fail("out=DIR is needed, and memory");
    pthread_atfork(NULL, NULL, in_child);
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    qemu_plugin_register_vcpu_exit_cb(id, thread_exits);
    qemu_plugin_register_atexit_cb(id, exits, NULL);
    return 0;
}
