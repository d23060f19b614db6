"""Verifies a request and reads its events."""

from __future__ import annotations

from typing import Optional, Sequence

from .event import Event, VerifiedRequest
from .event_formats import invalid_list, read_request
from .public_keys import SignatureVerifier
from .raw_body import RawBody, raw_bytes
from .request_headers import RequestHeaders, with_lower_names
from .signature import DEFAULT_SERVICE_HEADER, DEFAULT_TOLERANCE_SECONDS, ServiceHeader, verify_signature


def verify(
    body: RawBody,
    headers: RequestHeaders,
    secret: Optional[str] = None,
    secrets: Optional[Sequence[str]] = None,
    tolerance: int = DEFAULT_TOLERANCE_SECONDS,
    now: Optional[float] = None,
    service_header: Optional[ServiceHeader] = DEFAULT_SERVICE_HEADER,
    public_keys: Optional[SignatureVerifier] = None,
    *,
    binary_cloudevents: bool = False,
) -> Event:
    """Verify a request, and return its event.

    body: the raw bytes of the request, or its text; never parsed JSON.
    headers: any object with `items()`; names in any case.
    secret, secrets: as issued (`whsec_…`). A signature with any of them is valid, so pass both during a rotation.
    tolerance: the greatest difference of `webhook-timestamp` from now, in seconds, in both directions.
    now: the present in Unix seconds. Default: the system clock.
    service_header: name and prefix of the signature that is verified if there is no `webhook-signature`. It covers the
        body alone, so a request that somebody repeats is not noticed. None: accept Standard Webhooks only.
    public_keys: `PublicKeys` or `Jwks`, to verify `v1a` signatures. Without a secret, only these are accepted.
    binary_cloudevents: accept CloudEvents whose attributes are `ce-…` headers. No signature covers these headers, so
        somebody on the way could change the type.

    Raises WebhookVerificationError; its `code` says why. A request with several events is an `invalid_payload`.
    """
    request = verify_events(
        body,
        headers,
        secret,
        secrets,
        tolerance,
        now,
        service_header,
        public_keys,
        binary_cloudevents=binary_cloudevents,
    )
    if request.is_batch:
        raise invalid_list()
    return request.events[0]


def verify_events(
    body: RawBody,
    headers: RequestHeaders,
    secret: Optional[str] = None,
    secrets: Optional[Sequence[str]] = None,
    tolerance: int = DEFAULT_TOLERANCE_SECONDS,
    now: Optional[float] = None,
    service_header: Optional[ServiceHeader] = DEFAULT_SERVICE_HEADER,
    public_keys: Optional[SignatureVerifier] = None,
    *,
    binary_cloudevents: bool = False,
) -> VerifiedRequest:
    """Like `verify`, for a webhook with `batch`: returns all events of a request."""
    verify_signature(body, headers, secret, secrets, tolerance, now, service_header, public_keys)
    return read_request(raw_bytes(body), with_lower_names(headers), binary_cloudevents=binary_cloudevents)
