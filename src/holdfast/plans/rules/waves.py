"""The order in which plans run: phase after phase, and wave after wave in each; and which plans change
the same files."""

from __future__ import annotations

import difflib
import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from graphlib import CycleError, TopologicalSorter
from itertools import product
from typing import TypedDict

from holdfast.plans.rules.model import Plan

_WILD = "*?["


class Trouble(TypedDict):
    """A problem of an order. `name` is the entry of `depends_on`; empty for a cycle."""

    plan: str
    name: str
    code: str
    what: str
    instead: str


class WaveOrder:
    """Plans in the order of their waves, and everything that speaks against it.

    `plans` have their wave and exact ids in `depends_on`; a dependency that is in trouble is left out.
    """

    def __init__(self, given: Sequence[Plan]) -> None:
        self.troubles: list[Trouble] = []
        self._plans: dict[str, Plan] = {plan["id"]: plan for plan in reversed(given)}
        self._named: dict[str, list[str]] = {}
        for id, plan in self._plans.items():
            self._named.setdefault(plan["plan"], []).append(id)
        self._needs = {id: self._resolve(plan) for id, plan in self._plans.items()}
        self._waves: dict[str, int] = {}
        # In a circle, or behind one: their waves say nothing.
        self._unplaced: set[str] = set()
        self._assign_waves()
        self._check()
        self.plans = sorted((self._place_plan(id) for id in self._plans), key=_place)

    def _resolve(self, plan: Plan) -> dict[str, str]:
        """The id of each dependency, by the name that the plan gives it."""
        found: dict[str, str] = {}
        for name in plan["depends_on"]:
            same = f"{plan['phase']}/{name}"
            others = self._named.get(name, [])
            if name in self._plans:
                found[name] = name
            elif same in self._plans:
                found[name] = same
            elif len(others) == 1:
                found[name] = others[0]
            elif others:
                listed = ", ".join(sorted(others, key=natural)[:5])
                what = f"several plans are called {name!r:.60}"
                self._tell(plan["id"], name, "UNKNOWN_PLAN", what, f"Say which: {listed}.")
            else:
                what = f"there is no plan {name!r:.60} to depend on"
                self._tell(plan["id"], name, "UNKNOWN_PLAN", what, self._nearest(plan, name))
        return found

    def _nearest(self, plan: Plan, name: str) -> str:
        same = [one["plan"] for one in self._plans.values() if one["phase"] == plan["phase"]]
        close = difflib.get_close_matches(name, [*same, *self._plans], n=1, cutoff=0.5)
        asked = f"Did you mean {close[0]}? " if close else ""
        return f"{asked}Give its file, too, or the folder of all of them."

    def _tell(self, plan: str, name: str, code: str, what: str, instead: str = "") -> None:
        self.troubles.append(
            {"plan": plan, "name": name, "code": code, "what": what, "instead": instead}
        )

    def _assign_waves(self) -> None:
        """Give every plan a wave, dependencies first. Plans in circles are left over."""
        needs = {id: set(named.values()) - {id} for id, named in self._needs.items()}
        for id, named in self._needs.items():
            for name, need in named.items():
                if need == id:
                    self._tell(id, name, "CYCLE", "the plan depends on itself", "Take it out.")
        sorter = TopologicalSorter(needs)
        with suppress(CycleError):  # what is in no circle is sorted all the same
            sorter.prepare()
        while free := sorter.get_ready():
            for id in free:
                self._waves[id] = self._wave_of(id)
            sorter.done(*free)
        left = sorted(needs.keys() - self._waves.keys(), key=natural)
        waiting = {id: needs[id] - self._waves.keys() for id in left}
        self._unplaced.update(waiting)
        for id in waiting:
            self._waves[id] = self._plans[id]["wave"] or 1
        self._report_circles(waiting)

    def _report_circles(self, waiting: dict[str, set[str]]) -> None:
        """Report each circle once. A plan that only depends on a circle is not part of it."""
        while circle := _find_circle(waiting):
            first = circle.index(min(circle, key=natural))
            way = [*circle[first:-1], *circle[: first + 1]] if first else circle
            shown = way if len(way) <= 8 else [*way[:6], "…", way[-1]]
            what = f"plans depend on each other in a circle: {' → '.join(shown)}"
            self._tell(way[0], "", "CYCLE", what, "Take one of these dependencies out.")
            waiting = {id: needs for id, needs in waiting.items() if id not in circle}

    def _wave_of(self, id: str) -> int:
        plan = self._plans[id]
        given = plan["wave"]
        if given is not None:
            return given
        before = [
            self._waves[need]
            for need in self._needs[id].values()
            if need != id and self._plans[need]["phase"] == plan["phase"]
        ]
        return max(before, default=0) + 1

    def _check(self) -> None:
        for id, needs in self._needs.items():
            plan = self._plans[id]
            for name, need in needs.items():
                other = self._plans[need]
                if need == id or id in self._unplaced or need in self._unplaced:
                    continue
                if other["phase"] != plan["phase"]:
                    if natural(other["phase"]) > natural(plan["phase"]):
                        what = f"{id} depends on {need}, which is in a later phase"
                        self._tell(id, name, "INVALID_WAVE", what, "Depend on what comes before.")
                elif self._waves[need] >= self._waves[id]:
                    same = self._waves[need] == self._waves[id]
                    which = "the same wave" if same else "a later wave"
                    what = (
                        f"{id} (wave {self._waves[id]}) depends on {need}, which is in {which}"
                        f"{'' if same else f' ({self._waves[need]})'}"
                    )
                    instead = f"wave: {self._waves[need] + 1}, or leave wave out."
                    self._tell(id, name, "INVALID_WAVE", what, instead)

    def _place_plan(self, id: str) -> Plan:
        bad = {one["name"] for one in self.troubles if one["plan"] == id}
        needs = [need for name, need in self._needs[id].items() if name not in bad]
        plan = self._plans[id].copy()
        plan["wave"], plan["depends_on"] = self._waves[id], needs
        return plan


