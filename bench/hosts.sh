#!/bin/sh
# Runs build/quern_bench_hosts, and build/quern_bench_hosts_mpi where it is built, between two network namespaces, which needs root:
#   ninja build/quern_bench_hosts bench-mpi && bench/hosts.sh              # all
#   bench/hosts.sh collectives                 # one table of those over MPI: exchanges, transfers, collectives or progress
set -eu
cd "$(dirname "$0")/.."
case "${1:-}" in
'' | exchanges | transfers | collectives | progress) ;;
*) echo "usage: bench/hosts.sh [exchanges|transfers|collectives|progress]" >&2; exit 2 ;;
esac
a=quern-bench-$$-a b=quern-bench-$$-b
work=$(mktemp -d)
ip netns add $a
trap 'ip netns del $a; ip netns del $b; rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
ip netns add $b
ip link add qbench netns $a type veth peer name qbench netns $b
ip -n $a addr add 10.78.0.1/24 dev qbench
ip -n $b addr add 10.78.0.2/24 dev qbench
for host in $a $b; do ip -n $host link set qbench up; ip -n $host link set lo up; done
# The kernel calls an interface running up to a second after it is up, and UCX leaves out those that are not running.
await_running() {
    tries=200
    until ip -n "$1" -o link show qbench | grep -q 'state UP'; do
        tries=$((tries - 1))
        [ $tries -gt 0 ] || { echo "the interface of $1 is not running after 10 s" >&2; exit 1; }
        sleep 0.05
    done
}
await_running $a
await_running $b
if [ $# = 0 ]; then
    ip netns exec $b taskset -c 1 build/quern_bench_hosts 1 10.78.0.1 4711 &
    ip netns exec $a taskset -c 0 build/quern_bench_hosts 0 10.78.0.1 4711
    wait
fi
[ -x build/quern_bench_hosts_mpi ] || exit 0

# OpenMPI starts its daemon on the other host by this instead of ssh.
printf '#!/bin/sh\nshift\nexec ip netns exec %s sh -c "$*"\n' $b >"$work/agent"
# Without these the library does not load UCX.
ucx="UCX_MEM_EVENTS=n UCX_HANDLE_ERRORS=none UCX_DEBUG_SIGNO=0 UCX_VFS_ENABLE=n UCX_LOG_LEVEL=fatal UCX_NET_DEVICES=qbench"
printf '#!/bin/sh\nexec env %s taskset -c "$OMPI_COMM_WORLD_RANK" build/quern_bench_hosts_mpi %s\n' "$ucx" "${1:-}" >"$work/pinned"
chmod +x "$work/agent" "$work/pinned"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
network=10.78.0.0/24
ip netns exec $a mpirun --bind-to none --mca plm_rsh_agent "$work/agent" --mca btl tcp,self --mca btl_tcp_if_include $network \
    --mca oob_tcp_if_include $network -H 10.78.0.1:1,10.78.0.2:1 "$work/pinned"
