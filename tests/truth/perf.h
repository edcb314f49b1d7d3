/* perf.h: perf (Debian's linux-perf) as a referee. It decodes no bare trace,
 * but a perf.data around one, on any x86-64 host: here two events (PT, and one
 * for the records about the process), the mappings of one ELF file with all
 * code, and the trace. There are no timestamps, so perf looks for no CPU.
 *
 * perf 6.1 differs from us in this, and is not asked then:
 *   - a branch that leaves an address filter: it gives the target instead
 *   - deferred TIPs without return compression: the same as libipt
 *   - 16-bit code: it does not know that there is any
 *   - a guest: it wants the guest's files; and addresses of the kernel's half
 *   - code that changes: it has no record for that in user mode */
#define PERF_PT 6 /* type of the PT event: any that the kernel does not use */
#define PERF_PID 1000

static void perf_put(FILE *f, uint64_t value, size_t size)
{
    uint8_t bytes[8];
    size_t i;

    for (i = 0; i < size; i++)
        bytes[i] = (uint8_t) (value >> 8 * i);
    if (fwrite(bytes, 1, size, f) != size)
        fatal("cannot write for perf");
}

static void perf_words(FILE *f, const uint64_t *words, size_t count)
{
    size_t i;

    for (i = 0; i < count; i++)
        perf_put(f, words[i], 8);
}

static void perf_zeros(FILE *f, size_t count)
{
    for (; count > 0; count--)
        perf_put(f, 0, 1);
}

static size_t perf_round(size_t size)
{
    return (size + 7) & ~(size_t) 7;
}

static void perf_text(FILE *f, const char *text)
{
    const size_t size = strlen(text) + 1;

    fwrite(text, 1, size, f);
    perf_zeros(f, perf_round(size) - size);
}

/* A record with its header; those of the kernel end with pid, tid, event. */
static void perf_record(FILE *f, unsigned type, unsigned misc, size_t size)
{
    perf_put(f, type, 4);
    perf_put(f, misc, 2);
    perf_put(f, 8 + size + (type < 64 ? 16 : 0), 2);
}

static void perf_ids(FILE *f, unsigned times)
{
    for (; times > 0; times--)
        perf_put(f, PERF_PID, 4);
}

static void perf_end(FILE *f)
{
    perf_ids(f, 2);
    perf_put(f, 2, 8);
}

static int by_base(const void *a, const void *b)
{
    const page *const *x = (const page *const *) a;
    const page *const *y = (const page *const *) b;

    return (*x)->base < (*y)->base ? -1 : (*x)->base > (*y)->base;
}

/* All pages, in the order of their addresses. */
static const page **perf_pages(size_t *count)
{
    const page **list = NULL;
    const page *p;
    size_t room = 0;
    size_t i;

    *count = 0;
    for (i = 0; i < PAGES; i++) {
        for (p = pages[i]; p; p = p->next) {
            list = (const page **) grow(list, *count, &room, sizeof(*list));
            list[(*count)++] = p;
        }
    }
    qsort(list, *count, sizeof(*list), by_base);
    return list;
}

/* The code: an ELF header, whose class perf takes for the mode; then pages. */
static void perf_code(const char *path, const page **list, size_t count)
{
    FILE *f = fopen(path, "wb");
    const int wide = mode == IPT_MODE_64;
    size_t i;

    if (!f)
        fatal("cannot write %s", path);
    fwrite("\177ELF", 1, 4, f);
    perf_put(f, wide ? 0x010102 : 0x010101, 3); /* class, order, version */
    perf_zeros(f, 9);
    perf_put(f, 3, 2); /* ET_DYN */
    perf_put(f, wide ? 62 : 3, 2);
    perf_put(f, 1, 4);
    perf_zeros(f, wide ? 28 : 16);         /* entry, headers, flags: none */
    perf_put(f, wide ? 64 : 52, 2);        /* size of this header */
    perf_put(f, wide ? 56 : 32, 2);
    perf_zeros(f, 2);
    perf_put(f, wide ? 64 : 40, 2);
    perf_zeros(f, PAGE - (wide ? 60 : 48));
    for (i = 0; i < count; i++)
        fwrite(list[i]->bytes, 1, PAGE, f);
    if (fclose(f))
        fatal("cannot write %s", path);
}

