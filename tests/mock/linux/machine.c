/* machine.c: what the machine of test.sh needs besides a shell and a few
 * commands.
 *
 *     init                  (process 1) loads /fake_pt.ko, runs /test.sh,
 *                           switches off
 *     machine user COMMAND  runs a command as an ordinary user
 *     machine files N COMMAND  ... as one that may have N files open
 *     machine capable NUMBER FILE  gives it that capability, and cap_ipc_lock
 *     machine work N        works until fake_pt has made so many packets
 *     machine numbers FILE  the last packets of fake_pt in the rings of a
 *                           perf.data; how many there are, and how often
 *                           numbers are missing in between
 *
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#define USER 1000

static void attach(const char *type, const char *where)
{
    mkdir(where, 0755);
    if (mount(type, where, type, 0, NULL))
        perror(where);
}

static int init(void)
{
    static char *const shell[] = {(char *) "sh", (char *) "/test.sh", NULL};
    int fd;
    pid_t pid;

    attach("proc", "/proc");
    attach("sysfs", "/sys");
    attach("devtmpfs", "/dev");
    attach("securityfs", "/sys/kernel/security");
    attach("tmpfs", "/tmp");
    chmod("/tmp", 0777);
    fd = open("/fake_pt.ko", O_RDONLY | O_CLOEXEC);
    if (syscall(SYS_finit_module, fd, "", 0))
        perror("fake_pt.ko");
    pid = fork();
    if (pid == 0) {
        setsid();
        setenv("PATH", "/bin", 1);
        execv("/bin/sh", shell);
        perror("/bin/sh");
        _exit(1);
    }
    while (wait(NULL) != pid)
        ;
    fflush(stdout);
    return reboot(RB_POWER_OFF);
}

static int user(char **command)
{
    if (setgroups(0, NULL) || setresgid(USER, USER, USER)
        || setresuid(USER, USER, USER))
        return 126;
    execvp(command[0], command);
    return 127;
}

static int with_files(rlim_t count, char **command)
{
    const struct rlimit limit = {count, count};

    if (setrlimit(RLIMIT_NOFILE, &limit))
        return 126;
    execvp(command[0], command);
    return 127;
}

static int capable(int number, const char *path)
{
    struct vfs_cap_data data = {
        VFS_CAP_REVISION_2 | VFS_CAP_FLAGS_EFFECTIVE,
        {{1u << CAP_IPC_LOCK, 0}, {0, 0}}};

    data.data[number / 32].permitted |= 1u << number % 32;

    return setxattr(path, "security.capability", &data, sizeof(data), 0) != 0;
}

__attribute__((noinline)) static int work(unsigned long packets)
{
    const int fd = open("/sys/module/fake_pt/parameters/made", O_RDONLY);
    char text[32] = "";
    volatile unsigned i;

    do
        for (i = 0; i < 10000; i++)
            ;
    while (pread(fd, text, sizeof(text) - 1, 0) > 0
           && strtoul(text, NULL, 10) < packets);
    return 0;
}

/* ---- what is in a file ---- */

typedef struct ring {
    uint8_t *trace;
    size_t size;
} ring;

static unsigned long count;
static unsigned long gaps;

/* The packets of a ring, from its first PSB on; prints the number of the last.
 * 0 if there is another one. */
static int count_packets(const ring *r)
{
    static const uint8_t psb[] = {2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82,
                                  2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82};
    const uint8_t *end = r->trace + r->size;
    const uint8_t *p = memmem(r->trace, r->size, psb, sizeof(psb));
    uint64_t next = 0;
    int is_first = 1;

    while (p && p < end) {
        const size_t left = (size_t) (end - p);
        if (left >= 16 && memcmp(p, psb, 16) == 0)
            p += 16;
        else if (*p == 0) /* PAD, up to a multiple of 8 in the file */
            p++;
        else if (left >= 8 && p[0] == 0x19) /* TSC */
            p += 8;
        else if (left >= 2 && p[0] == 0x99) /* MODE */
            p += 2;
        else if (left >= 2 && p[0] == 2 && p[1] == 0x23) /* PSBEND */
            p += 2;
        else if (left >= 10 && p[0] == 2 && p[1] == 0x32) { /* PTW */
            uint64_t n;
            memcpy(&n, p + 2, 8);
            gaps += !is_first && n != next;
            is_first = 0;
            next = n + 1;
            count++;
            p += 10;
        } else
            return 0;
    }
    printf(" %lld", (long long) next - 1);
    return 1;
}

static int numbers(const char *path)
{
    static ring rings[2]; /* processors */
    FILE *f = fopen(path, "rb");
    struct {
        struct perf_event_header header;
        uint64_t size, offset, reference;
        uint32_t ring, tid, cpu, reserved;
    } record; /* as much as AUXTRACE has */
    uint64_t data[2]; /* of the file: where, size */
    int i;

    if (!f || fseek(f, 40, SEEK_SET) || fread(data, 8, 2, f) != 2
        || fseek(f, (long) data[0], SEEK_SET))
        return 1;
    while (fread(&record, 1, 8, f) == 8 && record.header.size >= 8
           && record.header.type != 82) { /* FINISHED_INIT, or features */
        const size_t more = record.header.size - 8u;
        ring *r;
        if (record.header.type != 71 || more != sizeof(record) - 8) {
            if (fseek(f, (long) more, SEEK_CUR))
                return 1;
            continue;
        }
        if (fread(&record.size, 1, more, f) != more || record.ring > 1)
            return 1;
        r = &rings[record.ring];
        r->trace = realloc(r->trace, r->size + record.size);
        if (!r->trace || fread(r->trace + r->size, 1, record.size, f)
                             != record.size)
            return 1;
        r->size += record.size;
        if ((uint64_t) ftell(f) >= data[0] + data[1])
            break;
    }
    for (i = 0; i < 2; i++)
        if (rings[i].size && !count_packets(&rings[i]))
            return fprintf(stderr, "%s: a bad packet\n", path) > 0;
    printf("\n%lu %lu\n", count, gaps);
    return 0;
}

int main(int argc, char **argv)
{
    if (getpid() == 1)
        return init();
    if (argc > 2 && strcmp(argv[1], "user") == 0)
        return user(argv + 2);
    if (argc > 3 && strcmp(argv[1], "capable") == 0)
        return capable(atoi(argv[2]), argv[3]);
    if (argc > 3 && strcmp(argv[1], "files") == 0)
        return with_files((rlim_t) atol(argv[2]), argv + 3);
    if (argc > 2 && strcmp(argv[1], "work") == 0)
        return work(strtoul(argv[2], NULL, 10));
    if (argc > 2 && strcmp(argv[1], "numbers") == 0)
        return numbers(argv[2]);
    return 2;
}
