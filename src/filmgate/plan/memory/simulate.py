"""One job's steady state on a tape: weights, states, two steps, and the allocator behind them."""

from __future__ import annotations

from dataclasses import dataclass

from filmgate.plan.memory.allocator import CachingAllocator
from filmgate.plan.memory.graph import Tensor, Weight
from filmgate.plan.memory.ledger import Kind, Storage
from filmgate.plan.memory.recorder import FLOAT32
from filmgate.plan.memory.setup import Setup
from filmgate.plan.memory.tape import Tape
from filmgate.plan.models.program import Program, Size

Weights = dict[tuple[str, int], Weight]


@dataclass(frozen=True, kw_only=True)
class Simulated:
    """What one run on a tape came to."""

    peak_bytes: int
    """Live bytes at the peak."""
    peak_by_kind: tuple[int, ...]
    """The same by ``Kind``."""
    phase: str
    """When."""
    static_bytes: int
    """Weights."""
    trained_parameters: int
    """Numbers that are trained."""
    by_size_bytes: int
    """Most bytes of each size of activations and temporaries at a time, added up; 0 unknown."""
    reserved_bytes: int | None
    """What the caching allocator takes for it; None where it was not asked for."""


def simulate(program: Program, size: Size, setup: Setup, *, allocator: bool) -> Simulated:
    """Run a job until its memory repeats.

    Without ``allocator`` the optimizer state is there from the start and one step is enough; with
    it the order is that of a real start: weights, a step, states, another step.
    """
    tape = Tape(setup.numerics)
    tape.weights = _all_weights(program, setup)
    ledger = tape.ledger
    held = _place(tape, setup)
    static = ledger.live[Kind.WEIGHTS]
    states: list[Storage] = []
    if not allocator:
        states = _states(tape, setup)
    for _ in range(2 if allocator and setup.trains else 1):
        for _ in range(setup.passes):
            _pass(tape, program, size, setup)
        if setup.trains:
            states = states or _states(tape, setup)
            _optimizer_step(tape, setup)
    reserved = None
    if allocator:
        caching = CachingAllocator()
        caching.replay(ledger.events)
        reserved = caching.reserved_bytes
    result = Simulated(
        peak_bytes=ledger.peak,
        peak_by_kind=tuple(ledger.peak_live),
        phase=ledger.peak_phase,
        static_bytes=static,
        trained_parameters=sum(w.numel for w in tape.weights.values() if w.trained),
        by_size_bytes=ledger.most_by_size_bytes,
        reserved_bytes=reserved,
    )
    del held, states
    return result


def _all_weights(program: Program, setup: Setup) -> Weights:
    """Every parameter of the model, found by running it once on next to nothing."""
    tape = Tape(setup.numerics)
    tape.forward_only = True
    program(tape, Size(clips=1, latent=(8, 8, 8), tokens=8, text_tokens=1))
    for weight in tape.weights.values():
        weight.cast = None
    return tape.weights


def _place(tape: Tape, setup: Setup) -> list[Storage]:
    """Put weights and communication buffers on the device."""
    ledger, weights = tape.ledger, list(tape.weights.values())
    ledger.phase = "load"
    held = [
        Storage(ledger, int(w.numel * w.item * setup.weight_share), Kind.WEIGHTS) for w in weights
    ]
    trained = sum(w.numel for w in weights if w.trained)
    item = setup.numerics.compute_item if setup.bucket_numbers < 2**62 else weights[0].item
    if setup.bucket_numbers:
        num_bytes = min(setup.bucket_numbers, trained) * item
        held.append(Storage(ledger, num_bytes, Kind.COMMUNICATION))
    if setup.units:
        largest = _largest_block(tape.weights)
        num_bytes = int(setup.units * largest * setup.numerics.compute_item)
        held.append(Storage(ledger, num_bytes, Kind.COMMUNICATION))
        if setup.trains and setup.numerics.trains_weights:
            held.append(Storage(ledger, largest * FLOAT32, Kind.COMMUNICATION))
    return held


def _largest_block(weights: Weights) -> int:
    sums: dict[str, int] = {}
    for (scope, _), weight in weights.items():
        sums[scope] = sums.get(scope, 0) + weight.numel
    return max(sums.values())


def _states(tape: Tape, setup: Setup) -> list[Storage]:
    """Optimizer state, half and half as two moments are."""
    return [
        Storage(tape.ledger, int(w.numel * setup.state_bytes / 2), Kind.OPTIMIZER)
        for w in tape.weights.values()
        if w.trained
        for _ in range(2)
    ]


def _pass(tape: Tape, program: Program, size: Size, setup: Setup) -> None:
    tape.ledger.phase = "forward" if setup.trains else "generate"
    tape.forward_only = not setup.trains
    prediction = program(tape, size)
    tape.end_autocast()
    if setup.trains:
        loss = _loss(tape, prediction)
        del prediction
        tape.backward(loss)


def _loss(tape: Tape, prediction: Tensor) -> Tensor:
    """Mean squared error in float32: difference and square, as ``(p - t) ** 2`` makes them."""
    wide = tape.cast(prediction, FLOAT32)
    difference = tape.copy(wide)
    del wide
    square = tape.activation(difference)
    del difference
    return tape.reduce(square, 1)


def _optimizer_step(tape: Tape, setup: Setup) -> None:
    tape.ledger.phase = "step"
    roots = [
        Storage(tape.ledger, int(w.numel * setup.step_bytes), Kind.TEMPORARIES)
        for w in tape.weights.values()
        if w.trained and setup.step_bytes
    ]
    del roots
    for weight in tape.weights.values():
        weight.gradient = None
