"""Peak memory of any model without its GPU: its own code run on tensors that have no memory.

FakeTensorMode gives every operation its shapes and no numbers, autograd keeps what it would keep,
and a mode below it counts storages from their birth to their last reference.

Known error: operations of CPU kernels are counted, not those of CUDA: small differences in what
norms and attention keep; attention that CPU kernels compute in full would show as s x s.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.checkpoint import checkpoint
from torch.utils.weak import WeakIdKeyDictionary

from filmgate.errors import UserError
from filmgate.plan.memory.ledger import ROUND_BYTES, Kind
from filmgate.plan.memory.setup import Setup
from filmgate.plan.memory.simulate import Simulated
from filmgate.train.one_kernel import one_kernel


class LiveStorages(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts bytes of live storages by kind, and their peak."""

    def __init__(self, round_bytes: int = ROUND_BYTES) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.live = [0] * len(Kind)
        self.peak = 0
        self.peak_live = tuple(self.live)
        self.phase = "forward"
        self.peak_phase = "forward"
        self._round = round_bytes
        self._seen: Any = WeakIdKeyDictionary()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run the operation and count what is new in its result."""
        result = func(*args, **(kwargs or {}))
        if func is torch.ops.aten.add.Tensor and _adds_gradients(*args[:2]):
            self._give_up(args[0])
        for leaf in tree_leaves(result):
            if isinstance(leaf, torch.Tensor) and leaf.untyped_storage() not in self._seen:
                self.count(leaf, Kind.TEMPORARIES)
        return result

    def count(self, tensor: torch.Tensor, kind: Kind) -> None:
        """Count a tensor's storage as this kind from now on."""
        storage = tensor.untyped_storage()
        entry = self._seen.get(storage)
        if entry is not None:
            self.live[entry[0]] -= entry[1]
            entry[0] = kind
            self.live[kind] += entry[1]
            return
        size = -(-storage.nbytes() // self._round) * self._round
        entry = [kind, size]
        self._seen[storage] = entry
        self.live[kind] += size
        weakref.finalize(storage, self._freed, entry)
        total = sum(self.live)
        if total > self.peak:
            self.peak, self.peak_live, self.peak_phase = total, tuple(self.live), self.phase

    def _freed(self, entry: list[Any]) -> None:
        self.live[entry[0]] -= entry[1]

    def _give_up(self, tensor: torch.Tensor) -> None:
        """Count a tensor as gone: what comes next is written where it lies."""
        entry = self._seen.get(tensor.untyped_storage())
        if entry is not None:
            self._freed(entry)
            entry[1] = 0

    def keep(self, tensor: torch.Tensor) -> torch.Tensor:
        """Note that autograd keeps a tensor; without its history, which would keep itself."""
        entry = self._seen.get(tensor.untyped_storage())
        if entry is not None and entry[0] == Kind.TEMPORARIES:
            self.count(tensor, Kind.ACTIVATIONS)
        return tensor.detach()


def _adds_gradients(old: Any, new: Any) -> bool:
    """Whether autograd adds two gradients of which it alone holds the old one.

    It then adds in place, but never for fake tensors. What a node has just made is held as often
    as what nobody else holds. Source: torch/csrc/autograd/input_buffer.cpp, accumulate.
    """
    if torch.is_grad_enabled() or torch._C._current_autograd_node() is None:
        return False
    if not isinstance(old, torch.Tensor) or not isinstance(new, torch.Tensor):
        return False
    is_like = old.shape == new.shape and old.dtype == new.dtype
    return is_like and all(low <= high for low, high in zip(_held(old), _held(new), strict=True))


def _held(tensor: torch.Tensor) -> tuple[int, int]:
    """How often a tensor and its storage are referred to."""
    count: int = tensor._use_count()  # type: ignore[attr-defined]
    return count, torch._C._storage_Use_Count(tensor.untyped_storage()._cdata)


def trace_job(
    build: Callable[[], nn.Module], shape: Sequence[int], setup: Setup, *, name: str
) -> Simulated:
    """Peak of one step of the model on clips (B, T, C, H, W), as ``plan.memory`` counts.

    Raises UserError where the model cannot be traced, with its reason and the fallback.
    """
    try:
        with FakeTensorMode(allow_non_fake_inputs=True), _default_dtype(setup):
            return _trace(build, shape, setup)
    except UserError:
        raise
    except (RuntimeError, TypeError, ValueError, NotImplementedError) as error:
        reason = str(error).strip().split("\n")[0] or type(error).__name__
        raise UserError(
            f"{name} cannot be traced without its device: {type(error).__name__}: {reason}",
            hint="shapes that depend on values cannot be traced; name the nearest known model by "
            "[plan] model, and its formulas answer",
        ) from error


def _trace(build: Callable[[], nn.Module], shape: Sequence[int], setup: Setup) -> Simulated:
    model = build()
    numerics = setup.numerics
    if numerics.adapter_rank:
        add_adapters(model, numerics.adapter_rank)
    if numerics.checkpointing != "none":
        checkpoint_blocks(model, numerics.checkpointing)
    live = LiveStorages()
    weights = [*model.parameters(), *model.buffers()]
    for tensor in weights:
        live.count(tensor, Kind.WEIGHTS)
    static = sum(live.live)
    with live, one_kernel():
        for _ in range(setup.passes):
            run_step(model, shape, setup, live)
    return _with_optimizer(live, static, model, setup)


def run_step(
    model: nn.Module, shape: Sequence[int], setup: Setup, live: LiveStorages | None
) -> None:
    """One forward and backward; ``live`` is told when and what autograd keeps."""
    numerics = setup.numerics
    clips = torch.empty(tuple(shape), dtype=torch.get_default_dtype())
    if not setup.trains:
        with torch.no_grad():
            model(clips)
        return
    with ExitStack() as stack:
        if live is not None:
            _watch_gradients(model, live, stack)
            live.phase = "forward"
            hooks = torch.autograd.graph.saved_tensors_hooks(live.keep, lambda tensor: tensor)
            stack.enter_context(hooks)
        with torch.autocast("cpu", torch.bfloat16, enabled=numerics.autocast):
            prediction = model(clips)
        loss = prediction.float().pow(2).mean()
        del prediction, clips
        if live is not None:
            live.phase = "backward"
        loss.backward()


def _watch_gradients(model: nn.Module, live: LiveStorages, stack: ExitStack) -> None:
    def made(parameter: torch.Tensor) -> None:
        """Count a gradient once it is whole."""
        if parameter.grad is not None:
            live.count(parameter.grad, Kind.GRADIENTS)

    for parameter in model.parameters():
        if parameter.requires_grad:
            handle = parameter.register_post_accumulate_grad_hook(made)  # type: ignore[no-untyped-call]
            stack.callback(handle.remove)


def _with_optimizer(live: LiveStorages, static: int, model: nn.Module, setup: Setup) -> Simulated:
    """The traced passes with the optimizer's state beside them, and its step by arithmetic."""
    trained = [p for p in model.parameters() if p.requires_grad and setup.trains]
    numels = sum(p.numel() for p in trained)
    states, roots = int(numels * setup.state_bytes), int(numels * setup.step_bytes)
    kinds = list(live.peak_live)
    kinds[Kind.OPTIMIZER] += states
    step = [0] * len(Kind)
    step[Kind.WEIGHTS], step[Kind.OPTIMIZER] = static, states
    step[Kind.GRADIENTS] = sum(p.numel() * p.element_size() for p in trained)
    step[Kind.TEMPORARIES] = roots
    is_step = sum(step) > sum(kinds)
    most = step if is_step else kinds
    return Simulated(
        peak_bytes=sum(most),
        peak_by_kind=tuple(most),
        phase="step" if is_step else (live.peak_phase if setup.trains else "generate"),
        static_bytes=static,
        trained_parameters=numels,
        by_size_bytes=0,
        reserved_bytes=None,
    )


class Adapted(nn.Module):
    """A frozen linear layer with a low-rank sum beside it."""

    def __init__(self, base: nn.Linear, rank: int) -> None:
        super().__init__()
        self.base = base
        self.low = nn.Linear(base.in_features, rank, bias=False)
        self.high = nn.Linear(rank, base.out_features, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """As PEFT computes it."""
        total: torch.Tensor = self.base(x) + self.high(self.low(x))
        return total


def add_adapters(model: nn.Module, rank: int) -> None:
    """Freeze a model and put an adapter on each linear layer. Raises UserError without any."""
    model.requires_grad_(False)
    places = [
        (parent, name, child)
        for parent in model.modules()
        for name, child in parent.named_children()
        if type(child) is nn.Linear  # what derives from it is used in other ways than called
    ]
    if not places:
        raise UserError(
            "the model has no linear layer for an adapter", hint='set [deliverable] mode = "full"'
        )
    for parent, name, child in places:
        setattr(parent, name, Adapted(child, rank))


def checkpoint_blocks(model: nn.Module, kind: str) -> None:
    """Compute each repeated block again in backward. Raises UserError where there is none."""
    if kind == "selective":
        raise UserError(
            "a traced model takes no selective checkpointing; allowed: none, block",
            hint='set [plan] checkpointing = "block"',
        )
    lists = [m for m in model.modules() if isinstance(m, nn.ModuleList | nn.Sequential)]
    longest = max(lists, key=len, default=None)
    if longest is None or len(longest) < 2:
        raise UserError(
            "the model has no list of blocks to checkpoint; allowed: none",
            hint='set [plan] checkpointing = "none"',
        )
    for block in longest:
        block.forward = _checkpointed(block.forward)


def _checkpointed(forward: Callable[..., Any]) -> Callable[..., Any]:
    def run(*args: Any, **kwargs: Any) -> Any:
        """The block, kept by its inputs alone."""
        return checkpoint(forward, *args, use_reentrant=False, **kwargs)

    return run


@contextmanager
def _default_dtype(setup: Setup) -> Iterator[None]:
    """Parameters are born in the weights' precision: they cannot be cast without memory."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float32 if setup.numerics.weight_item == 4 else torch.bfloat16)
    try:
        yield
    finally:
        torch.set_default_dtype(before)
