"""Prints how much of each file of src/ the sanitized suites execute, and fails for a function that none of them calls.

The suites leave their counts in build/coverage.  GPU kernels are not counted: clang does not compile them.
"""

import fnmatch
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from coverage import counts  # noqa: E402
from runner import devices  # noqa: E402

# The functions, `FILE:FUNCTION`, that no program with counts needs to call.
EXEMPT = {
    "a failure that no test brings about at this place": (
        "*/descriptors.c:fail_system", "*/messages.c:fail_for_memory", "*/dump.c:no_memory", "*/image.c:refuse_for_age",
        "*/nccl_pair.c:break_by_cuda", "*/gpu.c:quern_fail_on_gpu", "*/connector.c:error_of", "*/mesh.c:expire",
        "*/symmetric_multicast.c:note_cuda", "*/handles.c:quern_drop_handle", "*/poison.c:quern_poison_by_end",
        "*/roster.c:quern_fail_damaged", "*/ragged_hosts.c:quern_ragged_abandon"),
    "only if ranks meet in time": (
        "*/rendezvous.c:give_up_entering", "*/rendezvous.c:joining_joined", "*/shrink.c:fail_expired",
        "*/connection.c:bytes_of_parts", "*/connection.c:quern_conn_detach_data", "*/bytes.c:is_ending"),
    "the check \"unloading\", and children of fork, which write no counts": (
        "*:*_forgotten", "*:*unload*", "*/unload.c:run_steps", "*/log.c:close_file", "*/events.c:quern_events_forget",
        "*/kernel_times.c:quern_forget_kernel_times", "*/threads.c:*_pool", "*/threads.c:quern_threads_device", "*/trace.c:disown",
        "*/sockets.c:close_copies", "*/form.c:is_of_cpus"),
    "the check \"kernel pack\"": ("*/pack.c:*", "*_select.c:pack_fault", "*_select.c:is_*", "*/dtype.c:quern_is_*"),
    "the checks \"selection\" and \"consumers\"": ("*/build_info.c:*",),
    "processes with GPU ranks, in tests/faults": (
        "*/symmetric_cuda*.c:listen", "*/symmetric_cuda*.c:*_parts", "*/symmetric_cuda*.c:*_handle", "*/symmetric_cuda*.c:open_*",
        "*/symmetric_cuda*.c:map_*", "*/symmetric_cuda_register.c:check_access", "*/symmetric_cuda_register.c:export_part",
        "*/symmetric_cuda.c:*_ledger", "*/symmetric_pinned.c:refuse_registration",
        "*/symmetric_ranges.c:quern_symmetric_set_aside", "*/peer_probe.c:fail_lost", "*/rendezvous.c:refuse_lost",
        "*/registered_segment.c:quern_claim_launch", "*/registered_segment.c:thread_number"),
    "UCX, which is not on every machine": ("*/ucx.c:*", "*/choice.c:*_ucx", "*/messages.c:quern_messages_user"),
    "sizes that the sanitized suites do not have": (
        "*/threads.c:run_hooked_task", "*/quantize_cpu.c:cast_large", "*/chunks_work.c:fence", "*/collective_work.c:fence"),
    "a processor's own instructions": ("src/os/futex.h:*",),
}


def is_exempt(function: tuple[str, str]) -> bool:
    absent = tuple(f"*_{each.environment['QUERN_TEST_TARGET']}.h:*" for each in devices.cpu_configurations() if each.unavailable)
    return any(fnmatch.fnmatch(":".join(function), pattern) for patterns in (*EXEMPT.values(), absent) for pattern in patterns)


def print_files(exported: dict) -> None:
    """Of each file, and of all, the lines and the outcomes of conditions that came."""
    total, rows = [0, 0], []
    for file in exported["files"]:
        parts = [file["summary"][part] for part in ("lines", "branches")]
        came, of = sum(part["covered"] for part in parts), sum(part["count"] for part in parts)
        if of and counts.name_of(file["filename"]).startswith("src/"):
            rows.append(f"{100 * came / of:5.1f} %  {came:5} of {of:5}  {counts.name_of(file['filename'])}")
            total = [total[0] + came, total[1] + of]
    rows.append(f"{100 * total[0] / max(total[1], 1):5.1f} %  {total[0]} of {total[1]} lines and outcomes")
    print("\n".join(rows))


def counting_suites() -> set[str]:
    with tempfile.TemporaryDirectory() as garbage:
        return {suite.name for each in devices.all_configurations(Path(garbage)) if each.counts and not each.unavailable
                for suite in each.suites()}


def main() -> int:
    without = counting_suites() - {path.parent.name for path in counts.everything()}
    if problem := counts.problem() or (f"{len(without)} suites left no counts, {min(without)} for instance" if without else ""):
        print(f"{problem}: ./quern test --only 'sanitized *'\n0 passed, 0 failed, 1 skipped")
        return 0
    exported = counts.export(counts.everything(), counts.objects())
    print_files(exported)
    functions = {key: count for key, count in counts.functions(exported).items() if key[0].startswith("src/")}
    idle = [key for key, count in sorted(functions.items()) if not count and not is_exempt(key)]
    names = [":".join(key) for key in functions]
    stale = [pattern for patterns in EXEMPT.values() for pattern in patterns if not fnmatch.filter(names, pattern)]
    print("\n".join([*(f"nothing calls {file}: {function}" for file, function in idle),
                     *(f"exempts no function: {pattern}" for pattern in stale),
                     f"{len(functions)} functions", f"{int(not idle + stale)} passed, {int(bool(idle + stale))} failed"]))
    return 1 if idle + stale else 0


if __name__ == "__main__":
    sys.exit(main())
