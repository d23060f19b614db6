"""The client of the API."""

from __future__ import annotations

from typing import Any, Optional

from .api_requests import ApiRequests
from .audit_log import AuditLog
from .base_url import parse_base_url
from .contacts import Contacts
from .deliveries import Deliveries
from .event_types import EventTypes
from .events import Events
from .json_object import Query
from .replays import Replays
from .transformations import Transformations
from .version import __version__
from .webhooks import Webhooks


class Client:
    """Talks to the API. It keeps no connection, needs no closing, and many threads can use one.

    base_url: where the API is, without `/v1`.
    api_key: `whk_…`. It is in no message and no repr.
    timeout: how many seconds to wait for the network to connect, to take or to give something.
    retries: how often a request is sent again after 429, 503 or without a whole answer; 0: one request, whatever comes.
        `Retry-After` is honoured up to a minute. What is not safe to repeat is repeated under an `Idempotency-Key`.

    Every method raises ApiError for an answer that is an error, ConnectionFailed when there was no whole answer, and
    ValueError for what can't be sent.
    """

    def __init__(self, base_url: str, api_key: str, timeout: float = 30, retries: int = 3) -> None:
        self._base_url = parse_base_url(base_url)
        if not timeout > 0:
            raise ValueError(f"timeout must be a number of seconds above 0, but is {timeout!r}.")
        if not isinstance(retries, int) or retries < 0:
            raise ValueError(f"retries must be a whole number from 0, but is {retries!r}.")
        headers = {"Authorization": _authorization(api_key), "User-Agent": f"hookferry-python/{__version__}"}
        self._requests = ApiRequests(self._base_url, headers, timeout, retries)
        self.webhooks = Webhooks(self._requests)
        self.events = Events(self._requests)
        self.deliveries = Deliveries(self._requests)
        self.replays = Replays(self._requests)
        self.event_types = EventTypes(self._requests)
        self.audit_log = AuditLog(self._requests)
        self.contacts = Contacts(self._requests)
        self.transformations = Transformations(self._requests)

    def request(
        self,
        method: str,
        path: str,
        json: Any = None,
        query: Optional[Query] = None,
        idempotency_key: Optional[str] = None,
    ) -> Any:
        """Any request, such as `request("GET", "/v1/account/usage")`: its JSON, or None where there is no body."""
        return self._requests.send(method, path, json, query, idempotency_key)

    def __repr__(self) -> str:
        return f"Client({str(self._base_url)!r})"


def _authorization(api_key: str) -> str:
    # Checked here: http.client would say in its message what is wrong, and the key with it.
    if not isinstance(api_key, str) or api_key.strip() == "":
        raise ValueError("api_key is empty. Is its variable set?")
    if api_key.startswith("whsec_"):
        raise ValueError("api_key is a webhook's secret (whsec_…): pass an API key (whk_…).")
    if not (api_key.isascii() and api_key.isprintable()) or " " in api_key:
        raise ValueError("api_key has white space or other characters that no key has: strip it.")
    return f"Bearer {api_key}"
