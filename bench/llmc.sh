#!/bin/sh
# Measures the loss and the optimizer of llm.c's CPU engine in turns with Quern's, and prints a line of JSON for each:
#   ninja libquern.a && bench/llmc.sh FOLDER [ARCHIVE]    # FOLDER: a copy of https://github.com/karpathy/llm.c
# llm.c is compiled with the flags of its Makefile.
set -eu
cd "$(dirname "$0")/.."
[ -f "${1:-}/train_gpt2.c" ] || { echo "usage: bench/llmc.sh FOLDER [ARCHIVE]: FOLDER has llm.c's train_gpt2.c" >&2; exit 2; }
folder=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
${CC:-cc} -Ofast -march=native -fopenmp -w -DOMP "-DLLMC=\"$folder/train_gpt2.c\"" -I include -I bench bench/operations/llmc.c \
    bench/harness/record.c bench/harness/times.c "${2:-libquern.a}" -lm -ldl -pthread -o "$work/llmc"
"$work/llmc"
