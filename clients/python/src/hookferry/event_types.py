"""Event types: what can be published."""

from __future__ import annotations

from typing import Any, Iterator, Mapping, Union

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

    def put(
        self,
        name: str,
        description: str,
        schema: Union[bool, Mapping[str, Any]],
        example: Any,
        *,
        deprecated: bool = False,
    ) -> JsonObject:
        """Adds a type for all accounts, or replaces one that was added. For the operator's admin keys.

        schema: of `data`, JSON Schema 2020-12. example: `data` as the schema asks.
        """
        body = {"description": description, "schema": schema, "example": example, "deprecated": deprecated}
        event_type: JsonObject = self._requests.send("PUT", f"/v1/event-types/{segment(name)}", json=body)
        return event_type

    def delete(self, name: str) -> None:
        """Removes a type that was added; `conflict` while webhooks ask for it. For the operator's admin keys.

        A 404 may be the answer to a second try of one that worked.
        """
        self._requests.send("DELETE", f"/v1/event-types/{segment(name)}")
