/* binaries.h: which file on this machine is the one that was mapped.
 *
 * Looked for, in this order: in perf's cache, by build id; in the folder that
 * stands for the root, by path and then by name alone; at its name. [vdso] is
 * the file that the user names, or what perf's cache has, or this machine's,
 * if the recording is from here.
 *
 * Names and build ids are hostile; see below.h and files.h for what is opened.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BINARIES_H
#define BINARIES_H
#include "../code/buildid.h"
#include "../code/files.h"
#include "perfdata.h"
#include "../code/tool.h"

typedef enum binaries_status {
    BINARIES_FOUND,
    BINARIES_NONE,   /* the name of no file: memory without one, deleted */
    BINARIES_NO_FILE, /* it is not there */
    BINARIES_OTHER   /* found, but of another build */
} binaries_status;

typedef struct binaries_id {
    char *name; /* allocated */
    uint8_t size;
    uint8_t id[BUILDID_MAX];
} binaries_id;

typedef struct binaries {
    files disk;
    const char *cache; /* perf's; or NULL. Yours to set, as the next two */
    const char *vdso;  /* a file; or NULL */
    uint8_t other_host; /* the recording is from another machine or kernel, */
    uint8_t same_host;  /* or from this one; neither: it does not say */
    binaries_id *ids;   /* by name, once binaries_sort was called */
    size_t id_count;
    size_t id_max;
} binaries;

void binaries_init(binaries *b);
void binaries_free(binaries *b);

/* What the file says: its machine, and build ids that perf looked up. Returns
 * 0, or -1 without memory. */
int binaries_open(binaries *b, const perfdata *p);

/* A build id by name. Returns 0, or -1 without memory. */
int binaries_note(binaries *b, const char *name, const uint8_t *id,
                  size_t size);

/* All were noted. */
void binaries_sort(binaries *b);

/* Find the file of a mapping. folder: stands for the root; or NULL. id: its
 * build id, size 0 if the mapping has none. */
binaries_status binaries_find(binaries *b, const char *folder,
                              const char *name, const uint8_t *id, size_t size,
                              files_file **file);

/* Is it the name of a file? Memory of all kinds has names, too. A name that
 * does not begin with / is looked up from the current folder, as perf does. */
int binaries_is_file(const char *name);

#endif /* BINARIES_H */
