"""Gates for programs: `workspace.gates.verify(built=..., how=[...]).wait()`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict, Unpack

from holdfast.gates import lookup
from holdfast.gates import wait as waiting
from holdfast.gates.ask import AskRequest, ask, withdraw
from holdfast.gates.lookup import GateContext
from holdfast.gates.rules import content as contents
from holdfast.gates.rules.content import Content, GateAnswer, GateOption, render
from holdfast.gates.rules.gate import GateState
from holdfast.kernel import clock
from holdfast.kernel.workspace import Workspace


class Terms(TypedDict, total=False):
    """How a gate is asked, whatever it asks."""

    name: str
    once: bool
    batch: bool
    phase: str
    holds: str
    agent: str
    expires: str
    expires_at: str
    default: str
    attach: Sequence[str]


class Gate:
    """A gate that was asked."""

    def __init__(self, workspace: Workspace, id: str, *, actor: str) -> None:
        self.id = id
        self._workspace = workspace
        self._actor = actor

    @property
    def state(self) -> GateState:
        """What is known of it now."""
        return lookup.read_now(self._workspace, self.id, now=clock.now())

    @property
    def text(self) -> str:
        """As a person sees it."""
        return render(self.state["content"])

    def wait(self, seconds: float | None = None) -> GateAnswer:
        """The answer, once there is one: of a decision, its `answer` is the option's id. Declined when
        a person said no, Waiting when the time is over, Stopped while an emergency stop holds."""
        (state,) = waiting.wait(self._workspace, [self.id], seconds=seconds)
        waiting.conclude([state])
        assert state["answer"] is not None
        return state["answer"]

    def withdraw(self, reason: str) -> GateState:
        """Take the question back: it needs no answer any more."""
        context = GateContext(self._workspace, self._actor, clock.now())
        return withdraw(context, self.id, reason)


class Gates:
    """The gates of a workspace."""

    def __init__(self, workspace: Workspace, *, actor: str) -> None:
        self._workspace = workspace
        self._actor = actor

    def verify(
        self,
        *,
        built: str,
        how: Sequence[str],
        url: str = "",
        purpose: str = "",
        **terms: Unpack[Terms],
    ) -> Gate:
        """Ask a person to look at what was built."""
        return self._ask(contents.verify(built, how, url=url, purpose=purpose), terms)

    def decide(
        self,
        decision: str,
        *,
        context: str,
        options: Sequence[GateOption],
        purpose: str = "",
        **terms: Unpack[Terms],
    ) -> Gate:
        """Ask a person to choose; each option has an id, a name, pros and cons."""
        return self._ask(
            contents.decision(decision, options, context=context, purpose=purpose), terms
        )

    def act(
        self,
        action: str,
        *,
        why: str,
        instructions: Sequence[str],
        cause: str,
        checklist: Mapping[str, bool],
        **terms: Unpack[Terms],
    ) -> Gate:
        """Ask a person for a step that no machine can take. `checklist` answers the six questions:
        cli, api, file, server, data, script; all must be False."""
        content = contents.action(action, instructions, why=why, cause=cause, checklist=checklist)
        return self._ask(content, terms)

    def named(self, word: str) -> Gate:
        """A gate by its name, its id, or a unique beginning of one."""
        return self._gate(lookup.find_gate(self._workspace, word))

    def waiting(self) -> list[Gate]:
        """The open gates, the longest waiting first."""
        return [self._gate(state["id"]) for state in waiting.list_gates(self._context())]

    def _ask(self, content: Content, terms: Mapping[str, Any]) -> Gate:
        request = AskRequest(content=content, strict=True, **terms)
        return self._gate(ask(self._context(), request)["id"])

    def _gate(self, id: str) -> Gate:
        return Gate(self._workspace, id, actor=self._actor)

    def _context(self) -> GateContext:
        return GateContext(self._workspace, self._actor, clock.now())
