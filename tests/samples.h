/* samples.h: small traces with their code, one for each kind of packet and each
 * turn that flow may take: what tests/hostile.c breaks and what fuzzing begins
 * with (fuzz/seed.c). Include ipt.h with its implementation first.
 *
 * A trace is written as text, a word for each packet:
 *
 *     psb psbend ovf stop bep exstop   no payload
 *     pad:3                            a run of three
 *     tnt:101 tnt64:101                oldest branch first
 *     tip:400fc0 pge pgd fup           48 bits sign-extended; tip.1:fc0 says
 *                                      IPBytes; without an address: suppressed
 *     exec:64 exec:16i                 i: RFLAGS.IF
 *     tsx:b tsx:c tsx:a                begin, commit, abort
 *     pip:1000 pip:1000,1              CR3, NR
 *     name:a,b,c                       numbers in hex, in the order of its row
 *                                      in [strings]' list
 *     ptw:1234,1+                      + at the end: a FUP follows
 *     raw:02ff                         these bytes
 *
 * Code lies at 0x400fc0 in 64-bit mode unless `base` says otherwise; it is the
 * index of an address in fuzz.h. */
#ifndef IPT_SAMPLES_H
#define IPT_SAMPLES_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SAMPLE_MAX 512

typedef struct sample {
    const char *name;
    const char *code;  /* hex */
    const char *trace; /* text */
    uint8_t base;
    uint8_t config; /* ipt_config.flags */
    uint8_t errata;
    uint8_t flags; /* of fuzz.h */
    uint8_t more;  /* of fuzz.h */
} sample;

/* PSB+ with 64-bit mode, tracing enabled at the first byte of code. */
#define AT "psb exec:64 fup:400fc0 psbend "
/* ON, with tracing disabled. */
#define OFF "psb exec:64 psbend "

