"""Which function handles which event type."""

from __future__ import annotations

import inspect
import re
from typing import Awaitable, Callable, Dict, List, Optional, Union

from .response import ReceiverResponse
from .event import Event

Result = Optional[ReceiverResponse]
Handler = Callable[[Event], Union[Result, Awaitable[Result]]]

_PATTERN = re.compile(r"\*|[^*\s]+\.\*|[^*\s]+")


class EventHandlers:
    """Handlers by event type: a name (`order.created`), a prefix (`order.*`) or `*`, the most exact one first."""

    def __init__(self) -> None:
        self._by_pattern: Dict[str, Handler] = {}

    def add(self, pattern: str, handler: Handler) -> None:
        """Raises ValueError if the pattern is not valid, or has a handler already."""
        if _PATTERN.fullmatch(pattern) is None:
            raise ValueError(f'"{pattern}" is not an event type, a prefix such as "order.*", or "*".')
        if pattern in self._by_pattern:
            raise ValueError(f'"{pattern}" has a handler already: let one function call both.')
        self._by_pattern[pattern] = handler

    def find(self, event_type: str) -> Optional[Handler]:
        """The handler of the most exact pattern that fits."""
        for pattern in _patterns_of(event_type):
            if pattern in self._by_pattern:
                return self._by_pattern[pattern]
        return None


def is_async(handler: Handler) -> bool:
    """Whether the function, or the object that is called, is an `async` one."""
    return inspect.iscoroutinefunction(handler) or inspect.iscoroutinefunction(getattr(handler, "__call__", None))


def _patterns_of(event_type: str) -> List[str]:
    parts = event_type.split(".")
    prefixes = [".".join(parts[:length]) + ".*" for length in range(len(parts) - 1, 0, -1)]
    return [event_type, *prefixes, "*"]
