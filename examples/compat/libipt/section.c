/* section.c: see section.h.
 *
 * SPDX-License-Identifier: MIT */
#include "section.h"
#include <stdlib.h>

static int fill(shim_section *s, uint64_t offset, uint64_t size)
{
    if (shim_file_about(s->name, &s->file) < 0)
        return shim_client_now(SHIM_UNKNOWN) == SHIM_2_1 ? -pte_bad_file
                                                         : -pte_invalid;
    if (offset >= s->file.size) return -pte_invalid;
    s->offset = offset;
    s->size = s->file.size - offset;
    if (size < s->size) s->size = size;
    return 0;
}

int shim_section_make(shim_section **section, const char *name,
                      uint64_t offset, uint64_t size)
{
    shim_section *s = calloc(1, sizeof *s);
    int status = -pte_nomem;
    if (!s) return status;
    s->name = shim_text(name);
    if (s->name) status = fill(s, offset, size);
    if (status == 0 && shim_lock_init(&s->lock) != 0) status = -pte_bad_lock;
    if (status < 0) {
        free(s->name);
        free(s);
        return status;
    }
    s->users = 1;
    *section = s;
    return 0;
}

void shim_section_use(shim_section *s)
{
    shim_lock_take(&s->lock);
    s->users++;
    shim_lock_give(&s->lock);
}

void shim_section_drop(shim_section *s)
{
    unsigned users;
    shim_lock_take(&s->lock);
    users = --s->users;
    shim_lock_give(&s->lock);
    if (users) return;
    shim_map_drop(&s->map);
    shim_lock_end(&s->lock);
    free(s->name);
    free(s);
}

const uint8_t *shim_section_pin(shim_section *s)
{
    const uint8_t *bytes;
    shim_lock_take(&s->lock);
    if (!s->map.at)
        shim_map_part(&s->map, s->name, &s->file, s->offset, s->size);
    bytes = s->map.bytes;
    if (bytes) s->pins++;
    shim_lock_give(&s->lock);
    return bytes;
}

void shim_section_unpin(shim_section *s)
{
    shim_lock_take(&s->lock);
    s->pins--;
    if (!s->pins) shim_map_drop(&s->map);
    shim_lock_give(&s->lock);
}
