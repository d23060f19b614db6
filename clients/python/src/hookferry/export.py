"""Exports: all records of one kind of an account, line by line."""

from __future__ import annotations

import json
from typing import Dict, Iterator, Optional, Union

from .api_error import ApiError
from .api_requests import ApiRequests
from .connection_failed import ConnectionFailed
from .json_object import JsonObject, Query
from .retry import delay_after


def export_lines(requests: ApiRequests, path: str, query: Query) -> Iterator[JsonObject]:
    """The lines of an export, one after the other. Memory does not grow with their number.

    After a broken connection the export continues after the last complete line: no line comes twice or is left out. If
    more connections than `retries` fail in a row without a line, ConnectionFailed is raised, with the `cursor` to
    continue from.
    """
    asked: Dict[str, Union[str, int, float, bool, None]] = dict(query)
    failures = 0
    while asked.get("limit") != 0:
        try:
            for line in requests.read_lines(path, asked):
                # The service sends empty lines to keep the connection open.
                if line == b"":
                    continue
                item: JsonObject = json.loads(line)
                asked["cursor"] = item["cursor"]
                asked["limit"] = _one_less(asked.get("limit"))
                failures = 0
                yield item
            return
        except (ApiError, ConnectionFailed) as failure:
            delay = delay_after(failure, failures, is_repeatable=True) if failures < requests.retries else None
            if delay is None:
                raise _with_cursor(failure, asked) from failure.__cause__
        failures += 1
        requests.sleep(delay)


def _one_less(limit: Optional[Union[str, int, float, bool]]) -> Optional[int]:
    return None if limit is None else int(limit) - 1


def _with_cursor(failure: Union[ApiError, ConnectionFailed], asked: Query) -> Exception:
    if isinstance(failure, ConnectionFailed):
        cursor = asked.get("cursor")
        failure.cursor = None if cursor is None else str(cursor)
    return failure
