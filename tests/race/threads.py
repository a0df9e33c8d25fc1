"""ThreadSanitizer over threads.c, idle.c and look.c: the library must be silent, and each of its variants without an order must be
reported (see races.py).

A variant is the library with one line changed and that file compiled again.
"""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import races
from races import BUILD, ROOT

THREAD = BUILD / "thread"
FLAGS = ["-std=c11", "-O1", "-g", "-w", "-I", "include", "-I", "src", "-fsanitize=thread"]
SYMPTOMS = (races.RACE, "ERROR: ThreadSanitizer", "race: ")


@dataclass(frozen=True)
class Variant:
    name: str
    file: str
    old: str    # occurs exactly once
    new: str
    scene: str  # in which it must be reported


VARIANTS = [
    Variant("signals for all ranks without release", "src/ranks/meeting.c", "&half->signal, signal, __ATOMIC_RELEASE)",
            "&half->signal, signal, __ATOMIC_RELAXED)", "meet"),
    Variant("signals for some ranks without release", "src/ranks/meeting.c",
            "quern_make_signal(epoch, tag), __ATOMIC_RELEASE)", "quern_make_signal(epoch, tag), __ATOMIC_RELAXED)",
            "meet_in_subsets"),
    Variant("looks without acquire", "src/ranks/meeting.c",
            "half[epoch % 2].signal : member->from[slot], __ATOMIC_ACQUIRE)",
            "half[epoch % 2].signal : member->from[slot], __ATOMIC_RELAXED)", "meet"),
    Variant("destroy does not wait for visitors", "src/ranks/handles.c",
            "while (__atomic_load_n(&group->visitors, __ATOMIC_SEQ_CST)) sched_yield();", "", "destroy_while_watched"),
    Variant("a call returns before the others have copied", "src/ranks/ragged/ragged_host.c",
            "status = copy(exchange, meeting, rounds);\n"
            "    if (status == QUERN_OK) status = quern_ragged_meet_here(call, meeting, QUERN_PHASE_EXIT);",
            "status = copy(exchange, meeting, rounds);", "exchange_slices"),
    Variant("the records of a collective in one half", "src/ranks/collective/collective_record.c",
            "(member->roster, rank, half);", "(member->roster, rank, 0 * half);", "collect"),
    Variant("words of chunks without release", "src/ranks/chunks/chunks_work.c",
            "work->call->args.ready_value, __ATOMIC_RELEASE)", "work->call->args.ready_value, __ATOMIC_RELAXED)", "send_chunks"),
    Variant("pieces of a chunk in no order", "src/ranks/chunks/chunks_work.c",
            "__atomic_sub_fetch(&work->left[chunk], 1, __ATOMIC_ACQ_REL)",
            "__atomic_sub_fetch(&work->left[chunk], 1, __ATOMIC_RELAXED)", "send_large_chunks"),
    Variant("a wait for chunks without acquire", "src/ranks/chunks/chunks_wait.c",
            "__atomic_load_n(&wait->ready[wait->next], __ATOMIC_ACQUIRE) == wait->value",
            "__atomic_load_n(&wait->ready[wait->next], __ATOMIC_RELAXED) == wait->value", "send_chunks"),
    Variant("ranges that are looked up beside changes", "src/ranks/symmetric/symmetric_lookup.c",
            "    pthread_mutex_lock(&ranges->lock);\n"
            "    const enum quern_symmetric_state state = quern_symmetric_find(member, pointer, bytes, place);\n"
            "    pthread_mutex_unlock(&ranges->lock);\n    return state;",
            "    return quern_symmetric_find(member, pointer, bytes, place);", "wait_beside_allocations"),
    Variant("what is in a ring without release", "src/ranks/transfer/ring.c",
            "__atomic_store_n(&end->ring->written, end->moved, __ATOMIC_RELEASE)",
            "__atomic_store_n(&end->ring->written, end->moved, __ATOMIC_RELAXED)", "transfer"),
    Variant("a cancel that does not wait for a thread that copies", "src/ranks/transfer/transfers.c",
            "    quern_withdraw(conn);\n",
            "    if (conn->out.ring) __atomic_add_fetch(&conn->out.ring->ends, 1, __ATOMIC_RELAXED);\n",
            "cancel_transfers"),
    Variant("a thread that moves transfers beside a call", "src/ranks/transfer/progress_threads.c",
            "    if (take_lock(threads)) {\n"
            "        const bool has_moved = quern_pass_transfers(threads->all), is_awaited = "
            "quern_watch_stream_waits(threads->all->waits);\n"
            "        outcome = has_moved ? MOVED : quern_transfers_are_busy(threads->all) ? BUSY : is_awaited ? AWAITED : IDLE;\n"
            "        if (is_second && outcome != MOVED) list_sockets(threads);\n"
            "        pthread_mutex_unlock(&threads->lock);\n    }\n",
            "    if (!end(threads)) outcome = quern_pass_transfers(threads->all) ? MOVED : IDLE;\n", "transfer_by_threads"),
    Variant("tasks do not look for launches", "src/runtime/idle.c", "if (!__atomic_load_n(&idle.launching, __ATOMIC_SEQ_CST) && !(",
            "if (!(", "a_task_within_a_launch"),
    Variant("launches that have ended in no order", "src/runtime/idle.c",
            "__atomic_sub_fetch(&idle.launching, 1, __ATOMIC_RELEASE)", "__atomic_sub_fetch(&idle.launching, 1, __ATOMIC_RELAXED)",
            "launches_and_tasks"),
    Variant("launches do not look for tasks", "src/runtime/idle.c",
            "if (!__atomic_load_n(&idle.is_running, __ATOMIC_SEQ_CST)) return;", "return;", "a_launch_within_a_task"),
    Variant("a group that is looked at after its end", "src/ranks/watch.c",
            "    pthread_mutex_lock(&watcher.lock);\n    drop(roster);\n    pthread_mutex_unlock(&watcher.lock);",
            "    drop(roster);",
            "watched_groups"),
]

def run(program: Path, *scene: str) -> tuple[int, str]:
    # The kernels are not instrumented: of them, those that call memcpy are seen.
    return races.run(program, *scene, QUERN_KERNEL="*__portable", TSAN_OPTIONS="halt_on_error=1 exitcode=66 atexit_sleep_ms=0")


def build_variant(variant: Variant, directory: Path) -> Path:
    """The program with the changed file before the library that has the real one."""
    text = (ROOT / variant.file).read_text()
    if text.count(variant.old) != 1:
        raise SystemExit(f"{variant.file} has its text {text.count(variant.old)} times: {variant.old}")
    source = directory / Path(variant.file).name
    source.write_text(text.replace(variant.old, variant.new))
    program = directory / "race_threads"
    subprocess.run(["clang", *FLAGS, "-c", source, "-o", source.with_suffix(".o")], check=True, cwd=ROOT)
    subprocess.run(["clang", "-fsanitize=thread", THREAD / "tests/race.a", source.with_suffix(".o"), THREAD / "libquern.a", "-lm",
                    "-ldl", "-pthread", "-o", program], check=True, cwd=ROOT)
    return program


def check_program() -> Iterator[bool]:
    yield races.is_silent("the library", *run(BUILD / "tests/race_threads"))


def check_variants() -> Iterator[bool]:
    for variant in VARIANTS:
        with tempfile.TemporaryDirectory() as directory:
            program = build_variant(variant, Path(directory))
            yield races.is_reported(variant.name, lambda: run(program, variant.scene), SYMPTOMS)


if __name__ == "__main__":
    sys.exit(races.main(check_program, check_variants))
