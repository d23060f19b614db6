"""The state of the installation, for its operator."""

from __future__ import annotations

from typing import Iterator, List, Optional

from .api_requests import ApiRequests, segment
from .json_object import JsonObject, without_absent
from .pages import iterate


class Operations:
    """Needs an admin key of the operator."""

    def __init__(self, requests: ApiRequests) -> None:
        self._requests = requests

    def get(self) -> JsonObject:
        """The state of queues and workers."""
        return self._get("/v1/operations")

    def last_day(self) -> JsonObject:
        """Samples of queues and workers of the last 24 hours."""
        return self._get("/v1/operations/last-day")

    def readiness(self) -> JsonObject:
        """What this installation lacks for production."""
        return self._get("/v1/operations/readiness")

    def webhooks(self, *, state: Optional[str] = None, limit: Optional[int] = None) -> Iterator[JsonObject]:
        """Webhooks of all accounts that are disabled or fail, page by page of `limit` (1 to 200)."""
        query = without_absent(state=state, limit=limit)
        return iterate(self._requests, "/v1/operations/webhooks", query)

    def accounts(self, *, by: Optional[str] = None, limit: Optional[int] = None) -> List[JsonObject]:
        """The accounts with the most use in the last 24 hours."""
        query = without_absent(by=by, limit=limit)
        accounts: List[JsonObject] = self._requests.send("GET", "/v1/operations/accounts", query=query)["data"]
        return accounts

    def pause_queue(self, name: str, *, reason: Optional[str] = None) -> JsonObject:
        """Pause `deliveries` or `events`: workers take no more of its jobs. Events are still accepted, and wait."""
        path = f"/v1/operations/queues/{segment(name)}/pause"
        queue: JsonObject = self._requests.send("POST", path, without_absent(reason=reason))
        return queue

    def resume_queue(self, name: str) -> JsonObject:
        queue: JsonObject = self._requests.send("POST", f"/v1/operations/queues/{segment(name)}/resume")
        return queue

    def _get(self, path: str) -> JsonObject:
        state: JsonObject = self._requests.send("GET", path)
        return state


class DeadLetters:
    """Jobs that are not valid, or failed for good. Needs an admin key of the operator."""

    def __init__(self, requests: ApiRequests) -> None:
        self._requests = requests

    def list(self, *, queue: Optional[str] = None, limit: Optional[int] = None) -> Iterator[JsonObject]:
        """Page by page of `limit` (1 to 200)."""
        return iterate(self._requests, "/v1/dead-letters", without_absent(queue=queue, limit=limit))

    def get(self, letter_id: str) -> JsonObject:
        """The dead letter with its data."""
        letter: JsonObject = self._requests.send("GET", _path_of(letter_id))
        return letter

    def retry(self, letter_id: str) -> None:
        """Put its job back onto its queue."""
        self._requests.send("POST", f"{_path_of(letter_id)}/retry")

    def drop(self, letter_id: str) -> None:
        """Drop it for good."""
        self._requests.send("DELETE", _path_of(letter_id))


class Metrics:
    """Counts over time, as docs/finding.md describes them. since, until: RFC 3339. interval: such as `5m`."""

    def __init__(self, requests: ApiRequests) -> None:
        self._requests = requests

    def deliveries(
        self,
        since: str,
        *,
        until: Optional[str] = None,
        interval: Optional[str] = None,
        group_by: Optional[str] = None,
        webhook_id: Optional[str] = None,
        event_type: Optional[str] = None,
    ) -> JsonObject:
        """Attempts, with their durations."""
        filters = without_absent(group_by=group_by, webhook_id=webhook_id, event_type=event_type)
        query = {"since": since, **without_absent(until=until, interval=interval), **filters}
        counts: JsonObject = self._requests.send("GET", "/v1/metrics/deliveries", query=query)
        return counts

    def events(self, since: str, *, until: Optional[str] = None, interval: Optional[str] = None) -> JsonObject:
        query = {"since": since, **without_absent(until=until, interval=interval)}
        counts: JsonObject = self._requests.send("GET", "/v1/metrics/events", query=query)
        return counts


def _path_of(letter_id: str) -> str:
    return f"/v1/dead-letters/{segment(letter_id)}"
