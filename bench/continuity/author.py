"""Writes a session: what a person asks, and what an agent does about it, step by step.

A seeded program models how an agent works. It searches for the names of a job, reads the files that
it found and some that they import, writes a failing test, makes the change with a mistake in it,
reads the failure, looks again, corrects it, runs everything, and commits. It keeps the client's
task list, makes a scratch file and removes it, asks a question, takes a correction. Each step
depends on those before it: a file is edited only after it was read, it is read again after a
compaction, and an import leads to the next file.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.continuity.jobs import JOBS, Edit, Job

PROJECT = Path(__file__).parent / "project"
IMPORT = re.compile(r"^from tally\.(\w+) import", re.MULTILINE)
LINES_A_LOOK = 60

Step = dict[str, Any]

HOUSE_RULES = (
    "From now on run the whole suite before each commit, never only one module.",
    "Please keep functions below twenty lines, and don't add comments that repeat the code.",
    "Commit each job on its own, and never amend a commit.",
    "Prefer plain functions over new classes in this code base.",
    "Do not edit scripts/check.sh, the build machine has its own copy.",
    "Only write docs for what users can see, no need to describe internals.",
)
LINTERS = ("python3 -m pyflakes tally", "python3 -m mypy tally", "sh scripts/lint.sh")


@dataclass
class Turn:
    """What the person says, and the steps of the agent until it stops."""

    prompt: str
    steps: list[Step] = field(default_factory=list)


@dataclass
class Compaction:
    """The client compacts here; this is the summary that the model is to write."""

    summary: str


@dataclass
class Task:
    number: int
    text: str
    state: str = "pending"


class Author:
    """One session in the making."""

    def __init__(self, seed: int, *, automatic: bool) -> None:
        self._random = random.Random(seed)
        # A client that compacts by itself does so in the middle of a turn.
        self._automatic = automatic
        self.parts: list[Turn | Compaction] = []
        self.files = {
            str(path.relative_to(PROJECT)): path.read_text(encoding="utf-8")
            for path in sorted(PROJECT.rglob("*"))
            if path.is_file() and "__pycache__" not in path.parts
        }
        self._read: set[str] = set()
        self._tasks: list[Task] = []
        self._rules: list[str] = []
        self._committed: list[str] = []
        self._touched: list[str] = []
        self._verbose = self._random.random() < 0.4
        self._job: Job | None = None

    def write(self, jobs: Iterable[str], compact_at: Iterable[int] = ()) -> list[Turn | Compaction]:
        """A session that does these jobs; it compacts in the jobs with these numbers."""
        compacting = set(compact_at)
        for number, name in enumerate(jobs):
            if number and self._chance(0.4) and len(self._rules) < len(HOUSE_RULES):
                self._take_rule()
            self._do(JOBS[name], compacts=number in compacting)
        return self.parts

    # The person

    def _take_rule(self) -> None:
        rule = self._random.choice([one for one in HOUSE_RULES if one not in self._rules])
        self._rules.append(rule)
        self._begin(rule)
        self._run("git log --oneline -5", "What was done so far.")
        self._run_all()
        self._say("Understood. The whole suite passes, and I keep to that from here on.")

    def _do(self, job: Job, *, compacts: bool) -> None:
        self._job = job
        self._begin(job.request)
        if self._chance(0.5):
            self._run("git status --short", "First, what state the tree is in.")
        self._plan(job)
        if job.question:
            self._step("ask", question=job.question)
        self._explore(job)
        self._state(0, "in_progress")
        for edit in job.tests:
            self._edit(edit)
        self._test(job, "The new test should fail now.")
        if compacts:
            self._compact(job)
        self._state(0, "completed")
        self._state(1, "in_progress")
        self._change(job)
        self._state(1, "completed")
        self._finish(job)
        if job.correction:
            self._correct(job)

    # The agent at work

    def _plan(self, job: Job) -> None:
        if len(job.tasks) > 3:
            steps = "\n".join(f"## {task}\nIn {job.looks[0]} and its test.\n" for task in job.tasks)
            self._step("plan", plan=f"# {job.commit}\n\n{steps}")
        kept = [task for task in self._tasks if task.state != "completed"]
        fresh = [Task(len(self._tasks) + n, text) for n, text in enumerate(job.tasks, start=1)]
        if self._chance(0.35):
            later = f"Later: see whether {job.names[0]} needs an example in the README"
            fresh.append(Task(len(self._tasks) + len(fresh) + 1, later))
        if kept and self._chance(0.6):
            kept[0].state = "completed"
            self._step("task", task=kept[0], tasks=self._listed())
        self._tasks += fresh
        self._step("tasks", fresh=list(fresh), tasks=self._listed())

    def _explore(self, job: Job) -> None:
        names, queue = list(job.names), list(job.looks)
        self._random.shuffle(names)
        if self._chance(0.6):
            self._step("list", path="tally")
        for name in names:
            where = self._random.choice((".", "tally", "tests"))
            self._step("grep", pattern=name, path=where)
        seen: list[str] = []
        while queue:
            path = queue.pop(0)
            if path in seen:
                continue
            if path not in self._read or self._chance(0.5):
                self._look(path)
            seen.append(path)
            for module in IMPORT.findall(self.files[path]):
                found = f"tally/{module}.py"
                if found in self.files and found not in seen and self._chance(0.25):
                    queue.append(found)
        self._note(job.finding)

    def _change(self, job: Job) -> None:
        right, wrong = job.slip
        for edit in self._shuffled(job.changes):
            self._edit(Edit(edit.path, edit.old, edit.new.replace(right, wrong)))
        self._test(job, "Let me run its tests.")
        slipped = next(edit for edit in job.changes if right in edit.new)
        self._note(f"It still fails. I look at {slipped.path} again.")
        self._look(slipped.path)
        if self._chance(0.5):
            module = slipped.path.removesuffix(".py").replace("/", ".")
            self._run(f"python3 -c 'import {module} as m; print(sorted(vars(m))[-4:])'")
        if self._chance(0.35):
            self._try_out(job)
        elif self._chance(0.4):
            self._step("grep", pattern=job.names[-1], path="tally")
        self._edit(Edit(slipped.path, slipped.new.replace(right, wrong), slipped.new))
        self._test(job, f"That was the mistake in {slipped.path}.")

    def _try_out(self, job: Job) -> None:
        path = f"scratch/try_{job.name.replace('-', '_')}.py"
        self._step(
            "write", path=path, content=f"from tally import read_entries\nprint('{job.name}')\n"
        )
        self._run(
            f"python3 -m {path.removesuffix('.py').replace('/', '.')}",
            "A scratch file to see it outside of the tests.",
        )
        self._run(f"rm -r {path.rpartition('/')[0]}", "The scratch file goes.")

    def _finish(self, job: Job) -> None:
        for number, _ in list(enumerate(job.tasks))[2:]:
            self._state(number, "in_progress")
            if number == 2 and job.docs:
                self._edit(job.docs)
            for path in job.removes if number == 2 else ():
                self._run(f"git rm -q {path}", f"Nothing uses {path} any more.")
                del self.files[path]
            if self._chance(0.5):
                self._look(self._random.choice([p for p in job.looks if p in self.files]))
            self._state(number, "completed")
        if self._chance(0.3):
            self._run(self._random.choice(LINTERS), "A look by the linter.")
        self._run_all()
        self._run("git diff --stat", "What changed in all.")
        self._run(f"git add -A && git commit -q -m '{job.commit}'")
        self._committed.append(job.commit)
        self._say(
            f"{job.commit}: done in {', '.join(sorted({edit.path for edit in job.changes}))}, with "
            f"tests in {job.tests[0].path}. All tests pass and it is committed. Next I would look "
            f"at the callers of `{job.names[0]}`."
        )

    def _correct(self, job: Job) -> None:
        self._begin(job.correction)
        self._step("grep", pattern=job.names[0], path="tally")
        for edit in job.corrected:
            self._edit(edit)
        self._test(job, "The tests stay as they are.")
        self._run_all()
        self._run(f"git add -A && git commit -q -m '{job.commit}, in a function'")
        self._say(f"Done as you asked, in {job.corrected[0].path}.")

    # Single steps

    def _begin(self, prompt: str) -> None:
        self.parts.append(Turn(prompt))

    def _step(self, kind: str, **what: Any) -> Step:
        step = {"kind": kind, **what}
        turn = self.parts[-1]
        assert isinstance(turn, Turn)
        turn.steps.append(step)
        return step

    def _say(self, text: str) -> None:
        """The agent's last words of a turn."""
        self._step("say", text=text)

    def _note(self, text: str) -> None:
        """Words that the agent writes beside its next call."""
        turn = self.parts[-1]
        assert isinstance(turn, Turn)
        turn.steps.append({"kind": "note", "text": text})

    def _look(self, path: str) -> None:
        lines = self.files[path].count("\n") + 1
        start = 1 if path not in self._read or lines < 30 else self._random.randrange(1, lines // 2)
        self._step("look", path=path, start=start, count=LINES_A_LOOK)
        self._read.add(path)

    def _edit(self, edit: Edit) -> None:
        if edit.path not in self._read:
            self._look(edit.path)
        old = self.files[edit.path]
        assert old.count(edit.old) == 1, (edit.path, edit.old)
        self.files[edit.path] = old.replace(edit.old, edit.new)
        self._step("edit", path=edit.path, old=edit.old, new=edit.new, before=old)
        self._touched.append(edit.path)

    def _run(self, command: str, why: str = "") -> None:
        self._step("run", command=command, why=why)

    def _test(self, job: Job, why: str) -> None:
        self._run(f"python3 -m unittest {'-v ' if self._verbose else ''}{job.module}", why)

    def _run_all(self) -> None:
        self._run("sh scripts/check.sh", "The whole suite.")

    def _state(self, number: int, state: str) -> None:
        assert self._job is not None
        task = next(one for one in reversed(self._tasks) if one.text == self._job.tasks[number])
        task.state = state
        self._step("task", task=Task(task.number, task.text, state), tasks=self._listed())

    def _listed(self) -> list[Task]:
        """The list as a client with one whole list keeps it: what is open, and the last done."""
        recent = self._tasks[-8:]
        older = [task for task in self._tasks[:-8] if task.state != "completed"]
        return [Task(task.number, task.text, task.state) for task in (*older, *recent)]

    def _compact(self, job: Job) -> None:
        summary = self._summary(job)
        self._read.clear()
        if self._automatic:
            self._step("compact", summary=summary)
            return
        self._say("The test fails as it should. Shall I make the change now?")
        self.parts.append(Compaction(summary))
        self._begin("Yes, go on.")

    def _summary(self, job: Job) -> str:
        """What a model could write: right, and shorter than what happened."""
        requests = [part.prompt for part in self.parts if isinstance(part, Turn)]
        files = list(dict.fromkeys(reversed(self._touched)))[:8]
        open_tasks = [task for task in self._tasks if task.state != "completed"]
        return "\n".join(
            (
                "1. Primary Request and Intent:",
                f"   The user works on tally, a plain-text ledger. Current request: {requests[-1]}",
                *(f"   Earlier: {text[:160]}" for text in requests[:-1]),
                "2. Key Technical Concepts:",
                "   - Python 3.11, unittest, decimal amounts, frozen dataclasses",
                f"   - {job.finding}",
                "3. Files and Code Sections:",
                *(f"   - {path}: changed in this session" for path in files),
                *(f"   - {path}: read for the current request" for path in job.looks),
                "4. Errors and fixes:",
                f"   - {job.module} fails, because the new test asks for what is not there yet.",
                "5. Problem Solving:",
                f"   Committed so far: {'; '.join(self._committed) or 'nothing'}.",
                "6. All user messages:",
                *(f"   - {text[:200]}" for text in requests),
                "7. Pending Tasks:",
                *(f"   - {task.text}" for task in open_tasks),
                "8. Current Work:",
                f"   The failing test for '{job.commit}' is written in {job.tests[0].path}.",
                "9. Next Step:",
                f"   Make the change in {job.changes[0].path} and run {job.module}.",
            )
        )

    def _chance(self, share: float) -> bool:
        return self._random.random() < share

    def _shuffled(self, edits: Iterable[Edit]) -> list[Edit]:
        mixed = list(edits)
        self._random.shuffle(mixed)
        return mixed
