#!/bin/sh
# Runs build/quern_bench_hosts between two network namespaces, which needs root: ninja build/quern_bench_hosts && bench/hosts.sh
set -eu
cd "$(dirname "$0")/.."
a=quern-bench-a b=quern-bench-b
ip netns add $a
trap 'ip netns del $a; ip netns del $b' EXIT
ip netns add $b
ip link add qbench netns $a type veth peer name qbench netns $b
ip -n $a addr add 10.78.0.1/24 dev qbench
ip -n $b addr add 10.78.0.2/24 dev qbench
for host in $a $b; do ip -n $host link set qbench up; ip -n $host link set lo up; done
ip netns exec $b taskset -c 1 build/quern_bench_hosts 1 10.78.0.1 4711 &
ip netns exec $a taskset -c 0 build/quern_bench_hosts 0 10.78.0.1 4711
wait
