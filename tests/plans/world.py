"""A repository with plans, runs of them, and the questions that the tests of plans ask."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast.gates import lookup as gates
from holdfast.gates.answer import AnswerRequest, answer
from holdfast.gates.lookup import GateContext
from holdfast.gates.rules.content import render
from holdfast.kernel import clock
from holdfast.kernel.rules import Person
from holdfast.kernel.streams import open_writer
from holdfast.kernel.workspace import discover
from holdfast.plans import discovery
from holdfast.plans import runs as reading
from holdfast.plans.executors import LocalExecutor
from holdfast.plans.news import Attendant, Halted, Interrupts, RunEvent
from holdfast.plans.operations import begin
from holdfast.plans.rules.run_model import RunState
from holdfast.plans.runner import Execution, RunContext, Runner
from holdfast.plans.runs import RunFolder
from holdfast.processes import tree
from tests import warm
from tests.gates.person import seen
from tests.plans.samples import text
from tests.processes import PATIENCE, PERSON, process

if TYPE_CHECKING:
    from holdfast.journal.interface import Record


# The command line, for the programs of tasks: wherever the tests run, it is the one that is tested.
HOLDFAST = f"{shlex.quote(sys.executable)} -m holdfast"
VERIFY = """\
<task type="checkpoint:human-verify" gate="blocking">
  <what-built>The page at http://localhost:3000</what-built>
  <how-to-verify>Visit http://localhost:3000 and look</how-to-verify>
  <resume-signal>Type "approved" or describe issues</resume-signal>
</task>
"""


def auto(run: str, *, verify: str = "", name: str = "work", attributes: str = "") -> str:
    """A task that runs a command."""
    check = f"<verify>{_xml(verify)}</verify>" if verify else ""
    return (
        f'<task type="auto"{attributes}><name>{name}</name><action>{name}</action>'
        f"<run>{_xml(run)}</run>{check}</task>\n"
    )


def _xml(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


class World:
    """Plans in one repository. `run` runs them in this process; `process` in one of its own."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.workspace = discover(str(root))
        self.writer = open_writer(self.workspace)
        self.events: list[RunEvent] = []
        self.log = root / "log"
        self.id = ""

    def plan(self, name: str, body: str, **fields: Any) -> Path:
        """A plan file `phase/plan`."""
        phase, _, plan = name.partition("/")
        path = self.root / "plans" / f"{phase}-{plan}.md"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text(body, phase=phase, plan=plan, **fields))
        return path

    def note(self, word: str) -> str:
        """A command that writes one line to the world's log."""
        return f"echo {word} >> {self.log}"

    def noted(self) -> list[str]:
        return self.log.read_text().split() if self.log.exists() else []

    def begin(self, **options: Any) -> str:
        root = str(self.root)
        documents = discovery.documents(discovery.files(["plans"], root, root), root)
        plans = [one["plan"] for one in documents if one["plan"] is not None]
        chosen = {"jobs": 4, "tries": 3, "worktrees": False, "phase": "", "task": "", **options}
        self.id = begin(self.writer, plans, chosen, actor="tester", again=True)  # type: ignore[arg-type]
        return self.id

    def runner(self, *, attendant: Any = None, **options: Any) -> Runner:
        place = RunFolder(self.workspace, self.id)
        executor = LocalExecutor(place, self.writer.redactor)
        return Runner(self.context(attendant), executor, Execution(**options), Interrupts())

    def context(self, attendant: Attendant | None = None) -> RunContext:
        return RunContext(
            writer=self.writer,
            actor="tester",
            tell=self.events.append,
            attendant=attendant or Attendant(),
            run=self.id,
        )

    def run(self, *, begin: bool = True, **options: Any) -> RunState:
        """To the end."""
        if begin:
            self.begin()
        return self.runner(**options).to_the_end()

    def halted(self, *, begin: bool = True, **options: Any) -> Halted:
        """Until it stands still; why."""
        try:
            self.run(begin=begin, **options)
        except Halted as halted:
            return halted
        raise AssertionError("the run came to its end")

    def state(self) -> RunState:
        return reading.read(self.workspace, self.id)

    def records(self, *kinds: str) -> list[Record]:
        found = self.workspace.journal.read(f"run:{self.id}")
        return [record for record in found if not kinds or record["kind"] in kinds]

    def done(self) -> list[str]:
        """The tasks that were accepted, in that order."""
        records = self.records("task_done")
        return [f"{one['body']['plan']}#{one['body']['task']}" for one in records]

    def told(self, event: str) -> list[str]:
        return [one["text"] for one in self.events if one["event"] == event]

    # People

    def open_gates(self) -> list[str]:
        return [state["id"] for state in gates.open_gates(self.workspace)]

    def shown(self, gate: str) -> str:
        """A gate as a person sees it."""
        return render(gates.read(self.workspace, gate)["content"])

    def answer(self, gate: str, said: str, *, no: bool = False) -> None:
        """As a person who was seen; that they are asked is tested with gates."""
        now = clock.now()
        person = seen(Person(PERSON, at=clock.precise(now)))
        request = AnswerRequest(gate=gate, text=said, no=no, person=person)
        answer(GateContext(self.workspace, "tester", now), request)

    # Processes

    def process(self, *words: str, **environment: str) -> warm.Process:
        return process(*words, cwd=self.root, **environment)

    def holdfast(self, *words: str, **environment: str) -> tuple[int, dict[str, Any], str]:
        """Exit code, the last line of standard output as JSON, and standard error."""
        run = self.process(*words, "--json", **environment)
        out, err = run.communicate(timeout=PATIENCE)
        return run.returncode, json.loads(out.splitlines()[-1]), err

    def orphans(self) -> list[int]:
        """Processes of any start of the run that still live."""
        marks = [one["body"]["mark"] for one in self.records("task_started")]
        return tree.find_marked(marks)

    def close(self) -> None:
        self.workspace.close()
