"""SECURITY.md names a test for each promise, and each exists; files of others are read in one way."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import holdfast
from holdfast.kernel.text import split_words

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
    "registry.py": "what installed distributions say of themselves",
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
    "mcp/greeting.py": "our own package",
    "web/service.py": "the user's own folder, of the page that this user started",
    "maintenance/demo_agent.py": "our own demo",
    "cli/terminal.py": "a file or a pipe that a person names",
    "fleet/cli.py": "a file or a pipe that a person names",
    "plans/cli.py": "a picture that a person names",
    "clients/lines.py": "a descriptor that was opened without waiting, and its kind looked at",
    "people/person.py": "our own package",
    "git/commit.py": "the trace of a git that we started",
    "git/restore.py": "a file that git made in a folder of ours",
    "undo/carry_out.py": "a file that git made in a folder of ours",
    "contrib/claude_sdk/store.py": "the folder of the store, which a program names",
    "contrib/cluster/worker.py": "the log of a task that we started",
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
    # A suite reads the recordings of its own folder.
    read = {name for name in found if not name.startswith("testing/")}
    assert read - OPENED.keys() == set(), "use kernel.plain_file.read_plain"


# A file of a work tree is touched in one way: `kernel.tree_file`

# What opens, makes, changes, renames or removes a file by its path.
BY_PATH = {
    "os": frozenset(
        set(
            split_words(
                "open unlink remove removedirs rename renames replace mkdir makedirs rmdir "
                "link symlink truncate mkfifo mknod chmod chown utime"
            )
        )
    ),
    "shutil": frozenset({"rmtree", "move", "copy", "copy2", "copyfile", "copytree"}),
    "tempfile": None,
}
METHODS = {"write_text", "write_bytes", "symlink_to", "hardlink_to", "touch"}
# Our own writers that take a path, and where they come from.
WRITERS = {
    "write_synced": "holdfast.kernel.plain_file",
    "write_aside": "holdfast.kernel.plain_file",
    "place_new": "holdfast.kernel.rename",
}
# A folder or a module, and why no path that it opens for writing, renames or removes is one of a work tree, or
# why it is safe where it is. Everything else uses `TreeFile`.
ELSEWHERE = {
    "registry.py": "what installed distributions say of themselves, opened for reading",
    # The ground that the rest stands on.
    "kernel/tree_file.py": "the one place",
    "kernel/plain_file.py": "whole files in folders of ours",
    "kernel/rename.py": "the system's renames",
    # The journal's home and the user's own folders.
    "away/looked.py": "a file in the user's own state folder",
    "journal/": "the journal's home",
    "remote/": "the journal's home and the user's folder",
    "processes/": "the journal's home, the user's folder, and what this process started",
    "kernel/lock.py": "the journal's home",
    "kernel/project_home.py": "the user's folder; it only reads and renames a journal that was in the tree",
    "kernel/private_folder.py": "a worktree's private folder in git's, from a descriptor of its own",
    "kernel/trust.py": "the user's folder",
    "kernel/git_exclude.py": "git's folder, whose links it refuses",
    "kernel/filesystem.py": "/proc",
    "kernel/signatures.py": "a temporary file",
    "kernel/views/absorb.py": "the journal's home",
    "kernel/views/quarantine.py": "the journal's home",
    "kernel/views/projection.py": "the time of an open descriptor",
    "git/commit.py": "a temporary folder",
    "git/restore.py": "the folder of the shadow index, where git makes the files",
    "git/shadow_index.py": "git's folder",
    "git/unreachable.py": "git's objects",
    "people/page_open.py": "the journal's home",
    "people/person.py": "the terminal, and our own package",
    "budgets/alerts.py": "the journal's home",
    "runner/folder.py": "the journal's home",
    "session/snapshots.py": "the journal's home",
    "loop/lock.py": "the journal's home",
    "contrib/cluster/": "the journal's home, and a worker's temporary folder",
    "maintenance/backup.py": "the journal's home, and a file that a person names",
    "maintenance/purge_snapshots.py": "the journal's home",
    "maintenance/conflicts.py": "the journal's home",
    "maintenance/known_roots.py": "the user's folder",
    "maintenance/stored_secrets.py": "files of ours that a walk found without following links",
    "maintenance/demo.py": "a temporary folder",
    "maintenance/demo_agent.py": "the folder of the demo",
    "maintenance/checks/": "the journal's home, and a temporary file",
    "session/edit_replay.py": "a temporary folder",
    "session/ask.py": "the private folder",
    "undo/carry_out.py": "the journal's home, and the folder of the states' index, where git makes the files",
    "undo/hooks.py": "the private folder",
    "undo/merge.py": "the folder of the states' index",
    "undo/operations.py": "the folder of the states' index",
    "undo/store.py": "the folder of the states' index",
    "web/": "the user's folder, and our own package",
    "mcp/greeting.py": "/dev/null, and our own package",
    "memory/": "the user's folder",
    "testing/": "a journal's own word for a sign of life",
    "contrib/claude_sdk/": "the folder of the store, which a program names",
    "cli/": "the terminal, and a file that a person names",
    # Clients: their own homes and settings.
    "clients/fork.py": "a folder in a worktree's private one",
    "clients/gemini/fork.py": "a folder in a worktree's private one",
    "clients/kept.py": "the journal's home and the user's folder",
    "clients/launcher.py": "the user's folder",
    "clients/lines.py": "transcripts in a client's home, opened for reading",
    "clients/opencode/install.py": "our own package",
    "clients/usage/": "the user's cache, and our own package",
    "clients/settings/files.py": "what settings were, in the journal's home",
    # Removal of everything, on a person's word.
    "maintenance/remains.py": "shutil.rmtree follows no link",
    "maintenance/purge.py": "files that its walk found without following links; views go through TreeFile",
    # The private folder of a worktree, which is not in the work tree.
    "clients/events.py": "the private folder",
    "hooks/": "the private folder",
    "kernel/failures.py": "the private folder",
    "session/session_files.py": "the private folder",
    "session/client_questions.py": "the private folder",
    "usage/usage_limits.py": "the private folder",
    "kernel/last_turn.py": "the private folder",
    "fleet/current_life.py": "the private folder",
    "kernel/workspace.py": "the journal's home",
    "kernel/inbox.py": "the folder of an open file, to sync it",
    "kernel/latch.py": "the journal's home",
    "gates/pictures.py": "the journal's home, and .holdfast/pictures, of which only names of digests are removed",
}
MAY_TOUCH = re.compile(
    r"(?<![\w.])open\(|from (?:os|shutil|tempfile) import|\b(?:os|shutil|tempfile)\.\w+\(|\b(?:write_synced|write_aside|place_new)\(|"
    r"\.(?:write_text|write_bytes|symlink_to|hardlink_to|touch)\("
)


def touched_in(tree: ast.AST) -> set[str]:
    """The calls of a module that touch a file by its path."""
    nodes = list(ast.walk(tree))
    sources = {
        name.asname or name.name: one.module
        for one in nodes
        if isinstance(one, ast.ImportFrom)
        for name in one.names
    }
    found = set()
    for node in nodes:
        called = node.func if isinstance(node, ast.Call) else None
        if isinstance(called, ast.Name):
            is_writer = sources.get(called.id) == WRITERS.get(called.id, "")
            is_system = called.id in (BY_PATH.get(str(sources.get(called.id))) or ())
            if called.id == "open" or is_writer or is_system:
                found.add(called.id)
        elif isinstance(called, ast.Attribute):
            owner = called.value.id if isinstance(called.value, ast.Name) else ""
            wanted = BY_PATH.get(owner, frozenset())
            if wanted is None or called.attr in wanted or called.attr in METHODS:
                found.add(f"{owner}.{called.attr}")
    return found


def allowed_for(module: str) -> str:
    """The entry of the list that lets a module touch files by their paths; empty without one."""
    for entry in ELSEWHERE:
        if module == entry or (entry.endswith("/") and module.startswith(entry)):
            return entry
    return ""


def test_a_file_of_a_work_tree_is_touched_in_one_way() -> None:
    touching = {
        str(path.relative_to(SOURCE)): calls
        for path in SOURCE.rglob("*.py")
        if MAY_TOUCH.search(text := path.read_text()) and (calls := touched_in(ast.parse(text)))
    }
    wrong = {module: calls for module, calls in touching.items() if not allowed_for(module)}
    assert wrong == {}, "use kernel.tree_file.TreeFile"
    used = {allowed_for(module) for module in touching}
    assert ELSEWHERE.keys() - used == set(), "nothing needs these entries any more"


def test_the_modules_that_write_the_protocols_files_are_not_on_the_list() -> None:
    """What writes below a work tree by a name that comes from a repository, an agent or a transcript."""
    for module in ("rfc/init.py", "rfc/reader.py", "fleet/backups.py", "fleet/epic_readme.py"):
        assert not allowed_for(module)
    for module in ("fleet/messages.py", "kernel/views/asides.py", "kernel/views/reconcile.py"):
        assert not allowed_for(module)
    for module in ("kernel/views/move.py", "kernel/jsonl.py", "budgets/side_files.py"):
        assert not allowed_for(module)
    for module in ("loop/track.py", "plans/discovery.py", "session/ccc_files.py"):
        assert not allowed_for(module)


@pytest.mark.parametrize(
    "text",
    [
        *split_words("open(path) os.unlink(path) os.makedirs(path) shutil.rmtree(path)"),
        "Path(path).write_text('')",
        "tempfile.mkdtemp()",
        "from os import rename\nrename(a, b)",
        "from holdfast.kernel.plain_file import write_synced\nwrite_synced(path, b'')",
    ],
)
def test_the_lint_sees_each_way_to_touch_a_file(text: str) -> None:
    assert touched_in(ast.parse(text))
    assert MAY_TOUCH.search(text)
