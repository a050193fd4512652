"""Plan files that are edited during their run: the runner notices an edit by its hash, and asks a
person."""

from __future__ import annotations

import os
from typing import Any

from holdfast.gates.ask import withdraw_as
from holdfast.gates.lookup import GateContext
from holdfast.kernel import canonical_json, clock
from holdfast.kernel.errors import Conflict, FenceLost, HoldfastError, NotFound, StoreAway
from holdfast.kernel.plain_file import read_plain
from holdfast.kernel.rules import Person
from holdfast.kernel.text import plural
from holdfast.kernel.views.files import identity_of
from holdfast.plans import discovery
from holdfast.plans.news import Attendant, Halted
from holdfast.plans.rules import document, waves
from holdfast.plans.rules.model import Plan, kind_of
from holdfast.plans.rules.run import find_passed_over, refuse_rewritten
from holdfast.plans.rules.run_model import EDITED, OPEN, PlanRun, rewritten_gates
from holdfast.plans.runs import RunStream

OLD, NEW = "old", "new"
GONE = "gone"
REDACTED = "[redacted:"


class PlanTexts:
    """The texts that a run follows: that of the file while it is unchanged, else the one that a person
    chose."""

    def __init__(self, stream: RunStream, policy: str, attendant: Attendant) -> None:
        self._stream = stream
        self._policy = policy
        self._attendant = attendant
        self._seen: dict[str, str | None] = {}
        self._texts: dict[str, Plan] = {}

    def check_all(self) -> None:
        for id, plan in self._stream.state["plans"].items():
            if not plan["closed"]:
                self.check(id)

    def describe_late_edit(self, id: str) -> str:
        """How the file of a finished plan differs from the text that the run used; empty if it does not."""
        plan = self._stream.state["plans"][id]
        path, identity = self._file(id)
        if self._seen.get(id) == identity:
            return ""
        if identity is None:
            return "" if plan["digest"] == GONE else f"{plan['plan']['path']} is gone"
        text = discovery.documents([path], self._stream.state["root"])[0]["text"]
        if document.digest(text) in (plan["digest"], plan["plan"]["digest"]):
            return ""
        return f"{plan['plan']['path']} was edited after its last task began, and is not gone by"

    def _file(self, id: str) -> tuple[str, str | None]:
        state = self._stream.state
        path = os.path.join(state["root"], state["plans"][id]["plan"]["path"])
        return path, identity_of(path)

    def check(self, id: str) -> None:
        """Compare the file of a plan with the text of the run. After an edit, ask which one counts."""
        plan = self._stream.state["plans"][id]
        path, identity = self._file(id)
        if id in self._texts and self._seen[id] == identity:
            return
        self._seen[id] = identity
        found = discovery.documents([path], self._stream.state["root"])[0]
        digest = document.digest(found["text"]) if identity is not None else GONE
        if digest == plan["plan"]["digest"] and found["plan"] is not None:
            self._texts[id] = {**plan["plan"], "tasks": found["plan"]["tasks"]}
        elif digest == plan["digest"]:
            self._texts[id] = _old_text(plan)
        else:
            self._choose(id, path, digest)

    def text_of(self, id: str) -> Plan:
        return self._texts[id]

    def _choose(self, id: str, path: str, digest: str) -> None:
        plan = self._stream.state["plans"][id]
        name = plan["plan"]["path"]
        new = None if digest == GONE else self._read_new(plan, path)
        changes = _describe_changes(plan["plan"], self._redact(new))
        refused: HoldfastError | None = None
        while True:
            said = changes if refused is None else [refused.message, *changes]
            choice = self._policy or self._attendant.edited(name, said)
            if not choice:
                break
            try:
                self._take(id, choice, digest, new)
                return
            except (FenceLost, StoreAway):
                raise
            except HoldfastError as error:
                refused = error
            if self._policy:
                break
        del self._seen[id]
        if refused is not None:
            raise Halted(EDITED, refused.message, exit_code=refused.exit_code) from refused
        raise Halted(EDITED, f"{name} was edited: {'; '.join(changes)}", exit_code=8)

    def _take(self, id: str, choice: str, digest: str, new: Plan | HoldfastError | None) -> None:
        """Follow the chosen text from here on."""
        plan = self._stream.state["plans"][id]
        if choice == OLD or new is None:
            text = _old_text(plan)
            self._stream.execute({"do": "keep_text", "plan": id, "digest": digest})
            self._texts[id] = text
            return
        if isinstance(new, HoldfastError):
            raise new
        kept = self._redact(new)
        refuse_rewritten(plan, kept)
        past = find_passed_over(plan, kept)
        if past:
            person = self._attendant.person(
                self._stream.writer.workspace,
                f"go on past {plural(len(past), 'checkpoint')} of {id}",
                [f"Edited: {plan['plan']['path']}", *_describe_changes(plan["plan"], kept)],
            )
            for key in rewritten_gates(plan, kept):
                self._withdraw(plan["gates"][key]["gate"], person)
        self._stream.execute({"do": "replan", "plan_text": kept, **kind_of(new)})
        self._texts[id] = new

    def _withdraw(self, gate: str, person: Person) -> None:
        """Withdraw a question that the new text does not ask. This comes before the new text is
        recorded: after a crash in between, the old question is asked anew."""
        writer, actor = self._stream.writer, self._stream.actor
        why = "its plan asks something else now"
        try:
            withdraw_as(GateContext(writer.workspace, actor, clock.now()), gate, why, person)
        except NotFound:
            return  # a crash came before it was asked

    def _redact(self, new: Plan | HoldfastError | None) -> Any:
        """A text as the journal would keep it, to be compared with the one that it has."""
        if new is None or isinstance(new, HoldfastError):
            return new
        return self._stream.writer.redactor.value(new, canonical_json.dumps(new))

    def _read_new(self, known: PlanRun, path: str) -> Plan | HoldfastError:
        """The plan of the new text with its wave, or what is wrong with it."""
        try:
            plan = document.read(read_plain(path).decode(), known["plan"]["path"])
        except HoldfastError as error:
            return error
        except (OSError, UnicodeDecodeError) as error:
            return HoldfastError(f"{path} cannot be read: {error}.")
        if plan["id"] != known["plan"]["id"]:
            return Conflict(f"{path} is the plan {plan['id']} now.", kind="plan_edited")
        plans = self._stream.state["plans"]
        others = [one["plan"] for id, one in plans.items() if id != plan["id"]]
        order = waves.WaveOrder([*others, plan])
        for trouble in order.troubles:
            return Conflict(f"{path}: {trouble['what']}.", hint=trouble["instead"])
        return next(one for one in order.plans if one["id"] == plan["id"])


