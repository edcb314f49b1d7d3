/* page.c: see page.h.
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "page.h"
#include "files.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define VIEWER_SIZE ((uint64_t) 16 << 20) /* at most */

static const char place[] = "@PAGE@";

/* NAME beside this program, or where make install puts it; allocated, or NULL. */
static char *load_beside(const char *name)
{
    char path[4096];
    char *text = NULL;
    size_t size = 0;
    const ssize_t n = readlink("/proc/self/exe", path, sizeof path - 64);
    char *const slash = n > 0 ? (path[n] = 0, strrchr(path, '/')) : NULL;
    if (!slash || strlen(name) > 40) return NULL;
    sprintf(slash, "/%s", name);
    text = (char *) files_load(path, 0, VIEWER_SIZE, &size);
    if (!text) {
        sprintf(slash, "/../share/ipt/%s", name);
        text = (char *) files_load(path, 0, VIEWER_SIZE, &size);
    }
    if (!text || !tool_grow(&text, size + 1, 1)) {
        free(text);
        return NULL;
    }
    text[size] = 0;
    return text;
}

static int fail_to_write(const page *p)
{
    fprintf(stderr, "%s: cannot write ", p->args->program);
    tool_print(stderr, p->name);
    fprintf(stderr, ": %s.\n", strerror(errno));
    return 1;
}

int page_open(page *p, const tool_args *args, const char *name)
{
    memset(p, 0, sizeof *p);
    p->args = args;
    p->name = name;
    p->viewer = load_beside("viewer.html");
    p->rest = p->viewer ? strstr(p->viewer, place) : NULL;
    if (!p->rest) {
        fprintf(stderr, "%s: --html: there is no viewer.html beside the tools, "
                "nor in share/ipt: make deps-full, then make install.\n",
                args->program);
        free(p->viewer);
        return 1;
    }
    p->out = tool_create(name);
    if (!p->out) {
        free(p->viewer);
        return fail_to_write(p);
    }
    fwrite(p->viewer, 1, (size_t) (p->rest - p->viewer), p->out);
    p->rest += sizeof place - 1;
    return 0;
}

void page_text(page *p, const char *text)
{
    char clean[8192];
    for (const char *s = tool_clean(clean, sizeof clean, text, 0); *s; s++) {
        switch (*s) {
        case '<': fputs("&lt;", p->out); break;
        case '>': fputs("&gt;", p->out); break;
        case '&': fputs("&amp;", p->out); break;
        case '"': fputs("&quot;", p->out); break;
        case '\'': fputs("&#39;", p->out); break;
        default: fputc(*s, p->out); break;
        }
    }
}

/* In JSON < is in texts only. */
void page_data(page *p, const char *id, FILE *json)
{
    int c;
    fprintf(p->out, "<script type=\"application/json\" id=\"%s\">", id);
    rewind(json);
    while ((c = getc(json)) != EOF)
        if (c == '<')
            fputs("\\u003c", p->out);
        else
            fputc(c, p->out);
    fputs("</script>\n", p->out);
}

int page_close(page *p)
{
    fputs(p->rest, p->out);
    free(p->viewer);
    return tool_close(p->out) ? fail_to_write(p) : 0;
}
