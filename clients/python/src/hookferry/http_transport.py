"""Sends each request over a connection of its own. Nothing is shared, so many threads can use a client."""

from __future__ import annotations

import http.client
import ssl
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Iterator, Mapping, Optional

from .base_url import BaseUrl
from .connection_failed import ConnectionFailed

_READ_BYTES = 65_536


@dataclass(frozen=True, repr=False)
class HttpRequest:
    """`target` is the path with its query.

    Messages name a request by method and path alone, because headers have the key.
    """

    method: str
    target: str
    headers: Mapping[str, str]
    body: Optional[bytes] = None

    @property
    def name(self) -> str:
        return f"{self.method} {self.target.partition('?')[0]}"


class HttpResponse:
    """The head of a response, and its body as long as it is open."""

    def __init__(self, response: http.client.HTTPResponse, request: HttpRequest) -> None:
        self._response = response
        self._request = request
        self.status = response.status

    def header(self, name: str) -> Optional[str]:
        return self._response.getheader(name)

    def read(self) -> bytes:
        with _named_failures(self._request):
            return self._response.read()

    def chunks(self) -> Iterator[bytes]:
        """The body as it arrives. Raises ConnectionFailed if the connection breaks."""
        while True:
            with _named_failures(self._request):
                chunk = self._response.read1(_READ_BYTES)
                if not chunk and self._response.length:
                    # With a Content-Length, `read1` does not notice a broken connection: it looks like the end.
                    raise http.client.IncompleteRead(b"", self._response.length)
            if not chunk:
                return
            yield chunk


class HttpTransport:
    """Sends requests; follows no redirects, and never shows headers."""

    def __init__(self, base_url: BaseUrl, timeout_seconds: float) -> None:
        self._base_url = base_url
        self._timeout_seconds = timeout_seconds
        self._tls = ssl.create_default_context() if base_url.is_https else None

    @contextmanager
    def send(self, request: HttpRequest) -> Iterator[HttpResponse]:
        """The response. Read its body within the `with` block. Raises ConnectionFailed."""
        connection = self._connect()
        try:
            with _named_failures(request):
                # A server that refuses a long body may respond before all of it is sent. That response says why.
                with suppress(BrokenPipeError):
                    connection.request(
                        request.method, self._base_url.path + request.target, request.body, dict(request.headers)
                    )
                response = connection.getresponse()
            yield HttpResponse(response, request)
        finally:
            connection.close()

    def _connect(self) -> http.client.HTTPConnection:
        host, port, timeout = self._base_url.host, self._base_url.port, self._timeout_seconds
        if self._tls is None:
            return http.client.HTTPConnection(host, port, timeout=timeout)
        return http.client.HTTPSConnection(host, port, timeout=timeout, context=self._tls)


@contextmanager
def _named_failures(request: HttpRequest) -> Iterator[None]:
    try:
        yield
    except (OSError, http.client.HTTPException) as error:
        reason = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        raise ConnectionFailed(request.name, reason) from error
