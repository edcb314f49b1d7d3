/* pmu.c: a Linux module: an intel_pt PMU on a processor that has no PT. All
 * that is not the processor's is the kernel's own: rights, exclusive use, rings,
 * limits of memory, filters. See test.sh.
 *
 * Its trace is PTW packets, numbered from 0 in each ring, so that what is
 * missing is seen; `rate` of them at each tick of 2 ms, and when a thread
 * leaves its processor. With `toy` it is toy(), executed once.
 *
 * SPDX-License-Identifier: MIT */
#include <linux/hrtimer.h>
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/perf_event.h>
#include <linux/slab.h>
#include <linux/version.h>
#include <asm/msr.h>

#define TICK   (2 * NSEC_PER_MSEC)
#define RANGES 2u
#define PACKET 10u /* bytes of a PTW */
#define START  28u /* bytes of PSB, TSC, MODE, PSBEND */

static unsigned int rate = 10;
static bool toy_only;
static bool in_use;              /* LBR or BTS excludes PT */
static unsigned int ranges = RANGES; /* that the processor really has */
static ulong made; /* packets in rings, and not */
static ulong lost;
static char filters[256]; /* as the processor got them */
module_param(rate, uint, 0644);
module_param_named(toy, toy_only, bool, 0644);
module_param(in_use, bool, 0644);
module_param(ranges, uint, 0644);
module_param(made, ulong, 0644);
module_param(lost, ulong, 0644);
module_param_string(filters, filters, sizeof(filters), 0644);
static DEFINE_RAW_SPINLOCK(counters);

struct ring { /* of an AUX area */
    void **pages;
    unsigned long size;
    bool overwrite;
    unsigned long head; /* if overwritten */
    u64 next;           /* number of the next packet */
};

struct unit { /* of a processor */
    struct perf_output_handle handle;
    struct hrtimer timer;
    struct ring *ring; /* NULL: it does not trace */
    unsigned long at;  /* where it writes */
    unsigned long done;
    bool full;
};
static DEFINE_PER_CPU(struct unit, units);

void toy(void); /* toy.S */

/* ---- trace ---- */

static unsigned long room(const struct unit *u)
{
    return u->ring->overwrite ? ULONG_MAX : u->handle.size - u->done;
}

static void put(struct unit *u, const void *bytes, unsigned int size)
{
    const struct ring *r = u->ring;
    unsigned int i;

    for (i = 0; i < size; i++, u->at++)
        ((u8 *) r->pages[u->at % r->size / PAGE_SIZE])[u->at % PAGE_SIZE] =
            ((const u8 *) bytes)[i];
    u->done += size;
}

static void put_start(struct unit *u)
{
    const u64 tsc = rdtsc() << 8 | 0x19;
    unsigned int i;

    if (room(u) < START) {
        u->full = true;
        return;
    }
    for (i = 0; i < 8; i++)
        put(u, "\x02\x82", 2);
    put(u, &tsc, 8);
    put(u, "\x99\x01\x02\x23", 4); /* MODE.Exec: 64 bits; PSBEND */
}

static void put_packets(struct unit *u, unsigned int count)
{
    struct ring *r = u->ring;
    unsigned long flags;

    raw_spin_lock_irqsave(&counters, flags);
    for (; count > 0; count--, r->next++) {
        u->full |= room(u) < PACKET;
        if (u->full) {
            lost++;
            continue;
        }
        put(u, "\x02\x32", 2);
        put(u, &r->next, 8);
        made++;
    }
    raw_spin_unlock_irqrestore(&counters, flags);
}

static void put_toy(struct unit *u)
{
    const u64 to = (u64) (unsigned long) toy;

    if (room(u) < PACKET)
        return;
    put(u, "\xd1", 1); /* TIP.PGE, all of the address; TIP.PGD */
    put(u, &to, 8);
    put(u, "\x01", 1);
    made++;
}

static void put_trace(struct unit *u)
{
    if (toy_only)
        put_toy(u);
    else
        put_packets(u, rate);
}

