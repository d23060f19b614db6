"""What both adapters ask of a request before it is read."""

from __future__ import annotations

from typing import Optional

from .answer import Answer

# Events have 256 KiB at most unless the operator allows more.
DEFAULT_MAX_BODY_BYTES = 1_310_720


def refuse_request(method: str, content_length: Optional[str], max_body_bytes: int) -> Optional[Answer]:
    """The answer to a request that is not worth reading; None for one that is."""
    if method != "POST":
        return Answer(405, "method_not_allowed", (("Allow", "POST"),))
    if not content_length:
        return None
    if not (content_length.isascii() and content_length.isdigit()):
        return Answer(400, "malformed_content_length")
    # By its length first: Python refuses to read numbers of thousands of digits.
    is_long = len(content_length) > 18 or int(content_length) > max_body_bytes
    return too_large() if is_long else None


def too_large() -> Answer:
    return Answer(413, "body_too_large")


def broken_off() -> Answer:
    return Answer(400, "body_broken_off")
