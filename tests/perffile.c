/* perffile.c: a perf.data from a file, a folder, a pipe. */
#define _GNU_SOURCE
#include "linked.h"
#define PERFFILE_SPOOL 300000u
#include "test.h"
#include "scratch.h"
#include "examples/tools/common/code/below.c"
#include "examples/tools/common/perf/perfdata.c"
#include "examples/tools/common/perf/perffile.c"
#include "examples/tools/common/code/tool.c"
#include <signal.h>
#include <sys/wait.h>

static char *no_words[] = {NULL};
static const tool_args args = {"test", no_words, NULL, 1};

static const uint8_t header[16] = "PERFILE2\20"; /* of a pipe */

/* What is printed goes to the file `err`, up to loud(). */
static int quiet(void)
{
    const int was = dup(2);
    fflush(stderr);
    CHECK(freopen(at_top("err"), "w", stderr) != NULL);
    return was;
}

static void loud(int was)
{
    fflush(stderr);
    dup2(was, 2);
    close(was);
}

/* Open a pipe out of which come so many bytes: the header of a
 * perf.data, and zeros. */
static int open_pipe(perffile *f, size_t size)
{
    static uint8_t bytes[1 << 20];
    const int old_in = dup(0);
    int old_err;
    int ends[2];
    int status;
    pid_t child;
    memcpy(bytes, header, sizeof header);
    if (pipe(ends) || (child = fork()) < 0) return -1;
    if (child == 0) {
        close(ends[0]);
        _exit(write_all(ends[1], bytes, size) != 0);
    }
    close(ends[1]);
    dup2(ends[0], 0);
    close(ends[0]);
    old_err = quiet();
    status = perffile_open(&args, "-", f);
    loud(old_err);
    dup2(old_in, 0); // the child's pipe is closed: it ends
    close(old_in);
    waitpid(child, NULL, 0);
    return status;
}

static int printed(const char *text)
{
    char line[256] = "";
    FILE *f = fopen(at_top("err"), "r");
    if (f && !fgets(line, sizeof line, f)) line[0] = 0;
    if (f) fclose(f);
    if (!strcmp(line, text)) return 1;
    printf("    printed: %s\n", line);
    return 0;
}

/* More than the disk is given for is an error, not a file that was cut. */
TEST(pipe_without_end)
{
    perffile f;
    CHECK_EQ(open_pipe(&f, PERFFILE_SPOOL), 0);
    CHECK(printed(""));
    CHECK_EQ(f.config.size, PERFFILE_SPOOL);
    perffile_close(&f);
    for (size_t more = 1; more < 500000; more += 400000) {
        CHECK_EQ(open_pipe(&f, PERFFILE_SPOOL + more), 1);
        CHECK(printed("test: -: File too large.\n"));
        CHECK_EQ(f.fd, -1);
    }
}

/* No place for it. */
TEST(pipe_without_a_folder)
{
    perffile f;
    setenv("TMPDIR", at_top("none"), 1);
    CHECK_EQ(open_pipe(&f, 16), 1);
    CHECK(printed("test: -: No such file or directory.\n"));
    setenv("TMPDIR", top, 1);
    CHECK_EQ(open_pipe(&f, 16), 0);
    perffile_close(&f);
    unsetenv("TMPDIR");
}

/* The file has no name while it is read, and none is left. */
TEST(pipe_leaves_nothing)
{
    perffile f;
    struct stat info;
    setenv("TMPDIR", at_top("spool"), 1);
    CHECK_EQ(mkdir(at_top("spool"), 0700), 0);
    CHECK_EQ(open_pipe(&f, 5000), 0);
    CHECK_EQ(fstat(f.fd, &info), 0);
    CHECK_EQ(info.st_size, 5000);
    CHECK_EQ(info.st_nlink, 0);
    CHECK_EQ(rmdir(at_top("spool")), 0); // it is empty
    perffile_close(&f);
    unsetenv("TMPDIR");
}

/* Neither a device nor a folder without a perf.data is one. */
TEST(files)
{
    perffile f;
    int was;
    save("perf.data", header, sizeof header);
    CHECK_EQ(perffile_open(&args, at_top("perf.data"), &f), 0);
    CHECK_EQ(f.config.size, 16);
    perffile_close(&f);
    CHECK_EQ(perffile_open(&args, top, &f), 0); // the folder's
    CHECK_EQ(f.config.size, 16);
    perffile_close(&f);
    CHECK_EQ(mkdir(at_top("empty"), 0700), 0);
    was = quiet();
    CHECK_EQ(perffile_open(&args, at_top("empty"), &f), 1);
    CHECK_EQ(perffile_open(&args, "/dev/zero", &f), 1);
    loud(was);
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    scratch_begin();
    RUN(files);
    RUN(pipe_without_end);
    RUN(pipe_without_a_folder);
    RUN(pipe_leaves_nothing);
    scratch_end();
    return test_report();
}
