"""Makes the wheel quern_kernels: the Python package of bindings/python, libquern.so and the shims of PyTorch and JAX, for every
Python and every glibc from 2.28 on.  Called by `./quern wheel`.

zig cc links, against stubs of that glibc; cc has compiled.  The same inputs give the same bytes.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from gen import api, exports, selection
from gen.host import compiler, this_host
from gen.render import ROOT
from gen.spec import ARCHITECTURES

PACKAGE = ROOT / "bindings/python"
NAME = "quern_kernels"
LEAST_GLIBC = (2, 28)
LEAST_PYTHON = "3.9"
SUMMARY = "Fused cross-entropy, Adam, FP8 casts and ragged all-to-all for PyTorch, JAX and NumPy"
SHIMS = ("quern_torch", "quern_jax")
SITE = "https://pypi.org/project/quern-kernels/"


def run(*command: object) -> None:
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, cwd=ROOT)
    if done.returncode:
        raise SystemExit(f"wheel: {' '.join(map(str, command[:3]))} ... failed:\n{done.stdout}{done.stderr}")


COMPILER = compiler(ARCHITECTURES[0])


def zig(host: str) -> list[str]:
    return [sys.executable, "-m", "ziglang", "cc", "-target", f"{host}-linux-gnu.{LEAST_GLIBC[0]}.{LEAST_GLIBC[1]}"]


LINKING = ("-shared", "-s", "-Wl,-z,defs", "-Wl,-z,now")


def link_library(archive: Path, folder: Path, linker: list[str]) -> Path:
    """The archive as a shared library."""
    script, made = folder / "exports.map", folder / api.soname()
    script.write_text(api.version_script())
    run(*linker, *LINKING, f"-Wl,-soname,{api.soname()}", f"-Wl,--version-script={script}", "-Wl,--whole-archive", archive,
        "-Wl,--no-whole-archive", "-lm", "-ldl", "-lpthread", "-lrt", "-o", made)
    elf = bytearray(made.read_bytes())
    exports.unprotect(elf)
    made.write_bytes(elf)
    return made


def link_shim(name: str, library: Path, folder: Path, linker: list[str], host: str) -> Path:
    """A shim finds the library beside itself, at run time too."""
    made, part = folder / f"{name}.so", folder / f"{name}.o"
    run(*compiler(host), "-std=gnu11", "-O2", "-fPIC", "-fexceptions", "-fvisibility=hidden", "-Wall", "-Wextra",
        f"-ffile-prefix-map={ROOT}=.", "-I", "include", "-c", PACKAGE / f"src/{name}.c", "-o", part)
    run(*linker, *LINKING, part, library, "-Wl,-rpath,$ORIGIN", "-ldl", "-lpthread", "-o", made)
    return made


def check_glibc(path: Path) -> None:
    """No symbol may be newer than what the name of the wheel promises."""
    text = subprocess.run(["readelf", "-W", "--version-info", path], check=True, capture_output=True, text=True).stdout
    newest = max((tuple(map(int, version.split("."))) for version in re.findall(r"GLIBC_([\d.]+)", text)), default=(0,))
    if newest > LEAST_GLIBC:
        raise SystemExit(f"wheel: {path.name} needs glibc {'.'.join(map(str, newest))}: expected at most "
                         f"{'.'.join(map(str, LEAST_GLIBC))}")


def check_version(library: Path) -> None:
    """The archive may be of an older tree.  Its text of quern_build_info says so for any CPU."""
    found = re.search(rb"version: ([\d.]+)\ntargets:", library.read_bytes())
    version = found[1].decode() if found else "unknown"
    if version != api.version_text():
        raise SystemExit(f"wheel: the archive was built from version {version}: expected {api.version_text()}; build it again")


# ---- the files of a wheel ----


def metadata() -> str:
    return f"""Metadata-Version: 2.4
Name: {NAME.replace("_", "-")}
Version: {api.version_text()}
Summary: {SUMMARY}
License-Expression: MIT
License-File: LICENSE
Requires-Python: >={LEAST_PYTHON}
Description-Content-Type: text/markdown

