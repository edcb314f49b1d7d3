/* peak FILE COMMAND...: run it; the most memory it had, in KiB, goes to FILE.
 * Exits with 0 if it did. */
#define _DEFAULT_SOURCE
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    struct rusage usage;
    int status = 1;
    FILE *f = argc > 2 ? fopen(argv[1], "w") : NULL;
    if (!f)
        return 2;
    if (fork() == 0) {
        execvp(argv[2], argv + 2);
        _exit(127);
    }
    wait4(-1, &status, 0, &usage);
    fprintf(f, "%ld\n", usage.ru_maxrss);
    return fclose(f) || status != 0;
}
