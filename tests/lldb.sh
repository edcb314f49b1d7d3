#!/bin/sh
# lldb.sh: ptflow --lldb reads bundles of LLDB's schema: traces of threads and of
# cpus with switches, the code of processes and of a kernel; what is damaged.

. "$(dirname "$0")/check/lib.sh"
build=$(cd "${BUILD:-build}" && pwd) || exit 2
recording=$(cd "$root/examples/recording" && pwd)
cd "$tmp" || exit 2
mkdir in in/code files
mkfifo in/fifo

# packets HEX...: bytes.
packets() {
    # shellcheck disable=SC2059 # octal escapes
    printf "$(echo "$*" | awk '{for (i = 1; i <= NF; i++) {
        n = 16 * index("123456789abcdef", substr($i, 1, 1)) \
            + index("123456789abcdef", substr($i, 2, 1))
        printf "\\%d%d%d", n / 64, n / 8 % 8, n % 8 }}')"
}

# flow FILE OPTION...: to got, without blanks at both ends, and what it says to err.
flow() {
    "$build/ptflow" --lldb "$@" >raw 2>err
    status=$?
    tr -s ' ' <raw | sed 's/^ //; s/ $//' >got
    return $status
}

same() { # WHAT STATUS: got is want
    [ "$2" -eq 0 ] && [ -s want ] && cmp -s got want && pass || {
        diff got want >>err
        fail_with "$1: status $2" err
    }
}

says() {
    grep -q -- "$1" err && pass || fail_with "it does not say: $1" err
}

# ---- a trace of a thread ----

# bundle ADDRESS FILE PATH MORE
bundle() {
    cat <<JSON
{"type": "intel-pt", "processes": [{"pid": 7, "triple": "x86_64",
  "threads": [{"tid": 8, "iptTrace": "one.pt"}, {"tid": 9}],
  "modules": [{"loadAddress": $1, $2 "systemPath": "$3"$4}]}]}
JSON
}

cp "$recording/trace.pt" in/one.pt
cp "$recording/program" in/code/copy
cp "$recording/program" files/program
"$build/ptflow" --fields ip --pt in/one.pt --elf files/program:0x400000 \
    2>err | tr -d ' ' >want
for base in 4194304 '"4194304"' '"0x400000"'; do
    bundle "$base" '"file": "code/copy",' /at/home/program >in/trace.json
    flow in/trace.json --fields ip
    same "loadAddress $base" $?
done
bundle 4194304 "\"file\": \"$tmp/in/code/copy\"," 'a\u002fprogram' >in/trace.json
(cd in && "$build/ptflow" --lldb trace.json --fields ip 2>../err | tr -d ' ') >got
same "names with escapes, in this folder" 0
flow in/trace.json --fields pid,tid,comm,dso
[ "$(sort -u got)" = "7 8 program $tmp/in/code/copy" ] && pass ||
    fail_with "whose it is" got
bundle 4194304 '' /at/home/program >in/trace.json
flow in/trace.json --fields ip --symfs files
same "--symfs" $?
flow in/trace.json --fields ip
[ ! -s got ] && says 'not there: /at/home/program; say where a copy is: --symfs'
bundle 4194304 '' "$tmp/files/program" >in/trace.json
flow in/trace.json --fields ip
same "systemPath" $?
id=$(readelf -n files/program | sed -n 's/.*Build ID: //p')
bundle 4194304 '"file": "code/copy",' /program \
    ", \"uuid\": \"$(echo "$id" | sed 's/^\(.\{8\}\)\(.\{4\}\)/\1-\2-/')\"" \
    >in/trace.json
flow in/trace.json --fields ip
same "uuid $id" $?
bundle 4194304 '"file": "code/copy",' /program \
    ', "uuid": "01234567-89AB-CDEF-0123-456789ABCDEF-01234567"' >in/trace.json
flow in/trace.json --fields ip
[ ! -s got ] && says 'copy: other version of the file; --force takes it'
flow in/trace.json --fields ip --force
same "--force" $?

# ---- cpus, switches, a clock ----

header="02 82 02 82 02 82 02 82 02 82 02 82 02 82 02 82 99 01"
ends="02 23"
on="71 00 10 00 00 00 00"   # tracing is enabled at 0x1000, before a `jmp rax`
off="61 00 20 00 00 00 00"  # that leads to 0x2000, out of the code
stop="01"                   # TIP.PGD without IP