def _old_text(plan: PlanRun) -> Plan:
    """The old text from the journal, which keeps no secrets."""
    for task in plan["plan"]["tasks"]:
        is_open = task["gate"] is None and plan["tasks"][task["key"]]["status"] == OPEN
        if is_open and REDACTED in task["run"] + task["verify"] + task["action"]:
            raise HoldfastError(
                f"{plan['plan']['path']}: the old text of task {task['key']} holds a secret, which the "
                "journal does not keep.",
                hint="Go on with the new text (--edited new), or bring the old file back.",
                kind="plan_edited",
            )
    return plan["plan"]


def _describe_changes(old: Plan, new: Plan | HoldfastError | None) -> list[str]:
    """The differences between two texts, in a few words."""
    if new is None:
        return ["the file is gone"]
    if isinstance(new, HoldfastError):
        return [new.message]
    known = {task["key"]: task for task in old["tasks"]}
    fresh = {task["key"]: task for task in new["tasks"]}
    same = ("name", "type", "action", "run", "verify", "gate", "timeout")
    changed = [
        key
        for key in known.keys() & fresh.keys()
        if any(known[key][name] != fresh[key][name] for name in same)  # type: ignore[literal-required]
    ]
    said = [f"task {key} changed" for key in sorted(changed)]
    said += [f"task {key} is new" for key in fresh if key not in known]
    said += [f"task {key} is gone" for key in known if key not in fresh]
    return said or ["other parts of the text"]
