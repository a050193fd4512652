"""Gauges, lines over time and bars, as numbers that templates draw.

Nothing here is markup, so no text can become markup.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

from holdfast.kernel import clock
from holdfast.loop.rules.checkpoint import instant_of

# Gauges are in percent; bars and charts are stretched to the width that there is.
WHOLE = 100.0
WIDE, HIGH, EDGE = 1000, 100, 6
MOST_POINTS = 120
# A gauge goes a little further than its last mark, so that being over it can be seen.
BEYOND = 1.12
SHORTEST = 4.0


class Limit(TypedDict):
    """A limit on a gauge, with its name and its position in percent."""

    name: str
    label: str
    at: float


class Gauge(TypedDict):
    """A value among its limits; positions are percentages of its length."""

    filled: float
    marks: list[Limit]


class ChartLine(TypedDict):
    """The points of a line for SVG, and the position of the last one in percent."""

    points: str
    last: tuple[float, float]


class Chart(TypedDict):
    lines: list[ChartLine]
    marks: list[Limit]
    since: str
    until: str


class WorkSpan(TypedDict):
    """A period of work. Without an `end` it goes on."""

    name: str
    href: str
    begin: str
    end: str
    tone: str
    said: str


class Bar(WorkSpan):
    x: float
    width: float
    took: str


class Bars(TypedDict):
    bars: list[Bar]
    since: str
    until: str


def gauge(value: float | None, marks: Sequence[tuple[str, str, float]]) -> Gauge:
    """A value among its limits, each a name, a label and a number."""
    top = max([number for _, _, number in marks] + [0.0]) * BEYOND or 1.0
    top = max(top, (value or 0.0) * 1.02)
    return {
        "filled": _rounded((value or 0.0) / top * WHOLE),
        "marks": [
            {"name": name, "label": label, "at": _rounded(number / top * WHOLE)}
            for name, label, number in marks
        ],
    }


def chart(
    series: Sequence[Sequence[tuple[int, float]]], marks: Sequence[tuple[str, str, float]]
) -> Chart | None:
    """Values over time, one line a series; None if there is nothing to draw."""
    moments = [at for one in series for at, _ in one]
    if len(moments) < 2 or min(moments) == max(moments):
        return None
    since, until = min(moments), max(moments)
    values = [value for one in series for _, value in one]
    highest, bottom = max(values), min(0.0, *values)
    shown = [mark for mark in marks if mark[2] <= highest * 2.5] or list(marks[:1])
    top = max([highest, *(number for _, _, number in shown)]) * 1.08 or 1.0

    def place(at: int, value: float) -> tuple[float, float]:
        x = (at - since) / (until - since) * WIDE
        return _rounded(x), _rounded(
            HIGH - EDGE - (value - bottom) / (top - bottom) * (HIGH - 2 * EDGE)
        )

    lines: list[ChartLine] = []
    for one in series:
        places = [place(at, value) for at, value in thin_out(one)]
        if places:
            x, y = places[-1]
            points = " ".join(f"{x},{y}" for x, y in places)
            lines.append({"points": points, "last": (_rounded(x * WHOLE / WIDE), y)})
    return {
        "lines": lines,
        "marks": [
            {"name": name, "label": label, "at": place(since, number)[1]}
            for name, label, number in shown
        ],
        "since": clock.stamp(since),
        "until": clock.stamp(until),
    }


def thin_out(points: Sequence[tuple[int, float]]) -> list[tuple[int, float]]:
    """At most so many points: the highest of each interval, and the last one."""
    if len(points) <= MOST_POINTS:
        return list(points)
    size = -(-len(points) // (MOST_POINTS - 1))
    kept = [
        max(points[start : start + size], key=lambda point: point[1])
        for start in range(0, len(points), size)
    ]
    return [*kept, points[-1]]


def bars(work: Sequence[WorkSpan], now: int) -> Bars | None:
    """Who worked when, from the first start to the last end, or to now while work goes on."""
    timed = [(one, instant_of(one["begin"]), instant_of(one["end"])) for one in work]
    known = [(one, begin, end) for one, begin, end in timed if begin is not None]
    if not known:
        return None
    since = min(begin for _, begin, _ in known)
    until = max([end if end is not None else now for _, _, end in known] + [since + 1000])
    drawn: list[Bar] = []
    for one, begin, end in known:
        last = max(begin, now if end is None else end)
        x = (begin - since) / (until - since) * WIDE
        width = max((last - begin) / (until - since) * WIDE, SHORTEST)
        drawn.append(
            {
                **one,
                "x": _rounded(min(x, WIDE - SHORTEST)),
                "width": _rounded(min(width, WIDE)),
                "took": span(last - begin),
            }
        )
    return {"bars": drawn, "since": clock.stamp(since), "until": clock.stamp(until)}


def span(milliseconds: int) -> str:
    """`1 h 04 min`, `3 min 20 s`, `12 s`, `0.4 s`."""
    if milliseconds < 10_000:
        return f"{max(milliseconds, 0) / 1000:.1f} s"
    seconds = max(milliseconds // 1000, 0)
    if seconds >= clock.DAY // 1000:
        return f"{seconds // 86_400} d {seconds % 86_400 // 3600} h"
    if seconds >= 3600:
        return f"{seconds // 3600} h {seconds % 3600 // 60:02d} min"
    return f"{seconds // 60} min {seconds % 60:02d} s" if seconds >= 60 else f"{seconds} s"


def _rounded(value: float) -> float:
    return round(value, 1)
