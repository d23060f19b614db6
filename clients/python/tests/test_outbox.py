import json
import unittest
from typing import Any, List, Sequence, Tuple

from hookferry.outbox import enqueue, insert_of


class FakeCursor:
    def __init__(self) -> None:
        self.executed: List[Tuple[str, Sequence[str]]] = []

    def execute(self, statement: str, parameters: Sequence[str], /) -> None:
        self.executed.append((statement, parameters))


class OutboxTest(unittest.TestCase):
    def test_writes_the_event_by_the_cursor_and_returns_its_id(self) -> None:
        cursor = FakeCursor()
        event_id = enqueue(
            cursor,
            "order.created",
            {"id": "ord_4711", "name": "Müller"},
            account_id="acme",
            id="order-4711",
            webhook_ids=["crm"],
            deliver_at="2030-01-31T12:00:00Z",
            group="order-4711",
        )
        self.assertEqual(event_id, "order-4711")
        [(statement, (written_id, text))] = cursor.executed
        self.assertEqual(statement, "INSERT INTO hookferry_outbox (event_id, event) VALUES (%s, %s)")
        self.assertEqual(written_id, "order-4711")
        self.assertIn("Müller", text)
        self.assertEqual(
            json.loads(text),
            {
                "type": "order.created",
                "data": {"id": "ord_4711", "name": "Müller"},
                "id": "order-4711",
                "accountId": "acme",
                "webhookIds": ["crm"],
                "deliverAt": "2030-01-31T12:00:00Z",
                "group": "order-4711",
            },
        )

    def test_makes_ids_that_sort_as_they_were_made(self) -> None:
        ids = [insert_of("order.created", {})[1][0] for _ in range(1_000)]
        self.assertEqual(len(set(ids)), 1_000)
        self.assertEqual(sorted(ids), ids)

    def test_goes_to_a_table_of_another_name(self) -> None:
        self.assertIn("INTO app.outbox (", insert_of("order.created", {}, table="app.outbox")[0])

    def test_refuses_what_could_never_be_published(self) -> None:
        wrong: List[Tuple[Any, Any, Any]] = [
            ("", {}, {}),
            (None, {}, {}),
            ("order.created", {}, {"id": "a b"}),
            ("order.created", {}, {"id": ""}),
            ("order.created", {"at": object()}, {}),
            ("order.created", float("nan"), {}),
            ("order.created", {}, {"table": "a; DROP TABLE b"}),
        ]
        for type, data, options in wrong:
            cursor = FakeCursor()
            with self.subTest(type=type, data=data, options=options), self.assertRaises(ValueError):
                enqueue(cursor, type, data, **options)
            self.assertEqual(cursor.executed, [])


if __name__ == "__main__":
    unittest.main()
