/* perfdata.h: what Linux perf records: perf.data files and their records.
 *
 * Two files to copy, perfdata.h and perfdata.c. They need <stddef.h> and
 * <stdint.h>, call no libc but memcpy, memmove, memset and memcmp, allocate
 * nothing and keep no state outside the caller's structs. Bytes are hostile: no
 * size or count is believed before it is compared with the bytes left.
 *
 * perfdata_parse decodes one record, wherever its bytes come from. It wants
 * the perf_event_attr of the event that the record belongs to, because that
 * says which samples stand at the record's end:
 *
 *     perfdata_attr attr = {0};
 *     attr.sample_type = PERFDATA_SAMPLE_TID | PERFDATA_SAMPLE_TIME;
 *     attr.flags = PERFDATA_ATTR_SAMPLE_ID_ALL;
 *     status = perfdata_parse(&attr, 0, bytes, size, &record);
 *     if (status >= 0 && record.type == PERFDATA_MMAP2)
 *         use(record.u.mmap.addr, record.u.mmap.name, record.sample.time);
 *
 * perfdata_open and perfdata_next read a file, record by record, whatever its
 * form: as perf record writes it, as it pipes it (put what comes out of a pipe
 * into a file first), of the other byte order, compressed.
 *
 *     config.read = read_at;
 *     config.size = size_of_file;
 *     config.events = events, config.event_max = 16;
 *     config.ids = ids, config.id_max = 1024;
 *     status = perfdata_open(&file, &config);
 *     while (status >= 0 && (status = perfdata_next(&file, &record)) >= 0)
 *         use(&record);
 *
 * perfdata_queues_ collects the trace in it, stream by stream, with its gaps.
 *
 * Types, flags and fields have the names of linux/perf_event.h, and what they
 * mean stands there and in perf's perf.data-file-format.txt.
 *
 * SPDX-License-Identifier: MIT */
#ifndef PERFDATA_H
#define PERFDATA_H
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- status ---- */

/* What functions return: 0 or more is success. */
enum {
    PERFDATA_END = -1,         /* no more records; nothing is wrong */
    PERFDATA_ERR_ARG = -16,    /* the caller's: an argument cannot be used */
    PERFDATA_ERR_MEMORY = -17, /* an array of the caller is full */
    PERFDATA_ERR_READ = -18,   /* the caller's read function failed */
    PERFDATA_ERR_ZSTD = -19,   /* compressed, and there is no inflate */
    PERFDATA_ERR_MAGIC = -32,  /* not a perf.data file */
    PERFDATA_ERR_HEADER = -33, /* the file's header contradicts itself */
    PERFDATA_ERR_CUT = -34,    /* the file ends inside */
    PERFDATA_ERR_RECORD = -35, /* a record's size is below its header's */
    PERFDATA_ERR_FIELDS = -36, /* a record is too small for what it holds */
    PERFDATA_ERR_STRING = -37, /* a name does not end inside its record */
    PERFDATA_ERR_INFLATE = -38 /* compressed bytes are damaged */
};

/* What a status means, in a few words. */
const char *perfdata_text(int status);

/* ---- perf_event_attr ---- */

enum {
    PERFDATA_SAMPLE_IP = 0x1,
    PERFDATA_SAMPLE_TID = 0x2,
    PERFDATA_SAMPLE_TIME = 0x4,
    PERFDATA_SAMPLE_ADDR = 0x8,
    PERFDATA_SAMPLE_READ = 0x10,
    PERFDATA_SAMPLE_CALLCHAIN = 0x20,
    PERFDATA_SAMPLE_ID = 0x40,
    PERFDATA_SAMPLE_CPU = 0x80,
    PERFDATA_SAMPLE_PERIOD = 0x100,
    PERFDATA_SAMPLE_STREAM_ID = 0x200,
    PERFDATA_SAMPLE_RAW = 0x400,
    PERFDATA_SAMPLE_BRANCH_STACK = 0x800,
    PERFDATA_SAMPLE_REGS_USER = 0x1000,
    PERFDATA_SAMPLE_STACK_USER = 0x2000,
    PERFDATA_SAMPLE_WEIGHT = 0x4000,
    PERFDATA_SAMPLE_DATA_SRC = 0x8000,
    PERFDATA_SAMPLE_IDENTIFIER = 0x10000,
    PERFDATA_SAMPLE_TRANSACTION = 0x20000,
    PERFDATA_SAMPLE_REGS_INTR = 0x40000,
    PERFDATA_SAMPLE_PHYS_ADDR = 0x80000,
    PERFDATA_SAMPLE_AUX = 0x100000,
    PERFDATA_SAMPLE_CGROUP = 0x200000,
    PERFDATA_SAMPLE_DATA_PAGE_SIZE = 0x400000,
    PERFDATA_SAMPLE_CODE_PAGE_SIZE = 0x800000,
    PERFDATA_SAMPLE_WEIGHT_STRUCT = 0x1000000,

