"""Reads signing keys from the secrets that the service issues."""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass
from typing import Optional, Sequence, Tuple

from .verification_error import WebhookVerificationError

_SECRET_PREFIX = "whsec_"
_API_KEY_PREFIX = "whk_"
_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}(?:==)?|[A-Za-z0-9+/]{3}=?)?")


@dataclass(frozen=True, repr=False)
class SigningKey:
    """The two keys of one secret: for `X-Service-Signature` and for Standard Webhooks."""

    service: bytes
    standard: bytes


def read_signing_keys(secret: Optional[str], secrets: Optional[Sequence[str]]) -> Tuple[SigningKey, ...]:
    """The keys of all given secrets.

    Raises WebhookVerificationError: `missing_secret` if there is none or one is empty, `not_a_secret` if one has
    another form. An empty key must never verify a signature: anybody can sign with it.
    """
    if isinstance(secrets, (str, bytes)):
        raise WebhookVerificationError(
            "not_a_secret", 'secrets must be a list of texts, but is one text: pass it as secret="…".'
        )
    given: Tuple[object, ...] = (() if secret is None else (secret,)) + tuple(secrets or ())
    if not given:
        raise WebhookVerificationError(
            "missing_secret", "There is no secret: pass the webhook's secret. Check that its variable is set."
        )
    return tuple(_read_key(one) for one in given)


def _read_key(given: object) -> SigningKey:
    # A secret that is read from a file often ends with a line break.
    secret = given.strip() if isinstance(given, str) else given
    if secret is None or (isinstance(secret, str) and _encoded_part(secret) == ""):
        raise WebhookVerificationError("missing_secret", "The secret is empty. Check that its variable is set.")
    if not isinstance(secret, str):
        kind = type(secret).__name__
        raise WebhookVerificationError("not_a_secret", f"The secret must be a text, but is {kind}.")
    if secret.startswith(_API_KEY_PREFIX):
        raise WebhookVerificationError(
            "not_a_secret",
            f"This is an API key ({_API_KEY_PREFIX}…): pass the webhook's secret ({_SECRET_PREFIX}…) instead.",
        )
    return SigningKey(standard=_decode(secret), service=secret.encode())


def _decode(secret: str) -> bytes:
    encoded = _encoded_part(secret)
    if _BASE64.fullmatch(encoded) is None:
        raise WebhookVerificationError(
            "not_a_secret",
            f"The secret is not {_SECRET_PREFIX} and base64: pass it exactly as the API gave it.",
        )
    return base64.b64decode(encoded + "=" * (-len(encoded) % 4))


def _encoded_part(secret: str) -> str:
    return secret[len(_SECRET_PREFIX) :] if secret.startswith(_SECRET_PREFIX) else secret
