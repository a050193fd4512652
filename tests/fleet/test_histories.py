"""Randomised histories: whatever order lives begin, die and write late in, nobody owns what is not
theirs, and nothing that was acknowledged is lost."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from holdfast.fleet import recovery, updates
from holdfast.fleet.context import AgentResult
from holdfast.fleet.rules import feature as feature_rules
from holdfast.journal.chain import verify
from holdfast.kernel.errors import Conflict, FenceLost, HoldfastError
from holdfast.kernel.state import load
from tests.fleet.world import A, B, C, Scene

AGENTS = st.sampled_from([A, B, C])
FEATURES = ["feature_01", "feature_02"]


class Histories(RuleBasedStateMachine):
    """Three agents, two features, and every life that ever was."""

    @initialize()
    def begin(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        root = Path(os.path.realpath(self.folder.name))
        subprocess.run(["git", "init", "--quiet", str(root)], check=True)
        self.scene = Scene(root)
        # Every life that was begun: agent, fence, session.
        self.ever: list[tuple[str, int, str]] = []
        self.acknowledged: list[str] = []
        self.steps = 0

    def teardown(self) -> None:
        if hasattr(self, "scene"):
            self.scene.workspace.close()
            self.folder.cleanup()

    def _begun(self, agent: str, told: AgentResult) -> None:
        if self.ever:
            assert told.fence > max(fence for _, fence, _ in self.ever)
        self.ever.append((agent, told.fence, told.session))

    def _living(self, agent: str) -> Any:
        return self.scene.agent(agent).state["life"]

    @rule(minutes=st.integers(-90, 90))
    def time_passes(self, minutes: int) -> None:
        self.scene.later(minutes)

    @rule(agent=AGENTS, feature=st.sampled_from(FEATURES))
    def start(self, agent: str, feature: str) -> None:
        busy = self._living(agent) is not None
        owner = self._owner(feature)
        try:
            told = self.scene.start(agent, feature)
        except Conflict:
            assert busy or owner not in ("", agent)
            return
        self._begun(agent, told)

    @precondition(lambda self: self.ever)
    @rule(data=st.data())
    def beat(self, data: Any) -> None:
        """Of any life that ever was: only the one that lives may write."""
        agent, fence, session = data.draw(st.sampled_from(self.ever))
        life = self._living(agent)
        lives_now = life is not None and life["session"] == session
        self.steps += 1
        step = f"Step {self.steps}"
        try:
            self.scene.update(agent, fence=fence, set={"current_step": step})
        except FenceLost:
            assert not lives_now
            kept = self.scene.workspace.journal.refusals(self.scene.epic.agent_stream(agent))
            assert any(step in str(each["drafts"]) for each in kept)
            return
        assert lives_now
        self.acknowledged.append(step)
        assert self.scene.agent(agent).read()[1]["current_step"] == step  # type: ignore[index]

    @precondition(lambda self: self.ever)
    @rule(data=st.data())
    def written_by_hand(self, data: Any) -> None:
        """The file itself, by a life that may be over."""
        agent, _, session = data.draw(st.sampled_from(self.ever))
        known = self.scene.agent(agent)
        content = known.read()[1]
        if content:
            path = Path(known.file)
            changed = {**content, "session_id": session, "current_step": "By hand"}
            path.write_text(__import__("json").dumps(changed))

    @rule(agent=AGENTS)
    def resume(self, agent: str) -> None:
        try:
            told = self.scene.resume(agent, yes=True)
        except HoldfastError:
            return
        self._begun(agent, told)

    @rule(old=AGENTS, new=AGENTS)
    def takeover(self, old: str, new: str) -> None:
        try:
            told = self.scene.takeover(old, new)
        except HoldfastError:
            return
        self._begun(new, told)

    @rule(agent=AGENTS)
    def restart(self, agent: str) -> None:
        try:
            told = self.scene.restart(agent, yes=True)
        except HoldfastError:
            return
        self._begun(agent, told)

    @rule(agent=AGENTS)
    def defer(self, agent: str) -> None:
        try:
            recovery.defer(self.scene.context(), agent, yes=True)
        except HoldfastError:
            return

    @rule(agent=AGENTS)
    def complete(self, agent: str) -> None:
        try:
            updates.complete(self.scene.context(), agent)
        except HoldfastError:
            return

    def _owner(self, feature: str) -> str:
        journal = self.scene.workspace.journal
        return str(load(journal, feature_rules, f"feature:{feature}")[0]["owner"])

    @invariant()
    def no_two_lives_own_one_feature(self) -> None:
        if not hasattr(self, "scene") or not self.scene.workspace.exists():
            return
        owners: dict[str, list[str]] = {}
        for agent in (A, B, C):
            saved = self.scene.agent(agent).state["checkpoint"]
            if saved is not None and saved["status"] != "COMPLETE":
                owners.setdefault(saved["feature"], []).append(agent)
        for feature, agents in owners.items():
            assert len(agents) == 1, (feature, agents)
            assert self._owner(feature) == agents[0]

    @invariant()
    def nothing_acknowledged_is_lost(self) -> None:
        if not hasattr(self, "scene") or not self.scene.workspace.exists():
            return
        journal = self.scene.workspace.journal
        written = str([record["body"] for record in journal.since(0, limit=10_000)])
        assert all(f"'{step}'" in written for step in self.acknowledged)
        assert not any(finding["broken"] for finding in verify(journal))


TestHistories = Histories.TestCase
TestHistories.settings = settings(
    stateful_step_count=40,
    max_examples=min(settings().max_examples, 300),
    suppress_health_check=list(HealthCheck),
)
