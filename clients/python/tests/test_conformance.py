"""Every case of conformance/: what receivers in all languages check alike, and read alike."""

from __future__ import annotations

import base64
import json
import unittest
from pathlib import Path
from typing import Any, Dict, List, Optional

from hookferry import ReceiverResponse, Client, Event, Router, WebhookVerificationError, verify, verify_events, verify_signature
from hookferry.deduplication import DEFAULT_TTL_SECONDS
from hookferry.event_handling import DEFAULT_LEASE_SECONDS
from hookferry.request_body import DEFAULT_MAX_BODY_BYTES

from .local_server import LocalServer, response
from .signed_request import SECRET, sign_service, sign_standard, signed

CONFORMANCE = Path(__file__).resolve().parents[3] / "conformance"
STRANGE = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="


def read_cases(name: str) -> List[Dict[str, Any]]:
    cases: List[Dict[str, Any]] = json.loads((CONFORMANCE / name).read_text("utf-8"))["cases"]
    return cases


class BusyStore:
    def claim(self, event_id: str, lease_seconds: float) -> Any:
        return "busy"

    def commit(self, event_id: str) -> None:
        raise AssertionError

    release = commit


class ReceiversTest(unittest.TestCase):
    def test_has_the_limits_of_all_receivers(self) -> None:
        limits = json.loads((CONFORMANCE / "receivers.json").read_text("utf-8"))
        self.assertEqual(
            (DEFAULT_MAX_BODY_BYTES, DEFAULT_LEASE_SECONDS, DEFAULT_TTL_SECONDS),
            (limits["max_body_bytes"], limits["lease_seconds"], limits["remembered_seconds"]),
        )
        busy = limits["busy"]
        router = Router(SECRET, deduplicate=BusyStore())
        router.on("*")(lambda event: None)
        response: ReceiverResponse = router.receive(*signed())
        self.assertEqual(response.status, busy["status"])
        self.assertEqual(response.headers, (("Retry-After", str(busy["retry_after_seconds"])),))


class EventsTest(unittest.TestCase):
    def test_reads_from_requests_of_all_formats_what_the_corpus_says(self) -> None:
        cases = read_cases("events.json")
        self.assertGreaterEqual(len(cases), 30)
        for case in cases:
            with self.subTest(case["name"]):
                self.check(case)

    def check(self, case: Dict[str, Any]) -> None:
        body = case["body"].encode()
        signature = sign_service(body) if case["service"] else sign_standard(body, event_id=case["id"])
        given: Dict[str, Any] = {
            "headers": {**case["headers"], **signature},
            "secret": SECRET,
            "binary_cloudevents": case["binary"],
        }
        if case["expect"] == "invalid_payload":
            self.refuses(verify_events, body, given)
            self.refuses(verify, body, given)
            return
        request = verify_events(body, **given)
        self.assertEqual(
            {"is_batch": request.is_batch, "events": [presented(event) for event in request.events]}, case["expect"]
        )
        # One event is what `verify` gives, and no list.
        if request.is_batch:
            self.refuses(verify, body, given)
        else:
            self.assertEqual((verify(body, **given),), request.events)

    def refuses(self, function: Any, body: bytes, given: Dict[str, Any]) -> None:
        with self.assertRaises(WebhookVerificationError) as caught:
            function(body, **given)
        self.assertEqual(caught.exception.code, "invalid_payload")


def presented(event: Event) -> Dict[str, Any]:
    optional = {"id": event.id, "accepted_at": event.accepted_at, "cloudevent": event.cloudevent}
    given = {name: value for name, value in optional.items() if value is not None}
    return {"type": event.type, "data": event.data, **given}


