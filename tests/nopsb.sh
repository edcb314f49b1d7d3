#!/bin/sh
# nopsb.sh: N4, a trace without a PSB does not look like success. ptdump and
# ptxed have the standard output and the status of libipt's; all say it on
# standard error.

. "$(dirname "$0")/check/lib.sh"
bin=$(cd "${BUILD:-build}" && pwd)
cd "$tmp" || exit 2
head -c 100 /dev/zero >none.pt
head -c 64 /dev/zero >code

# says STATUS PROGRAM ARGUMENTS...
says() {
    want=$1
    shift
    program=$1
    shift
    "$bin/$program" "$@" >out 2>err
    status=$?
    if [ $status -ne "$want" ] || ! grep -q 'no PSB' err; then
        cat out >>err
        fail_with "N4: $program $*: status $status, want $want" err
    else
        pass
    fi
    expect_empty "N4: $program $*: standard output" out
}

case N4 in
*"$TEST_ONLY"*)
    says 0 ptdump none.pt
    says 0 ptxed --raw code:0x1000 --pt none.pt
    says 0 ptxed --block-decoder --raw code:0x1000 --pt none.pt
    says 1 ptseg none.pt
    says 1 ptcov --raw code:0x1000 none.pt
    says 1 ptparallel --raw code:0x1000 --pt none.pt
    says 1 examples/minimal none.pt code 1000
    "$bin/examples/cover" code 1000 none.pt >out 2>err
    [ $? -eq 1 ] && grep -q 'no PSB' err && pass ||
        fail_with "N4: examples/cover" err
    ;;
esac
report
