"""A checkpoint as an agent would write it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from holdfast.kernel.clock import MINUTE, parse, stamp

NOW = parse("2026-01-15T14:30:00Z")


def saved(agent: str = "Secondary-A", *, ago: float = 0, **changes: Any) -> dict[str, Any]:
    """What a file says whose last checkpoint was so many minutes before NOW."""
    last = NOW - round(ago * MINUTE)
    return {
        "agent_id": agent,
        "agent_type": "secondary",
        "session_id": "0f5a7c1e-2f9d-4a7b-8a53-1d0f6f1f7c55",
        "feature": "feature_02_team_penalty",
        "stage": "S2.P2",
        "phase": "Specification - In Progress",
        "last_checkpoint": stamp(last),
        "next_checkpoint_expected": stamp(last + 15 * MINUTE),
        "status": "IN_PROGRESS",
        "can_resume": True,
        "blockers": [],
        "files_modified": ["feature_02_team_penalty/spec.md"],
        "recovery_instructions": "Go on with the acceptance criteria.",
        "current_step": "Writing acceptance criteria",
        "completed_steps": ["S2.P1 complete"],
        "next_steps": ["Write checklist.md"],
        "coordination_state": {
            "last_inbox_check": stamp(last),
            "unread_messages": 0,
            "last_epic_readme_update": stamp(last),
            "last_status_update": stamp(last),
        },
        **changes,
    }


def text_of(checkpoint: Any) -> str:
    return json.dumps(checkpoint, indent=2, ensure_ascii=False) + "\n"


def put(epic: Path, name: str, content: Any) -> Path:
    """A file in `agent_checkpoints`, as somebody wrote it: bytes, text, or a checkpoint."""
    path = epic / "agent_checkpoints" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        path.write_text(content if isinstance(content, str) else text_of(content), encoding="utf-8")
    return path
