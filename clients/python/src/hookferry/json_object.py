"""JSON objects of the API, with the members that docs/openapi.json says."""

from __future__ import annotations

import json
from typing import Any, Dict, Mapping, Optional, Union

JsonObject = Dict[str, Any]
Query = Mapping[str, Union[str, int, float, bool, None]]


def without_absent(**members: Any) -> JsonObject:
    """The members that were given: None means left out."""
    return {name: value for name, value in members.items() if value is not None}


def searched(data: Optional[Mapping[str, Any]]) -> Optional[str]:
    """The query parameter that searches a list for data."""
    return None if data is None else json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
