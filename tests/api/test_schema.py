"""The whole API against its own description: whatever is sent, the answer is one of ours."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Any

import hypothesis
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode

from tests.api.house import House

ENDLESS = re.compile("/api/events")  # a stream: tests of its own
QUICK = hypothesis.settings(
    max_examples=1,
    database=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.generate],
)


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_whatever_is_sent_for_a_long_time_is_answered(lasting_house: House):
    """B-HTTP-1."""
    check(lasting_house, 0, 1, requests=50_000)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("half", [0, 1])
def test_whatever_is_sent_is_answered(lasting_house: House, half: int):
    """B-HTTP-1: right and wrong requests; no 5xx, and every error is a problem with a code."""
    check(lasting_house, half, 2, requests=750)


def check(house: House, first: int, step: int, *, requests: int) -> None:
    """Send right and wrong requests to every `step`-th operation, so many at the least."""
    schema = schemathesis.openapi.from_asgi("/openapi.json", house.application)
    found = [one.ok() for one in schema.get_all_operations()]
    operations = [one for one in found if not ENDLESS.fullmatch(one.path)][first::step]
    sent = 0

    def answered(case: Any) -> None:
        nonlocal sent
        sent += 1
        _send(case, house.master_key)

    def try_out(cases: Any, settings: hypothesis.settings) -> bool:
        with suppress(Unsatisfiable):  # a route without parameters has nothing to get wrong
            settings(hypothesis.given(case=cases)(answered))()
            return True
        return False

    modes = (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)
    every = [one.as_strategy(generation_mode=mode) for one in operations for mode in modes]
    possible = [cases for cases in every if try_out(cases, QUICK)]
    # some have so few different requests that others have to send more
    often = hypothesis.settings(QUICK, max_examples=1 + 5 * requests // (4 * len(possible)))
    for cases in possible:
        try_out(cases, often)

    assert sent >= requests, sent


def _send(case: Any, key: str) -> None:
    case.headers = {**(case.headers or {}), "Authorization": f"Bearer {key}"}
    answer = case.call()
    said = f"{case.method} {case.path}: {answer.status_code} {answer.text[:300]}"
    assert answer.status_code < 500, said
    if answer.status_code >= 400 and case.method != "HEAD":
        assert answer.headers["content-type"][0] == "application/problem+json", said
        assert answer.json()["code"], said
