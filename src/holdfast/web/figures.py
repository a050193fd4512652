"""Gauges, lines over time and bars, as numbers that templates draw.

Nothing here is markup, so no text can become markup.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from itertools import pairwise
from typing import Any, NamedTuple

from holdfast.kernel import clock
from holdfast.kernel.durations import describe_span
from holdfast.observe.course import Moment, MomentKind

Data = dict[str, Any]

# Gauges are in percent; bars and charts are stretched to the width that there is.
WHOLE = 100.0
WIDE, HIGH, EDGE = 1000, 100, 6
MOST_POINTS = 120
# A gauge goes a little further than its last mark, so that being over it can be seen.
BEYOND = 1.12
SHORTEST = 4.0
LANES: tuple[tuple[MomentKind, str], ...] = (
    ("request", "Requests"),
    ("edit", "Edits"),
    ("failure", "Failures"),
    ("task", "Tasks done"),
)
# Of a session's course: pauses longer than both are cut, each to so much of the width.
LEAST_PAUSE, LEAST_SHARE, MOST_PAUSES, PAUSE, MARGIN = 20 * clock.MINUTE, 0.08, 6, 3.0, 1.5
MOST_COLUMNS, MOST_NAMED, MOST_PERIODS = 80, 3, 10
MOST_DAYS = 14


class WorkSpan(NamedTuple):
    """A period of work. Without an `end` it goes on."""

    name: str
    begin: str
    end: str
    tone: str
    said: str = ""


def draw_gauge(value: float | None, marks: Sequence[tuple[str, str, float]]) -> Data:
    """A value among its limits, each a name, a label and a number. Positions are percentages."""
    top = max([number for _, _, number in marks] + [0.0]) * BEYOND or 1.0
    top = max(top, (value or 0.0) * 1.02)
    return {
        "filled": _rounded((value or 0.0) / top * WHOLE),
        "marks": [
            {"name": name, "label": label, "at": _rounded(number / top * WHOLE)}
            for name, label, number in marks
        ],
    }


def draw_chart(
    series: Sequence[Sequence[tuple[int, float]]], marks: Sequence[tuple[str, str, float]]
) -> Data | None:
    """Values over time, one line a series; None if there is nothing to draw. The points are for SVG, the
    position of the last one is in percent."""
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

    lines: list[Data] = []
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


# The course of a session


def draw_course(
    moments: Sequence[Moment], messages: Sequence[tuple[str, float | None]]
) -> Data | None:
    """Requests, edits, failures, finished tasks and cost over the same time; None without any.

    A pause of the night would push all work to the edges, so long pauses are cut and marked.
    """
    paid = [(at, cost or 0.0) for at, cost in _timed(messages)]
    times = sorted([one.at for one in moments] + [at for at, _ in paid])
    if not times:
        return None
    axis = _Axis(times)
    lanes: list[Data] = []
    for kind, name in LANES:
        these = [one for one in moments if one.kind == kind]
        lanes.append(
            {"kind": kind, "name": name, "total": len(these), "marks": _columns(these, axis)}
        )
    return {
        "lanes": lanes,
        "cost": _growth(paid, axis),
        "breaks": axis.breaks,
        "since": clock.stamp(times[0]),
        "until": clock.stamp(times[-1]),
        "took": span(times[-1] - times[0]),
        "rows": _rows(moments, paid, axis),
    }


class _Axis:
    """Time as a percentage of the width, without the longest pauses."""

    def __init__(self, times: Sequence[int]) -> None:
        whole = times[-1] - times[0]
        pauses = [
            (after - before, before, after)
            for before, after in pairwise(times)
            if after - before > max(LEAST_PAUSE, whole * LEAST_SHARE)
        ]
        cut = sorted(sorted(pauses, reverse=True)[:MOST_PAUSES], key=lambda one: one[1])
        begins = [times[0], *(after for _, _, after in cut)]
        ends = [*(before for _, before, _ in cut), times[-1]]
        self.spans = list(zip(begins, ends, strict=True))
        worked = sum(end - begin for begin, end in self.spans)
        room = WHOLE - 2 * MARGIN - PAUSE * len(cut)
        self._starts: list[float] = []
        self._shares: list[float] = []
        x = MARGIN
        for begin, end in self.spans:
            share = (end - begin) / worked if worked else 1 / len(self.spans)
            self._starts.append(x)
            self._shares.append(share * room)
            x += share * room + PAUSE
        self.breaks: list[Data] = [
            {"at": _rounded(start - PAUSE / 2), "said": span(long)}
            for start, (long, _, _) in zip(self._starts[1:], cut, strict=True)
        ]

    def number(self, at: int) -> int:
        """The span that a time is in."""
        return max(number for number, (begin, _) in enumerate(self.spans) if begin <= at)

    def place(self, at: int) -> float:
        number = self.number(at)
        begin, end = self.spans[number]
        within = min(1.0, (at - begin) / (end - begin)) if end > begin else 0.0
        return self._starts[number] + within * self._shares[number]


def _timed(messages: Sequence[tuple[str, float | None]]) -> list[tuple[int, float | None]]:
    found = [(clock.instant_of(at), cost) for at, cost in messages]
    return [(at, cost) for at, cost in found if at is not None]


def _columns(moments: Sequence[Moment], axis: _Axis) -> list[Data]:
    """Moments that would stand on each other, as one mark with their number, and with that number as a
    share of the highest."""
    together: dict[int, list[Moment]] = {}
    for one in moments:
        together.setdefault(int(axis.place(one.at) / WHOLE * MOST_COLUMNS), []).append(one)
    most = max((len(those) for those in together.values()), default=1)
    columns: list[Data] = []
    for those in together.values():
        texts = list(dict.fromkeys(one.text for one in those if one.text))
        more = f" and {len(texts) - MOST_NAMED} more" if len(texts) > MOST_NAMED else ""
        columns.append(
            {
                "x": _rounded(axis.place(those[0].at)),
                "count": len(those),
                "share": round(len(those) / most, 2),
                "at": clock.stamp(those[0].at),
                "said": ", ".join(texts[:MOST_NAMED]) + more,
            }
        )
    return columns


def _growth(paid: Sequence[tuple[int, float]], axis: _Axis) -> Data | None:
    """The sum of all costs so far, as points of a line; None if nothing has a price."""
    total = sum(cost for _, cost in paid)
    if not total:
        return None
    sums: list[tuple[int, float]] = []
    for at, cost in paid:
        sums.append((at, (sums[-1][1] if sums else 0.0) + cost))
    places = [
        (_rounded(axis.place(at) * WIDE / WHOLE), _rounded(HIGH - value / total * HIGH))
        for at, value in thin_out(sums)
    ]
    first = f"{places[0][0]},{HIGH}"
    return {"points": " ".join([first, *(f"{x},{y}" for x, y in places)]), "total": total}


def _rows(moments: Sequence[Moment], paid: Sequence[tuple[int, float]], axis: _Axis) -> list[Data]:
    """The same as a table: a few periods, each with a number for each lane."""
    periods: list[tuple[int, int]] = []
    worked = sum(end - begin for begin, end in axis.spans)
    for begin, end in axis.spans:
        share = (end - begin) / worked if worked else 1.0
        count = max(1, round(share * MOST_PERIODS))
        bounds = [begin + (end - begin) * number // count for number in range(count + 1)]
        periods += [
            (first, last + (number == count - 1))
            for number, (first, last) in enumerate(pairwise(bounds))
        ]
    rows: list[Data] = []
    for first, last in periods:
        inside = [one.kind for one in moments if first <= one.at < last]
        rows.append(
            {
                "at": clock.stamp(first),
                "counts": [inside.count(kind) for kind, _ in LANES],
                "cost": sum(cost for at, cost in paid if first <= at < last),
            }
        )
    return rows


# Cost by day


def draw_days(
    sessions: Sequence[tuple[str, Sequence[tuple[str, float | None]]]], now: int
) -> Data | None:
    """What was spent on each of the last days, this machine's days; None if nothing has a price.
    Each session has a name and its messages."""
    last = _day(now)
    shown = [last - MOST_DAYS + 1 + number for number in range(MOST_DAYS)]
    sums: dict[int, dict[str, float]] = {day: {} for day in shown}
    for name, messages in sessions:
        for at, cost in _timed(messages):
            day = _day(at)
            if cost and day in sums:
                sums[day][name] = sums[day].get(name, 0.0) + cost
    totals = {day: sum(each.values()) for day, each in sums.items()}
    top = max(totals.values())
    if not top:
        return None
    highest = next(day for day in shown if totals[day] == top)
    return {
        "top": top,
        "total": sum(totals.values()),
        "days": [
            {
                "date": date.fromordinal(day).isoformat(),
                "label": _label(date.fromordinal(day), is_first=day == shown[0]),
                "cost": totals[day],
                "height": _rounded(totals[day] / top * WHOLE),
                "is_top": day == highest,
                "sessions": len(sums[day]),
            }
            for day in shown
        ],
    }


def _label(day: date, *, is_first: bool) -> str:
    """The day of the month, with the month where it begins."""
    return f"{day:%b} {day.day}" if is_first or day.day == 1 else str(day.day)


def _day(at: int) -> int:
    """The number of the day on this machine's calendar."""
    return date.fromtimestamp(at / 1000).toordinal()


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


