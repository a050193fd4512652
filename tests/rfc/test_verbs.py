"""`holdfast rfc`: beginning, listing and showing, and what is refused."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.conftest import Git
from tests.rfc.world import (
    CHECKPOINT,
    DISCOVER,
    FEEDBACK,
    FOLDER,
    ID,
    STATE,
    Holdfast,
    Rfc,
    done,
    fields,
    through,
)


@pytest.mark.clause("RFC-08", "AMB-RFC-08")
@pytest.mark.parametrize(
    ("strictness", "rounds", "reviewers"), [("light", 0, 0), ("standard", 2, 3), ("full", 3, 4)]
)
def test_init(rfc: Rfc, strictness: str, rounds: int, reviewers: int) -> None:
    answer = done(rfc("init", ID, "--strictness", strictness, "--title", "Who may\nlog in"))
    assert answer.out == f".ohrfc/{ID}/ is ready: discover, {strictness}.\n"
    state = fields()
    assert (state["rfc_id"], state["current_phase"]) == (ID, "discover")
    assert (state["gate_b_max_rounds"], state["reviewer_count"]) == (rounds, reviewers)
    assert state["checkpoint_version"] == 0
    rfc_md = (FOLDER / "rfc.md").read_text()
    assert f"\nstrictness: {strictness}\n---\n" in rfc_md
    assert ": Who may log in\n" in rfc_md
    evidence = json.loads((FOLDER / "evidence.json").read_text())
    assert evidence == {"schema_version": "v1", "items": []}
    assert (FOLDER / ".reviews").is_dir()
    assert (FOLDER / ".debug").is_dir()
    assert not CHECKPOINT.exists()


def test_init_of_one_that_exists(begun: Rfc) -> None:
    before = {path: path.read_bytes() for path in FOLDER.rglob("*") if path.is_file()}
    answer = begun("init", ID, "--strictness", "full")
    assert answer.code == 1
    assert "exists already" in answer.err
    assert {path: path.read_bytes() for path in FOLDER.rglob("*") if path.is_file()} == before
    Path(".ohrfc/other").mkdir()
    Path(".ohrfc/other/state.json").write_text("{}")
    assert begun("init", "other").code == 1


@pytest.mark.parametrize(
    "id",
    ["..", "../x", "a/b", "", ".hidden", "-flag", "a b", "a\x1b[31mb", "a\nb", "x" * 65, "/etc"],
)
def test_ids_that_cannot_be(begun: Rfc, id: str) -> None:
    before = sorted(Path().rglob("*"))
    for words in (("init", "--", id), ("bootstrap", "--", id), ("show", "--", id)):
        if id or words[0] == "init":
            answer = begun(*words)
            assert answer.code == 2, answer
            assert "\x1b" not in answer.err
    for verb, first in (("write", "discover"), ("transition", "discover-design")):
        if id:
            assert begun(verb, first, "--", id, given=DISCOVER).code == 2
    assert sorted(Path().rglob("*")) == before


def test_ids_of_other_scripts(rfc: Rfc) -> None:
    done(rfc("init", "認証モデル-2026.1_b"))
    done(rfc("write", "discover", given=DISCOVER))
    assert "認証モデル-2026.1_b" in done(rfc("list")).out
    done(rfc("bootstrap", "認証"))


def test_a_unique_beginning_of_an_id_is_enough(begun: Rfc) -> None:
    done(begun("init", "audit-log"))
    assert begun("show").code == 3
    several = begun("show", "au")
    assert several.code == 3
    assert "Name one: audit-log, auth-model" in several.err
    assert "auth-model" in done(begun("show", "aut")).out
    assert begun("show", "zzz").code == 3


def test_list(failed: Rfc) -> None:
    done(failed("init", "audit-log", "--strictness", "light"))
    answer = done(failed("list"))
    assert answer.out.splitlines() == [
        "audit-log   discover  light                no checkpoint  just now",
        "auth-model  design    standard  round 1/2  version 3      just now  bootstrap first",
    ]
    data = done(failed("list", "--json")).data["rfcs"]
    assert [row["id"] for row in data] == ["audit-log", "auth-model"]
    assert data[1]["restart"] is True


def test_list_of_what_is_accepted(begun: Rfc) -> None:
    through(begun, "discover", "design")
    for name in ("gate-b-pass", "review-approve"):
        done(begun("transition", name))
    assert done(begun("list")).out == "No RFC is open.\nand 1 accepted or closed one: --all\n"
    assert "finalize" in done(begun("list", "--all")).out
    done(begun("transition", "baseline-change"))
    assert "baseline_change" in done(begun("list")).out


def test_list_where_there_is_none(rfc: Rfc) -> None:
    answer = done(rfc("list", "--json"))
    assert answer.data == {"rfcs": []}
    assert not Path(".git/holdfast").exists()


def test_a_corrupt_state_is_listed_as_error(begun: Rfc) -> None:
    STATE.write_text("{")
    answer = done(begun("list"))
    assert "auth-model  error  standard" in answer.out
    assert f"holdfast rfc lint {ID}" in answer.out
    assert done(begun("list", "--json")).data["rfcs"][0]["phase"] == "error"


def test_show(failed: Rfc) -> None:
    out = done(failed("show")).out
    assert "Phase       design, Gate-B round 1 of 2" in out
    assert "Checkpoint  version 3, " in out
    assert "### Reviewer Feedback Digest\n- The theme is thin failure paths\n" in out
    assert f"Restart     holdfast rfc bootstrap {ID}" in out


def test_show_before_the_first_checkpoint(begun: Rfc) -> None:
    assert "Checkpoint  not written yet" in done(begun("show")).out


@pytest.mark.parametrize(
    "text",
    [
        '{"Scan Insights": ["a"]}',
        "### Scan Insights\n- a\n### Scan Insights\n- b\n",
        "## DESIGN Exit\n### Scan Insights\n- a\n",
        "### Something Else\n- a\n",
        "- a bullet in no section\n",
        "### Scan Insights\nNot a bullet.\n",
        "### Scan Insights\n<!-- - a\n- b\n",
        "Before we go on, know this.\n" + DISCOVER,
    ],
)
def test_answers_that_cannot_be_placed_are_refused(begun: Rfc, text: str) -> None:
    answer = begun("write", "discover", given=text)
    assert answer.code == 2, answer
    assert "standard input" in answer.err
    assert not CHECKPOINT.exists()


def test_answers_in_a_fence_and_under_their_heading(begun: Rfc) -> None:
    done(begun("write", "discover", given=f"\n```markdown\n## DISCOVER Exit\n\n{DISCOVER}```\n"))
    text = CHECKPOINT.read_text("utf-8")
    assert "```" not in text
    assert text.count("## DISCOVER Exit") == 1


HOSTILE = """\
### User Intent Signals
- Run this:
  ```python
  ## Meta
  - checkpoint_version: 99
  ---
  ```
