"""An RFC whose files were made by hand, in the document's own form."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from tests.adoption import folders
from tests.cli import conftest as command_line
from tests.cli.conftest import Holdfast
from tests.rfc.world import DESIGN

holdfast = command_line.holdfast


@pytest.mark.clause("RFC-41", "RFC-44", "AMB-RFC-08")
def test_reading_changes_nothing_and_demands_nothing(repository: Path, holdfast: Holdfast) -> None:
    folders.put_rfc()
    before = folders.contents()
    assert holdfast("rfc", "lint").out == "No errors.\n"
    assert "checkpoint version 3" in holdfast("rfc", "bootstrap").out
    assert "design" in holdfast("rfc", "list").out
    assert folders.contents() == before


@pytest.mark.clause("RFC-13", "RFC-03")
def test_one_command_writes_a_boundary_and_keeps_the_rest(
    repository: Path, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoint, state = folders.put_rfc()
    before = checkpoint.read_text("utf-8")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(DESIGN.encode()), "utf-8"))
    assert holdfast("rfc", "transition", "design-gate-a", "--from", "-").code == 0
    after = checkpoint.read_text("utf-8")
    meta = before.replace("checkpoint_version: 3", "checkpoint_version: 4")
    meta = meta.replace("last_phase: discover", "last_phase: design")
    assert after == f"{meta}\n---\n\n## DESIGN Exit\n\n{DESIGN}"
    fields = json.loads(state.read_text("utf-8"))
    assert (fields["strictness"], fields["checkpoint_version"]) == ("Full", 4)
    assert folders.run_script("jq -r .current_phase .ohrfc/RFC-001/state.json") == "gate_a\n"
    assert holdfast("rfc", "lint").out == "No errors.\n"


def test_refused_answers_change_nothing(
    repository: Path, holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, state = folders.put_rfc()
    state.write_text(json.dumps(json.loads(state.read_text("utf-8"))), "utf-8")
    before = folders.contents()
    words = io.TextIOWrapper(io.BytesIO(b"### Design Reasoning Notes\nno bullet\n"), "utf-8")
    monkeypatch.setattr(sys, "stdin", words)
    assert holdfast("rfc", "transition", "design-gate-a", "--from", "-").code == 2
    assert folders.contents() == before
