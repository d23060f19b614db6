"""The client of the API."""

from __future__ import annotations

from typing import Any, Mapping, Optional

from .accounts import Accounts, ApiKeys, PortalSessions, SigningKeys
from .api_requests import ApiRequests
from .audit_log import AuditLog
from .base_url import parse_base_url
from .contacts import Contacts
from .deliveries import Deliveries
from .event_types import EventTypes
from .events import Events
from .json_object import JsonObject, Query
from .operations import DeadLetters, Metrics, Operations
from .replays import Replays
from .transformations import Transformations
from .version import __version__
from .webhooks import Webhooks


class Client:
    """A client of the API. It keeps no connection open, so it needs no closing. Threads may share one.

    base_url: the address of the API, without `/v1`.
    api_key: `whk_…`. No message and no repr shows it.
    timeout: the longest wait in seconds to connect, and for each write and read.
    retries: how often a request is sent again after 429, 503 or an incomplete response; 0: never.
        `Retry-After` is obeyed, up to a minute. Requests that create something are repeated with an `Idempotency-Key`,
        so that they do it once.
    account: the id of the account to act for (`X-Account-Id`), with a key of the operator. Default: the key's own.

    Every method raises ApiError if the API refuses a request, ConnectionFailed if no complete response came, and
    ValueError if an argument is not valid.
    """

    def __init__(
        self, base_url: str, api_key: str, timeout: float = 30, retries: int = 3, *, account: Optional[str] = None
    ) -> None:
        self._base_url = parse_base_url(base_url)
        if not timeout > 0:
            raise ValueError(f"timeout must be a number of seconds above 0, but is {timeout!r}.")
        if not isinstance(retries, int) or retries < 0:
            raise ValueError(f"retries must be a whole number from 0, but is {retries!r}.")
        headers = {"Authorization": _authorization(api_key), "User-Agent": f"hookferry-python/{__version__}"}
        if account is not None:
            headers["X-Account-Id"] = _account(account)
        self._requests = ApiRequests(self._base_url, headers, timeout, retries)
        self.webhooks = Webhooks(self._requests)
        self.events = Events(self._requests)
        self.deliveries = Deliveries(self._requests)
        self.replays = Replays(self._requests)
        self.event_types = EventTypes(self._requests)
        self.audit_log = AuditLog(self._requests)
        self.contacts = Contacts(self._requests)
        self.transformations = Transformations(self._requests)
        self.accounts = Accounts(self._requests)
        self.api_keys = ApiKeys(self._requests)
        self.portal_sessions = PortalSessions(self._requests)
        self.signing_keys = SigningKeys(self._requests)
        self.operations = Operations(self._requests)
        self.dead_letters = DeadLetters(self._requests)
        self.metrics = Metrics(self._requests)

    def me(self) -> JsonObject:
        """The account, scopes and limits of the key."""
        return self._get("/v1/me")

    def usage(self) -> JsonObject:
        """How much the account stores, and its quota."""
        return self._get("/v1/account/usage")

    def source_addresses(self) -> JsonObject:
        """The addresses that deliveries come from."""
        return self._get("/v1/source-addresses")

    def status(self) -> JsonObject:
        """Whether the service accepts events."""
        return self._get("/v1/status")

    def _get(self, path: str) -> JsonObject:
        read: JsonObject = self._requests.send("GET", path)
        return read

    def request(
        self,
        method: str,
        path: str,
        json: Any = None,
        query: Optional[Query] = None,
        idempotency_key: Optional[str] = None,
        headers: Optional[Mapping[str, str]] = None,
    ) -> Any:
        """Any request, such as `request("GET", "/v1/account/usage")`: its JSON, or None where there is no body.

        headers: beside those of the client, such as `{"If-Match": '"7"'}`. They can't replace `Authorization`.
        """
        return self._requests.send(method, path, json, query, idempotency_key, headers)

    def __repr__(self) -> str:
        return f"Client({str(self._base_url)!r})"


def _account(account: str) -> str:
    if not isinstance(account, str) or account == "":
        raise ValueError("account must be the id of an account, but is empty. Check that its variable is set.")
    if not (account.isascii() and account.isprintable()) or " " in account:
        raise ValueError(f"account must be the id of an account, but is {account!r}.")
    return account


def _authorization(api_key: str) -> str:
    # Checked here, because the message of http.client would show the key.
    if not isinstance(api_key, str) or api_key.strip() == "":
        raise ValueError("api_key is empty. Check that its variable is set.")
    if api_key.startswith("whsec_"):
        raise ValueError("api_key is a webhook's secret (whsec_…): pass an API key (whk_…).")
    if not (api_key.isascii() and api_key.isprintable()) or " " in api_key:
        raise ValueError("api_key has white space or other characters that no key has: strip it.")
    return f"Bearer {api_key}"