    PERFDATA_TRAILER = 0x102c6 /* those that other records than SAMPLE have:
                                  TID TIME ID STREAM_ID CPU IDENTIFIER */
};

/* Bits of perfdata_attr.flags that say what records look like. The others are
 * numbered as in linux/perf_event.h, `disabled` being bit 0. */
#define PERFDATA_ATTR_EXCLUDE_USER ((uint64_t) 1 << 4)
#define PERFDATA_ATTR_EXCLUDE_KERNEL ((uint64_t) 1 << 5)
#define PERFDATA_ATTR_ENABLE_ON_EXEC ((uint64_t) 1 << 12)
#define PERFDATA_ATTR_SAMPLE_ID_ALL ((uint64_t) 1 << 18)
#define PERFDATA_ATTR_USE_CLOCKID ((uint64_t) 1 << 25)

typedef struct perfdata_attr {
    uint32_t type;
    uint32_t size;          /* bytes it has in the file */
    uint64_t config;
    uint64_t sample_period;
    uint64_t sample_type;   /* PERFDATA_SAMPLE_ */
    uint64_t read_format;
    uint64_t flags;         /* PERFDATA_ATTR_ */
    uint64_t config1;
    uint64_t config2;
    uint64_t branch_sample_type;
    uint64_t sample_regs_user;
    uint64_t sample_regs_intr;
    uint32_t aux_sample_size;
    uint32_t aux_action;
} perfdata_attr;

/* Decode a perf_event_attr of at most `size` bytes. Its own size field, 0
 * meaning 64, says how much of them it takes; what it does not have is 0.
 * returns  the bytes it takes; PERFDATA_ERR_FIELDS */
int perfdata_parse_attr(int big_endian, const uint8_t *bytes, size_t size,
                        perfdata_attr *attr);

/* ---- records ---- */

enum {
    PERFDATA_MMAP = 1,
    PERFDATA_LOST = 2,
    PERFDATA_COMM = 3,
    PERFDATA_EXIT = 4,
    PERFDATA_THROTTLE = 5,
    PERFDATA_UNTHROTTLE = 6,
    PERFDATA_FORK = 7,
    PERFDATA_READ = 8,
    PERFDATA_SAMPLE = 9,
    PERFDATA_MMAP2 = 10,
    PERFDATA_AUX = 11,
    PERFDATA_ITRACE_START = 12,
    PERFDATA_LOST_SAMPLES = 13,
    PERFDATA_SWITCH = 14,
    PERFDATA_SWITCH_CPU_WIDE = 15,
    PERFDATA_NAMESPACES = 16,
    PERFDATA_KSYMBOL = 17,
    PERFDATA_BPF_EVENT = 18,
    PERFDATA_CGROUP = 19,
    PERFDATA_TEXT_POKE = 20,
    PERFDATA_AUX_OUTPUT_HW_ID = 21,
    PERFDATA_USER_TYPES = 64, /* from here on perf's own, without samples */
    PERFDATA_HEADER_ATTR = 64,
    PERFDATA_TRACING_DATA = 66,
    PERFDATA_BUILD_ID = 67,
    PERFDATA_FINISHED_ROUND = 68,
    PERFDATA_ID_INDEX = 69,
    PERFDATA_AUXTRACE_INFO = 70,
    PERFDATA_AUXTRACE = 71,
    PERFDATA_AUXTRACE_ERROR = 72,
    PERFDATA_TIME_CONV = 79,
    PERFDATA_HEADER_FEATURE = 80,
    PERFDATA_COMPRESSED = 81,
    PERFDATA_COMPRESSED2 = 83
};

