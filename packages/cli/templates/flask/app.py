"""Receives webhooks at /webhooks: WEBHOOK_SECRET=whsec_… python app.py"""

from __future__ import annotations

import os
import sys

from flask import Flask, Response, request
from hookferry import MemoryStore, Router

from handlers import add_handlers


def create_app(router: Router) -> Flask:
    app = Flask(__name__)
    app.config["MAX_CONTENT_LENGTH"] = 1_310_720

    @app.post("/webhooks")
    def webhooks() -> Response:
        # The signature is over the bytes as they came: request.get_json() would lose them.
        response = router.receive(request.get_data(cache=False), request.headers)
        return Response(response.body, response.status, dict(response.headers), content_type=response.content_type)

    return app


if __name__ == "__main__":
    secret = os.environ.get("WEBHOOK_SECRET")
    if not secret:
        sys.exit("WEBHOOK_SECRET is not set. It is in the response to the registration of the webhook: whsec_…")
    router = Router(secret, deduplicate=MemoryStore())
    add_handlers(router)
    create_app(router).run("127.0.0.1", int(os.environ.get("PORT", "4000")))
