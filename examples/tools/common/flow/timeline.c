/* timeline.c: see timeline.h. The formats:
 *
 *   Chrome      Trace Event Format: an array of objects with ph B, E, n, C, M
 *   Perfetto    a sequence of TracePacket messages, each as field 1
 *   speedscope  https://www.speedscope.app/file-format-schema.json
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#define _FILE_OFFSET_BITS 64
#include "timeline.h"
#include "../code/tool.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#define CHUNK 8192u /* of a thread's events; its first 8 bytes: where the next
                       one is */
#define TEXT 4096u  /* bytes of a name, at most */

/* A call of which it is not known yet whether it takes long enough. */
typedef struct waiting {
    const char *text;
    uint64_t time;
    uint32_t name;
} waiting;

struct timeline_track_ {
    char *name;
    uint32_t pid;
    uint32_t tid;
    uint64_t begin; /* the first and the last time */
    uint64_t end;
    uint8_t used;   /* there was one */
    uint8_t is_part; /* of a thread */
    waiting *list;   /* calls that are open, the innermost last */
    size_t waits;
    size_t wait_max;
    uint64_t left_out; /* calls */
    uint64_t told;   /* ... that its value says */
    uint32_t value;  /* the track for that; 0: none yet, as the first is a
                        thread's */
    /* SPEEDSCOPE */
    uint64_t first; /* chunk in the spool */
    uint64_t at;    /* ... where the one at hand will be */
    uint32_t fill;
    char *chunk;
};

/* ---- times ---- */

/* In ns, or instructions. */
static uint64_t whole(const timeline *t, uint64_t time)
{
    return t->by_insn ? time : time / TIMELINE_FINE;
}

/* What is left of a ns, in ps: three digits, after `point`; or nothing. */
static const char *rest(const timeline *t, char out[8], const char *point,
                        uint64_t time)
{
    const unsigned ps = (unsigned) (time % TIMELINE_FINE * 1000 / TIMELINE_FINE);
    out[0] = 0;
    if (!t->by_insn) snprintf(out, 8, "%s%03u", point, ps);
    return out;
}

/* ---- Perfetto ---- */

typedef struct message {
    uint8_t bytes[2 * TEXT];
    size_t size;
} message;

static void put_varint(message *m, uint64_t n)
{
    do {
        m->bytes[m->size++] = (uint8_t) (n & 0x7f) | (n > 0x7f ? 0x80 : 0);
        n >>= 7;
    } while (n);
}

static void put_field(message *m, uint32_t field, uint64_t n)
{
    put_varint(m, (uint64_t) field << 3);
    put_varint(m, n);
}

static void put_bytes(message *m, uint32_t field, const void *bytes,
                      size_t size)
{
    put_varint(m, (uint64_t) field << 3 | 2);
    put_varint(m, size);
    memcpy(m->bytes + m->size, bytes, size);
    m->size += size;
}

static void put_string(message *m, uint32_t field, const char *text)
{
    char out[TEXT];
    tool_clean(out, sizeof out, text, 0);
    put_bytes(m, field, out, strlen(out));
}

static void put_message(message *m, uint32_t field, const message *inner)
{
    put_bytes(m, field, inner->bytes, inner->size);
}

enum { /* numbers of fields, and what some of them are set to */
    TRACE_PACKET = 1,
    PACKET_TIMESTAMP = 8, PACKET_SEQUENCE = 10, PACKET_EVENT = 11,
    PACKET_INTERNED = 12, PACKET_FLAGS = 13, PACKET_TRACK = 60,
    FLAG_CLEARED = 1, FLAG_NEEDED = 2,
    TRACK_UUID = 1, TRACK_NAME = 2, TRACK_PROCESS = 3, TRACK_THREAD = 4,
    TRACK_PARENT = 5, TRACK_COUNTER = 8,
    PROCESS_PID = 1,
    THREAD_PID = 1, THREAD_TID = 2, THREAD_NAME = 5,
    EVENT_TYPE = 9, EVENT_NAME_IID = 10, EVENT_TRACK = 11, EVENT_NAME = 23,
    EVENT_VALUE = 30,
    TYPE_BEGIN = 1, TYPE_END = 2, TYPE_INSTANT = 3, TYPE_COUNTER = 4,
    INTERNED_NAMES = 2, NAME_IID = 1, NAME_TEXT = 2
};

