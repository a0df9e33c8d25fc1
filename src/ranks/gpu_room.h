/* Room on the GPUs of this process, which all its groups share.  For the launches of GPU ranks. */
#ifndef QUERN_GPU_ROOM_H
#define QUERN_GPU_ROOM_H

#include "ranks/membership.h"

/* Whether two ranks of a group use the same GPU. */
bool quern_cuda_same_gpu(const struct quern_roster *roster, int a, int b);

/*
 * Each rank has at most one block that waits for other ranks: in a barrier, an entry or an exit.  Those of all ranks on a GPU must
 * be able to run at once, with the groups' other kernels taking turns, or they would wait for each other until a limit.  Blocks of
 * the largest kernel that the device has prepared are counted.
 */
struct quern_gpu_room;

/*
 * Reserves room for a rank's block and, once for each process and GPU, for those of the group's ranks in other processes.
 * QUERN_NOT_SUPPORTED if there is none.  *taken: how many blocks were reserved.
 */
quern_status quern_gpu_room_take(const struct quern_membership *member, struct quern_gpu_room **room, int *taken);
void quern_gpu_room_give_back(struct quern_gpu_room *room, int taken);

/* QUERN_NOT_SUPPORTED if blocks of a kernel that was prepared after groups were created do not have that room. */
quern_status quern_gpu_room_check(const struct quern_membership *member, const struct quern_gpu_room *room,
                                  const struct quern_ready_kernel *ready);

#endif
