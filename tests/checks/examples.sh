#!/bin/sh
# Runs the examples and checks their output.  Runs the demo for a few steps: on the CPU, and on an emulated GPU if its kernels are
# built; on one rank and on several, one of which is killed, stopped or interrupted.  Called by tests/run.py.
#
#   examples.sh           all of it
#   examples.sh NUMBER    of the ways in which a rank ends, one: the number modulo their count
set -eu
cd "$(dirname "$0")/../.."
programs=${QUERN_TEST_PROGRAMS:-build}

# expect TEXT COMMAND...: the command succeeds and prints TEXT, a pattern.
expect() {
    text=$1
    shift
    if ! output=$("$@" 2>&1) || ! printf '%s' "$output" | grep -q -- "$text"; then
        echo "examples: '$*' failed or did not print '$text':"
        printf '%s\n' "$output" | tail -n 40
        exit 1
    fi
}

# refuse TEXT ARGUMENT...: the demo ends with status 2 for these arguments, and prints TEXT.
refuse() {
    text=$1
    shift
    status=0
    output=$($programs/language_model "$@" 2>&1) || status=$?
    if [ $status != 2 ] || ! printf '%s' "$output" | grep -q -- "$text"; then
        echo "examples: status $status instead of 2 from the demo with '$*', or it did not print '$text':"
        printf '%s\n' "$output"
        exit 1
    fi
}

# is_running ID: the process exists and is no zombie.
is_running() {
    state=$(sed 's/.*) //' "/proc/$1/stat" 2>/dev/null) && [ "${state%% *}" != Z ]
}

parent=
trap 'if [ -n "$parent" ]; then kill "$parent"; fi' EXIT

# await COMMAND...: until the command succeeds.  Without a limit: that is the runner's.
await() {
    until "$@"; do sleep 0.1; done
}

# has_trained_or_ended: the process $parent has done a step, or will do none.
has_trained_or_ended() {
    grep -q "^  step " $log || ! is_running $parent
}

has_ended() {
    ! is_running "$1"
}

# afflict OPTIONS SIGNAL RANK|parent TIMEOUT STATUS TEXT...: processes train with these options, and one gets a signal.  All end,
# the parent with STATUS, and print every TEXT, a pattern.  The library's status says whether a rank was lost or a limit has ended.
afflict() {
    spread=$1 signal=$2 victim=$3 timeout=$4 expected=$5 status=0
    shift 5
    log=build/test_ranks.txt
    : >$log
    $programs/language_model --device cpu $spread --processes $tiny --timeout "$timeout" --steps 1000000 --no-comparison >$log 2>&1 &
    parent=$!
    await has_trained_or_ended
    ids=$(sed -n 's/^Ranks .* processes: //p' $log)
    id=$parent
    if [ "$victim" != parent ]; then id=$(echo "$ids" | cut -d ' ' -f $((victim + 1))); fi
    kill -s "$signal" "$id" || true
    wait $parent || status=$?
    parent=
    for id in $ids; do await has_ended "$id"; done
    for text in "$@"; do
        if ! grep -q -- "$text" $log; then status="$status, no '$text'"; fi
    done
    if [ "$status" != "$expected" ]; then
        echo "examples: after SIG$signal to $victim of $spread: status $status (expected $expected):"
        tail -n 20 $log
        exit 1
    fi
}

# on_two_hosts ARGUMENT...: the demo on ranks of two network namespaces without common memory, which needs root.
on_two_hosts() {
    head -c 32 /dev/urandom >build/test_secret
    here="quern-demo-$$-0" there="quern-demo-$$-1" run="mount -t tmpfs tmpfs /dev/shm && exec $programs/language_model"
    remove_hosts() { ip netns del $here 2>/dev/null || true; ip netns del $there 2>/dev/null || true; }
    if ! { ip netns add $here && ip netns add $there && unshare -m true &&
        ip link add eth0 netns $here type veth peer name eth0 netns $there; } 2>/dev/null; then
        remove_hosts
        echo "examples: no two hosts: this needs root, and ip of the package iproute2"
        return
    fi
    trap 'remove_hosts' EXIT
    ip -n $here addr add 10.77.0.1/24 dev eth0 && ip -n $there addr add 10.77.0.2/24 dev eth0
    for host in $here $there; do ip -n $host link set eth0 up && ip -n $host link set lo up; done
    run="$run --device cpu --ranks 4 --hosts 2 --meet 10.77.0.1:4711 --secret build/test_secret $*"
    ip netns exec $there unshare -m sh -c "$run --host 1" >build/test_host.txt 2>&1 &
    parent=$!
    expect "the same bits on one" ip netns exec $here unshare -m sh -c "$run --host 0"
    wait $parent && grep -q "^host 1 has done its part" build/test_host.txt || {
        echo "examples: the second of two hosts:"
        tail -n 20 build/test_host.txt
        exit 1
    }
    parent=
    remove_hosts
    trap 'if [ -n "$parent" ]; then kill "$parent"; fi' EXIT
}