static void write_packet(timeline *t, const message *packet)
{
    message head;
    head.size = 0;
    put_varint(&head, TRACE_PACKET << 3 | 2);
    put_varint(&head, packet->size);
    if (fwrite(head.bytes, head.size, 1, t->file) != 1
        || fwrite(packet->bytes, packet->size, 1, t->file) != 1)
        t->failed = 1;
}

/* Processes have uuids of their own range. */
static uint64_t process_uuid(uint32_t pid)
{
    return (uint64_t) 1 << 32 | pid;
}

static void describe(timeline *t, const message *track)
{
    message packet;
    packet.size = 0;
    put_field(&packet, PACKET_SEQUENCE, 1);
    put_message(&packet, PACKET_TRACK, track);
    write_packet(t, &packet);
}

static void perfetto_process(timeline *t, uint32_t pid)
{
    message track, process;
    for (uint32_t i = 0; i + 1 < t->count; i++)
        if (t->tracks[i].pid == pid && !t->tracks[i].is_part) return;
    process.size = track.size = 0;
    put_field(&process, PROCESS_PID, pid);
    put_field(&track, TRACK_UUID, process_uuid(pid));
    put_message(&track, TRACK_PROCESS, &process);
    describe(t, &track);
}

static void perfetto_thread(timeline *t, uint32_t index)
{
    const timeline_track_ *const of = &t->tracks[index];
    message track, thread;
    perfetto_process(t, of->pid);
    thread.size = track.size = 0;
    put_field(&thread, THREAD_PID, of->pid);
    put_field(&thread, THREAD_TID, of->tid);
    put_string(&thread, THREAD_NAME, of->name);
    put_field(&track, TRACK_UUID, index + 1);
    put_field(&track, TRACK_PARENT, process_uuid(of->pid));
    put_message(&track, TRACK_THREAD, &thread);
    describe(t, &track);
}

static void perfetto_part(timeline *t, uint32_t index, uint32_t parent,
                          int is_value)
{
    message track;
    track.size = 0;
    put_field(&track, TRACK_UUID, index + 1);
    put_string(&track, TRACK_NAME, t->tracks[index].name);
    put_field(&track, TRACK_PARENT, parent + 1);
    if (is_value) put_bytes(&track, TRACK_COUNTER, "", 0);
    describe(t, &track);
}

/* Is a name to be interned now? */
static int is_new(timeline *t, uint32_t name)
{
    const uint32_t byte = name / 8;
    if (byte >= t->seen_size) {
        const uint32_t size = byte + byte / 2 + 64;
        uint8_t *const seen = (uint8_t *) realloc(t->seen, size);
        if (!seen) {
            t->failed = 1;
            return 1;
        }
        memset(seen + t->seen_size, 0, size - t->seen_size);
        t->seen = seen;
        t->seen_size = size;
    }
    if (t->seen[byte] >> (name % 8) & 1) return 0;
    t->seen[byte] |= (uint8_t) (1u << (name % 8));
    return 1;
}

static void perfetto_event(timeline *t, uint32_t track, uint64_t type,
                           uint32_t name, const char *text, uint64_t value,
                           uint64_t time)
{
    message packet, event, interned, entry;
    packet.size = event.size = interned.size = entry.size = 0;
    put_field(&packet, PACKET_TIMESTAMP, whole(t, time));
    put_field(&packet, PACKET_SEQUENCE, 1);
    put_field(&packet, PACKET_FLAGS, FLAG_NEEDED);
    if (type == TYPE_BEGIN && is_new(t, name)) {
        put_field(&entry, NAME_IID, name);
        put_string(&entry, NAME_TEXT, text);
        put_message(&interned, INTERNED_NAMES, &entry);
        put_message(&packet, PACKET_INTERNED, &interned);
    }
    put_field(&event, EVENT_TYPE, type);
    if (type == TYPE_BEGIN) put_field(&event, EVENT_NAME_IID, name);
    put_field(&event, EVENT_TRACK, track + 1);
    if (type == TYPE_INSTANT) put_string(&event, EVENT_NAME, text);
    if (type == TYPE_COUNTER) put_field(&event, EVENT_VALUE, value);
    put_message(&packet, PACKET_EVENT, &event);
    write_packet(t, &packet);
}