static bool open_ring(struct unit *u, struct perf_event *event)
{
    u->ring = perf_aux_output_begin(&u->handle, event);
    if (!u->ring)
        return false;
    u->at = u->ring->overwrite ? u->ring->head : u->handle.head;
    u->done = 0;
    u->full = false;
    put_start(u);
    return true;
}

static void close_ring(struct unit *u)
{
    if (u->ring->overwrite)
        u->handle.head = u->ring->head = u->at % u->ring->size;
    if (u->full)
        perf_aux_output_flag(&u->handle, PERF_AUX_FLAG_TRUNCATED);
    u->ring = NULL;
    perf_aux_output_end(&u->handle, u->done);
}

static enum hrtimer_restart tick(struct hrtimer *timer)
{
    struct unit *u = container_of(timer, struct unit, timer);
    struct perf_event *event = u->handle.event;
    bool full;

    if (!u->ring)
        return HRTIMER_NORESTART;
    put_trace(u);
    full = u->full;
    close_ring(u);
    if (full || !open_ring(u, event)) { /* the kernel disables it */
        event->hw.state = PERF_HES_STOPPED;
        return HRTIMER_NORESTART;
    }
    hrtimer_forward_now(timer, TICK);
    return HRTIMER_RESTART;
}

/* ---- events ---- */

static struct pmu pmu;

static int fake_event_init(struct perf_event *event)
{
    const u64 known = 0x2001 | 0x400 | 0x800 | 0x200 | 0x3c000 | 2
              | 0x780000 | 0xf000000;

    if (event->attr.type != pmu.type)
        return -ENOENT;
    if (in_use)
        return -EBUSY;
    return event->attr.config & ~known ? -EINVAL : 0;
}

static void fake_start(struct perf_event *event, int flags)
{
    struct unit *u = this_cpu_ptr(&units);

    perf_event_addr_filters_sync(event);
    if (!open_ring(u, event)) {
        event->hw.state = PERF_HES_STOPPED;
        return;
    }
    event->hw.state = 0;
    hrtimer_start(&u->timer, TICK, HRTIMER_MODE_REL_PINNED_HARD);
}

static void fake_stop(struct perf_event *event, int flags)
{
    struct unit *u = this_cpu_ptr(&units);

    if (event->hw.state & PERF_HES_STOPPED)
        return;
    event->hw.state = PERF_HES_STOPPED;
    hrtimer_try_to_cancel(&u->timer);
    if (!u->ring)
        return;
    put_trace(u);
    close_ring(u);
}

static int fake_add(struct perf_event *event, int flags)
{
    if (this_cpu_ptr(&units)->ring)
        return -EBUSY;
    event->hw.state = PERF_HES_STOPPED;
    if (flags & PERF_EF_START) {
        fake_start(event, 0);
        if (event->hw.state & PERF_HES_STOPPED)
            return -EINVAL;
    }
    return 0;
}

static void fake_del(struct perf_event *event, int flags)
{
    fake_stop(event, PERF_EF_UPDATE);
}

static void fake_read(struct perf_event *event)
{
}

static void *fake_setup_aux(struct perf_event *event, void **pages, int count,
                bool overwrite)
{
    struct ring *r = kzalloc(sizeof(*r), GFP_KERNEL);

    if (r) {
        r->pages = pages;
        r->size = (unsigned long) count * PAGE_SIZE;
        r->overwrite = overwrite;
    }
    return r;
}

static void fake_free_aux(void *aux)
{
    kfree(aux);
}

/* ---- filters ---- */

static int fake_filters_validate(struct list_head *list)
{
    struct perf_addr_filter *f;
    unsigned int count = 0;

    list_for_each_entry(f, list, entry) {
        if (f->size == 0 || f->action == PERF_ADDR_FILTER_ACTION_START)
            return -EOPNOTSUPP;
        if (!f->path.dentry && (long) f->offset >= 0)
            return -EINVAL;
        if (++count > ranges)
            return -EOPNOTSUPP;
    }
    return 0;
}

