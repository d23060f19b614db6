"""The events of a request, in any format that a webhook may have."""

from __future__ import annotations

import json
import re
from typing import Any, Dict, Mapping, Optional
from urllib.parse import unquote

from .event import Event, VerifiedRequest
from .request_headers import text_of
from .signature import TIMESTAMP
from .verification_error import WebhookVerificationError

_JSON_TYPE = re.compile(r"[^;]*[/+]json\b", re.IGNORECASE)

# In the order of the specification. A proxy may add other headers of this kind.
_ATTRIBUTES = ("specversion", "id", "source", "type", "time", "subject", "dataschema", "partitionkey")


def read_request(body: bytes, headers: Mapping[str, object], *, binary_cloudevents: bool) -> VerifiedRequest:
    """The events of a request whose signature is good. `headers` have lower names.

    The body says which format it has, and no header does: no signature covers headers, so somebody on the way could
    have changed them.

    Raises WebhookVerificationError `invalid_payload`.
    """
    text = _text_of(body)
    timestamp = _timestamp_of(headers)
    if "ce-specversion" in headers:
        if not binary_cloudevents:
            raise _invalid_payload("comes with attributes as headers, and binary_cloudevents is not set")
        return _one(_binary_event(text, headers, timestamp))
    payload = _parse(text)
    if isinstance(payload, list):
        return _several(_cloudevent(item, timestamp) for item in payload)
    if isinstance(payload, dict) and "specversion" in payload:
        return _one(_cloudevent(payload, timestamp))
    if not isinstance(payload, dict) or not isinstance(payload.get("type"), str) or "data" not in payload:
        raise _invalid_payload('is not {"type": …, "data": …}')
    event_type, data = payload["type"], payload["data"]
    # No event has this type: each has a dot.
    if event_type == "batch" and isinstance(data, list):
        return _several(_item(item, timestamp) for item in data)
    return _one(Event(_id_of(headers), timestamp, event_type, data))


def invalid_list() -> WebhookVerificationError:
    return _invalid_payload("is a list: read it by verify_events()")


def _one(event: Event) -> VerifiedRequest:
    return VerifiedRequest((event,), is_batch=False)


def _several(events: Any) -> VerifiedRequest:
    return VerifiedRequest(tuple(events), is_batch=True)


def _item(item: object, timestamp: Optional[int]) -> Event:
    if not isinstance(item, dict):
        raise _invalid_payload("has an item that is not an object")
    event_id, event_type, accepted_at = item.get("id"), item.get("type"), item.get("timestamp")
    if not (isinstance(event_id, str) and isinstance(event_type, str) and isinstance(accepted_at, str)):
        raise _invalid_payload('has an item without "id", "type" or "timestamp"')
    return Event(event_id, timestamp, event_type, item.get("data"), accepted_at)


def _cloudevent(item: object, timestamp: Optional[int]) -> Event:
    """One that is a JSON object. Its id is in the body, which is signed."""
    if not isinstance(item, dict):
        raise _invalid_payload("has an item that is not a CloudEvent")
    attributes = {name: value for name, value in item.items() if name != "data"}
    return _event_of(attributes, item.get("id"), timestamp, item.get("data"))


def _binary_event(text: str, headers: Mapping[str, object], timestamp: Optional[int]) -> Event:
    """One whose attributes are headers. Its id is that of the request, which is signed."""
    content_type = text_of(headers, "content-type") if "content-type" in headers else "application/json"
    attributes: Dict[str, Any] = {"datacontenttype": content_type}
    for name in _ATTRIBUTES:
        if f"ce-{name}" in headers:
            attributes[name] = unquote(text_of(headers, f"ce-{name}"))
    event_id = _id_of(headers)
    if event_id is not None and attributes.get("id") != event_id:
        raise _invalid_payload("comes with a ce-id that is not the id that was signed")
    data = _parse(text) if _JSON_TYPE.match(content_type) else text
    return _event_of(attributes, event_id, timestamp, data)


def _event_of(attributes: Mapping[str, Any], event_id: Optional[str], timestamp: Optional[int], data: Any) -> Event:
    required = [attributes.get(name) for name in ("id", "source", "type")]
    if attributes.get("specversion") != "1.0" or not all(isinstance(text, str) and text for text in required):
        raise _invalid_payload("is not a CloudEvent 1.0")
    time = attributes.get("time")
    return Event(event_id, timestamp, attributes["type"], data, time if isinstance(time, str) else None, attributes)


def _id_of(headers: Mapping[str, object]) -> Optional[str]:
    event_id = headers.get("webhook-id")
    return event_id if isinstance(event_id, str) and event_id != "" else None


def _timestamp_of(headers: Mapping[str, object]) -> Optional[int]:
    timestamp = headers.get("webhook-timestamp")
    return int(timestamp) if isinstance(timestamp, str) and TIMESTAMP.fullmatch(timestamp) else None


def _text_of(body: bytes) -> str:
    try:
        return body.decode("utf-8-sig")
    except ValueError:
        raise _invalid_payload("is not UTF-8") from None


def _parse(text: str) -> Any:
    # RecursionError: nested deeper than the parser goes.
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise _invalid_payload("is not JSON") from None


def _refuse_constant(name: str) -> None:
    raise ValueError(f"JSON has no {name}.")


def _invalid_payload(what: str) -> WebhookVerificationError:
    return WebhookVerificationError(
        "invalid_payload", f"The signature is valid, but the body {what}. Check whether another webhook has this URL."
    )
