/* spread [-t] SYMBOLS FOLDED PREFIX...: whose time it is, by the log of ptrecord
 * --costs, against what ptprof --folded says.
 *
 * SYMBOLS is what nm -n says of a program that is linked statically, FOLDED the
 * output of ptprof; PREFIX.u64, .costs and .dates are the log of a thread. Code
 * without a symbol is that of a JIT compiler: NAME where call_NAME has called
 * it.
 *
 * Each interval between two dates of the log is spread evenly over its
 * instructions, and what that gives each function has to be what ptprof gives
 * it, within 0.1 % of all time. What the instructions of each function took,
 * which no trace says, may differ by the intervals that touch the function if
 * one of them is that of others as well, else by 1 %, or 5 ns: decoders estimate
 * how long a cycle is.
 * Names at one address are one function; so are f, f.cold and f.part.0, and
 * functions of one name.
 *
 * -t: TSC is all, on several cpus: at which of its stops a thread was switched is
 * in the log, but in no trace. An interval goes on after a switch, without the time
 * between. Nor is it always known which thread stopped: gaps may differ by 1 %.
 *
 * SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMES  65536
#define RATES  255
#define KINDS  4u
#define NS     (672770566.0 / 2147483648.0) /* a tick; see ptrecord.c */

typedef struct function {
    uint64_t at;
    char name[200];
    size_t same; /* index of the one that stands for it */
    double raw, spread, said, bound;
    double touching; /* intervals that have instructions of it */
    int shared;      /* ... and of others, or a gap */
    size_t touched; /* number of the interval that touched it last */
} function;

static function *list;
static size_t count, code_count; /* those with code come first */
static double gaps[8], said_gaps[8];
static int coarse; /* -t */
static const char *const kinds[8] = {"syscall", "interrupt", "off cpu",
                                     "unknown"};

static void die(const char *what, const char *name)
{
    fprintf(stderr, "spread: %s: %s\n", what, name);
    exit(2);
}

/* ---- functions ---- */

static size_t stands(size_t i)
{
    while (list[i].same != i) i = list[i].same;
    return i;
}

/* The name without the signs of parts and versions, and without those that make
 * it unique in ptprof. */
static void plain(char *to, const char *from)
{
    size_t n = strcspn(from, "@");
    const char *const more = strstr(from, " [");
    const char *part = strstr(from + 1, ".cold");
    if (!part) part = strstr(from + 1, ".part.");
    if (!part) part = strstr(from + 1, ".constprop.");
    if (!part) part = strstr(from + 1, ".isra.");
    if (!part) part = strstr(from + 1, ".localalias");
    if (more && (size_t) (more - from) < n) n = (size_t) (more - from);
    if (part && (size_t) (part - from) < n) n = (size_t) (part - from);
    if (n > 199) n = 199;
    memcpy(to, from, n);
    to[n] = 0;
}

static size_t add(uint64_t at, const char *name)
{
    function *const f = &list[count];
    if (count == NAMES) die("too many names", name);
    f->at = at;
    plain(f->name, name);
    f->same = count;
    return count++;
}

static size_t *by_name;

static int compare_names(const void *a, const void *b)
{
    return strcmp(list[*(const size_t *) a].name,
                  list[*(const size_t *) b].name);
}

/* Names at one address are one, and addresses of one name. */
static void join(void)
{
    by_name = (size_t *) malloc((count + 1) * sizeof *by_name);
    if (!by_name) die("memory", "");
    for (size_t i = 0; i < count; i++) by_name[i] = i;
    qsort(by_name, count, sizeof *by_name, compare_names);
    for (size_t i = 1; i < count; i++) {
        if (list[i].at == list[i - 1].at) list[stands(i)].same = stands(i - 1);
        if (strcmp(list[by_name[i]].name, list[by_name[i - 1]].name) == 0)
            list[stands(by_name[i])].same = stands(by_name[i - 1]);
    }
    code_count = count;
}

/* By address: "AT SIZE TYPE NAME", or "AT TYPE NAME" where nobody said a size.
 * The latter is a label, and no function, inside of one that has a size. */
