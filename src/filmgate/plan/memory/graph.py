"""Tensors that are only sizes, and the graph that autograd would make of them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from filmgate.plan.memory.ledger import ROUND_BYTES, Kind, Ledger, Storage

_OWN_REFERENCES = 2
"""What ``sys.getrefcount`` counts for a storage that one field holds."""


class Weight:
    """One parameter tensor and its gradient."""

    __slots__ = ("cast", "gradient", "item", "numel", "trained")

    def __init__(self, numel: int, item: int, *, trained: bool) -> None:
        self.numel = numel
        self.item = item
        self.trained = trained
        self.gradient: Storage | None = None
        self.cast: Storage | None = None
        """Its copy in the computing precision, while autocast keeps it."""


class Node:
    """One operation as backward sees it: what it keeps, and where its gradients go."""

    __slots__ = ("alias", "gradient", "hold", "inputs", "replay", "saved", "scratch")

    def __init__(
        self,
        inputs: Sequence[tuple[Node | Weight, int]],
        saved: Sequence[Storage] = (),
        *,
        scratch: int = 0,
        alias: bool = False,
        hold: bool = False,
    ) -> None:
        self.inputs = inputs
        self.saved = saved
        self.scratch = scratch
        """Bytes that its backward takes for itself."""
        self.alias = alias
        """Hands its gradient on as it is."""
        self.hold = hold
        """Keeps its gradient for another node."""
        self.gradient: Storage | None = None
        self.replay: Callable[[], None] | None = None
        """Of a checkpoint: computes the block again and walks back through it."""


class Tensor:
    """``rows`` of ``width`` numbers of ``item`` bytes; views share storage."""

    __slots__ = ("item", "node", "rows", "storage", "width")

    def __init__(
        self, storage: Storage, rows: int, width: int, item: int, node: Node | None
    ) -> None:
        self.storage = storage
        self.rows = rows
        self.width = width
        self.item = item
        self.node = node
        """None where no gradient is wanted."""

    @property
    def num_bytes(self) -> int:
        """Without the rounding of the allocator."""
        return self.rows * self.width * self.item


class Backward:
    """Walks a graph back, giving each gradient to what it belongs to."""

    def __init__(self, ledger: Ledger, *, keep_gradients: bool, gradient_share: float) -> None:
        self._ledger = ledger
        self._keep_gradients = keep_gradients
        self._gradient_share = gradient_share
        """Share of each weight's gradient that stays on this device."""

    def walk(self, nodes: list[Node]) -> None:
        """Empty the list from its end: autograd runs the youngest node first."""
        while nodes:
            node = nodes.pop()
            if not node.hold:
                self._step(node)

    def _step(self, node: Node) -> None:
        if node.replay is not None:
            node.replay()
            node.replay = None
            node.saved = ()
            return
        gradient, node.gradient = node.gradient, None
        if gradient is not None:
            scratch = (
                Storage(self._ledger, node.scratch, Kind.TEMPORARIES) if node.scratch else None
            )
            for target, num_bytes in node.inputs:
                if node.alias:
                    self.give(target, gradient)
                else:
                    self.give(target, Storage(self._ledger, num_bytes, Kind.TEMPORARIES))
            del scratch
        node.saved = ()

    def give(self, target: Node | Weight, gradient: Storage) -> None:
        """Add a gradient to a target's, in place where autograd does."""
        if isinstance(target, Weight):
            self._give_weight(target, gradient)
        elif target.gradient is None:
            target.gradient = gradient
        elif target.gradient is not gradient:
            shared = sys.getrefcount(target.gradient) > _OWN_REFERENCES
            if shared:
                target.gradient = Storage(self._ledger, target.gradient.size, Kind.TEMPORARIES)

    def _give_weight(self, weight: Weight, gradient: Storage) -> None:
        num_bytes = weight.numel * weight.item
        if gradient.size != -(-num_bytes // ROUND_BYTES) * ROUND_BYTES:
            # Computed in 16 bits for a weight of 32, or over all rows and then added up.
            gradient = Storage(self._ledger, num_bytes, Kind.TEMPORARIES)
        if not self._keep_gradients or weight.gradient is not None:
            return
        if self._gradient_share < 1:
            gradient = Storage(self._ledger, int(num_bytes * self._gradient_share), Kind.GRADIENTS)
        else:
            gradient.become(Kind.GRADIENTS)
        weight.gradient = gradient
