"""What is sent again, when, and under which key."""

from __future__ import annotations

import email.utils
import socket
import threading
import time
import unittest
from typing import Any, Callable, List
from unittest import mock

from hookferry import ApiError, Client, ConnectionFailed
from hookferry.api_response import parse_retry_after

from .local_server import LocalServer, Received, Reply, response, problem

KEY = "whk_01m7z10j5c4fq3r5_0123456789abcdef"
DONE = response(200, {"id": "x"})
CUT = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"
SILENCE = b""


class RetriesTest(unittest.TestCase):
    def setUp(self) -> None:
        self.slept: List[float] = []

    def client(self, server: LocalServer, **settings: Any) -> Client:
        client = Client(server.url, KEY, **settings)
        client._requests.sleep = self.slept.append
        return client

    def publish(self, *replies: Reply, **settings: Any) -> List[Received]:
        with LocalServer(*replies) as server:
            self.client(server, **settings).events.publish("a.b", 1)
            return server.requests

    def test_429_503_and_broken_connections_are_tried_again_under_the_same_key(self) -> None:
        for reply in (problem(429, "rate_limited"), problem(503, "storage_unavailable"), CUT, SILENCE):
            with self.subTest(reply[:20]):
                requests = self.publish(reply, reply, DONE)
                self.assertEqual(len(requests), 3)
                self.assertEqual(len({request.headers["idempotency-key"] for request in requests}), 1)
                self.assertEqual(len({request.body for request in requests}), 1)

    def test_another_call_has_another_key_and_a_given_key_is_kept(self) -> None:
        with LocalServer(DONE) as server:
            client = self.client(server)
            for key in (None, None, "mine"):
                client.events.publish("a.b", 1, idempotency_key=key)
            keys = [request.headers["idempotency-key"] for request in server.requests]
        self.assertEqual((len(set(keys)), keys[2]), (3, "mine"))

    def test_a_request_that_is_still_worked_on_is_asked_for_again(self) -> None:
        requests = self.publish(problem(409, "request_in_progress", {"Retry-After": "1"}), DONE)
        self.assertEqual((len(requests), self.slept), (2, [1.0]))

    def test_waits_as_retry_after_says_else_longer_each_time(self) -> None:
        asked = problem(503, "storage_unavailable", {"Retry-After": "7"})
        plain = problem(503, "storage_unavailable")
        self.publish(asked, plain, plain, DONE)
        self.assertEqual(self.slept[0], 7.0)
        self.assertTrue(0.5 <= self.slept[1] <= 1.0 and 1.0 <= self.slept[2] <= 2.0, self.slept)

    def test_who_is_asked_to_wait_for_long_is_told_instead(self) -> None:
        with LocalServer(problem(429, "rate_limited", {"Retry-After": "3600"})) as server:
            with self.assertRaises(ApiError) as caught:
                self.client(server).webhooks.get("crm")
        self.assertEqual((caught.exception.retry_after, self.slept), (3600.0, []))

    def test_gives_up_after_as_many_retries_as_it_may(self) -> None:
        for retries in (0, 2):
            with LocalServer(problem(503, "storage_unavailable")) as server:
                with self.assertRaises(ApiError):
                    self.client(server, retries=retries).webhooks.get("crm")
                self.assertEqual(len(server.requests), retries + 1)

    def test_what_will_not_get_better_is_not_tried_again(self) -> None:
        for status, code in ((401, "unauthenticated"), (409, "conflict"), (422, "invalid_request"), (500, "internal_error")):
            with LocalServer(problem(status, code)) as server:
                with self.assertRaises(ApiError):
                    self.client(server).webhooks.get("crm")
                self.assertEqual(len(server.requests), 1)

    def test_what_is_not_safe_to_repeat_is_repeated_only_if_it_was_not_done(self) -> None:
        for reply, count in ((CUT, 1), (problem(503, "storage_unavailable"), 1), (problem(429, "rate_limited"), 4)):
            with LocalServer(reply) as server:
                with self.assertRaises((ApiError, ConnectionFailed)):
                    self.client(server).request("POST", "/v1/dead-letters/1/retry")
                self.assertEqual(len(server.requests), count)
                self.assertNotIn("idempotency-key", server.requests[0].headers)

    def test_what_is_the_same_when_repeated_needs_no_key(self) -> None:
        calls: List[Callable[[Client], Any]] = [
            lambda client: client.webhooks.enable("crm"),
            lambda client: client.transformations.try_out("x"),
            lambda client: client.transformations.try_out(webhook_id="crm"),
            lambda client: client.transformations.restore("crm", 1),
        ]
        for call in calls:
            with LocalServer(SILENCE, DONE) as server:
                call(self.client(server))
                keys = [request.headers.get("idempotency-key") for request in server.requests]
                self.assertEqual(keys, [None, None])

    def test_connection_failures_name_the_request_and_the_reason(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as closed:
            port = closed.getsockname()[1]
        with self.assertRaisesRegex(ConnectionFailed, "GET /v1/webhooks/crm .*refused") as caught:
            Client(f"http://127.0.0.1:{port}", KEY, retries=0).webhooks.get("crm")
        self.assertIsInstance(caught.exception.__cause__, ConnectionRefusedError)
        with LocalServer(b"nonsense\r\n") as server, self.assertRaisesRegex(ConnectionFailed, "BadStatusLine"):
            Client(server.url, KEY, retries=0).webhooks.get("crm")

    def test_a_server_that_says_nothing_is_not_waited_for_longer_than_the_time_out(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as silent:
            client = Client(f"http://127.0.0.1:{silent.getsockname()[1]}", KEY, timeout=0.05, retries=0)
            with self.assertRaisesRegex(ConnectionFailed, "timed out"):
                client.webhooks.get("crm")

    def test_tls_is_spoken_where_the_url_says_https(self) -> None:
        first: List[bytes] = []
        with socket.create_server(("127.0.0.1", 0)) as server:

            def take_one() -> None:
                connection, _ = server.accept()
                with connection:
                    first.append(connection.recv(1))

            thread = threading.Thread(target=take_one)
            thread.start()
            client = Client(f"https://127.0.0.1:{server.getsockname()[1]}", KEY, retries=0)
            with self.assertRaises(ConnectionFailed):
                client.webhooks.get("crm")
            thread.join()
        # The first byte of a TLS handshake.
        self.assertEqual(first, [b"\x16"])

    def test_a_proxy_of_the_environment_does_not_get_the_key(self) -> None:
        with LocalServer(DONE) as proxy, LocalServer(DONE) as server:
            with mock.patch.dict("os.environ", {"http_proxy": proxy.url}):
                Client(server.url, KEY).webhooks.get("crm")
            self.assertEqual((len(proxy.requests), len(server.requests)), (0, 1))

    def test_retry_after_is_a_number_of_seconds_or_a_date(self) -> None:
        now = time.time()
        date = email.utils.formatdate(int(now) + 30, usegmt=True)
        self.assertEqual(parse_retry_after("12", now), 12.0)
        self.assertEqual(parse_retry_after(date, int(now)), 30.0)
        self.assertEqual(parse_retry_after(email.utils.formatdate(0, usegmt=True), now), 0.0)
        for text in (None, "", "soon", "-1", "1.5", "³"):
            self.assertIsNone(parse_retry_after(text, now))


if __name__ == "__main__":
    unittest.main()
