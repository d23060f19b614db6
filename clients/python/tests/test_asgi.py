"""What an ASGI server does, done by hand: the messages are those of the specification."""

from __future__ import annotations

import asyncio
import json
import threading
import unittest
from typing import Any, Dict, List

from hookferry import AsgiApp, Event, MemoryStore, Router

from .signed_request import OTHER_SECRET, SECRET, signed

LIMIT_BYTES = 1000


class AsgiTest(unittest.TestCase):
    def setUp(self) -> None:
        self.handled: List[str] = []
        self.router = Router(SECRET, deduplicate=MemoryStore())

    def call(self, messages: List[Dict[str, Any]], headers: Dict[str, str], **scope: Any) -> List[Dict[str, Any]]:
        """What the application sends. It fails when more is received than there is."""
        sent: List[Dict[str, Any]] = []
        coming = iter(messages)

        async def receive() -> Any:
            return next(coming)

        async def send(message: Any) -> None:
            sent.append(message)

        pairs = [(name.encode(), value.encode()) for name, value in headers.items()]
        given = {"type": "http", "method": "POST", "headers": pairs, **scope}
        asyncio.run(AsgiApp(self.router, LIMIT_BYTES)(given, receive, send))
        return sent

    def request(self, body: bytes, headers: Dict[str, str], **scope: Any) -> List[Dict[str, Any]]:
        return self.call([{"type": "http.request", "body": body}], headers, **scope)

    def test_async_functions_are_awaited_and_others_run_in_a_thread(self) -> None:
        threads: List[threading.Thread] = []

        @self.router.on("a.b")
        async def handle_async(event: Event) -> None:
            await asyncio.sleep(0)
            threads.append(threading.current_thread())

        @self.router.on("*")
        def handle(event: Event) -> None:
            threads.append(threading.current_thread())

        for number, event_type in enumerate(("a.b", "a.c")):
            sent = self.request(*signed(event_type, event_id=f"evt_{number}"))
            self.assertEqual([sent[0]["status"], sent[1]["body"]], [204, b""])
        self.assertIs(threads[0], threading.main_thread())
        self.assertIsNot(threads[1], threading.main_thread())

    def test_a_challenge_gets_json(self) -> None:
        self.router.on("*")(lambda event: self.handled.append(event.type))
        start, end = self.request(*signed("webhook.verification", {"challenge": "a-_9"}))
        types = [value for name, value in start["headers"] if name == b"content-type"]
        self.assertEqual((start["status"], types, self.handled), (200, [b"application/json"], []))
        self.assertEqual(json.loads(end["body"]), {"challenge": "a-_9"})

    def test_a_header_that_comes_twice_is_refused(self) -> None:
        self.router.on("*")(lambda event: self.handled.append(event.type))
        body, headers = signed("a.b")
        sent = self.request(body, {"Webhook-Id": "evt_other", **headers})
        self.assertEqual([sent[0]["status"], sent[1]["body"]], [401, b"missing_header"])
        self.assertEqual(self.handled, [])

    def test_a_body_in_parts_is_put_together(self) -> None:
        self.router.on("*")(lambda event: self.handled.append(event.type))
        body, headers = signed()
        parts = [{"type": "http.request", "body": body[i : i + 1], "more_body": True} for i in range(len(body))]
        sent = self.call([*parts, {"type": "http.request"}], headers)
        self.assertEqual((sent[0]["status"], self.handled), (204, ["brief.created"]))

    def test_an_async_function_that_raises_gets_500_and_is_called_when_the_event_comes_again(self) -> None:
        @self.router.on("*")
        async def fail_once(event: Event) -> None:
            self.handled.append("x")
            if len(self.handled) == 1:
                raise RuntimeError("away")

        with self.assertLogs("hookferry", "ERROR"):
            self.assertEqual(self.request(*signed())[0]["status"], 500)
        self.assertEqual(self.request(*signed())[0]["status"], 204)
        self.assertEqual(self.request(*signed())[0]["status"], 204)
        self.assertEqual(self.handled, ["x", "x"])

    def test_what_is_not_genuine_gets_401(self) -> None:
        with self.assertLogs("hookferry", "WARNING"):
            sent = self.request(*signed(secret=OTHER_SECRET))
        self.assertEqual((sent[0]["status"], sent[1]["body"]), (401, b"no_match"))

    def test_a_body_that_is_too_long_is_read_no_further(self) -> None:
        self.assertEqual(self.call([], {"content-length": str(LIMIT_BYTES + 1)})[0]["status"], 413)
        part = {"type": "http.request", "body": b"x" * (LIMIT_BYTES + 1), "more_body": True}
        self.assertEqual(self.call([part], {})[0]["status"], 413)

    def test_a_sender_that_has_gone_gets_no_response(self) -> None:
        half = {"type": "http.request", "body": b"{", "more_body": True}
        self.assertEqual(self.call([half, {"type": "http.disconnect"}], {}), [])

    def test_only_post_over_http_is_taken(self) -> None:
        sent = self.request(b"", {}, method="GET")
        self.assertEqual((sent[0]["status"], sent[0]["headers"][0]), (405, (b"allow", b"POST")))
        with self.assertRaisesRegex(ValueError, "websocket"):
            self.call([], {}, type="websocket")

    def test_starts_and_stops_with_its_server(self) -> None:
        messages = [{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}]
        sent = self.call(messages, {}, type="lifespan")
        self.assertEqual([one["type"] for one in sent], ["lifespan.startup.complete", "lifespan.shutdown.complete"])


if __name__ == "__main__":
    unittest.main()
