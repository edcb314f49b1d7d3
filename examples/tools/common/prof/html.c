/* html.c: --html.
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "prof.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- --html ---- */

int prof_cannot_write(const ptprof *p, const char *name)
{
    fprintf(stderr, "%s: cannot write ", p->args->program);
    tool_print(stderr, name);
    fprintf(stderr, ": %s.\n", strerror(errno));
    return 1;
}

#define PAGE_DATA (20l << 20) /* bytes, at most */

/* Where the time line goes first. */
int prof_open_json(ptprof *p)
{
    const char *const dir = getenv("TMPDIR");
    int fd;
    snprintf(p->json, sizeof p->json, "%.200s/ptprofXXXXXX",
             dir && *dir ? dir : "/tmp");
    fd = mkstemp(p->json);
    if (fd < 0) return prof_cannot_write(p, p->json);
    close(fd);
    p->opt.timeline = p->json;
    p->opt.format = TIMELINE_SPEEDSCOPE;
    return 0;
}

static void put_page_losses(ptprof *p)
{
    const threads *const t = &p->session.threads;
    FILE *const out = p->page->out;
    unsigned kinds = 0;
    fputs("<dt>Lost</dt><dd>", out);
    for (unsigned i = 0; i < THREADS_LOSSES; i++)
        if (t->losses[i])
            fprintf(out, "%s%s: %" PRIu64, kinds++ ? "; " : "",
                    threads_text((threads_loss) i), t->losses[i]);
    fputs(kinds ? "</dd>\n" : "nothing</dd>\n", out);
}

static void put_page_feature(ptprof *p, const char *before, unsigned bit)
{
    char text[512];
    if (perfdata_feature_text(p->session.file.data, bit, text, sizeof text) != 1)
        return;
    fputs(before, p->page->out);
    page_text(p->page, text);
}

/* What was recorded, how, what it adds up to, and what is missing. */
static void put_page_head(ptprof *p)
{
    FILE *const out = p->page->out;
    const calltree_node *const all = &p->tree.list[CALLTREE_ROOT];
    const char *const times = p->session.threads.cyc ? "with cycles"
        : p->session.threads.timed ? "without cycles" : "none";
    char cost[16];
    fputs("<h1 id=\"name\">", out);
    page_text(p->page, p->opt.file ? tool_base(p->opt.file) : "trace");
    fprintf(out, "</h1>\n<dl>\n<dt>Recorded</dt><dd>%" PRIu32 " queue%s of Intel "
                 "PT; times: %s",
            p->session.threads.queues.queue_count,
            TOOL_S(p->session.threads.queues.queue_count), times);
    put_page_feature(p, "; on ", PERFDATA_FEATURE_HOSTNAME);
    put_page_feature(p, ", Linux ", PERFDATA_FEATURE_OSRELEASE);
    put_page_feature(p, ", processor ", PERFDATA_FEATURE_CPUID);
    prof_put_cost(p, cost, prof_total_of(p, all));
    fprintf(out, "</dd>\n<dt>Total</dt><dd>%" PRIu64 " instruction%s in %zu "
                 "thread%s; costs are %s: %s</dd>\n",
            all->total.insns, TOOL_S(all->total.insns), p->thread_count,
            TOOL_S(p->thread_count), p->by_insn ? "instructions" : "times", cost);
    put_page_losses(p);
    if (p->shortest) {
        prof_put_cost(p, cost, p->shortest);
        fprintf(out, "<dt>Folded</dt><dd>the view has no calls below %s "
                     "(--min %s); the table has all</dd>\n", cost, cost);
    }
    fputs("</dl>\n", out);
}

static void put_page_table(ptprof *p)
{
    FILE *const out = p->page->out;
    entry *const entries = prof_add_up(p, 0, 0);
    fprintf(out, "<table id=\"functions\"><thead><tr><th>total<th>own<th>cost"
                 "<th>calls%s<th>function</thead><tbody>\n",
            p->opt.ipc ? "<th>IPC" : "");
    for (const entry *e = entries; e->name; e++) {
        char text[64];
        prof_put_flat(p, text, e);
        fputs("<tr>", out);
        for (char *word = strtok(text, " "); word; word = strtok(NULL, " ")) {
            fputs("<td>", out);
            page_text(p->page, word);
        }
        fputs("<td><a href=\"#view\">", out);
        page_text(p->page, prof_function_text(p, e->name));
        fputs("</a>\n", out);
    }
    fputs("</tbody></table>\n", out);
    free(entries);
}

/* The time line is written. */
int prof_write_page(ptprof *p)
{
    FILE *const data = fopen(p->json, "rb");
    long size;
    if (!data) return prof_cannot_write(p, p->json);
    fseek(data, 0, SEEK_END);
    size = ftell(data);
    if (size > PAGE_DATA) {
        const uint64_t times = (uint64_t) (2 * size / PAGE_DATA);
        fclose(data);
        p->shortest = (p->shortest ? p->shortest : 10) * times;
        return PAGE_AGAIN;
    }
    put_page_head(p);
    put_page_table(p);
    page_data(p->page, "profile", data);
    fclose(data);
    return 0;
}
