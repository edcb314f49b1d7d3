/* mutant.c: in each program of mutate.sh: which mutant it is, from MUTANT in
 * the environment, and how long it may take, from MUTANT_MS, of CPU time. */
#include <stdlib.h>
#include <sys/time.h>

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
