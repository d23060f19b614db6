"""An event as a receiver gets it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Mapping, Optional, Tuple


@dataclass(frozen=True)
class Event:
    """An event of a verified request, whichever format the request has.

    `id` is the same on every attempt, so duplicates are known by it. It is the header `webhook-id`, or in the body of a
    request with several events or of a CloudEvent. `timestamp` is `webhook-timestamp`: when this attempt was signed, in
    Unix seconds. With the Standard Webhooks signature all are signed. With `X-Service-Signature` only the body is: what
    comes from headers is then what they say, or None.

    `accepted_at` is when the service accepted the event (RFC 3339), where the request says so: in all formats but the
    usual one. `cloudevent` has all attributes of an event that came as a CloudEvent, by their names there.
    """

    id: Optional[str]
    timestamp: Optional[int]
    type: str
    data: Any
    accepted_at: Optional[str] = None
    cloudevent: Optional[Mapping[str, Any]] = None


@dataclass(frozen=True)
class VerifiedRequest:
    """What was in a verified request: one event, or several in the order in which the service accepted them.

    `is_batch` says whether it is a list, also of one event. Then 2xx takes all of them, or, with `{"failed": [ids]}` as
    its body, all but those.
    """

    events: Tuple[Event, ...]
    is_batch: bool
