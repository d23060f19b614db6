"""The responses of a receiver, and the requests to the service that they can carry."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Tuple


@dataclass(frozen=True)
class ReceiverResponse:
    """A response: `status`, `headers` as pairs, and `body`, a short text in ASCII of the type `content_type`."""

    status: int
    body: str = ""
    headers: Tuple[Tuple[str, str], ...] = ()
    content_type: str = "text/plain; charset=utf-8"

    @property
    def is_accepted(self) -> bool:
        """Whether the service counts the event as delivered."""
        return 200 <= self.status < 300


def accept() -> ReceiverResponse:
    """Respond with 204: the event was handled."""
    return ReceiverResponse(204)


def abort() -> ReceiverResponse:
    """Give this event up: the service makes no further attempt."""
    return ReceiverResponse(422, "aborted", (("webhook-delivery", "abort"),))


def disable() -> ReceiverResponse:
    """Have the webhook disabled. Its deliveries, this one too, are held until it is enabled again."""
    return ReceiverResponse(503, "disabled", (("webhook-delivery", "disable"),))


def retry_after(seconds: int) -> ReceiverResponse:
    """Have the event sent again, after at least this many seconds. The service waits for 24 hours at most."""
    return ReceiverResponse(503, "retry_later", (("Retry-After", str(int(seconds))),))
