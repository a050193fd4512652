"""RFCs that a person deleted or closed, a list as evidence, and hints that run when they are pasted."""

from __future__ import annotations

import json
import re
import shlex
import shutil

import pytest

from tests.cli.conftest import Holdfast
from tests.rfc.world import DISCOVER, FOLDER, ID, STATE, Rfc

OTHER = "cache-layout"


@pytest.mark.clause("AMB-RFC-15")
@pytest.mark.parametrize("content", ['[{"id": "E1"}, {"id": "E2"}]', '{"items": [1, 2]}'])
def test_a_plain_list_of_evidence_is_counted(begun: Rfc, content: str) -> None:
    (FOLDER / "evidence.json").write_text(content, "utf-8")
    answer = begun("write", "discover", given=DISCOVER)
    assert answer.code == 0
    assert "counted" not in answer.err
    assert "2 items" in (FOLDER / "checkpoint.md").read_text("utf-8")


def test_evidence_that_is_no_list_is_said(begun: Rfc) -> None:
    (FOLDER / "evidence.json").write_text('{"items": 3}', "utf-8")
    assert "cannot be counted" in begun("write", "discover", given=DISCOVER).err


COMMANDS = [
    ["show", ID],
    ["prompt", "discover", ID],
    ["write", "discover", ID],
    ["transition", "discover-design", ID],
    ["bootstrap", ID],
    ["lint", ID],
    ["close", ID],
]


def test_a_deleted_folder_is_gone_for_every_command(failed: Rfc, holdfast: Holdfast) -> None:
    shutil.rmtree(FOLDER)
    assert failed("list").out.splitlines()[0] == "No RFC is open."
    assert failed("list", "--all", "--json").data["rfcs"] == []
    for words in COMMANDS:
        answer = failed(*words, given=DISCOVER)
        assert (answer.code, ID in answer.err) == (3, True), words
        assert f"holdfast rfc init {ID}" in answer.err
    assert "RFC" not in holdfast("resume").out
    assert not FOLDER.exists()
    # The same id may begin again, and nothing of the old one is in it.
    assert failed("init", ID).code == 0
    assert json.loads(STATE.read_text("utf-8"))["checkpoint_version"] == 0
    assert "not written yet" in failed("show", ID).out
    assert failed("write", "discover", ID, given=DISCOVER).code == 0


def test_a_closed_rfc_is_over_until_it_is_opened_again(failed: Rfc, holdfast: Holdfast) -> None:
    files = {path: path.read_bytes() for path in FOLDER.iterdir() if path.is_file()}
    assert failed("close", ID).out == f"{ID} is closed.\n"
    assert failed("close", ID).code == 0, "closing it twice is closing it once"
    assert {path: path.read_bytes() for path in files} == files
    assert "and 1 accepted or closed one: --all" in failed("list").out
    assert "closed" in failed("list", "--all").out
    assert ID not in holdfast("resume").out
    for words in (
        ["write", "discover", ID],
        ["transition", "discover-design", ID],
        ["bootstrap", ID],
    ):
        answer = failed(*words, given=DISCOVER)
        assert answer.code == 5, words
        assert f"holdfast rfc close {ID} --reopen" in answer.err
    assert failed("close", ID, "--reopen").code == 0
    assert ID in failed("list").out
    assert failed("bootstrap", ID).code == 0


def test_every_command_in_a_hint_names_the_rfc(begun: Rfc, holdfast: Holdfast) -> None:
    """With two open RFCs, a command without an id is refused."""
    assert begun("init", OTHER).code == 0
    said = [
        begun("transition", "discover-design", ID),
        begun("list"),
        begun("show", ID),
        begun("transition", "design-gate-a", ID),
        begun("write", "discover", ID, given="### User Intent Signals\n- One\n"),
        begun("write", "discover", ID, given="nothing that is known"),
        begun("write", "gate-b", ID, given=DISCOVER),
        begun("show", OTHER),
    ]
    found = [
        shlex.split(command.rstrip(".,;)"))
        for answer in said
        for command in re.findall(r"holdfast rfc [a-z0-9 -]+", answer.out + answer.err)
    ]
    assert len(found) > 6
    for words in found:
        assert words[-1] in (ID, OTHER), words
        if words[2] == "prompt":
            assert holdfast(*words[1:]).code == 0
