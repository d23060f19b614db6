"""Which failed requests are sent again, and when."""

from __future__ import annotations

import random
import time
from typing import Callable, Optional, TypeVar, Union

from .api_error import ApiError
from .connection_failed import ConnectionFailed

_T = TypeVar("_T")
Failure = Union[ApiError, ConnectionFailed]

_FIRST_DELAY_SECONDS = 0.5
_LONGEST_BACKOFF_SECONDS = 8.0
# A caller should know about longer waits, so the error is raised instead.
_LONGEST_RETRY_AFTER_SECONDS = 60.0


def with_retries(
    attempt: Callable[[], _T], retries: int, is_repeatable: bool, sleep: Callable[[float], None] = time.sleep
) -> _T:
    """Call `attempt` up to 1 + `retries` times, and return its result. Raises its last failure."""
    for retry in range(retries):
        try:
            return attempt()
        except (ApiError, ConnectionFailed) as failure:
            delay = delay_after(failure, retry, is_repeatable)
            if delay is None:
                raise
        sleep(delay)
    return attempt()


def delay_after(failure: Failure, retry: int, is_repeatable: bool) -> Optional[float]:
    """Seconds until the next attempt; None: this failure is final. `retry` counts from 0."""
    if isinstance(failure, ConnectionFailed):
        return _backoff(retry) if is_repeatable else None
    if not _may_pass(failure, is_repeatable):
        return None
    if failure.retry_after is None:
        return _backoff(retry)
    return failure.retry_after if failure.retry_after <= _LONGEST_RETRY_AFTER_SECONDS else None


def _may_pass(error: ApiError, is_repeatable: bool) -> bool:
    # After 429 nothing was done; after 503 it may have been. `request_in_progress` means the attempt before, whose
    # response was lost.
    if error.status == 429:
        return True
    return is_repeatable and (error.status == 503 or error.code == "request_in_progress")


def _backoff(retry: int) -> float:
    """Twice as long each time, half of it at random, so that many clients do not come back at once."""
    longest = min(_LONGEST_BACKOFF_SECONDS, _FIRST_DELAY_SECONDS * 2.0 ** min(retry, 10))
    return longest * random.uniform(0.5, 1.0)
