#!/bin/sh
# Wrong calls of the commands print the usage, end with status 2 and change nothing.  Help also changes nothing, a path may contain
# a space, and QUERN_LOG accepts a level without a path.  Called by tests/run.py.
set -u
cd "$(dirname "$0")/../.."
fail=0

# expect STATUS TEXT COMMAND...
expect() {
    status=$1 text=$2
    shift 2
    output=$("$@" 2>&1)
    got=$?
    if [ "$got" != "$status" ] || ! printf '%s\n' "$output" | grep -- "$text" >/dev/null; then
        echo "usage: '$*' ended with status $got, expected $status and '$text':"
        printf '%s\n' "$output" | tail -n 40
        fail=1
    fi
}

expect 2 "Usage: ./quern COMMAND" ./quern nonsense
expect 2 "Usage: ./quern COMMAND" ./quern
expect 0 "Usage: ./quern COMMAND" ./quern --help
for command in "demo --help" "bench --help" "bench --count --help" "bench --scale --help" "test --help" "gpu --help" "gen --help" "gen explain --help"; do
    expect 0 "[Uu]sage: ./quern ${command% --help}" ./quern $command
done
expect 2 "invalid choice" "${PYTHON:-python3}" -m gen nonsense
expect 2 "there is no target" "${PYTHON:-python3}" -m gen explain adam target=sm_1 param=f32
expect 2 "is no row of GPU_TARGETS" "${PYTHON:-python3}" -m gen pack sm_1
expect 1 "no such kernel can exist" "${PYTHON:-python3}" -m gen explain adam target=avx2 param=f32 grad=f32 m=f32 v=f32 master=f32
expect 0 "cross_entropy_bf16_streamed__sm_80: chosen" \
    "${PYTHON:-python3}" -m gen explain cross_entropy target=sm_80 logits=bf16 vocab=128256

# `./quern demo --help`, which needs no build, prints the same text as the program.
if [ -x build/language_model ]; then
    build/language_model --help | sed 's|language_model|./quern demo|' | cmp - demo/usage.txt || {
        echo "usage: demo/usage.txt is not what build/language_model --help prints"
        fail=1
    }
fi

# A level without a path logs to standard error and makes no file of that name.
if [ -x build/examples/adam ]; then
    expect 0 "adam: .*: runs on a CUDA device" env QUERN_LOG=3 build/examples/adam
    expect 0 "\[cpu\] adam: first use" env QUERN_LOG=2: build/examples/adam
    if [ -e 3 ]; then
        echo "usage: QUERN_LOG=3 made a file"
        fail=1
    fi
fi

# The program beside llm.c compiles with what it takes of that.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
expect 2 "usage: bench/llmc.sh FOLDER" bench/llmc.sh "$work"
cat >"$work/train_gpt2.c" <<'END'
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
typedef struct { float *params_memory, *grads_memory; size_t num_parameters; } GPT2;
void softmax_forward(float *probs, float *logits, int B, int T, int V, int Vp);
void crossentropy_forward(float *losses, float *probs, int *targets, int B, int T, int Vp);
void crossentropy_softmax_backward(float *dlogits, float *dlosses, float *probs, int *targets, int B, int T, int V, int Vp);
void gpt2_update(GPT2 *model, float learning_rate, float beta1, float beta2, float eps, float weight_decay, int t);
END
if echo '#include <omp.h>' | ${CC:-cc} -fopenmp -fsyntax-only -x c - 2>/dev/null; then
    expect 0 "" ${CC:-cc} -std=c11 -Wall -Wextra -Werror -fopenmp -fsyntax-only "-DLLMC=\"$work/train_gpt2.c\"" -I include -I bench \
        bench/operations/llmc.c
fi

# The tree and Python lie in a path with a space: runs the generator's steps and compiles a kernel.
tree="$work/a path/quern"
mkdir -p "$tree" "$work/a path/bin"
cp -r build.ninja quern gen templates generated include src demo examples bench tests "$tree/"
ln -s "$(command -v "${PYTHON:-python3}")" "$work/a path/bin/python"
expect 0 "CC build/portable/ragged_all_to_all__portable.o" env NVCC=none PYTHON="$work/a path/bin/python" \
    ninja -C "$tree" build/barrier/barrier_images.o build/portable/ragged_all_to_all__portable.o
expect 0 "Usage: ./quern demo" "$tree/quern" demo --help
exit "$fail"
