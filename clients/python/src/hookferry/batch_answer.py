"""One answer to a request with several events."""

from __future__ import annotations

import json
from typing import Sequence, Tuple

from .answer import Answer, accept
from .event import Event


def answer_to_batch(events: Sequence[Event], answers: Sequence[Answer]) -> Answer:
    """Says which events were not handled.

    answers: to each event by itself, in their order. Those without one were not handled: they follow one that was not.
    """
    refused = [answer for answer in answers if not answer.is_accepted]
    if not refused:
        return accept()
    if len(refused) == len(answers):
        return _refuse_all(refused)
    # No single one can be given up: `abort` counts as any failure.
    handled = {index for index, answer in enumerate(answers) if answer.is_accepted}
    failed = [event.id for index, event in enumerate(events) if index not in handled]
    return Answer(200, json.dumps({"failed": failed}), _wishes_of(refused), "application/json")


def _refuse_all(answers: Sequence[Answer]) -> Answer:
    """A status that says so is what tells the service that something is wrong with the whole receiver."""
    first = answers[0]
    is_same = all((a.status, _wish_of(a)) == (first.status, _wish_of(first)) for a in answers)
    if not is_same:
        return Answer(500, "not_handled", _wishes_of(answers))
    wishes = _wishes_of(answers)
    named = {name.lower() for name, _ in wishes}
    own = tuple((name, value) for name, value in first.headers if name.lower() not in named)
    return Answer(first.status, first.body, own + wishes, first.content_type)


def _wishes_of(answers: Sequence[Answer]) -> Tuple[Tuple[str, str], ...]:
    """What some of them ask for that holds for all: to be left alone, and for how long."""
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
