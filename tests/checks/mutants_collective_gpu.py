"""Mutants of the collectives of GPU ranks, for mutants.py: name, file, old text, new text, suite that must fail."""

from __future__ import annotations

SLOTS, COMBINE, MOVE = (f"src/kernels/cuda/collective_{name}.cuh" for name in ("slots", "combine", "move"))
CALL, PROBLEM = (f"src/ranks/collective/collective_{name}.c" for name in ("cuda", "launch_cuda"))
LAYOUT = "src/kernels/collective_problem.h"
BITS, FAULTS = "test_collective_cuda", "test_collective_faults_cuda"

EMULATED_RANKS = [
    ("collective gpu: terms that nobody compares", SLOTS, "difference(*all, *theirs) != QUERN_SLICE_FINE", "false", FAULTS),
    ("collective gpu: the last that differs is named", SLOTS, "atomicMin(&differs, threadIdx.x)", "differs = threadIdx.x", FAULTS),
    ("collective gpu: inputs elsewhere", SLOTS, "a.input_id != b.input_id || a.input_offset != b.input_offset ", "false ",
     FAULTS),
    ("collective gpu: outputs elsewhere", SLOTS, "a.output_id != b.output_id || a.output_offset != b.output_offset ", "false ",
     FAULTS),
    ("collective gpu: private memory in a large call", CALL, "if (is_large && call->form->reduces)", "if (false)", FAULTS),
    ("collective gpu: no room", CALL,
     "return status == QUERN_OK ? quern_gpu_room_check(call->member, rank->room, kernel_of(call)) : status;",
     "return status;", FAULTS),
    ("collective gpu: one call too many for a slot", PROBLEM, "(uint64_t)call->piece_bytes <= quern_slot_bytes(",
     "(uint64_t)call->piece_bytes < quern_slot_bytes(", BITS),
    ("collective gpu: a root whose output lacks its input", CALL, "if (!call->form->has_root ||", "if (call->form ||", BITS),
    ("collective gpu: a share that ends early", PROBLEM, "cut(call, index + 1, shares) - begin}",
     "cut(call, index + 1, shares) - begin - 4}", BITS),
    ("collective gpu: a gather to the first place", PROBLEM, "list_outputs(call, problem, call->place * call->piece_bytes,",
     "list_outputs(call, problem, 0,", BITS),
    ("collective gpu: multicast of some members", PROBLEM, "call->output_place.multicast && call->places == call->member->ranks",
     "call->output_place.multicast", BITS),
    ("collective gpu: multicast to the beginning", PROBLEM, "call->output_place.multicast + call->output_place.offset + begin",
     "call->output_place.multicast + begin", BITS),
    ("collective gpu: vectors at any address", PROBLEM, "return differences % 16 == 0;", "return differences % 2 == 0;", BITS),
    ("collective gpu: a sum that begins with +0", COMBINE, "identity = 0x80000000u;", "identity = 0x00000000u;", BITS),
    ("collective gpu: a maximum without NaN", COMBINE, "return a != a || b != b ?", "return a != a && b != b ?", BITS),
    ("collective gpu: a NaN as the instruction gives it", COMBINE, "is_same<T, f16> ? 0x7e00u", "is_same<T, f16> ? 0x7fffu", BITS),
    ("collective gpu: the order of the sources reversed", COMBINE, "source_of_place(problem, slots, threadIdx.x);",
     "source_of_place(problem, slots, problem.sources - 1 - threadIdx.x);", BITS),
    ("collective gpu: no tail", COMBINE, "at < head + bytes - tail;", "at < head;", BITS),
    ("collective gpu: a vector of a batch missing", COMBINE, "(vectors - i + WARP - 1) / WARP,", "(vectors - i) / WARP,", BITS),
    ("collective gpu: no tail of a movement", MOVE, "        move_edge(from, to, tail, (uint32_t)(bytes - tail));\n", "", BITS),
    ("collective gpu: the slot of another place", MOVE, "problem.first + i", "i", BITS),
    ("collective gpu: one slot instead of two", LAYOUT, "((uint64_t)(half & 1) * ranks + rank)",
     "((uint64_t)(half & 0) * ranks + rank)", BITS),
]
