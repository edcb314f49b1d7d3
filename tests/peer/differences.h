/* differences.h: the differences that are allowed, with reasons and counts. A
 * part of peer_libipt.c. */
#ifndef PEER_DIFFERENCES_H
#define PEER_DIFFERENCES_H

/* ---- the differences that are allowed ---- */

#define DIFFERENCES(X)                                                       \
    X(NEW_PACKET, "new-packet", "2.0.5 does not know CFE, EVD, TRIG, BBP, "  \
                                "BIP, BEP")                                  \
    X(LONG_PSB, "long-psb", "a PSB may have more than eight pairs; libipt "  \
                            "decodes the ninth as a broken PSB")             \
    X(STATUS, "status", "2.0.5 gives no status events for enabled, "         \
                        "disabled")                                          \
    X(PWRE_EARLY, "pwre-early", "2.0.5 gives pwre at once, not at PWRX")     \
    X(TIP_FIRST, "tip-first", "2.0.5 gives what binds to a TIP before it")   \
    X(EXEC_REPEAT, "exec-repeat", "2.0.5 gives exec_mode for every "         \
                                  "MODE.Exec, though it changes nothing")    \
    X(DISABLED, "disabled", "2.0.5 takes TNT and TIP while tracing is "      \
                            "disabled")                                      \
    X(SKD007, "skd007-packets", "2.0.5 applies SKD007 in its query layer "   \
                                "only")                                      \
    X(OVF_PENDING, "ovf-pending", "2.0.5 drops at OVF what waits for a "     \
                                  "packet, also while disabled")             \
    X(EXEC_FUP, "exec-fup", "2.0.5 does not bind MODE.Exec to a FUP")        \
    X(TIMING, "timing", "libipt stops at timing packets without sense")      \
    X(TIME_AHEAD, "time-ahead", "pt_insn_time counts what 2.0.5 has read " \
                                "ahead")                                     \
    X(NEW_INSN, "new-insn", "2.0.5 does not know JMPABS, UIRET, ERETS, "     \
                            "ERETU")                                         \
    X(TIME_FIRST, "time-first", "2.0.5 gives events the time of their "      \
                                "first packet, not of what they bind to")    \
    X(NO_CPUID, "no-cpuid", "without cpuid_15 libipt stops half-way through "\
                            "an MTC; ours counts it as lost")                \
    X(FCR_ZERO, "fcr-zero", "for libipt a cycle of less than 1/256 TSC tick "\
                            "is of unknown length, ours keeps the old one")  \
    X(HUGE_CYC, "huge-cyc", "libipt computes with CYCs that overflow, ours " \
                            "counts them as lost")                           \
    X(NO_STAMP, "no-stamp", "2.0.5 gives ptwrite, exstop, mwait, pwre, "     \
                            "pwrx, async_vmcs no time")                      \
    X(PGD_NO_IP, "pgd-no-ip", "2.0.5 takes a TIP.PGD without IP only at "    \
                              "MOV CR3 and far branches")                    \
    X(RETPOP, "retpop", "libipt pops its return stack only on compressed "   \
                        "returns, and does not clear it at PSB")             \
    X(UNDEFINED, "undefined", "libipt takes opcodes that mean nothing, "     \
                              "or gives them another length")      \
    X(WRAP, "wrap", "libipt does not wrap IPs of 16 and 32 bits")            \
    X(QUEUE, "queue", "2.0.5 keeps 7 events of a PSB+ at most")              \
    X(OVF_PSB, "ovf-psb", "for libipt a PSB+ or PSBEND after an OVF says "  \
                          "nothing about where that left off")               \
    X(INTO, "into", "libipt takes an INTO for a branch whatever the trace " \
                    "has")                                                   \
    X(CR3_PIP, "cr3-pip", "2.0.5 takes a TIP.PGD without IP for a MOV "      \
                          "CR3's although that one has its PIP")             \
    X(BDM70, "bdm70", "ours handles BDM70 without being told of it, with "   \
                      "several FUPs, SKZ84, a PWRX, a PSB+ without FUP")     \
    X(MWAIT, "mwait", "2.0.5 binds MWAIT to the next FUP, with or without "  \
                      "an EXSTOP that has one")                              \
    X(EXEC_PGD, "exec-pgd", "2.0.5 gives no disabled for a TIP.PGD that a "  \
                            "MODE.Exec binds to")                            \
    X(PGD_IP, "pgd-ip", "2.0.5 binds a TIP.PGD to a branch, ours to its IP, "\
                        "however flow comes there")                          \
    X(PASSED_IP, "passed-ip", "for libipt a FUP or TIP.PGD that an erratum " \
                              "lets it skip does not change the last IP")    \
    X(SKIPPED, "ovf-skipped", "libipt gives no events for what it skips "     \
                             "after an OVF, for an erratum")                 \
    X(PWRE_HW, "pwre-hw", "PWRE.HW is bit 7 in the SDM, bit 3 in libipt")    \
    X(SKZ84_CUT, "skz84-cut", "libipt gives SKZ84's packet though the "      \
                              "trace ends inside it")                        \
    X(PSB_CUT, "psb-cut", "libipt takes a broken PSB near the end for one "  \
                          "that is cut off")                                 \
    X(MODE, "mode", "libipt takes an unknown mode for 16 bits")              \
    X(PSBEND, "no-psbend", "ours takes a PSB+ without PSBEND")               \
    X(UNBOUND, "unbound", "a packet waits for its FUP or TIP: 2.0.5 says "  \
                          "no branches, or gives it up")                     \
    X(CONTEXT, "context", "2.0.5 takes packets where they may not stand: "   \
                          "FUP after FUP, PGE or STOP while enabled, ...")   \
    X(FUP0, "psb-fups", "a PSB+ without FUP, with a suppressed one, or with "\
                        "several: for 2.0.5 tracing goes on, or the first "  \
                        "one counts")                                        \
    X(EXEC_EARLY, "exec-early", "a MODE.Exec that binds to a TIP.PGD, or a " \
                                "TIP without IP: 2.0.5 changes the mode at " \
                                "once")                                      \
    X(PTW_ELSEWHERE, "ptw-elsewhere", "2.0.5 takes a PTW's IP only where a " \
                                      "PTWRITE is")                          \
    X(PTW_NOTE, "ptw-note", "libipt keeps a PTW without FUP for a PTWRITE, " \
                            "however far that is (C10)")                     \
    X(APL12_FUP, "apl12-fup", "for APL12 libipt looks past a second FUP, "   \
                              "which shows that tracing is enabled")         \
    X(OVF_BDM70, "ovf-bdm70", "for errata of overflows libipt believes the " \
                              "FUP of a PSB+ that is BDM70's, as TIP.PGE "   \
                              "is next")                                     \
    X(SKZ84_AHEAD, "skz84-ahead", "for errata of overflows libipt does not " \
                                  "look past what SKZ84 has spoilt")         \
    X(VMCS_SWAPS, "vmcs-swaps", "a VMCS makes libipt put the PIP before it " \
                                "after all that waits for the TIP")          \
    X(CYC_COUNT, "cyc-count", "for libipt each MTC and TSC begins a new "    \
                              "count of cycles, also between CYCs and in a " \
                              "halt")                                        \
    X(PSB_OVF, "psb-ovf", "2.0.5 takes a PSB+ that an OVF ends for one "     \
                          "without FUP")                                     \
    X(NEW_CPU, "new-cpu", "processors that came after 2.0.5")                \
    X(SKL014, "skl014-cpus", "2.0.5 thinks that Alder Lake and Sapphire "    \
                             "Rapids have SKL014")                           \
    X(LOOP, "loop", "libipt walks round code without trace forever")        \
    X(BACKWARD, "backward", "libipt's search backward can find the same "    \
                            "PSB forever")                                  \
    X(CYC_10, "cyc-10", "2.0.5 takes CYCs of 9 bytes at most")               \
    X(TNT_EMPTY, "tnt-empty", "libipt stops at a long TNT with only a stop " \
                              "bit, which says nothing")                     \
    X(BDM64, "bdm64-between", "an event between makes libipt forget the "    \
                              "branch that BDM64 may have spoilt")           \
    X(HEADER_TIME, "header-time", "2.0.5 gives status events a time from "   \
                                  "within the PSB+, not of its end")         \
    X(STATUS_CBR, "status-cbr", "ours gives the events of a PSB+ together, " \
                                "at the IP of its FUP")                      \
    X(RESUMED, "resumed-cr3", "2.0.5: a MOV CR3 that disables tracing is "   \
                              "resumed after it; ours, as master: at it")    \
    X(RESUMED_0, "resumed-0", "2.0.5 takes 0 for where tracing was disabled "\
                              "when it does not know")                       \
    X(PSB_TWICE, "psb-twice", "with SKD010 libipt reads the PSB+ after an "  \
                              "OVF twice")                                   \
    X(TIME_LAST, "time-last", "with an erratum libipt gives overflow the "   \
                              "time of what decided, not of the OVF")        \
    X(OVF_TWICE, "ovf-twice", "with SKD010 libipt takes the IP of a second " \
                              "overflow for that of the first")              \
    X(OVF_NOISE, "ovf-noise", "any other packet between OVF and its FUP "    \
                              "ends libipt's search for that")               \
    X(OVF_FUP, "ovf-fup", "libipt drops a FUP whose TIP an OVF replaced, "  \
                          "and what executed before it")                     \
    X(EARLY, "early", "2.0.5 reports an error that it reads ahead, ours "   \
                      "when it gets there")

