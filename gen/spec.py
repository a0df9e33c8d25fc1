"""The facts that operations share: data types, and targets with their features.

A new GPU generation is one row in GPU_TARGETS, a new data type one row in DTYPES.  Nothing else in the generator or in the
templates knows a generation by its name.  An operation is one file in gen/operations/.
"""

from __future__ import annotations

from dataclasses import dataclass

# Raised whenever the layout of a table row or of a kernel pack changes: packs of another version are refused.
PACK_VERSION = 9


@dataclass(frozen=True)
class Dtype:
    """An element type, as templates see it: of a sign, an exponent and a fraction, which say the rest.

    A property that is None must not be printed: rendering then fails.
    """

    name: str                        # in kernel names, and that of its conversions in src/kernels: pair_load_bf16, struct bf16
    number: int                      # of its quern_dtype, which kernel packs store
    bits: int
    exponent: int = 0                # bits; 0: it has no value of its own
    has_infinity: bool = True        # else the largest code is NaN and all smaller ones are numbers
    is_float: bool = False           # logits, parameters and gradients can have it
    is_scaled: bool = False          # a moment in it has a scale for each 32 elements, which only full kernels know
    has_own_text: bool = False       # conversions of its own in src/kernels; else those that formats of 16 bits share
    safetensors: str | None = None   # its name in a dump; None: dumps have its codes as numbers

    def __post_init__(self) -> None:
        if self.exponent and not self.has_own_text and not (
                self.bits == 16 and 2 <= self.exponent <= 7 and self.has_infinity and not self.is_scaled):
            raise ValueError(f"{self.name}: src/kernels/cpu/format.h and src/kernels/cuda/format.cuh convert formats of 16 bits "
                             "with 2 to 7 bits of exponent, with infinities and without scales: another type needs its own text")

    @property
    def constant(self) -> str:
        """Its quern_dtype in quern.h."""
        return f"QUERN_{self.name.upper()}"

    @property
    def bytes(self) -> int:
        return self.bits // 8

    @property
    def c_type(self) -> str:
        """In which C code reads and writes an element."""
        return "float" if self.bits == 32 else f"uint{self.bits}_t"

    @property
    def is_value(self) -> bool:
        """Whether an element has a value without another array, except a scale."""
        return self.exponent > 0

    @property
    def is_narrow(self) -> bool:
        """Whether quantisation makes it."""
        return self.is_value and self.bits == 8

    @property
    def is_common(self) -> bool:
        """Whether it has the conversions that formats of 16 bits share."""
        return self.is_value and not self.has_own_text

    @property
    def minus_infinity(self) -> str | None:
        """A literal of c_type, as the next one."""
        if self.bits == 32:
            return "(-INFINITY)"
        fraction = self.bits - 1 - self.exponent
        return f"0x{(1 << self.bits) - (1 << fraction):X}" if self.is_value and self.has_infinity else None

    @property
    def nan(self) -> str | None:
        """The one that is stored."""
        return "NAN" if self.bits == 32 else f"0x{(1 << (self.bits - 1)) - 1:X}" if self.is_value else None

    @property
    def element(self) -> str:
        """Its name in a dump."""
        return self.safetensors or f"U{self.bits}"


DTYPES = {
    dtype.name: dtype
    for dtype in (
        Dtype("f32", 1, 32, exponent=8, is_float=True, has_own_text=True, safetensors="F32"),
        Dtype("f16", 2, 16, exponent=5, is_float=True, is_scaled=True, has_own_text=True, safetensors="F16"),
        Dtype("bf16", 3, 16, exponent=8, is_float=True, has_own_text=True, safetensors="BF16"),
        Dtype("e4m3", 4, 8, exponent=4, has_infinity=False, is_scaled=True, has_own_text=True, safetensors="F8_E4M3"),
        Dtype("e5m2", 5, 8, exponent=5, is_scaled=True, has_own_text=True, safetensors="F8_E5M2"),
        Dtype("remainder", 6, 16),
    )
}

