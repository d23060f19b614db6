"""Receive, verify and publish webhooks. Standard library only."""

from .response import ReceiverResponse, abort, accept, disable, retry_after
from .api_error import ApiError
from .asgi import AsgiApp
from .client import Client
from .connection_failed import ConnectionFailed
from .deduplication import Claim, DeduplicationStore, MemoryStore
from .event import Event, VerifiedRequest
from .jwks import Jwks
from .public_keys import PublicKeys, SignatureVerifier
from .request_headers import RequestHeaders
from .router import Router
from .signature import verify_signature
from .verification import verify, verify_events
from .verification_error import VerificationCode, WebhookVerificationError
from .version import __version__
from .wsgi import WsgiApp

__all__ = [
    "ReceiverResponse",
    "ApiError",
    "AsgiApp",
    "Claim",
    "Client",
    "ConnectionFailed",
    "DeduplicationStore",
    "Event",
    "Jwks",
    "MemoryStore",
    "PublicKeys",
    "RequestHeaders",
    "Router",
    "SignatureVerifier",
    "VerificationCode",
    "VerifiedRequest",
    "WebhookVerificationError",
    "WsgiApp",
    "__version__",
    "abort",
    "accept",
    "disable",
    "retry_after",
    "verify",
    "verify_events",
    "verify_signature",
]
