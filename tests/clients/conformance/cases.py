"""One row for each client: what the conformance suite needs to know of it.

All samples are of the same session in the real client, against a stub of its model: it reads `words.py`,
edits it, runs a check that fails, and says what comes next. The check's command line was put in later: the
recorded one was `echo 'AssertionError: quotes were lost' >&2; exit 3`, which is no check.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import apsw

SAMPLES = Path(__file__).parent / "samples"
RECORDED_IN = "/home/dev/proj"
REQUEST = "Keep the quotes in words.py. Do not touch the tests."
COMMAND = "python3 check_words.py"
ERROR = "AssertionError: quotes were lost"
LAST_WORDS = "The test still fails. Next: use shlex.split in parse()."
# What the stub said of each answer, as input and output together.
ANSWERS, TOKENS = 4, 4 * (1234 + 42)


class Case(NamedTuple):
    """`transcript` is where the client keeps the session, below the user's home; `{folder}` stands for
    the project's path with dashes. `files` are those that `init` writes."""

    session: str
    transcript: str
    files: tuple[str, ...]


CASES = {
    "claude": Case(
        "02323325-2df6-4e36-9742-353bfcfb1299",
        ".claude/projects/{folder}/02323325-2df6-4e36-9742-353bfcfb1299.jsonl",
        (".claude/settings.local.json", ".mcp.json"),
    ),
    "codex": Case(
        "01a1e7a6-a731-7de1-a075-d7945e8b1a5f",
        ".codex/sessions/2026/11/17/"
        "rollout-2026-11-17T03-57-01-01a1e7a6-a731-7de1-a075-d7945e8b1a5f.jsonl",
        (".codex/hooks.json", ".codex/config.toml"),
    ),
    "gemini": Case(
        "16ae894b-1f55-4ab6-97b1-a4ad19245380",
        ".gemini/tmp/proj/chats/session-2026-11-17T03-57-16ae894b.jsonl",
        (".gemini/settings.json",),
    ),
    "opencode": Case(
        "ses_e18590470ffe1cB34I99rjJpCV",
        ".local/share/opencode/opencode.db",
        (".opencode/plugins/holdfast.js", "opencode.json"),
    ),
    "qwen": Case(
        "72d3d89e-44ff-4a71-a3a0-25a154385d4c",
        ".qwen/projects/{folder}/chats/72d3d89e-44ff-4a71-a3a0-25a154385d4c.jsonl",
        (".qwen/settings.json",),
    ),
    "copilot": Case(
        "e3bdc83b-fa3a-438c-9f8c-353c1723ad95",
        ".copilot/session-state/e3bdc83b-fa3a-438c-9f8c-353c1723ad95/events.jsonl",
        (".github/copilot/settings.local.json", ".github/mcp.json"),
    ),
}


def put_session(client: str, home: Path, project: Path) -> Path:
    """Put the recorded session into a home, as one of this project; its transcript."""
    case = CASES[client]
    folder = "".join(letter if letter.isalnum() else "-" for letter in str(project))
    path = home / case.transcript.format(folder=folder)
    path.parent.mkdir(parents=True, exist_ok=True)
    (sample,) = SAMPLES.glob(f"{client}.*")
    text = sample.read_text(encoding="utf-8").replace(RECORDED_IN, str(project))
    if sample.suffix == ".sql":
        with closing(apsw.Connection(str(path))) as database:
            for _ in database.execute(text):
                pass
    else:
        path.write_text(text, encoding="utf-8")
    if client == "gemini":
        (path.parent.parent / ".project_root").write_text(str(project))
    return path
