"""AdamW as an optimizer of PyTorch: whole lists of tensors in one call, with states of 32, 16 or 8 bits."""
from __future__ import annotations

import ctypes
from array import array
from ctypes import byref, c_size_t, c_void_p
from operator import attrgetter, is_
from typing import NamedTuple, Optional

import torch

import quern
from quern import _c

from ._register import DTYPES, place

_FLOATS = (torch.float32, torch.float16, torch.bfloat16)
_MOMENTS = (*_FLOATS, torch.float8_e4m3fn, torch.float8_e5m2)
_SCALED = (torch.float16, torch.float8_e4m3fn, torch.float8_e5m2)   # a power of two for each 32 elements
_ROUNDINGS = {"default": _c.QUERN_ROUND_DEFAULT, "nearest": _c.QUERN_ROUND_NEAREST, "stochastic": _c.QUERN_ROUND_STOCHASTIC}
_SEEDS = 0x9E3779B97F4A7C15   # between the seeds of two lists


def local(tensor: torch.Tensor) -> torch.Tensor:
    """The shard of this rank: a DTensor of FSDP2 or tensor parallelism has no address."""
    return tensor.to_local() if hasattr(tensor, "to_local") else tensor


def _invalid(text: str) -> Exception:
    return quern.error(_c.QUERN_INVALID_ARGUMENT, text)


class _Kind(NamedTuple):
    """What all tensors of a call share."""

    device: torch.device
    dtype: torch.dtype
    grad_dtype: torch.dtype
    layout: tuple   # the dtypes of the states, by _STATES


class _List:
    """The list of one call: parameters of one kind, each with a step of its own, or one for all if theirs are equal."""

    def __init__(self, kind: _Kind, params: list, states: list, group: dict) -> None:
        self.kind, self.params, self.states = kind, params, states
        self.rows = (_c.quern_adam_tensor * len(params))()
        self.args = quern.arguments("adam_args", tensors=ctypes.addressof(self.rows), tensor_count=len(params),
                                    param_dtype=DTYPES[kind.dtype], grad_dtype=DTYPES[kind.grad_dtype])
        self.addresses = [param.data_ptr() for param in map(local, params)]
        for row, param, state, address in zip(self.rows, params, states, self.addresses):
            row.param, row.count = address, local(param).numel()
            for field, key in _FIELDS.items():
                if key in state:
                    setattr(row, field, local(state[key]).data_ptr())
        first = states[0]
        self.args.m_dtype, self.args.v_dtype = DTYPES[first["exp_avg"].dtype], DTYPES[first["exp_avg_sq"].dtype]
        self.args.master_dtype = (_c.QUERN_F32 if "master" in first else _c.QUERN_REMAINDER if "remainder" in first
                                  else _c.QUERN_NO_DTYPE)
        self.args.amsgrad = group["amsgrad"]
        self._take_steps(group["capturable"])
        self.plan = c_void_p()
        self.is_plain = all(type(param) is torch.nn.Parameter and param.is_contiguous() for param in params)

    def _take_steps(self, capturable: bool) -> None:
        """One tensor for all of them: adding 1 to each of ten thousand takes longer than the step itself.  It is a list's own, since
        lists may share parameters whose gradients come and go."""
        given = [state["step"] for state in self.states]
        values = {id(each): each for each in given}
        if not capturable:
            values = {key: int(each) for key, each in values.items()}
        if capturable or len(set(values.values())) > 1:
            self.step, self.counter = None, torch.stack([each.to(torch.float32) for each in given])
            self.taken = self.counter.to(device=self.kind.device, dtype=torch.int64)
            self.counters = list(self.counter.unbind())
            self.args.steps = self.taken.data_ptr()
        else:
            self.step, self.counter = values[id(given[0])], given[0].clone()
            self.counters = [self.counter] * len(given)
        for state, counter in zip(self.states, self.counters):
            state["step"] = counter

    def has_steps(self) -> bool:
        """Whether no other list has stepped one of its parameters since."""
        return all(state["step"] is counter for state, counter in zip(self.states, self.counters))

    def has_moved(self) -> bool:
        return self.addresses != list(map(_address, self.params if self.is_plain else map(local, self.params)))

    def take_whole(self, params: list) -> Optional[list]:
        """The gradients of these parameters, if they are the list's, none has moved, and no gradient needs a look of its own."""
        if not self.is_plain or not _are_same(params, self.params):
            return None
        grads = list(map(_grad, params))
        if (set(map(type, grads)) != {torch.Tensor} or set(map(_dtype, grads)) != {self.kind.grad_dtype}
                or not all(map(_is_contiguous, grads)) or list(map(_address, params)) != self.addresses):
            return None
        self.grads = array("Q", map(_address, grads))
        return grads

    def set_gradients(self, first: torch.Tensor) -> None:
        """The list is checked once, with the first gradients; each step gives the addresses of its own."""
        args = self.args
        if not self.plan:
            for row, address in zip(self.rows, self.grads):
                row.grad = address
            quern.check(quern.lib.quern_adam_plan_create(place(first)[0], byref(args), byref(self.plan)))
            args.tensors, args.tensor_count, args.plan = None, 0, self.plan
        args.grads = self.grads.buffer_info()[0]

    def __del__(self) -> None:
        if not getattr(self, "plan", None):
            return
        if self.kind.device.type == "cuda":   # its work must have completed
            torch.cuda.synchronize(self.kind.device)
        quern.lib.quern_adam_plan_destroy(self.plan)


