"""Registers a webhook, receives what is sent to it, and removes it again at its end (Ctrl-C, SIGTERM).

Needs HOOKFERRY_URL and HOOKFERRY_API_KEY. HOST and PORT say where to listen: 127.0.0.1:4000 unless set.
"""

import os
import signal
import sys
from socketserver import ThreadingMixIn
from wsgiref.simple_server import WSGIServer, make_server

from hookferry import Client, Event, MemoryStore, Router, WsgiApp


class Server(ThreadingMixIn, WSGIServer):
    """The standard library's server, a thread for each request. In production: gunicorn, uWSGI, waitress."""

    daemon_threads = True


def main() -> None:
    client = Client(required("HOOKFERRY_URL"), required("HOOKFERRY_API_KEY"))
    host, port = os.environ.get("HOST", "127.0.0.1"), int(os.environ.get("PORT", "4000"))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))

    # Listen first, then register: what comes in between waits, and nothing is refused.
    with make_server(host, port, lambda *_: [], server_class=Server) as server:
        webhook = client.webhooks.create(f"http://{host}:{server.server_port}/hook", ["*"])
        try:
            server.set_app(WsgiApp(build_router(webhook["secret"])))
            print(f"listening as {webhook['id']}", flush=True)
            server.serve_forever()
        except KeyboardInterrupt:
            pass
        finally:
            client.webhooks.delete(webhook["id"])


def build_router(secret: str) -> Router:
    router = Router(secret, deduplicate=MemoryStore())

    @router.on("order.*")
    def handle_order(event: Event) -> None:
        print(f"{event.id}: {event.type} about {event.data['id']}", flush=True)

    @router.on("*")
    def handle_other(event: Event) -> None:
        print(f"{event.id}: {event.type}", flush=True)

    return router


def required(name: str) -> str:
    value = os.environ.get(name)
    if not value:
        sys.exit(f"Set {name}.")
    return value


if __name__ == "__main__":
    main()
