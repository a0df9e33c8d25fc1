"""The files in tests/: the names from which generated/tests.ninja is rendered."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TESTS = ROOT / "tests"

# The folders whose files are listed, relative to tests/.
FOLDERS = ("suites", "harness", "header", "fields", "oracle", "emulator", "emulator/runtime", "nccl")

# The files linked with tests/race/ranks.c, the ranks in threads that ThreadSanitizer tests.
WITH_THREADS = ("harness/carrier", "harness/chunks_case", "harness/chunks_ranks", "harness/collective_case", "harness/random",
                "harness/ragged_case", "harness/ranks", "harness/transfer_case", "oracle/adam_value", "oracle/collective",
                "oracle/dtype", "oracle/philox", "oracle/quantize", "oracle/ragged_all_to_all")

# What the linker gets for suites that stand between the library and its calls.
WRAPPED = {"suites/test_failures": "$failing_calls", "suites/test_hosts_strangers": "-Wl,--wrap=pthread_create"}


def _names(folder: str, pattern: str) -> list[str]:
    return sorted(str(path.relative_to(TESTS).with_suffix("")) for path in (TESTS / folder).glob(pattern))


def sources() -> dict[str, list[str]]:
    """Names below tests/ without their endings, by what they are."""
    return {
        "suites": _names("suites", "*.c"),
        "harness": [*_names("harness", "*.c"), *_names("header", "*.c"), *_names("fields", "*.c")],
        "oracle": _names("oracle", "*.c"),
        "emulator": [*_names("emulator", "*.cpp"), *_names("emulator/runtime", "*.cpp")],
        "nccl": _names("nccl", "*.cpp"),
        "translator": [f"tests/{name}.py" for name in _names("emulator", "*.py")],
        "thread": list(WITH_THREADS),
    }


def folders() -> list[str]:
    """The folders whose times change when a file is added or removed, relative to the root."""
    return [f"tests/{name}" for name in FOLDERS if (TESTS / name).is_dir()]
