"""What is raised when there was no whole answer."""

from __future__ import annotations

from typing import Optional


class ConnectionFailed(Exception):
    """No whole answer came, so what was asked may or may not have been done. `__cause__` has the reason.

    `cursor` is where a broken export can go on; None for everything else, and before the first line.
    """

    def __init__(self, request: str, reason: str, *, cursor: Optional[str] = None) -> None:
        super().__init__(f"{request} got no whole answer: {reason}")
        self.cursor = cursor
