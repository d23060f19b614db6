"""Handles one event, from its claim to its response."""

from __future__ import annotations

import asyncio
import inspect
import logging
from typing import Optional

from .response import ReceiverResponse, accept
from .deduplication import DeduplicationStore
from .event import Event
from .event_handlers import Handler

_LOG = logging.getLogger("hookferry")

# Longer than the longest attempt (60 s): by then the service has given up waiting for the response.
DEFAULT_LEASE_SECONDS = 120.0
_BUSY_RETRY_SECONDS = 10


class EventHandling:
    """Claims an event and has it handled. Then commits the claim, or releases it if the handler failed."""

    def __init__(self, store: Optional[DeduplicationStore], lease_seconds: float) -> None:
        if not lease_seconds > 0:
            raise ValueError(f"lease_seconds must be more than 0, but is {lease_seconds}.")
        self._store = store
        self._lease_seconds = lease_seconds

    def handle(self, event: Event, handler: Handler) -> ReceiverResponse:
        known = self._claim(event)
        if known is not None:
            return known
        try:
            response = _response_of(event, _without_awaiting(handler(event)))
        except Exception:
            response = _failed(event)
        except BaseException:
            self._release(event)
            raise
        return self._settle(event, response)

    async def handle_async(self, event: Event, handler: Handler) -> ReceiverResponse:
        # A store may wait for its server. It runs in a thread, so that nothing else waits.
        known = await asyncio.to_thread(self._claim, event)
        if known is not None:
            return known
        try:
            result = handler(event)
            response = _response_of(event, await result if inspect.isawaitable(result) else result)
        except Exception:
            response = _failed(event)
        except BaseException:
            # The task was cancelled. Waiting for a thread here could be cancelled as well.
            self._release(event)
            raise
        return await asyncio.to_thread(self._settle, event, response)

    def _claim(self, event: Event) -> Optional[ReceiverResponse]:
        """The response to an event that must not be handled now. None: handle it."""
        if self._store is None or event.id is None:
            return None
        try:
            claim = self._store.claim(event.id, self._lease_seconds)
        except Exception:
            _LOG.exception("The event %s is not handled: the deduplication store failed.", event.id)
            return ReceiverResponse(500, "store_failed")
        if claim == "claimed":
            return None
        return accept() if claim == "done" else ReceiverResponse(409, "busy", (("Retry-After", str(_BUSY_RETRY_SECONDS)),))

    def _settle(self, event: Event, response: ReceiverResponse) -> ReceiverResponse:
        if not response.is_accepted:
            self._release(event)
        elif self._store is not None and event.id is not None:
            try:
                self._store.commit(event.id)
            except Exception:
                # The event was handled. If it were sent again, it would be handled twice.
                _LOG.exception("The event %s was handled, and may be again: it could not be noted.", event.id)
        return response

    def _release(self, event: Event) -> None:
        if self._store is None or event.id is None:
            return
        try:
            self._store.release(event.id)
        except Exception:
            _LOG.exception("The event %s can be handled again only when its claim ends.", event.id)


def _response_of(event: Event, result: object) -> ReceiverResponse:
    if isinstance(result, ReceiverResponse):
        return result
    if result is not None:
        # The work is done. To repeat it would be worse than to ignore a response of an unknown kind.
        kind = type(result).__name__
        _LOG.warning("The function for %s gave a %s, which is no ReceiverResponse: responded with 204.", event.type, kind)
    return accept()


def _without_awaiting(result: object) -> object:
    if not inspect.isawaitable(result):
        return result
    if inspect.iscoroutine(result):
        result.close()
    raise TypeError("The function is async: receive by AsgiApp or receive_async, or make it a plain function.")


def _failed(event: Event) -> ReceiverResponse:
    _LOG.exception("The event %s (%s) was not handled: responded with 500, so it comes again.", event.id, event.type)
    return ReceiverResponse(500, "handler_failed")
