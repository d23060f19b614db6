"""One response to a request with several events."""

from __future__ import annotations

import json
from typing import Sequence, Tuple

from .response import ReceiverResponse, accept
from .event import Event


def response_to_batch(events: Sequence[Event], responses: Sequence[ReceiverResponse]) -> ReceiverResponse:
    """The response that says which events were not handled.

    responses: one for each event, in the order of the events. Events at the end may have none: with `in_order`, those
    after a failed event are not handled.
    """
    refused = [response for response in responses if not response.is_accepted]
    if not refused:
        return accept()
    if len(refused) == len(responses):
        return _refuse_all(refused)
    # A single event of a batch cannot be aborted: `abort` counts as a failure.
    handled = {index for index, response in enumerate(responses) if response.is_accepted}
    failed = [event.id for index, event in enumerate(events) if index not in handled]
    return ReceiverResponse(200, json.dumps({"failed": failed}), _wishes_of(refused), "application/json")


def _refuse_all(responses: Sequence[ReceiverResponse]) -> ReceiverResponse:
    """No event was handled: respond with an error status, so that the service treats the receiver as failing."""
    first = responses[0]
    is_same = all((a.status, _wish_of(a)) == (first.status, _wish_of(first)) for a in responses)
    if not is_same:
        return ReceiverResponse(500, "not_handled", _wishes_of(responses))
    wishes = _wishes_of(responses)
    named = {name.lower() for name, _ in wishes}
    own = tuple((name, value) for name, value in first.headers if name.lower() not in named)
    return ReceiverResponse(first.status, first.body, own + wishes, first.content_type)


def _wishes_of(responses: Sequence[ReceiverResponse]) -> Tuple[Tuple[str, str], ...]:
    """The requests of single events that apply to the whole webhook: to disable it, and how long to wait."""
    disables = any(_wish_of(response) == "disable" for response in responses)
    times = [_header_of(response, "retry-after") for response in responses]
    seconds = max((int(time) for time in times if time.isdecimal()), default=0)
    return (
        *((("webhook-delivery", "disable"),) if disables else ()),
        *((("Retry-After", str(seconds)),) if seconds > 0 else ()),
    )


def _wish_of(response: ReceiverResponse) -> str:
    return _header_of(response, "webhook-delivery")


def _header_of(response: ReceiverResponse, name: str) -> str:
    return next((value for own, value in response.headers if own.lower() == name), "")
