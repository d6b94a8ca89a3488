"""A forward pass on tensors that are only sizes: what each operation makes and what it keeps.

The programs of ``filmgate.plan.models`` are run on it as a real model is run. Nothing in it comes
from a measurement: what is kept follows from the derivative of each operation. Source: the
formulas in derivatives.yaml and the autocast lists of PyTorch 2.13.

Letters: rows = clips x tokens, width = channels of a token, item = bytes of a number.
"""

from __future__ import annotations

from collections.abc import Sequence

from filmgate.plan.memory.graph import Node, Tensor, Weight
from filmgate.plan.memory.ledger import Kind, Storage
from filmgate.plan.memory.recorder import FLOAT32, Recorder


class Tape(Recorder):
    """The operations that programs are made of."""

    def cast(self, x: Tensor, item: int) -> Tensor:
        """The tensor in another precision; itself where it has it."""
        if x.item == item:
            return x
        return self._make(x.rows, x.width, item, [(x, x.num_bytes)])

    def linear(
        self, x: Tensor, width: int, *, bias: bool = True, attention: bool = False
    ) -> Tensor:
        """A linear layer; it keeps its input where its weight or adapter is trained."""
        item = self.numerics.compute_item
        x = self.cast(x, item)
        weight = self.weight(x.width * width)
        biases = self.weight(width) if bias else None
        copy = self._weight_copy(weight)
        self._count(2.0 * x.rows * x.width * width, x.node is not None, weight.trained)
        inputs: list[tuple[Node | Weight, int]] = []
        saved: list[Storage] = []
        if x.node is not None:
            inputs.append((x.node, x.num_bytes))
            if copy is not None:
                saved.append(copy)
        if weight.trained:
            inputs.append((weight, weight.numel * item))
            saved.append(x.storage)
            if biases is not None:
                inputs.append((biases, biases.numel * item))
        y = self._result(x.rows, width, item, inputs, saved, is_product=True)
        if self.numerics.adapter_rank and (attention or self.numerics.adapts_all):
            return self._adapter(x, y)
        return y

    def norm(self, x: Tensor, *, affine: bool = True, bias: bool = True, heads: int = 1) -> Tensor:
        """Layer or RMS norm as one kernel, over each head by itself; under autocast in float32."""
        if self.numerics.autocast:
            x = self.cast(x, FLOAT32)
        inputs = self._wanted(x)
        saved = [x.storage] if x.node is not None else []
        if affine:
            weight = self.weight(x.width // heads)
            if weight.trained:
                inputs.append((weight, weight.numel * x.item))
                saved = [x.storage]
            if bias and (shift := self.weight(x.width // heads)).trained:
                inputs.append((shift, shift.numel * x.item))
        statistics = self._take(2 * FLOAT32 * x.rows * heads) if saved else None
        if statistics is not None:
            saved.append(statistics)
        return self._result(x.rows, x.width, x.item, inputs, saved)

    def root_norm(self, x: Tensor, *, affine: bool = True, heads: int = 1) -> Tensor:
        """RMS norm written out as diffusers does: the square, a product, the weight.

        Source: diffusers 0.42.1, models/normalization.py, RMSNorm.
        """
        wide = self.cast(x, FLOAT32)
        square = self._result(x.rows, x.width, FLOAT32, self._wanted(wide), [wide.storage])
        scale = self._make(x.rows, heads, FLOAT32, [(square, square.num_bytes)])
        del square, wide
        inputs = self._wanted(x) + self._wanted(scale)
        saved = [x.storage, scale.storage] if inputs else []
        y = self._result(x.rows, x.width, FLOAT32, inputs, saved, scratch=x.num_bytes)
        if not affine:
            return y
        y = self.cast(y, max(2, self.numerics.weight_item))
        weight = self.weight(x.width // heads)
        inputs = self._wanted(y)
        saved = []
        if weight.trained:
            inputs.append((weight, y.num_bytes))
            saved.append(y.storage)
        return self._result(y.rows, y.width, y.item, inputs, saved)

    def parameter(self, width: int) -> Tensor:
        """A learned row that is added or multiplied."""
        weight = self.weight(width)
        row = Storage(self.ledger, 0, Kind.TEMPORARIES)
        node = None
        if weight.trained and not self.forward_only:
            node = self._node([(weight, weight.numel * weight.item)])
        return Tensor(row, 1, width, weight.item, node)

    def convolve(
        self, x: Tensor, width: int, kernel: int, *, rows: int | None = None, bias: bool = True
    ) -> Tensor:
        """A convolution of ``kernel`` taps to ``rows`` places; keeps its input like ``linear``."""
        item = self.numerics.compute_item
        rows = x.rows if rows is None else rows
        x = self.cast(x, item)
        weight = self.weight(x.width * width * kernel)
        biases = self.weight(width) if bias else None
        copy = self._weight_copy(weight)
        self._count(2.0 * rows * weight.numel, x.node is not None, weight.trained)
        inputs = self._wanted(x)
        saved = [copy] if inputs and copy is not None else []
        if weight.trained:
            inputs.append((weight, weight.numel * item))
            saved.append(x.storage)
            if biases is not None:
                inputs.append((biases, biases.numel * item))
        return self._result(rows, width, item, inputs, saved, is_product=True)

    def batch_norm(self, x: Tensor) -> Tensor:
        """Batch norm in the precision of its input; keeps the input."""
        weight, shift = self.weight(x.width), self.weight(x.width)
        inputs = self._wanted(x)
        for parameter in (weight, shift):
            if parameter.trained:
                inputs.append((parameter, parameter.numel * FLOAT32))
        return self._result(x.rows, x.width, x.item, inputs, [x.storage] if inputs else [])

    def relu(self, x: Tensor) -> Tensor:
        """ReLU in place: the result lies where the input was, and is kept."""
        node = self._node(self._wanted(x), [x.storage]) if x.node is not None else None
        return Tensor(x.storage, x.rows, x.width, x.item, node)

    def reduce(self, x: Tensor, rows: int) -> Tensor:
        """A mean or a maximum over rows."""
        return self._make(rows, x.width, x.item, [(x, x.num_bytes)])

    def activation(self, x: Tensor) -> Tensor:
        """GELU or SiLU: keeps its input."""
        return self._result(x.rows, x.width, x.item, self._wanted(x), [x.storage])

    def multiply(self, x: Tensor, y: Tensor) -> Tensor:
        """The product; each side keeps the other where it wants a gradient; y may be one row."""
        inputs: list[tuple[Node | Weight, int]] = []
        saved: list[Storage] = []
        scratch = 0
        if x.node is not None:
            inputs.append((x.node, x.num_bytes))
            saved.append(y.storage)
        if y.node is not None:
            inputs.append((y.node, y.num_bytes))
            saved.append(x.storage)
            scratch = x.num_bytes if y.rows < x.rows else 0
        return self._result(x.rows, x.width, max(x.item, y.item), inputs, saved, scratch=scratch)

    def add(self, x: Tensor, y: Tensor) -> Tensor:
        """The sum; nothing is kept, and the gradient goes to both as it is."""
        item = max(x.item, y.item)
        if x.item != y.item or x.rows != y.rows:
            wide, narrow = (x, y) if x.rows >= y.rows else (y, x)
            return self._make(
                wide.rows, wide.width, item, [(wide, wide.num_bytes), (narrow, narrow.num_bytes)]
            )
        inputs = self._wanted(x) + self._wanted(y)
        return self._result(x.rows, x.width, item, inputs, (), alias=True)

    def join(self, parts: Sequence[Tensor], *, channels: bool = False) -> Tensor:
        """A copy of the parts one behind the other, in tokens or in channels."""
        item = max(part.item for part in parts)
        rows = parts[0].rows if channels else sum(part.rows for part in parts)
        width = sum(part.width for part in parts) if channels else parts[0].width
        return self._make(rows, width, item, [(part, part.num_bytes) for part in parts])

    def part(self, x: Tensor, *, rows: int | None = None, width: int | None = None) -> Tensor:
        """A view of some tokens or channels; its backward makes a gradient of the whole."""
        node = None
        if x.node is not None:
            node = self._node([(x.node, x.num_bytes)])
        return Tensor(x.storage, x.rows if rows is None else rows,
                      x.width if width is None else width, x.item, node)  # fmt: skip

    def overwrite(self, whole: Tensor, part: Tensor) -> Tensor:
        """The whole with a part of it written in place; its backward copies the gradient.

        Source: CopySlices, torch/csrc/autograd/functions/tensor.cpp.
        """
        inputs = [*self._wanted(whole), *self._wanted(part)]
        node = self._node(inputs) if inputs else None
        return Tensor(whole.storage, whole.rows, whole.width, whole.item, node)

    def blank(self, x: Tensor) -> Tensor:
        """Memory like the tensor's, to be written to; nothing flows back from it."""
        return Tensor(self._take(x.num_bytes), x.rows, x.width, x.item, None)

    def copy(self, x: Tensor) -> Tensor:
        """The same numbers in memory of their own."""
        return self._make(x.rows, x.width, x.item, [(x, x.num_bytes)])

    def attention(self, q: Tensor, k: Tensor, v: Tensor, *, heads: int, clips: int) -> Tensor:
        """Flash attention: keeps q, k, v, the result and a log-sum per row and head.

        Its backward takes a float32 sum of dq and a row sum. Source: FlashAttention-2, mha_bwd.
        """
        item = self.numerics.compute_item
        q, k, v = (self.cast(t, item) for t in (q, k, v))
        self._count_attention(4.0 * q.rows * k.rows * q.width / clips, q.node is not None)
        inputs = self._wanted(q) + self._wanted(k) + self._wanted(v)
        saved = [q.storage, k.storage, v.storage]
        if inputs:
            saved.append(self._take(FLOAT32 * q.rows * heads))
        scratch = FLOAT32 * q.rows * (q.width + heads)
        return self._result(
            q.rows, q.width, item, inputs, saved, scratch=scratch, keeps_result=True,
            is_product=True,
        )  # fmt: skip

    def attention_by_products(
        self, q: Tensor, k: Tensor, v: Tensor, *, heads: int, clips: int
    ) -> Tensor:
        """Attention written out: keeps copies of q, k and v, and every score after its softmax."""
        item = self.numerics.compute_item
        q, k, v = (self.copy(self.cast(t, item)) for t in (q, k, v))
        self._count(4.0 * q.rows * k.rows * q.width / clips, q.node is not None, q.node is not None)
        inputs = self._wanted(q) + self._wanted(k)
        scores = self._result(q.rows * heads, k.rows // clips, item, inputs, [q.storage, k.storage])
        scores = self.copy(scores)  # times the scale
        if self.numerics.autocast:
            scores = self.cast(scores, FLOAT32)
        scores = self.tanh(scores)  # softmax keeps what tanh keeps
        scores = self.cast(scores, item)
        inputs = self._wanted(scores) + self._wanted(v)
        saved = [scores.storage, v.storage]
        return self.copy(self._result(q.rows, q.width, item, inputs, saved, is_product=True))

    def tanh(self, x: Tensor) -> Tensor:
        """Keeps its result."""
        return self._result(x.rows, x.width, x.item, self._wanted(x), (), keeps_result=True)

    def _weight_copy(self, weight: Weight) -> Storage | None:
        """The weight in computing precision where it has another; autocast keeps trained ones."""
        numerics = self.numerics
        if weight.item == numerics.compute_item or not numerics.casts_weights:
            return None
        if weight.cast is not None:
            return weight.cast
        copy = self._take(weight.numel * numerics.compute_item)
        if weight.trained:
            weight.cast = copy
        return copy

    def _adapter(self, x: Tensor, y: Tensor) -> Tensor:
        """``y + B(A(x)) * scale`` with A and B trained. Source: PEFT, lora.Linear.forward."""
        rank, item = self.numerics.adapter_rank, self.numerics.compute_item
        low, high = (
            self.weight(x.width * rank, adapter=True),
            self.weight(rank * y.width, adapter=True),
        )
        inner = self._result(
            x.rows, rank, item, [*self._wanted(x), (low, low.numel * item)], [x.storage]
        )
        outer = self._result(
            x.rows, y.width, item, [*self._wanted(inner), (high, high.numel * item)],
            [inner.storage],
        )  # fmt: skip
        self._count(2.0 * x.rows * rank * (x.width + y.width), True, True)
        scaled = self._make(y.rows, y.width, item, [(outer, outer.num_bytes)])
        del outer
        return self.add(y, scaled)
