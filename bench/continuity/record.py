"""Record sessions of the real clients: `python -m bench.continuity.record [NAME...]`.

Each session runs one real client in a network and a mount namespace of its own, with `env -i`, a
throw-away home and a copy of `project/` in `/home/dev/tally`. The model is a stand-in that plays
what `author.py` wrote. What the client wrote down goes to `recordings/<client>/<name>.jsonl.gz`, in
the client's own format and without the parts that only describe the client (its system prompt, its
list of tools). The sessions of opencode, which keeps them in SQLite, are saved as
`<name>.db.gz`.

It needs root or user namespaces, Linux, and the clients of `make test-clients`.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scripts.clients import FOLDER, program_of, why_missing
from tests.real_clients import inside, world

from bench.continuity.author import PROJECT, Author, Compaction, Turn
from bench.continuity.players import CLAUDE_WINDOW, COMPACT_ABOVE, ROOT, TONGUES, Player
from holdfast.kernel.text import split_words

HERE = Path(__file__).parent
RECORDINGS = HERE / "recordings"
HOME = Path("/home/dev")
PATIENCE = 400
CLAUDE_TOOLS = (
    "Bash,Edit,Read,Write,Grep,Glob,TaskCreate,TaskUpdate,TaskList,"
    "AskUserQuestion,EnterPlanMode,ExitPlanMode"
)


@dataclass(frozen=True)
class Session:
    """One recording: which client, which work, in which jobs the conversation is compacted, and
    whether the client does that by itself, in the middle of a turn, or because the person says so."""

    client: str
    seed: int
    jobs: tuple[str, ...]
    compact_at: tuple[int, ...] = ()
    automatic: bool = True


ALL = split_words(
    "thousands payees budgets csv json tables payee-filter quarters tags stdin refunds"
)
SESSIONS = {
    "claude-short": Session("claude", 11, ("thousands", "csv", "quarters")),
    "claude-medium": Session("claude", 12, ("tables", "payees", "stdin", "refunds", "json")),
    "claude-compacted": Session(
        "claude", 13, ("quarters", "budgets", "thousands", "payee-filter", "tags"), (2,), False
    ),
    "claude-long": Session("claude", 14, tuple(reversed(ALL))[:8], (3, 6)),
    "codex-short": Session("codex", 21, ("budgets", "quarters", "payee-filter")),
    "codex-medium": Session("codex", 22, ("csv", "tags", "thousands", "tables", "refunds")),
    "codex-compacted": Session("codex", 23, ALL[:9], (3, 7)),
    "gemini-short": Session("gemini", 31, ("payees", "tables", "quarters")),
    "gemini-medium": Session("gemini", 32, ("thousands", "stdin", "budgets", "csv", "json")),
    "opencode-short": Session("opencode", 41, ("quarters", "json", "thousands")),
    "opencode-medium": Session(
        "opencode", 42, ("tags", "budgets", "payee-filter", "refunds", "tables")
    ),
}

# Inside the namespaces


def prepare_project() -> Path:
    """A home that exists only here, and the project in it with one commit."""
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", "/home"], check=True)
    project = Path(ROOT)
    shutil.copytree(PROJECT, project, ignore=shutil.ignore_patterns("__pycache__"))
    identity = ("user.name", "Dev"), ("user.email", "dev@example.com")
    for words in (
        ("init", "-q", "-b", "main"),
        # In the repository: Gemini CLI hides the user's own settings from git.
        *(("config", *setting) for setting in identity),
        ("add", "-A"),
        ("commit", "-q", "-m", "tally 0.4.0"),
    ):
        subprocess.run(["git", *words], cwd=project, env=_plain_environment(), check=True)
    return project


def _plain_environment() -> dict[str, str]:
    return {
        "HOME": str(HOME),
        "PATH": "/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "GIT_CONFIG_SYSTEM": "/dev/null",
        "PYTHONDONTWRITEBYTECODE": "1",
        "USER": "dev",
    }


class Driver:
    """One way to hold a conversation with a client that runs once for each turn."""

    def __init__(self, kind: type[world.Client], project: Path) -> None:
        self.client = kind(project, HOME)
        (HOME / ".profile").write_text("PATH=/usr/bin:/bin\n")
        self.project = project
        self.environment = {**self.client.environment(), **_plain_environment()}
        self.first = True

    def tell(self, prompt: str) -> None:
        words = self.words(prompt)
        self.first = False
        job = {"folder": str(self.project), "environment": self.environment, "patience": PATIENCE}
        command = [str(program_of(self.client.name)), *words]
        done = inside.headless({**job, "command": command}, None)
        if done["code"] != 0:
            sys.exit(f"{self.client.name} ended with {done['code']}: {done['err'][-2000:]}")

    def words(self, prompt: str) -> list[str]:
        raise NotImplementedError

    def compact(self) -> None:
        raise NotImplementedError

    def end(self) -> None:
        pass

    def save(self, target: Path) -> None:
        """Write the recording: the newest transcript below the client's folder."""
        found = sorted(HOME.glob(self.transcripts), key=lambda path: path.stat().st_size)
        lines = found[-1].read_text(encoding="utf-8").splitlines()
        kept = [line for line in map(self.trim, map(scrub, lines)) if line]
        _write_gzip(target, "\n".join(kept) + "\n")

    transcripts = ""

    def trim(self, line: str) -> str:
        """The line without what only describes the client; empty where nothing is left."""
        return line


