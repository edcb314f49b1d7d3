/* guests.c: which thread of a guest runs (common/perf/guests.h): records as perf
 * inject --guest-data puts them into the host's file. ptflow gives each instruction
 * to the thread that the records name, as perf does, and marks what comes between
 * the two records of a switch. */
#define _XOPEN_SOURCE 700
#include "dice.h"
#include "recording.h"
#include "test.h"
#include "tmp.h"
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#define VCPUS  3u   /* two of machine 10, one of 11 */
#define RUNS   60u  /* of each: three instructions and a time */
#define GUEST  5u   /* cpumode of user code in a guest */
#define HOST   2u   /* identifiers of the host: 1 and 2 */

static char top[256];
static char build[4096];

static const struct {
    uint32_t machine, vcpu, tid;
    uint64_t id;
} vcpus[VCPUS] = {{10, 0, 70, 30}, {10, 1, 71, 31}, {11, 0, 80, 32}};

/* What a thread is called, from a time on. */
typedef struct naming {
    uint64_t time;
    uint32_t machine, tid;
    uint32_t parent; /* not 0: what that one is called then */
    char name[8];
} naming;

static naming namings[400];
static unsigned naming_count;

typedef struct run {
    uint64_t time;
    uint32_t pid, tid;
    int sure;
} run;

static run runs[VCPUS][RUNS];

static int forget(const char *path, const struct stat *info, int type,
                  struct FTW *walk)
{
    (void) info, (void) type, (void) walk;
    return remove(path);
}

/* The output of a command, in which % is the folder of tools. */
static char *shell(const char *command)
{
    static char text[1 << 20], line[8192];
    size_t n = 0, size;
    FILE *f;
    for (; *command; command++)
        n += *command == '%'
               ? (size_t) snprintf(line + n, sizeof line - n, "%s", build)
               : (size_t) snprintf(line + n, sizeof line - n, "%c", *command);
    f = popen(line, "r");
    size = f ? fread(text, 1, sizeof text - 1, f) : 0;
    text[size] = 0;
    if (f) pclose(f);
    return text;
}

/* Which identifiers are whose. */
static void put_index(void)
{
    const size_t at = begin_record(69, 0);
    add_n(&records, HOST + VCPUS, 8);
    for (unsigned i = 0; i < HOST + VCPUS; i++) {
        add_n(&records, i < HOST ? i + 1 : vcpus[i - HOST].id, 8);
        add_n(&records, 0, 8);
        add_n(&records, 0, 8);
        add_n(&records, i < HOST ? 0 : vcpus[i - HOST].tid, 8);
    }
    for (unsigned i = 0; i < HOST + VCPUS; i++) {
        add_n(&records, i < HOST ? 0 : vcpus[i - HOST].machine, 8);
        add_n(&records, i < HOST ? 0 : vcpus[i - HOST].vcpu, 8);
    }
    records.at[at + 6] = (uint8_t) (records.size - at);
    records.at[at + 7] = (uint8_t) ((records.size - at) >> 8);
}

/* The record that was just put is one of a guest. */
static void of_guest(size_t at)
{
    records.at[at + 4] = GUEST;
}

/* A machine's processor, for records of the third event. */
static recording guest_of(const recording *r, unsigned v, uint32_t pid)
{
    recording g = *r;
    g.attr[1].id = g.attr[2].id = vcpus[v].id;
    record_pid = pid;
    return g;
}

static void name_thread(const recording *r, unsigned v, uint32_t pid, uint32_t tid,
                        uint64_t time)
{
    const recording g = guest_of(r, v, pid);
    naming *const n = &namings[naming_count++];
    const size_t at = records.size;
    n->time = time;
    n->machine = vcpus[v].machine;
    n->tid = tid;
    n->parent = 0;
    snprintf(n->name, sizeof n->name, "n%u", dice(1000));
    r_comm(&g, pid, tid, n->name, 0, time);
    of_guest(at);
}

static const char *name_of(uint32_t machine, uint32_t tid, uint64_t time)
{
    const naming *found = NULL;
    for (unsigned i = 0; i < naming_count; i++)
        if (namings[i].machine == machine && namings[i].tid == tid
            && namings[i].time <= time
            && (!found || namings[i].time >= found->time))
            found = &namings[i];
    if (!found) return "?";
    return found->parent ? name_of(machine, found->parent, found->time)
                         : found->name;
}

