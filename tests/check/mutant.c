/* mutant.c: in each program of mutate.sh: which mutant it is, from MUTANT in
 * the environment, and how long it may take, from MUTANT_MS, of CPU time. How
 * long it took goes to the file that MUTANT_TIME names. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

int ipti_mutant = -1;

__attribute__((__constructor__)) static void mutant_start(void)
{
    const char *const number = getenv("MUTANT");
    const char *const most = getenv("MUTANT_MS");
    const long ms = most ? atol(most) : 0;
    struct itimerval limit = {{0, 0}, {0, 0}};

    if (number)
        ipti_mutant = atoi(number);
    limit.it_value.tv_sec = ms / 1000;
    limit.it_value.tv_usec = ms % 1000 * 1000;
    setitimer(ITIMER_PROF, &limit, NULL); /* SIGPROF ends the program */
}

__attribute__((__destructor__)) static void mutant_end(void)
{
    const char *const name = getenv("MUTANT_TIME");
    FILE *const file = name ? fopen(name, "w") : NULL;

    if (file) {
        fprintf(file, "%ld\n", (long) (clock() / (CLOCKS_PER_SEC / 1000)));
        fclose(file);
    }
}
