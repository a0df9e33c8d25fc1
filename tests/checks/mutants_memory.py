"""Mutants of the memory of GPU ranks, for mutants.py: name, file, old text, new text, suite that must fail."""

from __future__ import annotations

CASES, IDLE, RAGGED = "faults/symmetric_processes", "test_idle_cuda", "test_ragged_cuda"
REGISTER, PINNED = "src/ranks/symmetric/symmetric_cuda_register.c", "src/ranks/symmetric/symmetric_pinned.c"
MAKING, MULTICAST = "src/ranks/symmetric/symmetric.c", "src/ranks/symmetric/symmetric_multicast.c"
RANK, TRANSPORT = "src/ranks/cuda_rank.c", "src/ranks/group/cuda_transport.c"

EMULATED_RANKS = [
    # Registration.
    ("memory of pools", REGISTER, "    if (!pool) return QUERN_OK;\n", "    return QUERN_OK;\n", CASES),
    ("memory for reading only opened for writing", REGISTER,
     "    if (flags != CU_MEM_ACCESS_FLAGS_PROT_READ) return QUERN_OK;\n", "    if (flags + 1) return QUERN_OK;\n", CASES),
    # Graphs and captures.
    ("unmapped behind a graph", RANK, "    if (error == CUDA_SUCCESS && unmarked) {\n",
     "    if (error == CUDA_SUCCESS && unmarked && !unmarked) {\n", CASES),
    ("a plan that ends behind its graph", "src/ranks/ragged/ragged_plan_cuda.c",
     "plan->unmarked |= entry.capturing ||", "plan->unmarked |= false ||", RAGGED),
    ("destroyed though a capture hides launches", "src/ranks/group/group.c",
     "    return status == QUERN_INVALID_ARGUMENT ? status : QUERN_OK;\n", "    return QUERN_OK;\n", CASES),
    ("modules loaded into a capture", "src/runtime/prepare.c",
     "        const CUresult error = quern_cuda_begin_visit(&visit, device->context);\n",
     "        const CUresult error = quern_cuda_begin_launch(&visit, device) == QUERN_OK ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;\n",
     CASES),
    ("streams of green contexts", "src/ranks/cuda_launch.c",
     "    return cuda->stream_contexts ? cuda->stream_contexts(stream, context, NULL) : cuda->stream_context(stream, context);\n",
     "    return cuda->stream_context(stream, context);\n", CASES),
    # Peers.
    ("no probe of peers", TRANSPORT,
     "    if (status == QUERN_OK) status = quern_probe_peers(members, count);\n", "    (void)quern_probe_peers;\n", CASES),
    ("no way but peer access", "src/ranks/group/form.c",
     "        if (status != QUERN_NOT_SUPPORTED || quern_check_poison(members[0]) != QUERN_OK) return status;\n",
     "        if (status != QUERN_OK || !note_detour) return status;\n", CASES),
    ("the host's address of pinned memory", PINNED,
     "        memory->peer[rank] = (void *)(uintptr_t)(address + (CUdeviceptr)((char *)memory->peer[rank] - state->host.mapping));\n",
     "        (void)address;\n", CASES),
    ("pinned memory that stays registered", PINNED,
     "if (error == CUDA_SUCCESS) error = visit.cuda->host_unregister(state->host.mapping);", "", CASES),
    ("addresses that may come back are remembered", PINNED,
     "    memory->reuses_addresses = address != (uintptr_t)state->host.mapping;\n",
     "    memory->reuses_addresses = false;\n", CASES),
    # Multicast.
    ("no fence between two addresses", "src/kernels/cuda/barrier.cuh", "            fence_aliases();  ", "            ", RAGGED),
    ("multicast unasked", MAKING,
     "        mine[i].multicast = making->operation == QUERN_IN_CREATE || making->members[i]->multicast;",
     "        mine[i].multicast = 1;", CASES),
    ("no second try of multicast", MAKING,
     "            multicast = may_pass && ++tries < TRIES;\n", "            multicast = may_pass && ++tries < 0 * TRIES;\n", CASES),
    ("multicast lost in silence", MAKING,
     "    memory->lost_multicast = status == QUERN_CUDA_ERROR;\n", "    memory->lost_multicast = status != status;\n", CASES),
    ("a GPU that joins twice", MULTICAST, "is_here || state->joined[rank]) continue;", "is_here) continue;", CASES),
    ("memory that is bound twice", MULTICAST, "is_here || state->bound[rank]) continue;", "is_here) continue;", CASES),
    # Calls that may wait for a device.
    ("calls that wait beside pending launches", "src/runtime/idle.c",
     "SEQ_CST) && !(is_pending && is_pending())) return true;", "SEQ_CST) || !is_pending) return true;", CASES),
    ("a segment unregistered at once", "src/ranks/registered_segment.c",
     "    quern_when_idle(&registered->task);\n", "    registered->task.run(&registered->task);\n", CASES),
    ("memory unmapped at once", "src/ranks/symmetric/symmetric_memory.c",
     "    quern_when_idle(&task);\n", "    task.run(&task);\n", CASES),
    ("answers freed at once", "src/runtime/answers.c",
     "        quern_discard_when_idle(leftover);\n", "        leftover->task.run(&leftover->task);\n", IDLE),
    ("a plan of Adam freed at once", "src/runtime/plan_memory.c",
     "    quern_discard_when_idle(memory->leftover);\n", "    memory->leftover->task.run(&memory->leftover->task);\n", IDLE),
    ("modules unloaded at once", "src/runtime/image.c",
     "        quern_discard_when_idle(image->leftover);\n", "        image->leftover->task.run(&image->leftover->task);\n", CASES),
]