# Of each of many tensors, without a step of the interpreter for each.
_address, _is_contiguous, _dtype, _grad = torch.Tensor.data_ptr, torch.Tensor.is_contiguous, attrgetter("dtype"), attrgetter("grad")


def _are_same(some: list, others: list) -> bool:
    """Whether these are the same objects: tensors that are equal may be two."""
    return len(some) == len(others) and all(map(is_, some, others))


# The fields of quern_adam_tensor and the keys of a state: PyTorch's own, and those that it does not have.
_FIELDS = {"m": "exp_avg", "v": "exp_avg_sq", "v_max": "max_exp_avg_sq", "m_scale": "exp_avg_scale", "v_scale": "exp_avg_sq_scale",
           "v_max_scale": "max_exp_avg_sq_scale", "master": "master"}
_REMAINDER = "remainder"
_STATES = ("exp_avg", "exp_avg_sq", "max_exp_avg_sq", "master", _REMAINDER)
_MOMENT_KEYS = ("exp_avg", "exp_avg_sq", "max_exp_avg_sq")


def _pair(dtypes) -> tuple:
    return tuple(dtypes) if isinstance(dtypes, (tuple, list)) else (dtypes, dtypes)


class AdamW(torch.optim.Optimizer):
    """torch.optim.AdamW on Quern's kernels.  A state dict of either loads into the other.

    state_dtype: of both moments, or a pair for exp_avg and exp_avg_sq; None: that of the parameter, or float32 with a master copy.
    Moments of 16 and 8 bits take a half and a quarter of the memory; those of float16 and 8 bits have a scale for each 32 elements.
    Which combinations a build has is in docs/adam.md; the error for another one has the command that adds it.
    master: for 16-bit parameters: "fp32" keeps a copy in float32; "remainder" (bfloat16) keeps its lower 16 bits beside the parameter.
    rounding: of a parameter without a master: "default" is stochastic for 16 bits.  seed: of its random bits.
    max_grad_norm: clips the gradients of all groups to this norm, without writing them.
    capturable: step and learning rate (a tensor) are read on the device, so that a CUDA graph can be replayed.
    """

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-2, amsgrad=False, *, maximize=False,
                 capturable=False, state_dtype=None, master: Optional[str] = None, rounding: str = "default",
                 seed: int = 0, max_grad_norm: Optional[float] = None) -> None:
        _check(lr, betas, eps, weight_decay, state_dtype, master, rounding)
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, amsgrad=amsgrad, maximize=maximize,
                                      capturable=capturable, state_dtype=state_dtype, master=master, rounding=rounding, seed=seed))
        self.max_grad_norm = max_grad_norm
        self._lists: dict[tuple, _List] = {}
        self._whole: dict[int, _List] = {}   # by group: the list of all its parameters
        self._ready: dict[torch.Tensor, tuple] = {}   # the layouts of states that are complete
        self._step_supports_amp_scaling = True   # GradScaler then sets grad_scale and found_inf and calls step

    def __setstate__(self, state) -> None:
        super().__setstate__(state)
        self.__dict__.setdefault("max_grad_norm", None)
        self._lists, self._whole, self._ready = {}, {}, {}
        for group in self.param_groups:
            for key, value in dict(amsgrad=False, maximize=False, capturable=False, state_dtype=None, master=None, rounding="default",
                                   seed=0).items():
                group.setdefault(key, value)

    def __getstate__(self):
        return {**super().__getstate__(), "max_grad_norm": self.max_grad_norm}

    # ---- state dicts ----

    def state_dict(self):
        """Each parameter has a step of its own, as PyTorch has it."""
        saved = super().state_dict()
        saved["state"] = {index: {key: value.clone() if key == "step" else value for key, value in state.items()}
                          for index, state in saved["state"].items()}
        return saved

    def load_state_dict(self, state_dict) -> None:
        """Keeps the dtypes of the states, which torch.optim.Optimizer casts to that of the parameter."""
        options = [{key: group[key] for key in ("state_dtype", "master", "rounding", "seed")} for group in self.param_groups]
        super().load_state_dict(state_dict)
        for group, own, saved in zip(self.param_groups, options, state_dict["param_groups"]):
            group.update({key: value for key, value in own.items() if key not in saved})
        order = [index for group in state_dict["param_groups"] for index in group["params"]]
        owners = [(param, group) for group in self.param_groups for param in group["params"]]
        for index, (param, group) in zip(order, owners):
            for key, value in state_dict["state"].get(index, {}).items():
                if torch.is_tensor(value):
                    kept = value.clone() if key == "step" and not group["capturable"] else value.to(param.device, copy=True)
                    self.state[param][key] = kept
        self._lists, self._whole, self._ready = {}, {}, {}

    # ---- states ----

    def _begin(self, param: torch.Tensor, group: dict) -> dict:
        """Makes the state of a parameter at its first step, or completes one that has been loaded.  Each tensor of it then has as many
        elements as the parameter, in the same order."""
        state, shard = self.state[param], local(param)
        _check_param(shard)
        has_master = group["master"] is not None and param.dtype != torch.float32
        kinds = _pair(group["state_dtype"] or (torch.float32 if has_master else param.dtype))
        if "step" not in state:
            state["step"] = torch.zeros((), dtype=torch.float32, device=param.device if group["capturable"] else "cpu")
        for key, dtype in zip(_MOMENT_KEYS[:2 + group["amsgrad"]], (*kinds, kinds[1])):
            if key not in state:
                state[key] = torch.zeros_like(param, dtype=dtype, memory_format=torch.preserve_format)
            if state[key].dtype in _SCALED and f"{key}_scale" not in state:
                state[key], state[f"{key}_scale"] = _scaled(state[key], shard)
        if has_master and "master" not in state and _REMAINDER not in state:
            if group["master"] == "fp32":
                state["master"] = param.detach().to(torch.float32, memory_format=torch.preserve_format)
            else:
                state[_REMAINDER] = torch.zeros_like(param, dtype=torch.int16, memory_format=torch.preserve_format)
        for key in _STATES:
            if key in state:
                state[key] = _as_param(state[key], param, key)
        self._ready[param] = tuple(state[key].dtype if key in state else None for key in _STATES)
        return state

    def _list(self, number: int, kind: _Kind, params: list, grads: list, group: dict) -> _List:
        """The list of these parameters, with their gradients; made anew if a tensor has moved, or after a list with some of them."""
        key = number, kind[:3], len(params), id(params[0]), id(params[-1])
        found = self._lists.get(key)
        is_known = found is not None and _are_same(found.params, params) and not found.has_moved()
        if not is_known or (found.seen != self._made and not found.has_steps()):
            found = self._lists[key] = _List(kind, params, [self.state[param] for param in params], group)
            self._made += 1
            if len(params) == len(group["params"]):
                self._whole[number] = found
            if found.args.master_dtype == _c.QUERN_REMAINDER:
                for row, state in zip(found.rows, found.states):
                    row.master = local(state[_REMAINDER]).data_ptr()
        found.seen, found.grads = self._made, array("Q", map(_address, grads))
        return found

    _made: int = 0   # lists so far

    # ---- the step ----

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        calls = [(group, *each) for number, group in enumerate(self.param_groups) for each in self._lists_of(number, group)]
        clip = self._clip([grad for _, _, grads in calls for grad in grads])
        for place_of_list, (group, each, grads) in enumerate(calls):
            self._call(group, each, grads, clip, place_of_list)
        return loss

    def _lists_of(self, number: int, group: dict) -> list[tuple[_List, list]]:
        """The lists of a group's parameters that have gradients, and those gradients."""
        known = self._whole.get(number)
        if known is not None and (known.seen == self._made or known.has_steps()):
            grads = known.take_whole(group["params"])
            if grads is not None:
                known.seen = self._made
                return [(known, grads)]
        kinds: dict[tuple, tuple[list, list]] = {}
        for param in group["params"]:
            grad = param.grad
            if grad is None:
                continue
            if param not in self._ready:
                self._begin(param, group)
            grad = _gradient(param, grad)
            kind = (param.device, param.dtype, grad.dtype, self._ready[param])
            found = kinds.get(kind)
            if found is None:
                found = kinds[kind] = ([], [])
            found[0].append(param)
            found[1].append(grad)
        return [(self._list(number, _Kind(*kind), params, grads, group), grads) for kind, (params, grads) in kinds.items()]

    def _call(self, group: dict, each: _List, grads: list, clip, number: int) -> None:
        args = each.args
        each.set_gradients(grads[0])
        device, stream = place(grads[0])
        lr, control = group["lr"], args.control
        found_inf, grad_scale = getattr(self, "found_inf", None), getattr(self, "grad_scale", None)
        kept = [_scalar(given, grads[0]) for given in (clip, found_inf, grad_scale)]
        control.clip, control.found_inf, control.grad_scale = (None if given is None else given.data_ptr() for given in kept)
        args.eps, args.weight_decay, args.maximize = group["eps"], group["weight_decay"], group["maximize"]
        args.beta1, args.beta2 = map(float, group["betas"])
        args.param_rounding, args.seed = _ROUNDINGS[group["rounding"]], (group["seed"] + number * _SEEDS) % 2**64
        if group["capturable"]:
            self._capturable(each, lr, grads[0], found_inf)
        else:
            args.lr, args.step = float(lr), 1 if each.step is None else each.step + 1
        size = c_size_t()
        quern.check(quern.lib.quern_adam_workspace(device, byref(args), byref(size)))
        workspace = torch.empty(size.value, dtype=torch.uint8, device=grads[0].device) if size.value else None
        quern.check(quern.lib.quern_adam(device, byref(args), workspace.data_ptr() if size.value else None, size, stream))
        if not group["capturable"] and (found_inf is None or not float(found_inf)):
            each.step = None if each.step is None else each.step + 1
            each.counter += 1

    def _capturable(self, each: _List, lr, like: torch.Tensor, found_inf) -> None:
        """The library counts in 64 bits on the device, PyTorch's state in fp32: both are there."""
        if not hasattr(each, "rate"):
            each.rate = torch.zeros((), dtype=torch.float32, device=like.device)
        each.rate.copy_(lr if torch.is_tensor(lr) else torch.tensor(float(lr)))
        each.args.control.lr, each.args.step = each.rate.data_ptr(), 1
        each.counter += 1 if found_inf is None else 1 - found_inf.to(each.counter.device).reshape(())

    def _clip(self, grads: list) -> Optional[torch.Tensor]:
        if self.max_grad_norm is None or not grads:
            return None
        scale = getattr(self, "grad_scale", None)
        return _norm(grads, self.max_grad_norm, scale)[1]


