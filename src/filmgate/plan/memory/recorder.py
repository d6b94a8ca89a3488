"""A training step on tensors that are only sizes: scopes, checkpoints, the walk back.

Letters: rows = clips x tokens, width = channels of a token, item = bytes of a number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from filmgate.plan.memory.graph import Backward, Node, Tensor, Weight
from filmgate.plan.memory.ledger import Kind, Ledger, Storage

FLOAT32 = 4


@dataclass(frozen=True, kw_only=True)
class Numerics:
    """How a model is computed and what of it is trained."""

    weight_item: int
    """Bytes of a weight."""
    compute_item: int
    """Bytes of a number that matrix products work on."""
    autocast: bool
    """Norms and losses in float32, weights cast where they differ."""
    trains_weights: bool
    """Every weight is trained."""
    adapter_rank: int
    """Rank of adapters; 0 without."""
    adapts_all: bool
    """Every linear layer of a block gets an adapter, not only those of attention."""
    casts_weights: bool = True
    """Weights of another precision are copied before use; FSDP gathers them in the right one."""
    checkpointing: str
    """``none``, ``block`` or ``selective``."""
    keep_gradients: bool = True
    """False where each gradient leaves the device as soon as it is made."""
    gradient_share: float = 1.0
    """Share of each gradient that stays on this device."""


_UNRECORDED = Node((), hold=True)
"""Stands for a gradient that is wanted while nothing is recorded."""


class Recorder:
    """What a program leaves behind: live bytes, a graph, its weights, its operations."""

    def __init__(self, numerics: Numerics) -> None:
        self.numerics = numerics
        self.ledger = Ledger()
        self.weights: dict[tuple[str, int], Weight] = {}
        self.forward_flops = 0.0
        self.backward_flops = 0.0
        self.forward_only = False
        """Nothing wants a gradient, as under ``torch.no_grad``."""
        self._nodes: list[Node] = []
        self._scope = ""
        self._place = 0
        self._recording = True
        self._kept: list[Storage] | None = None
        self._replayed: list[Storage] | None = None
        self._backward = Backward(
            self.ledger,
            keep_gradients=numerics.keep_gradients,
            gradient_share=numerics.gradient_share,
        )

    def source(self, rows: int, width: int, item: int | None = None) -> Tensor:
        """A tensor that comes from outside and wants no gradient."""
        item = self.numerics.compute_item if item is None else item
        return Tensor(self._take(rows * width * item), rows, width, item, None)

    def weight(self, numel: int, *, adapter: bool = False) -> Weight:
        """The next parameter of the present scope; the same one when the scope is run again."""
        key = (self._scope, self._place)
        self._place += 1
        found = self.weights.get(key)
        if found is None:
            trained = adapter or self.numerics.trains_weights
            item = self.numerics.weight_item
            if adapter:
                item = max(item, self.numerics.compute_item)
            found = self.weights[key] = Weight(numel, item, trained=trained)
        return found

    def block(
        self, scope: str, program: Callable[..., tuple[Tensor, ...]], *inputs: Tensor
    ) -> tuple[Tensor, ...]:
        """Run a block's program, checkpointed where the job says so."""
        if self.numerics.checkpointing == "none" or self.forward_only or not self._trains():
            return self._in_scope(scope, program, inputs)
        kept: list[Storage] | None = [] if self.numerics.checkpointing == "selective" else None
        self._recording, self._kept = False, kept
        outputs = self._in_scope(scope, program, inputs)
        self._recording, self._kept = True, None
        if all(output.node is None for output in outputs):
            return outputs  # nothing in it is trained, so nothing of it is kept
        return self._checkpoint(scope, program, inputs, outputs, kept)

    def unit(
        self, scope: str, program: Callable[..., tuple[Tensor, ...]], *inputs: Tensor
    ) -> tuple[Tensor, ...]:
        """Run a block's program that no checkpoint goes around."""
        return self._in_scope(scope, program, inputs)

    def backward(self, loss: Tensor) -> None:
        """Gradients of everything trained; what was kept is given back on the way."""
        if loss.node is None:
            return
        self.ledger.phase = "backward"
        loss.node.gradient = self._take(loss.num_bytes)
        self._backward.walk(self._nodes)

    def end_autocast(self) -> None:
        """Forget the casts that autocast kept while its context was open."""
        for weight in self.weights.values():
            weight.cast = None

    def _trains(self) -> bool:
        return self.numerics.trains_weights or self.numerics.adapter_rank > 0

    def _take(self, num_bytes: int) -> Storage:
        return Storage(self.ledger, num_bytes, Kind.TEMPORARIES)

    def _wanted(self, x: Tensor) -> list[tuple[Node | Weight, int]]:
        return [] if x.node is None else [(x.node, x.num_bytes)]

    def _make(
        self, rows: int, width: int, item: int, sources: Sequence[tuple[Tensor, int]]
    ) -> Tensor:
        inputs = [(x.node, size) for x, size in sources if x.node is not None]
        return self._result(rows, width, item, inputs, ())

    def _result(
        self,
        rows: int,
        width: int,
        item: int,
        inputs: Sequence[tuple[Node | Weight, int]],
        saved: Sequence[Storage],
        *,
        scratch: int = 0,
        alias: bool = False,
        keeps_result: bool = False,
        is_product: bool = False,
    ) -> Tensor:
        storage = self._product(rows * width * item) if is_product else None
        storage = self._take(rows * width * item) if storage is None else storage
        node = None
        if self.forward_only:
            inputs = ()
        if inputs and self._recording:
            kept = [*saved, storage] if keeps_result else saved
            node = self._node(inputs, kept, scratch=scratch, alias=alias)
        elif inputs:
            node = _UNRECORDED
        return Tensor(storage, rows, width, item, node)

    def _node(
        self,
        inputs: Sequence[tuple[Node | Weight, int]],
        saved: Sequence[Storage] = (),
        *,
        scratch: int = 0,
        alias: bool = False,
    ) -> Node:
        if not self._recording or self.forward_only:
            return _UNRECORDED
        for storage in saved:
            if storage.kind == Kind.TEMPORARIES:
                storage.become(Kind.ACTIVATIONS)
        node = Node(inputs, saved, scratch=scratch, alias=alias)
        self._nodes.append(node)
        return node

    def _product(self, num_bytes: int) -> Storage | None:
        """The result of a product that selective checkpointing kept, or None."""
        if self._kept is not None:
            storage = self._take(num_bytes)
            storage.become(Kind.ACTIVATIONS)
            self._kept.append(storage)
            return storage
        return self._replayed.pop(0) if self._replayed else None

    def _count(self, flops: float, wants_input: bool, wants_weight: bool) -> None:
        self.forward_flops += flops
        self.backward_flops += flops * (wants_input + wants_weight)

    def _count_attention(self, flops: float, wants: bool) -> None:
        self.forward_flops += flops
        self.backward_flops += 2.5 * flops * wants

    def _in_scope(
        self, scope: str, program: Callable[..., tuple[Tensor, ...]], inputs: Sequence[Tensor]
    ) -> tuple[Tensor, ...]:
        outer = (self._scope, self._place)
        self._scope, self._place = scope, 0
        outputs = program(self, *inputs)
        self._scope, self._place = outer
        return outputs

    def _checkpoint(
        self,
        scope: str,
        program: Callable[..., tuple[Tensor, ...]],
        inputs: Sequence[Tensor],
        outputs: Sequence[Tensor],
        kept: list[Storage] | None,
    ) -> tuple[Tensor, ...]:
        node = Node((), [t.storage for t in inputs])
        for storage in node.saved:
            storage.become(Kind.ACTIVATIONS)
        self._nodes.append(node)
        ends = [Node((), hold=True) for _ in outputs]
        held = [Tensor(t.storage, t.rows, t.width, t.item, t.node) for t in inputs]

        def replay() -> None:
            """Compute the block again and walk back through it."""
            self._replay(scope, program, held, ends, kept)

        node.replay = replay
        return tuple(
            Tensor(t.storage, t.rows, t.width, t.item, end)
            for t, end in zip(outputs, ends, strict=True)
        )

    def _replay(
        self,
        scope: str,
        program: Callable[..., tuple[Tensor, ...]],
        held: list[Tensor],
        ends: Sequence[Node],
        kept: list[Storage] | None,
    ) -> None:
        starts = [None if t.node is None else Node((), hold=True) for t in held]
        inner = [
            Tensor(t.storage, t.rows, t.width, t.item, start)
            for t, start in zip(held, starts, strict=True)
        ]
        outer, self._nodes, self._replayed = self._nodes, [], kept
        outputs = self._in_scope(scope, program, inner)
        self._replayed = None
        self.end_autocast()
        for output, end in zip(outputs, ends, strict=True):
            if output.node is not None and end.gradient is not None:
                output.node.gradient, end.gradient = end.gradient, None
        del outputs, inner, output
        self._backward.walk(self._nodes)
        self._nodes = outer
        for tensor, start in zip(held, starts, strict=True):
            if start is not None and tensor.node is not None and start.gradient is not None:
                self._backward.give(tensor.node, start.gradient)
                start.gradient = None
        held.clear()
