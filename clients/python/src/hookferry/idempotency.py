"""Which requests may be sent again."""

from __future__ import annotations

import re

# As docs/openapi.json has them; a test compares.
IDEMPOTENCY_KEY_ROUTES = (
    "/v1/accounts",
    "/v1/api-keys",
    "/v1/api-keys/{id}/rotate",
    "/v1/contacts",
    "/v1/deliveries/{id}/redeliver",
    "/v1/events",
    "/v1/events/batch",
    "/v1/portal-sessions",
    "/v1/signing-keys/rotate",
    "/v1/webhooks",
    "/v1/webhooks/{id}/replays",
    "/v1/webhooks/{id}/rotate-secret",
    "/v1/webhooks/{id}/test",
)

_TAKES_KEY = re.compile("|".join(re.escape(route).replace(r"\{id\}", "[^/]+") for route in IDEMPOTENCY_KEY_ROUTES))
_SAME_WHEN_REPEATED = re.compile(
    r"/v1/webhooks/[^/]+/(?:enable|disable|transformation/try|transformation/versions/[^/]+/restore)"
    r"|/v1/(?:transformations|filters)/try"
)


def takes_idempotency_key(method: str, path: str) -> bool:
    return method == "POST" and _TAKES_KEY.fullmatch(path) is not None


def is_same_when_repeated(method: str, path: str) -> bool:
    """Whether repeating the request does no harm, even without an Idempotency-Key."""
    return method != "POST" or _SAME_WHEN_REPEATED.fullmatch(path) is not None
