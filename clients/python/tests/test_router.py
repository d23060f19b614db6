from __future__ import annotations

import asyncio
import threading
import unittest
from typing import Any, List

from hookferry import ReceiverResponse, Event, MemoryStore, Router, WebhookVerificationError, abort, disable, retry_after

from .signed_request import OTHER_SECRET, SECRET, sign_service, signed


class RouterTest(unittest.TestCase):
    def setUp(self) -> None:
        self.handled: List[str] = []
        self.router = Router(SECRET, deduplicate=MemoryStore())

    def note(self, name: str) -> Any:
        return lambda event: self.handled.append(name)

    def test_the_most_exact_function_handles_an_event_and_it_alone(self) -> None:
        for pattern in ("*", "keyword.*", "keyword.rank.*", "keyword.rank.lost"):
            self.router.on(pattern)(self.note(pattern))
        for number, event_type in enumerate(("keyword.rank.lost", "keyword.rank.won", "keyword.new", "brief.created")):
            response = self.router.receive(*signed(event_type, event_id=f"evt_{number}"))
            self.assertEqual(response, ReceiverResponse(204))
        self.assertEqual(self.handled, ["keyword.rank.lost", "keyword.rank.*", "keyword.*", "*"])

    def test_a_type_that_nobody_handles_is_accepted_and_said_in_the_log(self) -> None:
        with self.assertLogs("hookferry", "INFO") as logs:
            self.assertEqual(self.router.receive(*signed()), ReceiverResponse(204))
        self.assertIn("brief.created", logs.output[0])

    def test_patterns_that_are_none_or_taken_are_refused(self) -> None:
        self.router.on("a.b")(self.note("a"))
        for pattern in ("a.b", "", "*.a", "a*", "a b", "**"):
            with self.assertRaises(ValueError):
                self.router.on(pattern)(self.note("b"))

    def test_starts_with_no_secret_that_is_none(self) -> None:
        for secret in (None, "", "whk_x"):
            with self.assertRaises(WebhookVerificationError):
                Router(secret)

    def test_responds_to_a_challenge_each_time_and_no_function_gets_it(self) -> None:
        self.router.on("*")(self.note("x"))
        proof = ReceiverResponse(200, '{"challenge": "a-_9"}', content_type="application/json")
        for _ in range(2):
            self.assertEqual(self.router.receive(*signed("webhook.verification", {"challenge": "a-_9"})), proof)
        self.assertEqual(self.handled, [])

    def test_responds_to_no_challenge_whose_signature_is_wrong(self) -> None:
        with self.assertLogs("hookferry", "WARNING"):
            response = self.router.receive(
                *signed("webhook.verification", {"challenge": "a-_9"}, secret=OTHER_SECRET)
            )
        self.assertEqual(response, ReceiverResponse(401, "no_match"))

    def test_what_is_called_a_challenge_and_has_none_is_an_event(self) -> None:
        self.router.on("webhook.verification")(self.note("x"))
        for number, data in enumerate((None, {}, {"challenge": 1}, ["challenge"], "challenge")):
            response = self.router.receive(*signed("webhook.verification", data, event_id=f"evt_{number}"))
            self.assertEqual(response, ReceiverResponse(204))
        self.assertEqual(self.handled, ["x"] * 5)

    def test_what_is_not_genuine_gets_401_and_is_not_handled(self) -> None:
        self.router.on("*")(self.note("x"))
        body, headers = signed(secret=OTHER_SECRET)
        with self.assertLogs("hookferry", "WARNING"):
            self.assertEqual(self.router.receive(body, headers), ReceiverResponse(401, "no_match"))
            self.assertEqual(self.router.receive(body, {}), ReceiverResponse(401, "missing_header"))
            # Nothing that tells duplicates apart.
            self.assertEqual(self.router.receive(body, sign_service(body)), ReceiverResponse(401, "missing_header"))
        self.assertEqual(self.handled, [])

    def test_a_parsed_body_is_a_fault_of_the_receiver(self) -> None:
        with self.assertLogs("hookferry", "ERROR") as logs:
            response = self.router.receive({"type": "a"}, {})  # type: ignore[arg-type]
        self.assertEqual(response, ReceiverResponse(500, "body_already_parsed"))
        self.assertIn("raw bytes", logs.output[0])

    def test_an_event_is_handled_once_however_often_it_comes(self) -> None:
        self.router.on("*")(self.note("x"))
        for _ in range(3):
            self.assertEqual(self.router.receive(*signed()), ReceiverResponse(204))
        self.assertEqual(self.handled, ["x"])

    def test_an_event_whose_function_raised_gets_500_and_is_handled_when_it_comes_again(self) -> None:
        @self.router.on("*")
        def fail_once(event: Event) -> None:
            self.handled.append("x")
            if len(self.handled) == 1:
                raise RuntimeError("the database is away")

        with self.assertLogs("hookferry", "ERROR") as logs:
            self.assertEqual(self.router.receive(*signed()), ReceiverResponse(500, "handler_failed"))
        self.assertIn("the database is away", logs.output[0])
        self.assertEqual(self.router.receive(*signed()), ReceiverResponse(204))
        self.assertEqual(self.handled, ["x", "x"])

    def test_a_program_that_is_ended_in_between_leaves_no_claim(self) -> None:
        @self.router.on("*")
        def end_once(event: Event) -> None:
            self.handled.append("x")
            if len(self.handled) == 1:
                raise SystemExit

        with self.assertRaises(SystemExit):
            self.router.receive(*signed())
        self.assertEqual(self.router.receive(*signed()), ReceiverResponse(204))

    def test_an_event_that_comes_while_it_is_handled_is_put_off(self) -> None:
        entered, go_on = threading.Event(), threading.Event()

        @self.router.on("*")
        def handle(event: Event) -> None:
            entered.set()
            go_on.wait(30)

        first: List[ReceiverResponse] = []
        thread = threading.Thread(target=lambda: first.append(self.router.receive(*signed())))
        thread.start()
        self.assertTrue(entered.wait(30))
        second = self.router.receive(*signed())
        go_on.set()
        thread.join()
        self.assertEqual((first, second), ([ReceiverResponse(204)], ReceiverResponse(409, "busy", (("Retry-After", "10"),))))

    def test_a_function_can_choose_the_response(self) -> None:
        responses = [abort(), disable(), retry_after(60)]
        given = iter(responses)
        self.router.on("*")(lambda event: next(given))
        # None of them accepts, so none is taken for a duplicate.
        self.assertEqual([self.router.receive(*signed()) for _ in responses], responses)
        self.assertEqual(abort().headers, (("webhook-delivery", "abort"),))
        self.assertEqual(disable().headers, (("webhook-delivery", "disable"),))
        self.assertEqual(retry_after(60).headers, (("Retry-After", "60"),))

    def test_what_else_a_function_gives_is_said_in_the_log(self) -> None:
        self.router.on("*")(lambda event: 500)  # type: ignore[type-var]
        with self.assertLogs("hookferry", "WARNING") as logs:
            self.assertEqual(self.router.receive(*signed()), ReceiverResponse(204))
        self.assertIn("int", logs.output[0])

    def test_a_store_that_fails_costs_no_event(self) -> None:
        store = FailingStore()
        router = Router(SECRET, deduplicate=store)
        router.on("*")(self.note("x"))
        with self.assertLogs("hookferry", "ERROR"):
            self.assertEqual(router.receive(*signed()), ReceiverResponse(500, "store_failed"))
            self.assertEqual(self.handled, [])
            store.can_claim = True
            self.assertEqual(router.receive(*signed()), ReceiverResponse(204))
        self.assertEqual(self.handled, ["x"])

    def test_an_async_function_needs_to_be_awaited(self) -> None:
        @self.router.on("*")
        async def handle(event: Event) -> None:
            self.handled.append(event.type)

        with self.assertLogs("hookferry", "ERROR") as logs:
            self.assertEqual(self.router.receive(*signed()), ReceiverResponse(500, "handler_failed"))
        self.assertIn("async", logs.output[0])
        response = asyncio.run(self.router.receive_async(*signed()))
        self.assertEqual((response, self.handled), (ReceiverResponse(204), ["brief.created"]))

    def test_a_request_that_is_cancelled_leaves_no_claim(self) -> None:
        async def cancel_in_between() -> ReceiverResponse:
            entered = asyncio.Event()

            @self.router.on("*")
            async def handle(event: Event) -> None:
                self.handled.append("x")
                if len(self.handled) == 1:
                    entered.set()
                    await asyncio.Event().wait()

            task = asyncio.ensure_future(self.router.receive_async(*signed()))
            await entered.wait()
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task
            return await self.router.receive_async(*signed())

        self.assertEqual(asyncio.run(cancel_in_between()), ReceiverResponse(204))
        self.assertEqual(self.handled, ["x", "x"])


class FailingStore:
    """Its server is away; later only for what is written after the claim."""

    can_claim = False

    def claim(self, event_id: str, lease_seconds: float) -> Any:
        if self.can_claim:
            return "claimed"
        raise ConnectionError("away")

    def commit(self, event_id: str) -> None:
        raise ConnectionError("away")

    def release(self, event_id: str) -> None:
        raise ConnectionError("away")


if __name__ == "__main__":
    unittest.main()
