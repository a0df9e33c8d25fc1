"""The mutants of Adam for tests/checks/mutants.py: (name, file, text that occurs exactly once, its replacement, suite)."""

from __future__ import annotations

ARITHMETIC = "src/kernels/cpu/adam_arithmetic.h"
ARRAYS = "src/kernels/cpu/adam_arrays.h"
RANDOM = "src/kernels/cpu/adam_random.h"
SCALE = "src/kernels/cpu/scale.h"
SCALED = "src/kernels/cpu/scaled.h"
COPY = "src/kernels/cpu/adam_copy.h"
BF16 = "src/kernels/cpu/adam_bf16_avx512.h"
KERNELS = "src/kernels/cpu/adam_step.h"
NORM = "templates/adam/gradient_norm.c.j2"
ACCUMULATE = "templates/adam/gradient_accumulate.c.j2"

SCALARS = "src/kernels/adam_scalars.h"
NORM_FINISH = "src/kernels/gradient_norm_finish.h"
STEP = "src/adam/adam_step.c"
HOST = "src/adam/adam_cpu.c"
LIST = "src/adam/adam_list.c"
ARGUMENTS = "src/adam/adam_arguments.c"
TENSORS = "src/adam/adam_tensors.c"
SAVED = "src/adam/adam_saved.c"
LOAD = "src/adam/adam_load.c"

