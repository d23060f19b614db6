"""Checks that a request comes from the service and was not changed on its way."""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import time
from typing import Mapping, Optional, Sequence, Tuple

from .public_keys import SignatureVerifier
from .raw_body import RawBody, raw_bytes
from .request_headers import RequestHeaders, missing_header, text_of, with_lower_names
from .signing_keys import SigningKey, read_signing_keys
from .verification_error import WebhookVerificationError

ServiceHeader = Tuple[str, str]

# As Standard Webhooks advises.
DEFAULT_TOLERANCE_SECONDS = 300
DEFAULT_SERVICE_HEADER: ServiceHeader = ("X-Service-Signature", "sha256=")

TIMESTAMP = re.compile(r"[0-9]{1,12}")


def verify_signature(
    body: RawBody,
    headers: RequestHeaders,
    secret: Optional[str] = None,
    secrets: Optional[Sequence[str]] = None,
    tolerance: int = DEFAULT_TOLERANCE_SECONDS,
    now: Optional[float] = None,
    service_header: Optional[ServiceHeader] = DEFAULT_SERVICE_HEADER,
    public_keys: Optional[SignatureVerifier] = None,
) -> None:
    """Like `verify`, but for any body: it returns nothing, and never raises `invalid_payload`."""
    if not tolerance >= 0:
        raise ValueError(f"tolerance must be a number of seconds from 0, but is {tolerance!r}.")
    keys = read_asked_keys(secret, secrets, public_keys)
    message = raw_bytes(body)
    given = with_lower_names(headers)
    if "webhook-signature" in given:
        present = int(time.time() if now is None else now)
        _verify_standard(message, given, keys, public_keys, tolerance, present)
    elif keys and service_header is not None and service_header[0].lower() in given:
        name, prefix = service_header
        _verify_service(message, text_of(given, name.lower()), prefix, keys)
    else:
        raise missing_header("webhook-signature", "The request is not signed: respond with 401.")


def read_asked_keys(
    secret: Optional[str], secrets: Optional[Sequence[str]], public_keys: Optional[SignatureVerifier]
) -> Sequence[SigningKey]:
    """The keys of the secrets. None are needed if only signatures with public keys are verified."""
    if public_keys is not None and secret is None and secrets is None:
        return ()
    return read_signing_keys(secret, secrets)


def _verify_standard(
    message: bytes,
    headers: Mapping[str, object],
    keys: Sequence[SigningKey],
    public_keys: Optional[SignatureVerifier],
    tolerance: int,
    now: int,
) -> None:
    event_id = text_of(headers, "webhook-id")
    timestamp = text_of(headers, "webhook-timestamp")
    signatures = text_of(headers, "webhook-signature").split(" ")
    if event_id == "":
        raise missing_header("webhook-id", "The header webhook-id is empty: respond with 401.")
    if TIMESTAMP.fullmatch(timestamp) is None:
        raise missing_header("webhook-timestamp", "webhook-timestamp is not a number of Unix seconds: respond with 401.")
    skew = int(timestamp) - now
    if abs(skew) > tolerance:
        raise WebhookVerificationError(
            "timestamp_skew",
            f"The request was signed {abs(skew)} s {'ago' if skew < 0 else 'in the future'}, and {tolerance} s are "
            "allowed: respond with 401. If it happens to all requests, set this machine's clock.",
            skew_seconds=skew,
        )
    signed = f"{event_id}.{timestamp}.".encode("utf-8", "replace") + message
    expected = [b"v1," + base64.b64encode(_hmac(key.standard, signed)) for key in keys]
    if _matches([signature for signature in signatures if signature.startswith("v1,")], expected):
        return
    if public_keys is not None:
        kid = text_of(headers, "webhook-key-id") if "webhook-key-id" in headers else None
        if public_keys.verifies(signatures, signed, kid):
            return
    raise _no_match()


def _verify_service(message: bytes, signature: str, prefix: str, keys: Sequence[SigningKey]) -> None:
    expected = [prefix.encode() + _hmac(key.service, message).hex().encode() for key in keys]
    if not _matches([signature], expected):
        raise _no_match()


def _matches(given: Sequence[str], expected: Sequence[bytes]) -> bool:
    """Whether one signature is valid. All are compared, so that the time taken reveals nothing."""
    matches = [
        hmac.compare_digest(one.encode("utf-8", "replace"), other) for one in given for other in expected
    ]
    return any(matches)


def _no_match() -> WebhookVerificationError:
    return WebhookVerificationError(
        "no_match",
        "No signature fits: respond with 401. If it happens to all requests, check that this is the secret, or key, of this "
        "webhook and that the body is the raw one.",
    )


def _hmac(key: bytes, message: bytes) -> bytes:
    return hmac.new(key, message, hashlib.sha256).digest()
