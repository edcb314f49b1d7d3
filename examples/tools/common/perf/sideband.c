/* sideband.c: see sideband.h. Functions return what sideband_option returns.
 *
 * SPDX-License-Identifier: MIT */
#include "sideband.h"
#include "../code/code.h"
#include <stdlib.h>
#include <string.h>

void sideband_init(sideband *s, image *initial)
{
    memset(s, 0, sizeof *s);
    pevent_init(&s->session, stdout, initial);
    s->config.time_mult = 1;
    s->config.kernel_start = UINT64_MAX;
    s->prints_only = !initial;
}

void sideband_free(sideband *s)
{
    pevent_free(&s->session);
    free(s->samples);
}

/* ---- what is printed ---- */

static int print_option(sideband *s, const char *what)
{
    static const struct {
        const char *name;
        unsigned sets;
        unsigned clears;
    } flags[] = {
        {"", PEVENT_COMPACT, PEVENT_VERBOSE},
        {":compact", PEVENT_COMPACT, PEVENT_VERBOSE},
        {":verbose", PEVENT_VERBOSE, PEVENT_COMPACT},
        {":filename", PEVENT_FILENAME, 0},
        {":offset", PEVENT_OFFSET, 0},
        {":time", PEVENT_TIME, 0},
        {":warn", PEVENT_WARN, 0},
        {":switch", PEVENT_SWITCH, 0} // the last: ptdump has none
    };
    const size_t count = sizeof flags / sizeof *flags - s->prints_only;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(what, flags[i].name) != 0) continue;
        s->session.flags &= ~flags[i].clears;
        s->session.flags |= flags[i].sets;
        return -1;
    }
    return 0;
}

/* ---- arguments ---- */

/* The next word, whatever it looks like. */
static const char *any_word(tool_args *args, const char *option)
{
    const char *word = args->value ? args->value : *args->next;
    if (args->value) {
        args->value = NULL;
        return word;
    }
    if (!word) {
        fprintf(stderr, "%s: %s: missing argument.\n", args->program, option);
        return NULL;
    }
    args->next++;
    return word;
}

static int add_file(tool_args *args, sideband *s, const char *option,
                    int primary)
{
    const char *word = any_word(args, option);
    const char *why = "out of memory";
    tool_range range;
    int status;
    if (!word) return 1;
    status = tool_split_range(word, &range);
    if (status == 0)
        why = pevent_add(&s->session, &range, primary, &s->config);
    if (status == -1)
        fprintf(stderr, "%s: bad file %s: invalid argument.\n", args->program,
                word);
    else if (why)
        fprintf(stderr, "%s: error loading %s: %s.\n", args->program,
                range.name ? range.name : word, why);
    free(range.name);
    s->is_used = 1;
    return why ? 1 : -1;
}

/* ID:TYPE */
static int sample_config(tool_args *args, sideband *s, const char *option)
{
    const char *word = any_word(args, option);
    const char *rest = word;
    pevent_config *c = &s->config;
    pevent_sample sample;
    pevent_sample *more;
    if (!word) return 1;
    if (!tool_scan(&rest, &sample.identifier) || *rest++ != ':'
        || !tool_scan(&rest, &sample.sample_type) || *rest) {
        fprintf(stderr, "%s: bad sample config %s: invalid argument.\n",
                args->program, s->prints_only ? option : word);
        return 1;
    }
    more = realloc(s->samples, (c->sample_count + 1) * sizeof *more);
    if (!more) {
        fprintf(stderr, "%s: out of memory.\n", args->program);
        return 1;
    }
    more[c->sample_count++] = sample;
    c->samples = s->samples = more;
    return -1;
}

/* The next word as a number that may be negative. */
static int signed_number(tool_args *args, const char *option, int64_t *value)
{
    const char *word = args->value ? args->value : *args->next;
    int negative = word && word[0] == '-' && word[1] != '-';
    uint64_t number;
    int status;
    if (negative && args->value) args->value++;
    else if (negative) ++*args->next;
    status = tool_number(args, option, 63, &number);
    if (status) return status;
    *value = negative ? -(int64_t) number : (int64_t) number;
    return -1;
}

static int number(tool_args *args, const char *option, unsigned bits,
                  uint64_t *value)
{
    return tool_number(args, option, bits, value) ? 1 : -1;
}

static int text(tool_args *args, const char *option, const char **value)
{
    *value = any_word(args, option);
    return *value ? -1 : 1;
}

static int kcore(tool_args *args, sideband *s, const char *option, FILE *log)
{
    const char *word = any_word(args, option);
    if (!word) return 1;
    if (s->prints_only) return -1;
    return code_add_elf(args, &s->session.kernel, word, log) ? 1 : -1;
}

/* ---- options ---- */

static int time_option(tool_args *args, pevent_config *c, const char *word,
                       const char *what)
{
    uint64_t value;
    int status;
    if (strcmp(what, "time-zero") == 0)
        return number(args, word, 64, &c->time_zero);
    if (strcmp(what, "time-shift") == 0) {
        status = number(args, word, 16, &value);
        if (status < 0) c->time_shift = (uint16_t) value;
        return status;
    }
    if (strcmp(what, "time-mult") == 0) {
        status = number(args, word, 32, &value);
        if (status < 0) c->time_mult = (uint32_t) value;
        return status;
    }
    return 0;
}

static int pevent_option(tool_args *args, sideband *s, const char *word,
                         const char *what, FILE *log)
{
    pevent_config *c = &s->config;
    if (strcmp(what, "primary") == 0) return add_file(args, s, word, 1);
    if (strcmp(what, "secondary") == 0) return add_file(args, s, word, 0);
    if (strcmp(what, "sample-type") == 0)
        return number(args, word, 64, &c->sample_type);
    if (strcmp(what, "sample-config") == 0)
        return sample_config(args, s, word);
    if (strcmp(what, "tsc-offset") == 0)
        return signed_number(args, word, &c->tsc_offset);
    if (strcmp(what, "kernel-start") == 0)
        return number(args, word, 64, &c->kernel_start);
    if (strcmp(what, "sysroot") == 0) return text(args, word, &c->sysroot);
    if (strcmp(what, "kcore") == 0) return kcore(args, s, word, log);
    if (strcmp(what, "vdso-x64") == 0)
        return text(args, word, &c->vdso[PEVENT_ABI_X64]);
    if (strcmp(what, "vdso-x32") == 0)
        return text(args, word, &c->vdso[PEVENT_ABI_X32]);
    if (strcmp(what, "vdso-ia32") == 0)
        return text(args, word, &c->vdso[PEVENT_ABI_IA32]);
    return time_option(args, c, word, what);
}

int sideband_option(tool_args *args, sideband *s, const char *word, FILE *log)
{
    if (strncmp(word, "--sb", 4) == 0) return print_option(s, word + 4);
    if (strcmp(word, "--pevent") == 0 && s->prints_only)
        return add_file(args, s, word, 1);
    if (strncmp(word, "--pevent:", 9) == 0)
        return pevent_option(args, s, word, word + 9, log);
    return 0;
}
