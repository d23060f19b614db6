"""What a receiver answers, and what it can ask of the service by that."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Tuple


@dataclass(frozen=True)
class Answer:
    """A response: `status`, `headers` as pairs, and `body`, a short text in ASCII of the type `content_type`."""

    status: int
    body: str = ""
    headers: Tuple[Tuple[str, str], ...] = ()
    content_type: str = "text/plain; charset=utf-8"

    @property
    def is_accepted(self) -> bool:
        """Whether the service takes the event as delivered."""
        return 200 <= self.status < 300


def accept() -> Answer:
    """The event is handled."""
    return Answer(204)


def abort() -> Answer:
    """This event will never be handled: no further attempt is made."""
    return Answer(422, "aborted", (("webhook-delivery", "abort"),))


def disable() -> Answer:
    """Nothing more is wanted: the webhook is disabled, and what comes is held until it is enabled again."""
    return Answer(503, "disabled", (("webhook-delivery", "disable"),))


def retry_after(seconds: int) -> Answer:
    """Not now: no attempt is made before that. The service waits for 24 hours at most."""
    return Answer(503, "retry_later", (("Retry-After", str(int(seconds))),))
