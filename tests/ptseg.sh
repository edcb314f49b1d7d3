#!/bin/sh
# ptseg.sh: ptseg on a trace typed here byte by byte.

. "$(dirname "$0")/check/lib.sh"
ptseg=$(cd "${BUILD:-build}" && pwd)/ptseg
cd "$tmp" || exit 2

psb='\002\202\002\202\002\202\002\202\002\202\002\202\002\202\002\202'
psbend='\002\043'
tsc='\031\005\000\000\000\000\000\000'   # 5
exec='\231\001'                          # 64 bit
pip='\002\103\000\002\000\000\000\000'   # 0x2000
vmcs='\002\310\003\000\000\000\000'      # 0x3000
fup='\175\000\020\000\000\000\000'       # 0x1000
pge='\161\000\020\000\000\000\000'       # 0x1000
tnt='\006'
pad='\000'

# list STATUS ARGUMENTS...: the standard input is what ptseg has to print.
list() {
    want=$1
    shift
    cat >want
    "$ptseg" "$@" >out 2>err
    status=$?
    if [ $status -ne "$want" ]; then
        fail_with "ptseg $*: status $status, want $want" err
    elif ! cmp -s out want; then
        diff want out >difference
        fail_with "ptseg $* (< expected, > printed)" difference
    else pass; fi
}

# refuse STATUS TEXT ARGUMENTS...: the one line of standard error.
refuse() {
    want=$1 text=$2
    shift 2
    "$ptseg" "$@" >out 2>err
    status=$?
    if [ $status -eq "$want" ] && [ "$(cat err)" = "$text" ]; then pass
    else fail_with "ptseg $*: status $status, want $want and: $text" err; fi
}

# shellcheck disable=SC2059 # the bytes are the format
{
    printf "$pad$pad$pad"                                 # 0
    printf "$psb$tsc$exec$pip$vmcs$fup$psbend$tnt"        # 3
    printf "$psb$psbend$pad"                              # 54
    printf "$psb$exec$fup$psbend$pge"                     # 73
    printf "$psb\031"                                     # 107, 17 bytes
} >trace.pt

list 0 trace.pt <<E
0000000000000003  0000000000000036  enabled   0000000000001000
0000000000000036  0000000000000049  disabled
0000000000000049  000000000000006b  disabled
000000000000006b  000000000000007c  unknown
E
list 0 --all trace.pt <<E
0000000000000003  0000000000000036  enabled   0000000000001000  em 64-bit  \
tsc 0000000000000005  cr3 0000000000002000  vmcs 0000000000003000
0000000000000036  0000000000000049  disabled
0000000000000049  000000000000006b  disabled
000000000000006b  000000000000007c  unknown
E
list 0 --no-state trace.pt <<E
0000000000000003  0000000000000036
0000000000000036  0000000000000049
0000000000000049  000000000000006b
000000000000006b  000000000000007c
E
list 0 --min-size 0x20 trace.pt <<E
0000000000000003  0000000000000036  enabled   0000000000001000
0000000000000036  000000000000006b  disabled
000000000000006b  000000000000007c  unknown
E
list 0 --ranges trace.pt:54-107 <<E
trace.pt:0x36-0x49
trace.pt:0x49-0x6b
E
list 0 --no-state trace.pt:54-73 <<E
0000000000000000  0000000000000013
E
list 1 trace.pt:4-19 </dev/null

refuse 1 "$ptseg: No processor trace file specified."
refuse 1 "$ptseg: unknown option: --foo." --foo
refuse 1 "$ptseg: --min-size: missing argument." --min-size
refuse 1 "$ptseg: --min-size: bad argument: x." --min-size x trace.pt
refuse 1 "$ptseg: [<options>] <ptfile>.  Use --help or -h for help." \
    trace.pt --all
refuse 1 "$ptseg: failed to open none.pt: No such file or directory." none.pt
refuse 2 "$ptseg: bad file trace.pt:9-9: invalid argument." trace.pt:9-9
refuse 0 "" --help
refuse 0 "" --version

report
