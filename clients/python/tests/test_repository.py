"""What this package says, and other parts of the repository say too."""

from __future__ import annotations

import json
import unittest
from pathlib import Path

import hookferry
from hookferry.idempotency import IDEMPOTENCY_KEY_ROUTES

ROOT = Path(__file__).resolve().parents[3]


class RepositoryTest(unittest.TestCase):
    def test_the_version_is_that_of_the_service(self) -> None:
        package = json.loads((ROOT / "package.json").read_text("utf-8"))
        self.assertEqual(hookferry.__version__, package["version"])

    def test_keys_are_sent_to_the_routes_that_take_one(self) -> None:
        paths = json.loads((ROOT / "docs" / "openapi.json").read_text("utf-8"))["paths"]
        takes_key = {
            (method, path)
            for path, operations in paths.items()
            for method, operation in operations.items()
            for parameter in (operation.get("parameters", []) if isinstance(operation, dict) else [])
            if parameter.get("$ref") == "#/components/parameters/IdempotencyKey"
        }
        self.assertEqual(takes_key, {("post", route) for route in IDEMPOTENCY_KEY_ROUTES})

    def test_the_licence_is_that_of_the_service(self) -> None:
        own = Path(__file__).resolve().parents[1] / "LICENSE"
        self.assertEqual(own.read_text("utf-8"), (ROOT / "LICENSE").read_text("utf-8"))


if __name__ == "__main__":
    unittest.main()
