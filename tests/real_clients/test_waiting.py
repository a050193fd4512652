"""A person is asked in the real client: Holdfast shows it elsewhere, and no longer once it is answered."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.real_clients.world import Client

pytestmark = pytest.mark.clients


def test_a_permission_prompt_waits_for_the_person_until_it_is_answered(
    claude: Client, tmp_path: Path
) -> None:
    claude.install()
    while_asked, after = tmp_path / "asked.json", tmp_path / "after.json"

    def look(file: Path) -> dict[str, list[str]]:
        line = f"{claude.program('holdfast')} status --json >{file}"
        return {"command": ["sh", "-c", line]}

    run = claude.start(
        ["--permission-mode", "default", "Make a file."],
        [claude.shell("touch made.txt"), {"text": "FINISHED"}],
        steps=[
            {"sees": "Do you want to proceed", "type": []},
            {"run": look(while_asked), "type": ["\r"]},
            {"sees": "FINISHED", "type": []},
            {"run": look(after), "type": ["/exit", "\r"]},
        ],
    )
    assert (claude.project / "made.txt").exists(), run.told
    asked = [one["what"] for one in json.loads(while_asked.read_text())["data"]["attention"]]
    (told,) = [what for what in asked if "waits for you" in what]
    assert told.startswith("Claude Code ")
    assert told.endswith(f" waits for you in {claude.project}: May Bash run: touch made.txt?")
    later = [one["what"] for one in json.loads(after.read_text())["data"]["attention"]]
    assert not [what for what in later if "waits for you" in what]
