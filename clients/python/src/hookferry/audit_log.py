"""Who changed and did what."""

from __future__ import annotations

from typing import Iterator, Optional

from .api_requests import ApiRequests
from .export import export_lines
from .json_object import JsonObject, without_absent
from .pages import iterate


class AuditLog:
    def __init__(self, requests: ApiRequests) -> None:
        self._requests = requests

    def list(
        self,
        *,
        actor: Optional[str] = None,
        action: Optional[str] = None,
        target: Optional[str] = None,
        since: Optional[str] = None,
        until: Optional[str] = None,
        account_id: Optional[str] = None,
        limit: Optional[int] = None,
    ) -> Iterator[JsonObject]:
        """The entries, newest first, page by page of `limit` (1 to 200).

        actor: the id of a key or a session. action: `webhook.update`, or `webhook.*`. target: the id of what it was
        about. since, until: RFC 3339. account_id: for operators, another account, or `*` for all of them.
        """
        query = without_absent(
            actor=actor,
            action=action,
            target=target,
            since=since,
            until=until,
            account_id=account_id,
            limit=limit,
        )
        return iterate(self._requests, "/v1/audit-log", query)

    def export(
        self,
        *,
        since: Optional[str] = None,
        until: Optional[str] = None,
        account_id: Optional[str] = None,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
    ) -> Iterator[JsonObject]:
        """Every entry, newest first. After a broken connection the export continues where it was.

        limit: the most entries. cursor: the cursor of an entry, to continue after it.
        """
        query = without_absent(since=since, until=until, account_id=account_id, limit=limit, cursor=cursor)
        return export_lines(self._requests, "/v1/audit-log/export", query)