static const sample samples[] = {
    /* packets, each one after a PSB+ */
    {"empty", "90", "", 0, 0, 0, 0, 0},
    {"psb", "90", "psb psbend", 0, 0, 0, 0, 0},
    {"psb_only", "90", "psb", 0, 0, 0, 0, 0},
    {"no_psb", "90", "exec:64 pge:400fc0 tnt:1 tip:400fc0", 0, 0, 0, 0, 0},
    {"pad", "90", "pad:5 psb pad:1 psbend pad:21 cbr:8 pad:2", 0, 0, 0, 0, 0},
    {"time", "90", OFF "tsc:12345678 tma:1234,156 mtc:77 cyc:3 cyc:1234 "
     "cyc:ffffffffffffffff cbr:1c", 0, 0, 0, 0, 0x20},
    {"mnt", "90", OFF "mnt:1122334455667788", 0, 0, 0, 0, 0},
    {"vmcs_pip", "90", "psb pip:12345000,1 vmcs:6789000 psbend pip:ffe0 "
     "vmcs:ffffffffff000", 0, 0, 0, 0, 0},
    {"ptw", "90", OFF "ptw:12345678,0 ptw:1122334455667788,1", 0, 0, 0, 0, 0},
    {"power", "90", OFF "mwait:60,1 pwre:6,1,0 exstop pwrx:6,5,1,1,1",
     0, 0, 0, 0, 0},
    {"pebs", "90", OFF "bbp:4,1 bip:aabbccdd,1,1 bip:1,1f,1 mtc:1 bep "
     "bbp:1,0 bip:1122334455667788,3,0 bip:0,0,0 bep", 0, 0, 0, 0, 0},
    {"pebs_ip", "9090", AT "bbp:4,1 bip:5,2,1 bep+ fup:400fc1 tip:400fc0",
     0, 0, 0, 0, 0},
    {"events", "90", OFF "cfe:1,e cfe:3,0 evd:1,1234 evd:2,2e cfe:8,0 "
     "cfe:f,0 cfe:1f,0 evd:0,7fff0000 cfe:1,e", 0, 0, 0, 0, 0},
    {"trig", "90", OFF "trig:0,3 trig:0,1,1", 0, 0, 0, 0, 0},
    {"tsx_off", "90", OFF "tsx:b tsx:c tsx:a", 0, 0, 0, 0, 0},
    {"ip_bytes", "90", "psb fup:400fc0 psbend tip.1:1234 tip.2:12345678 "
     "tip.3:ffff80000000 tip.4:123456789abc tip.6:fedcba9876543210 tip "
     "pgd.1:1", 0, 0, 0, 0, 0},
    {"opcodes", "90", OFF "raw:0200 cbr:1 raw:05 cbr:2 psb psbend raw:02ffff "
     "raw:c5 raw:15 psb psbend", 0, 0, 0, 4, 0},
    {"reserved", "90", OFF "raw:9980 psb psbend raw:a500 psb psbend raw:8211 "
     "psb psbend raw:02a3000000000000 psb psbend raw:02730000010000", 0, 0, 0,
     0, 0},
    {"skz84", "90", OFF "raw:0273000001000011 tsc:1", 0, 0, 0x40, 0, 0},
    {"skd007", "90", OFF "raw:070202f3 pge:400fc0", 0, 0, 0x02, 0, 0},
    {"long_psb", "90", "raw:02 psb raw:0282 raw:0282 raw:02820223 cbr:1 "
     "raw:820282 psb psb psbend", 0, 0, 0, 0, 0},
    {"cut_psb", "90", OFF "raw:02c288020202 psb exec:32 psbend", 0, 0, 0, 0, 0},

    /* flow: jz +1, nop, jmp to the start */
    {"loop", "7401 90 ebfb", AT "tnt:010 tnt:111111 tnt64:0101010101010101 "
     "cbr:5 tnt:0", 0, 0, 0, 0, 0},
    {"ticks", "7401 90 ebfb", "psb tsc:1000 tma:5,1 cbr:20 exec:64 fup:400fc0 "
     "psbend mtc:6 cyc:20 tnt:01 cyc:10 tnt:1 mtc:7 cyc:5 tnt:0 mtc:9 tnt:1 "
     "tsc:800 ovf fup:400fc0 cyc:3 tnt:1 psb tsc:9000 fup:400fc0 psbend tnt:1",
     0, 0x40, 0, 0, 0x21},
    {"loop_32", "7401 90 ebfb", "psb exec:32 fup:400fc0 psbend tnt:01011",
     0, 0, 0, 0, 0},
    {"loop_16", "7401 90 ebfb", "psb exec:16 fup:0 psbend tnt:01011", 2, 0, 0,
     0, 0},
    {"end_on", "eb00 e800000000 e900000000 7400", AT "tnt:1", 0, 0x30, 0, 0, 0},
    /* call f; jz start; f: ret */
    {"call", "e802000000 74f9 c3", AT "tnt:1101 tnt:101111", 0, 0, 0, 0, 0},
    {"call_tip", "e802000000 74f9 c3", AT "tip:400fc5 tnt:1 tip:400fc0 tnt:1",
     0, 0, 0, 0, 0},
    {"no_retcomp", "e802000000 74f9 c3",
     AT "tip:400fc5 tnt:1 tip:400fc5 tnt:1 tip:400fc0", 0, 1, 0, 0, 0},
    /* f: jz 7; call f; ret: more frames than the stack has */
    {"deep", "7405 e8f9ffffff c3", AT "tnt64:00000000000000000000000000000000"
     "000000000000000 tnt64:00000000000000000000000000000000"
     "1111111111 tnt64:11111111111111111111111111111111111111111111111 "
     "tnt64:111111111111111111111111111111", 0, 0, 0, 0, 0},
    /* jmp rax; call rax; jmp [..]; ret */
    {"indirect", "ffe0 ffd0 ff2500000000 c3", AT "tip:400fc2 tip:400fc4 "
     "tip:400fca tip:400fc0 tip:400fca tip:400fc2 tip.1:0fc4", 0, 0, 0, 0, 0},
    {"jmpabs", "d500a1c00f400000000000 d500ffe0", AT "tip:400fcb tip:400fc0",
     0, 0, 0, 0, 0},
    /* rarer instructions: EVEX map 4, LOCK, EXTRQ, BT, FAR JMP */
    {"rare_code", "62f47c08f7c001000000 f00fb108 660f78c00102 0fbae001 f0830801"
     "0f38f000 0f3a0fc001 c5f877 c4e27918c0 ff28", AT "tip:400fc0", 0, 0, 0, 0,
     0},
    {"deferred", "7400 7400 ffe0", AT "tnt:10 tip:400fc0 tnt:11 tip:400fc4 "
     "tip:400fc0", 0, 1, 0, 0, 0},
    {"bad_tnt", "ffe0 90", AT "tnt:1 tip:400fc2", 0, 0, 0, 0, 0},
    {"bad_tip", "7400 90", AT "tip:400fc2 tnt:1", 0, 0, 0, 1, 0},
    {"bad_ret", "c3", AT "tnt:1", 0, 0, 0, 1, 0},
    {"bad_insn", "90 06 90", AT "tip:400fc0", 0, 0, 0, 1, 0},
    {"no_mode", "90 ffe0", "psb fup:400fc0 psbend tip:400fc0", 0, 0, 0, 0, 0},
    {"jmp_self", "ebfe", AT "tnt:1", 0, 0, 0, 1, 0},
    {"jmp_ring", "eb01 90 eb01 90 ebf8", AT "tip:400fc0", 0, 0, 0, 0, 0},
    {"jmp_ring_fup", "eb01 90 eb01 90 ebf8", AT "fup:400fc6 tip:400fc0 "
     "fup:400fc3 pgd pge:400fc0 pgd", 0, 0, 0, 0, 0},
    {"unmapped", "90 ffe0", AT "tip:123456 tnt:1 pge:400fc0 tip:400fc0",
     0, 0, 0, 1, 0},
    {"walk_on", "9090 eb00 9090 ffe0", AT "tip:400fc0", 0, 8, 0, 0, 0},
    {"walk_on_loop", "9090 ebfc", AT "tip:400fc0", 0, 8, 0, 1, 0},
    /* over the end of the page, and torn there */
    {"pages", "0f1f8400000000000f1f8400000000000f1f8400000000000f1f840000000000"
     "0f1f8400000000000f1f8400000000000f1f840000000000 48b81122334455667788"
     "ffe0", AT "tip:400fc0 tip:400fc0", 0, 0, 0, 0, 0},

    /* asynchronous */
    {"interrupt", "90 90 90 ffe0 cf", AT "fup:400fc2 tip:400fc5 tip:400fc2 "
     "tip:400fc0 fup:400fc1 tip:400fc0 fup:400fc0 tip:400fc5", 0, 0, 0, 0, 0},
    {"async_off", "90 90 ffe0", AT "fup:400fc1 pgd pge:400fc1 fup:400fc1 "
     "pgd:123456 pge:400fc0 pgd", 0, 0, 0, 0, 0},
    /* jz; syscall; mov cr3, rax; call rax; jmp */
    {"off", "7400 0f05 0f22d8 ffd0 eb00 90", AT "pgd pge:400fc2 pgd "
     "pge:400fc4 pip:5000 pgd pge:400fc4 pip:6000 pgd:123456 pge:400fc9 "
     "pgd:400fcb pge:400fc9 pgd", 0, 0, 0, 0, 0},
    {"stop", "90 ffe0", AT "pgd:123456 stop pge:400fc0 tip:400fc0 stop",
     0, 0, 0, 0, 0},
    {"skl014", "90 eb7f 90", AT "pgd pge:400fc0", 0, 0x40, 0x10, 0, 0},
    {"ovf", "90 90 90 ffe0", AT "tip:400fc0 ovf fup:400fc2 tip:400fc0 ovf "
     "pge:400fc1 tip:400fc0", 0, 0, 0, 0, 0},
    {"ovf_psb", "90 ffe0", AT "ovf " AT "tip:400fc0 ovf psb psbend pge:400fc0 "
     "tip:400fc0 psb fup:400fc0 ovf fup:400fc1 tip:400fc0", 0, 0, 0, 0, 0},
    {"ovf_more", "90 ffe0", AT "ovf cbr:7 ptw:5,0 mnt:1 exec:64 tsx:b "
     "fup:400fc0 tip:400fc0 ovf ovf pgd", 0, 0, 0, 0, 0},
    {"skd010", "90 ffe0", AT "ovf exec:64 pip:1000 tip:400fc0 tip:400fc0 ovf "
     "tsx:c fup:400fc1 tip:400fc0 ovf " AT "tip:400fc1", 0, 0, 0x04, 0, 0},
    {"apl12", "90 ffe0", AT "ovf fup:400fc0 pip:2000 pge:400fc0 tip:400fc0 "
     "ovf fup:400fc0 exec:64 tip:400fc0", 0, 0x80, 0x80, 0, 0},
    {"psb_mid", "7400 90 ebfb", AT "tnt:1 " AT "tnt:10 psb exec:64 "
     "fup:400fc2 psbend tnt:1 psb pip:1000 tsc:5 tma:1,2 cbr:3 exec:64 tsx:c "
     "fup:400fc3 mtc:1 psbend tnt:1", 0, 0, 0, 0, 0},
    {"no_psbend", "7400 90 ebfb", "psb exec:64 fup:400fc0 tnt:1 psb exec:64 "
     "fup:400fc2 tnt:1", 0, 0, 0, 0, 0},
    {"strict", "7400 90 ebfb", "psb exec:64 fup:400fc0 tnt:1 " AT "tnt:1",
     0, 4, 0, 0, 0},
    {"bdm70", "90 ffe0", OFF "psb exec:64 fup:400fc0 psbend pge:400fc0 "
     "tip:400fc0 pgd " AT "cbr:1 pip:1000 pge:400fc0 tip:400fc0 pgd " AT,
     0, 0, 0, 0, 0},
    {"contradiction", "90 ffe0", AT "tip:400fc0 psb exec:32 fup:400fc0 psbend "
     "tip:400fc0 " AT "pgd " AT "tip:400fc0", 0, 0, 0, 1, 0},

    /* modes, address spaces, transactions */
    {"far_mode", "9090 ea c00f40002300", "psb exec:32 fup:400fc0 psbend "
     "exec:16 tip:400fc0 exec:32 tip:400fc0", 0, 0, 0, 0, 0},
    {"iflags", "90 ffe0 cf", "psb exec:64i fup:400fc0 psbend exec:64 "
     "fup:400fc1 tip:400fc0 exec:64 fup:400fc1 exec:64i tip:400fc3 exec:64 "
     "tip:400fc0", 0, 2, 0, 0, 0},
    {"mode_async", "90 ffe0", AT "exec:32 fup:400fc1 exec:64 fup:400fc0 "
     "tip:400fc0 exec:32 tip:400fc1", 0, 0, 0, 0, 0},
    /* mov cr3, rax; vmptrld [rax]; vmlaunch; syscall */
    {"spaces", "0f22d8 0fc730 0f01c2 0f05 90", "psb pip:1000 vmcs:2000 exec:64 "
     "fup:400fc0 psbend pip:3000 vmcs:4000 pip:5000,1 vmcs:6000 tip:400fc0 "
     "pip:1000 fup:400fc3 pip:2000 vmcs:9000 tip:400fc9 pip:3000 tip:400fc0",
     0, 0, 0, 0x40, 0},
    {"tsx", "c7f800000000 90 0f01d5 90 ffe0", AT "tsx:b fup:400fc0 tsx:c "
     "fup:400fca tsx:b fup:400fcb tsx:a fup:400fcb tip:400fc6 tip:400fc0",
     0, 0, 0, 0, 0},
    {"bdm64", "90 eb02 90 90 ffe0", AT "tsx:b fup:400fc0 tip:400fc3 tsx:a "
     "fup:400fc1 tip:400fc0", 0, 0, 1, 0, 0},
    {"ptwrite", "f30faee0 f3480faee0 ffe0", AT "ptw:5,0 ptw:6,1+ fup:400fc4 "
     "ptw:7,0 tip:400fc0 tip:400fc0", 0, 0, 0, 0, 0},
    {"mwait", "0f01c9 90 ffe0", AT "mwait:60,1 pwre:6,1,0 exstop+ fup:400fc3 "
     "pwrx:6,5,1,1,1 tip:400fc0 exstop tip:400fc0", 0, 0, 0, 0, 0},
    /* int 80; syscall; iretq; vmlaunch; uiret */
    {"cfe", "cd80 0f05 48cf 0f01c2 f30f01ec 90", AT "cfe:e,80 fup:400fc0 "
     "tip:400fc2 cfe:f,0 tip:400fc4 cfe:2,0 tip:400fc6 cfe:7,0 tip:400fc9 "
     "cfe:d,0 tip:400fc0 evd:0,1234 cfe:1,e fup:400fc0 tip:400fc4 evd:1,1 "
     "evd:2,2 cfe:8,0+ fup:400fc4 pgd", 0, 0, 0, 0, 0},
    {"swintr", "90 cd80 0f05", AT "cfe:f,0 tip:400fc0 cfe:e,80 tip:400fc3 "
     "cfe:f,0 tip:400fc0", 0, 0, 0, 0, 0},
    {"cfe_late", "90 90 90 cd80 90", AT "cfe:f,0 tip:400fc0", 0, 0, 0, 1, 0},
    {"cfe_more", "90 ffe0 90", AT "cfe:c,11 fup:400fc1 tip:400fc0 cfe:3,0+ "
     "fup:400fc0 cfe:4,0 fup:400fc0 tip:400fc1 cfe:a,0 cfe:6,0 fup:400fc1 "
     "tip:400fc0 ovf cfe:1,3 fup:400fc0 tip:400fc1", 0, 0, 0, 0, 0},
    {"skd022", "0f01c2 90 ffe0", AT "fup:400fc0 pgd pge:400fc3 tip:400fc0",
     0, 0, 8, 0, 0},
    {"triggers", "90 90 90 90 ffe0", AT "trig:3,1,1 trig:1,1,1 trig:0,2,1+ "
     "fup:400fc4 trig:0,4 tip:400fc0 trig:9,1,1 tip:400fc0", 0, 0, 0, 0, 0},
    {"many", "90 ffe0", AT "cbr:1 mnt:1 ptw:1,0+ ptw:2,0+ exstop+ bep+ "
     "trig:0,1,1+ ptw:3,0+ ptw:4,0+ fup:400fc0 cbr:2 cbr:3 cbr:4 cbr:5 cbr:6 "
     "cbr:7 tip:400fc0", 0, 0, 0, 0, 0},
    {"too_many", "90 ffe0", AT "ptw:1,0+ ptw:2,0+ ptw:3,0+ ptw:4,0+ ptw:5,0+ "
     "ptw:6,0+ ptw:7,0+ ptw:8,0+ ptw:9,0+ ptw:1,0+ ptw:2,0+ ptw:3,0+ ptw:4,0+ "
     "ptw:5,0+ ptw:6,0+ ptw:7,0+ ptw:8,0+ fup:400fc0 tip:400fc0", 0, 0, 0, 1,
     0},

    /* the end of the address space */
    {"wrap_64", "0f1f84000000000090909090 9090909090909090 9090909090909090"
     "90909090 7401 ffe0", "psb exec:64 fup.6:ffffffffffffffe0 psbend "
     "tnt:0 tip.6:ffffffffffffffec fup.6:0 tip.6:ffffffffffffffff tnt:1",
     3, 0, 0, 0, 0},
    {"wrap_torn", "0f1f840000000000 0f1f840000000000 0f1f840000000000"
     "9090909090 0f1f840000000000 ffe0", "psb exec:64 fup.6:ffffffffffffffe0 "
     "psbend tip.6:fffffffffffffff8 fup.6:5 tip.6:ffffffffffffffe0",
     3, 0, 0, 0, 0},
    {"wrap_32", "9090909090909090 9090909090909090 9090909090909090"
     "9090909090909090 90909090 7401 ffe0", "psb exec:32 fup.6:ffffffe0 psbend "
     "tnt:0 tip.6:fffffff0 fup.6:3 tip.6:ffffffff tnt:1", 4, 0, 0, 0, 0},
    {"wrap_jump", "ebde e8d7ffffff", "psb exec:32 fup.6:0 psbend tip:0 "
     "psb exec:64 fup:0 psbend tip:0", 2, 0, 0, 1, 0},
    /* jmp up over 64 KiB, a loop there */
    {"real_mode", "e91d00 90909090909090 90909090909090 90909090909090"
     "9090909090909090 7402 90 ebfb 66e900000000 90 e3f0",
     "psb exec:16 fup.2:ffffffe0 psbend tnt:01011 tnt:000", 4, 0, 0, 0, 0x02},
    {"real_mode_low", "7401 90 ebfb 75f0 90",
     "psb exec:16 fup:0 psbend tnt:010110 tnt:1", 2, 0, 0, 0, 0x02}
};

