"""What is turned away before a route sees it: bodies over the limit, and beyond loopback whoever has no token."""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from climbable.serve.wire import AsciiJSON

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]

OPEN = ("/health",)
"""What is answered without a token, so that whoever looks after the machine can see that it lives."""


class Door:
    """ASGI middleware. Reads each body whole before the app is called: a limit that only trusts a header is none."""

    def __init__(self, app: App, *, most_bytes: int, token: str | None) -> None:
        self._app = app
        self._most = most_bytes
        self._token = token.encode() if token else None

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        if self._token is not None and scope["path"] not in OPEN and not self._knows(headers.get(b"authorization")):
            answer = AsciiJSON({"detail": "give the server's token: 'Authorization: Bearer TOKEN'"}, status_code=401)
            answer.headers["WWW-Authenticate"] = "Bearer"
            await answer(scope, receive, send)
            return
        body = await self._body(headers.get(b"content-length"), receive)
        if body is None:
            told = f"the body is over {self._most} bytes; the server's limit is set by --most-body"
            await AsciiJSON({"detail": told}, status_code=413, headers={"Connection": "close"})(scope, receive, send)
            return
        await self._app(scope, _replay(body, receive), send)

    def _knows(self, header: bytes | None) -> bool:
        scheme, _, given = (header or b"").partition(b" ")
        assert self._token is not None
        return scheme.lower() == b"bearer" and hmac.compare_digest(given.strip(), self._token)

    async def _body(self, declared: bytes | None, receive: Receive) -> bytes | None:
        """The whole body, or ``None`` as soon as it is known to be too large."""
        if declared is not None and declared.isdigit() and (len(declared) > 18 or int(declared) > self._most):
            return None
        parts, size, more = [], 0, True
        while more:
            message = await receive()
            part = message.get("body", b"")
            size += len(part)
            if size > self._most:
                return None
            parts.append(part)
            more = message["type"] == "http.request" and message.get("more_body", False)
        return b"".join(parts)


def _replay(body: bytes, receive: Receive) -> Receive:
    given = False

    async def again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again
