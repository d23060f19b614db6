"""A router as a WSGI application: for gunicorn, uWSGI, waitress, mod_wsgi."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Dict, Iterable, List, Optional, Union

from .response import ReceiverResponse
from .request_body import DEFAULT_MAX_BODY_BYTES, broken_off, refuse_request, too_large
from .router import Router

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

_READ_BYTES = 65_536


class WsgiApp:
    """Responds to `POST` on any path; mount it where the webhook's URL leads.

    max_body_bytes: a longer body gets 413, and is not read.
    """

    def __init__(self, router: Router, max_body_bytes: int = DEFAULT_MAX_BODY_BYTES) -> None:
        self._router = router
        self._max_body_bytes = max_body_bytes

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        response = self._respond(environ)
        body = response.body.encode()
        headers = [*response.headers]
        if response.status != 204:
            headers += [("Content-Type", response.content_type), ("Content-Length", str(len(body)))]
        start_response(f"{response.status} {_phrase_of(response.status)}", headers)
        return [body]

    def _respond(self, environ: WSGIEnvironment) -> ReceiverResponse:
        refused = refuse_request(
            environ["REQUEST_METHOD"], environ.get("CONTENT_LENGTH"), self._max_body_bytes
        )
        if refused is not None:
            return refused
        body = self._read(environ)
        return body if isinstance(body, ReceiverResponse) else self._router.receive(body, _headers_of(environ))

    def _read(self, environ: WSGIEnvironment) -> Union[bytes, ReceiverResponse]:
        length = _length_of(environ)
        if length is None and not environ.get("wsgi.input_terminated"):
            # This server does not mark the end of the body: reading could wait for ever.
            return ReceiverResponse(411, "length_required")
        wanted = self._max_body_bytes + 1 if length is None else length
        body = _read_up_to(environ["wsgi.input"], wanted)
        if length is not None and len(body) < length:
            return broken_off()
        return too_large() if len(body) > self._max_body_bytes else body


def _length_of(environ: WSGIEnvironment) -> Optional[int]:
    text = environ.get("CONTENT_LENGTH")
    return int(text) if text else None


def _read_up_to(stream: Any, count: int) -> bytes:
    chunks: List[bytes] = []
    while count > 0:
        chunk = stream.read(min(count, _READ_BYTES))
        if not chunk:
            break
        chunks.append(chunk)
        count -= len(chunk)
    return b"".join(chunks)


def _headers_of(environ: WSGIEnvironment) -> Dict[str, str]:
    return {
        name[len("HTTP_") :].replace("_", "-"): value
        for name, value in environ.items()
        if name.startswith("HTTP_")
    }


def _phrase_of(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Unknown"
