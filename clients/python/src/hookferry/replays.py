"""Replays: the events of a time range, sent to one webhook again."""

from __future__ import annotations

from typing import Iterator, Optional

from .api_requests import ApiRequests, segment
from .json_object import JsonObject, without_absent
from .pages import iterate


class Replays:
    def __init__(self, requests: ApiRequests) -> None:
        self._requests = requests

    def create(
        self,
        webhook_id: str,
        since: str,
        mode: str,
        *,
        until: Optional[str] = None,
        rate: Optional[int] = None,
        dry_run: Optional[bool] = None,
        idempotency_key: Optional[str] = None,
    ) -> JsonObject:
        """Start a replay and return it. It runs in the background.

        mode: `failed`, `pending`, `missing` or `all`. since, until: RFC 3339. rate: events a second. dry_run: only count.
        """
        body = {"since": since, "mode": mode, **without_absent(until=until, rate=rate, dry_run=dry_run)}
        path = f"/v1/webhooks/{segment(webhook_id)}/replays"
        replay: JsonObject = self._requests.send("POST", path, body, idempotency_key=idempotency_key)
        return replay

    def list(self, webhook_id: str, *, limit: Optional[int] = None) -> Iterator[JsonObject]:
        """A webhook's replays, page by page of `limit` (1 to 200)."""
        path = f"/v1/webhooks/{segment(webhook_id)}/replays"
        return iterate(self._requests, path, without_absent(limit=limit))

    def get(self, replay_id: str, *, with_results: bool = False) -> JsonObject:
        """The replay, with its progress. with_results: also how the deliveries that it has sent are now."""
        query = without_absent(include="results" if with_results else None)
        replay: JsonObject = self._requests.send("GET", f"/v1/replays/{segment(replay_id)}", query=query)
        return replay

    def deliveries(
        self,
        replay_id: str,
        *,
        status: Optional[str] = None,
        result: Optional[str] = None,
        limit: Optional[int] = None,
    ) -> Iterator[JsonObject]:
        """The deliveries that a replay has sent, without the attempts, page by page of `limit` (1 to 200).

        result: only those that `get(…, with_results=True)` counts as `delivered`, `pending`, `failed` or `cancelled`.
        """
        query = without_absent(status=status, result=result, limit=limit)
        return iterate(self._requests, f"/v1/replays/{segment(replay_id)}/deliveries", query)

    def cancel(self, replay_id: str) -> None:
        """Cancel a replay. Deliveries that are on the queue already are sent."""
        self._requests.send("DELETE", f"/v1/replays/{segment(replay_id)}")