#define SAMPLES (sizeof(samples) / sizeof(samples[0]))

/* ---- text to bytes ---- */

/* Hex digits, blanks skipped. Returns the number of bytes. */
static inline size_t sample_hex(uint8_t *out, const char *text)
{
    unsigned value = 0;
    size_t digits = 0;

    for (; *text && *text != ':'; text++) {
        static const char hex[] = "0123456789abcdef";
        const char *at = strchr(hex, *text);
        if (*text == ' ' || !at)
            continue;
        value = value << 4 | (unsigned) (at - hex);
        if (++digits % 2 == 0 && digits / 2 <= SAMPLE_MAX)
            out[digits / 2 - 1] = (uint8_t) value;
    }
    return digits / 2 < SAMPLE_MAX ? digits / 2 : SAMPLE_MAX;
}

typedef struct sample_word {
    char name[8];
    char text[80];
    uint64_t arg[5];
    unsigned args;
    unsigned ipc; /* after a point; 7: none */
    uint8_t plus;
} sample_word;

/* Take the next word off *text. Returns 0 at the end. */
static inline int sample_next(sample_word *word, const char **text)
{
    const char *p = *text;
    size_t n = 0;

    memset(word, 0, sizeof(*word));
    word->ipc = 7;
    while (*p == ' ')
        p++;
    if (!*p)
        return 0;
    while (*p && !strchr(" :.+", *p) && n + 1 < sizeof(word->name))
        word->name[n++] = *p++;
    if (*p == '.')
        word->ipc = (unsigned) strtoul(p + 1, (char **) (uintptr_t) &p, 10);
    if (*p == ':') {
        for (n = 0; p[1 + n] && p[1 + n] != ' '
                    && n + 1 < sizeof(word->text); n++)
            word->text[n] = p[1 + n];
        p++;
        for (;;) {
            char *end;
            word->arg[word->args++] = strtoull(p, &end, 16);
            p = end;
            if (*p != ',' || word->args == 5)
                break;
            p++;
        }
    }
    while (*p && *p != ' ')
        word->plus |= *p++ == '+';
    *text = p;
    return 1;
}