FLOATS = tuple(dtype.name for dtype in DTYPES.values() if dtype.is_float)
SCALED = tuple(dtype.name for dtype in DTYPES.values() if dtype.is_scaled)
MOMENTS = (*(name for name in FLOATS if name not in SCALED), *SCALED)
NARROW = tuple(dtype.name for dtype in DTYPES.values() if dtype.is_narrow)
COPIES = tuple(dtype.name for dtype in DTYPES.values() if dtype.is_value and dtype.bits < 32)


@dataclass(frozen=True)
class CpuTarget:
    """An instruction set of CPUs of one architecture, or plain C for any CPU."""

    name: str
    architecture: str | None      # of ARCHITECTURES; None: of all
    features: frozenset[str]      # features that templates may test
    flags: str                    # compiler flags
    required: tuple[str, ...]     # QUERN_CPU_* bits that must be present at run time
    parent: str | None            # the target that serves when this one cannot

    kind = "cpu"

    def definitions(self, text: str) -> tuple[str, ...]:
        """The macros by which a source compiled for several targets knows its own; a feature of another architecture has none."""
        return (f"QUERN_TARGET={self.name}", *(f"QUERN_{name.upper()}={int(name in self.features)}"
                                               for name, architecture in CPU_FEATURES.items() if architecture == self.architecture))


@dataclass(frozen=True)
class GpuTarget:
    """A GPU generation, or a virtual one that a future GPU's driver compiles from PTX."""

    name: str              # nvcc's name of the architecture
    cc_min: int            # compute capabilities that run this code, 90 for 9.0
    cc_max: int
    features: frozenset[str]
    shared_bytes: int      # shared memory one block can use
    parent: str | None     # the generation whose code also runs here, and serves when this one has none
    in_library: bool = True  # False: only ever built as a kernel pack
    driver: int = 0        # the oldest driver that knows the architecture, 12090 for CUDA 12.9, if it is newer than the library's

    kind = "gpu"
    architecture = None      # of the CPU: its code is data in a library for any

    def definitions(self, text: str) -> tuple[str, ...]:
        """The macros by which a source compiled for several targets knows the features that it asks for."""
        asked = (name for name in GPU_FEATURES if f"QUERN_{name.upper()}" in text)
        return tuple(f"QUERN_{name.upper()}={int(name in self.features)}" for name in asked)

    @property
    def is_virtual(self) -> bool:
        """PTX only: compiled by the driver when it is loaded."""
        return self.name.startswith("compute_")

    @property
    def vector_bytes(self) -> int:
        """The widest access to global memory: VECTOR_BYTES of src/kernels/cuda/vector.cuh."""
        return 32 if "wide_vector" in self.features else 16

    @property
    def virtual_architecture(self) -> str:
        return "compute_" + self.name.split("_")[1]

    @property
    def ptx_name(self) -> str:
        """The architecture that its PTX names."""
        return self.name.replace("compute_", "sm_")

    @property
    def nvvm(self) -> int:
        """The version of NVVM by which nvcc compiles for it: another one from 10.0 on, as the PTX says."""
        return 20 if self.cc_min >= 100 else 7

    @property
    def emulated(self) -> str:
        """The compute capability of a device on which the tests run this target, as text: "9.0"."""
        capability = self.cc_min
        if self.is_virtual:  # a whole generation for which no other target has code
            others = [other for other in GPU_TARGETS.values() if other != self]
            capability = next(cc for cc in range(self.cc_min, self.cc_max + 1, 10)
                              if not any(other.cc_min <= cc <= other.cc_max for other in others))
        return f"{capability // 10}.{capability % 10}"


# The architectures of CPUs, as compilers name them (`cc -dumpmachine`, __x86_64__).  build.ninja builds for the first.
ARCHITECTURES = ("x86_64", "aarch64")

