/*
 * Builds a table from its rows.  Included only by generated/<operation>/table.c, which defines
 *
 *   QUERN_TABLE             the name of the table
 *   QUERN_TABLE_OPERATION   the operation's bit
 *   QUERN_TABLE_PACKED      the operation's packed images, of a target: the symbol before the target's name
 *   QUERN_ROWS_GPU,         the files that list the rows once for all targets of a kind, each as ROW(...), grouped by the units
 *   QUERN_ROWS_CPU          that are compiled together, UNIT(unit) if SELECTED(unit); either may be undefined
 *
 * generated/targets.h includes these files for every target.  It is included twice here: for the declarations and for the rows.
 */
#include "kernels/kernel.h"

#include <stddef.h>

#ifndef QUERN_SELECTED
#define QUERN_SELECTED(target, unit) 1
#endif

/* These macros expand TARGET to the present target's name; an operand of ## is not expanded. */
#define SELECTED(unit) SELECTED_FOR(TARGET, unit)
#define SELECTED_FOR(target, unit) QUERN_SELECTED(target, unit)
#define WITH_TARGET(name) JOINED(name, TARGET)
#define JOINED(name, target) JOINED_AS_THEY_ARE(name, target)
#define JOINED_AS_THEY_ARE(name, target) name##__##target
#define TEXT(name) TEXT_AS_IT_IS(name)
#define TEXT_AS_IT_IS(name) #name
#define LIST(...) __VA_ARGS__

#define IMAGE(unit) WITH_TARGET(quern_image_##unit)
#define PACKED WITH_TARGET(QUERN_TABLE_PACKED)
#define PACKED_END END_OF(PACKED)
#define END_OF(packed) END_AS_IT_IS(packed)
#define END_AS_IT_IS(packed) packed##_end

/* ---- declarations ---- */

#define QUERN_GPU_UNIT(unit) \
    extern const unsigned char PACKED[], PACKED_END[]; \
    extern const struct quern_images WITH_TARGET(quern_images); \
    static const struct quern_image IMAGE(unit) = {TEXT(unit), PACKED, PACKED_END};
#define QUERN_GPU_ROW(...)
#define QUERN_CPU_ROW(member, kernel, ...) \
    __typeof__(*((const struct quern_kernel *)NULL)->cpu.member) WITH_TARGET(quern_##kernel);

#include "../generated/targets.h"

#undef QUERN_GPU_UNIT
#undef QUERN_GPU_ROW
#undef QUERN_CPU_ROW

/* ---- rows ---- */

#define ROW_OF(kernel, dtypes, task, full, vocab_max) \
    .name = TEXT(WITH_TARGET(kernel)), .operation = QUERN_TABLE_OPERATION, .target = TARGET_ROW, \
    .key.any = {{LIST dtypes}, task, full, vocab_max}

#define QUERN_GPU_UNIT(unit)
#define QUERN_GPU_ROW(unit, kernel, dtypes, task, full, vocab_max, ...) \
    {ROW_OF(kernel, dtypes, task, full, vocab_max), .cuda = {#kernel, &IMAGE(unit), __VA_ARGS__}},
#define QUERN_CPU_ROW(member, kernel, dtypes, task, full, vocab_max) \
    {ROW_OF(kernel, dtypes, task, full, vocab_max), .cpu.member = WITH_TARGET(quern_##kernel)},

const struct quern_kernel QUERN_TABLE[] = {
#include "../generated/targets.h"
    {.name = ""},
};
