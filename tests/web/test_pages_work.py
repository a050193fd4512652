"""The pages of a session, a track, an RFC and a run of plans."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from urllib.parse import quote

import pytest

from holdfast.kernel import clock
from holdfast.kernel.text import split_words
from holdfast.plans.runs import RunFolder, RunStream
from holdfast.web.table import pages
from tests.plans.world import World as Plans
from tests.plans.world import auto
from tests.web import stories
from tests.web.world import HOSTILE, Visitor, World


def test_a_session_with_its_tasks_reasoning_and_handoff(world: World, visitor: Visitor) -> None:
    stories.capture(
        world,
        issue="CIA-7",
        title="A parser",
        done=["Split on blanks"],
        remaining=["Docs"],
        decisions=[{"decision": "split on blanks", "rationale": "quotes come second"}],
        next="make parse() keep quoted words together",
    )
    path = f"/w/{world.key}/sessions/{stories.SESSION}"
    data, text = visitor.data(f"{path}.json"), visitor.get(path).text
    assert data["session"]["progress"]["current"] == "Handle quotes"
    assert "make parse() keep quoted words together" in data["handoff"]["prompt"]
    assert "Decision: split on blanks: quotes come second" in data["handoff"]["pack"]
    for said in ("A parser", "Split on blanks", "quotes come second", "holdfast resume --session 0f3c9a17"):  # fmt: skip
        assert said in text
    assert 'data-copy="holdfast resume --session 0f3c9a17"' in text
    assert visitor.get(f"/w/{world.key}/sessions/0f3c").status_code == 200  # by its beginning


def test_a_checkpoint_shows_what_became_of_the_work_tree(world: World, visitor: Visitor) -> None:
    (world.root / "first.txt").write_text("before the first checkpoint\n")
    stories.capture(world)
    (world.root / "README.md").write_text("One.\n<b>Two.</b>\n")
    stories.capture(world, current="Docs")
    checkpoints = visitor.data(f"/w/{world.key}/sessions/{stories.SESSION}.json")["checkpoints"]
    assert [one["task"] for one in checkpoints] == ["Docs", "Handle quotes"]
    path = f"/w/{world.key}/records/{checkpoints[0]['id']}"
    tree, text = visitor.data(f"{path}.json")["work_tree"], visitor.get(path).text
    assert [file["path"] for file in tree["files"]] == ["README.md"]
    assert "+<b>Two.</b>" in tree["patch"]
    assert "+&lt;b&gt;Two.&lt;/b&gt;" in text
    assert "+- Docs" in text  # what the progress file says now
    before = visitor.data(f"/w/{world.key}/records/{checkpoints[1]['id']}.json")["work_tree"]
    assert [file["path"] for file in before["files"]] == ["first.txt"]


def test_a_record_whose_work_tree_is_gone_is_still_shown(world: World, visitor: Visitor) -> None:
    stories.capture(world)
    (checkpoint,) = visitor.data(f"/w/{world.key}/sessions/{stories.SESSION}.json")["checkpoints"]
    journal = world.workspace.journal
    assert journal.erase([checkpoint["id"]]) == 1
    text = visitor.get(f"/w/{world.key}/records/{checkpoint['id']}").text
    assert "The body was erased." in text


def test_a_track_with_its_steps_and_tasks(world: World, visitor: Visitor) -> None:
    loop = stories.track(world)
    path = f"/w/{world.key}/tracks/{stories.TRACK}"
    data, text = visitor.data(f"{path}.json"), visitor.get(path).text
    assert (data["step"], data["status"]) == ("EXECUTE", "IN_PROGRESS")
    assert data["tasks"]["done"] == ["1 part 1"]
    assert data["tasks"]["left"] == ["2 part 2", "3 part 3"]
    assert [bar["name"] for bar in data["work"]["bars"]] == ["PLAN", "EXECUTE"]
    assert data["work"]["bars"][1]["end"] == ""  # it goes on
    assert f"holdfast loop resume --track {stories.TRACK}" in text
    loop.do("block", reason="The feed has no key")
    assert "The feed has no key" in visitor.get(path).text


def test_an_rfc_with_its_reasoning(world: World, visitor: Visitor) -> None:
    stories.rfc(world)
    path = f"/w/{world.key}/rfcs/{stories.RFC}"
    data, text = visitor.data(f"{path}.json"), visitor.get(path).text
    assert [group["heading"] for group in data["reasoning"]] == ["DESIGN Exit", "DISCOVER Exit"]
    assert "DEC-001: the queue won narrowly" in text
    assert "How sessions are kept" in text
    assert text.count("read first") == 1  # the active tensions
    assert f"holdfast rfc bootstrap {stories.RFC}" in text


def test_a_run_that_waits_for_a_person(world: World, visitor: Visitor) -> None:
    plans = stories.run(world)
    plans.halted()
    path = f"/w/{world.key}/runs/{plans.id}"
    data, text = visitor.data(f"{path}.json"), visitor.get(path).text
    ((first, second),) = ([wave["plans"] for wave in one["waves"]] for one in data["phases"])
    assert [(one["id"], one["state"]) for one in first + second] == [("3/01", "done"), ("3/02", "waiting")]  # fmt: skip
    assert second[0]["after"] == ["01"]
    assert '<li class="card plan tone-wait shown" id="plan-3/02">' in text
    (gate,) = data["gates"]
    assert gate["waits"]
    assert f'href="/w/{world.key}/gates/{gate["gate"]}"' in text
    assert "Why it waits" in text
    assert f"holdfast plan resume {plans.id}" in text
    assert "said by the second" in data["log"]["text"]
    first = visitor.data(f"{path}.json?plan={quote('3/01')}")
    assert "said by the first" in first["log"]["text"]
    assert visitor.get(f"{path}?plan=9/99").status_code == 404
    assert visitor.get(f"{path}?task=9").status_code == 404


def test_a_run_that_failed_shows_what_its_program_said(world: World, visitor: Visitor) -> None:
    plans = stories.run(world, last=auto("echo the table is missing; exit 3", name="Migrate"))
    plans.halted()
    path = f"/w/{world.key}/runs/{plans.id}"
    data = visitor.data(f"{path}.json")
    assert data["chosen"]["id"] == "3/02"
    assert "the table is missing" in data["log"]["text"]
    assert "the table is missing" in visitor.get(path).text


def test_a_run_says_on_which_other_machine_a_task_is(world: World, visitor: Visitor) -> None:
    plans = stories.run(world)
    plans.begin()
    stream = RunStream(plans.writer, RunFolder(plans.workspace, plans.id), actor="tester")
    of = {"plan": "3/01", "task": "1", "mark": "a"}
    stream.execute({"do": "start", **of, "log": "a.log"})
    stream.execute({"do": "place", **of, "on": "gpu-1@<b>far"})
    path = f"/w/{world.key}/runs/{plans.id}"
    data, text = visitor.data(f"{path}.json"), visitor.get(path).text
    assert data["chosen"]["tasks"][0]["on"] == "gpu-1@<b>far"
    assert text.count("on gpu-1@&lt;b&gt;far") == 2


@pytest.mark.parametrize("lines", [20_000, pytest.param(1_000_000, marks=pytest.mark.proof)])
def test_only_the_end_of_a_long_log_is_shown(world: World, visitor: Visitor, lines: int) -> None:
    plans = stories.run(world, last=auto(f"seq 1 {lines}; exit 3", name="Count"))
    plans.halted()
    data = visitor.data(f"/w/{world.key}/runs/{plans.id}.json")
    assert data["log"]["text"].splitlines()[-1] == str(lines)
    assert len(data["log"]["text"]) < 10_000


def test_work_leads_to_every_page(world: World, visitor: Visitor) -> None:
    stories.capture(world)
    stories.track(world)
    stories.rfc(world)
    stories.run(world).halted()
    data = visitor.data("/work.json")
    for kind in ("runs", "tracks", "rfcs", "sessions"):
        (row,) = data[kind]
        assert visitor.get(row["href"]).status_code == 200, kind


def test_an_empty_workspace_has_every_page(visitor: Visitor) -> None:
    for page in pages():
        if "{" not in page.path:
            assert visitor.get(page.path).status_code == 200, page.name
            assert visitor.get(f"{page.path}.json").status_code == 200, page.name


def test_what_agents_write_is_text_on_every_page(world: World, visitor: Visitor) -> None:
    said = f"{HOSTILE}\x1b[31m\u202e"
    stories.capture(world, current=said, issue="CIA-7", title=HOSTILE, remaining=[said],
                    decisions=[{"decision": HOSTILE, "rationale": said}], next=said)  # fmt: skip
    loop = stories.track(world)
    loop.do("block", reason=HOSTILE)
    stories.rfc(world)
    (world.root / ".ohrfc" / stories.RFC / "rfc.md").write_text(f"# {HOSTILE}\n")
    plans = stories.run(
        world,
        last=auto("echo '<script>hi</script>'; exit 3", name="&lt;script&gt;x&lt;/script&gt;"),
    )
    plans.halted()
    world.alert()
    world.start("Secondary-A", HOSTILE.replace("/", ""))
    world.beat("Secondary-A", said)
    record = world.workspace.journal.latest(kind="captured", limit=1)[0]["id"]
    here = f"/w/{world.key}"
    paths = ["/board", "/work", "/fleet", "/budget", "/history", "/doctor",
             f"{here}/sessions/{stories.SESSION}", f"{here}/tracks/{stories.TRACK}",
             f"{here}/rfcs/{stories.RFC}", f"{here}/runs/{plans.id}", f"{here}/records/{record}",
             f"/history?q={quote(HOSTILE)}&kind={quote(HOSTILE)}", f"/fleet?q={quote(HOSTILE)}"]  # fmt: skip
    for path in paths:
        answer = visitor.get(path)
        assert answer.status_code == 200, (path, answer.text)
        assert not re.search(r"<(script|img)(?! src=\"/static/)", answer.text), path
        assert not re.search(r"<style|\sstyle=|\son[a-z]+=\"", answer.text.replace("&#34;", "'")), path  # fmt: skip
        assert "\x1b" not in answer.text, path
        assert "\u202e" not in answer.text, path


@pytest.mark.matrix
@pytest.mark.parametrize("kind", ["sessions", "tracks", "runs", "rfcs", "records"])
@pytest.mark.parametrize("begun", [True, False])
def test_a_wrong_id_is_said_helpfully(world: World, visitor: Visitor, kind: str, begun: bool) -> None:  # fmt: skip
    if begun:
        world.verify()
    answer = visitor.get(f"/w/{world.key}/{kind}/abc123")
    assert answer.status_code == 404
    assert "To the board" in answer.text
    assert visitor.get(f"/w/{world.key}/{kind}/abc123.json").json()["ok"] is False
    assert visitor.get(f"/w/elsewhere/{kind}/abc123").status_code == 404


HOSTILE_IDS = (
    "..",
    "%2e%2e%2fetc",
    ".hidden",
    "a%00b",
    "%0a",
    "a" * 5000,
    "%F0%9F%98%80",
    "*",
    "%25",
    *split_words("-x '-- a%20b"),
)


@pytest.mark.parametrize("kind", ["sessions", "tracks", "runs", "rfcs", "records"])
def test_a_hostile_id_is_refused(world: World, visitor: Visitor, kind: str) -> None:
    world.verify()
    for id in HOSTILE_IDS:
        answer = visitor.get(f"/w/{world.key}/{kind}/{id}")
        assert answer.status_code in (400, 404), answer.text
        assert len(answer.text) < 10_000


@pytest.mark.parametrize("path", ["/history?before=", "/budget?before=", "/fleet?from="])
def test_a_word_of_the_address_that_is_no_number(visitor: Visitor, path: str) -> None:
    for word in ("x", "-1", "9" * 400, "1.5", "٣", "9007199254740993"):
        assert visitor.get(f"{path}{quote(word)}").status_code == 400, word


def test_a_session_that_ended_two_hours_ago(world: World, visitor: Visitor) -> None:
    from holdfast.kernel.streams import open_writer

    stories.capture(world)
    ended = {"do": "ended", "reason": "exit"}
    open_writer(world.workspace).execute(
        f"session:{stories.SESSION}", ended, actor="builder", now=clock.now()
    )
    data = visitor.data(f"/w/{world.key}/sessions/{stories.SESSION}.json")
    assert data["timeline"]["records"][0]["kind"] == "ended"


def test_a_pipe_in_the_place_of_a_file_keeps_no_page_waiting(
    world: World, visitor: Visitor
) -> None:
    loop = stories.track(world)
    (loop.folder / "plan.md").unlink()
    os.mkfifo(loop.folder / "plan.md")
    plans = stories.run(world)
    plans.halted()
    for path in Path(world.workspace.home, "plans", plans.id, "logs").iterdir():
        path.unlink()
        os.mkfifo(path)
    assert visitor.get(f"/w/{world.key}/tracks/{stories.TRACK}").status_code == 200
    data = visitor.data(f"/w/{world.key}/runs/{plans.id}.json")
    assert data["log"]["text"] == ""


def test_a_large_run_stays_a_small_page(world: World, visitor: Visitor) -> None:
    plans = Plans(world.root)
    for number in range(200):
        tasks = "".join(auto("true", name=f"Build part {part} of it all") for part in range(3))
        plans.plan(f"{number // 40}/{number:03}", tasks)
    plans.begin()
    path = f"/w/{world.key}/runs/{plans.id}"
    text, data = visitor.get(path).text, visitor.data(f"{path}.json")
    assert len(text.encode()) < 150_000
    assert text.count('<li class="card plan ') == 40  # one phase of the five
    assert data["more_plans"] == 160


def test_half_a_letter_is_shown_somehow(world: World, visitor: Visitor) -> None:
    folder = world.root / "agent_checkpoints"
    folder.mkdir()
    known = {
        "agent_id": "Secondary-A",
        "status": "IN_PROGRESS",
        "current_step": "half a letter: \ud83d",
        "last_checkpoint": clock.stamp(clock.now()),
    }
    (folder / "secondary_a.json").write_text(json.dumps(known))
    assert "half a letter" in visitor.get("/fleet").text
    assert visitor.get("/fleet.json").status_code == 200


def test_the_fleet_shows_the_messages_between_agents(world: World, visitor: Visitor) -> None:
    checkpoints, comms = world.root / "agent_checkpoints", world.root / "agent_comms"
    checkpoints.mkdir()
    comms.mkdir()
    known = {"agent_id": "Secondary-A", "status": "WAITING"}
    (checkpoints / "secondary_a.json").write_text(
        json.dumps({**known, "last_checkpoint": clock.stamp(clock.now())})
    )
    (comms / "secondary_a_to_primary.md").write_text(
        "# Messages: Secondary-A → Primary\n\n## Message 1 (2026-01-15 15:00) ⏳ UNREAD\n"
        f"**Subject:** Which key? {HOSTILE}\n**Action:** Say which\n"
        "**Details:** There are two\n**Next:** Go on\n**Acknowledge:** Reply\n"
    )
    text = visitor.get("/fleet").text
    assert "secondary_a → primary · Which key?" in text
    assert "There are two" in text
    assert "unread" in text
    assert "<script>alert" not in text