/* perfdata_record.misc. Bits mean different things for different types. */
enum {
    PERFDATA_MISC_CPUMODE_MASK = 7,
    PERFDATA_MISC_KERNEL = 1,
    PERFDATA_MISC_USER = 2,
    PERFDATA_MISC_HYPERVISOR = 3,
    PERFDATA_MISC_GUEST_KERNEL = 4,
    PERFDATA_MISC_GUEST_USER = 5,
    PERFDATA_MISC_MMAP_DATA = 0x2000,      /* MMAP: of data, not of code */
    PERFDATA_MISC_COMM_EXEC = 0x2000,      /* COMM: by exec */
    PERFDATA_MISC_FORK_EXEC = 0x2000,      /* FORK: made up from /proc */
    PERFDATA_MISC_SWITCH_OUT = 0x2000,     /* SWITCH: the task leaves */
    PERFDATA_MISC_SWITCH_PREEMPT = 0x4000, /* ... though it could go on */
    PERFDATA_MISC_MMAP_BUILD_ID = 0x4000,  /* MMAP2: see mmap.build_id */
    PERFDATA_MISC_BUILD_ID_SIZE = 0x8000   /* BUILD_ID: has a size */
};

/* perfdata_record.u.aux.flags */
enum {
    PERFDATA_AUX_TRUNCATED = 1,
    PERFDATA_AUX_OVERWRITE = 2,
    PERFDATA_AUX_PARTIAL = 4,
    PERFDATA_AUX_COLLISION = 8
};

/* The samples of a record: for PERFDATA_SAMPLE those that it begins with, for
 * other types those at its end. What `has` does not name is 0. */
typedef struct perfdata_sample {
    uint64_t has;        /* bits of PERFDATA_TRAILER */
    uint32_t pid;
    uint32_t tid;
    uint64_t time;       /* of perf's clock: ns, see perfdata_time_conv */
    uint64_t id;
    uint64_t stream_id;
    uint64_t identifier;
    uint32_t cpu;
} perfdata_sample;

#define PERFDATA_BUILD_ID_MAX 20
#define PERFDATA_NAMESPACE_KINDS 7 /* net uts ipc pid user mnt cgroup */
#define PERFDATA_PT_WORDS 17

/* One record. Pointers point into its bytes; names end with a zero there and
 * may hold any other byte. */