static void perfetto_open(timeline *t)
{
    message packet;
    packet.size = 0;
    put_field(&packet, PACKET_SEQUENCE, 1);
    put_field(&packet, PACKET_FLAGS, FLAG_CLEARED);
    write_packet(t, &packet);
}

/* ---- Chrome ---- */

static void print_json(timeline *t, const char *text)
{
    char out[TEXT];
    fputs(tool_clean(out, sizeof out, text, 1), t->file);
}

/* An object of the array, up to its own fields. */
static void chrome_begin(timeline *t, uint32_t track, char kind,
                         const char *text, uint64_t time)
{
    const timeline_track_ *const of = &t->tracks[track];
    const uint64_t ns = whole(t, time);
    char ps[8];
    fprintf(t->file, "%s{\"ph\":\"%c\",\"pid\":%" PRIu32 ",\"tid\":%" PRIu32
            ",\"ts\":%" PRIu64 ".%03u%s,\"name\":\"", t->separator, kind,
            of->pid, of->tid, ns / 1000, (unsigned) (ns % 1000),
            rest(t, ps, "", time));
    print_json(t, text);
    fputc('"', t->file);
    t->separator = ",\n";
}

static void chrome_thread(timeline *t, uint32_t track)
{
    chrome_begin(t, track, 'M', "thread_name", 0);
    fputs(",\"args\":{\"name\":\"", t->file);
    print_json(t, t->tracks[track].name);
    fputs("\"}}", t->file);
}

/* ---- speedscope ---- */

static void speedscope_flush(timeline *t, timeline_track_ *of)
{
    uint8_t link[8];
    const uint64_t next = t->spooled;
    for (unsigned i = 0; i < 8; i++) link[i] = (uint8_t) (next >> (8 * i));
    memcpy(of->chunk, link, 8);
    memset(of->chunk + of->fill, ' ', CHUNK - of->fill);
    if (fseeko(t->spool, (off_t) of->at, SEEK_SET) != 0
        || fwrite(of->chunk, CHUNK, 1, t->spool) != 1)
        t->failed = 1;
    t->spooled += CHUNK;
    of->at = next;
    of->fill = 8;
}

static void speedscope_event(timeline *t, uint32_t track, char kind,
                             uint32_t name, uint64_t time)
{
    timeline_track_ *const of = &t->tracks[track];
    char text[80], ps[8];
    const int n = snprintf(text, sizeof text, "%s{\"type\":\"%c\",\"frame\":%"
                           PRIu32 ",\"at\":%" PRIu64 "%s}\n",
                           of->used ? "," : "", kind, name - 1,
                           whole(t, time), rest(t, ps, ".", time));
    if (!of->chunk) {
        of->chunk = (char *) malloc(CHUNK);
        if (!of->chunk) {
            t->failed = 1;
            return;
        }
        of->first = of->at = t->spooled;
        of->fill = 8;
        t->spooled += CHUNK;
    }
    if (of->fill + (uint32_t) n > CHUNK) speedscope_flush(t, of);
    memcpy(of->chunk + of->fill, text, (size_t) n);
    of->fill += (uint32_t) n;
    if (name > t->names) t->names = name;
}

/* The events of a thread, from the spool; `at` is where its next chunk would
 * be. */
static void speedscope_copy(timeline *t, const timeline_track_ *of,
                            char *chunk)
{
    uint64_t from = of->first;
    while (from != of->at) {
        uint64_t next = 0;
        if (fseeko(t->spool, (off_t) from, SEEK_SET) != 0
            || fread(chunk, CHUNK, 1, t->spool) != 1) {
            t->failed = 1;
            return;
        }
        for (unsigned i = 0; i < 8; i++)
            next |= (uint64_t) (uint8_t) chunk[i] << (8 * i);
        fwrite(chunk + 8, CHUNK - 8, 1, t->file);
        from = next;
    }
}

static void speedscope_profile(timeline *t, timeline_track_ *of, char *chunk)
{
    char begin[8], end[8];
    fprintf(t->file, "%s{\"type\":\"evented\",\"name\":\"", t->separator);
    print_json(t, of->name);
    fprintf(t->file, " %" PRIu32, of->tid);
    if (of->left_out)
        fprintf(t->file, " (%" PRIu64 " calls left out)", of->left_out);
    fprintf(t->file, "\",\"unit\":\"%s\",\"startValue\":%" PRIu64
            "%s,\"endValue\":%" PRIu64 "%s,\"events\":[\n",
            t->by_insn ? "none" : "nanoseconds", whole(t, of->begin),
            rest(t, begin, ".", of->begin), whole(t, of->end),
            rest(t, end, ".", of->end));
    speedscope_flush(t, of);
    speedscope_copy(t, of, chunk);
    fputs("]}", t->file);
    t->separator = ",\n";
}

