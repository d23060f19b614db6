"""Which events were handled already: an event may come more than once."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from dataclasses import dataclass
from typing import Callable, Literal, Protocol

Claim = Literal["claimed", "busy", "done"]

# The service may deliver an event for as long as it keeps it: RETENTION, 14 days by default.
DEFAULT_TTL_SECONDS = 14 * 86_400
DEFAULT_MAX_IDS = 100_000


class DeduplicationStore(Protocol):
    """Stores the ids of handled events. Each method must be atomic and thread-safe."""

    def claim(self, event_id: str, lease_seconds: float) -> Claim:
        """`claimed`: handle the event now. `busy`: another thread or process handles it. `done`: it was handled.

        A claim that is neither committed nor released ends after `lease_seconds`: its process may have died.
        """

    def commit(self, event_id: str) -> None:
        """The event was handled. From now on a claim gives `done`."""

    def release(self, event_id: str) -> None:
        """The event was not handled. It may be claimed again."""


@dataclass(frozen=True)
class _Note:
    state: Literal["busy", "done"]
    ends_at: float


class MemoryStore:
    """Keeps ids in the memory of one process. They are lost when it ends, and other processes do not see them.

    max_ids: the most ids. Beyond it the oldest is removed.
    ttl_seconds: how long the id of a handled event is kept.
    now: a clock in seconds that never goes back.
    """

    def __init__(
        self,
        max_ids: int = DEFAULT_MAX_IDS,
        ttl_seconds: float = DEFAULT_TTL_SECONDS,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        if max_ids < 1:
            raise ValueError(f"max_ids must be at least 1, but is {max_ids}.")
        if not ttl_seconds > 0:
            raise ValueError(f"ttl_seconds must be more than 0, but is {ttl_seconds}.")
        self._max_ids = max_ids
        self._ttl_seconds = ttl_seconds
        self._now = now
        self._lock = threading.Lock()
        self._notes: OrderedDict[str, _Note] = OrderedDict()

    def claim(self, event_id: str, lease_seconds: float) -> Claim:
        with self._lock:
            note = self._notes.get(event_id)
            if note is not None and note.ends_at > self._now():
                return note.state
            self._note(event_id, "busy", lease_seconds)
            return "claimed"

    def commit(self, event_id: str) -> None:
        with self._lock:
            self._note(event_id, "done", self._ttl_seconds)

    def release(self, event_id: str) -> None:
        with self._lock:
            note = self._notes.get(event_id)
            # Another thread may have handled the event after this claim's lease ended.
            if note is not None and note.state == "busy":
                del self._notes[event_id]

    def _note(self, event_id: str, state: Literal["busy", "done"], seconds: float) -> None:
        self._notes[event_id] = _Note(state, self._now() + seconds)
        self._notes.move_to_end(event_id)
        while len(self._notes) > self._max_ids:
            self._notes.popitem(last=False)
