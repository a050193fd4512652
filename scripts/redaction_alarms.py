"""Count what redaction takes out of recorded sessions: false alarms, where they hold no secret.

    python scripts/redaction_alarms.py FOLDER... [--show]

Each text of each `.jsonl` or `.jsonl.gz` file is redacted once. `--show` prints what was taken out with the
letters around it: only for your own eyes.
"""

from __future__ import annotations

import gzip
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

from holdfast.kernel.redact import Redactor

AROUND = 50


def list_files(folders: list[str]) -> Iterator[str]:
    """Yield every recorded session below the folders."""
    for folder in folders:
        for top, _, names in os.walk(folder):
            for name in sorted(names):
                if name.endswith((".jsonl", ".jsonl.gz")):
                    yield os.path.join(top, name)


def read_texts(path: str) -> Iterator[str]:
    """Yield every text of a recorded session."""
    with (gzip.open if path.endswith(".gz") else open)(path, "rt", errors="replace") as file:
        for line in file:
            try:
                yield from list_texts(json.loads(line))
            except ValueError:
                yield line


def list_texts(value: Any) -> Iterator[str]:
    """Yield every text inside a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from list_texts(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from list_texts(item)


def show(before: str, after: str) -> None:
    """Print what differs between a text and the same text redacted."""
    place = end = 0
    for part in after.split("[redacted:")[1:]:
        name, _, rest = part.partition("]")
        start = place = after.index("[redacted:", place)
        del start
        lead = after[max(0, place - AROUND) : place]
        where = before.find(lead, end) + len(lead)
        end = before.find(rest[:12], where) if rest[:12] else len(before)
        print(f"  {name}: {before[max(0, where - AROUND) : max(end, where) + 20]!r}"[:240])
        place += 1


def main(words: list[str]) -> None:
    shown = "--show" in words
    redactor, seen = Redactor(environment={}), set()
    count = letters = 0
    longest = (0.0, 0)
    began = time.perf_counter()
    alarms: Counter[str] = Counter()
    for path in list_files([word for word in words if not word.startswith("--")]):
        for text in read_texts(path):
            if text in seen:
                continue
            seen.add(text)
            count += len(text.split())
            letters += len(text)
            started = time.perf_counter()
            clean = redactor.text(text)
            longest = max(longest, (time.perf_counter() - started, len(text)))
            if shown and clean != text:
                show(text, clean)
    alarms.update(redactor.counts)
    total = sum(alarms.values())
    print(
        f"{len(seen)} texts, {letters} letters, {count} words, {time.perf_counter() - began:.1f} s"
    )
    print(f"{total} taken out, {total / max(1, count) * 10_000:.2f} in 10,000 words")
    print(f"slowest text: {longest[0] * 1000:.0f} ms for {longest[1]} letters")
    for name, times in alarms.most_common():
        print(f"  {times:6} {name}")


if __name__ == "__main__":
    main(sys.argv[1:])
