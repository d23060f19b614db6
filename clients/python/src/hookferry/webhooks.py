"""Webhooks: where events go."""

from __future__ import annotations

from typing import Any, Iterator, Mapping, Optional, Sequence

from .api_requests import ApiRequests, segment
from .json_object import JsonObject, without_absent
from .pages import iterate


class Webhooks:
    """`webhook_id` is the id or the `uid` of a webhook."""

    def __init__(self, requests: ApiRequests) -> None:
        self._requests = requests

    def create(
        self, url: str, events: Sequence[str], *, idempotency_key: Optional[str] = None, **members: Any
    ) -> JsonObject:
        """Register a webhook. Returns it with its `secret`.

        events: types (`order.created`), prefixes (`order.*`) or `*`. members: `uid`, `metadata`, `headers`, `secret`,
        `filter`, `rate_limit`, `rate_limit_unit`, `max_concurrency`, `timeout_ms`, `retry_schedule`, `signing`, `tls`,
        `status`, `description`, `verification` (`challenge` or `cloudevents`),
        `ordering` (`none`, `strict` or `group`), `coalesce` (`{"window_ms": …}`: only a group's newest event;
        neither with `batch` nor with the format `cloudevents_batch`),
        `batch` (`{"max_events": …, "max_wait_ms": …, "max_bytes": …}`: several events in one request),
        `format` (`native`, `cloudevents_structured`, `cloudevents_binary`, `cloudevents_batch`), `cloudevents`,
        `auth` (what requests carry in `Authorization`: `{"type": "oauth2", "token_url": …, "client_id": …,
        "client_secret": …}`, or of the type `basic` or `bearer`; its secrets are never shown again).
        """
        if isinstance(events, str):
            raise ValueError(f'events must be a list, such as ["{events}"].')
        body = {"url": url, "events": list(events), **members}
        return self._post("/v1/webhooks", body, idempotency_key)

    def list(
        self,
        *,
        status: Optional[str] = None,
        event_type: Optional[str] = None,
        include: Optional[str] = None,
        limit: Optional[int] = None,
    ) -> Iterator[JsonObject]:
        """All webhooks, page by page of `limit` (1 to 200). status: `enabled` or `disabled`. include: `health`."""
        query = without_absent(status=status, event_type=event_type, include=include, limit=limit)
        return iterate(self._requests, "/v1/webhooks", query)

    def get(self, webhook_id: str) -> JsonObject:
        """The webhook, with its `health`."""
        webhook: JsonObject = self._requests.send("GET", _path_of(webhook_id))
        return webhook

    def update(self, webhook_id: str, changes: Mapping[str, Any]) -> JsonObject:
        """Change a webhook, and return it.

        Members that `changes` leaves out stay, None removes one, lists are replaced.
        """
        webhook: JsonObject = self._requests.send("PATCH", _path_of(webhook_id), json=changes)
        return webhook

    def delete(self, webhook_id: str) -> None:
        """Delete a webhook. Its pending deliveries are cancelled.

        ApiError `not_found` may mean that an earlier attempt of this call deleted it.
        """
        self._requests.send("DELETE", _path_of(webhook_id))

    def enable(self, webhook_id: str) -> JsonObject:
        """Enable a webhook. Its held deliveries are sent."""
        return self._post(f"{_path_of(webhook_id)}/enable", None, None)

    def disable(self, webhook_id: str) -> JsonObject:
        """Disable a webhook. Its deliveries are held until it is enabled, or discarded, as its `while_disabled` says."""
        return self._post(f"{_path_of(webhook_id)}/disable", None, None)

    def discard_held(self, webhook_id: str) -> int:
        """End what a webhook holds now, as `cancelled`. Returns how many deliveries that are. A replay can send them."""
        return int(self._post(f"{_path_of(webhook_id)}/discard-held", None, None)["discarded"])

    def verify(self, webhook_id: str) -> JsonObject:
        """Ask the receiver again to prove that it wants the events. It gets the request within seconds.

        ApiError `conflict`: the webhook is verified already, or is disabled. `rate_limited`: at most five an hour for
        webhooks at one host.
        """
        return self._post(f"{_path_of(webhook_id)}/verify", None, None)

    def get_secret(self, webhook_id: str) -> str:
        """The secret that signs now."""
        response = self._requests.send("GET", f"{_path_of(webhook_id)}/secret")
        return str(response["secret"])

    def rotate_secret(
        self,
        webhook_id: str,
        *,
        overlap_seconds: Optional[int] = None,
        secret: Optional[str] = None,
        idempotency_key: Optional[str] = None,
    ) -> JsonObject:
        """Create a new secret. Returns `secret` and `previous_secret_expires_at`.

        Both secrets sign for the overlap (default: a day).
        """
        body = without_absent(overlap_seconds=overlap_seconds, secret=secret)
        return self._post(f"{_path_of(webhook_id)}/rotate-secret", body, idempotency_key)

    def test(
        self, webhook_id: str, event_type: Optional[str] = None, *, idempotency_key: Optional[str] = None
    ) -> JsonObject:
        """Send an example event to this webhook alone. Returns its `event_id` and `delivery_id`."""
        return self._post(f"{_path_of(webhook_id)}/test", without_absent(event_type=event_type), idempotency_key)

    def try_filter(self, filter: Mapping[str, Any], **members: Any) -> JsonObject:
        """Try a filter and store nothing.

        members: one of `data`, `event_id`, `events` and `last`: what it is tried on. `event_type`: whose schema it has to
        suit.
        """
        return self._post("/v1/filters/try", {"filter": filter, **members}, None)

    def _post(self, path: str, body: Optional[JsonObject], idempotency_key: Optional[str]) -> JsonObject:
        response: JsonObject = self._requests.send("POST", path, json=body, idempotency_key=idempotency_key)
        return response


def _path_of(webhook_id: str) -> str:
    return f"/v1/webhooks/{segment(webhook_id)}"
