"""The error that the API responds with."""

from __future__ import annotations

from typing import Any, Mapping, Optional, Sequence


class ApiError(Exception):
    """The API refused a request.

    `status` is the HTTP status. Decide by `code`: it stays as it is. It is `unexpected_response` when what responded was
    not the API, such as a proxy. `detail` and `errors` (`pointer` and `detail` of each fault) say what is wrong;
    `request_id` is what the operator asks for; `retry_after` is how long to wait, in seconds, if it said so.
    """

    def __init__(
        self,
        request: str,
        status: int,
        code: str,
        detail: str,
        *,
        errors: Sequence[Mapping[str, Any]] = (),
        request_id: Optional[str] = None,
        retry_after: Optional[float] = None,
    ) -> None:
        faults = "".join(f" {fault.get('pointer')}: {fault.get('detail')}." for fault in errors)
        suffix = f" ({request_id})" if request_id else ""
        super().__init__(f"{request} got {status} {code}: {detail}{faults}{suffix}")
        self.status = status
        self.code = code
        self.detail = detail
        self.errors = errors
        self.request_id = request_id
        self.retry_after = retry_after