typedef struct perfdata_record {
    const uint8_t *bytes;   /* header included */
    uint32_t type;          /* PERFDATA_: which member of u is filled */
    uint16_t misc;
    uint16_t size;          /* of bytes */
    uint16_t body;          /* header and own fields, a name padded to 8 */
    uint16_t trailer;       /* size of the samples at the end; body + trailer
                               is at most size */
    uint32_t event;         /* from perfdata_next: index of its event */
    uint64_t offset;        /* from perfdata_next: where it is in the file;
                               for what was compressed: the COMPRESSED record */
    uint8_t packed;         /* from perfdata_next: it was compressed */
    perfdata_sample sample;
    union {
        struct {            /* MMAP, MMAP2 */
            uint32_t pid;
            uint32_t tid;
            uint64_t addr;
            uint64_t len;
            uint64_t pgoff; /* bytes */
            uint32_t maj;   /* from here on 0 for MMAP. Where there is a build
                               id, its bytes stand in maj to ino_generation */
            uint32_t min;
            uint64_t ino;
            uint64_t ino_generation;
            uint32_t prot;
            uint32_t flags;
            uint8_t build_id_size; /* 0: none */
            uint8_t build_id[PERFDATA_BUILD_ID_MAX];
            const char *name;
        } mmap;
        struct {            /* LOST; LOST_SAMPLES has no id */
            uint64_t id;
            uint64_t lost;
        } lost;
        struct {            /* COMM */
            uint32_t pid;
            uint32_t tid;
            const char *name;
        } comm;
        struct {            /* EXIT, FORK */
            uint32_t pid;
            uint32_t ppid;
            uint32_t tid;
            uint32_t ptid;
            uint64_t time;
        } task;
        struct {            /* THROTTLE, UNTHROTTLE */
            uint64_t time;
            uint64_t id;
            uint64_t stream_id;
        } throttle;
        struct {            /* ITRACE_START, SWITCH_CPU_WIDE, READ */
            uint32_t pid;   /* SWITCH_CPU_WIDE: of the other task */
            uint32_t tid;
        } thread;
        struct {            /* AUX */
            uint64_t offset;
            uint64_t size;
            uint64_t flags; /* PERFDATA_AUX_ */
        } aux;
        struct {            /* NAMESPACES */
            uint32_t pid;
            uint32_t tid;
            uint32_t count; /* of those below: at most the array's length */
            struct {
                uint64_t dev;
                uint64_t inode;
            } link[PERFDATA_NAMESPACE_KINDS];
        } namespaces;
        struct {            /* KSYMBOL */
            uint64_t addr;
            uint32_t len;
            uint16_t kind;  /* 0 unknown, 1 BPF, 2 out-of-line code */
            uint16_t flags; /* 1: unregister */
            const char *name;
        } ksymbol;
        struct {            /* BPF_EVENT */
            uint16_t kind;  /* 1 load, 2 unload */
            uint16_t flags;
            uint32_t id;
            const uint8_t *tag; /* 8 bytes */
        } bpf;
        struct {            /* CGROUP */
            uint64_t id;
            const char *path;
        } cgroup;
        struct {            /* TEXT_POKE */
            uint64_t addr;
            uint16_t old_len;
            uint16_t new_len;
            const uint8_t *old_bytes;
            const uint8_t *new_bytes;
        } text_poke;
        uint64_t hw_id;     /* AUX_OUTPUT_HW_ID */
        struct {            /* SAMPLE: what bits ask for, else 0 */
            uint64_t ip;
            uint64_t addr;
            uint64_t period;
            uint32_t raw_size;
            uint32_t aux_size;
            const uint8_t *raw; /* of a tracepoint */
            const uint8_t *aux; /* of the trace */
            uint64_t kept;      /* if that was compressed: where the caller
                                   has put it, see perfdata_config.kept, or 0 */
        } event;
        struct {            /* HEADER_ATTR */
            perfdata_attr attr;
            const uint8_t *ids; /* perfdata_u64 reads one */
            uint32_t id_count;
        } attr;
        struct {            /* TRACING_DATA: size bytes follow the record */
            uint32_t size;
        } tracing;
        struct {            /* BUILD_ID */
            uint32_t pid;
            uint8_t size;
            uint8_t id[PERFDATA_BUILD_ID_MAX];
            const char *name;
        } build_id;
        struct {            /* AUXTRACE_INFO */
            uint32_t kind;  /* 1: Intel PT */
            uint32_t count; /* words that the record has */
            uint64_t word[PERFDATA_PT_WORDS]; /* PERFDATA_PT_; 0: missing */
            const char *filter;  /* the address filters; "" if none */
            uint64_t event_trace; /* capability */
        } info;
        struct {            /* AUXTRACE */
            uint64_t size;  /* of the trace, which follows the record */
            uint64_t offset;
            uint64_t reference;
            uint32_t idx;
            uint32_t tid;
            uint32_t cpu;   /* UINT32_MAX: not by cpu */
            uint64_t data;  /* from perfdata_next: where it is in the file */
            uint64_t left;  /* from perfdata_next: how much is there: less than
                               size if the file was cut */
        } auxtrace;
        struct {            /* AUXTRACE_ERROR */
            uint32_t type;
            uint32_t code;
            uint32_t cpu;
            uint32_t pid;
            uint32_t tid;
            uint64_t ip;
            uint64_t time;
            const char *message;
        } error;
        struct {            /* TIME_CONV */
            uint64_t shift;
            uint64_t mult;
            uint64_t zero;
            uint64_t cycles;
            uint64_t mask;
            uint8_t cap_time_zero;
            uint8_t cap_time_short;
        } time_conv;
        struct {            /* HEADER_FEATURE */
            uint64_t bit;
            const uint8_t *data;
            uint32_t size;
        } feature;
        struct {            /* COMPRESSED, COMPRESSED2 */
            const uint8_t *data;
            uint32_t size;
        } compressed;
    } u;
} perfdata_record;

