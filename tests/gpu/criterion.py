"""Copies Criterion into a folder, and uses it from there on a machine on which nothing can be installed.  Called by command.py."""

import os
import re
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

PROBE = "#include <criterion/criterion.h>\nTest(probe, runs) { cr_assert(1); }\n"
OF_THE_C_LIBRARY = re.compile(r"(libc|libm|libdl|libpthread|librt|ld-linux-x86-64)\.so")


def works() -> bool:
    """Whether a test compiles, links and runs."""
    with tempfile.TemporaryDirectory() as folder:
        program = f"{folder}/probe"
        compiler = [*shlex.split(os.environ.get("CC", "cc")), "-x", "c", "-", "-lcriterion", "-o", program]
        return subprocess.run(compiler, input=PROBE, text=True, capture_output=True).returncode == 0 and \
            subprocess.run([program], capture_output=True).returncode == 0


def _known() -> dict[str, str]:
    """The libraries that the machine's linker finds, with their paths."""
    listed = subprocess.run(["ldconfig", "-p"], capture_output=True, text=True, check=False,
                            env={**os.environ, "PATH": f"{os.environ.get('PATH', '')}:/sbin:/usr/sbin"}).stdout
    return {line.split()[0]: line.split(" => ")[1] for line in reversed(listed.splitlines()) if " => " in line}


def _header_folder() -> Path:
    """Where the compiler finds the header."""
    compiler = [*shlex.split(os.environ.get("CC", "cc")), "-M", "-x", "c", "-"]
    listed = subprocess.run(compiler, input="#include <criterion/criterion.h>\n", text=True, capture_output=True, check=True).stdout
    return next(Path(word).parent for word in listed.split() if word.endswith("/criterion/criterion.h"))


def carry(folder: Path) -> str:
    """Copies Criterion's headers, its library and the libraries that this needs, except for those of the C library."""
    library = next((path for name, path in _known().items() if name.startswith("libcriterion.so")), None)
    if not library or not works():
        return "Criterion is not on this machine: install libcriterion-dev"
    shutil.copytree(_header_folder(), folder / "include/criterion", dirs_exist_ok=True)
    (folder / "lib").mkdir(parents=True, exist_ok=True)
    listed = subprocess.run(["ldd", library], capture_output=True, text=True, check=True).stdout
    needed = re.findall(r"^\s*(\S+) => (/\S+)", listed, re.MULTILINE)
    for name, path in [(Path(library).name, library), ("libcriterion.so", library), *needed]:
        if not OF_THE_C_LIBRARY.match(name):
            shutil.copy(path, folder / "lib" / name)
    return ""


def use(folder: Path, own: Path) -> None:
    """Lets compilers and programs find the copy.  Programs get only those libraries that the machine lacks, as links in `own`."""
    known = _known()
    shutil.rmtree(own, ignore_errors=True)
    own.mkdir(parents=True)
    for library in (folder / "lib").glob("*.so*"):
        if library.name not in known:
            (own / library.name).symlink_to(library.resolve())
    for name, path in (("CPATH", folder / "include"), ("LIBRARY_PATH", folder / "lib"), ("LD_LIBRARY_PATH", own)):
        os.environ[name] = ":".join(filter(None, (str(path.resolve()), os.environ.get(name))))