static void speedscope_close(timeline *t,
                             const char *(*text_of)(uint32_t, void *),
                             void *context)
{
    static char chunk[CHUNK];
    fputs("{\"$schema\":\"https://www.speedscope.app/file-format-schema.json"
          "\",\n\"exporter\":\"ipt\",\n\"profiles\":[\n", t->file);
    t->separator = "";
    for (uint32_t i = 0; i < t->count; i++)
        if (t->tracks[i].chunk)
            speedscope_profile(t, &t->tracks[i], chunk);
    fputs("],\n\"shared\":{\"frames\":[\n", t->file);
    for (uint32_t i = 1; i <= t->names; i++) {
        fprintf(t->file, "%s{\"name\":\"", i > 1 ? "},\n" : "");
        print_json(t, text_of(i, context));
        fputc('"', t->file);
    }
    fputs(t->names ? "}\n]}}\n" : "]}}\n", t->file);
}

/* ---- all of them ---- */

int timeline_open(timeline *t, timeline_format format, const char *path,
                  int by_insn)
{
    memset(t, 0, sizeof *t);
    t->format = format;
    t->by_insn = by_insn;
    t->separator = "";
    t->file = tool_create(path);
    if (!t->file) return -1;
    if (format == TIMELINE_SPEEDSCOPE) {
        t->spool = tmpfile();
        if (t->spool) return 0;
        tool_close(t->file);
        return -1;
    }
    if (format == TIMELINE_PERFETTO)
        perfetto_open(t);
    else
        fprintf(t->file, "{\"displayTimeUnit\":\"ns\",%s\"traceEvents\":[\n",
                by_insn ? "\"otherData\":{\"clock\":\"instructions: one is "
                          "shown as 1 ns\"}," : "");
    return 0;
}

static uint32_t add_track(timeline *t, uint32_t pid, uint32_t tid,
                          const char *name)
{
    timeline_track_ *of;
    if (t->count == t->max) {
        const uint32_t max = t->max ? 2 * t->max : 16;
        timeline_track_ *const tracks = max > UINT32_MAX / 4 ? NULL
            : (timeline_track_ *) realloc(t->tracks, max * sizeof *tracks);
        if (!tracks) return UINT32_MAX;
        t->tracks = tracks;
        t->max = max;
    }
    of = &t->tracks[t->count];
    memset(of, 0, sizeof *of);
    of->name = strdup(name);
    if (!of->name) return UINT32_MAX;
    of->pid = pid;
    of->tid = tid;
    return t->count++;
}

uint32_t timeline_thread(timeline *t, uint32_t pid, uint32_t tid,
                         const char *name)
{
    const uint32_t track = add_track(t, pid, tid, name);
    if (track == UINT32_MAX) return track;
    if (t->format == TIMELINE_PERFETTO) perfetto_thread(t, track);
    if (t->format == TIMELINE_CHROME) chrome_thread(t, track);
    return track;
}

static uint32_t add_part(timeline *t, uint32_t parent, const char *name,
                         int is_value)
{
    const uint32_t track = add_track(t, t->tracks[parent].pid,
                                     t->tracks[parent].tid, name);
    if (track == UINT32_MAX) return track;
    t->tracks[track].is_part = 1;
    if (t->format == TIMELINE_PERFETTO)
        perfetto_part(t, track, parent, is_value);
    return track;
}

uint32_t timeline_value(timeline *t, uint32_t parent, const char *name)
{
    return add_part(t, parent, name, 1);
}

uint32_t timeline_moments(timeline *t, uint32_t parent, const char *name)
{
    return add_part(t, parent, name, 0);
}

