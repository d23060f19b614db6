from __future__ import annotations

import asyncio
import json
import unittest
from typing import Any, Dict, List, Sequence

from hookferry import ReceiverResponse, Event, MemoryStore, Router, abort, disable, retry_after

from .signed_request import SECRET, sign_standard

ACCEPTED_AT = "2026-01-02T03:04:05.678Z"


def batch_of(ids: Sequence[str]) -> bytes:
    items = [{"id": id, "type": "brief.created", "timestamp": ACCEPTED_AT, "data": 7} for id in ids]
    return json.dumps({"type": "batch", "data": items}).encode()


class BatchesTest(unittest.TestCase):
    """Each function's response by the id of its event; an exception is raised."""

    def setUp(self) -> None:
        self.handled: List[Event] = []
        self.responses: Dict[str, Any] = {}

    def router(self, **options: Any) -> Router:
        router = Router(SECRET, **options)

        @router.on("brief.created")
        def handle(event: Event) -> Any:
            self.handled.append(event)
            response = self.responses.get(event.id or "")
            if isinstance(response, Exception):
                raise response
            return response

        return router

    def receive(self, ids: str, **options: Any) -> ReceiverResponse:
        body = batch_of(list(ids))
        return self.router(**options).receive(body, sign_standard(body, event_id="batch_1"))

    def handled_ids(self) -> str:
        return "".join(event.id or "" for event in self.handled)

    def test_hands_over_each_event_and_takes_all(self) -> None:
        self.assertEqual(self.receive("abc"), ReceiverResponse(204))
        self.assertEqual(self.handled_ids(), "abc")
        self.assertEqual((self.handled[0].data, self.handled[0].accepted_at), (7, ACCEPTED_AT))

    def test_names_those_that_were_not_handled_and_handles_them_alone_when_they_come_again(self) -> None:
        router = self.router(deduplicate=MemoryStore())
        self.responses["b"] = ValueError("no")
        body = batch_of("abc")
        with self.assertLogs("hookferry", "ERROR"):
            response = router.receive(body, sign_standard(body, event_id="batch_1"))
        self.assertEqual((response.status, json.loads(response.body)), (200, {"failed": ["b"]}))
        self.assertEqual(response.content_type, "application/json")
        self.responses.clear()
        again = batch_of("bcd")
        self.assertEqual(router.receive(again, sign_standard(again, event_id="batch_2")), ReceiverResponse(204))
        self.assertEqual(self.handled_ids(), "abcbd")

    def test_handles_by_async_functions_too(self) -> None:
        router = Router(SECRET)

        @router.on("*")
        async def handle(event: Event) -> Any:
            self.handled.append(event)
            return retry_after(5) if event.id == "b" else None

        body = batch_of("abc")
        response = asyncio.run(router.receive_async(body, sign_standard(body, event_id="batch_1")))
        self.assertEqual((json.loads(response.body), response.headers), ({"failed": ["b"]}, (("Retry-After", "5"),)))
        self.assertEqual(self.handled_ids(), "abc")

    def test_in_order_handles_none_after_one_that_was_not_and_says_so_of_them_all(self) -> None:
        self.responses["b"] = retry_after(60)
        response = self.receive("abcd", in_order=True)
        self.assertEqual(json.loads(response.body), {"failed": ["b", "c", "d"]})
        self.assertEqual(self.handled_ids(), "ab")

    def test_refuses_the_request_where_no_event_was_handled(self) -> None:
        self.responses.update(a=abort(), b=abort())
        self.assertEqual(self.receive("ab"), abort())
        self.responses.update(a=retry_after(60), b=retry_after(90))
        self.assertEqual(self.receive("ab"), retry_after(90))
        self.assertEqual(self.receive("ab", in_order=True), retry_after(60))

    def test_gives_up_no_event_whose_function_did_not_ask_for_it(self) -> None:
        self.responses.update(a=abort(), b=retry_after(9))
        self.assertEqual(self.receive("ab"), ReceiverResponse(500, "not_handled", (("Retry-After", "9"),)))
        response = self.receive("ac")
        self.assertEqual((json.loads(response.body), response.headers), ({"failed": ["a"]}, ()))

    def test_passes_on_what_some_ask_for_that_concerns_the_whole_webhook(self) -> None:
        self.responses.update(a=disable(), b=retry_after(9))
        headers = (("webhook-delivery", "disable"), ("Retry-After", "9"))
        self.assertEqual(self.receive("abc").headers, headers)


if __name__ == "__main__":
    unittest.main()
