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

expect 2 "there is no command 'buidl'; the nearest is 'build'" ./quern buidl
expect 2 "there is no command 'xyzzy': ./quern --help" ./quern xyzzy
expect 2 "Usage: ./quern COMMAND" ./quern
expect 0 "Usage: ./quern COMMAND" ./quern --help
for command in "demo --help" "bench --help" "bench --count --help" "test --help" "gpu --help" "gen --help" "gen explain --help"; do
    expect 0 "[Uu]sage: ./quern ${command% --help}" ./quern $command
done
expect 2 "invalid choice" "${PYTHON:-python3}" -m gen nonsense
expect 2 "there is no target" "${PYTHON:-python3}" -m gen explain adam target=sm_1 param=f32
expect 2 "there is no GPU target 'sm_1'; there are sm_121" "${PYTHON:-python3}" -m gen pack sm_1
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
rm -rf "$tree/build"

# Options are checked before anything is installed or built: each program that could do so ends the command with status 99.
for program in ninja apt-get pip sudo; do
    printf '#!/bin/sh\nexit 99\n' >"$work/a path/bin/$program"
    chmod 755 "$work/a path/bin/$program"
done
first() { PATH="$work/a path/bin:$PATH" "$tree/quern" "$@"; }
expect 2 "needs --ranks of at least as much" first demo --hosts 2
expect 2 "it is a number from 1 to 128" first demo --ranks 0
expect 2 "it is bf16, nearest or f32" first demo --moments fp8
expect 2 "'/nope': No such file" first demo --corpus /nope
expect 2 "there is no target 'sm_1'" first build --targets sm_1
expect 2 "there is no operation 'adm'" first install "$work/prefix" --operations adm
expect 2 "unrecognized arguments: --nonsense" first test --nonsense
expect 2 "unrecognized arguments: --nonsense" first mutate --nonsense
expect 2 "nonsense: expected" first bench nonsense
expect 2 "unrecognized arguments: --nonsense" first bench --count --nonsense
expect 2 "there is no GPU target 'sm_1'" first gen pack sm_1
expect 2 "there is no folder /nope for x.qpack" first gen pack sm_90a -o /nope/x.qpack
expect 2 "nothing can be written into /dev/null" first install /dev/null/quern
expect 2 "toolkit takes no arguments" first toolkit --nonsense
if [ -e "$tree/build" ]; then
    echo "usage: a command with wrong options has made build/"
    fail=1
fi

# A tree of another user, and a full disk.
as_another_user() { setpriv --reuid=65534 --regid=65534 --clear-groups "$tree/quern" $1; }
on_a_full_disk() { unshare -m sh -c "mount -t tmpfs -o size=64k tmpfs '$tree/build' && exec '$tree/quern' $1"; }
if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
    chmod 755 "$work"
    mkdir -m 777 "$work/open"
    for command in build "install $work/open/prefix" test bench mutate "gen render" "gen pack sm_90a" wheel toolkit; do
        expect 1 "nothing can be written here (.*), which belongs to root" as_another_user "$command"
    done
    mkdir "$tree/build"
    for command in build test "gen pack sm_90a" toolkit; do
        expect 1 "nothing can be written here (.*): the disk is full" on_a_full_disk "$command"
    done
else
    echo "usage: a tree of another user and a full disk: skipped: they need root"
fi
exit "$fail"
