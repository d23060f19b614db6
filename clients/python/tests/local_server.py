"""Real HTTP servers on this machine: one that says what it is told to, byte for byte, and WSGI ones."""

from __future__ import annotations

import json
import socketserver
import threading
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Callable, Dict, List, Optional, Type, Union
from wsgiref.simple_server import WSGIRequestHandler, make_server


@dataclass(frozen=True)
class Received:
    method: str
    target: str
    headers: Dict[str, str]
    body: bytes


# The bytes of a response, after which the connection ends.
Reply = Union[bytes, Callable[[Received], bytes]]


def response(status: int, content: Any = None, headers: Optional[Dict[str, str]] = None) -> bytes:
    """A whole response, its content as JSON."""
    body = b"" if content is None else json.dumps(content).encode()
    lines = {"Content-Length": str(len(body)), "Content-Type": "application/json", **(headers or {})}
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return f"HTTP/1.1 {status} Said\r\n{head}\r\n".encode() + body


def problem(status: int, code: str, headers: Optional[Dict[str, str]] = None, **members: Any) -> bytes:
    content = {"status": status, "code": code, "detail": f"It is {code}.", "request_id": "req_1", **members}
    return response(status, content, {"Content-Type": "application/problem+json", **(headers or {})})


class LocalServer:
    """Gives the replies one after the other, the last one again and again; notes the requests."""

    def __init__(self, *replies: Reply) -> None:
        self.requests: List[Received] = []
        self._replies = list(replies)
        handler = _handler_for(self)
        self._server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def reply_to(self, request: Received) -> bytes:
        self.requests.append(request)
        reply = self._replies.pop(0) if len(self._replies) > 1 else self._replies[0]
        return reply if isinstance(reply, bytes) else reply(request)

    def __enter__(self) -> LocalServer:
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self._server.shutdown()
        self._server.server_close()


def _handler_for(server: LocalServer) -> Type[socketserver.StreamRequestHandler]:
    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            method, target, _ = self.rfile.readline().decode().split(" ")
            headers: Dict[str, str] = {}
            for line in iter(self.rfile.readline, b"\r\n"):
                name, _, value = line.decode().partition(":")
                headers[name.lower()] = value.strip()
            body = self.rfile.read(int(headers.get("content-length", "0")))
            self.wfile.write(server.reply_to(Received(method, target, headers, body)))

    return Handler


class LocalWsgiServer:
    """The standard library's WSGI server with one application."""

    def __init__(self, application: Any) -> None:
        self._server = make_server("127.0.0.1", 0, application, handler_class=_SilentHandler)
        self.port = self._server.server_port

    def __enter__(self) -> LocalWsgiServer:
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self._server.shutdown()
        self._server.server_close()


class _SilentHandler(WSGIRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        pass
