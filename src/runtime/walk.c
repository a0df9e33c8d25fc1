/* Walks over the rows of an operation and applies QUERN_KERNEL.  Called when kernels are prepared, explained and reported. */
#include "runtime/walk.h"

#include <fnmatch.h>
#include <string.h>

#include "os/text.h"
#include "runtime/build_info.h"
#include "runtime/image.h"
#include "runtime/pack.h"
#include "runtime/target.h"

void quern_walk(unsigned operation, bool (*visit)(const struct quern_kernel *kernel, void *context), void *context) {
    for (const struct quern_pack *pack = quern_packs(); pack; pack = pack->next)
        for (const struct quern_kernel *kernel = pack->rows; *kernel->name; kernel++)
            if (kernel->operation == operation && !visit(kernel, context)) return;
    for (const struct quern_kernel *kernel = quern_linked_operation(operation)->table; *kernel->name; kernel++)
        if (!visit(kernel, context)) return;
}

/* Whether a glob can match names with a prefix.  Compares only the text before the glob's first wildcard. */
static bool can_match(const char *glob, const char *prefix) {
    size_t literal = strcspn(glob, "*?["), length = strlen(prefix);
    return strncmp(glob, prefix, literal < length ? literal : length) == 0;
}

/* The part of a glob that names the target: the text after its last "__". */
static const char *target_glob(const char *glob) {
    const char *target = "*";
    for (const char *next = glob; (next = strstr(next, "__")); next++) target = next + 2;
    return target;
}

/* QUERN_KERNEL restricts only the operations it can name: "adam_*" leaves cross-entropy alone. */
bool quern_is_named(const quern_device *device, const struct quern_kernel *kernel) {
    if (!device->kernel_glob[0] || !can_match(device->kernel_glob, quern_operation_prefix(kernel->operation))) return true;
    return fnmatch(device->kernel_glob, kernel->name, 0) == 0;
}

/*
 * Auxiliary kernels follow the chosen kernel to its target.  So the separate stages of cross-entropy give the same bits as the rows
 * stage.
 */
bool quern_forced_away(const quern_device *device, const struct quern_kernel *kernel) {
    if (quern_is_named(device, kernel)) return false;
    const enum quern_row_role role = quern_row_role(kernel);
    if (role == QUERN_ROW_SELECTED_BY_NAME) return true;
    return role == QUERN_ROW_FOLLOWS_TARGET && fnmatch(target_glob(device->kernel_glob), kernel->target.name, 0) != 0;
}

bool quern_row_unusable(const quern_device *device, const struct quern_kernel *kernel, char *buffer, size_t bytes) {
    const struct quern_refused_image *refused = quern_image_refusal(device, kernel);
    if (quern_target_refused(device, &kernel->target, buffer, bytes)) return true;
    struct quern_text why = quern_text_begin(buffer, bytes);
    if (quern_has_no_code(kernel)) quern_text_add(&why, QUERN_WITHOUT_NVCC);
    else if (quern_forced_away(device, kernel)) quern_text_add(&why, "QUERN_KERNEL=%s leaves it out", device->kernel_glob);
    else if (refused) quern_text_add(&why, "%s", refused->reason);
    return why.length;
}