# u32 N, u64 N, zone N: little-endian bytes in hex
le() { # BYTES N
    printf '%0*x' $((2 * $1)) "$2" | sed 's/../& /g' |
        awk '{for (i = NF; i; i--) printf "%s ", $i}'
}
tsc() {
    printf '19 %s ' "$(le 7 "$1")"
}
# switched MISC OTHER-PID OTHER-TID PID TID TIME
switched() {
    printf '0f 00 00 00 %s20 00 ' "$(le 2 "$1")"
    le 4 "$2"; le 4 "$3"; le 4 "$4"; le 4 "$5"; le 8 "$6"
}
out=8192

# Two programs of one segment at 0x1000: two instructions, or three, and a jump.
cat >code.s <<'END'
    .globl _start
_start:
    .rept COUNT
    nop
    .endr
    jmp *%rax
END
for n in 2 3; do
    sed "s/COUNT/$n/" code.s >code$n.s
    ${CC:-cc} -nostdlib -static -w -Wl,-Ttext=0x1000,--build-id=none,-N \
        -o in/code/$n code$n.s 2>err ||
        fail_with "code.s" err
done
base=$(readelf -lW in/code/2 | awk '$1 == "LOAD" {print $3; exit}')
# ns = tsc / 2 + 1000; 11 runs, then 12 from 3000 ns on, then a stranger.
packets "$header $(tsc 2000) $ends $on $off $(tsc 4100) $on $off" >in/cpu0.pt
packets "$header $(tsc 2000) $ends $on $off" >in/cpu3.pt
packets "$(switched $out 12 12 11 11 3000) $(switched 0 11 11 12 12 3010)" \
    "02 00 00 00 00 00 18 00 00 00 00 00 00 00 00 00 05 00 00 00 00 00 00 00" \
    "$(switched $out 0 0 12 12 4000)" >in/0.switch
packets "$(switched 0 0 0 12 13 1500)" >in/3.switch
cat >in/cpus.json <<JSON
{"type": "intel-pt", "processes": [
  {"pid": 11, "threads": [{"tid": 11}], "modules": [
    {"file": "code/2", "systemPath": "/two", "loadAddress": "$base"}]},
  {"pid": 12, "threads": [], "modules": [
    {"file": "code/3", "systemPath": "/three", "loadAddress": "$base"}]}],
 "cpus": [{"id": 0, "iptTrace": "cpu0.pt", "contextSwitchTrace": "0.switch"},
          {"id": 3, "iptTrace": "cpu3.pt", "contextSwitchTrace": "3.switch"}],
 "tscPerfZeroConversion": {"timeMult": 1, "timeShift": 1, "timeZero": "1000"}}
JSON
flow in/cpus.json --fields pid,tid,cpu,time,ip,sure
status=$?
{
    printf '11 11 0 0.000002000 100%d 1\n' 0 1 2
    printf '12 12 0 0.000003050 100%d 1\n' 0 1 2 3
    printf '12 13 3 0.000002000 100%d 1\n' 0 1 2 3
} >want
sort got >s && mv s got
same "two cpus, three threads" $status
# A zero of the clock as large as can be, and larger.
sed 's/"1000"/18446744073709551616/' in/cpus.json >in/x.json
flow in/x.json --fields ip
says 'x.json: 1 part is not understood'
sed 's/"1000"/18446744073709551615/' in/cpus.json >in/x.json
flow in/x.json --fields time --cpu 3
[ "$(sort -u got)" = 0.000000999 ] && pass || fail_with "timeZero" got
# Without switches a cpu's flow is of the only process.
cat >in/x.json <<JSON
{"type": "intel-pt", "processes": [{"pid": 12, "modules": [
    {"file": "code/3", "systemPath": "/three", "loadAddress": "$base"}]}],
 "cpus": [{"id": 3, "iptTrace": "cpu3.pt"}]}
JSON
flow in/x.json --fields pid,cpu,time,ip
status=$?
printf '12 3 - 100%d\n' 0 1 2 3 >want
same "one process, no switches" $status

# ---- a kernel ----

# It was 2 MiB above where it asks to be. `here` calls __switch_to, which jumps to
# what the next thread does. Its first segment is not the lowest.
cat >kernel.s <<'END'
    .globl _start, here, __switch_to
_start:
here:
    nop
    call __switch_to
    .balign 16
__switch_to:
    nop
    jmp *%rax
    .section .percpu, "aw"
    .quad 1
END
cat >kernel.ld <<'END'
PHDRS { text PT_LOAD; data PT_LOAD; }
SECTIONS {
    .text 0xffffffff81000000 : { *(.text) } :text
    .percpu 0 : { *(.percpu) } :data
}
END
${CC:-cc} -nostdlib -static -w -Wl,--build-id=none,-T,kernel.ld -o in/vmlinux \
    kernel.s 2>err || fail_with "kernel.s" err