class SignaturesTest(unittest.TestCase):
    def test_checks_every_case_as_the_corpus_says(self) -> None:
        cases = read_cases("signatures.json")
        self.assertGreaterEqual(len(cases), 39)
        for case in cases:
            with self.subTest(case["name"]):
                self.check(case)

    def check(self, case: Dict[str, Any]) -> None:
        body = base64.b64decode(case["body_base64"])
        given = {
            "headers": case["headers"],
            "secrets": case["secrets"],
            "tolerance": case.get("tolerance", 300),
            "now": case["now"],
        }
        if case["expect"] == "ok":
            verify_signature(body, **given)
            self.check_event(body, given, case.get("payload"))
            return
        for function in (verify_signature, verify):
            with self.assertRaises(WebhookVerificationError) as caught:
                function(body, **given)
            error = caught.exception
            found = (error.code, error.header, error.skew_seconds)
            self.assertEqual(found, (case["expect"], case.get("header"), case.get("skew")))

    def check_event(self, body: bytes, given: Dict[str, Any], expected: Optional[str]) -> None:
        """A good signature over what is no event is `invalid_payload`; over an event it gives its content."""
        is_event = body.startswith(b'{"type":') if expected is None else expected == "ok"
        if not is_event:
            with self.assertRaises(WebhookVerificationError) as caught:
                verify(body, **given)
            self.assertEqual(caught.exception.code, "invalid_payload")
            return
        event, payload = verify(body, **given), json.loads(body.decode("utf-8-sig"))
        self.assertIsInstance(event, Event)
        self.assertEqual((event.type, event.data), (payload["type"], payload["data"]))


class RequestsTest(unittest.TestCase):
    def test_reads_the_event_of_every_request_by_each_secret_that_signs(self) -> None:
        cases = read_cases("requests.json")
        self.assertGreaterEqual(len(cases), 19)
        for case in cases:
            with self.subTest(case["name"]):
                self.check(case)
                self.check_plain(case)

    def check(self, case: Dict[str, Any]) -> None:
        event, now = case["event"], case["now"]
        body, headers = base64.b64decode(case["request"]["body_base64"]), case["request"]["headers"]
        for secret in case["webhook"]["secrets"]:
            given = {"headers": headers, "secret": secret["secret"], "now": now}
            if secret.get("expires_at", now + 1) <= now:
                self.assert_no_match(body, given)
                continue
            expected = Event(id=event["id"], timestamp=now, type=event["type"], data=json.loads(event["data_text"]))
            self.assertEqual(verify(body, **given), expected)
        self.assert_no_match(body, {"headers": headers, "secret": STRANGE, "now": now})

    def check_plain(self, case: Dict[str, Any]) -> None:
        """The signature of the body alone, under the name that the operator gave it."""
        settings, event = case["settings"], case["event"]
        body, headers = base64.b64decode(case["request"]["body_base64"]), dict(case["request"]["headers"])
        del headers["webhook-signature"]
        given = {
            "headers": headers,
            "service_header": (settings["signature_header"], settings["signature_prefix"]),
            "now": case["now"],
        }
        read = verify(body, secret=case["webhook"]["secrets"][0]["secret"], **given)
        self.assertEqual((read.type, read.data), (event["type"], json.loads(event["data_text"])))
        self.assert_no_match(body, {**given, "secret": STRANGE})

    def assert_no_match(self, body: bytes, given: Dict[str, Any]) -> None:
        with self.assertRaises(WebhookVerificationError) as caught:
            verify(body, **given)
        self.assertEqual(caught.exception.code, "no_match")


class BoundsTest(unittest.TestCase):
    """What the client looks at before it sends: an Idempotency-Key."""

    def test_refuses_the_keys_that_the_api_refuses_and_no_others(self) -> None:
        keys = [case for case in read_cases("bounds.json") if "idempotency-key" in case["request"].get("headers", {})]
        self.assertGreaterEqual(len(keys), 5)
        for case in keys:
            with self.subTest(case["what"]), LocalServer(response(202, {})) as server:
                self.check(case, Client(server.url, "whk_0123456789abcdef_secret"))
                self.assertEqual(len(server.requests), 0 if "code" in case["expected"] else 1)

    def check(self, case: Dict[str, Any], client: Client) -> None:
        body, key = case["request"]["body"], case["request"]["headers"]["idempotency-key"]
        if "code" not in case["expected"]:
            client.events.publish(body["type"], body["data"], idempotency_key=key)
            return
        with self.assertRaises(ValueError):
            client.events.publish(body["type"], body["data"], idempotency_key=key)


if __name__ == "__main__":
    unittest.main()