CPU = [
    ("a count of 2^60", "src/adam/adam_tensors.c",
     "tensor->count < 0 || tensor->count > QUERN_ADAM_MAX_COUNT", "tensor->count < 0", "test_sizes"),
    ("tensors not compared with each other", "src/adam/adam_apart.c",
     "int64_t total = is_short ? list_ranges(&parts, args, list, ranges) : 0;",
     "int64_t total = is_short ? 0 * list_ranges(&parts, args, list, ranges) : 0;", "test_overlaps"),
    ("control not compared with a plan", "src/adam/adam_apart.c",
     "if (meets_plan(plan, &others[i]))", "if (false && meets_plan(plan, &others[i]))", "test_overlaps"),
    ("long lists sorted in one pass", "src/runtime/ranges.c",
     "    while (run_end(from, 0, count) < count) {", "    if (run_end(from, 0, count) < count) {", "test_overlaps"),
    ("gradients behind their sums by another size", "src/adam/gradients.c",
     "(grad - main_grad) / sizeof(float) >= count", "(grad - main_grad) / element >= count", "test_overlaps"),
    ("a plan made of another plan", "src/adam/adam_plan.c", "    args.plan = NULL;\n", "", "test_adam_plan"),
    # the arithmetic of a step
    ("the square of a gradient rounded", ARITHMETIC,
     "{vector_fms(g.first, g.first, v.first), vector_fms(g.second, g.second, v.second)}",
     "{g.first * g.first - v.first, g.second * g.second - v.second}", "test_adam"),
    ("no weight decay", ARITHMETIC, "delta = vector_fma(c->decoupled_decay, p, delta);", "(void)0;", "test_adam_published"),
    ("gradients not unscaled", ARITHMETIC,
     ".grad_factor = vector_broadcast(step->grad_factor)", ".grad_factor = vector_broadcast(1.0f)", "test_adam_random"),
    ("no lr multiplier", ARITHMETIC,
     "vector_broadcast(step->step_size * tensor->lr_multiplier)", "vector_broadcast(step->step_size)", "test_adam_options"),
    ("weight decay without the lr multiplier", ARITHMETIC,
     "step->decoupled_decay * tensor->lr_multiplier * tensor->weight_decay_multiplier",
     "step->decoupled_decay * tensor->weight_decay_multiplier", "test_adam_options"),
    ("no weight decay multiplier for L2", ARITHMETIC,
     "step->l2_decay * tensor->weight_decay_multiplier", "step->l2_decay", "test_adam_options"),
    ("the root of the bias inside the root", ARITHMETIC,
     "step->eps_inside ? step->inverse_bias2 : step->inverse_sqrt_bias2", "step->inverse_sqrt_bias2", "test_adam_options"),
    ("eps always outside", ARITHMETIC, "    if (c->eps_inside)\n", "    if (0)\n", "test_adam_options"),
    ("an infinite v becomes NaN", ARITHMETIC,
     "    v->first = vector_keep_infinite(old_v.first, v->first);\n", "    (void)old_v;\n", "test_adam"),
    ("nothing divided by nothing", ARITHMETIC, "vector_divide_or_zero(m, denominator)", "(m / denominator)", "test_adam"),
    # the passes over a tensor
    ("the end of a tensor left out", ARRAYS, "    if (rest > 0) {", "    if (rest > 1) {", "test_adam"),
    ("gradients at the end of a tensor not zeroed", ARRAYS,
     "(i != GRAD || work->step->zero_grads)", "i != GRAD", "test_adam_options"),
    ("scales of the first elements", ARRAYS,
     "(elements + QUERN_SCALE_BLOCK - 1) / QUERN_SCALE_BLOCK * sizes->of[array]", "elements / 64 * sizes->of[array]",
     "test_adam_scaled"),
    ("AMSGrad without its maximum", KERNELS,
     "denominators(&c, divided_by)", "denominators(&c, new_v)", "test_adam_options"),
    ("a master that is the parameter", KERNELS,
     "QUERN_JOIN(order, _load_remainder)(param + i, master + i)", "QUERN_JOIN(order, _load_bf16)(param + i)",
     "test_adam_remainder"),
    ("NaN left to a remainder", KERNELS,
     "_store_remainder)(param + i, master + i, pair_settle(p, NAN_bf16))", "_store_remainder)(param + i, master + i, p)",
     "test_adam_remainder"),
    ("half of the gradients zeroed", KERNELS,
     "memset(grad + block, 0, (size_t)(end - block) * sizeof *grad);", "memset(grad + block, 0, (size_t)(end - block));",
     "test_adam_options"),
    ("a copy of the parameter beside a master", KERNELS,
     "pair_store_f32(pending.param + (i - block), LOAD_PARAM(ordered));",
     "pair_store_f32(pending.param + (i - block), QUERN_JOIN(ordered_load_, STEP_PARAM)(param + i));", "test_adam_options"),
    ("v_max of a scaled type rounded stochastically", KERNELS,
     "pending.v_max + offset, NULL, 1);", "pending.v_max + offset, at(source.v_bits, offset), 1);", "test_adam_options"),
    ("v of a scaled type becomes zero", KERNELS,
     "at(source.v_bits, offset), 1);", "at(source.v_bits, offset), 0);", "test_adam_scaled"),
    ("v_max of a scaled type becomes zero", KERNELS,
     "pending.v_max + offset, NULL, 1);", "pending.v_max + offset, NULL, 0);", "test_adam_scaled"),
    # random bits
    ("random bits of another value", RANDOM, "QUERN_RANDOM_TURN_PARAM, count", "QUERN_RANDOM_TURN_M, count", "test_adam"),
    ("random bits used twice", RANDOM, "(uint64_t)first / 8, count", "(uint64_t)first / 16, count", "test_adam"),
    ("m always to nearest", RANDOM,
     "rounded.m && step->stochastic_m ? source->m.bits : NULL", "NULL", "test_adam_scaled"),
    # the usual step in bf16
    ("an update of -0 on the usual path", BF16, "const vector zero = vector_broadcast(0);",
     "const vector zero = vector_broadcast(-0.0f);", "test_adam"),
    ("what is rare not looked for", BF16, "if (__builtin_expect(is_rare(largest), 0)) {", "if (0) {",
     "test_adam_random"),
    ("a rare block without its m", BF16, "            memcpy(m + block, before.m, bytes);\n", "", "test_adam_random"),
    ("a parameter rounded with the bits of v", BF16,
     "pack_stochastic(p, upper_bits[i], lower_bits[i])", "pack_stochastic(p, lower_bits[i], upper_bits[i])", "test_adam"),
    ("counters that skip", BF16, "ahead->counters, _mm512_set1_epi64(GROUP / 8)", "ahead->counters, _mm512_set1_epi64(GROUP / 4)",
     "test_adam"),
    # scaled types and copies
    ("a scale that lets the largest overflow", SCALED, "SCALED_TOP_E4M3 = 7", "SCALED_TOP_E4M3 = 8", "test_adam_scaled"),
    ("a scale that wastes a bit", SCALE, "exponent > top ? exponent - top : 0", "exponent > top ? exponent - top + 1 : 0",
     "test_adam_scaled"),
    ("the smallest scale read as zero", SCALE, "scale ? (uint32_t)scale << 23 : 1u << 22", "(uint32_t)scale << 23",
     "test_adam_scaled"),
    ("v of f16 becomes zero", SCALED,
     "ordered_scale_f16(to + i, pair_load_f32(x + i), chosen, random ? random + i : NULL, keep_positive);",
     "ordered_scale_f16(to + i, pair_load_f32(x + i), chosen, random ? random + i : NULL, 0 & keep_positive);", "test_adam_scaled"),
    ("an unscaled copy", COPY,
     "ordered_saturate_e4m3((uint8_t *)to + i, pair_multiply(pair_load_f32(x + i), copying->scale));",
     "ordered_saturate_e4m3((uint8_t *)to + i, pair_load_f32(x + i));", "test_adam_options"),
    ("the largest parameter of the last task", COPY, "while (found < largest && ", "while (", "test_adam_options"),
    # the scalars
    ("bias doubled", SCALARS, "b = b * (2 - b);", "b = b * 2;", "test_adam"),
    ("bias by steps without their shrinking", SCALARS, "b = b + (1 - beta) * (1 - b);", "b = b + (1 - beta);", "test_adam"),
    ("the step before", SCALARS, "(uint64_t)*control->step + 1", "(uint64_t)*control->step", "test_adam_control"),
    ("the clip coefficient ignored", SCALARS, "rates->clip / rates->grad_scale", "1 / rates->grad_scale", "test_adam_control"),
    ("always downhill", SCALARS, "rates->maximize ? -grad_factor : grad_factor", "grad_factor", "test_adam_options"),
    ("v to nearest by default", STEP,
     ".stochastic_v = stochastic(args->v_rounding, true)", ".stochastic_v = stochastic(args->v_rounding, false)", "test_adam_long"),
    ("8-bit m to nearest by default", STEP,
     "quern_dtype_bytes(args->m_dtype) == 1)", "false)", "test_adam"),
    ("both kinds of weight decay", STEP,
     "args->mode == QUERN_ADAMW ? args->weight_decay : 0", "args->weight_decay", "test_adam_published"),
    # a call
    ("an empty tensor takes no place", HOST, "(uint32_t)place, first, end);", "(uint32_t)(place - (place > 3)), first, end);",
     "test_adam"),
    ("found_inf that must be above zero", HOST, "*control->found_inf != 0;", "*control->found_inf > 0;", "test_adam_control"),
    ("a skipped step is counted", HOST, "if (control->step && !skipped)", "if (control->step)", "test_adam_control"),
    ("gradients of a skipped step left", HOST, "if (!skipped || call->args.zero_grads)", "if (!skipped)", "test_adam_options"),
    ("the first gradients zeroed again", HOST,
     "(char *)tensor->grad + (size_t)first * bytes", "(char *)tensor->grad + (size_t)first * 0", "test_adam_options"),
    ("multipliers that were not asked for", LIST,
     "args->use_multipliers ? tensor->lr_multiplier : 1", "tensor->lr_multiplier", "test_adam_arguments"),
    ("the end of a plan left out", LIST,
     "sizeof(quern_adam_tensor), args->plan->marks.places}", "sizeof(quern_adam_tensor), args->plan->marks.places - 2}",
     "test_adam_plan"),
    ("an older list read in today's steps", LIST,
     "list->tensors + (size_t)place * list->stride;", "list->tensors + (size_t)place * sizeof(quern_adam_tensor);",
     "test_adam_arguments"),
    ("unchecked betas", ARGUMENTS, "[BETA] = {0, 1 - DBL_EPSILON / 2,", "[BETA] = {0, FLT_MAX,", "test_arguments"),
    ("a learning rate beyond fp32", ARGUMENTS, "[SIZE] = {0, FLT_MAX,", "[SIZE] = {0, DBL_MAX,", "test_adam_arguments"),
    ("multipliers that an older tensor has not got", ARGUMENTS,
     "if (args->use_multipliers && args->tensor_size < known)", "if (false)", "test_adam_arguments"),
    ("the engine's rounding mode", "src/adam/adam.c", "    fesetenv(FE_DFL_ENV);\n", "", "test_determinism"),
    ("the engine's rounding mode in a norm", "src/adam/gradient_norm.c", "    fesetenv(FE_DFL_ENV);\n", "", "test_determinism"),
    ("fields that an older program has not got", ARGUMENTS,
     "bytes == OLDEST_ARGS ? OLDEST_FIELDS : bytes", "bytes", "test_adam_arguments"),
    ("a plan of another device", ARGUMENTS, "if (args->plan->device != device)", "if (false)", "test_adam_arguments"),
    ("overlapping arrays", TENSORS,
     "if (first[i] <= last[other] && first[other] <= last[i])", "if (first[i] > last[i])", "test_adam_arguments"),
    # saved states
    ("a saved plan of other types", SAVED,
     "    if (status == QUERN_OK && args->plan) status = quern_adam_check_plan(device, args);\n", "", "test_adam_saved"),
    ("copies as a part of a state", SAVED, "    args->copy_dtype = QUERN_NO_DTYPE;\n", "", "test_adam_saved"),
    ("gradients as a part of a state", SAVED, "    args->grad_dtype = QUERN_NO_DTYPE;\n", "", "test_adam_saved"),
    ("multipliers as a part of a state", SAVED, "    args->use_multipliers = 0;\n", "", "test_adam_saved"),
    ("counts behind the end of a state", LOAD,
     "if (bytes - sizeof *header < (size_t)list->count", "if (bytes < (size_t)list->count", "test_adam_saved"),
    ("a step that is given back with the seed only", LOAD,
     "if (status == QUERN_OK && step) *step", "if (status == QUERN_OK && step && seed) *step", "test_adam_saved"),
    ("noise between saved arrays", SAVED, "        memset(*to + bytes, 0, room - bytes);\n", "", "test_adam_saved"),
    ("a hash of nothing", SAVED, "status == QUERN_OK ? bytes - sizeof(uint64_t) : 0", "status == QUERN_OK ? bytes / 2 : 0",
     "test_adam_saved"),
    ("a hash that nobody compares", LOAD,
     "return status == QUERN_OK ? check_hash(device, saved, bytes) : status;", "return (void)check_hash, status;",
     "test_adam_saved"),
    ("v_max begins at zero", LOAD, "saved_moment(saved, QUERN_SAVED_V_MAX, form->v) : from_v;",
     "saved_moment(saved, QUERN_SAVED_V_MAX, form->v) : from_m;", "test_adam_saved"),
    ("a loaded v becomes zero", LOAD, "{args->v_dtype, tensor->v, v_scaled ? tensor->v_scale : NULL, true}",
     "{args->v_dtype, tensor->v, v_scaled ? tensor->v_scale : NULL, false}", "test_adam_saved"),
    # norm and accumulation
    ("a norm of scaled gradients", NORM_FINISH, "sqrt(squares) / grad_scale", "sqrt(squares) + 0 * grad_scale", "test_gradients"),
    ("found_inf forgotten", NORM_FINISH, "if (problem->found_inf && !is_finite) *problem->found_inf = 1;",
     "if (problem->found_inf) *problem->found_inf = !is_finite;", "test_gradients"),
    ("a clip coefficient above 1", NORM_FINISH, "problem->max_norm != 0 && wanted < 1", "problem->max_norm != 0", "test_gradients"),
    ("a norm without the end of a tensor", NORM, "    squares_add(&sum, pair_load_${ dtype.primitive }(rest));\n", "",
     "test_gradients"),
    ("a sum rounded twice", ACCUMULATE, "vector_fma(scale, x.first, sum.first)", "scale * x.first + sum.first", "test_gradients"),
    ("gradients left after their sum", ACCUMULATE, "memset(from + whole, 0,", "memset(from + whole, from[0] != 0,",
     "test_gradients"),
    # the stated limits
    ("random bits that repeat sooner", SCALARS, "scalars->step = (uint32_t)rates->step;",
     "scalars->step = (uint32_t)rates->step >> 1;", "test_bounds"),
    ("random bits that repeat never", SCALARS, "scalars->step = (uint32_t)rates->step;",
     "scalars->step = (uint32_t)(rates->step ^ rates->step >> 32);", "test_bounds"),
]