static void fake_filters_sync(struct perf_event *event)
{
    struct perf_addr_filters_head *head = perf_event_addr_filters(event);
    struct perf_addr_filter *f;
    size_t n = 0;
    unsigned int i = 0;

    list_for_each_entry(f, &head->list, entry) {
        const struct perf_addr_filter_range *r =
            &event->addr_filter_ranges[i++];
        n += scnprintf(filters + n, sizeof(filters) - n, "%s%s %lx %lx",
                   n ? "," : "",
                   f->action == PERF_ADDR_FILTER_ACTION_STOP
                       ? "stop" : "filter",
                   r->start, r->size);
    }
}

/* ---- /sys ---- */

PMU_FORMAT_ATTR(pt, "config:0");
PMU_FORMAT_ATTR(cyc, "config:1");
PMU_FORMAT_ATTR(mtc, "config:9");
PMU_FORMAT_ATTR(tsc, "config:10");
PMU_FORMAT_ATTR(noretcomp, "config:11");
PMU_FORMAT_ATTR(branch, "config:13");
PMU_FORMAT_ATTR(mtc_period, "config:14-17");
PMU_FORMAT_ATTR(cyc_thresh, "config:19-22");
PMU_FORMAT_ATTR(psb_period, "config:24-27");
static struct attribute *formats[] = {
    &format_attr_pt.attr,       &format_attr_cyc.attr,
    &format_attr_mtc.attr,       &format_attr_tsc.attr,
    &format_attr_noretcomp.attr,  &format_attr_branch.attr,
    &format_attr_mtc_period.attr, &format_attr_cyc_thresh.attr,
    &format_attr_psb_period.attr, NULL};
static const struct attribute_group format_group = {
    .name = "format", .attrs = formats};

#define CAP(name_, text) \
    static ssize_t cap_##name_##_show(struct device *d, \
        struct device_attribute *a, char *to) \
    { \
        return sprintf(to, text "\n"); \
    } \
    static struct device_attribute cap_##name_ = \
        __ATTR(name_, 0444, cap_##name_##_show, NULL)
CAP(mtc, "1");
CAP(mtc_periods, "249");
CAP(psb_cyc, "1");
CAP(cycle_thresholds, "1fff");
CAP(psb_periods, "3f");
CAP(ptwrite, "0");
CAP(topa_output, "1");
CAP(topa_multiple_entries, "1");
CAP(ip_filtering, "1");
CAP(num_address_ranges, "2");
static struct attribute *caps[] = {
    &cap_mtc.attr,        &cap_mtc_periods.attr,
    &cap_psb_cyc.attr,     &cap_cycle_thresholds.attr,
    &cap_psb_periods.attr, &cap_ptwrite.attr,
    &cap_topa_output.attr, &cap_topa_multiple_entries.attr,
    &cap_ip_filtering.attr, &cap_num_address_ranges.attr, NULL};
static const struct attribute_group cap_group = {
    .name = "caps", .attrs = caps};

static const struct attribute_group *groups[] = {&format_group, &cap_group,
                         NULL};

static struct pmu pmu = {
    .module = THIS_MODULE,
    .attr_groups = groups,
    .capabilities = PERF_PMU_CAP_EXCLUSIVE | PERF_PMU_CAP_ITRACE,
    .task_ctx_nr = perf_sw_context,
    .nr_addr_filters = RANGES,
    .event_init = fake_event_init,
    .add = fake_add,
    .del = fake_del,
    .start = fake_start,
    .stop = fake_stop,
    .read = fake_read,
    .setup_aux = fake_setup_aux,
    .free_aux = fake_free_aux,
    .addr_filters_validate = fake_filters_validate,
    .addr_filters_sync = fake_filters_sync,
};

static int __init fake_init(void)
{
    int cpu;

    for_each_possible_cpu(cpu) {
        struct hrtimer *timer = &per_cpu(units, cpu).timer;
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
        hrtimer_init(timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
        timer->function = tick;
#else
        hrtimer_setup(timer, tick, CLOCK_MONOTONIC,
                  HRTIMER_MODE_REL_PINNED_HARD);
#endif
    }
    return perf_pmu_register(&pmu, "intel_pt", -1);
}

module_init(fake_init); /* it stays until the machine is switched off */
MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("An intel_pt PMU without a processor that has PT");
