from __future__ import annotations

import json
import re
import unittest
from pathlib import Path
from typing import Any, Callable, List, Tuple

from hookferry import ApiError, Client, ConnectionFailed

from .local_server import LocalServer, response, problem

KEY = "whk_01m7z10j5c4fq3r5_0123456789abcdef"

Call = Callable[[Client], Any]

# Each operation, the request that it is, and its JSON.
OPERATIONS: List[Tuple[Call, str, str, Any]] = [
    (lambda c: c.webhooks.create("https://a", ["*"], uid="crm"), "POST", "/v1/webhooks", {"url": "https://a", "events": ["*"], "uid": "crm"}),
    (lambda c: c.webhooks.get("crm"), "GET", "/v1/webhooks/crm", None),
    (lambda c: c.webhooks.update("crm", {"rate_limit": None}), "PATCH", "/v1/webhooks/crm", {"rate_limit": None}),
    (lambda c: c.webhooks.delete("crm"), "DELETE", "/v1/webhooks/crm", None),
    (lambda c: c.webhooks.enable("crm"), "POST", "/v1/webhooks/crm/enable", None),
    (lambda c: c.webhooks.disable("crm"), "POST", "/v1/webhooks/crm/disable", None),
    (lambda c: c.webhooks.discard_held("crm"), "POST", "/v1/webhooks/crm/discard-held", None),
    (lambda c: c.webhooks.verify("crm"), "POST", "/v1/webhooks/crm/verify", None),
    (lambda c: c.webhooks.get_secret("crm"), "GET", "/v1/webhooks/crm/secret", None),
    (lambda c: c.webhooks.rotate_secret("crm", overlap_seconds=0), "POST", "/v1/webhooks/crm/rotate-secret", {"overlap_seconds": 0}),
    (lambda c: c.webhooks.test("crm"), "POST", "/v1/webhooks/crm/test", {}),
    (lambda c: c.webhooks.test("crm", "a.b"), "POST", "/v1/webhooks/crm/test", {"event_type": "a.b"}),
    (lambda c: list(c.webhooks.list(status="enabled", limit=7)), "GET", "/v1/webhooks?status=enabled&limit=7", None),
    (lambda c: list(c.webhooks.list(include="health")), "GET", "/v1/webhooks?include=health", None),
    (lambda c: c.events.publish("a.b", {"n": 1}, id="x", webhook_ids=["crm"]), "POST", "/v1/events", {"type": "a.b", "data": {"n": 1}, "id": "x", "webhook_ids": ["crm"]}),
    (lambda c: c.events.publish("a.b", None), "POST", "/v1/events", {"type": "a.b", "data": None}),
    (lambda c: c.events.publish_batch([{"type": "a.b", "data": 1}]), "POST", "/v1/events/batch", {"events": [{"type": "a.b", "data": 1}]}),
    (lambda c: c.events.publish("a.b", 1, deliver_at="2030-01-31T12:00:00Z"), "POST", "/v1/events", {"type": "a.b", "data": 1, "deliver_at": "2030-01-31T12:00:00Z"}),
    (lambda c: c.events.reschedule("evt_1", "2030-01-31T12:00:00Z"), "PATCH", "/v1/events/evt_1", {"deliver_at": "2030-01-31T12:00:00Z"}),
    (lambda c: c.events.cancel("evt_1"), "DELETE", "/v1/events/evt_1", None),
    (lambda c: list(c.events.list(status="scheduled")), "GET", "/v1/events?status=scheduled", None),
    (lambda c: c.events.get("evt_1"), "GET", "/v1/events/evt_1", None),
    (lambda c: list(c.events.list(since="2026-01-01T00:00:00+01:00")), "GET", "/v1/events?since=2026-01-01T00%3A00%3A00%2B01%3A00", None),
    (lambda c: list(c.events.list(data={"order": {"id": 4711}})), "GET", "/v1/events?data=%7B%22order%22%3A%7B%22id%22%3A4711%7D%7D", None),
    (lambda c: list(c.deliveries.list(data={})), "GET", "/v1/deliveries?data=%7B%7D", None),
    (lambda c: list(c.deliveries.list()), "GET", "/v1/deliveries", None),
    (lambda c: list(c.deliveries.list("crm", response_status=503)), "GET", "/v1/deliveries?webhook_id=crm&response_status=503", None),
    (lambda c: list(c.deliveries.list_of_event("evt_1")), "GET", "/v1/events/evt_1/deliveries", None),
    (lambda c: c.deliveries.get("evt_1.wh_1"), "GET", "/v1/deliveries/evt_1.wh_1", None),
    (lambda c: c.deliveries.redeliver("evt_1.wh_1"), "POST", "/v1/deliveries/evt_1.wh_1/redeliver", None),
    (lambda c: c.replays.create("crm", "2026-01-01T00:00:00Z", "failed", dry_run=False), "POST", "/v1/webhooks/crm/replays", {"since": "2026-01-01T00:00:00Z", "mode": "failed", "dry_run": False}),
    (lambda c: list(c.replays.list("crm")), "GET", "/v1/webhooks/crm/replays", None),
    (lambda c: c.replays.get("rpl_1"), "GET", "/v1/replays/rpl_1", None),
    (lambda c: c.replays.get("rpl_1", with_results=True), "GET", "/v1/replays/rpl_1?include=results", None),
    (lambda c: list(c.replays.deliveries("rpl_1", status="held")), "GET", "/v1/replays/rpl_1/deliveries?status=held", None),
    (lambda c: list(c.replays.deliveries("rpl_1", result="failed")), "GET", "/v1/replays/rpl_1/deliveries?result=failed", None),
    (lambda c: c.replays.cancel("rpl_1"), "DELETE", "/v1/replays/rpl_1", None),
    (lambda c: c.contacts.create("email", address="ops@example.com", occasions=("failing",), digest="daily"), "POST", "/v1/contacts", {"type": "email", "address": "ops@example.com", "occasions": ["failing"], "digest": "daily"}),
    (lambda c: c.contacts.create("slack", url="https://hooks.slack.com/services/T/B/X", webhook_id="crm"), "POST", "/v1/contacts", {"type": "slack", "url": "https://hooks.slack.com/services/T/B/X", "webhook_id": "crm"}),
    (lambda c: c.contacts.list(), "GET", "/v1/contacts", None),
    (lambda c: c.contacts.update("ct_1", digest=None), "PATCH", "/v1/contacts/ct_1", {"digest": None}),
    (lambda c: c.contacts.ask_again("ct_1"), "POST", "/v1/contacts/ct_1/ask-again", None),
    (lambda c: c.contacts.send_test("ct_1"), "POST", "/v1/contacts/ct_1/test", None),
    (lambda c: c.contacts.delete("ct_1"), "DELETE", "/v1/contacts/ct_1", None),
    (lambda c: list(c.contacts.notifications(topic="failing", status="failed")), "GET", "/v1/notifications?topic=failing&status=failed", None),
    (lambda c: c.events.publish("a.b", 1, group="order-1"), "POST", "/v1/events", {"type": "a.b", "data": 1, "group": "order-1"}),
    (lambda c: c.webhooks.create("https://a", ["*"], ordering="group", coalesce={"window_ms": 5}), "POST", "/v1/webhooks", {"url": "https://a", "events": ["*"], "ordering": "group", "coalesce": {"window_ms": 5}}),
    (lambda c: c.transformations.get("crm"), "GET", "/v1/webhooks/crm/transformation", None),
    (lambda c: c.transformations.put("crm", "x", enabled=False), "PUT", "/v1/webhooks/crm/transformation", {"code": "x", "enabled": False}),
    (lambda c: c.transformations.delete("crm"), "DELETE", "/v1/webhooks/crm/transformation", None),
    (lambda c: c.transformations.versions("crm"), "GET", "/v1/webhooks/crm/transformation/versions", None),
    (lambda c: c.transformations.restore("crm", 3), "POST", "/v1/webhooks/crm/transformation/versions/3/restore", None),
    (lambda c: c.transformations.try_out("x", event_type="a.b"), "POST", "/v1/transformations/try", {"code": "x", "event_type": "a.b"}),
    (lambda c: c.transformations.try_out(webhook_id="crm", event_id="evt_1"), "POST", "/v1/webhooks/crm/transformation/try", {"event_id": "evt_1"}),
    (lambda c: c.transformations.try_out("x", webhook_id="crm", event={"type": "a.b", "data": 1}), "POST", "/v1/webhooks/crm/transformation/try", {"code": "x", "event": {"type": "a.b", "data": 1}}),
    (lambda c: c.transformations.templates(), "GET", "/v1/transformations/templates", None),
    (lambda c: list(c.event_types.list()), "GET", "/v1/event-types", None),
    (lambda c: c.event_types.get("a.b"), "GET", "/v1/event-types/a.b", None),
    (lambda c: c.event_types.put("a.b", "AB.", True, 1), "PUT", "/v1/event-types/a.b", {"description": "AB.", "schema": True, "example": 1, "deprecated": False}),
    (lambda c: c.event_types.delete("a.b"), "DELETE", "/v1/event-types/a.b", None),
    (lambda c: c.event_types.get_schema("a.b"), "GET", "/v1/event-types/a.b/schema", None),
    (lambda c: c.webhooks.try_filter({"total": {"gte": 100}}, data={"total": 5}), "POST", "/v1/filters/try", {"filter": {"total": {"gte": 100}}, "data": {"total": 5}}),
    (lambda c: c.deliveries.get_content("evt_1.wh_1"), "GET", "/v1/deliveries/evt_1.wh_1/content", None),
    (lambda c: list(c.deliveries.list_of_webhook("crm", status="pending")), "GET", "/v1/webhooks/crm/deliveries?status=pending", None),
    (lambda c: c.events.erase_payload("evt_1"), "DELETE", "/v1/events/evt_1/payload", None),
    (lambda c: list(c.events.explanations("evt_1", webhook_id="crm")), "GET", "/v1/events/evt_1/explanations?webhook_id=crm", None),
    (lambda c: c.accounts.create("acme", weight=2), "POST", "/v1/accounts", {"id": "acme", "weight": 2}),
    (lambda c: c.accounts.create(), "POST", "/v1/accounts", {}),
    (lambda c: list(c.accounts.list(include="usage")), "GET", "/v1/accounts?include=usage", None),
    (lambda c: c.accounts.get("acme"), "GET", "/v1/accounts/acme", None),
    (lambda c: c.accounts.update("acme", quota_bytes=None), "PATCH", "/v1/accounts/acme", {"quota_bytes": None}),
    (lambda c: c.accounts.delete("acme"), "DELETE", "/v1/accounts/acme", None),
    (lambda c: c.accounts.pause("acme", reason="down"), "POST", "/v1/accounts/acme/pause", {"reason": "down"}),
    (lambda c: c.accounts.resume("acme"), "POST", "/v1/accounts/acme/resume", None),
    (lambda c: c.api_keys.create("ci", ["events:write"], event_types=["order.*"]), "POST", "/v1/api-keys", {"name": "ci", "scopes": ["events:write"], "event_types": ["order.*"]}),
    (lambda c: list(c.api_keys.list(limit=5)), "GET", "/v1/api-keys?limit=5", None),
    (lambda c: c.api_keys.rotate("k1", overlap_seconds=60), "POST", "/v1/api-keys/k1/rotate", {"overlap_seconds": 60}),
    (lambda c: c.api_keys.revoke("k1"), "DELETE", "/v1/api-keys/k1", None),
    (lambda c: c.api_keys.revoke("k1", last=True), "DELETE", "/v1/api-keys/k1?last=true", None),
    (lambda c: c.portal_sessions.create(capabilities=["view"]), "POST", "/v1/portal-sessions", {"capabilities": ["view"]}),
    (lambda c: c.portal_sessions.create(language="en"), "POST", "/v1/portal-sessions", {"language": "en"}),
    (lambda c: list(c.portal_sessions.list()), "GET", "/v1/portal-sessions", None),
    (lambda c: c.portal_sessions.end("s1"), "DELETE", "/v1/portal-sessions/s1", None),
    (lambda c: c.signing_keys.list(), "GET", "/v1/signing-keys", None),
    (lambda c: c.signing_keys.rotate(immediate=True), "POST", "/v1/signing-keys/rotate", {"immediate": True}),
    (lambda c: c.operations.get(), "GET", "/v1/operations", None),
    (lambda c: c.operations.last_day(), "GET", "/v1/operations/last-day", None),
    (lambda c: c.operations.readiness(), "GET", "/v1/operations/readiness", None),
    (lambda c: list(c.operations.webhooks(state="disabled")), "GET", "/v1/operations/webhooks?state=disabled", None),
    (lambda c: c.operations.accounts(by="events"), "GET", "/v1/operations/accounts?by=events", None),
    (lambda c: c.operations.pause_queue("deliveries"), "POST", "/v1/operations/queues/deliveries/pause", {}),
    (lambda c: c.operations.resume_queue("deliveries"), "POST", "/v1/operations/queues/deliveries/resume", None),
    (lambda c: list(c.dead_letters.list(queue="events")), "GET", "/v1/dead-letters?queue=events", None),
    (lambda c: c.dead_letters.get("d:1"), "GET", "/v1/dead-letters/d%3A1", None),
    (lambda c: c.dead_letters.retry("d1"), "POST", "/v1/dead-letters/d1/retry", None),
    (lambda c: c.dead_letters.drop("d1"), "DELETE", "/v1/dead-letters/d1", None),
    (lambda c: c.metrics.deliveries("2026-01-01T00:00:00Z", group_by="webhook"), "GET", "/v1/metrics/deliveries?since=2026-01-01T00%3A00%3A00Z&group_by=webhook", None),
    (lambda c: c.metrics.events("2026-01-01T00:00:00Z", interval="5m"), "GET", "/v1/metrics/events?since=2026-01-01T00%3A00%3A00Z&interval=5m", None),
    (lambda c: c.me(), "GET", "/v1/me", None),
    (lambda c: c.usage(), "GET", "/v1/account/usage", None),
    (lambda c: c.source_addresses(), "GET", "/v1/source-addresses", None),
    (lambda c: c.status(), "GET", "/v1/status", None),
    (lambda c: c.request("get", "/v1/account/usage", query={"a b": True, "none": None}), "GET", "/v1/account/usage?a+b=true", None),
    (lambda c: c.webhooks.get("a/../b?c#d é"), "GET", "/v1/webhooks/a%2F..%2Fb%3Fc%23d%20%C3%A9", None),
]