static inline void sample_ip(ipt_packet *packet, const sample_word *word)
{
    static const uint8_t keep[8] = {0, 16, 32, 48, 48, 0, 64, 48};
    unsigned ipc = word->args ? word->ipc : 0;

    if (keep[ipc & 7])
        packet->u.ip.payload = word->arg[0]
                               & ~(uint64_t) 0 >> (64 - keep[ipc & 7]);
    packet->u.ip.ipc = (uint8_t) (ipc == 7 ? 3 : ipc);
}

static inline void sample_tnt(ipt_packet *packet, const char *bits)
{
    for (; *bits == '0' || *bits == '1'; bits++) {
        packet->u.tnt.bits = packet->u.tnt.bits << 1 | (*bits == '1');
        packet->u.tnt.count++;
    }
}

static inline void sample_exec(ipt_packet *packet, const char *mode)
{
    packet->u.exec.csl = mode[0] == '6';
    packet->u.exec.csd = mode[0] == '3';
    packet->u.exec.iflag = mode[2] == 'i';
}

/* Give a field of 1, 2, 4 or 8 bytes its number. */
static inline void sample_store(ipt_packet *packet, const ipti_field *field,
                                uint64_t value)
{
    uint8_t *at = (uint8_t *) packet + field->at;
    const uint8_t one = (uint8_t) value;
    const uint16_t two = (uint16_t) value;
    const uint32_t four = (uint32_t) value;
    const void *from = &value;

    if (field->size < 8)
        from = field->size == 1 ? (const void *) &one
               : field->size == 2 ? (const void *) &two : (const void *) &four;
    memcpy(at, from, field->size);
}

