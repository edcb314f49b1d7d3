/* start.c: a Windows driver. Loading it decodes the recording that is part of
 * it, says so to the debugger, and fails if that fails. It may be called at any
 * IRQL: decoding touches no memory but its own and what read_code reads.
 *
 * SPDX-License-Identifier: MIT */
#include <ntddk.h>
#include "decode.h"

NTSTATUS NTAPI DriverEntry(PDRIVER_OBJECT driver, PUNICODE_STRING path);

static VOID NTAPI unload(PDRIVER_OBJECT driver)
{
    (void) driver;
}

NTSTATUS NTAPI DriverEntry(PDRIVER_OBJECT driver, PUNICODE_STRING path)
{
    static char line[DECODE_LINE];
    int bad = decode(line);

    (void) path;
    driver->DriverUnload = unload;
    DbgPrint("ipt: %s\n", line);
    return bad ? STATUS_UNSUCCESSFUL : STATUS_SUCCESS;
}
