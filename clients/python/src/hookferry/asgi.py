"""A router as an ASGI application: for uvicorn, hypercorn, daphne, or mounted into Starlette and FastAPI."""

from __future__ import annotations

from typing import Any, Awaitable, Callable, Dict, Iterable, List, MutableMapping, Optional, Tuple, Union

from .response import ReceiverResponse
from .request_body import DEFAULT_MAX_BODY_BYTES, refuse_request, too_large
from .router import Router

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


class AsgiApp:
    """Responds to `POST` on any path; mount it where the webhook's URL leads.

    max_body_bytes: a longer body gets 413, and is not read to its end.
    """

    def __init__(self, router: Router, max_body_bytes: int = DEFAULT_MAX_BODY_BYTES) -> None:
        self._router = router
        self._max_body_bytes = max_body_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await _confirm_lifespan(receive, send)
        elif scope["type"] == "http":
            response = await self._respond(scope, receive)
            if response is not None:
                await _send_response(send, response)
        else:
            raise ValueError(f"Webhooks come over HTTP, not by {scope['type']}.")

    async def _respond(self, scope: Scope, receive: Receive) -> Optional[ReceiverResponse]:
        """None if the sender closed the connection before its request was complete."""
        headers = _headers_of(scope["headers"])
        refused = refuse_request(scope["method"], headers.get("content-length"), self._max_body_bytes)
        if refused is not None:
            return refused
        body = await self._read(receive)
        return await self._router.receive_async(body, headers) if isinstance(body, bytes) else body

    async def _read(self, receive: Receive) -> Union[bytes, ReceiverResponse, None]:
        chunks: List[bytes] = []
        length = 0
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return None
            chunk = message.get("body", b"")
            length += len(chunk)
            if length > self._max_body_bytes:
                return too_large()
            chunks.append(chunk)
            if not message.get("more_body", False):
                return b"".join(chunks)


def _headers_of(pairs: Iterable[Tuple[bytes, bytes]]) -> Dict[str, str]:
    """Headers that came twice are joined, as WSGI servers do. To choose one of them might choose the wrong one."""
    found: Dict[str, str] = {}
    for name, value in pairs:
        lower, text = name.decode("latin-1").lower(), value.decode("latin-1")
        found[lower] = f"{found[lower]}, {text}" if lower in found else text
    return found


async def _send_response(send: Send, response: ReceiverResponse) -> None:
    body = response.body.encode()
    headers = [(name.lower().encode(), value.encode()) for name, value in response.headers]
    if response.status != 204:
        headers += [(b"content-type", response.content_type.encode()), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": response.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def _confirm_lifespan(receive: Receive, send: Send) -> None:
    while True:
        event = (await receive())["type"]
        await send({"type": f"{event}.complete"})
        if event == "lifespan.shutdown":
            return
