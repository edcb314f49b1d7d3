#!/bin/sh
# pmu.sh PMU.SO COMMAND...: run a command on a machine that has, it seems, Intel
# PT. As root: /sys/bus/event_source/devices is replaced in a mount namespace.
# See pmu.c for what the environment says; and PMU_CAPS="NAME=VALUE ..." is for
# other capabilities.

type=200 # no other event has it
devices=/sys/bus/event_source/devices

if [ "$1" != --inside ]; then
    exec unshare -m sh "$0" --inside "$@"
fi
pmu=$2
shift 2
new=$(mktemp -d) || exit 2
mount -t tmpfs none "$new" || exit 2
for d in "$devices"/*; do
    ln -s "$(readlink -f "$d")" "$new/$(basename "$d")"
done
pt=$new/intel_pt
mkdir -p "$pt/format" "$pt/caps"
echo $type >"$pt/type"
echo 2 >"$pt/nr_addr_filters"
echo 32 >"$pt/max_nonturbo_ratio"
while read -r name bits; do
    echo "config:$bits" >"$pt/format/$name"
done <<END
pt 0
cyc 1
pwr_evt 4
fup_on_ptw 5
mtc 9
tsc 10
noretcomp 11
ptw 12
branch 13
mtc_period 14-17
cyc_thresh 19-22
psb_period 24-27
event 31
END
while read -r name value; do
    echo "$value" >"$pt/caps/$name"
done <<END
cr3_filtering 1
cycle_thresholds 1fff
ip_filtering 1
max_subleaf 1
mtc 1
mtc_periods 249
num_address_ranges 2
output_subsys 0
payloads_lip 0
power_event_trace 0
psb_cyc 1
psb_periods 3f
ptwrite 0
single_range_output 1
topa_multiple_entries 1
topa_output 1
END
for cap in $PMU_CAPS; do
    echo "${cap#*=}" >"$pt/caps/${cap%%=*}"
done
mount --bind "$new" $devices || exit 2
PMU_TYPE=$type LD_PRELOAD=$pmu "$@"
status=$?
umount $devices
umount "$new"
rmdir "$new"
exit $status
