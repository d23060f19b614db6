from __future__ import annotations

import threading
import unittest
from typing import List

from hookferry import MemoryStore


class MemoryStoreTest(unittest.TestCase):
    def setUp(self) -> None:
        self.now = 0.0
        self.store = MemoryStore(max_ids=3, ttl_seconds=100, now=lambda: self.now)

    def test_an_id_is_claimed_once_and_known_once_committed(self) -> None:
        self.assertEqual(self.store.claim("a", 10), "claimed")
        self.assertEqual(self.store.claim("a", 10), "busy")
        self.store.commit("a")
        self.assertEqual(self.store.claim("a", 10), "done")

    def test_an_id_that_is_released_can_be_claimed_again(self) -> None:
        self.store.claim("a", 10)
        self.store.release("a")
        self.assertEqual(self.store.claim("a", 10), "claimed")

    def test_what_was_handled_stays_so_when_a_late_claim_is_released(self) -> None:
        self.store.commit("a")
        self.store.release("a")
        self.assertEqual(self.store.claim("a", 10), "done")

    def test_a_claim_ends_with_its_lease_and_a_note_with_its_time(self) -> None:
        self.store.claim("a", 10)
        self.now = 10
        self.assertEqual(self.store.claim("a", 10), "claimed")
        self.store.commit("a")
        self.now = 109
        self.assertEqual(self.store.claim("a", 10), "done")
        self.now = 110
        self.assertEqual(self.store.claim("a", 10), "claimed")

    def test_holds_no_more_ids_than_it_may_and_forgets_the_oldest(self) -> None:
        for event_id in "abcd":
            self.store.commit(event_id)
        self.assertEqual(self.store.claim("b", 10), "done")
        self.assertEqual(self.store.claim("a", 10), "claimed")

    def test_of_many_threads_one_gets_the_claim(self) -> None:
        store, start = MemoryStore(), threading.Barrier(16)
        results: List[str] = []

        def claim() -> None:
            start.wait()
            results.append(store.claim("a", 10))

        threads = [threading.Thread(target=claim) for _ in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sorted(results), ["busy"] * 15 + ["claimed"])

    def test_bounds_that_are_none_are_refused(self) -> None:
        with self.assertRaisesRegex(ValueError, "max_ids"):
            MemoryStore(max_ids=0)
        with self.assertRaisesRegex(ValueError, "ttl_seconds"):
            MemoryStore(ttl_seconds=0)


if __name__ == "__main__":
    unittest.main()
