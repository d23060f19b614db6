"""A request's headers, as any framework has them."""

from __future__ import annotations

import re
from typing import Any, Dict, Iterable, Mapping, Optional, Protocol, Tuple

from .verification_error import WebhookVerificationError

_JOINED = re.compile(r",\s")


class RequestHeaders(Protocol):
    """A dict, or the headers object of Flask, Django, Starlette or the standard library."""

    def items(self) -> Iterable[Tuple[str, Any]]: ...


def with_lower_names(headers: Optional[RequestHeaders]) -> Dict[str, object]:
    """The headers with lower-case names. A header that came more than once has a tuple of its values."""
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
    """The value of a header. Raises WebhookVerificationError `missing_header`, also if the value is not a text."""
    value = headers.get(name)
    # Servers join headers that come twice by ", ". No value of the service has a comma before white space.
    if isinstance(value, tuple) or (isinstance(value, str) and _JOINED.search(value)):
        message = f"The header {name} came more than once: respond with 401. Check the proxy in front of this server."
        raise missing_header(name, message)
    if isinstance(value, str):
        return value
    if value is None:
        raise missing_header(name, f"The header {name} is missing: respond with 401. Check whether a proxy removes it.")
    raise missing_header(name, f"The header {name} must be a text, but is {type(value).__name__}.")


def missing_header(name: str, message: str) -> WebhookVerificationError:
    return WebhookVerificationError("missing_header", message, header=name)
