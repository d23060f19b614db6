"""A request's headers, as any framework has them."""

from __future__ import annotations

from typing import Any, Dict, Iterable, Mapping, Optional, Protocol, Tuple

from .verification_error import WebhookVerificationError


class RequestHeaders(Protocol):
    """A dict, or what Flask, Django, Starlette and the standard library call headers."""

    def items(self) -> Iterable[Tuple[str, Any]]: ...


def with_lower_names(headers: Optional[RequestHeaders]) -> Dict[str, object]:
    pairs = () if headers is None else headers.items()
    return {str(name).lower(): value for name, value in pairs if value is not None}


def text_of(headers: Mapping[str, object], name: str) -> str:
    """Raises WebhookVerificationError `missing_header`, also for what is no text."""
    value = headers.get(name)
    if isinstance(value, str):
        return value
    if value is None:
        raise missing_header(name, f"The header {name} is missing: answer 401. Does a proxy drop it?")
    raise missing_header(name, f"The header {name} must be a text, but is {type(value).__name__}.")


def missing_header(name: str, message: str) -> WebhookVerificationError:
    return WebhookVerificationError("missing_header", message, header=name)
