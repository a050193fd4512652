"""Checks, acknowledgments, resets and growing values in any order, against a model in a few lines.

Two promises: nobody gets past a stop without a person, and nobody is asked twice for what was
acknowledged.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from holdfast.budgets.rules import budget, triggers
from holdfast.budgets.rules.budget import judge
from holdfast.budgets.rules.thresholds import DEFAULTS, STOP, TYPES, combine, level_of
from holdfast.kernel import clock
from holdfast.kernel.errors import HoldfastError, NotAllowed
from tests.budgets.world import NOON, PERSON

SESSIONS = ("s1", "s2")
NOWHERE = {"phase": None, "plan": None, "last_task_completed": None, "next_task": None}
# Nothing known, nothing reached, and each level at its beginning and at its end. The alert is where
# most of what can go wrong happens, and a stop ends a history.
VALUES: dict[str, list[float | None]] = {
    type: [
        None,
        0,
        DEFAULTS["warning"][type],
        DEFAULTS["alert"][type] - 1,
        *([DEFAULTS["alert"][type], DEFAULTS["stop"][type] - 1] * 3),
        DEFAULTS["stop"][type],
    ]
    for type in TYPES
}


class Histories(RuleBasedStateMachine):
    """The pure rules, as the write path applies them."""

    def __init__(self) -> None:
        super().__init__()
        self.now = NOON
        self.state: Any = budget.initial(budget.STREAM)
        self.values: dict[str, Any] = dict.fromkeys(TYPES)
        # The model: what a person has said since the last reset, and whether a stop holds.
        self.acknowledged: set[str] = set()
        self.asked: set[str] = set()
        self.is_stopped = False
        self.limits = DEFAULTS
        # Alerts that wait, with the session that raised each, and the levels at each session's last check.
        self.waits: dict[str, str] = {}
        self.last: dict[str, dict[str, str | None]] = {session: {} for session in SESSIONS}

    def obey(self, command: dict[str, Any]) -> list[str]:
        self.now += 1000
        decision = budget.decide(self.state, command, self.now)
        for kind, body in decision.records:
            event: Any = {"kind": kind, "body": body}
            self.state = budget.apply(self.state, event)
            assert budget.render(self.state), "what is recorded can be shown"
        return [kind for kind, _ in decision.records]

    def command(self, session: str) -> dict[str, Any]:
        return {
            "do": "check",
            "values": dict(self.values),
            "limits": self.limits,
            "flags": {},
            "actions": triggers.actions_of(triggers.DEFAULTS),
            "session": session,
            "place": NOWHERE,
            "started_at": "",
            "checkpoint_at": "",
            "pause": 30 * clock.MINUTE,
            "last_turn": True,
            "reported": [],
        }

    @rule(type=st.sampled_from(TYPES), data=st.data())
    def becomes(self, type: str, data: st.DataObject) -> None:
        """A value grows, falls, or is unknown for once."""
        self.values[type] = data.draw(st.sampled_from(VALUES[type]))

    @rule(type=st.sampled_from(TYPES), data=st.data(), session=st.sampled_from(SESSIONS))
    def becomes_and_is_checked(self, type: str, data: st.DataObject, session: str) -> None:
        self.becomes(type, data)
        self.check(session)

    @rule(session=st.sampled_from(SESSIONS))
    def check(self, session: str) -> None:
        command = self.command(session)
        ruling = judge(self.state, command, self.now + 1000)  # type: ignore[arg-type]
        kinds = self.obey(command)
        reached = {
            type: level_of(self.limits, type, value)
            for type, value in self.values.items()
            if value is not None
        }
        if self.is_stopped:
            assert (ruling["verdict"], kinds) == ("stop", [])
            return
        stops = [type for type in TYPES if reached.get(type) == STOP]
        assert (ruling["verdict"] == "stop") == bool(stops), "a stop is never passed"
        if stops:
            self.is_stopped = True
            assert kinds[-1] == "stopped"
            assert self.state["stopped"]["type"] == stops[0], "the first in order"
        asked = {one["type"] for one in ruling["handled"] if one["how"] == "waiting"}
        assert not asked & self.acknowledged, "asked twice for what was acknowledged"
        for type, raised_by in self.waits.items():
            held = raised_by == session or self.last[session].get(type) == "alert"
            if held and reached.get(type) != STOP:
                reached[type] = "alert"  # whatever the value is now
        alerts = [type for type in TYPES if reached.get(type) == "alert"]
        self.last[session] = reached
        for type in asked:
            self.waits.setdefault(type, session)
        before = TYPES[: TYPES.index(stops[0])] if stops else TYPES
        assert asked == {type for type in alerts if type in before} - self.acknowledged
        handled = [(one["type"], one["level"]) for one in ruling["handled"]]
        assert len(set(handled)) == len(handled)

    @precondition(lambda self: self.state["pending"])
    @rule(data=st.data())
    def acknowledge_what_waits(self, data: st.DataObject) -> None:
        self.acknowledge(data.draw(st.sampled_from(sorted(self.state["pending"]))))

    @rule(type=st.sampled_from(TYPES))
    def acknowledge(self, type: str) -> None:
        waits = type in self.state["pending"] and not self.is_stopped
        command = {"do": "ack", "type": type, "until": None, "by": PERSON, "session": "s1"}
        try:
            kinds = self.obey(command)
        except HoldfastError:
            assert not waits
            return
        assert kinds == (["acknowledged"] if waits else [])
        if waits:
            self.acknowledged.add(type)
            del self.waits[type]
            assert type in self.state["acknowledgments"]

    @precondition(lambda self: self.state["pending"] and not self.is_stopped)
    @rule(data=st.data())
    def says_stop(self, data: st.DataObject) -> None:
        type = data.draw(st.sampled_from(sorted(self.state["pending"])))
        command = {"do": "halt", "type": type, "by": PERSON, "session": "s1", "place": NOWHERE}
        assert self.obey({**command, "last_turn": False}) == ["stopped"]
        self.is_stopped = True

    @rule()
    def resets_without_a_person(self) -> None:
        if self.is_stopped:
            with pytest.raises(NotAllowed):
                self.obey({"do": "reset"})
            return
        self.obey({"do": "reset"})
        self.acknowledged.clear()

    @rule(higher=st.booleans())
    def resets_as_a_person(self, higher: bool) -> None:
        given = self.state["given"]
        if higher and self.values["cost"] is not None:
            given = combine(given, {STOP: {"cost": self.limits[STOP]["cost"] + 10}})
        self.obey({"do": "reset", "by": PERSON, "given": given, "forgiven": {}})
        self.limits = combine(DEFAULTS, given)
        self.acknowledged.clear()
        self.waits.clear()
        self.last = {session: {} for session in SESSIONS}
        self.is_stopped = False
        if not higher:
            self.values = dict.fromkeys(TYPES)  # the work begins anew

    @rule(cost=st.sampled_from([0.1, 5.0, 0.0]))
    def reports(self, cost: float) -> None:
        self.obey({"do": "add", "cost": cost, "error": "it broke", "step": "one"})

    @invariant()
    def agrees_with_the_model(self) -> None:
        assert (self.state["stopped"] is not None) == self.is_stopped
        assert set(self.state["acknowledgments"]) == self.acknowledged
        assert not set(self.state["pending"]) & self.acknowledged
        assert set(self.state["pending"]) == set(self.waits), "only a person ends an alert"


TestHistories = Histories.TestCase
TestHistories.settings = settings(
    stateful_step_count=40, max_examples=min(settings().max_examples, 300)
)
TestHistories = pytest.mark.clause("PILOT-47", "PILOT-65", "AMB-PILOT-05", "AMB-PILOT-31")(
    TestHistories
)
