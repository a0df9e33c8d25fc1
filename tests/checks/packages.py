"""Builds the library as package managers do: CMake's FetchContent, the vcpkg port and the script of the conda recipe.

Neither vcpkg nor conda is needed: a script of CMake stands for what the port calls.  Takes the objects of the tree's own build.
Called by tests/run.py.  The last line is `N passed, N failed`.
"""

import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

import cases
from cases import expect_in, output_of

ROOT = Path(__file__).resolve().parents[2]
CHOSEN = ("--targets", "portable", "--operations", "cross_entropy,adam", "--folder", "build/packaged")
ENGINE = f"""cmake_minimum_required(VERSION 3.18)
project(engine C)
include(FetchContent)
FetchContent_Declare(quern SOURCE_DIR "{ROOT}")
FetchContent_MakeAvailable(quern)
add_executable(program "{ROOT}/examples/linking/program.c")
target_link_libraries(program PRIVATE quern::quern)
add_executable(program_shared "{ROOT}/examples/linking/program.c")
target_link_libraries(program_shared PRIVATE quern::shared)
"""
# The functions of vcpkg that the port calls.
VCPKG = """function(vcpkg_find_acquire_program name)
  string(TOLOWER ${name} program)
  find_program(found_${name} ${program} REQUIRED)
  set(${name} "${found_${name}}" PARENT_SCOPE)
endfunction()
function(vcpkg_add_to_path folder)
endfunction()
function(vcpkg_execute_required_process)
  cmake_parse_arguments(PARSE_ARGV 0 process "" "WORKING_DIRECTORY;LOGNAME" "COMMAND")
  execute_process(COMMAND ${process_COMMAND} WORKING_DIRECTORY "${process_WORKING_DIRECTORY}" COMMAND_ERROR_IS_FATAL ANY)
endfunction()
function(vcpkg_install_copyright)
  cmake_parse_arguments(PARSE_ARGV 0 licence "" "" "FILE_LIST")
  file(COPY ${licence_FILE_LIST} DESTINATION "${CURRENT_PACKAGES_DIR}/share/quern")
endfunction()
"""
RESULT = "losses 0.4076 1.0986, parameters 1.50 0.50 0.50"


def expect_files(prefix: Path, *names: str) -> None:
    for name in names:
        if not (prefix / name).is_file():
            raise AssertionError(f"there is no {name} below {prefix}: {sorted(map(str, prefix.rglob('*')))}")


def test_an_engine_fetches_the_tree() -> None:
    if not shutil.which("cmake"):
        print("packages: FetchContent: skipped: there is no cmake")
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "CMakeLists.txt").write_text(ENGINE)
        output_of("cmake", "-S", ".", "-B", "out", "-DQUERN_TARGETS=portable", "-DQUERN_OPERATIONS=cross_entropy,adam",
            f"-DPython3_EXECUTABLE={sys.executable}", folder=folder)
        output_of("cmake", "--build", "out", folder=folder)
        for program in ("program", "program_shared"):
            said = output_of(str(folder / "out" / program), folder=folder, QUERN_LOG="2")
            expect_in(RESULT, said)
            expect_in("best target: portable", said)
        before = (folder / "out/program").stat().st_mtime_ns
        output_of("cmake", "--build", "out", folder=folder)
        if (folder / "out/program").stat().st_mtime_ns != before:
            raise AssertionError("a second build has linked the engine again")


def test_the_port_of_vcpkg_installs() -> None:
    if not shutil.which("cmake"):
        print("packages: vcpkg: skipped: there is no cmake")
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "vcpkg.cmake").write_text(f'{VCPKG}include("{ROOT}/packaging/vcpkg/quern/portfile.cmake")\n')
        output_of("cmake", f"-DCURRENT_PORT_DIR={ROOT}/packaging/vcpkg/quern", f"-DCURRENT_PACKAGES_DIR={folder}/packages",
            f"-DPYTHON3={sys.executable}", f"-DQUERN_OPTIONS={';'.join(CHOSEN)}", "-P", "vcpkg.cmake", folder=folder)
        expect_files(folder / "packages", "lib/libquern.a", "lib/cmake/quern/quern-config.cmake", "include/quern.h",
                     "share/quern/LICENSE")


def test_the_recipe_of_conda_installs() -> None:
    script = re.search(r"^  script: (.*)$", (ROOT / "packaging/conda/meta.yaml").read_text(), re.MULTILINE)
    assert script
    with tempfile.TemporaryDirectory() as name:
        (Path(name) / "python").symlink_to(sys.executable)
        output_of("sh", "-c", script[1], PREFIX=f"{name}/prefix", QUERN_OPTIONS=" ".join(CHOSEN),
                  PATH=f"{name}:{os.environ['PATH']}")
        expect_files(Path(name) / "prefix", "lib/libquern.a", "lib/libquern.so", "include/quern.h")


if __name__ == "__main__":
    sys.exit(cases.run(globals()))
