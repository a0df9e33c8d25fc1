"""Groups of ranks over a process group of torch.distributed, and the ragged all-to-all between them."""
from __future__ import annotations

import ctypes
import secrets
import socket
import sys
from ctypes import byref, c_size_t, c_void_p
from typing import Optional

import torch
import torch.distributed as dist
from torch.autograd.function import once_differentiable

import quern
from quern import _c

from ._register import DTYPES


class Group:
    """The CPU ranks of a process group, which need no further place to meet: of one host, or of several over TCP.

    All ranks make it at the same time.  timeout: seconds, the limit of every wait.  close() or `with` ends it.
    """

    def __init__(self, process_group=None, *, timeout: float = 60.0) -> None:
        self.handle: Optional[c_void_p] = None
        self.rank, self.size = dist.get_rank(process_group), dist.get_world_size(process_group)
        hosts: list = [None] * self.size
        dist.all_gather_object(hosts, _host(), group=process_group)
        chosen = [secrets.token_hex(16), secrets.token_bytes(32)]
        dist.broadcast_object_list(chosen, src=dist.get_global_rank(process_group or dist.group.WORLD, 0), group=process_group)
        name, self._secret = f"torch.{chosen[0]}", ctypes.create_string_buffer(chosen[1], len(chosen[1]))
        args = quern.arguments("group_args", rank=self.rank, ranks=self.size, name=name.encode(), device=quern.device(),
                               timeout=timeout)
        if len(set(hosts)) > 1:
            self._gather = _c.quern_gather_facts(lambda user, mine, count, every: self._gather_facts(process_group, mine, count, every))
            several = quern.arguments("hosts_args", all_gather=self._gather, host_ranks=hosts.count(hosts[self.rank]),
                                      secret=ctypes.addressof(self._secret), secret_bytes=len(chosen[1]))
            args.hosts = ctypes.pointer(several)
        handle = c_void_p()
        quern.check(quern.lib.quern_group_create(byref(args), 1, byref(handle)))
        self.handle, self._workspace, self._bytes = handle, c_void_p(), -1

    def _gather_facts(self, process_group, mine, count, every) -> int:
        """Called by quern_group_create; an exception must not pass through C."""
        try:
            parts: list = [None] * self.size
            dist.all_gather_object(parts, ctypes.string_at(mine, count), group=process_group)
            ctypes.memmove(every, b"".join(parts), count * self.size)
            return 0
        except Exception as failure:
            print(f"quern: {failure}", file=sys.stderr)
            return 1

    def reserve(self, bytes_: int) -> None:
        """Makes the workspace of ragged all-to-alls, if it has fewer bytes.  All ranks call it; their sizes may differ.

        The first exchange reserves what it needs; later ones may need more, if they have more rows.
        """
        size, made = c_size_t(max(bytes_, self._bytes)), c_void_p()
        quern.check(quern.lib.quern_symmetric_alloc(byref(self._open()), 1, byref(size), byref(made)))
        if self._workspace:
            quern.check(quern.lib.quern_symmetric_free(self.handle, self._workspace, None))
        self._workspace, self._bytes = made, size.value

    def barrier(self) -> None:
        quern.check(quern.lib.quern_barrier(self._open(), None, None))

    def _open(self) -> c_void_p:
        if self.handle is None:
            raise quern.error(_c.QUERN_INVALID_ARGUMENT, "the group has been closed")
        return self.handle

    def close(self) -> None:
        """Leaves the group; the other ranks must not need this one any more."""
        if self.handle is not None:
            handle, self.handle = self.handle, None
            quern.check(quern.lib.quern_group_destroy(handle))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def _host() -> str:
    """Differs between machines, also between those that have the same name, and between containers without common memory."""
    with open("/proc/sys/kernel/random/boot_id") as boot:
        return f"{socket.gethostname()} {boot.read().strip()}"


def _indices(given: torch.Tensor, name: str, count: int) -> torch.Tensor:
    if given.dtype not in (torch.int32, torch.int64) or given.device.type != "cpu" or given.numel() % count:
        raise quern.error(_c.QUERN_INVALID_SHAPE, f"{name} is {given.dtype} with {given.numel()} elements on {given.device}: expected int32 "
                          f"or int64, on cpu, as many as a multiple of the {count} ranks")
    return given.contiguous()


