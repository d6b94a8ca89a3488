"""``filmgate plan --serve``: the page with its sliders, on this machine alone unless told.

The page needs nothing from outside, and nothing outside is asked. Off loopback every request needs
the token; on loopback the name by which it was asked has to be one of this machine's own, so that
no page of another site can read it (DNS rebinding).
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import secrets
import socket
from collections.abc import Awaitable, Callable, Mapping

import msgspec
import uvicorn
from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from filmgate.app.plan_form import Form, form_of
from filmgate.app.plan_page import error_page, plan_answer, plan_page
from filmgate.app.plan_whole import Asked, WholePlan, whole_plan
from filmgate.errors import UserError

ANSWER_SECONDS = 30.0
"""After which a page is given up; the formula path takes less than one."""
AT_ONCE = 2
"""Answers that are computed at a time; the others wait their turn within the deadline."""
MAX_QUERY = 2_000
COOKIE = "filmgate_plan"
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; "
    "script-src 'unsafe-inline'; connect-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
AskWith = Callable[[Mapping[str, str]], Asked]
"""Values of the form -> what is to be planned. Raises UserError."""


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach that address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def new_token() -> str:
    """A word that nobody guesses."""
    return secrets.token_urlsafe(24)


def plan_app(ask: AskWith, *, token: str | None) -> FastAPI:
    """The page, its answers alone, and both as JSON; ``token`` None: loopback names only."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    turns = asyncio.Semaphore(AT_ONCE)

    @app.middleware("http")
    async def guard(
        request: Request, proceed: Callable[[Request], Awaitable[Response]]
    ) -> Response:
        """Refuse, or answer; the headers go with both."""
        refused = _refused(request, token)
        reply = refused if refused is not None else await proceed(request)
        reply.headers.update(_HEADERS)
        return reply

    @app.get("/")
    async def page(request: Request) -> Response:
        """The whole page."""
        return await _answer(request, ask, turns, whole=True)

    @app.get("/answer")
    async def answer(request: Request) -> Response:
        """What of the page changes."""
        return await _answer(request, ask, turns, whole=False)

    @app.get("/plan.json")
    async def record(request: Request) -> Response:
        """The plan as JSON."""
        return await _record(request, ask, turns)

    return app


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens there; port 0 takes a free one.

    Raises UserError where nobody may listen.
    """
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family)
    except (OSError, OverflowError) as error:
        raise UserError(
            f"cannot listen on {host} port {port}: {error}", hint="choose another with --port"
        ) from None


def serve(ask: AskWith, listening: socket.socket, *, token: str | None) -> None:
    """Serve until a signal. Raises UserError for an address off loopback without a token."""
    host = listening.getsockname()[0]
    if not is_loopback(host) and token is None:
        raise UserError(f"{host} is not loopback, and there is no token", hint="give a token")
    config = uvicorn.Config(
        plan_app(ask, token=token), log_level="warning", access_log=False, lifespan="off",
        timeout_keep_alive=5, timeout_graceful_shutdown=3, limit_concurrency=64,
    )  # fmt: skip
    uvicorn.Server(config).run(sockets=[listening])


def _refused(request: Request, token: str | None) -> Response | None:
    """The refusal of a request that may not be answered; None where it may."""
    if len(request.url.query) > MAX_QUERY:
        return Response("the query is too long", status_code=414)
    if token is None:
        if is_loopback(request.url.hostname or ""):
            return None
        return Response("this page is asked for as 127.0.0.1 or localhost", status_code=421)
    given = request.query_params.get("token")
    if given is not None and hmac.compare_digest(given.encode(), token.encode()):
        reply = RedirectResponse("/", status_code=303)
        reply.set_cookie(COOKIE, token, httponly=True, samesite="strict")
        return reply
    told = request.cookies.get(COOKIE) or _bearer(request)
    if hmac.compare_digest(told.encode(), token.encode()):
        return None
    return Response("no token, or another one: use the address that was printed", status_code=403)


def _bearer(request: Request) -> str:
    kind, _, value = request.headers.get("Authorization", "").partition(" ")
    return value if kind.lower() == "bearer" else ""


async def _answer(
    request: Request, ask: AskWith, turns: asyncio.Semaphore, *, whole: bool
) -> Response:
    values = dict(request.query_params)
    try:
        asked, plan = await _planned(values, ask, turns)
    except UserError as error:
        said = error_page(error.message, error.hint, Form(fields=[], hidden={}))
        return HTMLResponse(_around(said) if whole else said, status_code=422 if whole else 200)
    except TimeoutError:
        return HTMLResponse("<p>No answer within the deadline.</p>", status_code=503)
    if not whole:
        return HTMLResponse(plan_answer(plan))
    question = asked.question
    form = form_of(question.request, question.request, question.facts, question.cards,
                   question.card)  # fmt: skip
    return HTMLResponse(plan_page(plan, form))


async def _record(request: Request, ask: AskWith, turns: asyncio.Semaphore) -> Response:
    try:
        _, plan = await _planned(dict(request.query_params), ask, turns)
    except UserError as error:
        fault = {"error": error.message, "hint": error.hint}
        return Response(msgspec.json.encode(fault), status_code=422, media_type="application/json")
    except TimeoutError:
        return Response('{"error": "deadline"}', status_code=503, media_type="application/json")
    return Response(msgspec.json.encode(plan), media_type="application/json")


async def _planned(
    values: Mapping[str, str], ask: AskWith, turns: asyncio.Semaphore
) -> tuple[Asked, WholePlan]:
    def work() -> tuple[Asked, WholePlan]:
        """In a thread, so that other requests are heard."""
        asked = ask(values)
        return asked, whole_plan(asked)

    async with asyncio.timeout(ANSWER_SECONDS):
        async with turns:
            return await asyncio.to_thread(work)


def _around(said: str) -> str:
    back = '<p><a href="/">Back to the job as it is</a></p>'
    return (
        f"<!doctype html><html lang=en><meta charset=utf-8><title>Not possible</title>{said}{back}"
    )
