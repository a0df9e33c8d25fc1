"""The images of an operation's kernels for one GPU target: each a fatbin, and all compressed together, since they have much in
common (src/runtime/unpack.h).  Called by ninja, gen/pack.py and tests.

    python3 -m gen.images wrap NVCC TARGET CUBIN PTX OUT    makes a fatbin; NVCC: the file with its path
    python3 -m gen.images pack OUT FATBIN...                compresses fatbins, named by their files
    python3 -m gen.images needed NVCC OUT                   writes what is linked with GPU code, as a dyndep file
    python3 -m gen.images nothing FOLDER OPERATION          packs images of one byte, for a driver that runs nothing
"""

from __future__ import annotations

import lzma
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from gen import store, toolchain
from gen.spec import GPU_TARGETS, GpuTarget

HEADER = struct.Struct("<QQBBB5x")
NAME = struct.Struct("<56sQ")
ALIGNMENT = 64
CODE, PTX = (0, 4, 4), (4, 0, 0)   # lc, lp, pb: an instruction has 16 bytes; PTX is text
ELF = b"\x7fELF"


def checksum(data: bytes) -> int:
    """64-bit FNV-1a."""
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return value


def wrap(nvcc: Path, target: GpuTarget, cubin: Path, ptx: Path, out: Path) -> None:
    """The machine code of a target, or the PTX of a virtual one, for the driver.  It is not compressed, since pack does that."""
    number = target.name.split("_")[1]
    image = f"kind=ptx,sm={number},file={ptx}" if target.is_virtual else f"kind=elf,sm={number},file={cubin}"
    command = [str(nvcc.resolve().parent / "fatbinary"), "--compress=false", f"--create={out}", f"--image3={image}"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")


def aligned(size: int) -> int:
    return size + -size % ALIGNMENT


def filters(contexts: tuple[int, int, int], size: int) -> list[dict[str, int]]:
    """Of a raw stream, whose window is all of it."""
    lc, lp, pb = contexts
    return [{"id": lzma.FILTER_LZMA1, "preset": 9, "lc": lc, "lp": lp, "pb": pb, "dict_size": max(size, 4096)}]


def pack(images: dict[str, bytes]) -> bytes:
    """By their names."""
    plain = b"".join(NAME.pack(name.encode(), len(image)) + image.ljust(aligned(len(image)), b"\0")
                     for name, image in images.items())
    contexts = CODE if any(ELF in image for image in images.values()) else PTX
    stream = lzma.compress(plain, lzma.FORMAT_RAW, filters=filters(contexts, len(plain)))
    checked = HEADER.pack(0, len(plain), *contexts)[8:] + stream
    return checksum(checked).to_bytes(8, "little") + checked


def unpack(packed: bytes) -> dict[str, bytes]:
    check, size, *contexts = HEADER.unpack_from(packed)
    if check != checksum(packed[8:]):
        raise ValueError("packed images with a wrong checksum")
    plain = lzma.decompress(packed[HEADER.size:], lzma.FORMAT_RAW, filters=filters((contexts[0], contexts[1], contexts[2]), size))
    found, at = {}, 0
    while at < size:
        name, length = NAME.unpack_from(plain, at)
        at += NAME.size
        found[name.rstrip(b"\0").decode()] = plain[at:at + length]
        at += aligned(length)
    return found


def path(folder: str, target: str, operation: str) -> str:
    """Of the packed images of an operation."""
    return f"{folder}/{target}/{operation}.packed"


def _operations() -> dict[str, dict[str, list[str]]]:
    """The names of the images of each operation and target of the library."""
    from gen import plan  # takes longer to import than all else here, and a build calls the steps hundreds of times
    targets = [target for target in plan.targets() if target.kind == "gpu"]
    return {operation: {target.name: [unit.stem for unit in plan.units(operation, [target])] for target in targets}
            for operation in plan.OPERATIONS}


def _pack(out: str, *fatbins: str) -> None:
    contents = {Path(path).stem: Path(path).read_bytes() for path in fatbins}
    parts = [part for name, image in contents.items() for part in (name, image)]

    def make() -> None:
        Path(out).write_bytes(pack(contents))

    store.make(store.key("packed", Path(__file__).read_bytes(), *parts), [Path(out)], make)


def _wrap(location: str, target: str, cubin: str, ptx: str, out: str) -> None:
    nvcc, _ = toolchain.located(Path(location))
    if not nvcc:
        raise SystemExit(f"{out} needs nvcc, which was not found: ./quern toolkit installs it")
    wrap(nvcc, GPU_TARGETS[target], Path(cubin), Path(ptx), Path(out))


def _needed(location: str, out: str) -> None:
    """ninja reads this when it knows whether there is nvcc, and adds the inputs to the edges of build.ninja."""
    build, has_nvcc = str(Path(location).parent), toolchain.located(Path(location))[0] is not None
    linked = {f"{operation}/{operation}_images.o": [path(build, target, operation) for target in targets]
              for operation, targets in _operations().items()}
    linked["quern_bench"] = [f"{build}/bench/stream.ptx"]
    lines = ["ninja_dyndep_version = 1"]
    for output, inputs in linked.items():
        added = f" | {' '.join(inputs)}" if has_nvcc else ""
        lines.append(f"build {build}/{output}: dyndep{added}")
    text = "\n".join(lines) + "\n"
    if not Path(out).exists() or Path(out).read_text() != text:
        Path(out).write_text(text)


def _nothing(folder: str, operation: str) -> None:
    for target, names in _operations()[operation].items():
        out = Path(path(folder, target, operation))
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_bytes(pack({name: b"\0" for name in names}))


COMMANDS: dict[str, Callable[..., None]] = {"wrap": _wrap, "pack": _pack, "needed": _needed, "nothing": _nothing}


if __name__ == "__main__":
    COMMANDS[sys.argv[1]](*sys.argv[2:])