static void read_symbols(const char *name)
{
    FILE *const f = fopen(name, "r");
    char line[4096], words[3][4000];
    uint64_t at, start = 0, end = 0;
    if (!f) die("cannot read", name);
    while (fgets(line, sizeof line, f)) {
        const int n = sscanf(line, "%" SCNx64 " %3999s %3999s %3999s", &at,
                             words[0], words[1], words[2]);
        if (n < 3 || !strchr("tTwWiuV", *words[n - 3])) continue;
        if (n == 4 && at + strtoull(words[0], NULL, 16) > end) {
            start = at;
            end = at + strtoull(words[0], NULL, 16);
        }
        if (n == 4 || at <= start || at >= end) add(at, words[n - 2]);
    }
    fclose(f);
    join();
}

static size_t find_name(const char *name)
{
    char text[200];
    size_t low = 0, high = code_count;
    plain(text, name);
    while (low < high) {
        const size_t middle = (low + high) / 2;
        const int order = strcmp(list[by_name[middle]].name, text);
        if (order == 0) return stands(by_name[middle]);
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (size_t i = code_count; i < count; i++)
        if (strcmp(list[i].name, text) == 0) return i;
    return add(0, name);
}

/* Whose code that is; *caller: the call_NAME that was last. */
static size_t function_of(uint64_t ip, size_t *caller)
{
    static size_t last;
    size_t low = 0, high = code_count;
    if (list[last].at <= ip && last + 1 < code_count
        && ip < list[last + 1].at)
        return stands(last);
    while (high - low > 1) {
        const size_t middle = (low + high) / 2;
        if (list[middle].at <= ip)
            low = middle;
        else
            high = middle;
    }
    if (ip - list[low].at > 1 << 20)
        return *caller < count ? find_name(list[*caller].name + 5)
                               : find_name("[unknown]");
    last = low;
    if (strncmp(list[low].name, "call_", 5) == 0) *caller = low;
    return stands(low);
}

/* ---- a thread ---- */

static struct {
    uint32_t *function; /* of each instruction */
    uint32_t *cost;
    size_t size;
    size_t from;   /* the first one in this interval */
    double last;   /* when it began; < 0: not known */
    size_t kind[8]; /* its gaps, of each kind */
    size_t gap_count;
    unsigned in;    /* the kind of the last one */
    double before;  /* length of the interval before, if its last instructions
                       are in this one */
    int stopped, begun;
    int left; /* it has no processor since `out` */
    double out;
    double open[8]; /* of the gap that has not ended */
    double rates[RATES];
    uint64_t rate_count;
    size_t intervals;
} it;

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *) a, y = *(const double *) b;
    return x < y ? -1 : x > y;
}

static double usual(void)
{
    double sorted[RATES];
    const size_t n = it.rate_count < RATES ? (size_t) it.rate_count : RATES;
    if (n == 0) return 0.25 / NS;
    memcpy(sorted, it.rates, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, by_size);
    return sorted[n / 2];
}

/* Each instruction up to `to` takes so much, in an interval of that length. */
static void charge(size_t to, double each, double all)
{
    size_t others = 0;
    it.intervals++;
    for (size_t i = it.from; i < to; i++)
        others += it.function[i] != it.function[it.from];
    for (size_t i = it.from; i < to; i++) {
        function *const f = &list[it.function[i]];
        f->spread += each;
        f->raw += it.cost[i];
        if (f->touched != it.intervals) {
            f->bound += (others || it.gap_count ? all : 0) + it.before;
            f->touching += all + it.before;
            f->shared |= others || it.gap_count || it.before > 0;
        }
        f->touched = it.intervals;
    }
    it.from = to;
}

/* Each gap gets so much; the last one may not have ended. */
static void share_gaps(double each)
{
    if (it.stopped) {
        it.open[it.in] += each;
        it.kind[it.in]--;
    }
    for (unsigned i = 0; i < 8; i++) gaps[i] += each * (double) it.kind[i];
}

#define NO_GAP 8u

static void set_gap(unsigned kind)
{
    memset(it.kind, 0, sizeof it.kind);
    it.gap_count = kind < NO_GAP;
    if (kind < NO_GAP) it.kind[it.in = kind] = 1;
}

static void close_at(size_t to, double now, int exact)
{
    const double all = now - it.last;
    const double n = (double) (to - it.from);
    double run = all;
    if (it.last < 0 || !it.begun) {
        charge(to, 0, 0);
        it.last = now;
        set_gap(it.stopped ? it.in : NO_GAP);
        return;
    }
    if (all < 0 || (to == it.from && !it.gap_count)) return;
    if (it.gap_count) {
        run = usual() * n;
        if (run > all) run = all;
    } else if (all > 0) {
        it.rates[it.rate_count++ % RATES] = all / n;
    }
    if (it.gap_count) share_gaps((all - run) / (double) it.gap_count);
    charge(to, to > it.from ? run / n : 0, all);
    it.last = now;
    it.before = exact ? 0 : all;
    set_gap(it.stopped ? it.in : NO_GAP);
}

