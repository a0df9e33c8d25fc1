#!/bin/sh
# Checks the archive: it defines only quern_* symbols, calls nothing that prints, aborts or exits, and is small.  Called by
# tests/run.py.
set -eu
cd "$(dirname "$0")/../.."
fail=0

strangers=$(nm -g --defined-only libquern.a 2>/dev/null | awk 'NF == 3 && $3 !~ /^quern_/ { print $3 }')
if [ -n "$strangers" ]; then
    echo "abi: symbols without the quern_ prefix:" $strangers
    fail=1
fi
forbidden=$(nm -u libquern.a 2>/dev/null | awk '$1 == "U" && $2 !~ /^quern_/ { print $2 }' |
    grep -E 'printf|abort|exit|assert|puts|perror' | grep -vx atexit | sort -u || true)
if [ -n "$forbidden" ]; then
    echo "abi: the library calls" $forbidden
    fail=1
fi
size=$(wc -c <libquern.a)
if [ "$size" -gt 14000000 ]; then
    echo "abi: libquern.a has $size bytes, more than 14,000,000"
    fail=1
fi
[ "$fail" = 0 ] &&
    echo "abi: $(nm -g --defined-only libquern.a 2>/dev/null | awk 'NF == 3' | wc -l) symbols, all quern_*; $size bytes"
exit "$fail"
