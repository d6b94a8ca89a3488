from __future__ import annotations

from dataclasses import replace

from filmgate.plan.memory.graph import Tensor
from filmgate.plan.memory.ledger import Kind
from filmgate.plan.memory.setup import setup_of
from filmgate.plan.memory.simulate import Simulated, simulate
from filmgate.plan.memory.tape import Tape
from filmgate.plan.models.program import Program, Size, fast_gelu
from filmgate.plan.request import PlanRequest

SIZE = Size(clips=1, latent=(1, 32, 32), tokens=1024, text_tokens=0)


def run(program: Program, **said: str) -> Simulated:
    wanted = {"model": "own:model", "mode": "full", "precision": "fp32"} | said
    request = PlanRequest(frames=1, height=32, width=32, **wanted)  # type: ignore[arg-type]
    setup = replace(setup_of(request), state_bytes=0.0, step_bytes=0.0)
    return simulate(program, SIZE, setup, allocator=False)


def attended(by_products: bool) -> Program:
    def program(t: Tape, size: Size) -> Tensor:
        x = t.linear(t.source(size.rows, 64), 64)
        attend = t.attention_by_products if by_products else t.attention
        return attend(x, x, x, heads=4, clips=size.clips)

    return program


def test_attention_written_out_keeps_its_scores() -> None:
    flash, products = (run(attended(by), checkpointing="none") for by in (False, True))
    scores = 4 * 1024 * 1024 * 4
    assert products.peak_bytes - flash.peak_bytes >= scores


def test_gelu_written_out_keeps_seven_tensors_where_one_kernel_keeps_one() -> None:
    def written_out(t: Tape, size: Size) -> Tensor:
        return fast_gelu(t, t.linear(t.source(size.rows, 64), 64))

    def in_one(t: Tape, size: Size) -> Tensor:
        return t.activation(t.linear(t.source(size.rows, 64), 64))

    kept = [
        run(program, checkpointing="none").peak_by_kind[Kind.ACTIVATIONS]
        for program in (written_out, in_one)
    ]
    assert kept[0] - kept[1] == 6 * 1024 * 64 * 4


def test_a_unit_is_not_computed_again() -> None:
    def body(t: Tape, x: Tensor) -> tuple[Tensor, ...]:
        for _ in range(8):
            x = t.activation(t.linear(x, 64))
        return (x,)

    def unit(t: Tape, size: Size) -> Tensor:
        return t.unit("one", body, t.linear(t.source(size.rows, 64), 64))[0]

    def block(t: Tape, size: Size) -> Tensor:
        return t.block("one", body, t.linear(t.source(size.rows, 64), 64))[0]

    assert (
        run(unit, checkpointing="block").peak_bytes == run(block, checkpointing="none").peak_bytes
    )
    assert run(unit, checkpointing="block").static_bytes == run(block).static_bytes


def test_a_weight_over_all_rows_has_a_gradient_of_its_own_size() -> None:
    def program(t: Tape, size: Size) -> Tensor:
        x = t.linear(t.source(size.rows, 64), 64)
        return t.root_norm(x)

    assert run(program, checkpointing="none").peak_by_kind[Kind.GRADIENTS] < 64 * 64 * 4 * 2


def test_checkpoints_around_what_is_not_trained_keep_nothing() -> None:
    def body(t: Tape, x: Tensor) -> tuple[Tensor, ...]:
        return (t.activation(t.convolve(x, 64, 9)),)

    def program(t: Tape, size: Size) -> Tensor:
        x = t.source(size.rows, 64)
        for layer in range(8):
            (x,) = t.block(f"block{layer}", body, x)
        return t.linear(t.reduce(x, size.clips), 8)

    plain, block = (
        run(program, mode="lora", lora_targets="all-linear", checkpointing=kind)
        for kind in ("none", "block")
    )
    assert plain.peak_bytes == block.peak_bytes
