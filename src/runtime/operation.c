/* The list of operations: names, prefixes and linked rows.  Called by all parts of the runtime that walk tables. */
#include "runtime/operation.h"

#include <stddef.h>
#include <string.h>

#define CHECK_BIT(bit, constant, name, prefix) _Static_assert((constant) == (bit), #constant " in quern.h has another bit");
QUERN_FOR_EACH_OPERATION(CHECK_BIT)

/* Tables and packs write the key through `any`; operations read it through their own views.  The members must coincide. */
#define SAME_PLACE(view, member, part) \
    _Static_assert(offsetof(struct quern_kernel, key.view.member) == offsetof(struct quern_kernel, key.any.part), #view "." #member)
SAME_PLACE(cross_entropy, stage, task);
SAME_PLACE(cross_entropy, full, full);
SAME_PLACE(cross_entropy, vocab_max, vocab_max);
SAME_PLACE(adam, master, dtypes[4]);
SAME_PLACE(adam, task, task);
SAME_PLACE(adam, full, full);

/*
 * The row of an operation that the program does not link.  A weak definition and not a weak reference: an undefined symbol would
 * stay in the program's dynamic table, where another library could supply it, and gold gives a hidden one the address of the
 * program.
 */
#define DEFINE_WEAK(bit, constant, name, prefix) \
    const struct quern_operation quern_##name##_operation __attribute__((weak)) = {.table = NULL};
QUERN_FOR_EACH_OPERATION(DEFINE_WEAK)

static const struct {
    const char *name, *prefix;
    const struct quern_operation *operation;
} rows[QUERN_OPERATION_COUNT] = {
#define ROW(bit, constant, name, prefix) {#name, prefix, &quern_##name##_operation},
    QUERN_FOR_EACH_OPERATION(ROW)
#undef ROW
};

const struct quern_operation *quern_linked_operation(unsigned bit) {
    const struct quern_operation *operation = rows[quern_operation_index(bit)].operation;
    return operation->table ? operation : NULL;
}

const char *quern_operation_name(unsigned bit) {
    return rows[quern_operation_index(bit)].name;
}

const char *quern_operation_prefix(unsigned bit) {
    return rows[quern_operation_index(bit)].prefix;
}

enum quern_row_role quern_row_role(const struct quern_kernel *kernel) {
    const struct quern_operation *operation = quern_linked_operation(kernel->operation);
    return operation->role ? operation->role(kernel) : QUERN_ROW_SELECTED_BY_NAME;
}

const char *quern_row_bits(const struct quern_kernel *kernel) {
    const struct quern_operation *operation = quern_linked_operation(kernel->operation);
    return operation && operation->bits ? operation->bits(kernel) : NULL;
}

bool quern_same_bits(const struct quern_kernel *one, const struct quern_kernel *other) {
    const char *bits = quern_row_bits(one), *others = quern_row_bits(other);
    return bits && others && one->key.any.task == other->key.any.task &&
           !memcmp(one->key.any.dtypes, other->key.any.dtypes, sizeof one->key.any.dtypes) && !strcmp(bits, others);
}

int quern_row_refused(const struct quern_operation *operation, const struct quern_kernel *kernel, int cluster,
                       const void *request, struct quern_text *why) {
    return operation->refused ? operation->refused(kernel, cluster, request, why) : 0;
}
