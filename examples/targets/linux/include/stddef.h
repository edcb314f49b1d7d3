/* stddef.h: the kernel has what is in it, but not under this name. */
#ifndef IPT_LINUX_STDDEF_H
#define IPT_LINUX_STDDEF_H
#include <linux/stddef.h>
#include <linux/types.h>
#endif
