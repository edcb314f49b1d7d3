/* start.c: a Linux module. `insmod ipt_decode.ko` decodes the recording that is
 * part of it, says so in the kernel's log, and is not loaded if that fails.
 * Other parts of the kernel have names that begin with ipt_ and IPT_, those of
 * iptables: that the two can be used together is shown here as well.
 *
 * SPDX-License-Identifier: MIT */
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/netfilter_ipv4/ip_tables.h>

#include "ipt.h"
#include "decode.h"

static int __init ipt_decode_init(void)
{
    static char line[DECODE_LINE];
    int bad = decode(line);

    pr_info("ipt: %s\n", line);
    return bad ? -EINVAL : 0;
}

static void __exit ipt_decode_exit(void)
{
}

module_init(ipt_decode_init);
module_exit(ipt_decode_exit);
MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("Decodes a recording of Intel Processor Trace");
