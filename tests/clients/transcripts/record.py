"""Record what the real clients write down: `python -m tests.clients.transcripts.record FOLDER [CLIENT...]`.

Each client runs against the stub model in a network of its own (see tests/clients) and works through
one short script: read, edit, list its tasks, run a test that fails, say what comes next. FOLDER then
holds one home per client.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.real_clients.world import KINDS, Client

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
    project = folder / "proj"
    project.mkdir(parents=True, exist_ok=True)
    (project / "parser.py").write_text(BEFORE, encoding="utf-8")
    if not (project / ".git").exists():
        subprocess.run(["git", "init", "-q", str(project)], check=True)
    client = kind(project, folder / kind.name)
    done = client.run(REQUEST, script_for(client))
    return "" if done.code == 0 else done.told


def main(folder: str, names: list[str]) -> int:
    failed = 0
    for kind in KINDS:
        if not names or kind.name in names:
            problem = record(kind, Path(folder).resolve())
            print(f"{kind.name}: {problem or 'recorded'}", file=sys.stderr)
            failed |= bool(problem)
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
