"""Ids sort by the time they were made."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from uuid import UUID

from rushes.store.ids import new_id


def test_id_is_a_uuid_of_version_7_with_the_time_in_front():
    """000-007, 000-025, 003-004."""
    before = time.time_ns() // 1_000_000
    made = UUID(new_id())
    after = time.time_ns() // 1_000_000

    assert (made.version, made.variant) == (7, "specified in RFC 4122")
    assert before <= made.int >> 80 <= after + 10_000


def test_ids_of_one_process_sort_in_the_order_they_were_made():
    ids = [new_id() for _ in range(20_000)]

    assert ids == sorted(set(ids))


def test_ids_of_several_threads_are_unique_and_in_order_in_each():
    with ThreadPoolExecutor(4) as pool:
        batches = list(pool.map(lambda _: [new_id() for _ in range(2_000)], range(4)))

    assert all(batch == sorted(batch) for batch in batches)
    assert len({id for batch in batches for id in batch}) == 8_000