def _scalar(given, like: torch.Tensor) -> Optional[torch.Tensor]:
    """One float on the device of the gradients."""
    return None if given is None else given.to(device=like.device, dtype=torch.float32).reshape(1)


# ---- checks ----


def _check(lr, betas, eps, weight_decay, state_dtype, master, rounding) -> None:
    for name, value in (("lr", lr), ("eps", eps), ("weight_decay", weight_decay)):
        if not float(value) >= 0:
            raise _invalid(f"{name} is {value}: expected 0 or more")
    if not all(0 <= float(beta) < 1 for beta in betas):
        raise _invalid(f"betas is {tuple(betas)}: expected two numbers in [0, 1)")
    if state_dtype is not None and (len(_pair(state_dtype)) != 2 or any(each not in _MOMENTS for each in _pair(state_dtype))):
        raise _invalid(f"state_dtype is {state_dtype}: expected one or two of {', '.join(map(str, _MOMENTS))}")
    if master not in (None, "fp32", "remainder"):
        raise _invalid(f"master is {master!r}: expected None, 'fp32' or 'remainder'")
    if rounding not in _ROUNDINGS:
        raise _invalid(f"rounding is {rounding!r}: expected one of {', '.join(_ROUNDINGS)}")


def _is_dense(tensor: torch.Tensor) -> bool:
    """Whether its elements fill one piece of memory, each once, in whatever order."""
    if tensor.is_contiguous():
        return True
    expected = 1
    for stride, size in sorted((stride, size) for stride, size in zip(tensor.stride(), tensor.shape) if size != 1):
        if stride != expected:
            return False
        expected *= size
    return True


