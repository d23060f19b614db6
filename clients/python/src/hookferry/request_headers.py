"""A request's headers, as any framework has them."""

from __future__ import annotations

import re
from typing import Any, Dict, Iterable, Mapping, Optional, Protocol, Tuple

from .verification_error import WebhookVerificationError

_JOINED = re.compile(r",\s")


class RequestHeaders(Protocol):
    """A dict, or what Flask, Django, Starlette and the standard library call headers."""

    def items(self) -> Iterable[Tuple[str, Any]]: ...


def with_lower_names(headers: Optional[RequestHeaders]) -> Dict[str, object]:
    """A header that came more than once, in whichever case, has a tuple of its values."""
    found: Dict[str, object] = {}
    if headers is None:
        return found
    for name, value in headers.items():
        if value is None:
            continue
        lower = str(name).lower()
        found[lower] = (found[lower], value) if lower in found else value
    return found


def text_of(headers: Mapping[str, object], name: str) -> str:
    """Raises WebhookVerificationError `missing_header`, also for what is no text."""
    value = headers.get(name)
    # Servers join what comes twice; no value of ours has a comma before white space.
    if isinstance(value, tuple) or (isinstance(value, str) and _JOINED.search(value)):
        raise missing_header(name, f"The header {name} came more than once: what stands in front of this server?")
    if isinstance(value, str):
        return value
    if value is None:
        raise missing_header(name, f"The header {name} is missing: answer 401. Does a proxy drop it?")
    raise missing_header(name, f"The header {name} must be a text, but is {type(value).__name__}.")


def missing_header(name: str, message: str) -> WebhookVerificationError:
    return WebhookVerificationError("missing_header", message, header=name)
