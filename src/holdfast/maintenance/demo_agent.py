"""A stand-in for a coding agent, for `holdfast demo`: it follows a script instead of a model.

Everything else is real. It edits files, runs the tests, and writes the transcript that Claude Code
would write, line by line while it works. Then it waits to be killed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import Any

from holdfast.kernel import clock

SESSION = "5f1d3c52-4a0e-4c8b-9a57-0c6a1e7d2b90"
REQUEST = (
    "parse() has to keep quoted words together. Use shlex, it is in the standard library. "
    "Don't change the signature of parse(), other modules call it."
)
TASKS = (("Use shlex in parse()", "in_progress"), ("Write down the rule in README.md", "pending"))
BEFORE = "    return text.split()\n"
AFTER = "    return shlex.split(text)\n"
TEST = "python3 -m unittest -q test_parser"
LAST_WORDS = (
    "shlex takes the apostrophe of don't for an opening quote. Next I pass the text through "
    "shlex.shlex(text, posix=True) with quotes='\"', so that only double quotes count."
)


class DemoTranscript:
    """The file that Claude Code keeps of a session; a line is in it as soon as it happened."""

    def __init__(self, home: str, folder: str) -> None:
        self._folder = folder
        mangled = "".join(letter if letter.isalnum() else "-" for letter in folder)
        path = os.path.join(home, ".claude", "projects", mangled, f"{SESSION}.jsonl")
        os.makedirs(os.path.dirname(path))
        self._file = open(path, "a", encoding="utf-8")  # noqa: SIM115
        self._calls = 0

    def asked(self, text: str) -> None:
        self._write("user", {"role": "user", "content": text})

    def said(self, text: str) -> None:
        self._write("assistant", _message([{"type": "text", "text": text}]))

    def called(
        self, tool: str, given: dict[str, Any], result: str, *, failed: bool = False
    ) -> None:
        self._calls += 1
        id = f"toolu_{self._calls:04}"
        call = {"type": "tool_use", "id": id, "name": tool, "input": given}
        self._write("assistant", _message([call]))
        block = {"type": "tool_result", "tool_use_id": id, "content": result, "is_error": failed}
        self._write("user", {"role": "user", "content": [block]})

    def _write(self, kind: str, message: dict[str, Any]) -> None:
        line = {
            "type": kind,
            "sessionId": SESSION,
            "cwd": self._folder,
            "timestamp": clock.stamp(clock.now()),
            "isSidechain": False,
            "message": message,
        }
        self._file.write(json.dumps(line) + "\n")
        self._file.flush()


def _message(content: list[dict[str, Any]]) -> dict[str, Any]:
    return {"role": "assistant", "model": "stand-in", "content": content}


def work(home: str, folder: str) -> None:
    """Begin the work, and say on standard output what happens; never end it."""
    transcript = DemoTranscript(home, folder)
    parser = os.path.join(folder, "parser.py")
    transcript.asked(REQUEST)
    todos = [{"content": text, "status": status} for text, status in TASKS]
    transcript.called("TodoWrite", {"todos": todos}, "Todos have been modified")
    with open(parser, encoding="utf-8") as file:
        text = file.read()
    transcript.called("Read", {"file_path": parser}, text)
    tell("reads parser.py")
    with open(parser, "w", encoding="utf-8") as file:
        file.write("import shlex\n\n\n" + text.replace(BEFORE, AFTER))
    edit = {"file_path": parser, "old_string": BEFORE, "new_string": AFTER}
    transcript.called("Edit", edit, "The file has been updated.")
    tell("edits parser.py")
    command = [sys.executable, *TEST.split()[1:]]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    output = f"Exit code {done.returncode}\n{done.stderr}"
    transcript.called("Bash", {"command": TEST}, output, failed=bool(done.returncode))
    tell(f"runs {TEST}: {done.stderr.split()[-2]} {done.stderr.split()[-1]}")
    transcript.said(LAST_WORDS)
    tell(f"says: {LAST_WORDS}")
    while True:
        time.sleep(60)


def tell(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    work(*sys.argv[1:])