{(ROOT / "docs/python.md").read_text()}"""


def tag(host: str = this_host()) -> str:
    return f"py3-none-manylinux_{LEAST_GLIBC[0]}_{LEAST_GLIBC[1]}_{host}"


def spdx(files: dict[str, bytes]) -> str:
    """The list of the files with their licence, in SPDX 2.3.  Nothing of another project is linked in."""
    package = {"SPDXID": "SPDXRef-Package", "name": NAME.replace("_", "-"), "versionInfo": api.version_text(),
               "downloadLocation": "NOASSERTION", "licenseConcluded": "MIT", "licenseDeclared": "MIT",
               "copyrightText": "NOASSERTION", "filesAnalyzed": True,
               "packageVerificationCode": {"packageVerificationCodeValue": hashlib.sha1("".join(sorted(
                   hashlib.sha1(data).hexdigest() for data in files.values())).encode()).hexdigest()}}
    listed = [{"SPDXID": f"SPDXRef-File-{number}", "fileName": f"./{name}", "licenseConcluded": "MIT",
               "copyrightText": "NOASSERTION",
               "checksums": [{"algorithm": "SHA1", "checksumValue": hashlib.sha1(data).hexdigest()},
                             {"algorithm": "SHA256", "checksumValue": hashlib.sha256(data).hexdigest()}]}
              for number, (name, data) in enumerate(sorted(files.items()))]
    document = {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": NAME,
                "documentNamespace": f"{SITE}{api.version_text()}/{hashlib.sha256(json.dumps(listed).encode()).hexdigest()}",
                "creationInfo": {"created": "1980-01-01T00:00:00Z", "creators": ["Tool: quern-wheel"]},
                "packages": [package], "files": listed, "relationships": [
                    {"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES",
                     "relatedSpdxElement": "SPDXRef-Package"}]}
    return json.dumps(document, indent=1) + "\n"


def record(files: dict[str, bytes], name: str) -> str:
    lines = [f"{path},sha256={base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip('=')},{len(data)}"
             for path, data in sorted(files.items())]
    return "\n".join([*lines, f"{name},,"]) + "\n"


def contents(binaries: list[Path], host: str) -> dict[str, bytes]:
    """The files of the wheel by their names."""
    sources = [path for folder in ("quern", "quern_dump") for path in sorted((PACKAGE / folder).rglob("*"))
               if path.suffix in (".py", ".pyi") or path.name == "py.typed"]
    files = {str(path.relative_to(PACKAGE)): path.read_bytes() for path in sources}
    files |= {f"quern/{path.name}": path.read_bytes() for path in binaries}
    info = f"{NAME}-{api.version_text()}.dist-info"
    files[f"{info}/sboms/quern.spdx.json"] = spdx(files).encode()
    files[f"{info}/METADATA"] = metadata().encode()
    files[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: quern\nRoot-Is-Purelib: false\nTag: {tag(host)}\n".encode()
    files[f"{info}/licenses/LICENSE"] = (ROOT / "LICENSE").read_bytes()
    files[f"{info}/RECORD"] = record(files, f"{info}/RECORD").encode()
    return files


def write(files: dict[str, bytes], path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_suffix(".new")
    with zipfile.ZipFile(fresh, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
        for name, data in sorted(files.items(), key=lambda item: (".dist-info/" in item[0], item[0])):
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.external_attr = (0o755 if name.endswith(".so") or ".so." in name else 0o644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, data)
    fresh.replace(path)


def link_all(archive: Path, folder: Path, linker: list[str], host: str) -> list[Path]:
    library = link_library(archive, folder, linker)
    check_version(library)
    return [library, *(link_shim(name, library, folder, linker, host) for name in SHIMS)]


def unpack(archive: Path, folder: Path) -> None:
    """The package for this machine alone, as a folder for PYTHONPATH: needs no zig."""
    shutil.copytree(PACKAGE / "quern", folder / "quern", ignore=shutil.ignore_patterns("__pycache__"))
    with tempfile.TemporaryDirectory() as scratch:
        for binary in link_all(archive, Path(scratch), COMPILER, this_host()):
            shutil.copy(binary, folder / "quern")


def make(archive: Path, folder: Path, host: str = this_host()) -> Path:
    """The wheel of a static library."""
    with tempfile.TemporaryDirectory() as scratch:
        binaries = link_all(archive, Path(scratch), zig(host), host)
        for binary in binaries:
            check_glibc(binary)
        path = folder / f"{NAME}-{api.version_text()}-{tag(host)}.whl"
        write(contents(binaries, host), path)
    return path


def main() -> int:
    parser = argparse.ArgumentParser(prog="./quern wheel", description="Makes the wheel quern_kernels below dist/.")
    parser.add_argument("--host", choices=ARCHITECTURES, default=this_host(), help="the CPUs that run it (this one's)")
    parser.add_argument("--targets", metavar="LIST", help="CPU and GPU targets with commas (all); see ./quern build --help")
    parser.add_argument("--operations", metavar="LIST", help="operations with commas (all)")
    parser.add_argument("--archive", type=Path, metavar="FILE", help="a libquern.a that has been built")
    parser.add_argument("--output", type=Path, default=ROOT / "dist", metavar="FOLDER", help="where the wheel is put (dist)")
    options = parser.parse_args()
    archive = options.archive
    if archive is None and (options.host != ARCHITECTURES[0] or options.targets or options.operations):
        given = {name: getattr(options, name) for name in ("host", "targets", "operations")}
        chosen = [word for name, value in given.items() if value for word in (f"--{name}", value)]
        if (status := subprocess.run([sys.executable, "-m", "gen.selection", "build", *chosen], cwd=ROOT).returncode):
            return status
        archive = ROOT / selection.folder_for(options.host) / "libquern.a"
    elif archive is None:
        if (status := subprocess.run(["ninja", "libquern.a"], cwd=ROOT).returncode):
            return status
        archive = ROOT / "libquern.a"
    path = make(archive.resolve(), options.output.resolve(), options.host)
    print(f"{path}: {path.stat().st_size / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
