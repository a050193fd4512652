"""Record what the real clients write down: `python -m tests.clients.transcripts.record FOLDER [CLIENT...]`.

Each client runs against the stub model in a network of its own (see tests/real_clients) and works through
one short script: read, edit, list its tasks, run a test that fails, say what comes next. FOLDER then
holds a home and a project per client, and `samples/` what Gemini CLI and opencode wrote.
"""

from __future__ import annotations

import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.real_clients.world import KINDS, Client

SAMPLES = Path(__file__).parent / "samples"
TABLES = ("session", "message", "part", "todo")
REQUEST = "Keep the quotes in parser.py. Do not touch the tests."
LAST_WORDS = "The test still fails. Next: use shlex.split in parse()."
BEFORE = "def parse(line):\n    return line.split()\n"
AFTER = "    return line.split(None, 1)"
FAILING = "echo 'AssertionError: quotes were lost' >&2; exit 3"
TASKS = (("Edit parser.py", "completed"), ("Make the test pass", "in_progress"))


def script_for(client: Client) -> list[dict[str, Any]]:
    """The model's answers, in the tools that the client offers."""
    file = str(client.project / "parser.py")
    old = "    return line.split()"
    if client.name == "claude":
        todos = [{"content": text, "status": state, "activeForm": text} for text, state in TASKS]
        calls = [
            ("Read", {"file_path": file}),
            ("Edit", {"file_path": file, "old_string": old, "new_string": AFTER}),
            ("TodoWrite", {"todos": todos}),
        ]
    elif client.name == "codex":
        plan = [{"step": text, "status": state} for text, state in TASKS]
        calls = [
            ("exec_command", {"cmd": "cat parser.py"}),
            ("exec_command", {"cmd": f"sed -i 's/split()/split(None, 1)/' {file}"}),
            ("update_plan", {"plan": plan}),
        ]
    elif client.name == "gemini":
        todos = [{"description": text, "status": state} for text, state in TASKS]
        calls = [
            ("read_file", {"file_path": file}),
            (
                "replace",
                {
                    "file_path": file,
                    "old_string": old,
                    "new_string": AFTER,
                    "instruction": "keep the quotes",
                },
            ),
            ("write_todos", {"todos": todos}),
            ("write_file", {"file_path": str(client.project / "new.py"), "content": "x = 1\n"}),
            (
                "replace",
                {"file_path": file, "old_string": "absent", "new_string": "", "instruction": "no"},
            ),
        ]
    else:
        todos = [{"content": text, "status": state, "priority": "high"} for text, state in TASKS]
        calls = [
            ("read", {"filePath": file}),
            ("edit", {"filePath": file, "oldString": old, "newString": AFTER}),
            ("todowrite", {"todos": todos}),
            ("write", {"filePath": str(client.project / "new.py"), "content": "x = 1\n"}),
            ("edit", {"filePath": file, "oldString": "absent", "newString": "x"}),
        ]
    answers: list[dict[str, Any]] = [{"tool": name, "input": input} for name, input in calls]
    return [*answers, client.shell(FAILING), {"text": LAST_WORDS}]


def record(kind: type[Client], folder: Path) -> str:
    """Run one client through the script; how the run ended, when it failed."""
    project = folder / kind.name / "proj"
    project.mkdir(parents=True, exist_ok=True)
    (project / "parser.py").write_text(BEFORE, encoding="utf-8")
    if not (project / ".git").exists():
        subprocess.run(["git", "init", "-q", str(project)], check=True)
    client = kind(project, folder / kind.name / "home")
    done = client.run(REQUEST, script_for(client))
    return "" if done.code == 0 else done.told


def keep_samples(folder: Path) -> None:
    """Keep what Gemini CLI and opencode wrote as samples, with neutral folders in them."""
    for chat in (folder / "gemini").glob("home/.gemini/tmp/*/chats/*.jsonl"):
        text = chat.read_text(encoding="utf-8")
        (SAMPLES / "gemini.jsonl").write_text(_neutral(text, folder / "gemini"), encoding="utf-8")
    for store in (folder / "opencode").glob("home/.local/share/opencode/opencode.db"):
        with closing(sqlite3.connect(store)) as database:
            lines = [line for line in database.iterdump() if _is_kept(line)]
        text = _neutral("\n".join(lines), folder / "opencode")
        (SAMPLES / "opencode.sql").write_text(f"{text}\n", encoding="utf-8")


def _is_kept(statement: str) -> bool:
    names = "|".join(TABLES)
    return bool(
        re.match(rf'(CREATE TABLE|INSERT INTO) ["`]?({names})["`]? ?(\(|VALUES)', statement)
    )


def _neutral(text: str, folder: Path) -> str:
    return text.replace(str(folder / "proj"), "/home/dev/proj").replace(
        str(folder / "home"), "/home/dev"
    )


def main(folder: str, names: list[str]) -> int:
    failed = 0
    for kind in KINDS:
        if not names or kind.name in names:
            problem = record(kind, Path(folder).resolve())
            print(f"{kind.name}: {problem or 'recorded'}", file=sys.stderr)
            failed |= bool(problem)
    keep_samples(Path(folder).resolve())
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
