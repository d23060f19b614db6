"""A transactional outbox in PostgreSQL: your transaction writes an event, and the relay of `@hookferry/outbox` publishes it."""

from __future__ import annotations

import json
import re
import secrets
import threading
import time
from typing import Any, Optional, Protocol, Sequence, Tuple

from .json_object import without_absent

_ID = re.compile(r"[A-Za-z0-9_-]{1,128}")
# It goes into the statement as it is.
_TABLE = re.compile(r"(?:[a-z_][a-z0-9_]{0,40}\.)?[a-z_][a-z0-9_]{0,40}")


class Cursor(Protocol):
    """A cursor of psycopg, psycopg2 or Django: what takes parameters as `%s`."""

    def execute(self, statement: Any, parameters: Any, /) -> Any: ...


def enqueue(
    cursor: Cursor,
    type: str,
    data: Any,
    *,
    account_id: Optional[str] = None,
    id: Optional[str] = None,
    webhook_ids: Optional[Sequence[str]] = None,
    deliver_at: Optional[str] = None,
    group: Optional[str] = None,
    table: str = "hookferry_outbox",
) -> str:
    """Put an event into the outbox, in the cursor's transaction. Returns the event's id.

    If the transaction is rolled back, there is no event. If it is committed, a relay publishes it. The arguments are
    those of `Events.publish`. account_id: whose event it is, `default` unless given. Raises ValueError for an event that
    could never be published.
    """
    statement, parameters = insert_of(
        type,
        data,
        account_id=account_id,
        id=id,
        webhook_ids=webhook_ids,
        deliver_at=deliver_at,
        group=group,
        table=table,
    )
    cursor.execute(statement, parameters)
    return parameters[0]


def insert_of(
    type: str,
    data: Any,
    *,
    account_id: Optional[str] = None,
    id: Optional[str] = None,
    webhook_ids: Optional[Sequence[str]] = None,
    deliver_at: Optional[str] = None,
    group: Optional[str] = None,
    table: str = "hookferry_outbox",
) -> Tuple[str, Tuple[str, str]]:
    """The statement of `enqueue` and its parameters, the event's id and the event, for libraries that run it themselves."""
    if not isinstance(type, str) or type == "":
        raise ValueError('The type of an event must be a text, such as "order.created".')
    if id is not None and not (isinstance(id, str) and _ID.fullmatch(id)):
        raise ValueError("The id of an event must be 1 to 128 of A-Z, a-z, 0-9, _ and -.")
    if not _TABLE.fullmatch(table):
        raise ValueError(f'The name of the table is "{table}". It must be such as app.hookferry_outbox.')
    event_id = _new_event_id() if id is None else id
    optional = without_absent(
        accountId=account_id,
        webhookIds=None if webhook_ids is None else list(webhook_ids),
        deliverAt=deliver_at,
        group=group,
    )
    event = {"type": type, "data": data, "id": event_id, **optional}
    try:
        text = json.dumps(event, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError) as error:
        raise ValueError(f"The event can't be written as JSON: {error}") from error
    return f"INSERT INTO {table} (event_id, event) VALUES (%s, %s)", (event_id, text)


_lock = threading.Lock()
_last_ms = 0
_count = 0


def _new_event_id() -> str:
    """In the order in which a process makes them they sort: a relay publishes many such events within a millisecond."""
    global _last_ms, _count
    with _lock:
        now_ms = max(time.time_ns() // 1_000_000, _last_ms)
        _count = _count + 1 if now_ms == _last_ms else 0
        _last_ms = now_ms
        return f"{now_ms:012x}{_count:05x}{secrets.token_hex(8)}"
