from __future__ import annotations

import unittest
from email.message import Message
from typing import Any, Dict, Optional, Tuple, Union

from hookferry import Event, WebhookVerificationError, verify

from .signed_request import EVENT_ID, OTHER_SECRET, SECRET, body_of, sign_service, sign_standard

NOW = 1_790_000_000
BODY = body_of("brief.created", {"n": 9007199254740993})


class VerifyTest(unittest.TestCase):
    def refused(self, code: str, body: Any = BODY, headers: Optional[Any] = None, **given: Any) -> WebhookVerificationError:
        headers = sign_standard(BODY, at=NOW) if headers is None else headers
        with self.assertRaises(WebhookVerificationError) as caught:
            verify(body, headers, **{"secret": SECRET, "now": NOW, **given})
        self.assertEqual(caught.exception.code, code)
        return caught.exception

    def test_gives_the_event_with_its_numbers_exact(self) -> None:
        event = verify(BODY, sign_standard(BODY, at=NOW), SECRET, now=NOW)
        self.assertEqual(event, Event(EVENT_ID, NOW, "brief.created", {"n": 9007199254740993}))
        with self.assertRaises(AttributeError):
            event.id = "other"  # type: ignore[misc]

    def test_takes_text_bytes_and_what_holds_bytes(self) -> None:
        bodies: Tuple[Union[bytes, str, bytearray, memoryview], ...] = (BODY, BODY.decode(), bytearray(BODY), memoryview(BODY))
        for body in bodies:
            self.assertEqual(verify(body, sign_standard(BODY, at=NOW), SECRET, now=NOW).id, EVENT_ID)

    def test_takes_headers_as_the_standard_library_has_them(self) -> None:
        headers = Message()
        for name, value in sign_standard(BODY, at=NOW).items():
            headers[name.upper()] = value
        self.assertEqual(verify(BODY, headers, SECRET, now=NOW).id, EVENT_ID)

    def test_takes_the_present_from_the_system_clock(self) -> None:
        self.assertEqual(verify(BODY, sign_standard(BODY), SECRET).id, EVENT_ID)
        self.refused("timestamp_skew", now=None)

    def test_takes_the_secrets_together(self) -> None:
        event = verify(BODY, sign_standard(BODY, at=NOW), OTHER_SECRET, secrets=[SECRET], now=NOW)
        self.assertEqual(event.id, EVENT_ID)

    def test_the_service_header_can_have_another_name_or_be_refused(self) -> None:
        (signature,) = sign_service(BODY).values()
        renamed = {"x-acme": signature.replace("sha256=", "hmac ")}
        self.assertEqual(verify(BODY, renamed, SECRET, service_header=("X-Acme", "hmac ")).type, "brief.created")
        error = self.refused("missing_header", headers=sign_service(BODY), service_header=None)
        self.assertEqual(error.header, "webhook-signature")

    def test_with_the_service_header_id_and_time_are_what_the_headers_say(self) -> None:
        bare = verify(BODY, sign_service(BODY), SECRET)
        self.assertEqual((bare.id, bare.timestamp), (None, None))
        headers = {**sign_service(BODY), "webhook-id": EVENT_ID, "webhook-timestamp": "1"}
        self.assertEqual(verify(BODY, headers, SECRET), Event(EVENT_ID, 1, bare.type, bare.data))

    def test_a_body_that_was_parsed_is_named(self) -> None:
        parsed: Tuple[Any, ...] = ({"type": "brief.created"}, [], None, 1)
        for body in parsed:
            error = self.refused("body_already_parsed", body=body)
            self.assertTrue(error.is_configuration_error)
            self.assertIn("raw bytes", str(error))

    def test_a_secret_that_is_none_is_named_before_anything_else(self) -> None:
        headers: Dict[str, str] = {}
        for secret in (None, "", " \n", "whsec_", "whsec_ "):
            error = self.refused("missing_secret", headers=headers, secret=secret)
            self.assertTrue(error.is_configuration_error)
        self.refused("missing_secret", headers=headers, secret=None, secrets=[])
        self.refused("missing_secret", headers=headers, secrets=[SECRET, None])

    def test_what_is_no_secret_is_named(self) -> None:
        for secret in (SECRET + "=", "whsec_MfKQ9", "whsec_Mf KQ", "whsec_ÄÖÜß", "whk_a_b", 7):
            self.refused("not_a_secret", secret=secret)
        self.refused("not_a_secret", secret=None, secrets=SECRET)

    def test_no_message_holds_the_secret(self) -> None:
        for secret in (SECRET + "=", OTHER_SECRET, "whk_abc_0123456789"):
            with self.assertRaises(WebhookVerificationError) as caught:
                verify(BODY, sign_standard(BODY, at=NOW), secret, now=NOW)
            self.assertNotIn(secret.strip()[8:], str(caught.exception) + repr(caught.exception))

    def test_odd_headers_are_refused_and_never_raise_anything_else(self) -> None:
        good = sign_standard(BODY, at=NOW)
        for name in good:
            self.assertEqual(self.refused("missing_header", headers={**good, name: b"x"}).header, name)
        for timestamp in ("", "-1", "1.5", "1e9", "１７９０００００００", "9" * 13, " 1", "1\n"):
            error = self.refused("missing_header", headers={**good, "webhook-timestamp": timestamp})
            self.assertEqual(error.header, "webhook-timestamp")
        for signature in ("v1", "v1,", "v1,ü", "v1,\ud800", " ", "v2,abc", good["webhook-signature"] + "="):
            self.refused("no_match", headers={**good, "webhook-signature": signature})
        self.refused("missing_header", headers={**good, "webhook-id": ""})
        self.refused("no_match", headers={"x-service-signature": "sha256=ü"})

    def test_no_headers_at_all_are_missing_ones(self) -> None:
        with self.assertRaises(WebhookVerificationError) as caught:
            verify(BODY, None, SECRET)  # type: ignore[arg-type]
        self.assertEqual((caught.exception.code, caught.exception.header), ("missing_header", "webhook-signature"))

    def test_a_signed_body_that_is_no_event_is_an_invalid_payload(self) -> None:
        bodies = (b"", b"{", b"null", b"[]", b'{"type":1,"data":1}', b'{"type":"a"}', b"[" * 100_000, b"\xff")
        utf16 = '{"type":"a","data":1}'.encode("utf-16")
        for body in (*bodies, utf16):
            self.refused("invalid_payload", body=body, headers=sign_standard(body, at=NOW))

    def test_a_text_that_cannot_have_been_sent_matches_nothing(self) -> None:
        self.refused("no_match", body="\ud800")

    def test_a_tolerance_that_is_none_is_refused(self) -> None:
        for tolerance in (-1, float("nan")):
            with self.assertRaisesRegex(ValueError, "tolerance"):
                verify(BODY, sign_standard(BODY, at=NOW), SECRET, now=NOW, tolerance=tolerance)  # type: ignore[arg-type]


if __name__ == "__main__":
    unittest.main()
