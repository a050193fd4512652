"""The stand-in for the model: it plays an author's steps in the words of each client's tools."""

from __future__ import annotations

import json
from typing import Any

from tests.real_clients.dialects import Answer, Reply, has_tools, reply
from tests.real_clients.stub import SILENCE, Stub

from bench.continuity.author import Step, Task, Turn

ROOT = "/home/dev/tally"
# What a client says when it asks its model for a summary.
ASKS_FOR_SUMMARY = ("Your task is to create a detailed summary", "CONTEXT CHECKPOINT COMPACTION")
# Gemini CLI asks beside the work whether it goes in circles, and wants this form.
ASKS_FOR_CIRCLES = "stuck in a repetitive, non-productive state"
NO_CIRCLES = {
    "unproductive_state_analysis": "Each call serves the request.",
    "unproductive_state_confidence": 0.0,
}
# How many tokens a request is said to have: few, or so many that the client compacts.
COMPACT_ABOVE, CLAUDE_WINDOW = 60_000, 100_000
ORDINARY, FULL = 24_000, 98_000


class Player(Stub):
    """Answers with the next step; with the next summary where the client asks for one."""

    def __init__(self) -> None:
        super().__init__([])
        self._answers: list[Answer] = []
        self._summaries: list[str] = []

    def play(self, answers: list[Answer], summaries: list[str]) -> None:
        self._answers += answers
        self._summaries += summaries

    @property
    def left(self) -> int:
        """How many answers no request has taken yet."""
        return len(self._answers) + len(self._summaries)

    def answer(self, path: str, body: Any) -> tuple[int, Reply]:
        with self._turn:
            self.requests.append({"path": path, "agent": has_tools(body)})
            chosen = self._choose(body)
            said = reply(path, body, chosen, len(self.requests))
        return (404, Reply("application/json", b"{}")) if said is None else (200, said)

    def _choose(self, body: Any) -> Answer:
        asked = _last_words(body)
        if any(words in asked for words in ASKS_FOR_SUMMARY):
            summary = self._summaries.pop(0)
            return {"text": f"<summary>\n{summary}\n</summary>", "tokens": ORDINARY}
        if ASKS_FOR_CIRCLES in asked:
            return {"text": json.dumps(NO_CIRCLES)}
        if not has_tools(body) or not self._answers:
            return SILENCE
        chosen = dict(self._answers.pop(0))
        if chosen.get("input") == "PLAN FILE":
            chosen["input"] = {"file_path": _plan_file(body), "content": chosen.pop("plan")}
        return {"tokens": ORDINARY, **chosen}


def _last_words(body: Any) -> str:
    if not isinstance(body, dict):
        return ""
    said = body.get("messages") or body.get("input") or body.get("contents") or []
    return json.dumps(said[-3:]) if isinstance(said, list) else ""


def _plan_file(body: Any) -> str:
    """Where Claude Code wants the plan; it names the file when plan mode begins."""
    text = json.dumps(body["messages"])
    at = text.rindex("/.claude/plans/")
    start = text.rindex("/home", 0, at)
    return text[start : text.index(".md", at)] + ".md"


class Tongue:
    """How one client's model calls its tools."""

    name = ""

    def answers(self, turn: Turn) -> tuple[list[Answer], list[str]]:
        """What the model says in a turn, and the summaries that it is asked for."""
        found: list[Answer] = []
        summaries: list[str] = []
        beside = ""
        for step in turn.steps:
            if step["kind"] == "note":
                beside = step["text"]
                continue
            if step["kind"] == "compact":
                found[-1]["tokens"] = FULL
                summaries.append(step["summary"])
                continue
            said = self.say(step)
            words = beside or step.get("why", "")
            if said and words and "text" not in said[0]:
                said[0]["text"] = words
                beside = ""
            found += said
        return found, summaries

    def say(self, step: Step) -> list[Answer]:
        method = getattr(self, f"_{step['kind']}")
        said: list[Answer] = method(**{key: step[key] for key in step if key != "kind"})
        return said

    def _say(self, text: str) -> list[Answer]:
        return [{"text": text}]

    def _plan(self, plan: str) -> list[Answer]:
        return []

    def _ask(self, question: Any) -> list[Answer]:
        return []


def call(tool: str, **input: Any) -> Answer:
    return {"tool": tool, "input": input}


class ClaudeTongue(Tongue):
    name = "claude"

    def _look(self, path: str, start: int, count: int) -> list[Answer]:
        part = {"offset": start, "limit": count} if start > 1 else {}
        return [call("Read", file_path=f"{ROOT}/{path}", **part)]

    def _grep(self, pattern: str, path: str) -> list[Answer]:
        where = ROOT if path == "." else f"{ROOT}/{path}"
        return [call("Grep", pattern=pattern, path=where, output_mode="content")]

    def _list(self, path: str) -> list[Answer]:
        return [call("Glob", pattern=f"{path}/**/*.py")]

    def _edit(self, path: str, old: str, new: str, before: str) -> list[Answer]:
        return [call("Edit", file_path=f"{ROOT}/{path}", old_string=old, new_string=new)]

    def _write(self, path: str, content: str) -> list[Answer]:
        return [call("Write", file_path=f"{ROOT}/{path}", content=content)]

    def _run(self, command: str, why: str) -> list[Answer]:
        return [call("Bash", command=command, description=why or command[:60])]

    def _tasks(self, fresh: list[Task], tasks: list[Task]) -> list[Answer]:
        return [call("TaskCreate", subject=task.text, description=task.text) for task in fresh]

    def _task(self, task: Task, tasks: list[Task]) -> list[Answer]:
        return [call("TaskUpdate", taskId=str(task.number), status=task.state)]

    def _ask(self, question: Any) -> list[Answer]:
        options = [{"label": one, "description": f"{one}."} for one in question.options]
        asked = {"question": question.text, "header": "Detail", "multiSelect": False}
        return [call("AskUserQuestion", questions=[{**asked, "options": options}])]

    def _plan(self, plan: str) -> list[Answer]:
        written: Answer = {"tool": "Write", "input": "PLAN FILE", "plan": plan}
        return [call("EnterPlanMode"), written, call("ExitPlanMode")]


