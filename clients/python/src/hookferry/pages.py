"""Lists come in pages."""

from __future__ import annotations

from typing import Dict, Iterator, Union

from .api_requests import ApiRequests
from .json_object import JsonObject, Query


def iterate(requests: ApiRequests, path: str, query: Query) -> Iterator[JsonObject]:
    """The items of all pages, newest first. Each page is requested when all items of the one before were taken.

    `limit` in the query is the size of a page (1 to 200), `cursor` the place to begin.
    """
    asked: Dict[str, Union[str, int, float, bool, None]] = dict(query)
    while True:
        page = requests.send("GET", path, query=asked)
        yield from page["data"]
        # Lists that have no pages have no cursor.
        if page.get("next_cursor") is None:
            return
        asked["cursor"] = page["next_cursor"]
