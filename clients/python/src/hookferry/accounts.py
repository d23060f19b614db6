"""Accounts, and who may act for them: API keys, portal sessions, and the keys that sign."""

from __future__ import annotations

from typing import Any, Iterator, List, Optional, Sequence

from .api_requests import ApiRequests, segment
from .json_object import JsonObject, without_absent
from .pages import iterate


class Accounts:
    """Needs an admin key of the operator."""

    def __init__(self, requests: ApiRequests) -> None:
        self._requests = requests

    def create(self, id: Optional[str] = None, *, idempotency_key: Optional[str] = None, **members: Any) -> JsonObject:
        """Create an account.

        members: `name`, `weight`, `quota_bytes`, `history_retention`, `default_signing`, `cloudevents_source`,
        `endpoint_verification`.
        """
        body = {**without_absent(id=id), **members}
        account: JsonObject = self._requests.send("POST", "/v1/accounts", body, idempotency_key=idempotency_key)
        return account

    def list(self, *, include: Optional[str] = None, limit: Optional[int] = None) -> Iterator[JsonObject]:
        """All accounts, page by page of `limit` (1 to 200). include: `usage`."""
        return iterate(self._requests, "/v1/accounts", without_absent(include=include, limit=limit))

    def get(self, account_id: str) -> JsonObject:
        account: JsonObject = self._requests.send("GET", f"/v1/accounts/{segment(account_id)}")
        return account

    def update(self, account_id: str, **changes: Any) -> JsonObject:
        """Change an account. None removes a member."""
        account: JsonObject = self._requests.send("PATCH", f"/v1/accounts/{segment(account_id)}", changes)
        return account

    def pause(self, account_id: str, *, reason: Optional[str] = None) -> JsonObject:
        """Disable its webhooks. Its events are accepted, and its deliveries are held until `resume`.

        Returns the account with `webhooks_changed`. reason: up to 300 characters, for other operators and the audit log.
        """
        path = f"/v1/accounts/{segment(account_id)}/pause"
        account: JsonObject = self._requests.send("POST", path, without_absent(reason=reason))
        return account

    def resume(self, account_id: str) -> JsonObject:
        """Enable the webhooks that the pause disabled. Returns the account with `webhooks_changed`."""
        account: JsonObject = self._requests.send("POST", f"/v1/accounts/{segment(account_id)}/resume")
        return account

    def delete(self, account_id: str) -> JsonObject:
        """Erase an account and everything that it owns. It happens in the background; returns the account meanwhile."""
        account: JsonObject = self._requests.send("DELETE", f"/v1/accounts/{segment(account_id)}")
        return account


class ApiKeys:
    def __init__(self, requests: ApiRequests) -> None:
        self._requests = requests

    def create(
        self, name: str, scopes: Sequence[str], *, idempotency_key: Optional[str] = None, **members: Any
    ) -> JsonObject:
        """Issue a key. Its `key` is shown here alone. members: `event_types`, `expires_at`."""
        if isinstance(scopes, str):
            raise ValueError(f'scopes must be a list, such as ["{scopes}"].')
        body = {"name": name, "scopes": [*scopes], **members}
        key: JsonObject = self._requests.send("POST", "/v1/api-keys", body, idempotency_key=idempotency_key)
        return key

    def list(self, *, limit: Optional[int] = None) -> Iterator[JsonObject]:
        """All keys of the account, page by page of `limit` (1 to 200)."""
        return iterate(self._requests, "/v1/api-keys", without_absent(limit=limit))

    def rotate(
        self, key_id: str, *, overlap_seconds: Optional[int] = None, idempotency_key: Optional[str] = None
    ) -> JsonObject:
        """Issue a key in the place of another one, which stays valid for the overlap."""
        body = without_absent(overlap_seconds=overlap_seconds)
        path = f"/v1/api-keys/{segment(key_id)}/rotate"
        key: JsonObject = self._requests.send("POST", path, body, idempotency_key=idempotency_key)
        return key

    def revoke(self, key_id: str, *, last: Optional[bool] = None) -> None:
        """Revoke a key. last: also the last one that can manage keys."""
        self._requests.send("DELETE", f"/v1/api-keys/{segment(key_id)}", query=without_absent(last=last))


class PortalSessions:
    def __init__(self, requests: ApiRequests) -> None:
        self._requests = requests

    def create(self, *, idempotency_key: Optional[str] = None, **members: Any) -> JsonObject:
        """Create a link to the portal, its `url`, for the account of this client.

        members: as docs/portal.md lists them, such as `capabilities`, `return_url` and `language`.
        """
        path = "/v1/portal-sessions"
        session: JsonObject = self._requests.send("POST", path, members, idempotency_key=idempotency_key)
        return session

    def list(self, *, limit: Optional[int] = None) -> Iterator[JsonObject]:
        """Page by page of `limit` (1 to 200)."""
        return iterate(self._requests, "/v1/portal-sessions", without_absent(limit=limit))

    def end(self, session_id: str) -> None:
        self._requests.send("DELETE", f"/v1/portal-sessions/{segment(session_id)}")


class SigningKeys:
    """The public keys of the account, for webhooks whose `signing` is `ed25519` or `both`."""

    def __init__(self, requests: ApiRequests) -> None:
        self._requests = requests

    def list(self) -> List[JsonObject]:
        keys: List[JsonObject] = self._requests.send("GET", "/v1/signing-keys")["data"]
        return keys

    def rotate(self, *, immediate: Optional[bool] = None, idempotency_key: Optional[str] = None) -> List[JsonObject]:
        """Make a new key. It signs after the lead time, or at once with `immediate`. Returns all keys."""
        body = without_absent(immediate=immediate)
        path = "/v1/signing-keys/rotate"
        keys: List[JsonObject] = self._requests.send("POST", path, body, idempotency_key=idempotency_key)["data"]
        return keys
