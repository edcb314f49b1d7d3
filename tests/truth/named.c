/* named FUNCTIONS IPS CALLS: who called which function how often, by what
 * ptrecord wrote down of a thread. Shares nothing with ptprof.
 *
 * FUNCTIONS has lines FIRST LAST (in hex, sorted), IPS and CALLS are ptrecord's
 * TID.u64 and TID.calls. Prints CALLER CALLEE COUNT, the numbers of two lines;
 * a caller that is in none is -1. A jump from another function to the beginning
 * of one is a call, too, and its caller that of the other one. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct function {
    uint64_t first;
    uint64_t last;
} function;

typedef struct frame {
    uint64_t rsp; /* where its return address is */
    long function;
} frame;

static function *functions;
static size_t count;
static frame frames[1 << 16];
static size_t depth;
static uint64_t *calls; /* (count + 1) x count */

static void *load(const char *path, size_t item, size_t *n)
{
    FILE *const f = fopen(path, "rb");
    uint8_t *bytes = NULL;
    long size = -1;
    if (f && fseek(f, 0, SEEK_END) == 0) size = ftell(f);
    if (size >= 0) bytes = malloc((size_t) size + 1);
    if (!bytes) exit(2);
    rewind(f);
    if (fread(bytes, 1, (size_t) size, f) != (size_t) size) exit(2);
    fclose(f);
    *n = (size_t) size / item;
    return bytes;
}

static void load_functions(const char *path)
{
    FILE *const f = fopen(path, "r");
    function line;
    functions = malloc(sizeof *functions << 16);
    if (!f || !functions) exit(2);
    while (count < 1 << 16
           && fscanf(f, "%" SCNx64 " %" SCNx64 "%*[^\n]", &line.first,
                     &line.last) == 2)
        functions[count++] = line;
    fclose(f);
    calls = calloc((count + 1) * (count + 1), sizeof *calls);
    if (!calls) exit(2);
}

static long find(uint64_t ip)
{
    size_t low = 0;
    size_t high = count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (functions[middle].first <= ip)
            low = middle + 1;
        else
            high = middle;
    }
    return low && ip <= functions[low - 1].last ? (long) low - 1 : -1;
}

static void called(long callee)
{
    const long caller = depth ? frames[depth - 1].function : -1;
    if (callee >= 0)
        calls[(size_t) (caller + 1) * count + (size_t) callee]++;
}

int main(int argc, char **argv)
{
    size_t n, events, e = 0;
    const uint64_t *ips, *log;
    long last = -1;
    if (argc != 4) return 2;
    load_functions(argv[1]);
    ips = load(argv[2], 8, &n);
    log = load(argv[3], 24, &events);
    for (size_t i = 0; i < n; i++) {
        const long now = find(ips[i]);
        const int is_start = now >= 0 && functions[now].first == ips[i];
        int is_event = 0;
        for (; e < events && log[3 * e] <= i; e++) {
            const uint64_t rsp = log[3 * e + 2];
            if (log[3 * e] < i) continue;
            is_event = 1;
            if (log[3 * e + 1] == 2) {
                depth = 0;
            } else if (log[3 * e + 1] == 0) {
                while (depth && frames[depth - 1].rsp < rsp) depth--;
            } else if (depth < sizeof frames / sizeof *frames) {
                if (is_start) called(now);
                frames[depth].rsp = rsp;
                frames[depth++].function = now;
            }
        }
        if (!is_event && now != last && depth) {
            if (is_start) { /* the caller is that of the frame below */
                depth--;
                called(now);
                depth++;
            }
            frames[depth - 1].function = now;
        }
        last = now;
    }
    for (size_t i = 0; i <= count; i++)
        for (size_t j = 0; j < count; j++)
            if (calls[i * count + j])
                printf("%ld %zu %" PRIu64 "\n", (long) i - 1, j,
                       calls[i * count + j]);
    return 0;
}
