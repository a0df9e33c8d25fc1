"""Holds the counter of issue slots (bench/count) against kernels that were counted by hand: tests/checks/counter/*.sass.

Each file derives its counts in its first lines.  Called by tests/run.py; needs no nvcc.  The last line is `N passed, N failed`.
"""

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "bench"), str(ROOT / "tests")]
from checks import cases  # noqa: E402
from count import bounds, check, chips, issue, sass, table, timeline  # noqa: E402
from count.counts import Count, count  # noqa: E402
from count.describe import Item, Role, Shape, Use, Way  # noqa: E402
from count.flow import Fault, Flow  # noqa: E402
from count.pipes import pipe_of, shared_bytes_of  # noqa: E402
from gen import plan  # noqa: E402
from gen.machine_code import Code, Image  # noqa: E402
from gen.receipts import Unit  # noqa: E402

ELEMENTS = Shape("elements", has=("LD[GS]",))
SPIN = "SYNCS.*TRYWAIT"


def code_of(name: str) -> sass.Code:
    return sass.read((Path(__file__).parent / f"counter/{name}.sass").read_text())[name]


def counted(name: str, shapes: tuple[Shape, ...], roles: list[Role], elements: int) -> Count:
    return count(code_of(name), shapes, ("elements",), [Item(1.0, roles, elements, 0.0)])


def expect(found: float, expected: float, what: str = "slots") -> None:
    if abs(found - expected) > 1e-9:
        raise AssertionError(f"{what}: {found}, counted by hand {expected}")


def expect_fault(text: str, call: Callable[[], object]) -> None:
    try:
        call()
    except Fault as fault:
        if text not in str(fault):
            raise AssertionError(f"{fault}: expected {text!r}") from None
        return
    raise AssertionError(f"no fault: expected {text!r}")


NESTED = (Shape("parts", has=("FADD",)), replace(ELEMENTS, inside=("parts",)))


def nested_roles(**of_part: float) -> list[Role]:
    inner = {name: (Way(trips),) for name, trips in of_part.items()}
    return [Role("all warps", 2, Way(inner={"parts": (Way(4.0, inner=inner),)}))]


def test_nested_loops() -> None:
    found = counted("nested", NESTED, nested_roles(elements=2.0), 1024)
    expect(found.slots, 41 * 2 * 32 / 1024)
    expect(found.loop, 1.0, "in loops")


ROLES = (Shape("rows of consumers", has=("BAR",)), Shape("rows of the helper", has=("UBLKCP",)),
         replace(ELEMENTS, inside=("rows of consumers",)))


def test_two_roles_of_warps() -> None:
    inner = {"elements": (Way(1.0, unit="LDS"),)}
    roles = [Role("consumers", 4, Way(inner=inner), root="rows of consumers"),
             Role("helper", 1, Way(want={"UBLKCP": 1}, must=("UBLKCP",)), root="rows of the helper")]
    found = counted("roles", ROLES, roles, 512)
    expect(found.slots, (5.5 * 4 + 4) * 32 / 512)
    expect(found.loop, 0.375, "in loops")
    expect(found.shared_bytes, 2 * 0.5 * 16 * 4 * 32 / 512, "bytes of shared memory")


RARE = (replace(ELEMENTS, lacks=("FMNMX",)), Shape("again", has=("FMNMX",), inside=("elements",)))


def test_a_rare_branch_is_left_out() -> None:
    found = counted("rare", RARE, [Role("one warp", 1, Way(inner={"elements": (Way(2.0, {"MUFU": 1}),)}))], 256)
    expect(found.slots, 2.0)
    expect(found.loop, 1.75, "in loops")
    expect(found.pipes["mufu"], 0.25, "mufu")


def test_double_arithmetic_in_one_warp_and_in_a_function() -> None:
    roles = [Role("first warp", 1, Way(want={"D": 1})), Role("second warp", 1, Way(want={"D": -1}))]
    found = counted("fp64", (), roles, 64)
    expect(found.slots, 6.0)
    expect(found.pipes["fp64"], 2.0, "fp64")
    expect(bounds.demands(found, chips.CHIPS["T4"])["fp64"], 128.0, "fp64 on a T4")


