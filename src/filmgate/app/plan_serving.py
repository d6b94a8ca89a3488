"""The start of ``filmgate plan --serve``: whether it can, and the address that is told."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib.util import find_spec

from filmgate.app.plan_ask import EstimateOf, ask_again
from filmgate.app.plan_whole import Asked
from filmgate.errors import UserError


def serve_plan(first: Asked, estimate_of: EstimateOf, host: str, port: int) -> None:
    """Serve until a signal. Raises UserError without the extra, and where nobody may listen."""
    if find_spec("fastapi") is None or find_spec("uvicorn") is None:
        raise UserError(
            "--serve needs FastAPI and uvicorn", hint="pip install 'filmgate[web]'"
        )  # fmt: skip
    from filmgate.app.plan_serve import is_loopback, listen, new_token, serve

    def ask(values: Mapping[str, str]) -> Asked:
        """The job at the values of the form."""
        return ask_again(first, values, estimate_of)

    token = None if is_loopback(host) else new_token()
    with listen(host, port) as listening:
        told = f"[{host}]" if ":" in host else host
        entry = f"http://{told}:{listening.getsockname()[1]}/"
        entry += "" if token is None else f"?token={token}"
        print(f"plan: {entry} (Ctrl-C ends it)", file=sys.stderr, flush=True)  # noqa: T201 - talk
        serve(ask, listening, token=token)
