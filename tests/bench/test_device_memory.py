from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from filmgate.bench.device_memory import measure_devices  # noqa: E402
from filmgate.errors import UserError  # noqa: E402


def quiet(done: int, total: int, note: str) -> None:
    assert 0 <= done <= total


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
def test_without_a_gpu_there_are_no_figures_and_a_reason() -> None:
    measures, unknown = measure_devices(None, 3, quiet)
    assert measures == []
    assert unknown["gpu-copy"].startswith("not present: torch ")
    with pytest.raises(UserError, match="--device cuda, but this torch"):
        measure_devices("cuda", 3, quiet)


@pytest.mark.gpu
def test_copies_on_to_and_from_a_gpu_are_measured() -> None:
    measures, unknown = measure_devices("cuda:0", 3, quiet)
    rates = {one.name: one.median for one in measures}
    assert unknown == {}
    assert list(rates) == [
        "gpu0-copy", "gpu0-from-host-pinned", "gpu0-from-host-pageable", "gpu0-to-host-pinned",
    ]  # fmt: skip
    assert all(one.repetitions == 3 for one in measures)
    # A GPU's own memory is quicker than any link to it, and pinned memory than pageable.
    assert rates["gpu0-copy"] > rates["gpu0-from-host-pinned"] > rates["gpu0-from-host-pageable"]


@pytest.mark.gpu
def test_a_gpu_that_is_not_there_is_refused() -> None:
    with pytest.raises(UserError, match="there is no cuda:99"):
        measure_devices("cuda:99", 3, quiet)
    with pytest.raises(UserError, match="is no device"):
        measure_devices("nonsense", 3, quiet)
