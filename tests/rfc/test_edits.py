"""Both files may be edited by anyone: what they say is taken in, or kept and named."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests import warm
from tests.rfc.world import (
    CHECKPOINT,
    DESIGN,
    DISCOVER,
    FEEDBACK,
    FOLDER,
    ID,
    STATE,
    Holdfast,
    Rfc,
    done,
    fields,
    headings,
    review,
    set_fields,
    through,
)
from tests.session.world import PATIENCE


def change(old: str, new: str) -> None:
    text = CHECKPOINT.read_text("utf-8")
    assert old in text
    CHECKPOINT.write_text(text.replace(old, new), "utf-8")


def quarantined() -> list[Path]:
    return sorted(Path(".git/holdfast/quarantine").glob("*"))


def test_a_bullet_written_by_hand_stays(failed: Rfc) -> None:
    change("- Firm: no new service\n", "- Firm: no new service\n- Firm: written by hand\n")
    assert "written by hand" in done(failed("show")).out
    done(failed("write", "design", given=DESIGN))
    text = CHECKPOINT.read_text("utf-8")
    assert "- Firm: written by hand\n" in text
    assert quarantined() == []
    history = done(failed("show", "--json")).data["state"]["groups"][0]
    assert history["key"] == "discover"


def test_windows_line_ends_and_a_byte_order_mark_are_forgiven(failed: Rfc) -> None:
    text = CHECKPOINT.read_text("utf-8").replace("Firm:", "Very firm:")
    CHECKPOINT.write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    done(failed("write", "design", given=DESIGN))
    assert "- Very firm: no new service\n" in CHECKPOINT.read_bytes().decode()
    assert b"\r" not in CHECKPOINT.read_bytes()


def test_groups_in_the_wrong_order_are_put_in_order(failed: Rfc) -> None:
    text = CHECKPOINT.read_text("utf-8")
    meta, discover, design, gate = text.split("---\n")
    CHECKPOINT.write_text("---\n".join([meta, f"{gate}\n", design, discover]), "utf-8")
    assert "DISCOVER Exit stands after DESIGN Exit" in failed("lint").out
    done(failed("bootstrap"))
    done(failed("write", "design", given=DESIGN))
    assert headings()[1:] == ["## DISCOVER Exit", "## DESIGN Exit", "## Gate-B Round 1 Exit"]
    assert "thin failure paths" in CHECKPOINT.read_text("utf-8")


def test_sections_and_lines_of_ones_own_survive(failed: Rfc) -> None:
    change("## Meta\n", "## Meta\n- reviewed_by: Ann\n")
    change("### Tricky Sections\n", "### My Doubts\n- Is it right?\n\n### Tricky Sections\n")
    text = CHECKPOINT.read_text("utf-8")
    CHECKPOINT.write_text(
        f"{text}\n---\n\n## Parking lot\n\nNot a bullet.\n\n* but kept\n", "utf-8"
    )
    done(failed("write", "discover", given=DISCOVER))
    text = CHECKPOINT.read_text("utf-8")
    assert "- reviewed_by: Ann\n" in text
    assert "### My Doubts\n- Is it right?\n" in text
    assert text.endswith("## Parking lot\nNot a bullet.\n\n* but kept\n")


def test_a_heading_of_ones_own_stays_when_its_group_is_rewritten(failed: Rfc) -> None:
    change("### Active Tensions\n- Lat", "### My own\n- mine\n\n### Active Tensions\n- Lat")
    for text in (DISCOVER, DISCOVER.replace("Speed", "Speed of thought")):
        answer = done(failed("write", "discover", given=text))
        assert "### My own\n- mine\n" in CHECKPOINT.read_text("utf-8")
        assert "mine" not in answer.err
    assert done(failed("lint")).code == 0


def test_more_of_ones_own_than_there_is_room_for_is_refused(failed: Rfc) -> None:
    mine = "".join(f"- mine {number}\n" for number in range(28))
    change("### Active Tensions\n- Lat", f"### My own\n{mine}\n### Active Tensions\n- Lat")
    full = DISCOVER.replace("- Firm", "- More\n- And more\n- Firm")
    answer = failed("write", "discover", given=full)
    assert answer.code == 1
    assert "DISCOVER Exit is over its budget" in answer.err
    assert "My own must give" in answer.err
    assert "- mine 27\n" in CHECKPOINT.read_text("utf-8")


@pytest.mark.parametrize("times", [1, 2])
def test_a_bullet_written_by_hand_that_is_replaced_is_named(failed: Rfc, times: int) -> None:
    for number in range(times):
        change("- Firm: no new", f"- Firm: by hand {number}\n- Firm: no new")
        done(failed("write", "design", given=DESIGN))
    dry = done(failed("write", "discover", "--dry-run", given=DISCOVER))
    answer = done(failed("write", "discover", given=DISCOVER))
    for number in range(times):
        said = f"Written by hand, and replaced (DISCOVER Exit): Firm: by hand {number}"
        assert said in answer.err
        assert said in dry.err
    assert answer.err.count("Firm: by hand") == times
    assert "by hand" not in done(failed("write", "discover", given=DISCOVER)).err


@pytest.mark.clause("AMB-RFC-06", "AMB-RFC-07")
@pytest.mark.parametrize("words", [("write", "design"), ("transition", "design-gate-a")])
@pytest.mark.parametrize("version", [1, 9])
def test_files_that_are_not_of_one_write_are_refused(
    failed: Rfc, words: tuple[str, ...], version: int
) -> None:
    change("checkpoint_version: 3", f"checkpoint_version: {version}")
    before = CHECKPOINT.read_bytes(), STATE.read_bytes()
    for more in ([], ["--dry-run"]):
        answer = failed(*words, *more, given=DESIGN)
        assert answer.code == 1
        assert f"checkpoint.md says version {version}, state.json version 3" in answer.err
        assert "--accept-versions" in answer.err
    assert (CHECKPOINT.read_bytes(), STATE.read_bytes()) == before
    done(failed(*words, "--accept-versions", given=DESIGN))
    done(failed("bootstrap"))


@pytest.mark.clause("AMB-RFC-06")
def test_one_version_ahead_is_a_write_that_was_cut_off(failed: Rfc) -> None:
    change("checkpoint_version: 3", "checkpoint_version: 4")
    done(failed("write", "design", given=DESIGN))
    assert fields()["checkpoint_version"] == 5


@pytest.mark.clause("AMB-RFC-06")
def test_keys_that_others_wrote_are_kept_in_state_json(failed: Rfc) -> None:
    set_fields(sub_step_progress="evidence 3 of 5", owner={"team": "identity"}, template_ref="abc")
    done(failed("write", "design", given=DESIGN))
    state = fields()
    assert state["sub_step_progress"] == "evidence 3 of 5"
    assert state["owner"] == {"team": "identity"}
    assert state["template_ref"] == "abc"
    assert state["checkpoint_version"] == 4
    value = {name: said for name, said in state.items() if name not in ("owner", "strictness")}
    STATE.write_text(json.dumps(value))
    done(failed("write", "design", given=DESIGN.replace("narrowly", "by a hair")))
    assert "owner" not in fields()
    assert fields()["strictness"] == "standard", "a key of the schema is put back"


def test_an_orchestrator_that_moves_the_phase_itself(begun: Rfc) -> None:
    """state.json belongs to its orchestrator as much as to us."""
    done(begun("write", "discover", given=DISCOVER))
    set_fields(current_phase="design")
    done(begun("write", "design", given=DESIGN))
    set_fields(current_phase="gate_b", gate_a_result="pass")
    done(begun("write", "gate-b", given=FEEDBACK))
    assert (fields()["gate_b_round"], fields()["current_phase"]) == (1, "gate_b")
    for phase in ("design", "gate_b"):
        set_fields(current_phase=phase)
        done(begun("write", "design", given=DESIGN))
    done(begun("transition", "gate-b-fail", "--from", "-", given=FEEDBACK))
    assert fields()["gate_b_round"] == 2
    assert headings()[3:] == ["## Gate-B Round 1 Exit", "## Gate-B Round 2 Exit"]


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("# Checkpoint: auth-model", "# Something else", "the title is"),
        ("# Checkpoint: auth-model", "# Checkpoint: other", "it is the checkpoint of 'other'"),
        ("- Firm: no new service", "\nFirm: no new service", "text that is no bullet"),
        ("checkpoint_version: 3", "checkpoint_version: three", "checkpoint_version is a number"),
        ("## DESIGN Exit", "## DISCOVER Exit", "DISCOVER Exit stands already on line 11"),
        ("- last_phase", "- first_phase", "Meta has no last_phase"),
        ("- Firm: no new service", "- b\n- c\n- d\n- e\n- f\n- g", "has 8 bullets"),
        (
            "- Firm: no new service",
            "<<<<<<< HEAD\n- a\n=======\n- b\n>>>>>>> x",
            "no bullet: <<<<<<< HEAD",
        ),
        ("### Scan Insights", "<!--\n### Scan Insights", "a comment is never closed"),
    ],
)
def test_what_cannot_be_read_is_kept_and_named(
    failed: Rfc, old: str, new: str, reason: str
) -> None:
    change(old, new)
    broken = CHECKPOINT.read_bytes()
    answer = done(failed("write", "design", given=DESIGN))
    (kept,) = quarantined()
    assert kept.read_bytes() == broken
    assert "warning: .ohrfc/auth-model/checkpoint.md could not be read (" in answer.err
    assert reason in answer.err
    assert str(kept) in answer.err
    assert headings()[1:] == ["## DISCOVER Exit", "## DESIGN Exit", "## Gate-B Round 1 Exit"]
    assert done(failed("lint")).out == "No errors.\n"


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"current_phase": "nowhere"}', '{"gate_b_round": -1}']
)
def test_a_corrupt_state_json_is_kept_and_written_anew(failed: Rfc, text: str) -> None:
    before = fields()
    STATE.write_text(text)
    assert "error" in done(failed("list")).out
    answer = done(failed("write", "design", given=DESIGN))
    assert "state.json could not be read" in answer.err
    (kept,) = quarantined()
    assert kept.read_text() == text
    assert fields() == {
        **before,
        "checkpoint_version": 4,
        "last_checkpoint_phase": "design",
        "updated_at": fields()["updated_at"],
    }


@pytest.mark.clause("RFC-01")
def test_removed_files_come_back_with_the_next_checkpoint(failed: Rfc) -> None:
    for path in (CHECKPOINT, STATE, FOLDER / "rfc.md", FOLDER / "evidence.json"):
        path.unlink()
    answer = done(failed("write", "design", given=DESIGN))
    assert "rfc.md cannot be read: No such file" in answer.err
    assert headings()[1:] == ["## DISCOVER Exit", "## DESIGN Exit", "## Gate-B Round 1 Exit"]
    assert fields()["checkpoint_version"] == 4
    assert "artifact_state: rfc.md(missing), evidence(unknown items)" in CHECKPOINT.read_text()


def test_an_older_version_that_was_checked_out_is_what_holds(failed: Rfc) -> None:
    git = ("git", "-c", "user.name=Tester", "-c", "user.email=tester@example.com")
    subprocess.run([*git, "add", "--force", str(CHECKPOINT)], check=True)
    subprocess.run([*git, "commit", "--quiet", "-m", "a checkpoint"], check=True)
    done(failed("write", "design", given=DESIGN.replace("narrowly", "clearly")))
    subprocess.run([*git, "checkout", "--quiet", "--", str(CHECKPOINT)], check=True)
    assert failed("write", "discover", given=DISCOVER).code == 1
    done(failed("write", "discover", "--accept-versions", given=DISCOVER))
    text = CHECKPOINT.read_text("utf-8")
    assert "won narrowly" in text
    assert "- checkpoint_version: 5\n" in text


# Files that no record knows


@pytest.fixture
def found(failed: Rfc) -> Rfc:
    """The files of another machine, or of a tool without a journal."""
    shutil.rmtree(".git/holdfast")
    return failed


def test_they_are_taken_over_by_the_first_write(found: Rfc) -> None:
    assert "round 1/2" in done(found("list")).out
    assert "thin failure paths" in done(found("show")).out
    done(found("write", "design", given=DESIGN))
    assert headings()[1:] == ["## DISCOVER Exit", "## DESIGN Exit", "## Gate-B Round 1 Exit"]
    assert (fields()["checkpoint_version"], fields()["gate_b_round"]) == (4, 1)
    assert quarantined() == []


def test_or_by_the_first_transition(found: Rfc) -> None:
    through(found, "design")
    assert fields()["current_phase"] == "gate_a"
    assert (fields()["checkpoint_version"], fields()["gate_b_round"]) == (4, 1)


@pytest.mark.parametrize("name", ["state.json", "checkpoint.md"])
def test_what_cannot_be_read_of_them_is_refused_and_left_alone(found: Rfc, name: str) -> None:
    (FOLDER / name).write_text("{ nothing\n")
    before = {path: path.read_bytes() for path in FOLDER.rglob("*") if path.is_file()}
    answer = found("write", "design", ID, given=DESIGN)
    assert answer.code == 1
    assert f"{name} cannot be taken over" in answer.err
    assert {path: path.read_bytes() for path in FOLDER.rglob("*") if path.is_file()} == before


def test_a_folder_of_a_tool_that_wrote_no_state_json(rfc: Rfc) -> None:
    FOLDER.mkdir(parents=True)
    (FOLDER / "rfc.md").write_text("# Mine\n")
    answer = done(rfc("init", ID))
    assert "Kept as it was: rfc.md" in answer.out
    assert (FOLDER / "rfc.md").read_text() == "# Mine\n"


# Several at once

WRITER = """
import sys
from holdfast.cli.frame import run
sys.exit(run(["rfc", "write", sys.argv[1], "--from", sys.argv[2]]))
"""


def test_two_writers_at_once(failed: Rfc) -> None:
    """Each write counts, and both files agree in the end."""
    Path("discover.md").write_text(DISCOVER)
    Path("design.md").write_text(DESIGN)
    words = [("discover", "discover.md"), ("design", "design.md")] * 4
    environment = {**os.environ, "HOLDFAST_ACTOR": "tester"}
    running = [warm.start([sys.executable, "-c", WRITER, *pair], env=environment) for pair in words]
    assert [process.wait(PATIENCE) for process in running] == [0] * 8
    assert fields()["checkpoint_version"] == 11
    assert "- checkpoint_version: 11\n" in CHECKPOINT.read_text("utf-8")
    assert done(failed("lint")).code == 0
    done(failed("bootstrap"))


def test_a_checkpoint_without_a_group(failed: Rfc) -> None:
    """Everything was taken out by hand, down to Meta."""
    CHECKPOINT.write_text(CHECKPOINT.read_text("utf-8").partition("---\n")[0], "utf-8")
    assert "Phase       design" in done(failed("show")).out
    done(failed("bootstrap"))
    done(failed("write", "design", given=DESIGN))
    assert headings()[1:] == ["## DESIGN Exit"]


def test_what_was_restored_is_what_is_shown(failed: Rfc, holdfast: Holdfast) -> None:
    records = holdfast("history", f"rfc:{ID}", "--json").data["records"]
    (begun_,) = [record for record in records if record["kind"] == "begun"]
    assert holdfast("restore", begun_["id"][:8]).code == 0
    assert "not written yet" in done(failed("show")).out
    done(failed("write", "discover", given=DISCOVER))
    assert headings()[1:] == ["## DISCOVER Exit"]
    assert quarantined() == []


@pytest.mark.parametrize("number", ["0", "-1", "1000000000", "9" * 400, "1e3", "٣"])
def test_no_number_in_a_file_is_taken_on_trust(failed: Rfc, number: str) -> None:
    change("checkpoint_version: 3", f"checkpoint_version: {number}")
    answer = done(failed("write", "design", given=DESIGN))
    assert "checkpoint_version is a number from 1 on" in answer.err
    assert fields()["checkpoint_version"] == 4
    STATE.write_text(STATE.read_text().replace('"gate_b_round": 1', f'"gate_b_round": "{number}"'))
    done(failed("write", "design", given=DESIGN))
    assert fields()["gate_b_round"] == 1


def test_strange_things_in_the_folder(failed: Rfc, tmp_path: Path) -> None:
    kept = CHECKPOINT.read_bytes()
    CHECKPOINT.unlink()
    CHECKPOINT.mkdir()
    assert failed("bootstrap").code == 1
    answer = done(failed("write", "design", given=DESIGN))
    assert "checkpoint.md was not written: a folder" in answer.err
    CHECKPOINT.rmdir()
    (tmp_path / "aside").write_bytes(kept)
    CHECKPOINT.symlink_to(tmp_path / "aside")
    assert "a link to" in failed("bootstrap").err
    os.unlink(FOLDER / "rfc.md")
    os.mkfifo(FOLDER / "rfc.md")
    assert (
        "rfc.md cannot be read: not a regular file"
        in done(failed("write", "design", given=DESIGN)).err
    )
    assert (tmp_path / "aside").read_bytes() == kept
    assert not CHECKPOINT.is_symlink()


def test_a_folder_that_leads_elsewhere(failed: Rfc, tmp_path: Path) -> None:
    shutil.move(str(FOLDER), tmp_path / "elsewhere")
    FOLDER.symlink_to(tmp_path / "elsewhere")
    before = (tmp_path / "elsewhere" / "checkpoint.md").read_bytes()
    for words in (("bootstrap", ID), ("write", "design", ID), ("lint", ID)):
        assert failed(*words, given=DESIGN).code == 4, words
    assert (tmp_path / "elsewhere" / "checkpoint.md").read_bytes() == before


BY_HAND = f"""\
# Checkpoint: {ID}