def _exchange(group: Group, operand, output, indices, check_overlap: bool = False) -> None:
    """output gets the slices; offsets and sizes are in rows."""
    row_bytes = operand.element_size() * (operand[0].numel() if operand.shape[0] else output[0].numel() if output.shape[0] else 0)
    args = quern.arguments(
        "ragged_all_to_all_args", metadata_dtype=DTYPES[indices[0].dtype], input=operand.data_ptr(), input_rows=operand.shape[0],
        output=output.data_ptr(), output_rows=output.shape[0], row_bytes=row_bytes, updates=indices[0].numel() // group.size, check_overlap=check_overlap,
        **dict(zip(("input_offsets", "send_sizes", "output_offsets", "recv_sizes"), (each.data_ptr() for each in indices))))
    needed = c_size_t()
    quern.check(quern.lib.quern_ragged_all_to_all_workspace(group._open(), byref(args), byref(needed)))
    if group._bytes < 0:
        group.reserve(needed.value)
    if needed.value > group._bytes:
        raise quern.error(_c.QUERN_WORKSPACE_TOO_SMALL, f"this exchange needs {needed.value} bytes of workspace and the group has "
                          f"{group._bytes}: call Group.reserve on all ranks before")
    quern.check(quern.lib.quern_ragged_all_to_all(group.handle, byref(args), group._workspace, group._bytes, None))


class _Ragged(torch.autograd.Function):
    """The gradient of a slice goes back to where the slice came from."""

    @staticmethod
    def forward(ctx, operand, output, group, *indices):
        result = output.clone(memory_format=torch.contiguous_format)
        _exchange(group, operand.contiguous(), result, indices)
        ctx.group, ctx.rows = group, operand.shape
        ctx.save_for_backward(*indices)
        return result

    @staticmethod
    @once_differentiable
    def backward(ctx, upstream):
        indices = ctx.saved_tensors
        upstream = upstream.contiguous()
        d_operand = upstream.new_zeros(ctx.rows)
        inputs, sends, outputs, receives = indices
        theirs = _starts(ctx.group, inputs, outputs)
        # Rows that were sent twice would need a sum: that is an error here, and never a wrong gradient.
        _exchange(ctx.group, upstream, d_operand, (theirs[1], receives, theirs[0], sends), check_overlap=True)
        d_output = upstream.clone()
        for start, count in zip(theirs[1].tolist(), receives.tolist()):
            d_output[start:start + count] = 0
        return d_operand, d_output, None, None, None, None, None


def _starts(group: Group, inputs: torch.Tensor, outputs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Where the slices of the others lie there, and where they have come to here: a rank knows these of the slices that it sends."""
    both = torch.stack([inputs, outputs]).reshape(2, group.size, -1)
    return _trade(group, both[0]), _trade(group, both[1])


def _trade(group: Group, rows: torch.Tensor) -> torch.Tensor:
    """Row p goes to rank p."""
    result, order = torch.empty_like(rows), torch.arange(group.size, dtype=torch.int64)
    ones = torch.ones_like(order)
    _exchange(group, rows.contiguous(), result, (order, ones, torch.full_like(order, group.rank), ones))
    return result.reshape(-1)


def ragged_all_to_all(operand: torch.Tensor, output: torch.Tensor, input_offsets: torch.Tensor, send_sizes: torch.Tensor,
                      output_offsets: torch.Tensor, recv_sizes: torch.Tensor, *, group: Group) -> torch.Tensor:
    """jax.lax.ragged_all_to_all on tensors of CPUs: slices of rows from every rank to every rank, into a copy of output.

    Slice p of this rank are the rows input_offsets[p], send_sizes[p] of operand; it goes to rank p, to the row output_offsets[p] of the
    output there.  recv_sizes[p] rows come from rank p.  Several slices for each rank stand beside each other: [ranks, updates].
    Gradients of operand and output go the way back; slices of operand must not overlap for that.
    """
    names = ("input_offsets", "send_sizes", "output_offsets", "recv_sizes")
    indices = [_indices(given, name, group.size)
               for name, given in zip(names, (input_offsets, send_sizes, output_offsets, recv_sizes))]
    if len({(each.dtype, each.numel()) for each in indices}) != 1:
        raise quern.error(_c.QUERN_INVALID_SHAPE, f"{', '.join(names)} differ in dtype or number")
    if operand.device.type != "cpu" or output.device.type != "cpu" or operand.dtype != output.dtype or (
            operand.shape[1:] != output.shape[1:]):
        raise quern.error(_c.QUERN_INVALID_SHAPE, f"operand is {operand.dtype} {list(operand.shape)} on {operand.device} and output "
                          f"{output.dtype} {list(output.shape)} on {output.device}: expected rows of one shape and dtype, on cpu")
    return _Ragged.apply(operand, output, group, *indices)
