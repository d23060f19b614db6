"""What Schemathesis checks of each response to what it made of the API's description, but for what JSON Schema can't say.

Two checks are ours: a request as described is taken, one that is not is refused. Both are Schemathesis' own, with the
exemptions below, each with its reason. Schemathesis loads this file by SCHEMATHESIS_HOOKS. KNOWN_IDS is a JSON object: for
each path that names a thing the parameters of one that is there.
"""

import json
import os
import re
import uuid
from typing import NamedTuple

import schemathesis
from schemathesis.core.failures import AcceptedNegativeData
from schemathesis.specs.openapi.checks import (
    RejectedPositiveData,
    negative_data_rejection,
    positive_data_acceptance,
)


class Exemption(NamedTuple):
    """A fault that a request as described may have: where, in which words it is told, and why it isn't described."""

    pointer: str
    detail: str
    reason: str


OF_TWO_MEMBERS = "JSON Schema can't compare two members, or one with the time it is."
OF_THE_STORE = "What there is changes while the service runs."
OF_ANOTHER_SYNTAX = "JSON Schema has no word for the syntax, or for the meaning, of the text."

EXEMPTIONS = [
    Exemption(r"\?/until", r'must not be before "since"', OF_TWO_MEMBERS),
    Exemption(r"/since", r'must be before "until", or before now', OF_TWO_MEMBERS),
    Exemption(r"/expires_at", r"must be in the future", OF_TWO_MEMBERS),
    Exemption(r"/type", r".*is not a known event type.*", OF_THE_STORE),
    Exemption(r"/type", r".*is an operational event type.*", OF_THE_STORE),
    Exemption(r"/events/\d+", r".*is not a known event type.*", OF_THE_STORE),
    Exemption(r"/webhook_ids/\d+", r"there is no webhook .*", OF_THE_STORE),
    Exemption(r"/secret", r"signs for this webhook already.*", OF_THE_STORE),
    Exemption(r"/data(/.*)?", r".*", "The schema of `data` is that of the event type."),
    Exemption(r"/example(/.*)?", r".*", "The schema of `example` is the one beside it."),
    Exemption(r"/schema(/.*)?", r".*", "Not each object is a JSON Schema, and not each one can be relied on."),
    Exemption(r"/url", r"must .*", OF_ANOTHER_SYNTAX),
    Exemption(r"/tls/(ca|client_certificate|client_key)", r"must .*|is .*|holds .*", OF_ANOTHER_SYNTAX),
    Exemption(r"/retry_schedule/\d+", r"must be at most 7d", OF_ANOTHER_SYNTAX),
    Exemption(r"/headers/.*", r"is a header that Hookferry sets itself.*", "Whatever the case of its letters."),
    Exemption(r"", r"must have at most \d+ bytes in all, as JSON.*", "JSON Schema counts no bytes."),
]

OWN_KEY = os.environ["OWN_KEY"]
KNOWN_IDS = json.loads(os.environ["KNOWN_IDS"])

# The forms of ids and of `uid` both have it.
ANY_NAME = re.compile(r"(?!wh_)[A-Za-z0-9][A-Za-z0-9_-]{0,63}")

BATCH = "/v1/events/batch"


@schemathesis.check
def takes_what_is_described(ctx, response, case):
    try:
        positive_data_acceptance(ctx, response, case)
    except RejectedPositiveData:
        if not is_exempt(response.json()):
            raise


@schemathesis.check
def refuses_what_is_not_described(ctx, response, case):
    try:
        negative_data_rejection(ctx, response, case)
    except AcceptedNegativeData:
        if not refuses_one(case, response):
            raise


def is_exempt(problem):
    """Whether a problem tells of nothing but what JSON Schema can't say."""
    faults = problem.get("errors", [])
    return bool(faults) and all(is_known(fault) for fault in faults)


def is_known(fault):
    return any(
        re.fullmatch(each.pointer, fault["pointer"]) and re.fullmatch(each.detail, fault["detail"], re.DOTALL)
        for each in EXEMPTIONS
    )


def refuses_one(case, response):
    """Of a batch each event is taken or refused by itself, in a response that has the status 200."""
    if case.operation.path != BATCH or response.status_code != 200:
        return False
    return any(outcome["status"] >= 400 for outcome in response.json()["data"])


@schemathesis.hook
def filter_case(context, case):
    """Leaves the key alone that the requests come with: without it none is taken any more."""
    return case.operation.path != "/v1/api-keys/{id}" or case.path_parameters.get("id") != OWN_KEY


@schemathesis.hook
def before_call(context, case, kwargs):
    """Aims a request at what is there: nearly all that is made up would get 404, 412 or 422, whatever else is in it."""
    modes = {location.name: component.mode for location, component in case.meta.components.items()}
    if is_as_described(modes, "HEADER"):
        aim_headers(case.headers)
    if is_as_described(modes, "QUERY"):
        # It is opaque: none can be made up.
        (case.query or {}).pop("cursor", None)
    name_anew(case.body)
    # What is there is to stay there for others.
    if is_as_described(modes, "PATH") and case.method.upper() != "DELETE":
        case.path_parameters.update(KNOWN_IDS.get(case.operation.path, {}))


def is_as_described(modes, location):
    return location not in modes or modes[location].is_positive


def aim_headers(headers):
    there = {"X-Account-Id": "default", "If-Match": "*", "Idempotency-Key": str(uuid.uuid4())}
    for name, value in there.items():
        if name in (headers or {}):
            headers[name] = value


def name_anew(body):
    """A name that is taken would get 409, which would hide whatever else is in the body."""
    for member in ("id", "uid"):
        name = body.get(member) if isinstance(body, dict) else None
        if isinstance(name, str) and ANY_NAME.fullmatch(name):
            body[member] = uuid.uuid4().hex
