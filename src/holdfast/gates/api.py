"""Gates for programs: `workspace.gates.verify(built=..., how=[...]).wait()`."""

from __future__ import annotations

from holdfast.gates import ask, lookup
from holdfast.gates import wait as waiting
from holdfast.gates.rules import content as words
from holdfast.gates.rules.gate_text import render
from holdfast.kernel import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, TypedDict, Unpack

    from holdfast.gates.rules.answer import Answer
    from holdfast.gates.rules.content import Content, Option
    from holdfast.gates.rules.gate import GateState
    from holdfast.kernel.workspace import Workspace

    class Terms(TypedDict, total=False):
        """How a gate is asked, whatever it asks."""

        name: str
        batch: bool
        phase: str
        holds: str
        agent: str
        cost_tokens: int | None
        expires_at: str
        default: str
        attach: Sequence[str]


class Gate:
    """A gate that was asked."""

    def __init__(self, workspace: Workspace, id: str) -> None:
        self.id = id
        self._workspace = workspace

    @property
    def state(self) -> GateState:
        """What is known of it now."""
        return lookup.read_now(self._workspace, self.id, now=clock.now())

    @property
    def text(self) -> str:
        """As a person sees it."""
        content = self.state["content"]
        return render(content) if content else ""

    def wait(self, seconds: float | None = None) -> Answer:
        """The answer, once there is one: of a decision, its `answer` is the option's id. Declined when
        a person said no, Waiting when the time is over, Stopped while an emergency stop holds."""
        (state,) = waiting.wait(self._workspace, [self.id], seconds=seconds)
        waiting.conclude([state])
        assert state["answer"] is not None
        return state["answer"]


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
        return self._ask(words.verify(built, how, url=url, purpose=purpose), terms)

    def decide(
        self,
        decision: str,
        *,
        context: str,
        options: Sequence[Option],
        purpose: str = "",
        **terms: Unpack[Terms],
    ) -> Gate:
        """Ask a person to choose; each option has an id, a name, pros and cons."""
        return self._ask(words.decision(decision, options, context=context, purpose=purpose), terms)

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
        content = words.action(action, instructions, why=why, cause=cause, checklist=checklist)
        return self._ask(content, terms)

    def named(self, word: str) -> Gate:
        """A gate by its name, its id, or a unique beginning of one."""
        return Gate(self._workspace, lookup.find_gate(self._workspace, word))

    def waiting(self) -> list[Gate]:
        """Those that wait for a person, the longest first."""
        found = lookup.open_gates(self._workspace)
        return [Gate(self._workspace, state["id"]) for state in found]

    def _ask(self, content: Content, terms: Mapping[str, Any]) -> Gate:
        opened = ask.ask(
            self._workspace, content, actor=self._actor, now=clock.now(), strict=True, **terms
        )
        return Gate(self._workspace, opened["id"])
