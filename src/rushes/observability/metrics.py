"""Every metric, declared once, and the text that Prometheus reads. Pure: the numbers come from
elsewhere.

Labels are bounded: statuses, outcomes, the kinds and lanes that the program knows, and the workers
that are there now.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
BUCKETS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024, 1_800, 3_600, 7_200, 14_400, 21_600)
OTHER = "other"


@dataclass(frozen=True, slots=True)
class Metric:
    name: str
    sort: Literal["counter", "gauge", "histogram", "summary"]
    help: str
    labels: tuple[str, ...] = ()


JOBS_CREATED = Metric("rushes_jobs_created_total", "counter", "Jobs that were submitted.")
JOBS_COMPLETED = Metric(
    "rushes_jobs_completed_total", "counter", "Jobs that ended, by how.", ("status",)
)
JOB_DURATION = Metric(
    "rushes_job_duration_seconds", "histogram", "From the first claim to the end.", ("status",)
)
JOBS_IN_PROGRESS = Metric("rushes_jobs_in_progress", "gauge", "Jobs that run.")
QUEUE_SIZE = Metric("rushes_queue_size", "gauge", "Tasks that wait for a worker.", ("lane",))
WORKERS_ACTIVE = Metric("rushes_workers_active", "gauge", "Workers that take tasks.")
WORKER_LOAD = Metric("rushes_worker_load", "gauge", "Tasks that a worker holds.", ("worker",))
STALE_RECOVERED = Metric(
    "rushes_stale_jobs_recovered_total", "counter", "Tasks taken from a worker that was lost."
)
RETRIES_EXCEEDED = Metric(
    "rushes_max_retries_exceeded_total", "counter", "Tasks given up after their last attempt."
)
FAILURES = Metric("rushes_failures_total", "counter", "Jobs that failed.")
ATTEMPTS = Metric(
    "rushes_task_attempts_total",
    "counter",
    "Runs of tasks, by how they ended.",
    ("kind", "outcome"),
)
ATTEMPT_DURATION = Metric(
    "rushes_task_duration_seconds", "summary", "How long runs of tasks took.", ("kind",)
)
FEED_LAG = Metric(
    "rushes_feed_lag_seconds", "gauge", "Age of the oldest event that readers cannot see yet."
)
WORKERS_WAITING = Metric(
    "rushes_workers_waiting", "gauge", "Far workers that wait for work at this server."
)


@dataclass(slots=True)
class Summary:
    """How many there were, and their sum."""

    count: int = 0
    sum: float = 0.0

    def add(self, n: int, seconds: float) -> None:
        self.count += n
        self.sum += seconds


@dataclass(slots=True)
class Histogram(Summary):
    """The same, and how many were in each of the buckets; the last has no end."""

    buckets: list[int] = field(default_factory=lambda: [0] * (len(BUCKETS) + 1))

    def observe(self, seconds: float) -> None:
        self.add(1, seconds)
        self.buckets[bisect_left(BUCKETS, seconds)] += 1


Labels = tuple[str, ...]
Samples = Mapping[Metric, Mapping[Labels, float | Summary]]


def render(samples: Samples) -> str:
    """Return the text of a scrape. The labels of a sample are in the order of its metric's.

    >>> print(render({JOBS_COMPLETED: {("failed",): 2}}), end="")
    # HELP rushes_jobs_completed_total Jobs that ended, by how.
    # TYPE rushes_jobs_completed_total counter
    rushes_jobs_completed_total{status="failed"} 2
    """
    return "".join(f"{line}\n" for metric in samples for line in _lines(metric, samples[metric]))


def _lines(metric: Metric, values: Mapping[Labels, float | Summary]) -> Iterator[str]:
    yield f"# HELP {metric.name} {metric.help}"
    yield f"# TYPE {metric.name} {metric.sort}"
    for values_of, value in values.items():
        labels = dict(zip(metric.labels, values_of, strict=True))
        if not isinstance(value, Summary):
            yield _line(metric.name, labels, value)
            continue
        if isinstance(value, Histogram):
            yield from _buckets(metric.name, labels, value)
        yield _line(f"{metric.name}_sum", labels, value.sum)
        yield _line(f"{metric.name}_count", labels, value.count)


def _buckets(name: str, labels: Mapping[str, str], histogram: Histogram) -> Iterator[str]:
    reached = 0
    for end, n in zip((*map(str, BUCKETS), "+Inf"), histogram.buckets, strict=True):
        reached += n
        yield _line(f"{name}_bucket", {**labels, "le": end}, reached)


def _line(name: str, labels: Mapping[str, str], value: float) -> str:
    told = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels.items())
    return f"{name}{{{told}}} {value:.15g}" if told else f"{name} {value:.15g}"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
