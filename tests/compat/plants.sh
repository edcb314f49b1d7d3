#!/bin/sh
# plants.sh BUILD: each fault that is planted in a copy of the libipt.so.2 of make
# compat is found by the comparison with the system's, without any traces but
# those of the source. One that is not says which.
build=$1
set -- .
. "$(dirname "$0")/../check/lib.sh"
cc=${CC:-cc}
theirs=$root/examples/compat/libipt
flags="-std=c99 -w -O1 -fPIC -fvisibility=hidden -I$root"

mkdir "$tmp/as_is" "$tmp/plant"
cp "$theirs"/* "$tmp/plant"
for c in "$theirs"/*.c; do
    # shellcheck disable=SC2086 # flags
    $cc $flags -I"$theirs" -c -o "$tmp/as_is/$(basename "$c" .c).o" "$c" ||
        fail "compile $c"
done

# finds OBJECT...: does the comparison find a fault in these?
finds() {
    $cc -shared -pthread -Wl,-soname,libipt.so.2 \
        -Wl,--version-script="$theirs/libipt.map" -o "$tmp/libipt.so.2" "$@" ||
        return 2
    LIBIPT=$tmp/libipt.so.2 timeout 60 "$build/compat/$driver" --mutants 20 \
        >"$tmp/said" 2>&1 && return 1
    return 0
}

driver=compat
finds "$tmp"/as_is/*.o && fail_with "a fault without a plant" "$tmp/said" || pass

# plant NAME FILE SED: into a file; files that include it are compiled, too.
plant() {
    sed "$3" "$theirs/$2" >"$tmp/plant/$2"
    if cmp -s "$theirs/$2" "$tmp/plant/$2"; then
        fail "$1: nothing to plant in $2"
        return
    fi
    objects=
    for o in "$tmp"/as_is/*.o; do
        c=$(basename "$o" .o).c
        if [ "$c" = "$2" ] || { [ "${2%.h}" != "$2" ] && [ "$c" != ipt.c ] &&
            [ "$c" != section.c ]; }; then
            # shellcheck disable=SC2086 # flags
            $cc $flags -c -o "$tmp/plant/$c.o" "$tmp/plant/$c" ||
                fail "$1: does not compile"
            o=$tmp/plant/$c.o
        fi
        objects="$objects $o"
    done
    # shellcheck disable=SC2086 # a list
    if finds $objects; then pass; else fail "not found: $1"; fi
    cp "$theirs/$2" "$tmp/plant/$2"
}

plant "culprit's mode" insn.c \
    '/^static void nothing/,/^}/s/to->mode = .*/to->mode = 0;/'
plant "culprit's class" insn.c \
    '/^static int culprit/,/^}/s/to->iclass = .*/;/'
plant "culprit of a block" block.c '/^static int culprit/,/^}/s/ninsn = 1/ninsn = 0/'
plant "time" flow.c '/^int shim_flow_time/,/^}/s/d.at.tsc;/d.at.tsc + 1;/'
plant "time of an event" config.c 's/to->tsc = e->tsc;/to->tsc = e->tsc + 1;/'
plant "lost counters" config.c 's/to->lost_cyc = e->lost_cyc/to->lost_cyc = 0/'
plant "raw bytes" flow.h \
    '/^static inline void shim_flow_code_at/,/^}/s/bytes + at, SHIM_RAW/bytes, 1/'
plant "raw bytes of a truncated block" block.c \
    '/^static void fill/,/^}/s/shim_flow_code_at(.*);//'
plant "offsets" flow.c \
    '/^int shim_flow_offset/,/^}/s/\*offset = here;/*offset = here + 100;/'
plant "isid" flow.h '/^static inline int shim_flow_isid/,/^}/s/p->isid : 0/0 : 0/'
plant "isid of an instruction" insn.c 's/to->isid = p->isid/to->isid = 0/'
plant "status bits" flow.c \
    '/^int shim_flow_flags/,/^}/s/flags |= pts_ip_suppressed;/;/'
plant "asid" flow.c '/^int shim_flow_asid/,/^}/s/now.vmcs = .*/;/'
plant "event fields" config.c 's/e->u.paging.nr \& 1u/0/'
plant "block ends" flow.c 's/|= IPT_CONFIG_END_ON_CALL/|= 0/'
plant "calls of before a loss" flow.c 's/ | IPT_CONFIG_KEEP_CALLS//'

# What came with 2.2.
driver=compat-2.2
THEIRS=$(ls "$root"/build/libipt-2.2/usr/lib/*/libipt.so.2 2>/dev/null)
if [ -z "$THEIRS" ] || [ ! -x "$build/compat/$driver" ]; then
    skip "libipt 2.2 is missing (make deps-full unpacks it)"
    report
    exit
fi
export THEIRS
finds "$tmp"/as_is/*.o && fail_with "2.2: a fault without a plant" "$tmp/said" ||
    pass
plant "what ended flow, after a resync" flow.c \
    '/^int shim_flow_resync/,/^}/s/return passes(f).*/return status;/'
plant "events of before a resync" flow.c \
    '/^int shim_flow_resync/,/^}/s/f->held.count = 0;/f->held.count = 1;/'
plant "tracing after a resync" flow.c \
    '/^int shim_flow_resync/,/^}/s/f->disabled = .*/f->disabled = 1;/'
plant "an error of a resync" flow.c \
    '/^int shim_flow_resync/,/^}/s/return shim_flow_error/return 0 \& shim_flow_error/'
plant "a return to before a loss" flow.c \
    '/^int shim_flow_culprit/,/^}/s/if (status == IPT_ERR_RETURN_LOST) .*//'
plant "the place of a trigger" query.c 's/shim_trigger(&d->next)/(void) 0/'
report
