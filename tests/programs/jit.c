/* jit.c: compiles a function twice, as a JIT compiler does that finds a better
 * way, and writes jit-PID.dump. Calls the first one three times, the second one
 * five times. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

typedef struct head {
    uint32_t magic, version, size, machine, pad, pid;
    uint64_t time, flags;
} head;

typedef struct load {
    uint32_t type, size;
    uint64_t time;
    uint32_t pid, tid;
    uint64_t vma, address, bytes, index;
} load;

static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t) t.tv_sec * 1000000000 + (uint64_t) t.tv_nsec;
}

int main(void)
{
    static const uint8_t codes[2][4] = {{0x31, 0xc0, 0x90, 0xc3},
                                        {0x31, 0xc0, 0x40, 0xc3}};
    char path[64];
    head h = {0x4a695444, 1, sizeof h, 62, 0, (uint32_t) getpid(), 0, 0};
    FILE *f;
    snprintf(path, sizeof path, "jit-%d.dump", getpid());
    f = fopen(path, "w+");
    if (!f) return 1;
    h.time = now();
    fwrite(&h, sizeof h, 1, f);
    fflush(f);
    mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(f), 0);
    for (unsigned k = 0; k < 2; k++) {
        void *const to = mmap(0, 4096, 7, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        int (*made)(void);
        load l = {0, sizeof l + 4 + 4, now(), h.pid, h.pid, (uintptr_t) to,
                  (uintptr_t) to, 4, k};
        memcpy(to, codes[k], 4);
        fwrite(&l, sizeof l, 1, f);
        fwrite("jit", 4, 1, f);
        fwrite(codes[k], 4, 1, f);
        fflush(f);
        memcpy(&made, &to, sizeof made);
        for (unsigned i = 0; i < 3 + 2 * k; i++) made();
    }
    return 0;
}
