from __future__ import annotations

import json
import unittest
from typing import Any, Dict, List, Optional

from hookferry import ApiError, Client, ConnectionFailed

from .local_server import LocalServer, Reply, problem

KEY = "whk_01m7z10j5c4fq3r5_0123456789abcdef"
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n"


def line(number: int) -> bytes:
    return json.dumps({"delivery_id": str(number), "cursor": f"c{number}"}).encode() + b"\n"


def chunk(content: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(content), content)


def whole(*numbers: int) -> bytes:
    return HEAD + b"".join(chunk(line(number)) for number in numbers) + b"0\r\n\r\n"


class ExportTest(unittest.TestCase):
    def setUp(self) -> None:
        self.slept: List[float] = []
        self.targets: List[str] = []
        self.error: Optional[Exception] = None

    def export(self, *replies: Reply, retries: int = 3, **query: Any) -> List[int]:
        """The numbers of the lines that came; what was raised is in `error`."""
        numbers: List[int] = []
        with LocalServer(*replies) as server:
            client = Client(server.url, KEY, retries=retries)
            client._requests.sleep = self.slept.append
            try:
                for attempt in client.deliveries.export(**query):
                    numbers.append(int(attempt["delivery_id"]))
            except (ApiError, ConnectionFailed) as error:
                self.error = error
            self.targets = [request.target for request in server.requests]
        return numbers

    def test_gives_every_line_and_passes_over_signs_of_life(self) -> None:
        text = line(1) + b"\n" + line(2) + line(3)
        pieces = b"".join(chunk(text[i : i + 5]) for i in range(0, len(text), 5))
        self.assertEqual(self.export(HEAD + pieces + b"0\r\n\r\n", since="2026-01-01T00:00:00Z"), [1, 2, 3])
        self.assertEqual(self.targets, ["/v1/deliveries/export?since=2026-01-01T00%3A00%3A00Z"])

    def test_an_export_that_breaks_off_goes_on_after_the_last_whole_line(self) -> None:
        broken: Dict[str, bytes] = {
            "between chunks": HEAD + chunk(line(1)) + chunk(line(2)),
            "within a chunk": HEAD + chunk(line(1)) + chunk(line(2)) + chunk(line(3))[:20],
            "within a line": HEAD + chunk(line(1)) + chunk(line(2) + line(3)[:9]),
            "by its length": HEAD.replace(b"Transfer-Encoding: chunked", b"Content-Length: 999") + line(1) + line(2),
        }
        for where, reply in broken.items():
            with self.subTest(where):
                self.assertEqual(self.export(reply, whole(3, 4), webhook_id="crm"), [1, 2, 3, 4])
                self.assertEqual(self.targets[1], "/v1/deliveries/export?webhook_id=crm&cursor=c2")

    def test_a_limit_holds_over_all_attempts(self) -> None:
        cut = HEAD + chunk(line(1)) + chunk(line(2))
        self.assertEqual(self.export(cut, whole(3), limit=3), [1, 2, 3])
        self.assertEqual(self.targets[1], "/v1/deliveries/export?limit=1&cursor=c2")
        self.assertEqual(self.export(cut, limit=2), [1, 2])
        self.assertEqual(len(self.targets), 1)

    def test_gives_up_when_nothing_comes_any_more_and_says_where_to_go_on(self) -> None:
        self.assertEqual(self.export(HEAD + chunk(line(1)), HEAD, retries=2), [1])
        self.assertIsInstance(self.error, ConnectionFailed)
        self.assertEqual(getattr(self.error, "cursor", None), "c1")
        self.assertEqual((len(self.targets), len(self.slept)), (3, 2))

    def test_each_line_gives_new_courage(self) -> None:
        cuts = [HEAD + chunk(line(number)) for number in range(1, 6)]
        self.assertEqual(self.export(*cuts, whole(6), retries=1), [1, 2, 3, 4, 5, 6])

    def test_an_error_is_raised_and_one_that_may_pass_is_waited_for(self) -> None:
        self.assertEqual(self.export(problem(429, "rate_limited", {"Retry-After": "2"}), whole(1)), [1])
        self.assertEqual(self.slept, [2.0])
        self.assertEqual(self.export(problem(422, "invalid_request")), [])
        self.assertIsInstance(self.error, ApiError)

    def test_without_retries_it_is_one_request(self) -> None:
        self.assertEqual(self.export(HEAD + chunk(line(1)), retries=0), [1])
        self.assertEqual((len(self.targets), self.slept), (1, []))
        self.assertIsInstance(self.error, ConnectionFailed)


if __name__ == "__main__":
    unittest.main()
