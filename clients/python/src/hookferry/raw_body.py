"""The body as it came over the wire."""

from __future__ import annotations

from typing import Union

from .verification_error import WebhookVerificationError

RawBody = Union[bytes, bytearray, memoryview, str]


def raw_bytes(body: RawBody) -> bytes:
    """The bytes that were signed: bytes as they are, text as UTF-8.

    Raises WebhookVerificationError `body_already_parsed` for anything else: the signed bytes cannot be restored from
    parsed JSON.
    """
    given: object = body
    if isinstance(given, (bytes, bytearray, memoryview)):
        return bytes(given)
    if isinstance(given, str):
        # `surrogateescape` gives back the bytes of a text that was decoded with it; what is left is no text at all.
        try:
            return given.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError:
            raise WebhookVerificationError(
                "no_match", "The body is a text that was not UTF-8: pass the raw bytes of the request."
            ) from None
    raise WebhookVerificationError(
        "body_already_parsed",
        f"The body must be the raw bytes of the request, but is {type(given).__name__}: take it before anything "
        "parses it (Flask: request.get_data(), Django: request.body, FastAPI: await request.body()).",
    )
