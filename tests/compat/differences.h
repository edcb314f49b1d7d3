/* differences.h: all that libipt does otherwise than the library of
 * examples/compat. The list only gets shorter: a check counts it.
 *
 * SPDX-License-Identifier: MIT */
#ifndef COMPAT_DIFFERENCES_H
#define COMPAT_DIFFERENCES_H

/* X(name, what libipt does), 2.0.5 and all later ones where none is named. */
#define DIFFERENCES(X)                                                        \
    X(EXEC_REPEAT, "2.0.5 gives exec_mode for each MODE.Exec, though it "     \
                   "changes nothing")                                         \
    X(TIME, "2.0.5 gives events the time of their first packet, or none, and "\
            "stops at a CBR of 0; 2.1 has read time ahead; for all each MTC " \
            "and TSC begins a new count of cycles")                          \
    X(AHEAD, "stands elsewhere: ours has read the packet that is needed next")\
    X(NEW, "2.0.5 stops at CFE, EVD, TRIG packets, 2.1 at TRIG, all at PEBS "  \
           "packets; older ones do not know newer processors")                \
    X(ORDER, "2.0.5 gives what binds to a TIP before it, pwre at once, not "  \
             "at PWRX, and drops at an OVF what waits for another packet; "   \
             "2.2 gives that queue by queue")                                 \
    X(EARLY, "reports an error that it has read ahead, or goes on in code "   \
             "though what comes next in the trace is broken, or does not fit")\
    X(CONTEXT, "takes packets where they may not stand, but no PSB+ without " \
               "PSBEND, no TMA without TSC, and no PSB that is longer than "  \
               "others")                                                      \
    X(ERRATA, "has BDM70 only where it is told of it, applies SKD007 to "     \
              "queries only, and thinks that Alder Lake and Sapphire Rapids " \
              "have SKL014")                                                  \
    X(INSN, "2.0.5 does not know JMPABS, UIRET, ERETS, ERETU; all give "      \
            "blocks of sections again in the mode they had first, take "      \
            "opcodes that mean nothing, and execute 16 and 32-bit code "      \
            "beyond 4 GiB")                                                   \
    X(RETURN, "takes its return stack's top for compressed returns only, so " \
              "that later returns go astray, and still has what it held "     \
              "before a PSB; gives an error with a return to before a loss")  \
    X(PGD, "2.0.5 takes a TIP.PGD without IP only at MOV CR3 and far "        \
           "branches; after one with IP, tracing that begins at 0 counts as " \
           "resumed")                                                         \
    X(IMAGE, "copies an image wrongly in which sections split others, and "   \
             "says -pte_invalid or -pte_internal where there is no memory "   \
             "for a section")                                                 \
    X(BACKWARD, "2.0.5 does not say after a search backward that tracing is " \
                "disabled, or that an event is pending; nor do 2.1's blocks " \
                "after any search")                                           \
    X(CUT, "2.2 does not say of an instruction that two sections have it")    \
    X(CALLS, "2.1 goes on though an event is pending; the times of both "     \
             "want all three pointers")

#endif /* COMPAT_DIFFERENCES_H */