def draw_bars(work: Sequence[WorkSpan], now: int) -> Data | None:
    """Who worked when, from the first start to the last end, or to now while work goes on."""
    timed = [(one, clock.instant_of(one.begin), clock.instant_of(one.end)) for one in work]
    known = [(one, begin, end) for one, begin, end in timed if begin is not None]
    if not known:
        return None
    since = min(begin for _, begin, _ in known)
    until = max([end if end is not None else now for _, _, end in known] + [since + 1000])
    drawn: list[Data] = []
    for one, begin, end in known:
        last = max(begin, now if end is None else end)
        x = (begin - since) / (until - since) * WIDE
        width = max((last - begin) / (until - since) * WIDE, SHORTEST)
        drawn.append(
            {
                **one._asdict(),
                "href": "",
                "x": _rounded(min(x, WIDE - SHORTEST)),
                "width": _rounded(min(width, WIDE)),
                "took": span(last - begin),
            }
        )
    return {"bars": drawn, "since": clock.stamp(since), "until": clock.stamp(until)}


def span(milliseconds: int) -> str:
    """Return a span as text: `2 d 3 h`, `1 h 04 min`, `3 min 20 s`, `12 s`, `0.4 s`."""
    if milliseconds < 10_000:
        return f"{max(milliseconds, 0) / 1000:.1f} s"
    if milliseconds >= clock.DAY:
        return f"{milliseconds // clock.DAY} d {milliseconds % clock.DAY // clock.HOUR} h"
    return describe_span(milliseconds)


def _rounded(value: float) -> float:
    return round(value, 1)