class CodexTongue(Tongue):
    name = "codex"

    def _shell(self, command: str) -> list[Answer]:
        return [call("exec_command", cmd=command)]

    def _look(self, path: str, start: int, count: int) -> list[Answer]:
        return self._shell(f"sed -n '{start},{start + count}p' {path}")

    def _grep(self, pattern: str, path: str) -> list[Answer]:
        return self._shell(f"grep -rn --include='*.py' '{pattern}' {path}")

    def _list(self, path: str) -> list[Answer]:
        return self._shell(f"ls {path}")

    def _edit(self, path: str, old: str, new: str, before: str) -> list[Answer]:
        body = [f"*** Update File: {path}", "@@", *_patch_lines(before, old, new)]
        return [{"tool": "apply_patch", "input": _patch(body)}]

    def _write(self, path: str, content: str) -> list[Answer]:
        body = [f"*** Add File: {path}", *(f"+{line}" for line in content.splitlines())]
        return [{"tool": "apply_patch", "input": _patch(body)}]

    def _run(self, command: str, why: str) -> list[Answer]:
        return self._shell(command)

    def _tasks(self, fresh: list[Task], tasks: list[Task]) -> list[Answer]:
        plan = [{"step": task.text, "status": task.state} for task in tasks]
        return [call("update_plan", plan=plan)]

    def _task(self, task: Task, tasks: list[Task]) -> list[Answer]:
        return self._tasks([], tasks)


def _patch(body: list[str]) -> str:
    return "\n".join(("*** Begin Patch", *body, "*** End Patch", ""))


def _patch_lines(before: str, old: str, new: str) -> list[str]:
    """Whole lines around a replacement that may begin and end within a line."""
    start = before.index(old)
    first = before.rfind("\n", 0, start) + 1
    last = before.find("\n", start + len(old) - (1 if old.endswith("\n") else 0))
    last = len(before) if last < 0 else last
    was = before[first:last]
    becomes = (
        was.replace(old, new) if old in was else was.replace(old.rstrip("\n"), new.rstrip("\n"))
    )
    minus = [f"-{line}" for line in was.split("\n")]
    return [*minus, *(f"+{line}" for line in becomes.split("\n"))]


class GeminiTongue(Tongue):
    name = "gemini"

    def _look(self, path: str, start: int, count: int) -> list[Answer]:
        part = {"start_line": start, "end_line": start + count} if start > 1 else {}
        return [call("read_file", file_path=path, **part)]

    def _grep(self, pattern: str, path: str) -> list[Answer]:
        return [call("grep_search", pattern=pattern, dir_path=path)]

    def _list(self, path: str) -> list[Answer]:
        return [call("list_directory", dir_path=path)]

    def _edit(self, path: str, old: str, new: str, before: str) -> list[Answer]:
        words = f"Change {path}"
        return [call("replace", file_path=path, old_string=old, new_string=new, instruction=words)]

    def _write(self, path: str, content: str) -> list[Answer]:
        return [call("write_file", file_path=path, content=content)]

    def _run(self, command: str, why: str) -> list[Answer]:
        return [call("run_shell_command", command=command, description=why or command[:60])]

    def _tasks(self, fresh: list[Task], tasks: list[Task]) -> list[Answer]:
        todos = [{"description": task.text, "status": task.state} for task in tasks]
        return [call("write_todos", todos=todos)]

    def _task(self, task: Task, tasks: list[Task]) -> list[Answer]:
        return self._tasks([], tasks)


class OpencodeTongue(Tongue):
    name = "opencode"

    def _look(self, path: str, start: int, count: int) -> list[Answer]:
        part = {"offset": start, "limit": count} if start > 1 else {}
        return [call("read", filePath=f"{ROOT}/{path}", **part)]

    def _grep(self, pattern: str, path: str) -> list[Answer]:
        return [call("grep", pattern=pattern, path=ROOT if path == "." else f"{ROOT}/{path}")]

    def _list(self, path: str) -> list[Answer]:
        return [call("glob", pattern=f"{path}/*.py")]

    def _edit(self, path: str, old: str, new: str, before: str) -> list[Answer]:
        return [call("edit", filePath=f"{ROOT}/{path}", oldString=old, newString=new)]

    def _write(self, path: str, content: str) -> list[Answer]:
        return [call("write", filePath=f"{ROOT}/{path}", content=content)]

    def _run(self, command: str, why: str) -> list[Answer]:
        return [call("bash", command=command, description=why or command[:60])]

    def _tasks(self, fresh: list[Task], tasks: list[Task]) -> list[Answer]:
        todos = [
            {"content": task.text, "status": task.state, "priority": "medium"} for task in tasks
        ]
        return [call("todowrite", todos=todos)]

    def _task(self, task: Task, tasks: list[Task]) -> list[Answer]:
        return self._tasks([], tasks)


TONGUES: dict[str, Tongue] = {
    tongue.name: tongue
    for tongue in (ClaudeTongue(), CodexTongue(), GeminiTongue(), OpencodeTongue())
}