/* Words of AUXTRACE_INFO of Intel PT. */
enum {
    PERFDATA_PT_PMU_TYPE,
    PERFDATA_PT_TIME_SHIFT,
    PERFDATA_PT_TIME_MULT,
    PERFDATA_PT_TIME_ZERO,
    PERFDATA_PT_CAP_USER_TIME_ZERO,
    PERFDATA_PT_TSC_BIT,
    PERFDATA_PT_NORETCOMP_BIT,
    PERFDATA_PT_HAVE_SCHED_SWITCH, /* 0 none, 1 tracepoint, 2 SWITCH,
                                      3 SWITCH_CPU_WIDE */
    PERFDATA_PT_SNAPSHOT_MODE,
    PERFDATA_PT_PER_CPU_MMAPS,
    PERFDATA_PT_MTC_BIT,
    PERFDATA_PT_MTC_FREQ_BITS,
    PERFDATA_PT_TSC_CTC_N, /* cpuid 0x15 ebx */
    PERFDATA_PT_TSC_CTC_D, /* cpuid 0x15 eax */
    PERFDATA_PT_CYC_BIT,
    PERFDATA_PT_MAX_NONTURBO_RATIO,
    PERFDATA_PT_FILTER_STR_LEN
};

/* A number of a record: in the file's byte order, at any address. */
uint32_t perfdata_u32(int big_endian, const uint8_t *bytes);
uint64_t perfdata_u64(int big_endian, const uint8_t *bytes);

/* Decode the record that begins at bytes, of which `size` are there.
 *
 * attr     of its event: sample_type and flags choose the trailer, read_format
 *          and the rest the fields of a SAMPLE. NULL: no trailer.
 * record   filled as far as decoding came. Of types that are not listed above
 *          only the header is, and the trailer of types below 64, if it fits
 * returns  0; PERFDATA_END: size is below a header's;
 *          PERFDATA_ERR_RECORD, _CUT, _FIELDS, _STRING
 *
 * The trailer is taken from the record's end backwards. A reader that wants no
 * bytes between fields and trailer compares body + trailer with size. */
int perfdata_parse(const perfdata_attr *attr, int big_endian,
                   const uint8_t *bytes, size_t size, perfdata_record *record);

/* An entry of the feature "build ids", which has the form of a BUILD_ID record
 * whatever type it says. Returns what perfdata_parse returns. */
int perfdata_parse_build_id(int big_endian, const uint8_t *bytes, size_t size,
                            perfdata_record *record);

/* The last eight bytes of a record: its IDENTIFIER sample, if its event has
 * one. 0 if the record is too small. */
uint64_t perfdata_identifier(int big_endian, const uint8_t *bytes, size_t size);

/* ---- files ---- */

/* What the file's header can have besides: perfdata_feature. */
enum {
    PERFDATA_FEATURE_BUILD_ID = 2,     /* perfdata_parse_build_id, repeated */
    PERFDATA_FEATURE_HOSTNAME = 3,     /* string */
    PERFDATA_FEATURE_OSRELEASE = 4,    /* string */
    PERFDATA_FEATURE_CPUID = 9,        /* string */
    PERFDATA_FEATURE_CMDLINE = 11,     /* u32 count, strings */
    PERFDATA_FEATURE_EVENT_DESC = 12,  /* u32 count, u32 size of an attr; then
                                          attr, u32 ids, string, the ids */
    PERFDATA_FEATURE_PMU_MAPPINGS = 16,/* u32 count, then u32 type, string */
    PERFDATA_FEATURE_AUXTRACE = 18,
    PERFDATA_FEATURE_SAMPLE_TIME = 21, /* u64 first, u64 last */
    PERFDATA_FEATURE_DIR_FORMAT = 24,  /* u64: 1: there are files data.N */
    PERFDATA_FEATURE_COMPRESSED = 27,
    PERFDATA_FEATURES = 64             /* those from here on are not kept */
};

/* A part of the file. */
typedef struct perfdata_place {
    uint64_t offset;
    uint64_t size;
} perfdata_place;

/* An id of an event: what the IDENTIFIER of its records is. */
typedef struct perfdata_id {
    uint64_t id;
    uint32_t event; /* index into perfdata_config.events */
} perfdata_id;

