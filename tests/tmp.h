/* tmp.h: where a test puts its files. */
#ifndef TMP_H
#define TMP_H
#include <stdio.h>
#include <stdlib.h>

/* A template for mkstemp or mkdtemp: a name in TMPDIR, or else in /tmp. */
static inline char *tmp_name(char *to, size_t size, const char *name)
{
    const char *folder = getenv("TMPDIR");
    const int n = snprintf(to, size, "%s/ipt-%s-XXXXXX",
                           folder && *folder ? folder : "/tmp", name);

    if (n < 0 || (size_t) n >= size) {
        fprintf(stderr, "TMPDIR is too long\n");
        exit(2);
    }
    return to;
}
#endif
