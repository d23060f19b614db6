"""Event types: what can be published."""

from __future__ import annotations

from typing import Iterator

from .api_requests import ApiRequests, segment
from .json_object import JsonObject
from .pages import iterate


class EventTypes:
    def __init__(self, requests: ApiRequests) -> None:
        self._requests = requests

    def list(self) -> Iterator[JsonObject]:
        """All event types."""
        return iterate(self._requests, "/v1/event-types", {})

    def get(self, name: str) -> JsonObject:
        """One type: its JSON Schema, and an example."""
        event_type: JsonObject = self._requests.send("GET", f"/v1/event-types/{segment(name)}")
        return event_type
