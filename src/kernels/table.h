/*
 * Makes a table of its rows: included by generated/<operation>/table.c alone, which defines
 *
 *   QUERN_TABLE             the name of the table
 *   QUERN_TABLE_OPERATION   the operation's bit
 *   QUERN_ROWS_GPU          the files that list the rows once for all targets of a kind, each as ROW(...), by the units that are
 *   QUERN_ROWS_CPU          compiled together, UNIT(unit) where SELECTED(unit); one may be missing
 *
 * generated/targets.h includes these for every target: here once for the declarations and once for the rows.
 */
#include "kernels/kernel.h"

#include <stddef.h>

#ifndef QUERN_SELECTED
#define QUERN_SELECTED(target, unit) 1
#endif

/* With the name of the present target in the place of TARGET: what is joined by ## is not expanded. */
#define SELECTED(unit) SELECTED_FOR(TARGET, unit)
#define SELECTED_FOR(target, unit) QUERN_SELECTED(target, unit)
#define WITH_TARGET(name) JOINED(name, TARGET)
#define JOINED(name, target) JOINED_AS_THEY_ARE(name, target)
#define JOINED_AS_THEY_ARE(name, target) name##__##target
#define TEXT(name) TEXT_AS_IT_IS(name)
#define TEXT_AS_IT_IS(name) #name
#define LIST(...) __VA_ARGS__

#define IMAGE(unit) WITH_TARGET(quern_image_##unit)
#define IMAGE_END(unit) END_OF(IMAGE(unit))
#define END_OF(image) END_AS_IT_IS(image)
#define END_AS_IT_IS(image) image##_end

/* ---- declarations ---- */

#define QUERN_GPU_UNIT(unit) extern const unsigned char IMAGE(unit)[], IMAGE_END(unit)[];
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
    {ROW_OF(kernel, dtypes, task, full, vocab_max), .cuda = {#kernel, IMAGE(unit), IMAGE_END(unit), __VA_ARGS__}},
#define QUERN_CPU_ROW(member, kernel, dtypes, task, full, vocab_max) \
    {ROW_OF(kernel, dtypes, task, full, vocab_max), .cpu.member = WITH_TARGET(quern_##kernel)},

const struct quern_kernel QUERN_TABLE[] = {
#include "../generated/targets.h"
    {.name = ""},
};
