/* below.h: files below a folder, whatever their names say.
 *
 * Names come from a file that nobody vouches for: absolute ones, "..", links
 * and existing files must not lead out of the folder or change what is there.
 *
 * SPDX-License-Identifier: MIT */
#ifndef BELOW_H
#define BELOW_H
#include <stdint.h>

/* Create a new file, and the folders before it, below an open folder. Links
 * are not followed, ".." is refused, and a file that exists is left alone.
 * Returns a descriptor for writing, or -1 with errno. */
int below_create(int folder, const char *path);

/* Open a regular file for reading, as if the folder were the root: absolute
 * links and ".." stay in it. Nothing of /proc or /sys, no FIFO, no device.
 * Returns a descriptor, or -1 with errno. */
int below_open(const char *folder, const char *path, uint64_t *size);

/* As below_open; but where that leads to nothing, links in the folder mean what
 * they mean elsewhere, and may lead out of it: whoever names the folder has put
 * them there. ".." in the path still does not. */
int below_follow(const char *folder, const char *path, uint64_t *size);

#endif /* BELOW_H */