## Meta
- checkpoint_version: 4
- last_phase: discover
- strictness: Standard
- artifact_state: rfc.md(00000000), evidence(2 items), gate_b_round=0

---

## DISCOVER Exit

{DISCOVER}"""


@pytest.mark.clause("RFC-11", "AMB-RFC-08")
def test_files_in_the_documents_own_form_are_right_and_keep_their_words(rfc: Rfc) -> None:
    FOLDER.mkdir(parents=True)
    CHECKPOINT.write_text(BY_HAND, "utf-8")
    stated = {"current_phase": "design", "gate_b_round": 0, "strictness": "Standard"}
    STATE.write_text(json.dumps({**stated, "checkpoint_version": 4}), "utf-8")
    (FOLDER / "rfc.md").write_text("# RFC\n", "utf-8")
    (FOLDER / "evidence.json").write_text('{"items": []}', "utf-8")
    before = CHECKPOINT.read_text("utf-8"), STATE.read_text("utf-8")
    assert rfc("lint").out.endswith("No errors.\n")
    assert rfc("bootstrap").code == 0
    assert (CHECKPOINT.read_text("utf-8"), STATE.read_text("utf-8")) == before
    answer = rfc("transition", "design-gate-a", "--from", "-", given=DESIGN)
    assert answer.code == 0, answer.err
    after = json.loads(STATE.read_text("utf-8"))
    assert (after["strictness"], after["checkpoint_version"]) == ("Standard", 5)
    assert not {"rfc_id", "schema_version", "template_id", "created_at"} & set(after)
    assert "- checkpoint_version: 5\n" in CHECKPOINT.read_text("utf-8")
    assert rfc("lint").out.endswith("No errors.\n")


@pytest.mark.clause("RFC-04", "RFC-47")
def test_a_failed_round_says_at_the_transition_that_the_context_must_restart(
    begun: Rfc, holdfast: Holdfast
) -> None:
    through(begun, "discover", "design")
    answer = begun("transition", "gate-b-fail", "--from", "-", given=FEEDBACK)
    assert "The context must restart" in answer.out
    assert f"holdfast rfc bootstrap {ID}" in answer.out
    for words in (("status",), ()):
        said = holdfast(*words).out
        assert f"RFC {ID} failed round 1 of 2 of Gate-B: its context must restart" in said
        assert f"holdfast rfc bootstrap {ID}" in said
    review()
    assert "internal reasoning: NOT written to any file" in begun("bootstrap").out
