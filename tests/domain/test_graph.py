"""Which requests can become a job."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rushes.domain.graph import (
    PRIORITIES,
    JobRequest,
    Step,
    check_json,
    check_params,
    task_priority,
    validate,
)
from rushes.domain.kind import Kind
from rushes.errors import Invalid
from tests.bad_requests import BAD_REQUESTS
from tests.kinds import KINDS

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@pytest.mark.parametrize("name", BAD_REQUESTS)
def test_bad_request_is_refused_in_one_line(name: str):
    """002-005, 002-050."""
    request, sentence = BAD_REQUESTS[name]

    with pytest.raises(Invalid) as refused:
        validate(request, KINDS)

    assert sentence in refused.value.message
    assert "\n" not in refused.value.message
    assert refused.value.status == 422


def test_request_at_every_limit_is_accepted():
    """003-045."""
    steps = {
        "split": Step(items=[{}] * 250, priority=0),
        "part": Step(items=[{}] * 400, after=("split", "split"), priority=10),
        "n" * 64: Step(kind="noop", items=[{}] * 9_350, params={"x": "y" * 65_528}),
    }

    validate(JobRequest(kind="test", steps=steps, label="x" * 500, priority=10), KINDS)


def test_order_of_the_steps_does_not_matter():
    steps = {"join": Step(after=("part",)), "part": Step(after=("split",)), "split": Step()}

    validate(JobRequest(kind="test", steps=steps), KINDS)


def test_check_of_the_kind_decides_on_the_params():
    """002-005."""

    def refuse(_params: object) -> None:
        raise Invalid("no frames")

    kinds = {"noop": replace(KINDS["noop"], check=refuse)}

    with pytest.raises(Invalid, match="no frames"):
        validate(JobRequest(kind="test", steps={"noop": Step()}), kinds)


@given(JSON)
def test_json_is_accepted_unless_it_has_a_nul(value: object):
    has_nul = "\\u0000" in json.dumps(value).replace("\\\\", "")

    if has_nul:
        with pytest.raises(Invalid, match="contains a NUL"):
            check_json(value, 10_000, "it")
    else:
        assert json.loads(check_json(value, 10_000, "it")) == value


def test_escaped_backslash_before_u0000_is_no_nul():
    assert check_params({"x": "\\u0000"}, Kind(name="noop"), "it") == '{"x":"\\\\u0000"}'


def test_priorities_have_names():
    """000-122, 003-045 (C68)."""
    assert PRIORITIES == {"low": 2, "normal": 5, "high": 8, "urgent": 10}


@given(st.integers(0, 10), st.integers(0, 10))
def test_priority_of_a_step_shifts_the_job_and_stays_on_the_scale(job: int, step: int):
    """003-045 (C68)."""
    shifted = task_priority(job, step)

    assert 0 <= shifted <= 10
    assert shifted == job + step - 5 or shifted in (0, 10)
