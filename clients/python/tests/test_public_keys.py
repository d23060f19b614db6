"""Signatures by public keys: every case of conformance/asymmetric.json, and how a key set is fetched."""

from __future__ import annotations

import asyncio
import base64
import importlib.util
import json
import socket
import sys
import threading
import unittest
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple
from unittest import mock

from hookferry import Jwks, PublicKeys, Router, SignatureVerifier, WebhookVerificationError, verify_signature

CONFORMANCE = Path(__file__).resolve().parents[3] / "conformance"
CASES: List[Dict[str, Any]] = json.loads((CONFORMANCE / "asymmetric.json").read_text("utf-8"))["cases"]
GOOD = next(case for case in CASES if case["name"] == "by the set")
URL = "https://hooks.example.com/.well-known/webhooks/acme/jwks.json"
# Without it there is nothing to try but what is said of that: see the end.
HAS_CRYPTOGRAPHY = importlib.util.find_spec("cryptography") is not None


def keys_of(case: Dict[str, Any]) -> Optional[SignatureVerifier]:
    if "public_keys" in case:
        return PublicKeys(*case["public_keys"])
    if "jwks" in case:
        return Jwks(URL, fetch=lambda _url: (json.dumps(case["jwks"]).encode(), None))
    return None


def verify_case(case: Dict[str, Any]) -> None:
    body, keys = base64.b64decode(case["body_base64"]), keys_of(case)
    verify_signature(body, case["headers"], secrets=case.get("secrets"), now=case["now"], public_keys=keys)


class Published:
    """A set that is published, with a clock that the test moves."""

    def __init__(self, cache_control: Optional[str] = None) -> None:
        self.keys: Any = GOOD["jwks"]
        self.failure: Optional[Exception] = None
        self.asked = 0
        self.now = 0.0
        self._cache_control = cache_control
        self.jwks = Jwks(URL, fetch=self._fetch, clock=lambda: self.now)

    def _fetch(self, url: str) -> Tuple[bytes, Optional[str]]:
        self.asked += 1
        if self.failure is not None:
            raise self.failure
        return json.dumps(self.keys).encode(), self._cache_control

    def verify(self, kid: Optional[str] = None) -> None:
        headers = dict(GOOD["headers"])
        if kid is not None:
            headers["webhook-key-id"] = kid
        body = base64.b64decode(GOOD["body_base64"])
        verify_signature(body, headers, now=GOOD["now"], public_keys=self.jwks)

    def code(self, kid: Optional[str] = None) -> str:
        try:
            self.verify(kid)
        except WebhookVerificationError as error:
            return error.code
        return "ok"


class PublicKeysTest(unittest.TestCase):
    def test_checks_every_case_as_the_corpus_says(self) -> None:
        self.assertGreaterEqual(len(CASES), 50)
        for case in CASES:
            with self.subTest(case["name"]):
                self.assertEqual(self.ending(case), (case["expect"], case.get("header"), case.get("skew")))

    def ending(self, case: Dict[str, Any]) -> Tuple[str, Optional[str], Optional[int]]:
        try:
            verify_case(case)
        except WebhookVerificationError as error:
            return error.code, error.header, error.skew_seconds
        return "ok", None, None

    def test_a_router_takes_keys_in_place_of_a_secret(self) -> None:
        router = Router(public_keys=Published().jwks, tolerance=10**9)
        body, headers = base64.b64decode(GOOD["body_base64"]), GOOD["headers"]
        self.assertEqual(router.receive(body, headers).status, 204)
        self.assertEqual(asyncio.run(router.receive_async(body, headers)).status, 204)
        forged = {**headers, "webhook-signature": "v1,AAAA"}
        self.assertEqual(router.receive(body, forged).status, 401)

    def test_a_router_without_any_key_does_not_start(self) -> None:
        with self.assertRaises(WebhookVerificationError):
            Router()


class JwksTest(unittest.TestCase):
    def test_is_fetched_once_by_all_threads(self) -> None:
        published = Published()
        threads = [threading.Thread(target=published.verify) for _ in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(published.asked, 1)

    def test_is_fetched_again_for_an_unknown_key_once_a_minute(self) -> None:
        published = Published()
        published.verify()
        self.assertEqual({published.code(f"unknown-{i}") for i in range(100)}, {"no_match"})
        self.assertEqual(published.asked, 1)
        published.now = 60
        self.assertEqual({published.code(f"later-{i}") for i in range(100)}, {"no_match"})
        self.assertEqual(published.asked, 2)

    def test_forgets_a_key_that_was_taken_away_as_soon_as_the_response_is_old(self) -> None:
        published = Published("public, max-age=300")
        published.verify()
        published.keys = {"keys": []}
        published.now = 299
        self.assertEqual(published.code(), "ok")
        published.now = 300
        self.assertEqual(published.code(), "no_match")

    def test_is_still_used_for_an_hour_when_it_can_not_be_fetched_again(self) -> None:
        published = Published("max-age=300")
        published.verify()
        published.failure = OSError("refused")
        published.now = 3_600
        self.assertEqual(published.code(), "ok")
        published.now = 4_000
        self.assertEqual(published.code(), "keys_unavailable")

    def test_that_is_away_makes_requests_fail_and_is_asked_for_again_soon(self) -> None:
        published = Published()
        published.failure = OSError("refused")
        self.assertEqual([published.code(), published.code()], ["keys_unavailable"] * 2)
        self.assertEqual(published.asked, 1)
        published.failure, published.now = None, 5
        self.assertEqual(published.code(), "ok")

    def test_refuses_what_is_no_set_or_too_long(self) -> None:
        bad: Tuple[Any, ...] = ({"keys": "none"}, [], {"keys": [], "padding": "p" * 70_000})
        for keys in bad:
            published = Published()
            published.keys = keys
            self.assertEqual(published.code(), "keys_unavailable")

    def test_must_be_at_an_https_url_or_on_this_machine(self) -> None:
        remote = ("http://hooks.example.com/jwks.json", "http://localhost.example.com/", "http://127.0.0.1@example.com/")
        for url in (*remote, "file:///etc/keys", "//example.com", "https:///", "", None):
            with self.assertRaisesRegex(WebhookVerificationError, "^This is not the URL of a key set: ") as caught:
                Jwks(url)
            self.assertEqual(caught.exception.code, "not_a_key")
        for url in ("http://localhost:3000/jwks.json", "http://127.0.0.1/jwks.json", "http://[::1]:3000/jwks.json"):
            Jwks(url)

    def test_is_not_fetched_from_who_speaks_no_tls(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as server:
            thread = threading.Thread(target=lambda: server.accept()[0].close())
            thread.start()
            jwks = Jwks(f"https://127.0.0.1:{server.getsockname()[1]}/jwks.json")
            body = base64.b64decode(GOOD["body_base64"])
            with self.assertRaises(WebhookVerificationError) as caught:
                verify_signature(body, GOOD["headers"], now=GOOD["now"], public_keys=jwks)
            self.assertEqual(caught.exception.code, "keys_unavailable")
            thread.join()


class WithoutCryptographyTest(unittest.TestCase):
    def test_says_what_to_install(self) -> None:
        absent: Any = {"cryptography.hazmat.primitives.asymmetric.ed25519": None}
        with mock.patch.dict(sys.modules, absent), self.assertRaises(ImportError) as caught:
            PublicKeys(CASES[0]["public_keys"][0])
        self.assertIn('pip install "hookferry[ed25519]"', str(caught.exception))


if not HAS_CRYPTOGRAPHY:
    del PublicKeysTest, JwksTest


if __name__ == "__main__":
    unittest.main()
