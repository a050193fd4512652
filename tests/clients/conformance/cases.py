"""One row for each client: its recordings, for the conformance suite and for other tests."""

from __future__ import annotations

from pathlib import Path

from holdfast.testing.clients import Case

SAMPLES = Path(__file__).parent / "samples"
PAYLOADS = Path(__file__).parents[2] / "hooks/samples"
REQUEST, ERROR = Case.request, Case.error

CASES = {
    "claude": Case(
        client="claude",
        session="02323325-2df6-4e36-9742-353bfcfb1299",
        transcript=".claude/projects/{folder}/02323325-2df6-4e36-9742-353bfcfb1299.jsonl",
        files=(".claude/settings.local.json", ".mcp.json"),
        recording=SAMPLES / "claude.jsonl",
        payloads=PAYLOADS,
    ),
    "codex": Case(
        client="codex",
        session="01a1e7a6-a731-7de1-a075-d7945e8b1a5f",
        transcript=".codex/sessions/2026/11/17/"
        "rollout-2026-11-17T03-57-01-01a1e7a6-a731-7de1-a075-d7945e8b1a5f.jsonl",
        files=(".codex/hooks.json", ".codex/config.toml"),
        recording=SAMPLES / "codex.jsonl",
        payloads=PAYLOADS,
    ),
    "gemini": Case(
        client="gemini",
        session="16ae894b-1f55-4ab6-97b1-a4ad19245380",
        transcript=".gemini/tmp/proj/chats/session-2026-11-17T03-57-16ae894b.jsonl",
        files=(".gemini/settings.json",),
        recording=SAMPLES / "gemini.jsonl",
        payloads=PAYLOADS,
    ),
    "opencode": Case(
        client="opencode",
        session="ses_e18590470ffe1cB34I99rjJpCV",
        transcript=".local/share/opencode/opencode.db",
        files=(".opencode/plugins/holdfast.js", "opencode.json"),
        recording=SAMPLES / "opencode.sql",
        payloads=PAYLOADS,
    ),
    "qwen": Case(
        client="qwen",
        session="72d3d89e-44ff-4a71-a3a0-25a154385d4c",
        transcript=".qwen/projects/{folder}/chats/72d3d89e-44ff-4a71-a3a0-25a154385d4c.jsonl",
        files=(".qwen/settings.json",),
        recording=SAMPLES / "qwen.jsonl",
        payloads=PAYLOADS,
    ),
    "copilot": Case(
        client="copilot",
        session="e3bdc83b-fa3a-438c-9f8c-353c1723ad95",
        transcript=".copilot/session-state/e3bdc83b-fa3a-438c-9f8c-353c1723ad95/events.jsonl",
        files=(".github/copilot/settings.local.json", ".github/mcp.json"),
        recording=SAMPLES / "copilot.jsonl",
        payloads=PAYLOADS,
    ),
}


def put_session(client: str, home: Path, project: Path) -> Path:
    """Put the recorded session into a home, as one of this project; its transcript."""
    return CASES[client].put(home, project)
