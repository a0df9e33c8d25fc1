#!/bin/sh
# What a person sees who calls the command wrongly: usage, status 2 and nothing done.
set -u
cd "$(dirname "$0")/.."
fail=0

# expect STATUS TEXT COMMAND...
expect() {
    status=$1 text=$2
    shift 2
    output=$("$@" 2>&1)
    got=$?
    if [ "$got" != "$status" ] || ! printf '%s' "$output" | grep -q -- "$text"; then
        echo "usage: '$*' ended with status $got, expected $status and '$text':"
        printf '%s\n' "$output"
        fail=1
    fi
}

expect 2 "Usage: ./quern COMMAND" ./quern nonsense
expect 2 "Usage: ./quern COMMAND" ./quern
expect 0 "Usage: ./quern COMMAND" ./quern --help
for command in "demo --help" "bench --help" "test --help" "gen --help" "gen explain --help"; do
    expect 0 "[Uu]sage: ./quern ${command% --help}" ./quern $command
done
expect 2 "invalid choice" "${PYTHON:-python3}" -m gen nonsense
expect 2 "there is no target" "${PYTHON:-python3}" -m gen explain adam target=sm_1 param=f32
expect 2 "is no row of GPU_TARGETS" "${PYTHON:-python3}" -m gen pack sm_1
expect 1 "no such kernel can exist" "${PYTHON:-python3}" -m gen explain adam target=avx2 param=f32 grad=f32 m=f32 v=f32 master=f32
expect 0 "cross_entropy_bf16_streamed__sm_80: chosen" \
    "${PYTHON:-python3}" -m gen explain cross_entropy target=sm_80 logits=bf16 vocab=128256
exit "$fail"
