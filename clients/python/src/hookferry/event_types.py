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

    def get_schema(self, name: str) -> Union[bool, JsonObject]:
        """The JSON Schema of the type's data alone."""
        schema: Union[bool, JsonObject] = self._requests.send("GET", f"/v1/event-types/{segment(name)}/schema")
        return schema

    def put(
        self,
        name: str,
        description: str,
        schema: Union[bool, Mapping[str, Any]],
        example: Any,
        *,
        deprecated: bool = False,
    ) -> JsonObject:
        """Add a type for all accounts, or replace one that was added. Needs an admin key of the operator.

        schema: JSON Schema 2020-12 of `data`. example: an example of `data`, valid by the schema.
        """
        body = {"description": description, "schema": schema, "example": example, "deprecated": deprecated}
        event_type: JsonObject = self._requests.send("PUT", f"/v1/event-types/{segment(name)}", json=body)
        return event_type

    def delete(self, name: str) -> None:
        """Remove a type that was added. Needs an admin key of the operator. ApiError `conflict`: webhooks ask for the
        type.

        ApiError `not_found` may mean that an earlier attempt of this call removed it.
        """
        self._requests.send("DELETE", f"/v1/event-types/{segment(name)}")