def test_predicated_instructions_take_slots() -> None:
    found = counted("predicated", (ELEMENTS,), [Role("one warp", 1, Way(inner={"elements": (Way(3.0, {"STG": 1}),)}))], 96)
    expect(found.slots, 28 * 32 / 96)
    expect(found.loop, 26 * 32 / 96, "in loops")


def test_two_loops_share_their_work() -> None:
    found = counted("shared_work", (ELEMENTS,), [Role("one warp", 1, Way(inner={"elements": (Way(9.0, unit="LDS"),)}))], 288)
    expect(found.slots, 14 * 32 / 288)
    expect(found.loop, 12 * 32 / 288, "in loops")


def test_a_loop_of_single_elements_that_has_more_than_the_rest() -> None:
    way = Way(9.0, unit="LDS", single=5.0)
    found = counted("shared_work", (ELEMENTS,), [Role("one warp", 1, Way(inner={"elements": (way,)}))], 288)
    expect(found.slots, (1 + 5 + 5 * 2 + 1) * 32 / 288)


def test_two_loops_that_cannot_share_are_named() -> None:
    roles = [Role("one warp", 1, Way(inner={"elements": (Way(9.0),)}))]
    expect_fault("shared_work, one warp: several loops on the path are elements, and no unit",
                 lambda: counted("shared_work", (ELEMENTS,), roles, 288))


def test_a_loop_that_is_left_in_its_middle() -> None:
    found = counted("middle", (ELEMENTS,), [Role("one warp", 1, Way(inner={"elements": (Way(4.0, {"LDG": 1}),)}))], 128)
    expect(found.slots, 4.75)
    expect(found.loop, 3.5, "in loops")


def test_a_loop_without_a_description_is_named() -> None:
    expect_fault("nested: the loop at 00060 inside parts fits no description",
                 lambda: counted("nested", NESTED[:1], nested_roles(), 1024))
    expect_fault("nested: the loop at 00060 inside parts fits no description",
                 lambda: counted("nested", (NESTED[0], ELEMENTS), nested_roles(), 1024))
    expect_fault("nested: the loop at 00060 inside parts fits elements and twin",
                 lambda: counted("nested", (*NESTED, replace(NESTED[1], name="twin")), nested_roles(), 1024))


def test_a_path_that_differs_from_its_description_is_named() -> None:
    expect_fault("nested, all warps: the loop at 00060, elements, lies on every path",
                 lambda: counted("nested", NESTED, nested_roles(), 1024))
    expect_fault("nested, all warps: no loop vectors lies on the path",
                 lambda: counted("nested", NESTED, nested_roles(elements=2.0, vectors=1.0), 1024))
    expect_fault("fp64, one: no MUFU lies on the path", lambda: counted("fp64", (), [Role("one", 1, Way(must=("MUFU",)))], 64))
    expect_fault("fp64, one: 0 loops are rows: expected one", lambda: counted("fp64", (), [Role("one", 1, Way(), root="rows")], 64))


def test_two_entries_of_a_loop_are_an_error() -> None:
    text = (Path(__file__).parent / "counter/nested.sass").read_text()
    broken = text.replace("S2R R0, SR_TID.X", "@P3 BRA `(.L_x_1)")
    expect_fault("nested: 00060: a loop with two entries", lambda: Flow(sass.read(broken)["nested"]))


def test_an_indirect_branch_is_an_error() -> None:
    broken = (Path(__file__).parent / "counter/fp64.sass").read_text().replace("DADD R2, R2, R4", "BRX R2 -0x10")
    expect_fault("fp64: 00020: an indirect branch", lambda: Flow(sass.read(broken)["fp64"]))


def test_an_exact_number_of_accesses() -> None:
    around = Way(want={"D": 1}, exactly={"D": 0})
    expect(counted("fp64", (), [Role("around", 1, around)], 64).slots, 3 * 32 / 64)
    one = Way(exactly={"D": 1})
    expect_fault("fp64, one: no path from 00000 has exactly 1 D", lambda: counted("fp64", (), [Role("one", 1, one)], 64))


