from __future__ import annotations

import base64
import hashlib
import hmac
import json
import logging
import os
import time
import unittest
import uuid

from hookferry import Event, MemoryStore, Router

from app import create_app


def new_secret() -> str:
    return "whsec_" + base64.b64encode(os.urandom(32)).decode()


class WebhookTest(unittest.TestCase):
    def setUp(self) -> None:
        logging.disable(logging.CRITICAL)
        self.secret = new_secret()
        self.handled: list[str] = []
        router = Router(self.secret, deduplicate=MemoryStore())

        @router.on("order.created")
        def handle(event: Event) -> None:
            if event.data.get("fails"):
                raise RuntimeError("as the test wants it")
            self.handled.append(event.id)

        self.client = create_app(router).test_client()

    def send(self, data: object, event_id: str = "", secret: str = "", age_seconds: int = 0) -> tuple[str, int]:
        """Send an event as the service does."""
        event_id = event_id or f"evt_{uuid.uuid4()}"
        body = json.dumps({"type": "order.created", "data": data}).encode()
        timestamp = str(int(time.time()) - age_seconds)
        key = base64.b64decode((secret or self.secret)[len("whsec_") :])
        message = f"{event_id}.{timestamp}.".encode() + body
        signature = base64.b64encode(hmac.new(key, message, hashlib.sha256).digest()).decode()
        headers = {
            "webhook-id": event_id,
            "webhook-timestamp": timestamp,
            "webhook-signature": f"v1,{signature}",
        }
        response = self.client.post("/webhooks", data=body, headers=headers, content_type="application/json")
        return event_id, response.status_code

    def test_handles_an_event_that_the_service_has_signed(self) -> None:
        event_id, status = self.send({"id": "ord_1"})
        self.assertEqual((status, self.handled), (204, [event_id]))

    def test_handles_an_event_once_however_often_it_comes(self) -> None:
        event_id, _ = self.send({"id": "ord_2"})
        _, again = self.send({"id": "ord_2"}, event_id=event_id)
        self.assertEqual((again, self.handled), (204, [event_id]))

    def test_refuses_what_somebody_else_has_signed_and_what_is_old(self) -> None:
        _, foreign = self.send({"id": "ord_3"}, secret=new_secret())
        _, old = self.send({"id": "ord_3"}, age_seconds=3_600)
        self.assertEqual((foreign, old, self.handled), (401, 401, []))

    def test_has_an_event_sent_again_that_it_could_not_handle(self) -> None:
        self.assertEqual(self.send({"fails": True})[1], 500)


if __name__ == "__main__":
    unittest.main()
