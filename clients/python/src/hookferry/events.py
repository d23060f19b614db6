"""Events: what is published."""

from __future__ import annotations

from typing import Any, Iterator, List, Mapping, Optional, Sequence

from .api_requests import ApiRequests, segment
from .json_object import JsonObject, searched, without_absent
from .pages import iterate


class Events:
    def __init__(self, requests: ApiRequests) -> None:
        self._requests = requests

    def publish(
        self,
        type: str,
        data: Any,
        *,
        id: Optional[str] = None,
        webhook_ids: Optional[Sequence[str]] = None,
        deliver_at: Optional[str] = None,
        group: Optional[str] = None,
        idempotency_key: Optional[str] = None,
    ) -> JsonObject:
        """Publish an event. Returns its `id`, `type` and `created_at`. It is stored, and will be delivered.

        id: an id of your own. Publishing again with the same id makes no second event. webhook_ids: only these webhooks
        get it, by id or `uid`. deliver_at: when to send it (RFC 3339), at most some weeks ahead; until then it has the
        status `scheduled`. group: the thing that it belongs to, such as an order. Webhooks can get the events of a
        group in order.
        """
        optional = without_absent(id=id, webhook_ids=webhook_ids, deliver_at=deliver_at, group=group)
        body = {"type": type, "data": data, **optional}
        event: JsonObject = self._requests.send("POST", "/v1/events", body, idempotency_key=idempotency_key)
        return event

    def publish_batch(
        self, events: Sequence[Mapping[str, Any]], *, idempotency_key: Optional[str] = None
    ) -> List[JsonObject]:
        """Publish up to 500 events. Returns a result for each, in their order: `status_code`, and the result of `publish` or
        `error`.

        Each event is a dict with the arguments of `publish`. A refused event raises nothing and does not affect the
        others: check each `status_code`.
        """
        body = {"events": list(events)}
        response = self._requests.send("POST", "/v1/events/batch", body, idempotency_key=idempotency_key)
        results: List[JsonObject] = response["data"]
        return results

    def get(self, event_id: str) -> JsonObject:
        """The event, with its `data` and how many deliveries have which status."""
        event: JsonObject = self._requests.send("GET", f"/v1/events/{segment(event_id)}")
        return event

    def reschedule(self, event_id: str, deliver_at: str) -> JsonObject:
        """Move a scheduled event to another time (RFC 3339). Raises ApiError `already_due` once it is due."""
        path = f"/v1/events/{segment(event_id)}"
        event: JsonObject = self._requests.send("PATCH", path, {"deliver_at": deliver_at})
        return event

    def cancel(self, event_id: str) -> None:
        """Cancel a scheduled event: it is not sent. Raises ApiError `already_due` once it is due."""
        self._requests.send("DELETE", f"/v1/events/{segment(event_id)}")

    def erase_payload(self, event_id: str) -> None:
        """Erase the event's data. Its deliveries that are pending are cancelled."""
        self._requests.send("DELETE", f"/v1/events/{segment(event_id)}/payload")

    def list(
        self,
        *,
        status: Optional[str] = None,
        type: Optional[str] = None,
        data: Optional[Mapping[str, Any]] = None,
        since: Optional[str] = None,
        until: Optional[str] = None,
        limit: Optional[int] = None,
    ) -> Iterator[JsonObject]:
        """All events, without their data, page by page of `limit` (1 to 200). since, until: RFC 3339.

        data: only those whose data contain this. status: `scheduled` for those that wait, the next one first.
        """
        query = without_absent(status=status, type=type, data=searched(data), since=since, until=until, limit=limit)
        return iterate(self._requests, "/v1/events", query)

    def explanations(
        self,
        event_id: str,
        *,
        webhook_id: Optional[str] = None,
        limit: Optional[int] = None,
    ) -> Iterator[JsonObject]:
        """For each webhook, whether the event went there, and why not. webhook_id: only for this one."""
        query = without_absent(webhook_id=webhook_id, limit=limit)
        return iterate(self._requests, f"/v1/events/{segment(event_id)}/explanations", query)