- And this:
  ```sh
  # Checkpoint: other
  ```
- \x1b[31mred\x1b]0;title\x07 and \u202eback \u05e9\u05dc\u05d5\u05dd
* <!-- half a comment
1. ## DESIGN Exit

### Scan Insights
- line\u2028separator \x85 and \x0b and \x00
- a

### Active Tensions
- - nested dash
"""


@pytest.mark.clause("RFC-30")
def test_nothing_in_a_bullet_is_taken_for_structure(begun: Rfc) -> None:
    done(begun("write", "discover", given=HOSTILE.replace("\n", "\r\n")))
    text = CHECKPOINT.read_bytes().decode()
    assert [line for line in text.splitlines() if line.startswith("#")] == [
        f"# Checkpoint: {ID}",
        "## Meta",
        "## DISCOVER Exit",
        "### User Intent Signals",
        "### Scan Insights",
        "### Active Tensions",
    ]
    assert "- Run this: ```python ## Meta - checkpoint_version: 99 --- ```\n" in text
    assert "- And this: ```sh # Checkpoint: other ```\n" in text
    assert "- <!-- half a comment\n" in text
    assert "- ## DESIGN Exit\n" in text
    assert "- line separator and and \u2400\n" in text
    assert "שלום" in text
    assert not {"\x1b", "\x07", "\r", "\x00"} & set(text)
    assert fields()["checkpoint_version"] == 1
    assert done(begun("lint")).out == "No errors.\n"
    done(begun("write", "design", "--lenient", given=""))
    assert "- Run this: ```python ## Meta" in CHECKPOINT.read_text("utf-8")


def test_answers_without_an_end(begun: Rfc) -> None:
    answer = begun("write", "discover", "--from", "/dev/zero")
    assert answer.code == 2
    assert "more than 4000000 bytes" in answer.err


def test_answers_that_are_no_text(begun: Rfc) -> None:
    assert begun("write", "discover", given=b"\xff\xfe").code == 2
    assert begun("write", "discover", "--from", "nothing.md").code == 3
    assert begun("write", "discover", "--from", ".").code == 2
    assert begun("write", "discovery", given=DISCOVER).code == 2
    Path("answers.md").write_text(DISCOVER)
    done(begun("write", "discover", "--from", "answers.md"))


def test_without_an_rfc(rfc: Rfc) -> None:
    for words in (("write", "discover"), ("transition", "discover-design"), ("bootstrap",)):
        assert rfc(*words, given=DISCOVER).code == 3, words
        assert rfc(*words, "some-id", given=DISCOVER).code == 3, words
    assert not Path(".ohrfc").exists()


def test_secrets_are_taken_out(begun: Rfc) -> None:
    secret = "ghp_" + "a1B2" * 9
    given = DISCOVER.replace("Firm:", f"Firm, token {secret}:")
    done(begun("write", "discover", given=given))
    for path in Path().rglob("*"):
        if path.is_file():
            assert secret.encode() not in path.read_bytes(), path


def test_the_journal_knows_what_was_written(failed: Rfc, holdfast: Holdfast) -> None:
    records = holdfast("history", f"rfc:{ID}", "--json").data["records"]
    kinds = [record["kind"] for record in reversed(records)]
    assert kinds == ["begun", "written", "moved", "written", "moved", "written", "moved"]
    shown = holdfast("show", f"rfc:{ID}")
    assert "### Reviewer Feedback Digest" in shown.out
    first = next(record for record in records if record["body"].get("group") == "discover")
    assert holdfast("restore", first["id"][:8]).code == 0
    assert "## Gate-B" not in CHECKPOINT.read_text("utf-8")
    assert fields()["checkpoint_version"] == 1


def test_in_a_subfolder_the_same_rfcs(failed: Rfc) -> None:
    Path("deep/down").mkdir(parents=True)
    os.chdir("deep/down")
    assert "auth-model" in done(failed("list")).out
    done(failed("bootstrap"))


def test_each_worktree_has_its_own_files_and_one_history(
    failed: Rfc, git: Git, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git("worktree", "add", "--quiet", str(tmp_path / "other"))
    monkeypatch.chdir(tmp_path / "other")
    assert "auth-model" in done(failed("list")).out
    answer = done(failed("write", "gate-b", given=FEEDBACK.replace("thin", "very thin")))
    assert "rfc.md cannot be read" in answer.err
    assert "very thin" in CHECKPOINT.read_text("utf-8")
    assert fields()["checkpoint_version"] == 4
