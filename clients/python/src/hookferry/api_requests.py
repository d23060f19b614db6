"""Requests to the API: builds and sends them, retries them, and reads their responses."""

from __future__ import annotations

import json as json_format
import re
import time
import uuid
from typing import Any, Callable, Dict, Iterator, Mapping, Optional
from urllib.parse import quote, urlencode

from .api_response import read_response, read_error
from .base_url import BaseUrl
from .connection_failed import ConnectionFailed
from .http_transport import HttpRequest, HttpTransport
from .idempotency import is_same_when_repeated, takes_idempotency_key
from .json_object import Query
from .retry import with_retries


class ApiRequests:
    """Sends requests for all parts of a client. `sleep` takes seconds."""

    def __init__(
        self,
        base_url: BaseUrl,
        headers: Mapping[str, str],
        timeout_seconds: float,
        retries: int,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._transport = HttpTransport(base_url, timeout_seconds)
        self._headers = headers
        self.retries = retries
        self.sleep = sleep

    def send(
        self,
        method: str,
        path: str,
        json: Any = None,
        query: Optional[Query] = None,
        idempotency_key: Optional[str] = None,
        headers: Optional[Mapping[str, str]] = None,
    ) -> Any:
        """The JSON of the response; None if it has no body. Raises ApiError, ConnectionFailed."""
        method = method.upper()
        request = self._build(method, path, json, query, idempotency_key, headers)

        def attempt() -> Any:
            with self._transport.send(request) as response:
                return read_response(request, response)

        is_repeatable = "Idempotency-Key" in request.headers or is_same_when_repeated(method, path)
        return with_retries(attempt, self.retries, is_repeatable, self.sleep)

    def read_lines(self, path: str, query: Query) -> Iterator[bytes]:
        """The lines of one response as they arrive, without line feeds. A line that was cut off is left out."""
        request = self._build("GET", path, None, query, None, None)
        rest = b""
        with self._transport.send(request) as response:
            if response.status != 200:
                raise read_error(request, response)
            for chunk in response.chunks():
                *lines, rest = (rest + chunk).split(b"\n")
                yield from lines
        if rest != b"":
            raise ConnectionFailed(request.name, "its last line is cut off")

    def _build(
        self,
        method: str,
        path: str,
        json: Any,
        query: Optional[Query],
        idempotency_key: Optional[str],
        more_headers: Optional[Mapping[str, str]],
    ) -> HttpRequest:
        _require_path(path)
        headers: Dict[str, str] = {**self._headers, "Accept": "application/json"}
        if idempotency_key is not None:
            headers["Idempotency-Key"] = _require_idempotency_key(idempotency_key)
        elif takes_idempotency_key(method, path):
            headers["Idempotency-Key"] = str(uuid.uuid4())
        if json is None:
            return HttpRequest(method, path + _query_text(query), _with(headers, more_headers))
        headers["Content-Type"] = "application/json"
        body = json_format.dumps(json, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return HttpRequest(method, path + _query_text(query), _with(headers, more_headers), body.encode())


def segment(text: str) -> str:
    """An id as one part of a path. Raises ValueError for an id that would change the path."""
    if not isinstance(text, str) or text in ("", ".", ".."):
        raise ValueError(f"An id must be a text that is not empty, but is {text!r}.")
    return quote(text, safe="")


def _require_path(path: str) -> None:
    if not path.startswith("/") or not (path.isascii() and path.isprintable()) or any(c in path for c in " ?#"):
        raise ValueError(f'A path must be such as "/v1/webhooks", its query given as query, but is {path!r}.')


def _require_idempotency_key(key: str) -> str:
    if not 1 <= len(key) <= 255 or not (key.isascii() and key.isprintable()) or " " in key:
        raise ValueError("An idempotency_key must be 1 to 255 visible ASCII characters, best a UUID.")
    return key


# Made by the client alone.
_OWN_HEADERS = ("authorization", "content-length", "host", "idempotency-key")


def _with(headers: Dict[str, str], more: Optional[Mapping[str, str]]) -> Dict[str, str]:
    """The headers, and more that replace those of the same name in any case."""
    for name, value in (more or {}).items():
        if not re.fullmatch(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+", name):
            raise ValueError(f"A header can't be called {name!r}.")
        if name.lower() in _OWN_HEADERS:
            raise ValueError(f"{name} is made by the client: give api_key or idempotency_key instead.")
        if not isinstance(value, str) or not (value.isascii() and value.isprintable()):
            raise ValueError(f"The header {name} must be a text of visible ASCII characters, but is {value!r}.")
        headers = {**{known: text for known, text in headers.items() if known.lower() != name.lower()}, name: value}
    return headers


def _query_text(query: Optional[Query]) -> str:
    given = {name: _query_value(value) for name, value in (query or {}).items() if value is not None}
    return f"?{urlencode(given)}" if given else ""


def _query_value(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
