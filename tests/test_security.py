"""SECURITY.md names a test for each promise, and each exists; files of others are read in one way."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import holdfast

TOP = Path(__file__).parent.parent
ROW = re.compile(r"^\| (?P<promise>[^|]+) \| `(?P<file>tests/[^:]+)::(?P<test>\w+)` \|$", re.M)


def test_each_promise_has_a_test_that_exists() -> None:
    rows = list(ROW.finditer((TOP / "SECURITY.md").read_text()))
    assert len(rows) > 20
    for row in rows:
        text = (TOP / row["file"]).read_text()
        assert re.search(rf"^\s*(async )?def {row['test']}\(", text, re.M), row[0]


def test_no_row_of_the_promises_is_without_a_test() -> None:
    text = (TOP / "SECURITY.md").read_text()
    table = text.partition("## What is promised")[2].partition("## What is not promised")[0]
    lines = [line for line in table.splitlines() if line.startswith("| ")][1:]
    assert len(lines) == len(ROW.findall(table))


# A reader of a file that others can write uses `read_plain`

READ = {"read_text", "read_bytes"}
LOADERS = {("json", "load"), ("tomllib", "load")}
# Where plain `open` reads, and why no one else chose that file.
OPENED = {
    "kernel/plain_file.py": "the one place",
    "kernel/filesystem.py": "/proc",
    "processes/identity.py": "/proc",
    "processes/programs.py": "a note that we wrote",
    "processes/distribution.py": "the Python that runs us",
    "processes/agent_process.py": "the log of a process that we started",
    "remote/server_time.py": "/proc",
    "maintenance/checks/journal.py": "/proc",
    "journal/migrate.py": "our own package",
    "journal/postgres/connect.py": "our own package",
    "journal/salvage.py": "a copy that we made",
    "clients/launcher.py": "our own package",
    "clients/opencode/install.py": "our own package",
    "clients/usage/prices.py": "our own package",
    "web/rendering.py": "our own package",
    "web/service.py": "the user's own folder, of the page that this user started",
    "maintenance/demo_agent.py": "our own demo",
    "maintenance/continuity/recordings.py": "a transcript that a person names",
    "cli/terminal.py": "a file or a pipe that a person names",
    "cli/verbs/agent.py": "a file or a pipe that a person names",
    "cli/verbs/plan.py": "a picture that a person names",
    "clients/lines.py": "a descriptor that was opened without waiting, and its kind looked at",
    "gates/person.py": "our own package",
    "git/commit.py": "the trace of a git that we started",
    "plans/cluster/worker.py": "the log of a task that we started",
}
# To parse all modules takes seconds.
MAY_READ = re.compile(r"(?<![\w.])open\(|\.read_(?:text|bytes)\(|(?:json|tomllib)\.load\(")
SOURCE = Path(holdfast.__file__).parent


def opened_in(tree: ast.AST) -> bool:
    """Whether a module reads a file with `open`, `read_text`, `read_bytes` or `load`."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        called = node.func
        if isinstance(called, ast.Name) and called.id == "open":
            modes = [one.value for one in node.args[1:2] if isinstance(one, ast.Constant)]
            modes += [
                one.value.value
                for one in node.keywords
                if one.arg == "mode" and isinstance(one.value, ast.Constant)
            ]
            if not any(set(str(mode)) & set("wax") for mode in modes):
                return True
        elif isinstance(called, ast.Attribute):
            owner = called.value.id if isinstance(called.value, ast.Name) else ""
            if called.attr in READ or (owner, called.attr) in LOADERS:
                return True
    return False


def test_every_reader_of_a_file_that_others_can_write_reads_it_plainly() -> None:
    found = {
        str(path.relative_to(SOURCE))
        for path in SOURCE.rglob("*.py")
        if MAY_READ.search(text := path.read_text()) and opened_in(ast.parse(text))
    }
    assert found - OPENED.keys() == set(), "use kernel.plain_file.read_plain"
