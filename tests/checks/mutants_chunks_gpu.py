"""Mutants of the quantised chunks of GPU ranks, for mutants.py: name, file, old text, new text, suite that must fail."""

from __future__ import annotations

CAST, MEETING = (f"src/kernels/cuda/chunks_{name}.cuh" for name in ("cast", "meeting"))
CALL, PROBLEM = (f"src/ranks/chunks/chunks_{name}.c" for name in ("cuda", "launch_cuda"))
DEVICE = "include/quern_device.cuh"
BITS, FAULTS, FUNCTIONS = "test_chunks_cuda", "test_chunks_faults_cuda", "test_device_functions_cuda"

EMULATED_RANKS = [
    ("chunks gpu: ready after the first part", CAST, "0) + parts == all)", "0) == 0)", FUNCTIONS),
    ("chunks gpu: a vector across the end of a chunk", CAST, "low > 0 || high < LANE_ELEMENTS || ", "", BITS),
    ("chunks gpu: vectors at any address", PROBLEM, "all % 16 == 0 ? 16 :", "all % 4 == 0 ? 16 :", BITS),
    ("chunks gpu: random numbers of the first tile", CAST, "caster(problem, part.tile, 0, scale)", "caster(problem, 0, 0, scale)",
     BITS),
    ("chunks gpu: multicast of some members", PROBLEM, "call->output_place.multicast && call->places == call->member->ranks",
     "call->output_place.multicast", BITS),
    ("chunks gpu: the amax of the first member", MEETING, "atomicMax(&amax, __float_as_uint(theirs.amax))",
     "atomicMax(&amax, __float_as_uint(first.amax))", BITS),
    ("chunks gpu: a workspace that is not cleared", CALL, "call->workspace, 0, call->workspace_bytes, stream)",
     "call->workspace, 0, 4, stream)", BITS),
    ("chunks gpu: words of the first place", PROBLEM, "ready = call->place * call->chunks * (int64_t)sizeof(uint32_t)", "ready = 0",
     BITS),
    ("chunks gpu: words that are told before", MEETING, "|| theirs.told) {", ") {", FAULTS),
    ("chunks gpu: terms that nobody compares", MEETING, "difference(first, theirs) != QUERN_SLICE_FINE ||", "", FAULTS),
    ("chunks gpu: words elsewhere", MEETING, "a.ready_id != b.ready_id || a.ready_offset != b.ready_offset ", "false ", FAULTS),
    ("chunks gpu: a cast without an entry", CAST, "if (!problem.state->entered) {", "if (false) {", FAULTS),
    ("chunks gpu: a failure that nobody is told of", MEETING, "            tell_failure(problem);\n", "", FAULTS),
    ("chunks gpu: a rank that has gone is awaited", MEETING, "if (sender_has_gone) {", "if (false) {", FAULTS),
    ("chunks gpu: a wait that awaits a failed call", MEETING, "if (seen == ~problem.ready_value &&", "if (false &&", FAULTS),
    ("chunks gpu: a wait in a kernel that passes a failed call", DEVICE, "return seen == value ? QUERN_OK : QUERN_PEER_MISMATCH;",
     "return QUERN_OK;", FUNCTIONS),
    ("chunks gpu: a wait in a kernel without a limit", DEVICE, "if (now - began >= view.timeout) {", "if (false) {", FUNCTIONS),
]
