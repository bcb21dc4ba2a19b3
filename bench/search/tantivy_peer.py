"""Tantivy, asked the same in an environment of its own. Reads lines, prints one JSON object."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from statistics import quantiles

import tantivy


def main() -> None:
    """Index the lines of a file in a folder, and time the questions that stdin brings."""
    lines, folder = Path(sys.argv[1]), sys.argv[2]
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("text", stored=True)
    index = tantivy.Index(builder.build(), path=folder)
    writer = index.writer(heap_size=200_000_000, num_threads=1)
    began, n = time.perf_counter(), 0
    with lines.open() as file:
        for line in file:
            writer.add_document(tantivy.Document(text=line.rstrip("\n")))
            n += 1
    writer.commit()
    writer.wait_merging_threads()
    told: dict[str, float] = {"spans_per_s": round(n / (time.perf_counter() - began))}
    index.reload()
    searcher = index.searcher()
    for mode, questions in json.load(sys.stdin).items():
        times = [timed(index, searcher, mode, text) for text in questions]
        cuts = quantiles(times, n=100, method="inclusive")
        told |= {f"{mode}_p50": round(cuts[49], 1), f"{mode}_p95": round(cuts[94], 1)}
    told["index_mb"] = round(sum(f.stat().st_size for f in os.scandir(folder)) / 1e6, 1)
    print(json.dumps(told))


def timed(index: tantivy.Index, searcher: tantivy.Searcher, mode: str, text: str) -> float:
    began = time.perf_counter()
    schema = index.schema
    if mode == "words":
        query = index.parse_query(text, ["text"], conjunction_by_default=True)
    elif mode == "substring":
        query = tantivy.Query.regex_query(schema, "text", f".*{text}.*")
    else:
        query = tantivy.Query.fuzzy_term_query(schema, "text", text, distance=1)
    for _, address in searcher.search(query, 50).hits:
        searcher.doc(address)
    return (time.perf_counter() - began) * 1000


if __name__ == "__main__":
    main()
