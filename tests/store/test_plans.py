"""What PostgreSQL reads for a statement that was planned when a table was small.

It counts the rows that a transaction fetched, so nothing here depends on the clock.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from rushes.domain.graph import JobRequest, Step
from rushes.domain.task import Claim
from rushes.engine.claim import take
from rushes.engine.journal import Journal
from rushes.engine.submit import submit_many
from rushes.store import postgres
from rushes.store.database import Transaction
from tests.world import World, sql

pytestmark = pytest.mark.parametrize(
    "db", [pytest.param("postgres", marks=pytest.mark.postgres)], indirect=True
)

MANY = 20_000
FEW = 20
FETCHED = """
SELECT CAST(sum(idx_tup_fetch) AS bigint) AS n FROM pg_stat_xact_user_tables WHERE relname = 'tasks'
"""


def fill(world: World, n: int) -> None:
    request = JobRequest(kind="test", steps={"noop": Step(items=[{}] * FEW)})
    submit_many(world.engine, [request] * (n // FEW), now=world.now)


def fetched_by(world: World, work: Callable[[Transaction], object]) -> int:
    """Return how many rows of `tasks` the work fetched, in a transaction that is then undone."""

    class Enough(Exception):
        pass

    found: list[int] = []

    def count(tx: Transaction) -> None:
        [row] = tx._connection.execute(FETCHED).fetchall()  # type: ignore[attr-defined]
        found.append(row["n"])

    def counted(tx: Transaction) -> None:
        count(tx)
        work(tx)
        count(tx)
        raise Enough

    with pytest.raises(Enough):
        world.db.transact(counted, now=world.now)
    before, after = found
    return after - before


@pytest.fixture
def claims(world: World) -> list[Claim]:
    """Claims of a worker whose connection planned everything when there was next to nothing."""
    owner = world.worker()
    for _ in range(2):
        sql(world.db, "ANALYZE")
        fill(world, FEW)
        for claim in world.claim(owner, FEW):
            world.complete(claim)
    fill(world, FEW)
    return world.claim(owner, FEW)


@pytest.fixture
def burst(world: World, claims: list[Claim], monkeypatch: pytest.MonkeyPatch) -> None:
    """Many more tasks; then every connection of the pool has met a slow transaction."""
    fill(world, MANY)
    monkeypatch.setattr(postgres, "SLOW", 0)
    for _ in range(10):
        world.db.transact(lambda _: None)


@pytest.mark.usefixtures("burst")
def test_claim_reads_little_more_than_it_takes_when_a_small_table_has_grown(
    world: World, claims: list[Claim]
):
    """001-008: a burst of work does not slow down those who take it."""

    def claim(tx: Transaction) -> None:
        assert len(take(tx, world.engine, claims[0].owner, {"default": FEW}, Journal())) == FEW

    assert fetched_by(world, claim) < 10 * FEW


@pytest.mark.usefixtures("burst")
def test_connection_forgets_its_plans_after_a_slow_transaction(world: World, claims: list[Claim]):
    ids = [{"id": claim.id, "epoch": claim.epoch, "result": "1"} for claim in claims]

    def finish(tx: Transaction) -> None:
        assert len(tx.rows("complete", owner=claims[0].owner, claims=ids)) == FEW

    assert fetched_by(world, finish) < 10 * FEW
