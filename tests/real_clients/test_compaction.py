"""Claude Code's own interface in a terminal: what a compaction takes away stands there again."""

from __future__ import annotations

import pytest

import holdfast
from tests.real_clients.world import Client

pytestmark = pytest.mark.clients

TENSION = "One login, but two networks that never meet."
NOTES = f"""### User Intent Signals
- One login for all tools.
- Nobody said passwords.
- Firm on audit.

### Scan Insights
- Sessions live in Redis.
- Two middlewares check roles.

### Active Tensions
- {TENSION}
"""


def test_compaction_restores_the_notes(claude: Client) -> None:
    claude.holdfast("rfc", "init", "auth-model", "--title", "Who may log in")
    claude.install()
    run = claude.start(
        [],
        [
            {"text": "FIRST-ANSWER"},
            {"text": "<summary>Somebody wanted milk.</summary>"},
            {"text": "LAST-ANSWER"},
        ],
        steps=[
            {"sees": "shift+tab to cycle", "type": ["remember the milk", "\r"]},
            {"sees": "FIRST-ANSWER", "type": []},
            {"run": _write_notes(claude), "type": ["/compact", "\r"]},
            {"sees": "Compacted", "type": ["and now", "\r"]},
            {"sees": "LAST-ANSWER", "type": ["/exit", "\r"]},
        ],
    )
    assert run.code == 0, run.told
    before, _, after = run.asked
    assert TENSION not in before
    assert "Somebody wanted milk." in after, "the conversation is its summary now"
    assert after.count(TENSION) == 1
    with holdfast.open() as workspace:
        reasons = [
            record["body"].get("reason")
            for record in workspace.history(stream="session:*")
            if record["kind"] == "captured"
        ]
    assert "context-threshold" in reasons, "and there was a checkpoint before it"


def _write_notes(client: Client) -> dict[str, object]:
    """What another agent of the workspace does while this session runs."""
    return {
        "command": [str(client.program("holdfast")), "rfc", "write", "discover"],
        "input": NOTES,
    }