/* A function is entered, or left. */
static void put_call(timeline *t, uint32_t track, int enters, uint32_t name,
                     const char *text, uint64_t time)
{
    timeline_track_ *const of = &t->tracks[track];
    switch (t->format) {
    case TIMELINE_CHROME:
        chrome_begin(t, track, enters ? 'B' : 'E', text, time);
        fputc('}', t->file);
        break;
    case TIMELINE_PERFETTO:
        perfetto_event(t, track, enters ? TYPE_BEGIN : TYPE_END, name, text, 0,
                       time);
        break;
    default:
        speedscope_event(t, track, enters ? 'O' : 'C', name, time);
        break;
    }
    if (!of->used) of->begin = time;
    of->end = time;
    of->used = 1;
}

void timeline_mark(timeline *t, uint32_t track, const char *text,
                   uint64_t time)
{
    if (t->format == TIMELINE_CHROME) {
        chrome_begin(t, track, 'n', text, time);
        fputs(",\"cat\":\"", t->file);
        print_json(t, t->tracks[track].name);
        fprintf(t->file, "\",\"id\":%" PRIu32 "}", t->tracks[track].tid);
    } else if (t->format == TIMELINE_PERFETTO) {
        perfetto_event(t, track, TYPE_INSTANT, 0, text, 0, time);
    }
}

void timeline_set(timeline *t, uint32_t track, uint64_t value, uint64_t time)
{
    if (t->format == TIMELINE_CHROME) {
        chrome_begin(t, track, 'C', t->tracks[track].name, time);
        /* Without a number all threads of a process share a value. */
        fprintf(t->file, ",\"id\":%" PRIu32 ",\"args\":{\"value\":%" PRIu64
                "}}", t->tracks[track].tid, value);
    } else if (t->format == TIMELINE_PERFETTO) {
        perfetto_event(t, track, TYPE_COUNTER, 0, NULL, value, time);
    }
}

/* The calls that are open take long enough: write that they began. */
static void put_waiting(timeline *t, uint32_t track)
{
    timeline_track_ *const of = &t->tracks[track];
    for (size_t i = 0; i < of->waits; i++)
        put_call(t, track, 1, of->list[i].name, of->list[i].text,
                 of->list[i].time);
    of->waits = 0;
}

static void tell_left_out(timeline *t, uint32_t track, uint64_t time)
{
    timeline_track_ *of = &t->tracks[track];
    if (of->told == of->left_out || t->format == TIMELINE_SPEEDSCOPE) return;
    if (!of->value) {
        const uint32_t value = timeline_value(t, track, "calls left out");
        if (value == UINT32_MAX) {
            t->failed = 1;
            return;
        }
        of = &t->tracks[track];
        of->value = value;
    }
    of->told = of->left_out;
    timeline_set(t, of->value, of->left_out, time);
}

void timeline_enter(timeline *t, uint32_t track, uint32_t name,
                    const char *text, uint64_t time)
{
    timeline_track_ *const of = &t->tracks[track];
    waiting *w;
    if (!t->least) {
        put_call(t, track, 1, name, text, time);
        return;
    }
    if (of->waits == of->wait_max) {
        const size_t max = 2 * of->wait_max + 64;
        if (!tool_grow(&of->list, max, sizeof *of->list)) {
            t->failed = 1;
            return;
        }
        of->wait_max = max;
    }
    w = &of->list[of->waits++];
    w->name = name;
    w->text = text;
    w->time = time;
}

void timeline_leave(timeline *t, uint32_t track, uint32_t name,
                    const char *text, uint64_t time)
{
    timeline_track_ *const of = &t->tracks[track];
    if (of->waits && time - of->list[of->waits - 1].time < t->least) {
        of->waits--;
        of->left_out++;
        return;
    }
    put_waiting(t, track);
    put_call(t, track, 0, name, text, time);
    tell_left_out(t, track, time);
}

int timeline_close(timeline *t, const char *(*text_of)(uint32_t, void *),
                   void *context)
{
    const uint32_t threads = t->count;
    for (uint32_t i = 0; i < threads; i++)
        tell_left_out(t, i, t->tracks[i].end);
    if (t->format == TIMELINE_CHROME) fputs("\n]}\n", t->file);
    if (t->format == TIMELINE_SPEEDSCOPE) {
        speedscope_close(t, text_of, context);
        fclose(t->spool);
    }
    if (tool_close(t->file)) t->failed = 1;
    for (uint32_t i = 0; i < t->count; i++) {
        free(t->tracks[i].name);
        free(t->tracks[i].list);
        free(t->tracks[i].chunk);
    }
    free(t->tracks);
    free(t->seen);
    return t->failed ? -1 : 0;
}
