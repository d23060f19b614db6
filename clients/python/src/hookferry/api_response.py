"""Reads a response of the API: its JSON, or an ApiError."""

from __future__ import annotations

import email.utils
import json
import math
import time
from typing import Any, Optional

from .api_error import ApiError
from .http_transport import HttpRequest, HttpResponse


def read_response(request: HttpRequest, response: HttpResponse) -> Any:
    """The JSON of a 2xx; None if it has no body. Raises ApiError for everything else."""
    if not 200 <= response.status < 300:
        raise read_error(request, response)
    body = response.read()
    if body == b"":
        return None
    try:
        return json.loads(body)
    except ValueError:
        detail = "the response is not JSON. Check that base_url is the address of the API."
        raise _unexpected(request, response, detail) from None


def read_error(request: HttpRequest, response: HttpResponse) -> ApiError:
    problem = _read_problem(response)
    if problem is None:
        if 300 <= response.status < 400:
            return _unexpected(request, response, "it redirects, which is not followed: correct base_url.")
        return _unexpected(request, response, "the response is not the API's: is there a proxy in between?")
    errors = problem.get("errors")
    return ApiError(
        request.name,
        response.status,
        str(problem["code"]),
        str(problem.get("detail", "")),
        errors=[fault for fault in errors if isinstance(fault, dict)] if isinstance(errors, list) else [],
        request_id=problem.get("request_id") or response.header("x-request-id"),
        retry_after=parse_retry_after(response.header("retry-after"), time.time()),
    )


def _read_problem(response: HttpResponse) -> Optional[dict[str, Any]]:
    try:
        problem = json.loads(response.read())
    except ValueError:
        return None
    return problem if isinstance(problem, dict) and isinstance(problem.get("code"), str) else None


def _unexpected(request: HttpRequest, response: HttpResponse, detail: str) -> ApiError:
    return ApiError(
        request.name,
        response.status,
        "unexpected_response",
        detail,
        request_id=response.header("x-request-id"),
        retry_after=parse_retry_after(response.header("retry-after"), time.time()),
    )


def parse_retry_after(text: Optional[str], now: float) -> Optional[float]:
    """The seconds to wait from `now` (Unix seconds), read from a number of seconds or an HTTP date; None for anything
    else.
    """
    if text is None:
        return None
    text = text.strip()
    if text.isascii() and text.isdigit():
        return float(text)
    try:
        at = email.utils.parsedate_to_datetime(text).timestamp()
    except (TypeError, ValueError, OverflowError):
        return None
    return max(0.0, math.ceil(at - now))
