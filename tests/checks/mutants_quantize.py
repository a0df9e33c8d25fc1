"""Faults of quantisations, for tests/checks/mutants.py: each is (name, file, old, new, what must fail)."""

SCALE = "src/kernels/quantize_scale.h"
CPU_AMAX, CPU_CAST = "templates/quantize/quantize_amax.c.j2", "templates/quantize/quantize_cast.c.j2"
CALL = "src/quantize/quantize.c"
HOST, ARGUMENTS, PLAN = "src/quantize/quantize_cpu.c", "src/quantize/quantize_arguments.c", "src/quantize/quantize_plan.c"
TILE, CUDA_CAST = "src/kernels/cuda/quantize_tile.cuh", "src/kernels/cuda/quantize_cast.cuh"
SUITE, FIELDS = "test_quantize", "test_fields_quantize"

CPU = [
    ("an amax that is NaN", CPU_AMAX, "vector_max(vector_abs(x.first), largest.first)",
     "vector_max(largest.first, vector_abs(x.first))", SUITE),
    ("the sign kept in an amax", CPU_AMAX, "vector_max(vector_abs(x.second),", "vector_max(x.second,", SUITE),
    ("the rest of a tensor without its amax", CPU_AMAX, "    if (count > whole)\n", "    if (count < whole)\n", SUITE),
    ("infinity rounded stochastically", CPU_CAST, "pair_hold(x, largest), ONE", "x, ONE", SUITE),
    ("random bits from the beginning of each piece", CPU_CAST, "(uint64_t)(first + block) / 8", "(uint64_t)block / 8", SUITE),
    ("eps instead of a larger amax", SCALE, "amax < eps ? eps : amax;", "eps > 0.0f ? eps : amax;", SUITE),
    ("an infinite scale", SCALE, "scale > FLT_MAX ? FLT_MAX : scale;", "scale;", SUITE),
    ("an infinite amax that gives a scale of 0", SCALE, " || divisor > FLT_MAX) return", ") return", SUITE),
    ("a power of two above the scale", SCALE, "bits &= 0xFF800000u;", "bits = (bits + 0x7FFFFFu) & 0xFF800000u;", SUITE),
    ("240 as the largest E4M3", SCALE, "448.0f : 57344.0f", "240.0f : 57344.0f", SUITE),
    ("tensors without elements forgotten", HOST, ".visits_empty = true,", ".visits_empty = false,", SUITE),
    ("a history that forgets its last row", HOST, "history_length - 1) * row);", "history_length - 2) * row);", SUITE),
    ("NaN in a history that is skipped", HOST, "largest = bits > largest ? bits : largest;",
     "largest = bits > largest && bits <= 0x7F800000 ? bits : largest;", SUITE),
    ("a noop that is only 1", HOST, "!(noop && *noop != 0)", "!(noop && *noop == 1)", SUITE),
    ("a noop that the engine's flushing hides", CALL, "    fesetenv(FE_DFL_ENV);\n", "", SUITE),
    ("an offset in device memory unread", HOST, "args->offset_pointer ? *args->offset_pointer : args->offset", "args->offset",
     SUITE),
    ("an output over its own input", ARGUMENTS, "status == QUERN_OK ? check_apart(device, tensor, place, element) : status;",
     "status;", "test_exact_details"),
    ("arrays of a long list not compared", ARGUMENTS, "return status == QUERN_OK && !is_short ?",
     "return status == QUERN_OK && false ?", FIELDS),
    ("arrays of a plan not compared", PLAN, "    if (status == QUERN_OK) status = quern_join_ranges(",
     "    status = quern_join_ranges(", FIELDS),
    ("an eps beyond fp32", ARGUMENTS, "args->eps >= 0 && args->eps <= (double)FLT_MAX", "args->eps >= 0", FIELDS),
]

EMULATED = [
    ("NaN of a GPU that is an amax", TILE, "sofar = fmaxf(sofar, fabsf(x[i]));",
     "sofar = fabsf(x[i]) < sofar ? sofar : fabsf(x[i]);", SUITE),
    ("a share that one warp takes for the whole", TILE, "        if (tiles != all_tiles) {", "        if (tiles == 0) {", SUITE),
    ("states left as they were", TILE, "            state->amax = 0;\n", "", SUITE),
    ("tiles left counted", TILE, "            state->tiles = 0;\n", "", SUITE),
    ("rows of a long history that no lane reads", CUDA_CAST, "row += 32)", "row += 64)", SUITE),
    ("rows of a history that stay", TILE, "row > 0; row--", "row > 1; row--", SUITE),
    ("NaN in a history of a GPU that is skipped", CUDA_CAST, "__float_as_uint(batch.history[row * batch.list_count + place])",
     "__float_as_uint(fmaxf(0.0f, batch.history[row * batch.list_count + place]))", SUITE),
    ("NaN on the way of normal codes", CUDA_CAST, " & total == total", "", SUITE),
    ("the first list's places for the later ones", TILE, "return batch.first_place + at.tensor;", "return at.tensor;", SUITE),
    ("each tile the first one's random bits", CUDA_CAST, "(uint64_t)tile.at.number * (QUERN_ADAM_TILE / 8)", "(uint64_t)0", SUITE),
    ("an output assumed to be aligned", CUDA_CAST, " && (uintptr_t)output % out_share::vector_bytes == 0;", ";", SUITE),
    ("a share that is lost at the next tensor", TILE, "            end(batch);\n", "", SUITE),
]