static unsigned kind_of(const char *name)
{
    unsigned i = 0;
    while (i < 2 && strcmp(kinds[i], name)) i++;
    return i;
}

static void commit(void)
{
    for (unsigned i = 0; i < 8; i++) gaps[i] += it.open[i];
    memset(it.open, 0, sizeof it.open);
}

/* After the last date nothing is known. */
static void end(void)
{
    double all = usual() * (double) (it.size - it.from);
    if (it.left && coarse) close_at(it.size, it.out, 1);
    if (it.left) commit();
    for (size_t i = it.from; i < it.size; i++) all += it.cost[i];
    it.gap_count = 1;
    charge(it.size, usual(), all);
}

static void follow(FILE *f)
{
    char line[256], word[16], why[16];
    uint64_t a, b;
    int edge = 0;
    unsigned before = 0;
    size_t at = 0;
    while (fgets(line, sizeof line, f)) {
        if (sscanf(line, "stop %" SCNu64 " %15s", &a, why) == 2) {
            at = (size_t) a;
            it.in = kind_of(why);
            it.kind[it.in]++;
            it.gap_count++;
            it.stopped = 1;
        } else if (sscanf(line, "go %" SCNu64, &a) == 1) {
            commit();
            it.stopped = 0;
            if (!it.begun && !edge) set_gap(3);
            it.begun = 1;
            if (edge) set_gap(NO_GAP);
        } else if (sscanf(line, "out %" SCNu64, &a) == 1) {
            before = it.in;
            it.left = 1;
            it.out = (double) a;
            if (coarse) continue;
            close_at(at, it.out, 1);
            set_gap(2);
        } else if (sscanf(line, "in %" SCNu64, &a) == 1) {
            it.left = 0;
            if (coarse && it.last >= 0 && it.begun) {
                it.last += (double) a - it.out;
                gaps[2] += (double) a - it.out;
                continue;
            }
            close_at(at, (double) a, 1);
            if (it.stopped) set_gap(before);
        } else if (sscanf(line, "%15s %" SCNu64 " %" SCNu64, word, &a, &b)
                   == 3) {
            close_at((size_t) a, (double) b, line[0] == 'a');
        }
        edge = strncmp(line, "at", 2) == 0;
    }
    end();
}

static FILE *open_log(const char *prefix, const char *suffix)
{
    char name[4096];
    FILE *f;
    snprintf(name, sizeof name, "%s.%s", prefix, suffix);
    f = fopen(name, "rb");
    if (!f) die("cannot read", name);
    return f;
}

static uint64_t number(FILE *f, size_t size, int *end)
{
    uint8_t bytes[8] = {0};
    uint64_t n = 0;
    *end = fread(bytes, 1, size, f) != size;
    for (size_t i = size; i > 0; i--) n = n << 8 | bytes[i - 1];
    return n;
}

static void add_thread(const char *prefix)
{
    FILE *const ips = open_log(prefix, "u64");
    FILE *const costs = open_log(prefix, "costs");
    FILE *const dates = open_log(prefix, "dates");
    size_t room = 0, caller = SIZE_MAX;
    memset(&it, 0, sizeof it);
    it.last = -1;
    for (;;) {
        int end;
        const uint64_t ip = number(ips, 8, &end);
        if (end) break;
        if (it.size == room) {
            room = 2 * room + 65536;
            it.function = (uint32_t *) realloc(it.function, room * 4);
            it.cost = (uint32_t *) realloc(it.cost, room * 4);
            if (!it.function || !it.cost) die("memory", prefix);
        }
        it.cost[it.size] = (uint32_t) number(costs, 4, &end);
        it.function[it.size++] = (uint32_t) function_of(ip, &caller);
    }
    for (size_t i = 0; i < count; i++) list[i].touched = 0;
    follow(dates);
    free(it.function);
    free(it.cost);
    fclose(ips);
    fclose(costs);
    fclose(dates);
}

/* ---- against ptprof ---- */

