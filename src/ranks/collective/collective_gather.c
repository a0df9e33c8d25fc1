/* quern_group_gather, a public function: bytes of each member to all, for the calls that take the engine's own exchange. */
#include "quern.h"
#include "os/sizes.h"
#include "runtime/arguments.h"
#include "runtime/status.h"

quern_status quern_group_gather(void *args, const void *mine, void *all, size_t bytes, void *stream) {
    const quern_group_gather_args *given = args;
    quern_status status = quern_check_struct(NULL, "args", given, sizeof *given);
    if (status != QUERN_OK) return status;
    if (bytes % sizeof(float) || bytes > QUERN_MOST_BYTES)
        return quern_fail(NULL, QUERN_INVALID_ARGUMENT, "bytes is %zu: expected a multiple of 4, up to 2^47", bytes);
    quern_collective_args gather = given->collective;
    gather.dtype = QUERN_F32;
    gather.count = (int64_t)(bytes / sizeof(float));
    gather.input = mine;
    gather.output = all;
    return quern_all_gather(given->group, &gather, given->workspace, given->workspace_bytes, stream);
}
