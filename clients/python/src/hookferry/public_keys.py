"""Public keys that verify `v1a` signatures, as a webhook or its account shows them."""

from __future__ import annotations

import base64
import binascii
import importlib
from typing import Any, List, Optional, Protocol, Sequence, Tuple

from .verification_error import WebhookVerificationError

_KEY_PREFIX = "whpk_"
_SCHEME = "v1a,"
_KEY_BYTES = 32
_SIGNATURE_BYTES = 64


class SignatureVerifier(Protocol):
    """Verifies signatures with public keys: `PublicKeys` or `Jwks`."""

    def verifies(self, signatures: Sequence[str], message: bytes, kid: Optional[str]) -> bool:
        """Whether one of the signatures is valid for one of the keys. Signatures of other schemes are ignored."""
        ...


class PublicKeys:
    """Public keys as the service shows them (`whpk_…`). A signature by any of them is valid.

    Needs the package `cryptography`: `pip install "hookferry[ed25519]"`. Raises ImportError without it, and
    WebhookVerificationError `not_a_key` if one is not a public key.
    """

    def __init__(self, *keys: Optional[str]) -> None:
        if not keys:
            raise not_a_key("there is none")
        self._keys: Tuple[Ed25519Key, ...] = tuple(Ed25519Key(_bytes_of(key)) for key in keys)

    def verifies(self, signatures: Sequence[str], message: bytes, kid: Optional[str]) -> bool:
        return is_signed_by_one(self._keys, signatures, message)


class Ed25519Key:
    """A public key of 32 bytes."""

    def __init__(self, key: bytes) -> None:
        ed25519, self._invalid = _load()
        self._key: Any = ed25519.Ed25519PublicKey.from_public_bytes(key)

    def verifies(self, signature: bytes, message: bytes) -> bool:
        try:
            self._key.verify(signature, message)
        except self._invalid:
            return False
        return True


def is_signed_by_one(keys: Sequence[Ed25519Key], signatures: Sequence[str], message: bytes) -> bool:
    given = [decode_base64(one[len(_SCHEME) :]) for one in signatures if one.startswith(_SCHEME)]
    whole: List[bytes] = [one for one in given if one is not None and len(one) == _SIGNATURE_BYTES]
    return any(key.verifies(signature, message) for signature in whole for key in keys)


def has_key_signature(signatures: Sequence[str]) -> bool:
    return any(signature.startswith(_SCHEME) for signature in signatures)


def not_a_key(why: str) -> WebhookVerificationError:
    return WebhookVerificationError(
        "not_a_key",
        f"This is not a public key: {why}. Pass the webhook's public_key as it is shown ({_KEY_PREFIX}…).",
    )


def decode_base64(text: str) -> Optional[bytes]:
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        return None


def _bytes_of(given: Optional[str]) -> bytes:
    if not isinstance(given, str) or given.strip() == "":
        raise not_a_key("it is not set")
    key = given.strip()
    if not key.startswith(_KEY_PREFIX):
        raise not_a_key(f"it does not begin with {_KEY_PREFIX}")
    decoded = decode_base64(key[len(_KEY_PREFIX) :])
    if decoded is None or len(decoded) != _KEY_BYTES:
        raise not_a_key(f"it is not the base64 of {_KEY_BYTES} bytes")
    return decoded


def _load() -> Tuple[Any, Any]:
    # The standard library has no Ed25519.
    try:
        ed25519 = importlib.import_module("cryptography.hazmat.primitives.asymmetric.ed25519")
        exceptions = importlib.import_module("cryptography.exceptions")
    except ImportError as error:
        raise ImportError('Signatures by keys need cryptography: pip install "hookferry[ed25519]"') from error
    return ed25519, exceptions.InvalidSignature
