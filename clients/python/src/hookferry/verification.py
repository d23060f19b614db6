"""The event that a request brings, once its signature is good."""

from __future__ import annotations

import json
from typing import Mapping, Optional, Sequence

from .event import Event
from .public_keys import SignatureVerifier
from .raw_body import RawBody, raw_bytes
from .request_headers import RequestHeaders, with_lower_names
from .signature import (
    DEFAULT_SERVICE_HEADER,
    DEFAULT_TOLERANCE_SECONDS,
    TIMESTAMP,
    ServiceHeader,
    verify_signature,
)
from .verification_error import WebhookVerificationError


def verify(
    body: RawBody,
    headers: RequestHeaders,
    secret: Optional[str] = None,
    secrets: Optional[Sequence[str]] = None,
    tolerance: int = DEFAULT_TOLERANCE_SECONDS,
    now: Optional[float] = None,
    service_header: Optional[ServiceHeader] = DEFAULT_SERVICE_HEADER,
    public_keys: Optional[SignatureVerifier] = None,
) -> Event:
    """The event that a request brings, once its signature is good.

    body: the raw bytes of the request, or its text; never parsed JSON.
    headers: names in any case; anything with `items()`.
    secret, secrets: as issued (`whsec_…`). With several, one that fits is enough, as in a rotation.
    tolerance: how far `webhook-timestamp` may be from now, in seconds, either way.
    now: the present in Unix seconds; the system clock if left out.
    service_header: name and prefix of the signature that counts where `webhook-signature` is not there. It covers the
        body alone, so replays are not noticed. None: accept Standard Webhooks only.
    public_keys: `PublicKeys` or `Jwks`, to verify `v1a` signatures; without a secret beside it those alone.

    Raises WebhookVerificationError; its `code` says why.
    """
    verify_signature(body, headers, secret, secrets, tolerance, now, service_header, public_keys)
    return _read_event(raw_bytes(body), with_lower_names(headers))


def _read_event(body: bytes, headers: Mapping[str, object]) -> Event:
    # RecursionError: nested deeper than the parser goes.
    try:
        payload = json.loads(body.decode("utf-8-sig"), parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise _invalid_payload("is not JSON in UTF-8") from None
    if not isinstance(payload, dict) or not isinstance(payload.get("type"), str) or "data" not in payload:
        raise _invalid_payload('is not {"type": …, "data": …}')
    event_id, timestamp = headers.get("webhook-id"), headers.get("webhook-timestamp")
    return Event(
        id=event_id if isinstance(event_id, str) and event_id != "" else None,
        timestamp=int(timestamp) if isinstance(timestamp, str) and TIMESTAMP.fullmatch(timestamp) else None,
        type=payload["type"],
        data=payload["data"],
    )


def _refuse_constant(name: str) -> None:
    raise ValueError(f"JSON has no {name}.")


def _invalid_payload(what: str) -> WebhookVerificationError:
    return WebhookVerificationError(
        "invalid_payload", f"The signature is good, but the body {what}: is this the URL of another webhook?"
    )