# Features of CPU targets, and their architectures:
#   simd256    AVX2 with FMA and F16C
#   simd512    AVX-512 F, BW, DQ, VL
#   neon       Advanced SIMD.  bench/results/aarch64-predictions.md has the counts for these two, which have no target.  SVE would
#              save instructions, but no cycles.  Instructions for bf16 (HWCAP2_BF16) would save 0.6 for each element that is
#              rounded to nearest: 1.9 of 13.6 in Adam all in bf16, 0.6 of 9.1 in cross-entropy; a target for them would be all
#              kernels once more
CPU_FEATURES = {"simd256": "x86_64", "simd512": "x86_64", "neon": "aarch64"}
CPU_TARGETS = {
    target.name: target
    for target in (
        CpuTarget("avx512", "x86_64", frozenset({"simd512"}), "-mavx2 -mfma -mf16c -mavx512f -mavx512bw -mavx512dq -mavx512vl",
                  ("QUERN_CPU_AVX2", "QUERN_CPU_AVX512"), "avx2"),
        CpuTarget("avx2", "x86_64", frozenset({"simd256"}), "-mavx2 -mfma -mf16c", ("QUERN_CPU_AVX2",), "portable"),
        CpuTarget("neon", "aarch64", frozenset({"neon"}), "", ("QUERN_CPU_NEON",), "portable"),
        CpuTarget("portable", None, frozenset(), "", (), None),
    )
}


def cpu_targets(architecture: str) -> list[CpuTarget]:
    """Those of a library for this architecture, best first."""
    return [target for target in CPU_TARGETS.values() if target.architecture in (None, architecture)]


# Features of GPU targets:
#   bf16_convert   one instruction rounds two fp32 values to bf16 (sm_80+); without it integer arithmetic does
#   async_copy     cp.async from global to shared memory (sm_80+)
#   wide_vector    32-byte global loads and stores (sm_100+); without it 16-byte ones
#   clusters       blocks with access to one another's shared memory, and bulk copies to it (sm_90+)
#   multimem       one store reaches the memory of all ranks (sm_90+); without it one store for each
#   early_start    a kernel may start before the one before it in its stream has ended, and wait for it (sm_90+)
#   fp8_convert    one instruction widens two values of an 8-bit type to f16 (sm_89+); without it integer arithmetic does
#   paired_f32     one instruction multiplies and adds two pairs of fp32 values (sm_100+)
GPU_FEATURES = ("bf16_convert", "async_copy", "wide_vector", "clusters", "early_start", "multimem", "fp8_convert", "paired_f32")
_TURING = frozenset[str]()
_AMPERE = _TURING | {"bf16_convert", "async_copy"}
_ADA = _AMPERE | {"fp8_convert"}
_HOPPER = _ADA | {"clusters", "early_start", "multimem"}
_BLACKWELL = _HOPPER | {"wide_vector", "paired_f32"}

GPU_TARGETS = {
    target.name: target
    for target in (
        GpuTarget("sm_121", 121, 121, _BLACKWELL, 99 * 1024, "sm_120f", in_library=False, driver=12090),
        GpuTarget("sm_120f", 120, 129, _BLACKWELL, 99 * 1024, "compute_90", driver=12090),
        GpuTarget("sm_100f", 100, 109, _BLACKWELL, 227 * 1024, "compute_90", driver=12090),
        GpuTarget("sm_90a", 90, 90, _HOPPER, 227 * 1024, "compute_90"),
        GpuTarget("sm_89", 89, 89, _ADA, 99 * 1024, "sm_86"),
        GpuTarget("sm_86", 86, 89, _AMPERE, 99 * 1024, "sm_80"),
        GpuTarget("sm_80", 80, 89, _AMPERE, 163 * 1024, None),
        GpuTarget("sm_75", 75, 79, _TURING, 64 * 1024, None),
        GpuTarget("compute_90", 90, 9999, _HOPPER, 99 * 1024, None),
    )
}
# sm_103a has no row: it adds only hardware stochastic rounding to sm_100f, and no template uses that.  Its source would be the
# same, and the family code of sm_100f runs on it.

GPU_PART_BYTES = 32768  # QUERN_GPU_PART_BYTES of src/kernels/problem.h

# The least compute capability that the library serves.
GPU_FLOOR = min(target.cc_min for target in GPU_TARGETS.values())


@dataclass(frozen=True)
class Geometry:
    """How a GPU kernel is launched: facts that the host code and the template must agree on."""

    threads: int            # per block
    elements: int = 0       # of a tile, the work of one warp
    keeps: str = ""         # what dynamic shared memory holds beside sums: a "row", "parts" of it, one "part"
    sums: int = 0           # ... of so many parts, if it does not keep them; 0: no sums at all
    cluster: int = 0        # the most blocks that keep the parts of one row together; 0: one block
