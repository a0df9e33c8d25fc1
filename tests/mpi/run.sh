#!/bin/sh
# Compiles include/quern_mpi.h with this machine's MPI, as an engine would, and runs groups that MPI has launched.  Skipped without
# mpicc and mpirun.  Called by tests/run.py.
set -eu
cd "$(dirname "$0")/../.."
if ! command -v mpicc >/dev/null 2>&1 || ! command -v mpirun >/dev/null 2>&1; then
    echo "mpi: skipped, there is no mpicc or no mpirun: install libopenmpi-dev and openmpi-bin, or another MPI"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# OpenMPI refuses root, and more ranks than cores, unless it is told; other implementations do not read this.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1

strict="-Wall -Wextra -Wpedantic -Werror -Iinclude"
for program in ranks carrier; do
    mpicc -std=c99 $strict -O2 tests/mpi/$program.c "${QUERN_TEST_LIBRARY:-.}/libquern.a" -lm -ldl -lpthread -lrt -o "$work/$program"
done
if command -v mpicxx >/dev/null 2>&1; then
    mpicxx -std=c++20 -DOMPI_SKIP_MPICXX $strict -fsyntax-only tests/mpi/include.cc
fi

passed=0
# expect RANKS TEXT PROGRAM ARGUMENT: a run that ends well and prints the text.
expect() {
    mpirun -n "$1" "$work/$3" "$4" >"$work/log" 2>&1 && grep -q "$2" "$work/log" || {
        echo "mpi: $1 ranks, $3 $4:"
        cat "$work/log"
        exit 1
    }
    passed=$((passed + 1))
}
expect 4 "4 ranks of 2 hosts" ranks hosts
expect 3 "3 ranks of 2 hosts" ranks hosts
expect 4 "4 ranks of 1 hosts" ranks host
expect 1 "1 ranks of 1 hosts" ranks host
expect 2 "exchange: right" carrier exchange
expect 3 "exchange: right" carrier exchange
expect 4 "exchange: right" carrier exchange
expect 2 "transfer: right" carrier transfer
expect 4 "transfer: right" carrier transfer
expect 2 "funneled: right" carrier funneled
expect 4 "late: right" carrier late
skipped=
# expect_without_last CASE: all ranks but the last, which kills itself, end well.
expect_without_last() {
    # Processes get a moment to end by themselves, and mpirun then tells of the one that was killed.  OpenMPI 4 would crash in others
    # when its shared memory copies from a process that has died; other implementations do not read this.
    OMPI_MCA_btl_vader_single_copy_mechanism=none mpirun --enable-recovery -n 4 "$work/carrier" "$1" >"$work/log" 2>&1 || true
    [ "$(grep -c "$1: right" "$work/log")" = 3 ] || {
        echo "mpi: 4 ranks, carrier $1:"
        cat "$work/log"
        exit 1
    }
    passed=$((passed + 1))
}
if mpirun --help all 2>/dev/null | grep -q -e --enable-recovery; then
    expect_without_last killed
    expect_without_last cut
else
    echo "mpi: skipped, this mpirun ends the job when a process dies"
    skipped=", 1 skipped"
fi
echo "$passed passed, 0 failed$skipped"
