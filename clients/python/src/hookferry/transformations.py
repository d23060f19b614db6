"""Transformations: code of webhooks that changes the body of their requests."""

from __future__ import annotations

from typing import Any, List, Mapping, Optional

from .api_requests import ApiRequests, segment
from .json_object import JsonObject, without_absent


class Transformations:
    """`webhook_id` is the id or the `uid` of a webhook. `code` is a JavaScript module whose default export is a
    function of the event."""

    def __init__(self, requests: ApiRequests) -> None:
        self._requests = requests

    def get(self, webhook_id: str) -> JsonObject:
        """The webhook's transformation: `version`, `code`, `enabled`, `saved_at`, `saved_by`."""
        transformation: JsonObject = self._requests.send("GET", _path_of(webhook_id))
        return transformation

    def put(self, webhook_id: str, code: str, *, enabled: bool = True) -> JsonObject:
        """Set the code, and return the transformation. Other code makes a new version.

        enabled: False keeps the code, but sends events without it. Raises ApiError `invalid_request`, with line and
        column, if the code does not parse or exports no function.
        """
        body = {"code": code, "enabled": enabled}
        transformation: JsonObject = self._requests.send("PUT", _path_of(webhook_id), body)
        return transformation

    def delete(self, webhook_id: str) -> None:
        """Remove the code: events are sent without it. Its versions stay."""
        self._requests.send("DELETE", _path_of(webhook_id))

    def versions(self, webhook_id: str) -> List[JsonObject]:
        """The last 20 versions, newest first, with who saved each and when."""
        versions: List[JsonObject] = self._requests.send("GET", f"{_path_of(webhook_id)}/versions")["data"]
        return versions

    def restore(self, webhook_id: str, version: int) -> JsonObject:
        """Go back to the code of an earlier version. It becomes a new version."""
        path = f"{_path_of(webhook_id)}/versions/{segment(str(version))}/restore"
        transformation: JsonObject = self._requests.send("POST", path)
        return transformation

    def try_out(
        self,
        code: Optional[str] = None,
        *,
        webhook_id: Optional[str] = None,
        event_type: Optional[str] = None,
        event_id: Optional[str] = None,
        event: Optional[Mapping[str, Any]] = None,
    ) -> JsonObject:
        """Run code on an event. Returns `outcome` (`made`, `cancelled` or `failed`), `body`, `headers`, `error`, `logs`
        and `duration_ms`. Nothing is sent. Code that fails raises nothing.

        code: by default that of the webhook. Give one of event_type (its example is used), event_id (a published event) and
        event (`{"type": …, "data": …}`, which need not be published).
        """
        if code is None and webhook_id is None:
            raise ValueError("try_out needs code, or the webhook_id of a webhook that has some.")
        path = "/v1/transformations/try" if webhook_id is None else f"{_path_of(webhook_id)}/try"
        body = without_absent(code=code, event_type=event_type, event_id=event_id, event=event)
        tried: JsonObject = self._requests.send("POST", path, body)
        return tried

    def templates(self) -> List[JsonObject]:
        """Templates of code, for Slack, Teams, PagerDuty and others."""
        templates: List[JsonObject] = self._requests.send("GET", "/v1/transformations/templates")["data"]
        return templates


def _path_of(webhook_id: str) -> str:
    return f"/v1/webhooks/{segment(webhook_id)}/transformation"
