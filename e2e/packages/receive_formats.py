"""A receiver that prints what it gets, and fails each event of position 2 once. Its secret is WEBHOOK_SECRET."""

import json
import os
from wsgiref.simple_server import make_server

from hookferry import Event, MemoryStore, Router, WsgiApp

router = Router(os.environ["WEBHOOK_SECRET"], deduplicate=MemoryStore(), binary_cloudevents=True)
failed = set()


@router.on("*")
def handle(event: Event) -> None:
    if event.data["position"] == 2 and event.id not in failed:
        failed.add(event.id)
        raise ValueError("not yet")
    attributes = None if event.cloudevent is None else dict(event.cloudevent)
    shown = {"id": event.id, "type": event.type, "data": event.data, "acceptedAt": event.accepted_at}
    print("got " + json.dumps({**shown, "cloudEvent": attributes}), flush=True)


with make_server("127.0.0.1", 0, WsgiApp(router)) as server:
    print(f"listening on {server.server_port}.", flush=True)
    server.serve_forever()