static void read_folded(const char *name)
{
    FILE *const f = fopen(name, "r");
    static char line[1 << 20];
    if (!f) die("cannot read", name);
    while (fgets(line, sizeof line, f)) {
        char *const space = strrchr(line, ' ');
        char *last;
        unsigned i = 0;
        if (!space) continue;
        *space = 0;
        last = strrchr(line, ';');
        last = last ? last + 1 : line;
        while (i < KINDS && (*last != '[' || strncmp(last + 1, kinds[i],
                                                 strlen(kinds[i]))))
            i++;
        if (i < KINDS)
            said_gaps[i] += atof(space + 1);
        else
            list[find_name(last)].said += atof(space + 1);
    }
    fclose(f);
}

/* How far off what a function took is, in parts of that, where it is more than
 * 5 ns: by ptprof, and by this program. */
typedef struct errors {
    double list[2][4096];
    size_t count;
} errors;

static void note_error(errors *e, const function *f)
{
    const double took = f->raw * NS;
    const double off[2] = {f->said - took, (f->spread - f->raw) * NS};
    if (took < 5 || e->count == 4096) return;
    for (int i = 0; i < 2; i++)
        e->list[i][e->count] = (off[i] < 0 ? -off[i] : off[i]) / took;
    e->count++;
}

/* The median and the largest, ptprof's at most 1.2 times this program's. */
static size_t show_errors(errors *e)
{
    size_t bad = 0;
    if (e->count == 0) return 1;
    for (int i = 0; i < 2; i++)
        qsort(e->list[i], e->count, sizeof *e->list[i], by_size);
    for (int large = 0; large < 2; large++) {
        const size_t at = large ? e->count - 1 : e->count / 2;
        const double ours = e->list[0][at], own = e->list[1][at];
        printf("%s %.3g %% (%.3g %%)%s", large ? "largest" : "off by: median",
               100 * ours, 100 * own, large ? "\n" : ", ");
        bad += ours > 1.2 * own + 0.01;
    }
    return bad;
}

static int compare(void)
{
    const double near = 0.001;
    static errors e;
    double all = 0, worst = 0, bounds[4096];
    size_t rows = 0, bad = 0, bound_count = 0;
    for (size_t i = 0; i < count; i++) all += list[i].spread * NS;
    for (unsigned i = 0; i < KINDS; i++) all += gaps[i] * NS;
    for (size_t i = 0; i < count; i++) {
        const function *const f = &list[i];
        const double a = (f->said - f->spread * NS) / all;
        const double b = f->said - f->raw * NS;
        const double most = (f->shared ? f->touching : 0) * NS
                          + 0.01 * f->raw * NS + 5;
        if (stands(i) != i || (f->raw == 0 && f->said < 1)) continue;
        rows++;
        note_error(&e, f);
        if (a * a > worst * worst) worst = a;
        if (f->raw > 0 && bound_count < 4096)
            bounds[bound_count++] = f->bound / f->raw;
        if (a > near || a < -near || b > most || -b > most) {
            bad++;
            printf("%s: %.0f ns, spread %.0f, took %.0f, others in %.0f\n",
                   f->name, f->said, f->spread * NS, f->raw * NS,
                   f->bound * NS);
        }
    }
    for (unsigned i = 0; i < KINDS; i++) {
        const double a = (said_gaps[i] - gaps[i] * NS) / all;
        const double most = coarse ? 10 * near : near;
        if (a > most || a < -most) {
            bad++;
            printf("[%s]: %.0f ns, not %.0f\n", kinds[i], said_gaps[i],
                   gaps[i] * NS);
        }
    }
    bad += show_errors(&e);
    qsort(bounds, bound_count, sizeof *bounds, by_size);
    printf("%zu functions, %.0f ns, worst %.3f %%, bounds: median %.3g, "
           "largest %.3g; %zu wrong\n", rows, all, 100 * worst,
           bound_count ? bounds[bound_count / 2] : 0,
           bound_count ? bounds[bound_count - 1] : 0, bad);
    return bad || rows < 3;
}

int main(int argc, char **argv)
{
    coarse = argc > 1 && strcmp(argv[1], "-t") == 0;
    if (coarse) {
        argc--;
        argv++;
    }
    if (argc < 4) die("usage", "[-t] SYMBOLS FOLDED PREFIX...");
    list = (function *) calloc(NAMES, sizeof *list);
    if (!list) die("memory", "");
    read_symbols(argv[1]);
    for (int i = 3; i < argc; i++) add_thread(argv[i]);
    read_folded(argv[2]);
    return compare();
}