static void forks(const recording *r, unsigned v, uint32_t pid, uint32_t child,
                  uint64_t time)
{
    const recording g = guest_of(r, v, pid);
    naming *const n = &namings[naming_count++];
    const size_t at = records.size;
    n->time = time;
    n->machine = vcpus[v].machine;
    n->tid = child;
    n->parent = pid;
    r_fork(&g, pid, child, time);
    of_guest(at);
}

static void switches(const recording *r, unsigned v, int out, uint32_t pid,
                     uint32_t tid, uint64_t time)
{
    const recording g = guest_of(r, v, pid);
    const size_t at = records.size;
    r_switch(&g, out, tid, time, vcpus[v].vcpu);
    of_guest(at);
}

static uint32_t pid_of(uint32_t tid)
{
    return tid / 10 * 10;
}

/* A time each of a thread's switches, between them flow: mostly three instructions. */
static void put_runs(const recording *r, unsigned v, const char *file, int late)
{
    const recording_trace of = {0, 1000, v, 0xffffffff, v};
    uint64_t now = 2000, forked = 0;
    uint32_t tid = 100, child = 0;
    for (uint32_t p = 100; p < 140; p += 10) { /* processes of four threads */
        const recording g = guest_of(r, v, p);
        const size_t at = records.size;
        if (vcpus[v].vcpu) break; /* all machine's code is known by its first */
        r_map(&g, p, 0x7000000, 0, file, 0);
        of_guest(at);
        for (uint32_t k = 0; k < 4; k++) name_thread(r, v, p, p + k, 0);
    }
    p_bytes("02820282028202820282028202820282");
    p_tsc(now);
    p_bytes("02031e00" "9901" "02430110000000" "00" "0223"); /* a guest: NR */
    for (unsigned i = 0; i < RUNS; i++) {
        run *const at = &runs[v][i];
        now += 20 + dice(200);
        if (i < (unsigned) late) {
            at->sure = 0;
        } else if (dice(4) == 0 && i) { /* out, and in: flow between them */
            switches(r, v, 1, pid_of(tid), tid, now);
            now += 10;
            at->sure = 0;
        } else {
            if (i == (unsigned) late || dice(2)) {
                tid = child && dice(4) == 0 ? child
                    : 100 + 10 * dice(4) + dice(4);
                if (dice(3) == 0) name_thread(r, v, pid_of(tid), tid, now);
                now += 5;
            }
            switches(r, v, 0, pid_of(tid), tid, now);
            now += 5;
            at->sure = 1;
        }
        at->time = now;
        at->pid = i < (unsigned) late ? 0 : pid_of(tid);
        at->tid = tid;
        p_tsc(now);
        p_ip(P_PGE, 0x7000180);
        p_tnt("00");
        p_off();
        now += 5;
        if (i == RUNS / 2) {
            forked = now;
            child = 200;
            forks(r, v, 100, child, forked);
        }
    }
    r_trace(&of);
}

/* late: so many stretches of flow come before the first switch. */
static void write_all(const char *file, int late)
{
    recording r = recording_of("");
    clear();
    naming_count = 0;
    r.attr[2].more[0] = vcpus[1].id;
    r.attr[2].more[1] = vcpus[2].id;
    r.attr[2].id = vcpus[0].id;
    put_index();
    for (unsigned v = 0; v < VCPUS; v++) {
        recording host = r;
        host.attr[2].id = 2;
        record_pid = vcpus[v].machine;
        r_comm(&host, vcpus[v].machine, vcpus[v].tid, "CPU/KVM", 0, 0);
        r_switch(&host, 0, vcpus[v].tid, 1000, v);
    }
    for (unsigned v = 0; v < VCPUS; v++) put_runs(&r, v, file, late);
    recording_write(&r, "guests.data");
}

static char want[1 << 20];

/* Lines of what has to be, thread of the host by thread. */
static void expect(unsigned v, int with_sure)
{
    static const uint64_t ips[] = {0x7000180, 0x7000182, 0x7000184};
    size_t n = 0;
    *want = 0;
    for (unsigned i = 0; i < RUNS; i++)
        for (unsigned k = 0; k < 3; k++) {
            const run *const at = &runs[v][i];
            n += (size_t) snprintf(
                want + n, sizeof want - n, "%u %u %s %u %u %llx%s\n",
                vcpus[v].machine, vcpus[v].vcpu,
                name_of(vcpus[v].machine, at->tid, at->time), at->pid, at->tid,
                (unsigned long long) ips[k],
                with_sure ? at->sure ? " 1" : " 0" : "");
        }
}

static int is_want(const char *got, const char *what, unsigned v)
{
    if (*want && strcmp(got, want) == 0) return 1;
    printf("    %s, %u: got\n%.400s    want\n%.400s", what, v, got, want);
    return 0;
}

