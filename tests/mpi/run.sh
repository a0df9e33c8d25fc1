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
mpicc -std=c99 $strict -O1 tests/mpi/ranks.c libquern.a -lm -ldl -lpthread -lrt -o "$work/ranks"
if command -v mpicxx >/dev/null 2>&1; then
    mpicxx -std=c++20 -DOMPI_SKIP_MPICXX $strict -fsyntax-only tests/mpi/include.cc
fi

passed=0
# expect RANKS TEXT ARGUMENT: a run that ends well and prints the text.
expect() {
    timeout 120 mpirun -n "$1" "$work/ranks" "$3" >"$work/log" 2>&1 && grep -q "$2" "$work/log" || {
        echo "mpi: $1 ranks, $3:"
        cat "$work/log"
        exit 1
    }
    passed=$((passed + 1))
}
expect 4 "4 ranks of 2 hosts" hosts
expect 3 "3 ranks of 2 hosts" hosts
expect 4 "4 ranks of 1 hosts" host
expect 1 "1 ranks of 1 hosts" host
echo "$passed passed, 0 failed"
