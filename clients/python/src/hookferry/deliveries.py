"""Deliveries: events on their way to a webhook."""

from __future__ import annotations

from typing import Any, Iterator, Mapping, Optional

from .api_requests import ApiRequests, segment
from .export import export_lines
from .json_object import JsonObject, searched, without_absent
from .pages import iterate


class Deliveries:
    def __init__(self, requests: ApiRequests) -> None:
        self._requests = requests

    def list(
        self,
        webhook_id: Optional[str] = None,
        *,
        event_id: Optional[str] = None,
        status: Optional[str] = None,
        status_class: Optional[str] = None,
        response_status: Optional[int] = None,
        outcome: Optional[str] = None,
        attempt_outcome: Optional[str] = None,
        attempted_since: Optional[str] = None,
        attempted_until: Optional[str] = None,
        event_type: Optional[str] = None,
        data: Optional[Mapping[str, Any]] = None,
        since: Optional[str] = None,
        until: Optional[str] = None,
        limit: Optional[int] = None,
    ) -> Iterator[JsonObject]:
        """The account's deliveries, or those to a webhook, without the attempts, page by page of `limit` (1 to 200).

        status: `pending`, `held`, `delivered`, `exhausted`, `aborted`, `cancelled`,
        `superseded`. status_class: `2xx`, …, `none`.
        outcome: that of the last attempt, such as `delivered` or `http_5xx`. data: only events whose data contain this.
        attempt_outcome, attempted_since, attempted_until: of any attempt. Several outcomes are separated by commas;
        `failed` stands for all but `delivered`.
        """
        query = without_absent(
            webhook_id=webhook_id,
            event_id=event_id,
            status=status,
            status_class=status_class,
            response_status=response_status,
            outcome=outcome,
            attempt_outcome=attempt_outcome,
            attempted_since=attempted_since,
            attempted_until=attempted_until,
            event_type=event_type,
            data=searched(data),
            since=since,
            until=until,
            limit=limit,
        )
        return iterate(self._requests, "/v1/deliveries", query)

    def list_of_webhook(
        self, webhook_id: str, *, status: Optional[str] = None, limit: Optional[int] = None
    ) -> Iterator[JsonObject]:
        """A webhook's deliveries, the newest first."""
        query = without_absent(status=status, limit=limit)
        return iterate(self._requests, f"/v1/webhooks/{segment(webhook_id)}/deliveries", query)

    def list_of_event(
        self,
        event_id: str,
        *,
        status: Optional[str] = None,
        status_class: Optional[str] = None,
        limit: Optional[int] = None,
    ) -> Iterator[JsonObject]:
        """An event's deliveries, without the attempts."""
        query = without_absent(status=status, status_class=status_class, limit=limit)
        return iterate(self._requests, f"/v1/events/{segment(event_id)}/deliveries", query)

    def get(self, delivery_id: str) -> JsonObject:
        """The delivery, with each attempt."""
        delivery: JsonObject = self._requests.send("GET", f"/v1/deliveries/{segment(delivery_id)}")
        return delivery

    def get_content(self, delivery_id: str) -> JsonObject:
        """The body that the delivery sends, and the headers that describe it."""
        content: JsonObject = self._requests.send("GET", f"/v1/deliveries/{segment(delivery_id)}/content")
        return content

    def redeliver(self, delivery_id: str, *, idempotency_key: Optional[str] = None) -> JsonObject:
        """Redeliver: send a delivery once more, now, and return it."""
        path = f"/v1/deliveries/{segment(delivery_id)}/redeliver"
        delivery: JsonObject = self._requests.send("POST", path, idempotency_key=idempotency_key)
        return delivery

    def export(
        self,
        *,
        since: Optional[str] = None,
        until: Optional[str] = None,
        webhook_id: Optional[str] = None,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
    ) -> Iterator[JsonObject]:
        """Every attempt of the account, one by one. After a broken connection the export continues where it was.

        since, until: when the event was accepted, RFC 3339. limit: the most attempts. cursor: the cursor of an attempt,
        to continue after it.
        """
        query = without_absent(since=since, until=until, webhook_id=webhook_id, limit=limit, cursor=cursor)
        return export_lines(self._requests, "/v1/deliveries/export", query)
