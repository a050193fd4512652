"""The checkpoints of a run: asked as gates, and read when a person has answered."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from holdfast.gates import lookup
from holdfast.gates.ask import AskRequest, ask
from holdfast.gates.lookup import GateContext
from holdfast.gates.rules.content import VERIFY, Content, GateAnswer
from holdfast.gates.rules.gate import GateState, said_of, withdrawn_of
from holdfast.kernel import clock
from holdfast.kernel.blank import blank
from holdfast.kernel.digest import id_of, new_id
from holdfast.kernel.errors import NotFound
from holdfast.plans import task_programs
from holdfast.plans.executors import TaskWork
from holdfast.plans.news import Halted, News
from holdfast.plans.rules.ready import waiting_gates
from holdfast.plans.rules.run_model import ISSUES
from holdfast.plans.runs import RunStream
from holdfast.processes.supervisor import Ended

APPROVED = "✅ Checkpoint approved, continuing..."
LONGEST = 48
HASHED = 6


class Checkpoints:
    """The gates of one run."""

    def __init__(self, stream: RunStream, news: News) -> None:
        self._workspace = stream.writer.workspace
        self._stream = stream
        self._news = news
        # Commands that mend what a person found: by mark, the plan and the gate.
        self.mending: dict[str, tuple[str, str]] = {}

    def ask(self, plan: str, key: str) -> None:
        """Record that a gate is asked, and open it. Its id follows from its place, so that a crash in
        between opens no second gate."""
        round = self._stream.state["plans"][plan]["gates"][key]["round"] + 1
        base = gate_id(self._stream.state["id"], plan, key)
        gate = base if round == 1 else f"{base}.{round}"
        self._stream.execute({"do": "ask", "plan": plan, "key": key, "gate": gate, "round": round})
        self._open(plan, key)
        content = self._content(plan, key)
        self._news.say("gate", plan=plan, task=key, text=f"{gate}: {content['title']}")

    def _content(self, plan: str, key: str) -> Content:
        text = self._stream.state["plans"][plan]["plan"]
        content = next(one["gate"] for one in text["tasks"] if one["key"] == key)
        assert content is not None
        return content

    def _open(self, plan: str, key: str) -> None:
        state = self._stream.state
        title = state["plans"][plan]["plan"]["title"]
        ask(
            GateContext(self._workspace, self._stream.actor, clock.now()),
            AskRequest(
                content=self._content(plan, key),
                name=gate_id(state["id"], plan, key),
                phase=state["plans"][plan]["plan"]["phase"],
                holds=f"plan {plan}{f' ({title})' if title else ''} of the run {state['id']}",
            ),
        )

    def take_answers(self) -> bool:
        """Record what people answered since the last call. Return whether there was an answer."""
        found = False
        for plan, key in waiting_gates(self._stream.state):
            gate = self._stream.state["plans"][plan]["gates"][key]["gate"]
            try:
                state = lookup.read_now(self._workspace, gate, now=clock.now())
            except NotFound:
                self._open(plan, key)  # a crash came before it was asked
                continue
            answer = state["answer"] or _read_withdrawal(state)
            if answer is None:
                continue
            found = True
            by = answer["person"]["name"] if answer["person"] else "its own expiry"
            place = {"plan": plan, "key": key, "gate": gate}
            self._stream.execute({"do": "answer", **place, **said_of(answer), "by": by})
            lookup.close(self._workspace, gate, now=clock.now())
            if answer["verdict"] == "yes":
                is_look = self._content(plan, key)["type"] == VERIFY
                text = APPROVED if is_look else f"{gate}: {answer['answer']}"
                self._news.say("answered", plan=plan, task=key, text=text)
            else:
                self._news.say("issues", plan=plan, task=key, text=answer["text"])
        return found

    # Issues

    def mend(self, plan: str, key: str, folder: str, settings: Mapping[str, Any]) -> TaskWork:
        """The program that mends what a person found; AMB-PILOT-17."""
        state, mark = self._stream.state, new_id()
        log = f"{plan.replace('/', '-')}-{key}-fix-{mark[:4]}.log"
        self.mending[mark] = (plan, key)
        self._news.say("mending", plan=plan, task=key, text=settings["plan.fix"])
        known = state["plans"][plan]
        task = next(one for one in known["plan"]["tasks"] if one["key"] == key)
        programs = task_programs.TaskPrograms(state, known["plan"], self._stream.place, settings)
        return programs.of_issues(task, known["gates"][key]["text"], mark, log, folder)

    def accept_mend(self, ended: Ended) -> None:
        """Present the checkpoint again after its program ended. If the program failed, the run halts."""
        plan, key = self.mending.pop(ended["mark"])
        issues = self._stream.state["plans"][plan]["gates"][key]["text"]
        if ended["code"] != 0 or ended["too_long"]:
            raise Halted(ISSUES, f"{plan}#{key}: {issues} (plan.fix failed)", exit_code=9)
        self._stream.execute({"do": "mend", "plan": plan, "key": key})


def _read_withdrawal(state: GateState) -> GateAnswer | None:
    """A withdrawn question, as a "no" that the run halts at. The next resume asks it anew."""
    known = withdrawn_of(state)
    if known is None:
        return None
    said = {"verdict": "no", "answer": "withdrawn", "text": f"withdrawn: {known['why']}"}
    return blank(GateAnswer, **said, person={"name": known["by"]}, at=known["at"])


def gate_id(run: str, plan: str, key: str) -> str:
    """A readable id of the gate at a place in a run. Every place has another."""
    wished = f"{run}-{plan}-{key}"
    plain = re.sub(r"[^A-Za-z0-9_]", "-", wished)
    if plain == wished.replace("/", "-") and len(plain) <= LONGEST:
        return plain
    return f"{plain[:LONGEST]}-{id_of(wished)[:HASHED]}"