def _find_circle(needs: dict[str, set[str]]) -> list[str]:
    """A way from a plan over its dependencies back to it; empty if there is none."""
    try:
        TopologicalSorter({id: sorted(of) for id, of in needs.items()}).prepare()
    except CycleError as error:
        # The module names each after what needs it.
        found: list[str] = error.args[1][::-1]
        return found
    return []


def natural(text: str) -> tuple[list[tuple[int, int, str]], str]:
    """A sort key: `2` comes before `10`, and `b` after `a`."""
    parts = re.findall(r"[0-9]+|[^0-9]+", text)
    return [
        (0, int(part), "") if part.isdigit() and len(part) < 4000 else (1, 0, part.casefold())
        for part in parts
    ], text


def _place(plan: Plan) -> tuple[object, int, object]:
    return natural(plan["phase"]), plan["wave"] or 1, natural(plan["plan"])


def phases(plans: Iterable[Plan]) -> list[tuple[str, list[list[Plan]]]]:
    """Each phase with its waves, in the order in which they run."""
    found: dict[str, dict[int, list[Plan]]] = {}
    for plan in sorted(plans, key=_place):
        found.setdefault(plan["phase"], {}).setdefault(plan["wave"] or 1, []).append(plan)
    return [(phase, list(waves.values())) for phase, waves in found.items()]


def is_outside(name: str) -> bool:
    """Whether a name leads out of the project."""
    plain = _normalize(name)
    return plain.startswith(("/", "~", "../")) or plain == ".."


def pairs(plans: Sequence[Plan]) -> Iterator[tuple[Plan, Plan, list[str]]]:
    """Every two plans that change the same files, with the files."""
    owners: dict[str, list[int]] = {}
    for number, plan in enumerate(plans):
        for name in dict.fromkeys(map(_normalize, plan["files_modified"])):
            owners.setdefault(name, []).append(number)
    shared: dict[tuple[int, int], set[str]] = {}
    for name, theirs in owners.items():
        wider = [one for one in _folders(name) if one in owners]
        if _is_wild(name):
            wider += [one for one in owners if one != name and _meets(name, one)]
        for other in [name, *wider]:
            # The narrower of two names says where they meet.
            met = min(name, other, key=lambda one: (_is_wild(one), -len(one)))
            for first, second in product(theirs, owners[other]):
                if first != second:
                    pair = (min(first, second), max(first, second))
                    shared.setdefault(pair, set()).add(met)
    for first, second in sorted(shared):
        yield plans[first], plans[second], sorted(shared[first, second])


def _meets(pattern: str, name: str) -> bool:
    """Whether a pattern matches a name, or begins and ends like another pattern, so that both may match one
    file."""
    if not _is_wild(name):
        return fnmatchcase(name, pattern)
    parts = [re.split(r"[*?\[\]]", one) for one in (pattern, name)]
    (begin, end), (other_begin, other_end) = [(one[0], one[-1]) for one in parts]
    begins = begin.startswith(other_begin) or other_begin.startswith(begin)
    return begins and (end.endswith(other_end) or other_end.endswith(end))


def _is_wild(name: str) -> bool:
    return any(letter in name for letter in _WILD)


def _normalize(name: str) -> str:
    return posixpath.normpath(name.strip().replace("\\", "/"))


def _folders(name: str) -> Iterator[str]:
    while "/" in name:
        name = name.rpartition("/")[0]
        yield name
    yield "."
