"""Requests as the service signs them, made without the code that is tested."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from typing import Any, Dict, Optional, Tuple

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
OTHER_SECRET = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"
EVENT_ID = "evt_01m7z10j5c4fq3r52bewgh"


def body_of(event_type: str = "brief.created", data: Any = None) -> bytes:
    return json.dumps({"type": event_type, "data": data}).encode()


def sign_standard(
    body: bytes, *, secret: str = SECRET, event_id: str = EVENT_ID, at: Optional[int] = None
) -> Dict[str, str]:
    timestamp = int(time.time()) if at is None else at
    key = base64.b64decode(secret[len("whsec_") :])
    signed = f"{event_id}.{timestamp}.".encode() + body
    signature = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    return {
        "webhook-id": event_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": f"v1,{signature}",
    }


def sign_service(body: bytes, *, secret: str = SECRET) -> Dict[str, str]:
    return {"X-Service-Signature": "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()}


def signed(event_type: str = "brief.created", data: Any = None, **how: Any) -> Tuple[bytes, Dict[str, str]]:
    body = body_of(event_type, data)
    return body, sign_standard(body, **how)