/* The arrays may be enlarged, keeping what is in them, between calls. */
typedef struct perfdata_config {
    /* Put `size` bytes of the file at `offset` into buffer; never called for
     * bytes beyond `size` below. 0, or another value if that failed. */
    int (*read)(uint8_t *buffer, size_t size, uint64_t offset, void *context);
    /* Decompress (zstd) from in to out. All calls together are one stream; in
     * NULL begins it again. *in_size and *out_size come as what there is and
     * room for, and go as what was used and made. It is called until it makes
     * nothing, with *in_size 0 if nothing is left. 0, or another value for
     * damaged bytes. NULL: compressed files are refused. */
    int (*inflate)(uint8_t *out, size_t *out_size, const uint8_t *in,
                   size_t *in_size, void *context);
    void *context;
    uint64_t size;         /* of the file */
    uint64_t kept;         /* bytes that read finds after it besides: trace that
                              was compressed, which the caller keeps */
    /* More records, each place as if it were a file of its own: data.0 and so
     * on of a folder, which the file has to be followed by. Then there is no
     * order among records, and FINISHED_ROUND, which says what is one, is not
     * handed out. */
    const perfdata_place *parts;
    uint32_t part_count;
    perfdata_attr *events; /* room for them; filled by perfdata_ */
    perfdata_id *ids;
    uint32_t event_max;
    uint32_t id_max;
} perfdata_config;

#define PERFDATA_NO_EVENT UINT32_MAX

/* An open file. Nothing in it is freed; it is too large for a stack. */
typedef struct perfdata {
    const perfdata_config *config;
    uint8_t big_endian;
    uint8_t is_pipe;       /* attrs and features come as records */
    uint32_t event_count;  /* in config->events */
    uint32_t id_count;     /* in config->ids, sorted when records were read */
    uint32_t event_need;   /* after PERFDATA_ERR_MEMORY: room that would do */
    uint32_t id_need;
    uint64_t offset;       /* after an error of perfdata_open: where */

    /* private */
    uint64_t first;        /* the records: [first, last) of the file */
    uint64_t last;
    uint64_t end;          /* of those that are read now: of a part, perhaps; */
    uint64_t next;         /* and where the next one is */
    uint32_t part;         /* the next one */
    uint8_t cut;           /* the file ended before what it promised */
    uint32_t sorted;       /* so many ids are */
    uint8_t more;          /* the last call of inflate made something */
    uint64_t window_at;    /* file offset of window[0] */
    uint32_t window_size;
    uint32_t packed;       /* in window: compressed bytes still to be used */
    uint32_t packed_size;
    uint64_t packed_at;    /* file offset of their record */
    uint32_t plain_at;     /* in plain: [plain_at, plain_size) is not used */
    uint32_t plain_size;
    perfdata_place features[PERFDATA_FEATURES]; /* size 0: none */
    uint8_t window[1 << 16];
    uint8_t plain[1 << 17];
} perfdata;

/* Read the header. config stays the caller's and has to stay there.
 * returns  0; PERFDATA_ERR_MEMORY: enlarge and call again; PERFDATA_ERR_MAGIC,
 *          _HEADER, _CUT, _FIELDS, _READ, with p->offset */
int perfdata_open(perfdata *p, const perfdata_config *config);

/* The next record in the order of the file. COMPRESSED records are replaced by
 * what is in them; all others are handed out, of unknown types, too.
 *
 * record   its pointers hold until the next call
 * returns  0; PERFDATA_END;
 *          PERFDATA_ERR_FIELDS, _STRING: of this record, whose offset, type
 *          and size are filled; call again for the one after it;
 *          PERFDATA_ERR_MEMORY: enlarge and call again;
 *          PERFDATA_ERR_CUT, _RECORD, _READ, _ZSTD, _INFLATE: there is no way
 *          on; record->offset says where */
int perfdata_next(perfdata *p, perfdata_record *record);

/* Begin with the first record again. */
void perfdata_rewind(perfdata *p);

/* Where a feature is: 1, or 0 if the file has none, or PERFDATA_ERR_CUT if the
 * file ends before it. In a pipe: those that came by until now. */
int perfdata_feature(const perfdata *p, unsigned bit, perfdata_place *place);

/* A feature that is a string, cut at size - 1. 1, 0, or an error. */
int perfdata_feature_text(const perfdata *p, unsigned bit, char *text,
                          size_t size);

/* Bytes of the file. 0, PERFDATA_ERR_CUT or _READ */
int perfdata_read(const perfdata *p, uint64_t offset, uint8_t *buffer,
                  size_t size);

/* The event with this id, or PERFDATA_NO_EVENT. */
uint32_t perfdata_event(perfdata *p, uint64_t id);

