/* start.c: the same as an ordinary program. What it prints is what the others
 * have to print.
 *
 * SPDX-License-Identifier: MIT */
#include "decode.h"
#include <stdio.h>

int main(void)
{
    char line[DECODE_LINE];
    int bad = decode(line);

    puts(line);
    return bad;
}
