"""Failures as data: codes, hints, and texts that any database can store."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rushes.domain.failure import (
    CODES,
    MESSAGE_LIMIT,
    Failure,
    KilledBy,
    Phase,
    clean,
    failure,
)


def test_codes_of_the_documents_are_known():
    """004-018, 004-019."""
    asked = (
        "DB_CONN_REFUSED REDIS_UNAVAILABLE GPU_OOM DISK_FULL CATALOG_NOT_FOUND WORKER_TIMEOUT "
        "INVALID_INPUT PROCESSING_ERROR OUTPUT_INVALID WORKER_CRASHED DEPENDENCY_FAILED INTERNAL"
    )

    assert set(asked.split()) <= set(CODES)


@pytest.mark.parametrize("name", CODES)
def test_code_says_what_it_means_and_what_to_do(name: str):
    assert name.isupper()
    assert CODES[name].meaning
    assert CODES[name].hint


@pytest.mark.parametrize("name", ["INVALID_INPUT", "CATALOG_NOT_FOUND", "OUTPUT_INVALID"])
def test_wrong_input_is_not_tried_again(name: str):
    """002-050."""
    assert not failure(name, "no", error_type="E").retryable


@pytest.mark.parametrize("name", ["DB_CONN_REFUSED", "DISK_FULL", "PROCESSING_ERROR", "UNHEARD"])
def test_passing_trouble_is_tried_again(name: str):
    """002-051."""
    assert failure(name, "no", error_type="E").retryable


def test_stage_may_overrule_the_code():
    assert not failure("DISK_FULL", "no", error_type="E", retryable=False).retryable


def test_record_has_every_field_of_the_documents():
    """004-016, 004-017, 004-020, 004-035."""
    asked = {
        *("error", "error_type", "error_code", "failed_at", "failed_phase", "failed_batch"),
        *("progress_at_failure", "stack_trace", "hint"),
    }

    assert asked <= set(Failure.__dataclass_fields__)
    assert [phase.value for phase in Phase] == ["init", "batching", "processing", "finalizing"]


def test_killers_are_the_five_of_the_documents():
    """004-014 (C62)."""
    assert {*KilledBy} == {"user", "system", "timeout", "worker_crash", "oom"}


def test_record_carries_the_hint_of_its_code():
    assert failure("DISK_FULL", "no", error_type="E").hint == CODES["DISK_FULL"].hint


def test_record_without_a_message_says_its_code():
    assert failure("DISK_FULL", "\x00", error_type="E").error == "DISK_FULL"


def test_stored_record_has_no_empty_fields():
    record = json.loads(failure("DISK_FULL", "no", error_type="E").to_json())

    assert record["error_code"] == "DISK_FULL"
    assert None not in record.values()


def test_message_is_cut_to_its_limit():
    """000-081."""
    assert len(failure("INTERNAL", "x" * 100_000, error_type="E").error) == MESSAGE_LIMIT


@given(st.text(st.characters()), st.integers(1, 20))
def test_cleaned_text_can_be_stored_anywhere(text: str, limit: int):
    cleaned = clean(text, limit)

    assert "\x00" not in cleaned
    assert len(cleaned) <= limit
    assert cleaned.encode("utf-8").decode("utf-8") == cleaned


def test_lone_surrogate_is_replaced():
    assert clean("a\ud800b", 10) == "a?b"
