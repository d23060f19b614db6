"""Why a request was not verified."""

from __future__ import annotations

from typing import Literal, Optional

VerificationCode = Literal[
    "missing_secret",
    "not_a_secret",
    "not_a_key",
    "keys_unavailable",
    "body_already_parsed",
    "missing_header",
    "timestamp_skew",
    "no_match",
    "invalid_payload",
]

_CONFIGURATION_CODES = frozenset(
    {"missing_secret", "not_a_secret", "not_a_key", "keys_unavailable", "body_already_parsed"}
)


class WebhookVerificationError(Exception):
    """A request that must not be trusted, or a receiver with a wrong configuration.

    `code` says which; codes do not change. `header` is the header that is missing or malformed (`missing_header`).
    `skew_seconds` is the difference of the request's time from this clock: negative if the request is too old
    (`timestamp_skew`). The message is for people. It has neither the secret nor the body.
    """

    def __init__(
        self,
        code: VerificationCode,
        message: str,
        *,
        header: Optional[str] = None,
        skew_seconds: Optional[int] = None,
    ) -> None:
        super().__init__(message)
        self.code: VerificationCode = code
        self.header = header
        self.skew_seconds = skew_seconds

    @property
    def is_configuration_error(self) -> bool:
        """Whether the receiver's configuration is wrong: no request can be verified until it is corrected."""
        return self.code in _CONFIGURATION_CODES
