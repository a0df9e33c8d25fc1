/* Checks the number of elements of each array of a list.  Called for gradients and quantisation. */
#include "runtime/list_count.h"

#include "kernels/problem.h"
#include "runtime/device.h"
#include "runtime/status.h"

enum { TILE = QUERN_LIST_TILE };

quern_status quern_check_list_count(const quern_device *device, const char *list, int64_t place, int64_t count, int64_t *total) {
    if (count < 0 || count > QUERN_LIST_MAX_COUNT)
        return quern_fail(device, QUERN_INVALID_SHAPE, "%s[%lld].count is %lld: expected 0 to %lld", list, (long long)place,
                          (long long)count, (long long)QUERN_LIST_MAX_COUNT);
    if (device->kind == QUERN_CUDA && count > (int64_t)TILE * QUERN_LIST_MAX_TILES)
        return quern_fail(device, QUERN_NOT_SUPPORTED, "%s[%lld].count is %lld: a GPU takes up to %lld", list, (long long)place,
                          (long long)count, (long long)TILE * QUERN_LIST_MAX_TILES);
    *total += count;
    if (*total <= QUERN_LIST_MAX_COUNT) return QUERN_OK;
    return quern_fail(device, QUERN_INVALID_SHAPE, "the count of %s is more than %lld together", list,
                      (long long)QUERN_LIST_MAX_COUNT);
}
