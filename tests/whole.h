/* whole.h: a file, read as a whole. */
#ifndef IPT_TESTS_WHOLE_H
#define IPT_TESTS_WHOLE_H
#include <stdio.h>
#include <stdlib.h>

/* All bytes, with a NUL after them; NULL: it cannot be read, *size is 0. */
static inline char *whole_file(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    char *bytes = NULL;
    long n = 0;

    *size = 0;
    if (!f)
        return NULL;
    if (fseek(f, 0, SEEK_END) == 0 && (n = ftell(f)) >= 0) {
        rewind(f);
        bytes = (char *) malloc((size_t) n + 1);
    }
    if (bytes) {
        *size = fread(bytes, 1, (size_t) n, f);
        bytes[*size] = 0;
    }
    fclose(f);
    return bytes;
}

/* The file of that name in a folder. */
static inline char *whole_in(const char *folder, const char *name, size_t *size)
{
    char path[1024];

    if (snprintf(path, sizeof(path), "%s/%s", folder, name)
        >= (int) sizeof(path))
        path[0] = 0; /* there is no such file */
    return whole_file(path, size);
}
#endif /* IPT_TESTS_WHOLE_H */
