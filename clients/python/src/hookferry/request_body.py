"""Checks of a request before its body is read, for both adapters."""

from __future__ import annotations

from typing import Optional

from .response import ReceiverResponse

# Events have 256 KiB at most unless the operator allows more.
DEFAULT_MAX_BODY_BYTES = 1_310_720


def refuse_request(method: str, content_length: Optional[str], max_body_bytes: int) -> Optional[ReceiverResponse]:
    """The response to a request whose body must not be read. None: read it."""
    if method != "POST":
        return ReceiverResponse(405, "method_not_allowed", (("Allow", "POST"),))
    if not content_length:
        return None
    if not (content_length.isascii() and content_length.isdigit()):
        return ReceiverResponse(400, "malformed_content_length")
    # Its length is checked first, because Python refuses to parse numbers of thousands of digits.
    is_long = len(content_length) > 18 or int(content_length) > max_body_bytes
    return too_large() if is_long else None


def too_large() -> ReceiverResponse:
    return ReceiverResponse(413, "body_too_large")


def broken_off() -> ReceiverResponse:
    return ReceiverResponse(400, "body_broken_off")
