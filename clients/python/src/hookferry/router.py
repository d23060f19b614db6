"""Passes events to the functions that handle their types."""

from __future__ import annotations

import asyncio
import json
import logging
from typing import Callable, List, Optional, Sequence, TypeVar, Union

from .response import ReceiverResponse, accept
from .batch_response import response_to_batch
from .deduplication import DeduplicationStore
from .event import Event, VerifiedRequest
from .event_handlers import EventHandlers, Handler, is_async
from .event_handling import DEFAULT_LEASE_SECONDS, EventHandling
from .public_keys import SignatureVerifier
from .raw_body import RawBody
from .request_headers import RequestHeaders
from .signature import DEFAULT_SERVICE_HEADER, DEFAULT_TOLERANCE_SECONDS, ServiceHeader, read_asked_keys
from .verification import verify_events
from .verification_error import WebhookVerificationError

_HandlerT = TypeVar("_HandlerT", bound=Handler)

_LOG = logging.getLogger("hookferry")


class Router:
    """Verifies requests, and passes each event to the function for its type.

    secret, secrets, tolerance, service_header, public_keys: as for `verify`. Raises WebhookVerificationError at once if
        a secret is missing or not valid, so that no receiver starts without one.
    deduplicate: a store of the ids of handled events. Without it, an event that arrives twice is handled twice.
    binary_cloudevents: as for `verify`.
    in_order: when an event of a batch fails, the events after it are not handled, and are sent again with it. For a
        webhook with `ordering: strict`.
    lease_seconds: a claim ends after this time, because its process may have died. Handlers must be faster.
    """

    def __init__(
        self,
        secret: Optional[str] = None,
        *,
        secrets: Optional[Sequence[str]] = None,
        tolerance: int = DEFAULT_TOLERANCE_SECONDS,
        service_header: Optional[ServiceHeader] = DEFAULT_SERVICE_HEADER,
        deduplicate: Optional[DeduplicationStore] = None,
        lease_seconds: float = DEFAULT_LEASE_SECONDS,
        public_keys: Optional[SignatureVerifier] = None,
        binary_cloudevents: bool = False,
        in_order: bool = False,
    ) -> None:
        read_asked_keys(secret, secrets, public_keys)
        self._public_keys = public_keys
        self._secret = secret
        self._secrets = secrets
        self._tolerance = tolerance
        self._service_header = service_header
        self._binary_cloudevents = binary_cloudevents
        self._in_order = in_order
        self._needs_id = deduplicate is not None
        self._handling = EventHandling(deduplicate, lease_seconds)
        self._handlers = EventHandlers()

    def on(self, pattern: str) -> Callable[[_HandlerT], _HandlerT]:
        """A decorator. The function handles this type (`order.created`), this prefix (`order.*`), or with `*` all
        others.

        The function gets the event. It returns a ReceiverResponse, or None for 204. If it raises, the response is 500, and the
        service sends the event again. A function may be `async` with ASGI and `receive_async`.
        """

        def register(handler: _HandlerT) -> _HandlerT:
            self._handlers.add(pattern, handler)
            return handler

        return register

    def receive(self, body: RawBody, headers: RequestHeaders) -> ReceiverResponse:
        """The response to a request. It never raises because of a request; errors go to the logger `hookferry`.

        The challenge of the service (`webhook.verification`) gets its response here; no function gets it. The events of a
        batch are handled one after the other, and the response names those that failed.
        """
        request = self._verify(body, headers)
        if isinstance(request, ReceiverResponse):
            return request
        if not request.is_batch:
            return _proof_of(request.events[0]) or self._handle(request.events[0])
        responses: List[ReceiverResponse] = []
        for event in request.events:
            if self._goes_on(responses):
                responses.append(self._handle(event))
        return response_to_batch(request.events, responses)

    async def receive_async(self, body: RawBody, headers: RequestHeaders) -> ReceiverResponse:
        """Like `receive`. Functions that are not `async` run in a thread."""
        # A key set may have to be fetched.
        in_thread = self._public_keys is not None
        verify = self._verify
        request = await asyncio.to_thread(verify, body, headers) if in_thread else verify(body, headers)
        if isinstance(request, ReceiverResponse):
            return request
        if not request.is_batch:
            return _proof_of(request.events[0]) or await self._handle_async(request.events[0])
        responses: List[ReceiverResponse] = []
        for event in request.events:
            if self._goes_on(responses):
                responses.append(await self._handle_async(event))
        return response_to_batch(request.events, responses)

    def _goes_on(self, responses: Sequence[ReceiverResponse]) -> bool:
        return not self._in_order or not responses or responses[-1].is_accepted

    def _handle(self, event: Event) -> ReceiverResponse:
        handler = self._handlers.find(event.type)
        return _unhandled(event) if handler is None else self._handling.handle(event, handler)

    async def _handle_async(self, event: Event) -> ReceiverResponse:
        handler = self._handlers.find(event.type)
        if handler is None:
            return _unhandled(event)
        if not is_async(handler):
            return await asyncio.to_thread(self._handling.handle, event, handler)
        return await self._handling.handle_async(event, handler)

    def _verify(self, body: RawBody, headers: RequestHeaders) -> Union[VerifiedRequest, ReceiverResponse]:
        try:
            request = verify_events(
                body,
                headers,
                self._secret,
                self._secrets,
                tolerance=self._tolerance,
                service_header=self._service_header,
                public_keys=self._public_keys,
                binary_cloudevents=self._binary_cloudevents,
            )
        except WebhookVerificationError as error:
            if error.is_configuration_error:
                _LOG.error("The receiver is set up wrong (%s): %s", error.code, error)
                return ReceiverResponse(500, error.code)
            _LOG.warning("A request is refused (%s): %s", error.code, error)
            return ReceiverResponse(401, error.code)
        if self._needs_id and any(event.id is None for event in request.events):
            _LOG.warning("A request is refused: it has no webhook-id, by which duplicates are known.")
            return ReceiverResponse(401, "missing_header")
        return request


def _proof_of(event: Event) -> Optional[ReceiverResponse]:
    """The response if the event is a challenge, else None. Its signature was verified, so the service has sent it."""
    if event.type != "webhook.verification" or not isinstance(event.data, dict):
        return None
    challenge = event.data.get("challenge")
    if not isinstance(challenge, str):
        return None
    return ReceiverResponse(200, json.dumps({"challenge": challenge}), content_type="application/json")


def _unhandled(event: Event) -> ReceiverResponse:
    # Without a 2xx, the service would send it again for days, in vain.
    _LOG.info("No function handles events of the type %s: responded with 204.", event.type)
    return accept()
