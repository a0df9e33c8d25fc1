#!/bin/sh
# The short programs, and the demo engine for a few steps: on the CPU, and on an emulated GPU when there are kernels for one.
set -eu
cd "$(dirname "$0")/.."

expect() {
    text=$1
    shift
    if ! output=$("$@" 2>&1) || ! printf '%s' "$output" | grep -q -- "$text"; then
        echo "examples: '$*' failed or did not print '$text':"
        printf '%s\n' "$output" | tail -n 40
        exit 1
    fi
}

expect "loss 10.3735" build/examples/cross_entropy
expect "p = [23]\." build/examples/adam

corpus=build/test_corpus.txt
"${PYTHON:-python3}" examples/language_model/corpus.py "$corpus" >/dev/null || {
    echo "examples: no corpus"
    exit 1
}
small="--corpus $corpus --steps 3 --batch 1 --context 16 --vocab 600 --width 32 --layers 1"
expect "apart" build/language_model --device cpu $small
if [ "$(cat build/nvcc.txt 2>/dev/null)" != none ]; then
    LD_LIBRARY_PATH=build/emulator QUERN_EMULATOR=9.0 expect "__sm_90a" build/language_model --device cuda:0 $small
fi
echo "examples: the short programs and the demo engine run"