GPU_KERNELS = "src/kernels/cuda/adam.cuh"
GPU_TILE = "src/kernels/cuda/adam_tile.cuh"
GPU_TILES = "src/kernels/cuda/tiles.cuh"
GPU_CONTROL = "src/kernels/cuda/adam_control.cuh"
GPU_STEP = "src/kernels/cuda/adam_step.cuh"
GPU_SHARES = "src/kernels/cuda/adam_shares.cuh"
GPU_COPY = "src/kernels/cuda/adam_copy.cuh"
GPU_REMAINDER = "src/kernels/cuda/remainder.cuh"
GPU_SCALE = "src/kernels/cuda/scale.cuh"
GPU_FP8 = "src/kernels/cuda/fp8.cuh"
GPU_NORM = "src/kernels/cuda/gradient_norm.cuh"
GPU_ACCUMULATE = "src/kernels/cuda/gradient_accumulate.cuh"

EMULATED = [
    ("gradients of a skipped step left", GPU_KERNELS,
     "    if (step.zero_grads) {\n#pragma unroll 1", "    if (false) {\n#pragma unroll 1", "test_adam_options"),
    ("place within the launch", GPU_KERNELS,
     "launch.tiles ? at.tensor : launch.first_place + at.tensor", "at.tensor", "test_adam"),
    ("one tile for each warp", GPU_KERNELS,
     "number = tile.number + warps_of_grid()", "number = batch.launch.tile_count", "test_adam"),
    ("the largest parameter kept to itself", GPU_KERNELS,
     "if (tile.copy_max && threadIdx.x % 32 == 0) {", "if (false) {", "test_adam_options"),
    ("a plain kernel takes a skipped step", GPU_KERNELS,
     "    if (!Shares::full && block.skipped) {", "    if (false) {", "test_adam_control"),
    ("no lr multiplier", GPU_TILE, "__fmul_rn(step.step_size, lr)", "step.step_size", "test_adam_options"),
    ("no weight decay multiplier for L2", GPU_TILE, "__fmul_rn(step.l2_decay, weight_decay)", "step.l2_decay", "test_adam_options"),
    ("no bias correction inside the root", GPU_TILE, "step.eps_inside ? step.inverse_bias2 : 1.0f", "1.0f", "test_adam_options"),
    ("the same random bits in each tile", GPU_TILE,
     "(uint64_t)number * (QUERN_ADAM_TILE / 8)", "(uint64_t)number * 0", "test_adam"),
    ("the first tile's scales", GPU_TILE,
     "tile.v_scale = extras.v_scale + (uint64_t)number * (QUERN_ADAM_TILE / 32);", "tile.v_scale = extras.v_scale;", "test_adam"),
    ("an unscaled copy", GPU_TILE, "extras.copy_scale ? *extras.copy_scale : 1.0f", "1.0f", "test_adam_options"),
    ("a master taken for aligned", GPU_TILE,
     "unaligned<typename Shares::master_share>(slice.master, UNALIGNED_MASTER)", "0", "test_adam"),
    ("an empty tensor's tile", GPU_TILES, "first_tile[middle] <= tile", "first_tile[middle] < tile", "test_adam"),
    ("the first block counts the step", GPU_CONTROL, "== gridDim.x - 1", "== 0", "test_adam_control"),
    ("a ticket that stays", GPU_CONTROL, "        atomicExch(launch.ticket, 0);\n", "", "test_adam_control"),
    ("a skipped step is counted", GPU_CONTROL, "        if (!skipped) {", "        if (true) {", "test_adam_control"),
    ("found_inf that must be above zero", GPU_CONTROL, "*launch.control.found_inf != 0.0f", "*launch.control.found_inf > 0.0f",
     "test_adam_control"),
    ("an infinite v becomes NaN", GPU_STEP,
     "fabsf(v[i]) == __uint_as_float(0x7f800000u) ? v[i] : moved", "moved", "test_adam"),
    ("AMSGrad forgets NaN", GPU_STEP, "v[i] > v_max[i] || v[i] != v[i]", "v[i] > v_max[i]", "test_adam"),
    ("nothing divided by nothing", GPU_STEP, "m == 0.0f ? 0.0f : __fdiv_rn", "__fdiv_rn", "test_adam"),
    ("no weight decay", GPU_STEP,
     "update[i] = __fmaf_rn(scalars.decoupled_decay, p[i], update[i]);", "update[i] = update[i];", "test_adam"),
    ("extraordinary values taken for ordinary", GPU_STEP, "smallest > 0x1p-90f", "smallest > -1.0f", "test_adam"),
    ("m with the random bits of v", GPU_SHARES, "round_moment<M, QUERN_RANDOM_TURN_M,", "round_moment<M, QUERN_RANDOM_TURN_V,",
     "test_adam"),
    ("scales written by nobody", GPU_SHARES,
     "if (first % 32 == 0 && first < tile.count) {", "if (first == 0 && first < tile.count) {",
     "test_adam_scaled"),
    ("gradients not unscaled", GPU_SHARES, "g[i] = __fmul_rn(g[i], scalars.grad_factor);", "g[i] = g[i];", "test_adam_options"),
    ("a copy that overflows", GPU_COPY,
     "fabsf(x[i]) > T::largest ? copysignf(T::largest, x[i]) : x[i]", "x[i]", "test_adam_options"),
    ("a remainder of a half taken for more", GPU_REMAINDER, "(low + 0x7fffu & 0x10000u)", "(low + 0x8000u & 0x10000u)",
     "test_adam_remainder"),
    ("NaN left to a remainder", GPU_REMAINDER,
     "x[i] != x[i] ? QUERN_NAN16 << 16 : __float_as_uint(x[i])", "__float_as_uint(x[i])", "test_adam_remainder"),
    ("a scale that lets the largest overflow", GPU_SCALE,
     "struct scaled_top<e4m3> { static constexpr int value = 7; }", "struct scaled_top<e4m3> { static constexpr int value = 8; }",
     "test_adam_scaled"),
    ("the smallest scale read as zero", GPU_SCALE, "scale == 0 ? 0x00400000u : scale << 23", "scale << 23", "test_adam_scaled"),
    ("a scale for each lane", GPU_SCALE, "distance < LANES", "distance < 1", "test_adam_scaled"),
    ("v of a scaled type becomes zero", GPU_SCALE,
     "x[i] > 0.0f && !(word & mask)", "x[i] > 1.0f && !(word & mask)", "test_adam_scaled"),
    ("half of the random bits", GPU_FP8, "i % 2 ? 0x4324 : 0x4104", "i % 2 ? 0x4344 : 0x4144", "test_adam_scaled"),
    ("half of the random bits of small values", GPU_FP8, "(float)random16", "(float)(random16 & 0xffu)", "test_adam_scaled"),
    ("subnormal codes taken for normal ones", GPU_SCALE, "smallest >= __uint_as_float(", "smallest >= 0.0f * __uint_as_float(",
     "test_adam_scaled"),
    ("a factor of e4m3 that overflows", GPU_FP8, "largest_factor = 0x1p119f", "largest_factor = 0x1p127f", "test_adam_scaled"),
    ("NaN of e4m3 taken for a number", GPU_FP8, "return (code & 0x7fu) == QUERN_NAN8;", "return false;", "test_adam"),
    ("small squares lost", GPU_NORM, "(largest == 0.0f || !(total < 0x1p-90f))", "true", "test_gradients"),
    ("a sum rounded twice", GPU_ACCUMULATE,
     "__fmaf_rn(batch.scale, x[i], __uint_as_float(sums[part].word[i]))",
     "__fadd_rn(__fmul_rn(batch.scale, x[i]), __uint_as_float(sums[part].word[i]))", "test_gradients"),
    ("gradients left after their sum", GPU_ACCUMULATE, "    if (batch.zero_grads) {", "    if (false) {", "test_gradients"),
]
