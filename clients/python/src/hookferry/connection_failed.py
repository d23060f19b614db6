"""The error for a request without a complete response."""

from __future__ import annotations

from typing import Optional


class ConnectionFailed(Exception):
    """No complete response came. The API may or may not have carried out the request. `__cause__` has the reason.

    `cursor` is the place from which a broken export can continue. It is None for other requests, and before the first
    line.
    """

    def __init__(self, request: str, reason: str, *, cursor: Optional[str] = None) -> None:
        super().__init__(f"{request} got no whole response: {reason}")
        self.cursor = cursor
