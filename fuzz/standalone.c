/* standalone.c: runs a harness over files and folders, without a fuzzer:
 *
 *     cc -g -I. -o replay fuzz/insn.c fuzz/standalone.c
 *     ./replay fuzz/corpus/insn fuzz/regress/insn
 *
 * Exit status: 0 if all were run, 2 if one could not be read; an input that
 * fails a check aborts, after its name. */
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *running_ = "";
static unsigned long count_;
static int status_;

static void complain(const char *name)
{
    perror(name);
    status_ = 2;
}

/* The input that is running has failed: name it, and fail as it did. */
static void failed(int number)
{
    static const char text[] = ": this input failed\n";
    ssize_t written = write(2, running_, strlen(running_));

    if (written >= 0)
        written = write(2, text, sizeof(text) - 1);
    (void) written;
    signal(number, SIG_DFL);
    raise(number);
}

/* In a block of exactly its size, so that a sanitizer sees a read beyond. */
static void run_file(const char *name, size_t size)
{
    FILE *file = fopen(name, "rb");
    uint8_t *data = (uint8_t *) malloc(size ? size : 1);

    if (!file || !data || fread(data, 1, size, file) != size) {
        complain(name);
    } else {
        running_ = name;
        LLVMFuzzerTestOneInput(data, size);
        count_++;
    }
    free(data);
    if (file)
        fclose(file);
}

static void run_path(const char *name, int depth)
{
    struct stat info;
    struct dirent *entry;
    char path[4096];
    DIR *dir;

    if (stat(name, &info)) {
        complain(name);
        return;
    }
    if (!S_ISDIR(info.st_mode)) {
        snprintf(path, sizeof(path), "%s", name);
        run_file(path, (size_t) info.st_size);
        return;
    }
    dir = opendir(name);
    if (!dir || depth > 8) {
        complain(name);
        return;
    }
    while ((entry = readdir(dir))) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof(path), "%s/%s", name, entry->d_name);
        run_path(path, depth + 1);
    }
    closedir(dir);
}

int main(int argc, char **argv)
{
    int i;

    if (argc < 2) {
        fprintf(stderr, "usage: %s file|folder...\n", argv[0]);
        return 2;
    }
    signal(SIGABRT, failed);
    signal(SIGSEGV, failed);
    for (i = 1; i < argc; i++)
        run_path(argv[i], 0);
    printf("%s: %lu inputs\n", argv[0], count_);
    return status_;
}