def test_a_table_of_branches_is_followed() -> None:
    text = (Path(__file__).parent / "counter/fp64.sass").read_text()
    listed = text.replace("DADD R2, R2, R4 ;", 'BRX R2 -0x10 (*"BRANCH_TARGETS .L_x_1,$fp64$quotient"*);')
    expect(len(Flow(sass.read(listed)["fp64"]).after[2]), 2, "targets")


def test_pipes() -> None:
    for name, pipe in {"MUFU.EX2": "mufu", "F2F.F64.F32": "mufu", "F2FP.BF16.F32.PACK_AB": "cvt", "IMAD.MOV.U32": "heavy",
                       "FFMA": "fp32", "FFMA2": "heavy", "DFMA": "fp64", "LDS.128": "lsu", "LDCU.64": "uniform",
                       "UIADD3": "uniform", "BAR.SYNC": "control", "LOP3.LUT": "alu",
                       "I2FP.F32.S32": "alu", "STG.E.EF.ENL2.256": "lsu"}.items():
        if pipe_of(name) != pipe:
            raise AssertionError(f"{name}: {pipe_of(name)}, expected {pipe}")
    for name, size in {"LDS.U.128": 16, "LDS.64": 8, "LDS.U16": 2, "STS": 4, "LDGSTS.E.BYPASS.128": 16, "LDG.E.128": 0}.items():
        expect(shared_bytes_of(name), size, name)


LAUNCH = bounds.Launch(threads=512, registers=40, shared=66272, must_move=4, again=0, row_again=0, in_flight=65536)


def share_of(launch: bounds.Launch = LAUNCH, **pipes: float) -> tuple[float, str]:
    found = Count(slots=sum(pipes.values()))
    found.pipes.update(pipes)
    return bounds.share(found, launch, replace(chips.CHIPS["H200"], clock=1.755, copy=4.3, latency=750))


def test_the_predicted_share() -> None:
    """132 SMs * 128 * 1.755 GHz / (4.3 TB/s / 4 bytes) = 27.58 slots; MUFU has 16 lanes, FP64 64."""
    budget = 132 * 128 * 1.755e9 / (4.3e12 / 4)
    for (share, bound), expected in {
        share_of(alu=10.0): (1.0, "memory"),
        share_of(alu=10.0, fp32=40.0): (budget / 50, "issue"),
        share_of(mufu=4.0): (budget / 32, "mufu"),
        share_of(fp64=20.0): (budget / 40, "fp64"),
        # Half of 50 MiB holds the rows of 3 blocks of 132 SMs that are read again, or a quarter of them.
        share_of(replace(LAUNCH, again=2, row_again=25 * 2**20 / 396), alu=1.0): (1.0, "memory"),
        share_of(replace(LAUNCH, again=2, row_again=100 * 2**20 / 396), alu=1.0): (4 / 5.5, "memory"),
    }.items():
        expect(share, expected[0], "share")
        if bound != expected[1]:
            raise AssertionError(f"bound by {bound}, expected {expected[1]}")
    # Half of the copy's traffic is reads: 4.3 TB/s / 2 * 750 ns / 132 = 12,216 bytes an SM; three blocks have 3 * 1,024.
    share, bound = share_of(replace(LAUNCH, in_flight=1024.0), alu=1.0)
    expect(share, 3 * 1024 / (4.3e12 / 2 * 750e-9 / 132), "share of few bytes in flight")
    if bound != "latency":
        raise AssertionError(f"bound by {bound}, expected latency")


def test_the_blocks_of_a_multiprocessor() -> None:
    """By shared memory 228 KiB / (66,272 + 1,024) = 3, by registers 65,536 / (16 warps * 1,280) = 3, by threads 2,048 / 512 = 4."""
    for launch, blocks in {LAUNCH: 3, replace(LAUNCH, shared=132480): 1, replace(LAUNCH, registers=64): 2,
                           replace(LAUNCH, most_blocks=2): 2, replace(LAUNCH, shared=0, registers=16): 4,
                           replace(LAUNCH, shared=0, registers=16, threads=32): 32}.items():
        expect(bounds.blocks_of_sm(launch, chips.CHIPS["H200"]), blocks, str(launch))