# ---- the examples ----

for source in examples/*.c examples/linking/*; do
    lines=$(wc -l <"$source")
    if [ "$lines" -gt 150 ]; then
        echo "examples: $source has $lines lines; an example has at most 150"
        exit 1
    fi
    name=$(basename "$source" .c)
    if [ "$source" = "examples/$name.c" ] && ! grep -q "^expect .* \$programs/examples/$name\( \|$\)" "$0"; then
        echo "examples: nothing is expected here of $source"
        exit 1
    fi
done

# A pack of the rows of a GPU generation, with images that nothing loads on a CPU.
"${PYTHON:-python3}" - build/test_example.qpack <<'END' || exit 1
import sys
from gen import pack, plan, spec

target = spec.GPU_TARGETS["sm_121"]
units = plan.units("cross_entropy", [target])
with open(sys.argv[1], "wb") as file:
    file.write(pack.assemble(target, units, {unit.stem: b"image" for unit in units}))
END
truncated=build/test_truncated.qpack
head -c 1000 build/test_example.qpack >$truncated

expect "p = [23]\." $programs/examples/adam
expect "rank 3 saw the sum 10 and is rank 1 of its half" $programs/examples/barrier
expect "loss 10.3735" $programs/examples/cross_entropy
expect "of sm_121: runs on a CUDA device" $programs/examples/kernel_pack build/test_example.qpack cpu
expect "after 400 steps the mean reward is above 0.85" $programs/examples/policy_gradient
expect "after 300 steps the mean divergence is below 0.001" $programs/examples/distillation
expect "portable  0xB021DB33D52E3173$" $programs/examples/portable_bits
expect "loss 6.9078 .* with 6 products; gradient of the first label's weight -0.333" $programs/examples/linear_cross_entropy
expect "p = [23]\..* after 498 steps of 500, with a loss scale of 16384" $programs/examples/loss_scaling
expect "rank 1 got 2 2 4 0" $programs/examples/ragged_all_to_all
expect "the loaded run has the same bits" $programs/examples/saved_states
expect "the same bits as on the library's own threads" $programs/examples/team
expect "rank 1: amax 2, sum of all rows 768" $programs/examples/quantized_chunks
rm -rf build/test_dump
expect "loss 6.0392 and 6.0392" $programs/examples/trace build/test_trace.json build/test_dump
expect "call 2, adam, step 2 on cpu: QUERN_OK" env PYTHONPATH=bindings/python "${PYTHON:-python3}" -m quern_dump show build/test_dump
expect "p = 3.0 after 500 steps, the same bits on both ranks" $programs/examples/zero
expect "amax 8, scale 56: 0x66 0xEE 0x76 0x31" $programs/examples/quantize
expect "8 microbatches went through two stages: the sum is 72" $programs/examples/transfer
expect "loss 1.768891 on rank 0, 1.768891 on rank 1" $programs/examples/vocab_parallel
if output=$($programs/examples/kernel_pack $truncated cpu 2>&1) ||
    ! printf '%s' "$output" | grep -q "QUERN_INVALID_PACK: .*truncated"; then
    echo "examples: kernel_pack takes a truncated pack, or does not say what is wrong: $output"
    exit 1
fi

# ---- the demo ----

corpus=build/test_corpus.txt
"${PYTHON:-python3}" demo/corpus.py "$corpus"
tiny="--corpus $corpus --timeout 600 --context 16 --vocab 600 --width 32 --layers 1"
small="$tiny --steps 3 --batch 1"
few="$tiny --steps 4 --batch 5"
same="with one rank (0.* % apart)"
expect "apart" $programs/language_model --device cpu $small
expect "apart" $programs/language_model --device cpu --experts 3 $few
expect "$same" $programs/language_model --device cpu --ranks 2 $few
expect "$same" $programs/language_model --device cpu --ranks 3 --experts 2 $few
expect "$same" $programs/language_model --device cpu --ranks 4 --processes $few
expect "the same bits on one" $programs/language_model --device cpu --ranks 4 --hosts 2 $few
expect "the same bits on one" $programs/language_model --device cpu --ranks 5 --hosts 3 $few
expect "the same bits on one" $programs/language_model --device cpu --ranks 3 --pipeline $few --layers 4
expect "the same bits on one" $programs/language_model --device cpu --ranks 2 --pipeline --processes $few --layers 2
expect "the same bits on one" $programs/language_model --device cpu --ranks 4 --pipeline --hosts 2 $few --layers 5
expect "$same" $programs/language_model --device cpu --tensor-parallel 2 $few --batch 4
expect "$same" $programs/language_model --device cpu --tensor-parallel 3 --ranks 3 $few --batch 6 --width 96 --threads 6
expect "$same" $programs/language_model --device cpu --tensor-parallel 4 --processes $few --batch 4
on_two_hosts $few
if [ "$(head -n 1 build/nvcc.txt 2>/dev/null)" != none ]; then
    one="env LD_LIBRARY_PATH=build/emulator QUERN_EMULATOR=9.0" two="$one,9.0"
    expect "__sm_90a" $one $programs/language_model --device cuda:0 $small
    expect "$same" $one $programs/language_model --device cuda --ranks 2 $few
    expect "$same" $two $programs/language_model --device cuda --ranks 3 $few
    expect "$same" $two $programs/language_model --device cuda --ranks 2 --processes $few
    expect "$same" $one $programs/language_model --device cuda --tensor-parallel 2 $few --batch 4
    expect "$same" $two $programs/language_model --device cuda --tensor-parallel 2 --processes $few --batch 4
fi

refuse "--ranks is '0'" --ranks 0
refuse "--ranks is '200'; it is a number from 1 to 128" --ranks 200
refuse "--batch is 2; with --ranks 3" --ranks 3 --batch 2
refuse "--experts is '1'" --experts 1 --ranks 2
refuse "--processes needs --ranks" --processes
refuse "--pipeline needs --ranks" --pipeline
refuse "--layers is 2; in a pipeline of 3 ranks" --ranks 3 --pipeline --layers 2
refuse "--pipeline has no --experts" --ranks 2 --pipeline --experts 4
refuse "--pipeline needs --device cpu" --ranks 2 --pipeline --device cuda
refuse "--tensor-parallel is '1'; it is a number from 2 to 128" --tensor-parallel 1
refuse "--tensor-parallel has no --pipeline" --tensor-parallel 2 --pipeline
refuse "--tensor-parallel has no --experts" --tensor-parallel 2 --experts 4
refuse "--tensor-parallel has no --hosts" --tensor-parallel 2 --hosts 2
refuse "--ranks is 3; with --tensor-parallel 2 it is 2" --tensor-parallel 2 --ranks 3
refuse "--batch is 5; with --tensor-parallel 2 it is a multiple of 2" --tensor-parallel 2 --batch 5
refuse "--tensor-parallel is 3; it is a divisor of 4 times --width: of 512" --tensor-parallel 3
refuse "--hosts needs --ranks of at least as much" --hosts 2
refuse "--hosts is 3; with --ranks 2 it is at most as much" --hosts 3 --ranks 2
refuse "--corpus is '/nope': No such file" --corpus /nope
refuse "--host is 2; with --hosts 2" --ranks 2 --hosts 2 --host 2
refuse "--host needs --meet and --secret" --ranks 2 --hosts 2 --host 1
refuse "need --hosts" --ranks 2 --meet 127.0.0.1:4711
refuse "--hosts needs --device cpu" --ranks 2 --hosts 2 --device cuda

# ---- the demo, one of whose processes ends, stops or is interrupted ----

lost="QUERN_PEER_LOST.*rank" late="QUERN_PEER_TIMEOUT.*rank" killed="was ended by signal 9" apart="--tensor-parallel 2"
affliction() {
    case $1 in
    0) afflict "--ranks 3" KILL 2 600 1 "$lost 2" "rank 2 .* $killed" "rank 0 .*status 1" "rank 1 .*status 1" ;;
    1) afflict "--ranks 3" KILL 0 600 1 "$lost 0" "rank 0 .* $killed" "rank 1 .*status 1" "rank 2 .*status 1" ;;
    2) afflict "--ranks 3" STOP 1 15 1 "$late 1" "1 ranks have not ended" "rank 1 .* $killed" ;;
    3) afflict "--ranks 3" INT parent 600 130 "interrupted" ;;
    4) afflict "--ranks 3" KILL parent 600 137 "step" ;;
    5) afflict "$apart" KILL 1 600 1 "$lost 1" "rank 1 .* $killed" "rank 0 .*status 1" ;;
    6) afflict "$apart" KILL 0 600 1 "$lost 0" "rank 0 .* $killed" "rank 1 .*status 1" ;;
    7) afflict "$apart" STOP 1 15 1 "$late 1" "1 ranks have not ended" "rank 1 .* $killed" ;;
    8) afflict "$apart" INT parent 600 130 "interrupted" ;;
    esac
}

chosen="0 1 2 3 4 5 6 7 8"
if [ $# -gt 0 ]; then chosen=$(($1 % 9)); fi
for number in $chosen; do affliction "$number"; done
echo "examples: the examples and the demo engine run"