def _check_param(param: torch.Tensor) -> None:
    if param.layout != torch.strided:
        raise quern.error(_c.QUERN_NOT_SUPPORTED, f"a parameter is {param.layout}: expected a dense one")
    if param.dtype not in _FLOATS:
        raise quern.error(_c.QUERN_INVALID_DTYPE, f"a parameter has {param.dtype}: expected float32, float16, bfloat16")
    if not _is_dense(param):
        raise quern.error(_c.QUERN_INVALID_SHAPE, f"a parameter has the shape {list(param.shape)} and the strides {param.stride()}: "
                          "expected one piece of memory")


def _gradient(param: torch.Tensor, grad: torch.Tensor) -> torch.Tensor:
    """The local gradient in the order of the parameter's elements."""
    grad = local(grad)
    if grad.layout != torch.strided:
        raise quern.error(_c.QUERN_NOT_SUPPORTED, "AdamW does not take sparse gradients: use torch.optim.SparseAdam for this parameter")
    if grad.dtype not in _FLOATS:
        raise quern.error(_c.QUERN_INVALID_DTYPE, f"a gradient has {grad.dtype}: expected float32, float16, bfloat16")
    shard = local(param)
    if grad.shape != shard.shape:
        raise quern.error(_c.QUERN_INVALID_SHAPE, f"a gradient has the local shape {list(grad.shape)}: expected that of its parameter, "
                          f"{list(shard.shape)}")
    return grad if grad.stride() == shard.stride() else torch.empty_like(shard, dtype=grad.dtype).copy_(grad)


