from __future__ import annotations

import http.client
import io
import json
import socket
import unittest
from typing import Any, Dict, List, Optional, Tuple

from hookferry import Event, Router, WsgiApp, retry_after

from .local_server import LocalWsgiServer
from .signed_request import OTHER_SECRET, SECRET, signed


class WsgiTest(unittest.TestCase):
    def setUp(self) -> None:
        self.events: List[Event] = []
        self.router = Router(SECRET)
        self.router.on("*")(lambda event: self.events.append(event))
        self.server = LocalWsgiServer(WsgiApp(self.router, max_body_bytes=1000))
        self.enter(self.server)

    def enter(self, context: Any) -> None:
        context.__enter__()
        self.addCleanup(context.__exit__, None, None, None)

    def request(self, body: bytes, headers: Dict[str, str], method: str = "POST") -> Tuple[int, bytes, Any]:
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=30)
        try:
            connection.request(method, "/hook", body, headers)
            response = connection.getresponse()
            return response.status, response.read(), response.headers
        finally:
            connection.close()

    def test_an_event_is_verified_handled_and_accepted(self) -> None:
        status, body, _ = self.request(*signed("brief.created", {"title": "Über 🚀"}))
        self.assertEqual((status, body), (204, b""))
        self.assertEqual([event.data for event in self.events], [{"title": "Über 🚀"}])

    def test_what_is_not_genuine_gets_401_and_the_code(self) -> None:
        with self.assertLogs("hookferry", "WARNING"):
            status, body, _ = self.request(*signed(secret=OTHER_SECRET))
        self.assertEqual((status, body, self.events), (401, b"no_match", []))

    def test_the_response_has_the_headers_that_the_function_asked_for(self) -> None:
        self.router.on("later")(lambda event: retry_after(7))
        status, _, headers = self.request(*signed("later"))
        self.assertEqual((status, headers["Retry-After"]), (503, "7"))

    def test_a_challenge_gets_json(self) -> None:
        status, body, headers = self.request(*signed("webhook.verification", {"challenge": "a-_9"}))
        self.assertEqual((status, headers.get_all("Content-Type")), (200, ["application/json"]))
        self.assertEqual((json.loads(body), self.events), ({"challenge": "a-_9"}, []))

    def test_only_post_is_taken(self) -> None:
        status, _, headers = self.request(b"", {}, "GET")
        self.assertEqual((status, headers["Allow"]), (405, "POST"))

    def test_a_body_that_is_too_long_is_refused_unread(self) -> None:
        status, body, _ = self.request(b"x" * 1001, {})
        self.assertEqual((status, body), (413, b"body_too_large"))
        # No more than the head is sent: the response can't have waited for the body.
        self.assertIn(b" 413 ", self.send_head(b"Content-Length: 99999999999999999999999"))

    def test_a_body_without_a_length_is_refused_rather_than_waited_for(self) -> None:
        self.assertIn(b" 411 ", self.send_head(b"X: y"))

    def send_head(self, header: bytes) -> bytes:
        with socket.create_connection(("127.0.0.1", self.server.port), 30) as connection:
            connection.sendall(b"POST / HTTP/1.0\r\n" + header + b"\r\n\r\n")
            return connection.makefile("rb").readline()

    def call(self, body: bytes, headers: Dict[str, str], **environ: Any) -> Optional[str]:
        """As a server does that knows the end of a body without its length, such as gunicorn with chunks."""
        names = {f"HTTP_{name.upper().replace('-', '_')}": value for name, value in headers.items()}
        given: Dict[str, Any] = {"REQUEST_METHOD": "POST", "wsgi.input": io.BytesIO(body), **names, **environ}
        said: List[str] = []
        WsgiApp(self.router, max_body_bytes=1000)(given, lambda status, _: said.append(status))  # type: ignore[arg-type]
        return said[0]

    def test_a_body_in_chunks_is_read_to_its_end_and_no_further_than_the_limit(self) -> None:
        terminated = {"wsgi.input_terminated": True}
        body, headers = signed()
        self.assertEqual(self.call(body, headers, **terminated), "204 No Content")
        self.assertIn("413", self.call(b"x" * 1001, {}, **terminated) or "")

    def test_a_body_that_broke_off_or_has_no_length_is_refused(self) -> None:
        self.assertIn("400", self.call(b"half", {}, CONTENT_LENGTH="8") or "")
        self.assertIn("400", self.call(b"half", {}, CONTENT_LENGTH="-8") or "")
        self.assertEqual(self.events, [])


if __name__ == "__main__":
    unittest.main()
