"""Every case of conformance/signatures.json, which receivers in all languages judge alike."""

from __future__ import annotations

import base64
import json
import unittest
from pathlib import Path
from typing import Any, Dict

from hookferry import Event, WebhookVerificationError, verify, verify_signature

CORPUS = Path(__file__).resolve().parents[3] / "conformance" / "signatures.json"


class ConformanceTest(unittest.TestCase):
    def test_judges_every_case_as_the_corpus_says(self) -> None:
        cases = json.loads(CORPUS.read_text("utf-8"))["cases"]
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
            self.check_event(body, given)
            return
        for function in (verify_signature, verify):
            with self.assertRaises(WebhookVerificationError) as caught:
                function(body, **given)
            error = caught.exception
            found = (error.code, error.header, error.skew_seconds)
            self.assertEqual(found, (case["expect"], case.get("header"), case.get("skew")))

    def check_event(self, body: bytes, given: Dict[str, Any]) -> None:
        """A good signature over what is no event is `invalid_payload`; over an event it gives its content."""
        try:
            payload = json.loads(body.decode("utf-8"))
        except ValueError:
            with self.assertRaises(WebhookVerificationError) as caught:
                verify(body, **given)
            self.assertEqual(caught.exception.code, "invalid_payload")
            return
        event = verify(body, **given)
        self.assertIsInstance(event, Event)
        self.assertEqual((event.type, event.data), (payload["type"], payload["data"]))


if __name__ == "__main__":
    unittest.main()