# Exports have tests of their own. The others are for browsers, receivers and the command line.
ELSEWHERE = (
    "/v1/deliveries/export",
    "/v1/audit-log",
    "/v1/audit-log/export",
    "/v1/stream",
    "/v1/listeners",
    "/v1/listeners/{id}/stream",
    "/v1/listeners/{id}/responses",
    "/v1/portal-sessions/exchange",
    "/.well-known/webhooks/{account_id}/jwks.json",
)


def matches(path: str, target: str) -> bool:
    return re.fullmatch(re.sub(r"\{[^}]+\}", "[^/]+", path), target) is not None


class ClientTest(unittest.TestCase):
    def test_each_operation_is_its_request(self) -> None:
        for call, method, target, content in OPERATIONS:
            with self.subTest(f"{method} {target}"), LocalServer(response(200, {"data": [], "secret": "s", "discarded": 1})) as server:
                call(Client(server.url + "/", KEY))
                (request,) = server.requests
                self.assertEqual((request.method, request.target), (method, target))
                self.assertEqual(json.loads(request.body) if request.body else None, content)
                self.assertEqual(request.headers["authorization"], f"Bearer {KEY}")
                self.assertEqual(request.headers.get("content-type"), "application/json" if request.body else None)

    def test_has_an_operation_for_each_route(self) -> None:
        description = json.loads((Path(__file__).resolve().parents[3] / "docs" / "openapi.json").read_text("utf-8"))
        calls = {(method, target.split("?")[0]) for _, method, target, _ in OPERATIONS}
        missing = [
            f"{method.upper()} {path}"
            for path, operations in description["paths"].items()
            for method in operations
            if method != "parameters" and path not in ELSEWHERE
            and not any(called == method.upper() and matches(path, target) for called, target in calls)
        ]
        self.assertEqual(missing, [])

    def test_acts_for_the_account_and_sends_more_headers(self) -> None:
        with LocalServer(response(200, {}), response(200, {}), response(200, {})) as server:
            client = Client(server.url, KEY, account="acme")
            client.webhooks.get("crm")
            client.request("PATCH", "/v1/webhooks/crm", {}, headers={"If-Match": '"7"', "x-account-id": "globex", "content-type": "application/merge-patch+json"})
            Client(server.url, KEY).webhooks.get("crm")
        found = [(r.headers.get("x-account-id"), r.headers.get("if-match"), r.headers.get("content-type")) for r in server.requests]
        self.assertEqual(found, [("acme", None, None), ("globex", '"7"', "application/merge-patch+json"), (None, None, None)])

    def test_gives_the_json_of_the_response_and_none_without_one(self) -> None:
        with LocalServer(response(200, {"n": 9007199254740993}), response(204)) as server:
            client = Client(server.url, KEY)
            self.assertEqual(client.request("GET", "/v1/x"), {"n": 9007199254740993})
            self.assertIsNone(client.request("DELETE", "/v1/x"))

    def test_a_base_url_can_have_a_path(self) -> None:
        with LocalServer(response(200, {})) as server:
            Client(f"{server.url}/hooks/", KEY).webhooks.get("crm")
            self.assertEqual(server.requests[0].target, "/hooks/v1/webhooks/crm")

    def test_lists_go_on_to_the_last_page_and_no_further_than_they_are_read(self) -> None:
        first = response(200, {"data": [{"id": "a"}, {"id": "b"}], "next_cursor": "c/1", "has_more": True})
        last = response(200, {"data": [{"id": "c"}], "next_cursor": None, "has_more": False})
        with LocalServer(first, last) as server:
            items = Client(server.url, KEY).webhooks.list(limit=2)
            self.assertEqual([next(items)["id"], next(items)["id"]], ["a", "b"])
            self.assertEqual(len(server.requests), 1)
            self.assertEqual([item["id"] for item in items], ["c"])
            targets = [request.target for request in server.requests]
        self.assertEqual(targets, ["/v1/webhooks?limit=2", "/v1/webhooks?limit=2&cursor=c%2F1"])

    def test_an_error_of_the_api_has_all_that_it_said(self) -> None:
        errors = [{"pointer": "/url", "detail": "must be an absolute URL"}]
        with LocalServer(problem(422, "invalid_request", {"Retry-After": "3"}, errors=errors)) as server:
            with self.assertRaises(ApiError) as caught:
                Client(server.url, KEY).webhooks.create("x", ["*"])
        error = caught.exception
        found = (error.status, error.code, error.detail, error.errors, error.request_id, error.retry_after)
        self.assertEqual(found, (422, "invalid_request", "It is invalid_request.", errors, "req_1", 3.0))
        for part in ("POST /v1/webhooks", "422 invalid_request", "/url: must be an absolute URL", "req_1"):
            self.assertIn(part, str(error))

    def test_what_is_not_the_api_is_said_to_be_so(self) -> None:
        page = b"HTTP/1.1 502 Bad\r\nContent-Length: 4\r\n\r\n<p/>"
        moved = b"HTTP/1.1 301 Moved\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n"
        fine = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n<p/>"
        odd = response(500, {"code": 7})
        for reply, hint in ((page, "proxy"), (moved, "redirects"), (fine, "base_url"), (odd, "proxy")):
            with self.subTest(hint), LocalServer(reply) as server:
                with self.assertRaisesRegex(ApiError, hint) as caught:
                    Client(server.url, KEY).webhooks.get("crm")
                self.assertEqual(caught.exception.code, "unexpected_response")
                self.assertEqual(len(server.requests), 1)

    def test_the_key_is_in_no_message_and_no_repr(self) -> None:
        with LocalServer(problem(401, "unauthenticated"), b"") as server:
            client = Client(server.url, KEY, retries=0)
            said = [repr(client)]
            for _ in range(2):
                with self.assertRaises((ApiError, ConnectionFailed)) as caught:
                    client.webhooks.get("crm")
                said.append(str(caught.exception) + repr(caught.exception) + repr(caught.exception.__cause__))
        for key in (f"{KEY}\n", f"{KEY}\r\nX: y", f"{KEY} ", f"{KEY}é"):
            with self.assertRaises(ValueError) as refused:
                Client("http://127.0.0.1:1", key)
            said.append(str(refused.exception))
        self.assertNotIn(KEY[4:], "".join(said))
        self.assertIn(server.url, said[0])

    def test_settings_that_are_none_are_refused_with_a_reason(self) -> None:
        urls = ("", "127.0.0.1:3000", "ftp://a", "http://", "http://u:pass@a", "http://a?b", "http://a/v1", "http://a b", "http://a:b", None)
        for url in urls:
            with self.assertRaisesRegex(ValueError, "base_url") as caught:
                Client(url, KEY)  # type: ignore[arg-type]
            self.assertNotIn("pass", str(caught.exception).replace("password", ""))
        for key in ("", " ", None, "whsec_x"):
            with self.assertRaisesRegex(ValueError, "api_key"):
                Client("http://a", key)  # type: ignore[arg-type]
        with self.assertRaisesRegex(ValueError, "timeout"):
            Client("http://a", KEY, timeout=0)
        for account in ("", "a b", "a\r\nX: y", 7):
            with self.assertRaisesRegex(ValueError, "account must be"):
                Client("http://a", KEY, account=account)  # type: ignore[arg-type]
        with self.assertRaisesRegex(ValueError, "retries"):
            Client("http://a", KEY, retries=-1)

    def test_what_cannot_be_sent_is_refused_before_anything_is(self) -> None:
        client = Client("http://127.0.0.1:1", KEY)
        calls: List[Callable[[], Any]] = [
            lambda: client.webhooks.get(""),
            lambda: client.webhooks.delete(".."),
            lambda: client.webhooks.create("https://a", "*"),
            lambda: client.events.publish("a.b", float("nan")),
            lambda: client.events.publish("a.b", 1, idempotency_key="a b"),
            lambda: client.transformations.try_out(event_type="a.b"),
            lambda: client.request("GET", "v1/webhooks"),
            lambda: client.request("GET", "/v1/webhooks?limit=1"),
            lambda: client.request("GET", "/v1 HTTP/1.1\r\nX: y"),
            lambda: client.request("GET", "/v1/me", headers={"Authorization": "Bearer x"}),
            lambda: client.request("GET", "/v1/me", headers={"X": "a\r\nY: b"}),
            lambda: client.request("GET", "/v1/me", headers={"X Y": "a"}),
            lambda: client.api_keys.create("ci", "admin"),
        ]
        for call in calls:
            with self.assertRaises(ValueError):
                call()


if __name__ == "__main__":
    unittest.main()
