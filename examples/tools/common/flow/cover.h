/* cover.h: what code the threads of a perf.data covered: edges and blocks, counted
 * as [cov] of ipt.h counts them.
 *
 *     cover_init(&c, &args);
 *     status = cover_run(&c, name);            // c.edges, c.blocks
 *     status = session_end(&c.session, status);
 *     cover_free(&c);
 *
 * SPDX-License-Identifier: MIT */
#ifndef COVER_H
#define COVER_H
#include "../code/counts.h"
#include "session.h"
#include "slices.h"

/* A file, at the addresses that its linker chose. */
typedef struct cover_module {
    char *name;
    uint64_t base;
    uint64_t end; /* after its last byte */
} cover_module;

typedef struct cover_known cover_known;

typedef struct cover {
    session session;
    counts edges;  /* from, to: addresses as they ran */
    counts blocks; /* an address of the linker's; COVER_BLOCK */
    cover_module *modules;
    uint32_t module_count;
    /* what is asked for */
    const ipt_filter *filter; /* of branches, and where blocks begin; or NULL */
    uint64_t threads;   /* -j */
    uint8_t has_blocks; /* they are */
    uint8_t indirect;   /* edges of all branches that leave */
    uint8_t no_guests;  /* and .. */
    uint8_t only_guests;
    /* private */
    session_config config;
    slices slices;
    cover_known *known;
    const files_file **files; /* of modules, in a process that decodes */
    char *kept;         /* what it is sent, .. */
    size_t used, room;
    uint8_t failed;     /* there was no memory */
} cover;

/* A block's module and bytes. */
#define COVER_BLOCK(module, size) ((uint64_t) (module) << 32 | (size))
#define COVER_MODULE(b) ((uint32_t) ((b) >> 32))
#define COVER_SIZE(b) ((uint32_t) (b))

void cover_init(cover *c, const tool_args *args);
void cover_free(cover *c);

/* Decode. The exit status. */
int cover_run(cover *c, const char *name);

#endif /* COVER_H */
