#!/bin/sh
# Installs into a folder of its own and builds programs against what was installed, as an engine would.
set -eu
cd "$(dirname "$0")/../.."
work=$PWD/build/consumer
rm -rf "$work"
mkdir -p "$work"

step() {
    echo "consumer: $1"
    shift
    "$@" >"$work/log" 2>&1 || {
        status=$?
        tail -n 40 "$work/log"
        echo "consumer: failed with status $status"
        exit 1
    }
}

step "ninja install with PREFIX and DESTDIR" env DESTDIR="$work/root" PREFIX=/opt/quern ninja install
export PKG_CONFIG_PATH="$work/root/opt/quern/lib/pkgconfig"

step "pkg-config builds" sh -c "${CC:-cc} -Wall -Wextra -Werror tests/consumers/both.c \$(pkg-config --cflags --libs quern) -o $work/both"
step "pkg-config program runs" "$work/both"

step "CMake configures" cmake -S tests/consumers -B "$work/cmake" -DCMAKE_PREFIX_PATH="$work/root/opt/quern"
step "CMake builds C and C++" cmake --build "$work/cmake"
step "CMake program runs" "$work/cmake/both"
step "C++ program runs" "$work/cmake/both_cxx"

step "one operation builds" sh -c "${CC:-cc} tests/consumers/adam_only.c \$(pkg-config --cflags --libs quern) -o $work/adam_only"
step "one operation runs" "$work/adam_only"
step "one operation links only that one" sh -c "! nm --defined-only $work/adam_only | grep -i cross_entropy"
step "needs no CUDA and no C++ runtime" sh -c "! ldd $work/adam_only | grep -E 'cuda|stdc'"