/* What stays different, and is not compared here; tests/check/suite.sh lists it
 * where the output of libipt's tools shows it:
 *
 *   S12  libipt cuts the ticks of each MTC to whole ones, so that its time
 *        falls back by up to one each. Here an MTC period has no fraction.
 *   S13  A CFE of type SYSCALL without IP comes before the SYSCALL, as one with
 *        an IP does, whose FUP has the address of the SYSCALL: the SDM has the
 *        event happen there, whether the packet says where or not. master's
 *        tools print it after the instruction, which its comment denies; 2.0.5
 *        does not know CFE.
 *   S14  An OVF while tracing is disabled completes what waits. master gives
 *        PWRE, then MWAIT and EXSTOP, one queue after the other; ours gives
 *        them in the order of their packets. */

#define X_ID(id, name, reason) D_##id,
enum { DIFFERENCES(X_ID) D_COUNT };
#define X_TEXT(id, name, reason) {name, reason},
static const struct {
    const char *name;
    const char *reason;
} differences[] = {DIFFERENCES(X_TEXT)};

enum { OWN, TRACES, SUITE, RECORD, FUZZ, PARTS };
static unsigned long long seen[D_COUNT][PARTS];
static unsigned long long items[3][PARTS]; /* packets, answers, instructions */
static unsigned long long runs[PARTS];

#endif /* PEER_DIFFERENCES_H */
