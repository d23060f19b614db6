"""An event as a receiver gets it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Optional


@dataclass(frozen=True)
class Event:
    """What a verified request says.

    `id` is the header `webhook-id`: the same on every attempt, so duplicates are known by it. `timestamp` is
    `webhook-timestamp`: when this attempt was signed, in Unix seconds. With the Standard Webhooks signature both are
    signed. With `X-Service-Signature` only the body is: they are then what the headers say, or None.
    """

    id: Optional[str]
    timestamp: Optional[int]
    type: str
    data: Any
