"""What a person sees of what was easy to overlook: new files, failures, alerts, old values, other scripts."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.budgets.check import Budget
from holdfast.fleet.pages import in_larger_units
from holdfast.kernel import clock
from holdfast.plans.runs import RunFolder, RunStream
from holdfast.web.record_text import without_terminal_codes
from holdfast.web.rendering import templates
from holdfast.web.work_tree import MOST_FILES
from tests.web import stories
from tests.web.test_changes import NO
from tests.web.world import Visitor, World


def test_a_gate_names_new_files_and_shows_the_difference(world: World, visitor: Visitor) -> None:
    (world.root / "README.md").write_text("Another <b>project</b>.\n")
    (world.root / "new.py").write_text("print(1)\n")
    id = world.verify()
    path = f"/w/{world.key}/gates/{id}"
    data, text = visitor.data(f"{path}.json"), visitor.get(path).text
    assert data["changed"]["new"] == ["new.py"]
    assert "1 new file" in text
    assert "+Another &lt;b&gt;project&lt;/b&gt;." in text


def test_many_new_files_are_counted_and_not_all_listed(world: World, visitor: Visitor) -> None:
    for number in range(MOST_FILES + 30):
        (world.root / f"new-{number}.txt").touch()
    id = world.verify()
    changed = visitor.data(f"/w/{world.key}/gates/{id}.json")["changed"]
    assert (len(changed["new"]), changed["more_new"]) == (MOST_FILES, 30)


def test_after_an_answer_the_next_gate_is_a_click_away(world: World, visitor: Visitor) -> None:
    first, second = world.verify(), world.decide()
    path = f"/w/{world.key}/gates/{first}"
    assert visitor.data(f"{path}.json")["following"] is None
    visitor.send(path, answer="approved")
    text = visitor.get(path).text
    assert f'href="/w/{world.key}/gates/{second}"' in text
    assert "Next: Select a store" in text
    other = f"/w/{world.key}/gates/{second}"
    visitor.send(other, answer="choose", option="pg")
    assert "No other gate waits." in visitor.get(other).text


def test_a_failed_track_needs_a_person_and_says_why(world: World, visitor: Visitor) -> None:
    loop = stories.track(world)
    loop.do("fail", reason="Two tests are red")
    (card,) = visitor.data("/board.json")["silent"]
    assert (card["kind"], card["word"]) == ("track", "failed")
    assert card["why"][0].endswith("Two tests are red")
    (row,) = visitor.data("/work.json")["tracks"]
    assert (row["word"], row["why"]) == ("failed", card["why"])
    assert visitor.data("/board.json")["counts"]["needed"] == 1, "what waits stands there once"
    assert "Two tests are red" in visitor.get(f"/w/{world.key}/tracks/{stories.TRACK}").text


def test_a_run_that_an_alert_holds_leads_to_the_alert(world: World, visitor: Visitor) -> None:
    plans = stories.run(world)
    plans.begin()
    world.alert()
    stream = RunStream(plans.writer, RunFolder(plans.workspace, plans.id), actor="tester")
    stream.execute({"do": "pause", "reason": "alert", "text": "cost", "waypoint": ""})
    path = f"/w/{world.key}/runs/{plans.id}"
    data, text = visitor.data(f"{path}.json"), visitor.get(path).text
    assert [one["next"] for one in data["alerts"]] == ["holdfast guard ack cost"]
    assert f'href="/board#alert-{world.key}-cost"' in text
    assert "holdfast guard ack cost" in text
    visitor.send(f"/w/{world.key}/alerts/cost", answer="ack")
    assert "and was answered" in visitor.get(path).text


def test_what_was_known_of_a_budget_is_not_forgotten(world: World, visitor: Visitor) -> None:
    budget = Budget(world.workspace, actor="builder")
    budget.check({"cost": 12.5}, session="", now=clock.now())
    budget.check({}, session="", now=clock.now() + 1000)
    (gauge,) = [
        one
        for one in visitor.data("/budget.json")["workspaces"][0]["gauges"]
        if one["type"] == "cost"
    ]
    assert (gauge["shown"], gauge["is_old"]) == ("$12.50", True)
    assert "As it was last known" in visitor.get("/budget").text


def test_the_history_of_all_workspaces_is_searched(world: World, tmp_path: Path) -> None:
    (tmp_path / "other" / ".holdfast").mkdir(parents=True)
    other = World(tmp_path / "other")
    for number in range(27):
        world.verify(f"Lost key {number}", name=f"here-{number}")
        other.verify(f"Lost key {number}", name=f"there-{number}")
    with Visitor([str(world.root), str(other.root)]) as visitor:
        visitor.sign_in()
        seen: list[str] = []
        before = ""
        while True:
            data = visitor.data(f"/history.json?q=lost+key&kind=opened&before={before}")
            assert data["searched"] == [world.key, other.key]
            seen += [f"{one['workspace']}/{one['stream']}" for one in data["records"]]
            before = data["older"]
            if not before:
                break
        assert len(seen) == len(set(seen)) == 54
        text = visitor.get("/history?q=lost").text
        assert "all workspaces" in text
        assert f"of {world.key}, {other.key}" in text
    other.workspace.close()


def test_colours_of_a_terminal_are_left_out() -> None:
    said = "\x1b[1;31mred\x1b[0m \x1b]8;;http://x\x07link\x1b]8;;\x07\n10%\r50%\rdone\r\nlast"
    assert without_terminal_codes(said) == "red link\ndone\nlast"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (
            "\U0001f468\u200d\U0001f469\u200d\U0001f467",
            "\U0001f468\u200d\U0001f469\u200d\U0001f467",
        ),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("a\u200db", "a\ufffdb"),
        ("\u200d", "\ufffd"),
        ("x\u202ey\u200d", "x\ufffdy\ufffd"),
    ],
)
def test_what_joins_letters_stays_and_what_turns_them_does_not(text: str, shown: str) -> None:
    made = templates().from_string("{{ text }}")
    assert made.render(text=text) == shown


def test_each_part_of_a_line_has_its_own_direction(world: World, visitor: Visitor) -> None:
    world.start("Secondary-A", "ميزة")
    assert "<bdi>ميزة</bdi>" in visitor.get("/board").text


def test_many_minutes_are_folded() -> None:
    assert in_larger_units("heartbeat 115 min") == "heartbeat 1 h 55 min"
    assert in_larger_units("no change for 29913398 min") == "no change for 20773 d 4 h"
    assert in_larger_units("no change for 45 min") == "no change for 45 min"


def test_two_folders_of_one_name_are_told_apart(world: World, tmp_path: Path) -> None:
    (tmp_path / "x" / "repository" / ".holdfast").mkdir(parents=True)
    other = World(tmp_path / "x" / "repository")
    id = other.verify()
    with Visitor([str(world.root), str(other.root)]) as visitor:
        visitor.sign_in()
        assert "workspace repository-2" in visitor.get(f"/w/repository-2/gates/{id}").text
    other.workspace.close()


def test_an_action_has_its_own_buttons(world: World, visitor: Visitor) -> None:
    from holdfast.gates.rules import content as gate_content

    content = gate_content.action("Mail", ["Click"], why="Yours", cause="email", checklist=NO)
    id = world.ask(content, name="mail")
    text = visitor.get(f"/w/{world.key}/gates/{id}").text
    assert 'data-needs-note="Say why it is not done."' in text
