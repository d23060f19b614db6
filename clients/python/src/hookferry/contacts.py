"""Contacts, who get messages when webhooks fail, and these messages."""

from __future__ import annotations

from typing import Any, Iterator, List, Optional, Sequence

from .api_requests import ApiRequests, segment
from .json_object import JsonObject, without_absent
from .pages import iterate


class Contacts:
    def __init__(self, requests: ApiRequests) -> None:
        self._requests = requests

    def create(
        self,
        type: str,
        *,
        address: Optional[str] = None,
        url: Optional[str] = None,
        webhook_id: Optional[str] = None,
        occasions: Optional[Sequence[str]] = None,
        digest: Optional[str] = None,
        time_zone: Optional[str] = None,
        idempotency_key: Optional[str] = None,
    ) -> JsonObject:
        """Create a contact. It gets one message, and further ones after it has confirmed.

        type: `email` with an address; `slack`, `teams`, `discord` or `webhook` with a url. webhook_id: only messages
        about this webhook. occasions: only messages on these occasions. digest: `hourly` or `daily`.
        time_zone: of the times in its messages, such as `Europe/Berlin`.
        """
        settings = without_absent(
            address=address, url=url, webhook_id=webhook_id, digest=digest, time_zone=time_zone
        )
        body = {"type": type, **settings, **without_absent(occasions=list(occasions) if occasions else None)}
        contact: JsonObject = self._requests.send("POST", "/v1/contacts", body, idempotency_key=idempotency_key)
        return contact

    def list(self) -> List[JsonObject]:
        """All of the account, newest first."""
        contacts: List[JsonObject] = self._requests.send("GET", "/v1/contacts")["data"]
        return contacts

    def update(self, contact_id: str, **changes: Any) -> JsonObject:
        """Change `webhook_id`, `occasions`, `digest` or `time_zone`. None removes one."""
        contact: JsonObject = self._requests.send("PATCH", f"/v1/contacts/{segment(contact_id)}", changes)
        return contact

    def ask_again(self, contact_id: str) -> JsonObject:
        """Send the link to confirm once more."""
        contact: JsonObject = self._requests.send("POST", f"/v1/contacts/{segment(contact_id)}/ask-again")
        return contact

    def send_test(self, contact_id: str) -> JsonObject:
        """Send a test message to a contact that has confirmed."""
        contact: JsonObject = self._requests.send("POST", f"/v1/contacts/{segment(contact_id)}/test")
        return contact

    def delete(self, contact_id: str) -> None:
        self._requests.send("DELETE", f"/v1/contacts/{segment(contact_id)}")

    def notifications(
        self,
        *,
        contact_id: Optional[str] = None,
        topic: Optional[str] = None,
        status: Optional[str] = None,
        limit: Optional[int] = None,
    ) -> Iterator[JsonObject]:
        """The messages, newest first, page by page of `limit` (1 to 200).

        topic: such as `failing`. status: `pending`, `sent`, `failed` or `cancelled`.
        """
        query = without_absent(contact_id=contact_id, topic=topic, status=status, limit=limit)
        return iterate(self._requests, "/v1/notifications", query)
