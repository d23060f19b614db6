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
    """A client of the API. It keeps no connection open, so it needs no closing. Threads may share one.

    base_url: the address of the API, without `/v1`.
    api_key: `whk_…`. No message and no repr shows it.
    timeout: the longest wait in seconds to connect, and for each write and read.
    retries: how often a request is sent again after 429, 503 or an incomplete response; 0: never.
        `Retry-After` is obeyed, up to a minute. Requests that create something are repeated with an `Idempotency-Key`,
        so that they do it once.

    Every method raises ApiError if the API refuses a request, ConnectionFailed if no complete response came, and
    ValueError if an argument is not valid.
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
    # Checked here, because the message of http.client would show the key.
    if not isinstance(api_key, str) or api_key.strip() == "":
        raise ValueError("api_key is empty. Check that its variable is set.")
    if api_key.startswith("whsec_"):
        raise ValueError("api_key is a webhook's secret (whsec_…): pass an API key (whk_…).")
    if not (api_key.isascii() and api_key.isprintable()) or " " in api_key:
        raise ValueError("api_key has white space or other characters that no key has: strip it.")
    return f"Bearer {api_key}"