ADAM = next(kernel for kernel in plan.kernels("adam") if kernel.name == "adam_gradient_norm_bf16__sm_90a")


CODE = Code(registers=32, spills=0, stack=0, shared=64, loads={}, stores={}, digest="present")
IMAGES = {"sm_90a/gradient_norm": Image((65, 8), (9, 0), {ADAM.symbol: CODE})}


# ---- predicted shares ----

H100 = chips.CHIPS["H100"]


def encoded(text: str, stall: int = 1, write: int = 7, wait: int = 0) -> list[sass.Instruction]:
    """One instruction, read from a listing with its control code."""
    upper = (stall | write << 5 | 7 << 8 | wait << 11) << 41
    listing = f".text.k:\n        /*0000*/  {text} ;  /* 0x{0:016x} */\n  /* 0x{upper:016x} */\n"
    return sass.read(listing)["k"].instructions


def test_clocks_of_loops() -> None:
    add, exponential = encoded("FADD R0, R0, R1"), encoded("MUFU.EX2 R2, R0")
    for what, body, warps, expected in (
            ("one warp issues each clock", add * 8, 1, 8), ("four warps share a scheduler", add * 8, 4, 32),
            ("two pipes, one instruction a clock", (add + encoded("LOP3.LUT R0, R0, R1, RZ, 0x3c, !PT") + add) * 4, 8, 96),
            ("a stall", encoded("FADD R0, R0, R1", stall=4) * 8, 1, 32),
            ("... hides behind other warps", encoded("FADD R0, R0, R1", stall=4) * 8, 4, 32),
            ("MUFU has a quarter of a warp's lanes in two clocks", exponential * 10, 2, 160),
            ("16 bytes of shared memory", encoded("LDS.128 R0, [R1]") * 10, 1, 160),
            ("a result that is awaited: 24 clocks, and 8 where the next one begins",
             encoded("MUFU.EX2 R2, R0", write=0) + encoded("FADD R3, R2, R1", wait=1), 1, 25)):
        found = issue.clocks(body, warps, H100, 100)
        if abs(found / expected - 1) > 0.03:
            raise AssertionError(f"{what}: {found} clocks, expected {expected}")


def work_of(turns: float, clocks: float, blocks: int = 2, **first: float) -> timeline.Work:
    parts = (timeline.Part(reads=1e5, **first), timeline.Part(10, lambda together: together * clocks, may_raise=True),
             timeline.Part(10, lambda together: together * clocks, writes=1e5, needs_labels=True))
    return timeline.Work(H100, H100.sms, parts, blocks, turns, 2e5)


def expect_share(found: float, low: float, high: float) -> None:
    if not low <= found <= high:
        raise AssertionError(f"a share of {found}, expected {low} to {high}")


def test_shares_by_events() -> None:
    # 2e5 bytes of a block take 8.8 us at 22.7 KB a us; 10 trips of 2 blocks, 11.4 us, are 1,000 clocks each.
    for work in (work_of(20, 10), work_of(20, 500), work_of(3.5, 100), work_of(20, 100, 1, waits=True)):
        expect_share(timeline.low(work), 0.1, timeline.high(work) + 0.02)
    expect_share(timeline.high(work_of(1000, 1)), timeline.DRAIN - 0.02, timeline.DRAIN)      # memory alone
    expect_share(timeline.low(work_of(200, 1)), 0.8, timeline.DRAIN)
    expect_share(timeline.high(work_of(1000, 2000)) * 45.6 / 17.6, 0.93, 1)                      # clocks alone: 22.8 us a loop
    expect_share(timeline.low(work_of(100, 2000)) * 45.6 / 17.6, 0.75, 1)
    expect_share(timeline.low(work_of(1, 1)), 0.5, timeline.DRAIN)                               # what is written is in memory
    expect_share(timeline.low(work_of(1.25, 1)) / timeline.low(work_of(2, 1)), 0.85, 1.1)          # few blocks move few bytes
    expect_share(timeline.low(work_of(1.25, 2000, 1)) / timeline.low(work_of(2, 2000, 1)), 0.55, 0.75)  # ... and takes long