def _as_param(tensor: torch.Tensor, param: torch.Tensor, key: str) -> torch.Tensor:
    """A state that has been saved with another layout."""
    if tensor.shape != param.shape or tensor.dtype not in (*_MOMENTS, torch.int16):
        raise _invalid(f"the state {key} has the shape {list(tensor.shape)} and {tensor.dtype}: expected {list(param.shape)}")
    if local(tensor).stride() == local(param).stride():
        return tensor
    return torch.empty_like(param, dtype=tensor.dtype, memory_format=torch.preserve_format).copy_(tensor)


def _scaled(moment: torch.Tensor, shard: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """A moment with scales: zeros, since PyTorch's own states have none that could be kept."""
    if bool(local(moment).view(torch.uint8).any()):
        raise _invalid(f"a state has {moment.dtype} without scales: load it into float32 or bfloat16")
    blocks = -(-shard.numel() // _c.QUERN_SCALE_BLOCK)
    return moment, torch.zeros(blocks, dtype=torch.uint8, device=moment.device)


# ---- the norm ----


def _norm(grads: list, max_norm: float, grad_scale=None) -> tuple[torch.Tensor, torch.Tensor]:
    """The norm of all gradients and the factor that clips them."""
    lists: dict[tuple, list] = {}
    for grad in grads:
        lists.setdefault((grad.device, grad.dtype), []).append(grad)
    if len(lists) != 1:
        total = torch.stack([_one_norm(each, 0.0, grad_scale)[0].to(grads[0].device) for each in lists.values()]).norm()
        return total, (max_norm / (total + 1e-6)).clamp(max=1.0)
    return _one_norm(grads, max_norm, grad_scale)


def _one_norm(grads: list, max_norm: float, grad_scale) -> tuple[torch.Tensor, torch.Tensor]:
    rows = (_c.quern_gradient * len(grads))()
    for row, grad in zip(rows, grads):
        row.grad, row.count = grad.data_ptr(), grad.numel()
    norm, clip = grads[0].new_empty((), dtype=torch.float32), grads[0].new_empty((), dtype=torch.float32)
    args = quern.arguments("gradient_norm_args", grad_dtype=DTYPES[grads[0].dtype], gradients=ctypes.addressof(rows),
                           gradient_count=len(grads), max_norm=max_norm, norm=norm.data_ptr(), clip=clip.data_ptr())
    kept = _scalar(grad_scale, grads[0])
    args.grad_scale_pointer = None if kept is None else kept.data_ptr()
    device, stream = place(grads[0])
    size = c_size_t()
    quern.check(quern.lib.quern_gradient_norm_workspace(device, byref(args), byref(size)))
    workspace = grads[0].new_empty(size.value, dtype=torch.uint8)
    quern.check(quern.lib.quern_gradient_norm(device, byref(args), c_void_p(workspace.data_ptr()), size, stream))
    return norm, clip


@torch.no_grad()
def clip_grad_norm_(parameters, max_norm: float) -> torch.Tensor:
    """torch.nn.utils.clip_grad_norm_: returns the norm of all gradients, which are scaled in place if it is above max_norm.

    AdamW(max_grad_norm=...) clips without writing the gradients.  Shards (DTensor) are refused: their norm is that of all ranks.
    """
    parameters = [parameters] if isinstance(parameters, torch.Tensor) else list(parameters)
    grads = [parameter.grad for parameter in parameters if parameter.grad is not None]
    if any(hasattr(grad, "to_local") for grad in grads):
        raise quern.error(_c.QUERN_NOT_SUPPORTED, "clip_grad_norm_ of DTensors: use torch.nn.utils.clip_grad_norm_")
    if not grads:
        return torch.zeros(())
    dense = [grad if _is_dense(grad) else grad.contiguous() for grad in grads]
    total, clip = _norm(dense, max_norm)
    for device, dtype in {(grad.device, grad.dtype) for grad in grads}:
        torch._foreach_mul_([grad for grad in grads if (grad.device, grad.dtype) == (device, dtype)], clip.to(device=device))
    return total
