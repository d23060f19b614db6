"""One answer to a request with several events."""

from __future__ import annotations

import json
from typing import Sequence, Tuple

from .answer import Answer, accept
from .event import Event


def answer_to_batch(events: Sequence[Event], answers: Sequence[Answer]) -> Answer:
    """The answer that says which events were not handled.

    answers: one for each event, in the order of the events. Events at the end may have none: with `in_order`, those
    after a failed event are not handled.
    """
    refused = [answer for answer in answers if not answer.is_accepted]
    if not refused:
        return accept()
    if len(refused) == len(answers):
        return _refuse_all(refused)
    # A single event of a batch cannot be aborted: `abort` counts as a failure.
    handled = {index for index, answer in enumerate(answers) if answer.is_accepted}
    failed = [event.id for index, event in enumerate(events) if index not in handled]
    return Answer(200, json.dumps({"failed": failed}), _wishes_of(refused), "application/json")


def _refuse_all(answers: Sequence[Answer]) -> Answer:
    """No event was handled: answer with an error status, so that the service treats the receiver as failing."""
    first = answers[0]
    is_same = all((a.status, _wish_of(a)) == (first.status, _wish_of(first)) for a in answers)
    if not is_same:
        return Answer(500, "not_handled", _wishes_of(answers))
    wishes = _wishes_of(answers)
    named = {name.lower() for name, _ in wishes}
    own = tuple((name, value) for name, value in first.headers if name.lower() not in named)
    return Answer(first.status, first.body, own + wishes, first.content_type)


def _wishes_of(answers: Sequence[Answer]) -> Tuple[Tuple[str, str], ...]:
    """The requests of single events that apply to the whole webhook: to disable it, and how long to wait."""
    disables = any(_wish_of(answer) == "disable" for answer in answers)
    times = [_header_of(answer, "retry-after") for answer in answers]
    seconds = max((int(time) for time in times if time.isdecimal()), default=0)
    return (
        *((("webhook-delivery", "disable"),) if disables else ()),
        *((("Retry-After", str(seconds)),) if seconds > 0 else ()),
    )


def _wish_of(answer: Answer) -> str:
    return _header_of(answer, "webhook-delivery")


def _header_of(answer: Answer, name: str) -> str:
    return next((value for own, value in answer.headers if own.lower() == name), "")
