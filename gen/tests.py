"""The files in tests/: the names from which generated/tests.ninja is rendered."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TESTS = ROOT / "tests"

# The folders whose files are listed, relative to tests/.
FOLDERS = ("suites", "harness", "header", "fields", "fuzz", "oracle", "emulator", "emulator/runtime", "nccl")

# The files linked with tests/race/threads.c, the ranks in threads that ThreadSanitizer tests.
WITH_THREADS = ("harness/carrier", "harness/chunks_case", "harness/collective_case", "harness/nccl_side", "harness/ragged_case",
                "harness/random", "harness/rank_bench", "harness/ranks", "harness/transfer_case", "oracle/adam_value",
                "oracle/collective", "oracle/dtype", "oracle/philox", "oracle/quantize", "oracle/ragged_all_to_all")

# What the linker gets for suites that stand between the library and its calls.
WRAPPED = {"suites/test_descriptors": "-Wl,--wrap=close -Wl,--wrap=fcntl -Wl,--wrap=accept4 -Wl,--wrap=connect",
           "suites/test_dump": "-Wl,--wrap=quern_now",
           "suites/test_failures": "$failing_calls",
           "suites/test_hosts_shrink_ends": "-Wl,--wrap=quern_complete_quorum",
           "suites/test_hosts_rejected": "-Wl,--wrap=pthread_create -Wl,--wrap=quern_now",
           "suites/test_hosts_trust": "-Wl,--wrap=free -Wl,--wrap=getrandom",
           "suites/test_trace": "-Wl,--wrap=dlopen -Wl,--wrap=dlsym",
           "suites/test_unpack": "$failing_calls"}


def _names(folder: str, pattern: str) -> list[str]:
    return sorted(str(path.relative_to(TESTS).with_suffix("")) for path in (TESTS / folder).glob(pattern))


def sources() -> dict[str, list[str]]:
    """Names below tests/ without their endings, by what they are."""
    return {
        "suites": _names("suites", "*.c"),
        "harness": [*_names("harness", "*.c"), *_names("header", "*.c"), *_names("fields", "*.c")],
        "oracle": _names("oracle", "*.c"),
        "fuzz": ["header/table", *_names("fuzz", "*.c")],
        "emulator": [*_names("emulator", "*.cpp"), *_names("emulator/runtime", "*.cpp")],
        "nccl": _names("nccl", "*.cpp"),
        "translator": [f"tests/{name}.py" for name in _names("emulator", "*.py")],
        "thread": list(WITH_THREADS),
    }


def programs(cpu_targets: list[str]) -> list[tuple[str, str, str]]:
    """The folders below build/ with the suites' programs: the rule that links them, and the library.  All but those of the whole
    library and of the instrumented one have no GPU kernels."""
    return [("tests", "test_program", "libquern.a"), ("light/tests", "test_program", "$builddir/light/libquern.a"),
            ("address/tests", "test_program_address", "$builddir/address/libquern.a"),
            *((f"address/{name}/tests", "test_program_address", f"$builddir/address/{name}/libquern.a") for name in cpu_targets)]


def folders() -> list[str]:
    """The folders whose times change when a file is added or removed, relative to the root."""
    return [f"tests/{name}" for name in FOLDERS if (TESTS / name).is_dir()]
