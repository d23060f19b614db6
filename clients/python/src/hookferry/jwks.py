"""The keys that the service publishes for an account."""

from __future__ import annotations

import base64
import json
import re
import threading
import time
from typing import Any, Callable, Dict, Mapping, Optional, Sequence, Tuple

from .base_url import parse_base_url
from .http_transport import HttpRequest, HttpTransport
from .public_keys import Ed25519Key, has_key_signature, is_signed_by_one
from .verification_error import WebhookVerificationError

# The body of the set, and the header Cache-Control.
Fetched = Tuple[bytes, Optional[str]]

_TIMEOUT_SECONDS = 5.0
_MAX_BYTES = 65_536
_MAX_KEYS = 100
# Requests that name unknown keys cause no more fetches than this.
_UNKNOWN_EVERY = 60.0
_FAILED_EVERY = 5.0
# `max-age` of the response, within these.
_LEAST, _MOST, _DEFAULT = 10.0, 3_600.0, 300.0
# A set that can't be fetched again is used for this long: its requests may arrive late, while the service is down.
_STALE = 3_600.0

# Over http: somebody on the way could change the keys, but not on the way to this machine.
_URL = re.compile(r"https://[^/]|http://(localhost|127\.0\.0\.1|\[::1\])(:[0-9]+)?/", re.IGNORECASE)
_MAX_AGE = re.compile(r"(?:^|[\s,])max-age=([0-9]{1,9})")
_X = re.compile(r"[A-Za-z0-9_-]{43}")


class Jwks:
    """Verifies with the keys at a URL. Take the URL from your configuration, never from a request. It must be https:, or
    http: on this machine for trying it out.

    The keys are fetched at their first use, again when they are old, and when a request names an unknown key: for that
    reason at most once a minute. Threads may share one object.

    fetch: returns the body of the set and its Cache-Control; it may raise any exception. clock: in seconds.

    Raises WebhookVerificationError `not_a_key` at once, and `keys_unavailable` while they can't be fetched.
    """

    def __init__(
        self,
        url: Optional[str],
        *,
        fetch: Optional[Callable[[str], Fetched]] = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._url = _url_of_set(url)
        self._fetch = _fetch if fetch is None else fetch
        self._clock = clock
        self._lock = threading.Lock()
        self._keys: Optional[Mapping[str, Ed25519Key]] = None
        self._good_until = self._tried_at = float("-inf")

    def verifies(self, signatures: Sequence[str], message: bytes, kid: Optional[str]) -> bool:
        if not has_key_signature(signatures):
            return False
        return is_signed_by_one(self._find(kid), signatures, message)

    def _find(self, kid: Optional[str]) -> Sequence[Ed25519Key]:
        with self._lock:
            keys = self._freshened()
            if kid is None:
                return tuple(keys.values())
            if kid not in keys and self._clock() - self._tried_at >= _UNKNOWN_EVERY:
                self._try_refresh()
                keys = self._keys or keys
            return (keys[kid],) if kid in keys else ()

    def _freshened(self) -> Mapping[str, Ed25519Key]:
        now = self._clock()
        failure: Optional[Exception] = None
        if now >= self._good_until and now - self._tried_at >= _FAILED_EVERY:
            failure = self._try_refresh()
        if self._keys is None or self._clock() > self._good_until + _STALE:
            why = "it failed a moment ago" if failure is None else f"{type(failure).__name__}: {failure}"
            raise WebhookVerificationError("keys_unavailable", f"The key set can't be fetched: {why}.") from failure
        return self._keys

    def _try_refresh(self) -> Optional[Exception]:
        self._tried_at = self._clock()
        try:
            body, cache_control = self._fetch(self._url)
            self._keys = _parse(body)
        except Exception as error:
            return error
        self._good_until = self._tried_at + _good_for(cache_control)
        return None


def _url_of_set(url: Optional[str]) -> str:
    if not isinstance(url, str) or url.strip() == "":
        raise _not_a_set("it is not set")
    if _URL.match(url) is None:
        raise _not_a_set("it must begin with https://, or with http://localhost, http://127.0.0.1 or http://[::1]")
    return url


def _not_a_set(why: str) -> WebhookVerificationError:
    example = "https://<the service>/.well-known/webhooks/<account>/jwks.json"
    return WebhookVerificationError("not_a_key", f"This is not the URL of a key set: {why}. Pass {example}.")


def _fetch(url: str) -> Fetched:
    base = parse_base_url(url)
    request = HttpRequest("GET", "", {"Accept": "application/json", "Cache-Control": "no-cache"})
    deadline = time.monotonic() + _TIMEOUT_SECONDS
    with HttpTransport(base, _TIMEOUT_SECONDS).send(request) as response:
        # A redirect could lead to the keys of somebody else.
        if response.status != 200:
            raise ValueError(f"it responds with {response.status}")
        body = b""
        for chunk in response.chunks():
            body += chunk
            if len(body) > _MAX_BYTES or time.monotonic() > deadline:
                raise ValueError("it is too long, or takes too long")
        return body, response.header("Cache-Control")


def _good_for(cache_control: Optional[str]) -> float:
    found = _MAX_AGE.search(cache_control or "")
    return _DEFAULT if found is None else min(max(float(found.group(1)), _LEAST), _MOST)


def _parse(body: bytes) -> Mapping[str, Ed25519Key]:
    """The keys of the set for Ed25519 signatures. Other keys are ignored."""
    if len(body) > _MAX_BYTES:
        raise ValueError("it is too long")
    payload: Any = json.loads(body)
    keys: Any = payload.get("keys") if isinstance(payload, dict) else None
    if not isinstance(keys, list):
        raise ValueError("it is not a key set")
    found: Dict[str, Ed25519Key] = {}
    for jwk in keys[:_MAX_KEYS]:
        if _is_ours(jwk):
            found[jwk["kid"]] = Ed25519Key(base64.urlsafe_b64decode(jwk["x"] + "="))
    return found


def _is_ours(jwk: Any) -> bool:
    if not isinstance(jwk, dict) or jwk.get("kty") != "OKP" or jwk.get("crv") != "Ed25519":
        return False
    if jwk.get("use", "sig") != "sig" or jwk.get("alg", "EdDSA") not in ("EdDSA", "Ed25519"):
        return False
    x, kid = jwk.get("x"), jwk.get("kid")
    return isinstance(kid, str) and isinstance(x, str) and _X.fullmatch(x) is not None