class ClaudeDriver(Driver):
    """Claude Code as programs use it: one process, a message a line, questions as requests."""

    transcripts = ".claude/projects/*/*.jsonl"
    answers: dict[str, str]

    def __init__(self, project: Path) -> None:
        super().__init__(world.Claude, project)
        self.environment["CLAUDE_CODE_AUTO_COMPACT_WINDOW"] = str(CLAUDE_WINDOW)
        self.answers = {}
        words = [
            *split_words("-p --input-format stream-json --output-format stream-json"),
            "--verbose",
            "--permission-prompt-tool",
            "stdio",
            "--tools",
            CLAUDE_TOOLS,
        ]
        self.process = subprocess.Popen(
            [str(program_of("claude")), *words],
            cwd=project,
            env=self.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def tell(self, prompt: str) -> None:
        self._send({"type": "user", "message": {"role": "user", "content": prompt}})
        assert self.process.stdout
        for line in self.process.stdout:
            message = json.loads(line)
            if message["type"] == "control_request":
                self._permit(message)
            if message["type"] == "result":
                return
        sys.exit("claude ended in the middle of a turn")

    def _permit(self, message: dict[str, Any]) -> None:
        request = message["request"]
        input = request.get("input", {})
        if request.get("tool_name") == "AskUserQuestion":
            asked = [question["question"] for question in input["questions"]]
            input = {**input, "answers": {one: self.answers[one] for one in asked}}
        allowed = {"behavior": "allow", "updatedInput": input}
        response = {"subtype": "success", "request_id": message["request_id"], "response": allowed}
        self._send({"type": "control_response", "response": response})

    def _send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def compact(self) -> None:
        self.tell("/compact")

    def end(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait(60)

    def trim(self, line: str) -> str:
        record = json.loads(line)
        if record.get("type") in ("user", "assistant", "system", "queue-operation", "last-prompt"):
            return line
        return ""


class CodexDriver(Driver):
    transcripts = ".codex/sessions/**/rollout-*.jsonl"

    def __init__(self, project: Path) -> None:
        super().__init__(world.Codex, project)
        config = HOME / ".codex" / "config.toml"
        config.write_text(
            f"model_auto_compact_token_limit = {COMPACT_ABOVE}\n"
            + config.read_text().replace('model = "stub-model"', 'model = "gpt-5.5"')
            + "\n[tools.update_plan]\nenabled = true\n"
        )

    def words(self, prompt: str) -> list[str]:
        resume = [] if self.first else ["resume", "--last"]
        return [
            "exec",
            *resume,
            "--json",
            "--skip-git-repo-check",
            "--dangerously-bypass-approvals-and-sandbox",
            prompt,
        ]

    def trim(self, line: str) -> str:
        record = json.loads(line)
        payload = record.get("payload") or {}
        if record.get("type") == "world_state":
            return ""
        if record.get("type") == "session_meta":
            payload.pop("base_instructions", None)
            payload.pop("dynamic_tools", None)
        if payload.get("role") == "developer":
            return ""
        if record.get("type") == "compacted":
            payload.pop("replacement_history", None)
        return json.dumps(record, ensure_ascii=False, separators=(",", ":"))


class GeminiDriver(Driver):
    transcripts = ".gemini/tmp/*/chats/session-*.jsonl"

    def __init__(self, project: Path) -> None:
        super().__init__(world.Gemini, project)

    def words(self, prompt: str) -> list[str]:
        resume = [] if self.first else ["--resume", "latest"]
        return [*resume, *self.client.words(prompt)]


class OpencodeDriver(Driver):
    def __init__(self, project: Path) -> None:
        super().__init__(world.Opencode, project)

    def words(self, prompt: str) -> list[str]:
        more = [] if self.first else ["--continue"]
        return ["run", *more, "--format", "json", prompt]

    def save(self, target: Path) -> None:
        source = HOME / ".local" / "share" / "opencode" / "opencode.db"
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / "opencode.db"
            with sqlite3.connect(source) as old, sqlite3.connect(copy) as new:
                old.backup(new)
            _shrink(copy)
            target = target.with_name(target.name.replace(".jsonl.gz", ".db.gz"))
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as packed:
                packed.write(copy.read_bytes())


KEPT_TABLES = ("project", "session", "message", "part", "todo")


def _shrink(store: Path) -> None:
    """Leave only the session, without events, accounts and this machine's paths."""
    with sqlite3.connect(store) as database:
        database.execute("pragma foreign_keys = off")
        database.execute("pragma journal_mode = delete")
        names = [
            row[0] for row in database.execute("select name from sqlite_master where type='table'")
        ]
        for name in names:
            if name not in KEPT_TABLES and not name.startswith("sqlite_"):
                database.execute(f'drop table "{name}"')
        for name in ("message", "part"):
            rows = database.execute(f"select id, data from {name}").fetchall()
            changed = [(scrub(data), id) for id, data in rows]
            database.executemany(f"update {name} set data = ? where id = ?", changed)
    with sqlite3.connect(store) as database:
        database.execute("vacuum")


DRIVERS: dict[str, Callable[[Path], Driver]] = {
    "claude": ClaudeDriver,
    "codex": CodexDriver,
    "gemini": GeminiDriver,
    "opencode": OpencodeDriver,
}

_KERNEL = re.compile(r"Linux \d+\.\d+\.\d+[\w.+-]*")


def scrub(text: str) -> str:
    """The text without paths of the machine that recorded it."""
    text = text.replace(str(FOLDER), "/opt/clients").replace(str(FOLDER.parent.parent), "/opt")
    return _KERNEL.sub("Linux", text)


def _write_gzip(target: Path, text: str) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as packed:
        packed.write(text.encode())


def record_inside(name: str) -> None:
    """Play one session. Runs inside the namespaces."""
    session = SESSIONS[name]
    tongue = TONGUES[session.client]
    author = Author(session.seed, automatic=session.automatic)
    parts = author.write(session.jobs, session.compact_at)
    inside.raise_loopback()
    project = prepare_project()
    with Player() as player:
        player.start()
        driver = DRIVERS[session.client](project)
        for number, part in enumerate(parts, start=1):
            print(f"{name}: {number} of {len(parts)}", file=sys.stderr, flush=True)
            if isinstance(part, Compaction):
                player.play([], [part.summary])
                driver.compact()
            else:
                if isinstance(driver, ClaudeDriver):
                    driver.answers |= _answers(part)
                player.play(*tongue.answers(part))
                driver.tell(part.prompt)
            if player.left:
                sys.exit(f"{name}: the client stopped with {player.left} answers left")
        driver.end()
        driver.save(RECORDINGS / session.client / f"{name}.jsonl.gz")
    check_result(name, author, project)


def _answers(turn: Turn) -> dict[str, str]:
    asked = [step["question"] for step in turn.steps if step["kind"] == "ask"]
    return {question.text: question.answer for question in asked}


def check_result(name: str, author: Author, project: Path) -> None:
    """The tree is what the author meant: every call of the session really had its effect."""
    for path, text in author.files.items():
        if (project / path).read_text(encoding="utf-8") != text:
            sys.exit(f"{name}: {path} is not what the session should have made of it")
    left = subprocess.run(
        ["git", "status", "--porcelain"], cwd=project, capture_output=True, text=True, check=True
    ).stdout
    if left:
        sys.exit(f"{name}: not everything was committed:\n{left}")


def main(names: list[str]) -> int:
    if names[:1] == ["--inside"]:
        record_inside(names[1])
        return 0
    if unknown := [name for name in names if name not in SESSIONS]:
        print(
            f"There is no session {unknown[0]}; there are {', '.join(SESSIONS)}.", file=sys.stderr
        )
        return 2
    failed = 0
    for name in names or SESSIONS:
        if missing := why_missing(SESSIONS[name].client):
            print(f"{name}: {missing}", file=sys.stderr)
            failed += 1
            continue
        environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": os.pathsep.join(sys.path)}
        words = [sys.executable, "-m", "bench.continuity.record", "--inside", name]
        done = subprocess.run([*world.NAMESPACE, "--mount", *words], env=environment, check=False)
        failed += done.returncode != 0
        print(f"{name}: {'failed' if done.returncode else 'recorded'}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
