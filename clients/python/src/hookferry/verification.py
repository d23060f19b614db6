"""The events that a request brings, once its signature is good."""

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
    """The event that a request brings, once its signature is good.

    body: the raw bytes of the request, or its text; never parsed JSON.
    headers: names in any case; anything with `items()`.
    secret, secrets: as issued (`whsec_…`). With several, one that fits is enough, as in a rotation.
    tolerance: how far `webhook-timestamp` may be from now, in seconds, either way.
    now: the present in Unix seconds; the system clock if left out.
    service_header: name and prefix of the signature that counts where `webhook-signature` is not there. It covers the
        body alone, so replays are not noticed. None: accept Standard Webhooks only.
    public_keys: `PublicKeys` or `Jwks`, to verify `v1a` signatures; without a secret beside it those alone.
    binary_cloudevents: accept CloudEvents whose attributes are `ce-…` headers. No signature covers those headers, so
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
    """Like `verify`, for a webhook whose requests may have several events (`batch`): all events of a request."""
    verify_signature(body, headers, secret, secrets, tolerance, now, service_header, public_keys)
    return read_request(raw_bytes(body), with_lower_names(headers), binary_cloudevents=binary_cloudevents)