/* The numbers of a word are the fields of its packet, in [strings]' order;
 * has_ip is its "+". */
static inline void sample_fields(ipt_packet *p, const sample_word *word)
{
    const ipti_field *field = ipti_pkt_fields;
    const char *name = ipti_row(ipti_pkt_texts, p->type, IPT_PKT_COUNT, &field);
    unsigned i = 0;

    switch (p->type) {
    case IPT_PKT_PAD: p->size = (uint32_t) word->arg[0]; return;
    case IPT_PKT_TNT_8:
    case IPT_PKT_TNT_64: sample_tnt(p, word->text); return;
    case IPT_PKT_TIP:
    case IPT_PKT_TIP_PGE:
    case IPT_PKT_TIP_PGD:
    case IPT_PKT_FUP: sample_ip(p, word); return;
    case IPT_PKT_MODE_EXEC: sample_exec(p, word->text); return;
    case IPT_PKT_MODE_TSX:
        p->u.tsx.intx = word->text[0] == 'b';
        p->u.tsx.abrt = word->text[0] == 'a';
        return;
    default: break;
    }
    while (*(name = ipti_text(name, 1)) != 0)
        sample_store(p, field++,
                     strcmp(name, "has_ip") ? word->arg[i++] : word->plus);
}

/* The type of packet that a word stands for: its name, or a shorter one. */
static inline uint8_t sample_type(const char *word)
{
    static const struct {
        char name[6];
        uint8_t type;
    } shorter[] = {{"tnt", IPT_PKT_TNT_8},      {"tnt64", IPT_PKT_TNT_64},
                   {"pge", IPT_PKT_TIP_PGE},    {"pgd", IPT_PKT_TIP_PGD},
                   {"exec", IPT_PKT_MODE_EXEC}, {"tsx", IPT_PKT_MODE_TSX}};
    uint8_t type = 0;
    size_t i;

    for (i = 0; i < sizeof(shorter) / sizeof(shorter[0]); i++)
        if (!strcmp(word, shorter[i].name))
            return shorter[i].type;
    while (type < IPT_PKT_COUNT && strcmp(word, ipt_pkt_name(type)))
        type++;
    return type;
}

/* The bytes of a trace. Returns how many, or -1: the text makes no sense. */
static inline int sample_trace(uint8_t *out, const char *text)
{
    sample_word word;
    size_t used = 0;

    while (sample_next(&word, &text)) {
        ipt_packet packet;
        int n;
        if (!strcmp(word.name, "raw")) {
            uint8_t raw[SAMPLE_MAX];
            const size_t size = sample_hex(raw, word.text);
            if (size > SAMPLE_MAX || used > SAMPLE_MAX - size)
                return -1;
            memcpy(out + used, raw, size);
            used += size;
            continue;
        }
        memset(&packet, 0, sizeof(packet));
        packet.type = sample_type(word.name);
        if (packet.type == IPT_PKT_COUNT)
            return -1;
        sample_fields(&packet, &word);
        n = ipt_pkt_encode(out + used, SAMPLE_MAX - used, &packet);
        if (n < 0) {
            fprintf(stderr, "samples.h: %s:%s: %s\n", word.name, word.text,
                    ipt_status_name(n));
            return -1;
        }
        used += (size_t) n;
    }
    return (int) used;
}

#undef AT
#undef OFF
#endif /* IPT_SAMPLES_H */