static void perf_maps(FILE *f, const char *path, const page **list,
                      size_t count)
{
    size_t i;
    size_t n;

    for (i = 0; i < count; i += n) {
        for (n = 1; i + n < count && list[i + n]->base == list[i]->base + n;)
            n++;
        perf_record(f, 10, 2, 64 + perf_round(strlen(path) + 1)); /* MMAP2 */
        perf_ids(f, 2);
        perf_put(f, list[i]->base * PAGE, 8);
        perf_put(f, n * PAGE, 8);
        perf_put(f, (1 + i) * PAGE, 8);
        perf_zeros(f, 24); /* device and inode */
        perf_put(f, 5, 4); /* PROT_READ | PROT_EXEC */
        perf_put(f, 2, 4); /* MAP_PRIVATE */
        perf_text(f, path);
        perf_end(f);
    }
}

/* Everything behind the file's header and events. */
static void perf_data(FILE *f, const char *path, const page **list,
                      size_t count)
{
    const uint64_t info[18] = {1, PERF_PT, 0, 0, 0, 0, 0, 0x800};
    const size_t size = perf_round(out.gen.used);

    perf_record(f, 70, 0, sizeof(info)); /* AUXTRACE_INFO */
    perf_words(f, info, 18);
    perf_record(f, 3, 0x2000, 16); /* COMM, of exec */
    perf_ids(f, 2);
    perf_text(f, "truth");
    perf_end(f);
    perf_maps(f, path, list, count);
    perf_record(f, 12, 0, 8); /* ITRACE_START */
    perf_ids(f, 2);
    perf_end(f);
    perf_record(f, 71, 0, 40); /* AUXTRACE */
    perf_put(f, size, 8);
    perf_zeros(f, 20);
    perf_ids(f, 1);
    perf_put(f, UINT32_MAX, 4);
    perf_zeros(f, 4);
    fwrite(out.trace, 1, out.gen.used, f);
    perf_zeros(f, size - out.gen.used);
    perf_record(f, 11, 0, 24); /* AUX */
    perf_put(f, 0, 8);
    perf_put(f, size, 8);
    perf_put(f, 0, 8);
    perf_end(f);
    perf_record(f, 4, 0, 24); /* EXIT */
    perf_ids(f, 4);
    perf_put(f, 0, 8);
    perf_end(f);
}

static void perf_event(FILE *f, unsigned type, uint64_t config, uint64_t sample,
                       uint64_t flags)
{
    perf_put(f, type, 4);
    perf_put(f, 128, 4); /* of this structure */
    perf_put(f, config, 8);
    perf_put(f, 1, 8); /* period */
    perf_put(f, sample, 8);
    perf_put(f, 0, 8);
    perf_put(f, flags, 8);
    perf_zeros(f, 80);
}

static void perf_file(const char *name, const char *elf)
{
    const uint64_t noretc
        = out.config.flags & IPT_CONFIG_NO_RETCOMP ? 0x800 : 0;
    const uint64_t sample = 0x1000b; /* IP, TID, ADDR, IDENTIFIER */
    const uint64_t header[13]
        = {0x32454c4946524550, 104, 144, 120, 288, 408, 0};
    const uint64_t ids[2] = {1, 2};
    size_t count;
    const page **list = perf_pages(&count);
    FILE *f = fopen(name, "wb");
    long end;

    if (!f)
        fatal("cannot write %s", name);
    perf_code(elf, list, count);
    perf_words(f, header, 13);
    perf_words(f, ids, 2);
    perf_event(f, PERF_PT, 0x2001 | noretc, sample, 0x40001);
    perf_put(f, 104, 8); /* its id is at 104 */
    perf_put(f, 8, 8);
    perf_event(f, 1, 9, sample, 0x1842300); /* dummy: mmap, comm, task */
    perf_put(f, 112, 8);
    perf_put(f, 8, 8);
    perf_data(f, elf, list, count);
    end = ftell(f);
    if (end < 408 || fseek(f, 48, SEEK_SET) != 0)
        fatal("cannot write %s", name);
    perf_put(f, (uint64_t) end - 408, 8); /* size of the data */
    if (fclose(f))
        fatal("cannot write %s", name);
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
    perf_file(name, elf);
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