def test_shares_of_tiles() -> None:
    load = encoded("LDG.E.128 R4, [R2]", write=0) + encoded("FADD R3, R4, R1", wait=1)
    few, many = (timeline.of_tiles(H100, timeline.Tile(load, 512, 512), warps) for warps in (1, 16))
    for low, high in (few, many):
        expect_share(low, 0, high)
    # A load of an idle memory takes 659 clocks: 16 warps of 4 schedulers have 32 KiB in them, 50 bytes a clock.
    bandwidth = 3e12 / 132 / 1.755e9
    expect_share(few[1] / (4 * 512 / 660 / bandwidth), 0.95, 1.05)
    expect_share(many[1], timeline.DRAIN - 1e-6, timeline.DRAIN + 1e-6)
    expect_share(few[0] / few[1], 0.49, 0.52)


def compared(slots: float | None, is_same: bool = False, chosen: bool = True, shared: int = 64) -> tuple[list[str], list[str]]:
    """The faults and notes about a kernel with so many slots, of which the table says 10.  None: it was not counted."""
    kept = {(ADAM.base_name, "sm_90a", Use().key): {"slots": 10.0, "chosen": chosen, "shared": shared}}
    comparison = check.Comparison(kept, {ADAM.name: "present" if is_same else "older"}, IMAGES)
    comparison.counts = {} if slots is None else {ADAM.name: {"": slots}}
    comparison.compare([ADAM])
    return comparison.faults, comparison.notes


def test_a_kernel_that_has_become_worse_fails() -> None:
    for slots, faults, notes in ((10.29, 0, 0), (10.31, 1, 0), (9.5, 0, 1), (None, 0, 0)):
        found = compared(slots)
        expect(len(found[0]), faults, f"faults of {slots} slots")
        expect(len(found[1]), notes, f"notes about {slots} slots")
    expect(len(compared(10.0, is_same=True)[0]), 0, "faults of the same code")
    expect(len(compared(10.02, is_same=True)[0]), 1, "faults of the same code with another count")
    expect(len(compared(None, is_same=True, shared=63)[0]), 1, "faults of a launch with other shared memory")
    expect(len(compared(10.0, chosen=False)[0]), 1, "faults of another choice")
    for codes, faults in ({}, 1), ({ADAM.name: "present", "gone__sm_90a": "older"}, 2):
        nothing = check.Comparison({}, codes, IMAGES)
        nothing.compare([ADAM])
        expect(len(nothing.faults), faults, "faults of a missing row, and of a kernel that is gone")


def test_what_is_counted() -> None:
    """A kernel of the sample always; another one if the table has other code.  Counted code is known by its digest alone."""
    def counted_kernels(kernel: plan.Kernel, digest: str) -> list[Unit]:
        image = Image((65, 8), (9, 0), {kernel.symbol: replace(CODE, digest=digest)})
        with mock.patch.object(table, "kernels", lambda _: [kernel]):
            return check.Comparison({}, {kernel.name: "present"}, {f"sm_90a/{kernel.stem}": image}).units()

    other = next(kernel for kernel in plan.kernels("adam") if kernel.name == "adam_gradient_norm_f32__sm_90a")
    expect(check.is_sampled(ADAM) - check.is_sampled(other), 1, "in the sample")
    for kernel, digest, number in (ADAM, "present", 1), (other, "present", 0), (other, "newer", 1):
        expect(len(counted_kernels(kernel, digest)), number, f"{kernel.name}, {digest}")
    once, again, newer = (counted_kernels(ADAM, digest)[0].inputs for digest in ("present", "present", "newer"))
    expect((once == again) + 2 * (once != newer), 3, "inputs")


if __name__ == "__main__":
    sys.exit(cases.run(globals()))