static void write_code(void)
{
    static const uint8_t code[] = {0x74, 0, 0x74, 0, 0xff, 0xe0};
    FILE *f;
    recording_program("program", code, sizeof code);
    if (mkdir("code", 0700)) exit(2);
    f = fopen("code/image.map", "w");
    if (!f || fprintf(f, "7000000 1000 ../program 0\n") < 0 || fclose(f)) exit(2);
}

TEST(threads_of_guests)
{
    char command[400], file[300];
    seed = 58;
    write_code();
    snprintf(file, sizeof file, "%s/program", top);
    write_all(file, 0); /* perf looks for a guest's programs where they are in it */
    for (unsigned v = 0; v < VCPUS; v++) {
        expect(v, 1);
        snprintf(command, sizeof command,
                 "%%/ptflow --guest-map code --cpu %u --fields "
                 "machine_pid,vcpu,comm,pid,tid,ip,sure guests.data 2>err", v);
        CHECK(is_want(shell(command), "ptflow", v));
        snprintf(command, sizeof command,
                 "%%/ptflow --guest-map code --cpu %u --json --fields machine_pid,"
                 "vcpu,comm,pid,tid,ip guests.data 2>err | sed -n 's/[{}\"]//g; "
                 "s/,[a-z_]*:/ /g; s/0x//; s/type:insn //p'", v);
        expect(v, 0);
        CHECK(is_want(shell(command), "--json", v));
    }
    CHECK(strstr(shell("cat err"), "made in guests") == NULL);
    if (!*shell("command -v perf")) {
        puts("SKIP perf is missing (package linux-perf)");
        return;
    }
    shell("mkdir -p mount/10 mount/11");
    for (unsigned v = 0; v < VCPUS; v++) {
        snprintf(command, sizeof command,
                 "perf script -f -i guests.data --guestmount mount --itrace=i0ns "
                 "-F machine_pid,vcpu,comm,pid,tid,cpu,ip 2>err | tr -s ' /[]:' ' ' "
                 "| awk '$8 == %u {print $2, $4 + 0, $5, $6, $7, $9}'", v);
        expect(v, 0);
        CHECK(is_want(shell(command), "perf", v));
    }
}

/* What is before the first switch is the host's thread's, and marked; ptprof follows
 * no threads of guests, and says so. With -j and --last they are the same. */
TEST(before_the_first_switch)
{
    unsigned unsure = 0, after = 0;
    int threads;
    const char *line;
    write_all("/program", 2);
    for (line = shell("%/ptflow --guest-map code --cpu 0 --fields machine_pid,vcpu,"
                      "comm,pid,tid,sure guests.data 2>err");
         *line; line = strchr(line, '\n') + 1) {
        if (strncmp(line, "- - CPU/KVM 10 70 0\n", 20) == 0) {
            CHECK_EQ(after, 0);
            unsure++;
        } else {
            CHECK(strncmp(line, "10 0 n", 6) == 0);
            after++;
        }
    }
    CHECK_EQ(unsure, 6);
    CHECK_EQ(after, 3 * RUNS - 6);
    CHECK_EQ(atoi(shell("for j in 1 3; do %/ptflow -j $j --guest-map code --fields "
                        "machine_pid,tid,ip,time,comm guests.data 2>err | md5sum; "
                        "done | uniq | wc -l")), 1);
    threads = atoi(shell("%/ptflow --guest-map code --fields tid,machine_pid "
                         "guests.data 2>err | sort -u | wc -l"));
    CHECK(threads > 10);
    CHECK_EQ(atoi(shell("%/ptflow --last 1 --guest-map code --fields tid,machine_pid "
                        "guests.data 2>err | sort -u | wc -l")), threads);
    CHECK(strstr(shell("%/ptprof --guest-map code guests.data 2>&1"),
                 "were made in guests: their threads are not followed"));
}

int main(void)
{
    const char *folder = getenv("BUILD");
    char here[2000];
    if (!folder) folder = "build";
    if (!getcwd(here, sizeof here)
        || !mkdtemp(tmp_name(top, sizeof top, "guests")) || chdir(top))
        return 2;
    snprintf(build, sizeof build, "%s%s%s", *folder == '/' ? "" : here,
             *folder == '/' ? "" : "/", folder);
    setenv("HOME", top, 1);
    RUN(threads_of_guests);
    RUN(before_the_first_switch);
    if (chdir("/")) return 2;
    if (!getenv("KEEP")) nftw(top, forget, 16, FTW_DEPTH | FTW_PHYS);
    return test_report();
}