enter="d1 00 00 20 81 ff ff ff ff"  # TIP.PGE at `here`
again="cd 00 00 20 81 ff ff ff ff"  # TIP to it
packets "$header $(tsc 2000) $ends $enter $(tsc 4000) $again" \
    "$(tsc 4200) $stop" >in/kernel.pt
packets "$(switched $out 22 22 21 21 2990) $(switched 0 21 21 22 22 3100)" \
    "$(switched $out 21 21 22 22 3095)" >in/kernel.switch
cat >in/kernel.json <<JSON
{"type": "intel-pt", "cpus": [{"id": 1, "iptTrace": "kernel.pt",
    "contextSwitchTrace": "kernel.switch"}],
 "kernel": {"file": "vmlinux", "loadAddress": "0xffffffff81200000"},
 "tscPerfZeroConversion": {"timeMult": 1, "timeShift": 1, "timeZero": 1000}}
JSON
flow in/kernel.json --fields tid,cpu,ip,symoff
status=$?
{
    printf '%d 1 ffffffff8120000%d here+0x%d\n' 21 0 0 21 1 1
    printf '%d 1 ffffffff8120001%d __switch_to+0x%d\n' 22 0 0 22 1 1
    printf '%d 1 ffffffff8120000%d here+0x%d\n' 22 0 0 22 1 1
    printf '%d 1 ffffffff8120001%d __switch_to+0x%d\n' 21 0 0 21 1 1
} >want
same "a kernel" $status
! grep unsure err >bad
expect_empty "threads that are not sure" bad
# The same without names in the file, if --kallsyms gives them; without both the
# threads change elsewhere.
${STRIP:-strip} -o in/bare in/vmlinux 2>err || fail_with "strip" err
sed 's/vmlinux/bare/' in/kernel.json >in/bare.json
printf '%s T %s\n' ffffffff81200000 here ffffffff81200010 __switch_to >kallsyms
flow in/bare.json --fields tid,cpu,ip,symoff --kallsyms kallsyms
same "--kallsyms" $?
flow in/bare.json --fields tid,cpu,ip,symoff
cmp -s got want && fail "there are no names" || pass
# At the address of the schema, where none is given.
sed 's/, "loadAddress": [^}]*//' in/kernel.json >in/x.json
packets "$header $ends $(echo "$enter" | sed 's/20/00/') $stop" >in/kernel.pt
flow in/x.json --fields ip
[ "$(head -n 1 got)" = ffffffff81000000 ] && pass || fail_with "loadAddress" err

# ---- what is wrong ----

wrong() { # TEXT OF-THE-FILE [STATUS]
    printf %s "$2" >in/x.json
    flow in/x.json
    [ $? -eq 1 ] && pass || fail_with "$2: status 0" err
    says "x.json: $1"
}
wrong 'at byte 0: a value was expected' 'type=intel-pt'
wrong 'at byte 20: a , or } was expected' '{"type": "intel-pt" "x": 0}'
wrong 'at byte 64: too deep' "$(printf '%070d' 0 | tr 0 '[')"
wrong 'it is not a bundle of LLDB' '{"type": "intel-bts"}'
wrong 'it is not a bundle of LLDB' '[]'
wrong 'there is no iptTrace in it' '{"type": "intel-pt", "processes": 5, "cpus": {}}'
wrong '10 parts are not understood' '{"type": "intel-pt", "cpuInfo": {"family": 70000},
    "kernel": 5, "tscPerfZeroConversion": {"timeMult": 0},
    "cpus": [{"id": -1, "iptTrace": "a"}, {"id": 4294967295, "iptTrace": "a"}, {"id": 1}],
    "processes": [{}, {"pid": 0}, {"pid": 1, "threads": [{"tid": "x"}],
        "modules": [{"systemPath": ""}]}]}'
says 'there is no iptTrace in it'
flow in/none.json
[ $? -eq 1 ] && says 'none.json'
printf '{"type": "intel-pt", "cpus": [{"id": 0, "iptTrace": "n\\u000ano"}]}' >in/x.json
flow in/x.json
[ $? -eq 1 ] && says 'n\\x0ano: not there, or no file'
for file in /dev/zero . fifo; do
    sed "s|one.pt|$file|" in/trace.json >in/x.json
    flow in/x.json
    [ $? -eq 1 ] && says "$file: not there, or no file"
    bundle 4194304 '' "$file" >in/x.json
    flow in/x.json
    says "not there: $file; say"
done
bundle 4194304 '' 'n\u000ano' >in/x.json
flow in/x.json
says 'not there: n\\x0ano; say'
flow in/trace.json trace.pt
[ $? -eq 2 ] && says 'one of them'

report