/* The event that traces, by what AUXTRACE_INFO says, or PERFDATA_NO_EVENT. */
uint32_t perfdata_pt_event(const perfdata *p, const perfdata_record *info);

/* perf's ns of a TSC and back, by the three numbers of AUXTRACE_INFO or
 * TIME_CONV. One is not the exact inverse of the other: compare in one unit.
 * The TSC of time 0, which says "before everything", is 0, as is that of a time
 * before the clock began, by less than 2^63 ns. Numbers that no clock has, mult
 * 0 or shift above 63, make everything 0. */
uint64_t perfdata_ns(uint64_t shift, uint64_t mult, uint64_t zero,
                     uint64_t tsc);
uint64_t perfdata_tsc(uint64_t shift, uint64_t mult, uint64_t zero,
                      uint64_t ns);

/* ---- queues ---- */

/* A stretch of trace without a gap in it. Stretches of a queue without gaps
 * between them are one stream. */
typedef struct perfdata_piece {
    uint64_t data;     /* where it is in the file */
    uint64_t size;
    uint64_t position; /* in the stream; with snapshots in the ring */
    uint64_t reference;
    uint32_t idx;      /* of its queue */
    uint32_t tid;
    uint32_t cpu;
    uint32_t order;    /* of its AUXTRACE or SAMPLE record */
    uint32_t gap;      /* it does not go on from the one before: PERFDATA_AUX_
                          of the AUX record that says so, PERFDATA_GAP_; 0: it
                          does */
} perfdata_piece;

#define PERFDATA_GAP_MISSING 0x10000  /* the file has no record of some trace */
#define PERFDATA_GAP_SNAPSHOT 0x20000 /* a snapshot, or in a SAMPLE; it may
                                         repeat the end of that before it: see
                                         perfdata_queues_trim */

typedef struct perfdata_queue {
    uint32_t idx;
    uint32_t cpu;   /* UINT32_MAX: by thread */
    uint32_t tid;   /* UINT32_MAX: by cpu */
    uint32_t first; /* its pieces, in the order of the file */
    uint32_t count;
    uint32_t gaps;  /* pieces of it with a gap */
    uint32_t gap_at_end; /* what is lost after the last */
    uint64_t size;
} perfdata_queue;

/* An AUX record that says that trace is lost. */
typedef struct perfdata_loss {
    uint64_t position; /* after this much of the stream */
    uint32_t flags;
    uint32_t cpu;
    uint32_t tid;
    uint8_t used;      /* private: its queue was found */
} perfdata_loss;

/* The caller sets the arrays and their _max, zeros the rest, and may enlarge
 * arrays between calls. */
typedef struct perfdata_queues {
    perfdata_piece *pieces; /* twice as many as AUXTRACE records will do */
    perfdata_loss *losses;
    perfdata_queue *queues;
    uint32_t piece_max;
    uint32_t loss_max;
    uint32_t queue_max;
    uint32_t piece_count;
    uint32_t loss_count;
    uint32_t queue_count;
    uint32_t records;       /* AUXTRACE records so far */
    uint32_t packed;        /* samples whose trace was compressed, and was not
                               kept: it is missing */
    uint8_t snapshot;       /* AUXTRACE_INFO says so, or samples have trace */
    uint8_t by_cpu;         /* AUXTRACE_INFO says so, for trace in samples */
} perfdata_queues;

/* Where the trace in a sample can be read; 0: nowhere. */
uint64_t perfdata_trace_at(const perfdata_record *sample);

/* Note what a record says about queues; any record may be given.
 * returns  0; PERFDATA_ERR_MEMORY: double pieces, losses, and call again */
int perfdata_queues_add(perfdata_queues *q, const perfdata_record *record);

/* All records were added: sort the pieces into queues and cut them at gaps.
 * returns  0; PERFDATA_ERR_MEMORY: enlarge pieces to piece_count + loss_count,
 *          queues to piece_count, and call again */
int perfdata_queues_finish(perfdata_queues *q);

/* After that: take from each snapshot what it repeats of the one before, with
 * which it is one stream then. A repetition without a PSB in it stays; flow
 * begins after it anyway.
 * returns  0; PERFDATA_ERR_READ, _CUT */
int perfdata_queues_trim(perfdata_queues *q, const perfdata *p);

#ifdef __cplusplus
}
#endif
#endif /* PERFDATA_H */
