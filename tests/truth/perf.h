/* perf.h: perf as a referee, of instructions; see tests/perf.h for what it is
 * not asked. */
#include "tests/perf.h"

static int by_base(const void *a, const void *b)
{
    const perf_piece *x = (const perf_piece *) a;
    const perf_piece *y = (const perf_piece *) b;

    return x->base < y->base ? -1 : x->base > y->base;
}

static void write_perf(const char *name, const char *elf)
{
    perf_case c = {out.trace, out.gen.used, NULL, 0, mode != IPT_MODE_64,
                   (out.config.flags & IPT_CONFIG_NO_RETCOMP) != 0};
    perf_piece *list = NULL;
    const page *p;
    size_t room = 0;
    size_t i;

    for (i = 0; i < PAGES; i++) {
        for (p = pages[i]; p; p = p->next) {
            list = (perf_piece *) grow(list, c.count, &room, sizeof(*list));
            list[c.count].base = p->base * PAGE;
            list[c.count].bytes = p->bytes;
            list[c.count++].size = PAGE;
        }
    }
    if (list)
        qsort(list, c.count, sizeof(*list), by_base);
    c.pieces = list;
    if (perf_write(&c, name, elf) != 0)
        fatal("cannot write %s or %s", name, elf);
    free(list);
}

/* Is this a trace that perf decodes? */
static int perf_can(void)
{
    const uint32_t flags = out.config.flags;

    if (mode == IPT_MODE_16
        || (mode == IPT_MODE_32 && out.model->kind != USER)
        || (flags & IPT_CONFIG_NO_RETCOMP && flags & IPT_GEN_DEFER))
        return 0;
    return !(out.model->with & (FILTER | STOP))
           && (out.model->kind == USER || out.model->with & LOW);
}

/* Compare what perf decodes with the truth. */
static int decode_perf(const char *perf, const char *dir)
{
    char name[PATH_MAX + 10];
    char elf[PATH_MAX + 10];
    char command[3 * PATH_MAX];
    char line[100];
    FILE *f;

    memset(&at, 0, sizeof(at));
    snprintf(name, sizeof(name), "%s/perf.data", dir);
    snprintf(elf, sizeof(elf), "%s/code.elf", dir);
    write_perf(name, elf);
    snprintf(command, sizeof(command),
             "%s script -i '%s' --itrace=i1i -F ip 2>'%s/perf.log'", perf, name,
             dir);
    f = popen(command, "r");
    if (!f)
        fatal("cannot run %s", command);
    while (fgets(line, sizeof(line), f)) {
        const uint64_t ip = strtoull(line, NULL, 16);
        if (at.index < out.count && ip == codes[out.ids[at.index]].ip)
            at.index++;
        else if (!at.why[0])
            bad("perf has %" PRIx64 ", executed is %" PRIx64, ip,
                at.index < out.count ? codes[out.ids[at.index]].ip : 0);
    }
    if (pclose(f) != 0 || (!at.why[0] && at.index < out.count))
        bad("perf gives %zu of %zu instructions, see %s/perf.log", at.index,
            out.count, dir);
    if (at.why[0])
        return -1;
    remove(name);
    remove(elf);
    return 0;
}
