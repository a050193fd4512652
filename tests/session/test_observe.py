"""The observation: what a session did, folded from events."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from holdfast.clients.conversation import CUT, SessionEvent, task_of
from holdfast.observe.commands import same_command
from holdfast.observe.fold import STEPS, observe
from holdfast.observe.mentions import names_in
from holdfast.observe.model import LARGEST, ROOM, weight_now

if TYPE_CHECKING:
    from holdfast.observe.model import Observation

CWD = "/home/dev/shop"


def seen(*events: SessionEvent) -> Observation:
    return observe(None, [SessionEvent("place", path=CWD), *events])


def run(
    id: str, command: str, *, failed: bool | None = False, output: str = ""
) -> list[SessionEvent]:
    return [
        SessionEvent("run", id=id, text=command),
        SessionEvent("result", id=id, text=output, failed=failed),
    ]


def tasks(*pairs: tuple[str, str]) -> SessionEvent:
    return SessionEvent("tasks", tasks=[task_of(text, text, state) for text, state in pairs])


def test_the_first_and_the_last_request_are_kept_whole() -> None:
    found = seen(*(SessionEvent("prompt", text=f"Request {number}.") for number in range(30)))
    assert found["first"] is not None
    assert found["first"]["text"] == "Request 0."
    assert found["request"] is not None
    assert found["request"]["text"] == "Request 29."
    assert [one["text"] for one in found["earlier"]][-2:] == ["Request 27.", "Request 28."]
    assert found["prompts"] == 30


def test_rulings_are_sentences_of_the_person() -> None:
    found = seen(
        SessionEvent(
            "prompt", text="Fix it. Don't touch the schema of orders! Use Decimal instead."
        ),
        SessionEvent("said", text="I must never forget this sentence of mine."),
    )
    assert [one["text"] for one in found["rulings"]] == [
        "Don't touch the schema of orders!",
        "Use Decimal instead.",
    ]


def test_a_task_that_is_done_is_not_open() -> None:
    found = seen(
        tasks(("Parser", "pending"), ("Renderer", "pending")),
        tasks(("Parser", "completed"), ("Renderer", "in_progress")),
    )
    assert [(one["text"], one["state"]) for one in found["tasks"]] == [
        ("Parser", "done"),
        ("Renderer", "active"),
    ]


def test_a_task_changes_by_its_key_and_keeps_its_words() -> None:
    found = seen(
        SessionEvent("task", tasks=[task_of("7", "Renderer", "pending")]),
        SessionEvent("task", tasks=[task_of("7", None, "completed")]),
        SessionEvent("task", tasks=[task_of("8", None, "completed")]),
    )
    assert found["tasks"] == [{"key": "7", "text": "Renderer", "state": "done"}]


def test_open_tasks_stay_when_there_are_too_many() -> None:
    found = seen(
        tasks(*((f"done {n} " + "x" * 150, "completed") for n in range(60)), ("Open", "pending"))
    )
    assert found["tasks"][-1]["text"] == "Open"
    assert len(found["tasks"]) < 30


def test_a_failure_is_open_until_the_same_command_passes() -> None:
    failing = run("1", "cd api && pytest -q tests/basket 2>&1 | tail -5", failed=True, output="E x")
    assert [one["end"] for one in seen(*failing)["failures"]] == ["E x"]
    passing = run("2", "cd api && pytest -q tests/basket | tail -20", output="3 passed in 0.1s")
    assert seen(*failing, *passing)["failures"] == []
    other = run("3", "cd api && pytest -q tests/tax")
    assert len(seen(*failing, *other)["failures"]) == 1
    elsewhere = run("4", "cd web && pytest -q tests/basket")
    assert len(seen(*failing, *elsewhere)["failures"]) == 1


def test_a_failure_in_the_sessions_own_folder_is_known_with_and_without_cd() -> None:
    failing = run("1", f"cd {CWD} && make test", failed=True)
    assert seen(*failing, *run("2", "make test"))["failures"] == []


def test_the_end_of_the_output_decides_where_a_pipe_hides_the_status() -> None:
    failed = run(
        "1", "go test ./... 2>&1 | tail -5", output="--- FAIL: TestTotal\nFAIL\nFAIL\tshop"
    )
    found = seen(*failed)
    assert [one["text"] for one in found["failures"]] == ["go test ./..."]
    assert found["commands"]["go test ./..."]["failed"] is True
    passed = run("2", "go test ./... 2>&1 | tail -5", output="ok  \tshop\t0.1s")
    assert seen(*failed, *passed)["failures"] == []
    hidden = run("3", "go test ./... 2>&1 | head -2", output="building")
    assert len(seen(*failed, *hidden)["failures"]) == 1


def test_a_script_on_the_command_line_is_no_command_to_run_again() -> None:
    found = seen(*run("1", 'python3 -c "\nimport json\nprint(1)"'), *run("2", "python3 -m build"))
    assert list(found["commands"]) == ["python3 -m build"]


def test_nothing_to_commit_is_no_failure() -> None:
    output = "On branch main\nnothing to commit, working tree clean"
    assert (
        seen(*run("1", "git add . && git commit -m x", failed=True, output=output))["failures"]
        == []
    )


def test_a_failing_script_is_shown_by_its_steps() -> None:
    failing = run("1", "set -euo pipefail\ncat a.txt\n./deploy.sh\n./check.sh", failed=True)
    assert [one["text"] for one in seen(*failing)["failures"]] == ["./deploy.sh && ./check.sh"]


def test_a_failure_of_several_steps_is_open_until_all_of_them_passed() -> None:
    failing = run("1", "make lint && ./check.sh && npm test", failed=True)
    after_one = seen(*failing, *run("2", "make lint; npm test"))
    assert [one["text"] for one in after_one["failures"]] == ["./check.sh"]
    assert (
        seen(*failing, *run("2", "make lint"), *run("3", "npm test && ./check.sh"))["failures"]
        == []
    )


def test_a_failure_in_a_long_line_is_closed_by_a_plain_run() -> None:
    line = "gofmt -l a.go b.go; echo '--- test ---'; go test ./pkg -run 'TestA|TestB' -v | tail -20"
    failing = run("1", line, output="--- test ---\n--- FAIL: TestA\nFAIL\tshop/pkg\t0.9s")
    assert [one["text"] for one in seen(*failing)["failures"]] == [
        "go test ./pkg -run 'TestA|TestB' -v"
    ]
    assert (
        seen(*failing, *run("2", "go test ./... 2>&1", output="ok  \tshop/pkg"))["failures"] == []
    )


def test_a_run_with_an_unknown_end_is_remembered() -> None:
    failing = run("1", "go test ./...", failed=True)
    hidden = run("2", "go test ./... | grep -c ok", output="3")
    assert seen(*failing, *hidden)["failures"][0]["again"] is True
    assert "again" not in seen(*failing, *run("2", "go vet ./..."))["failures"][0]


def test_a_command_that_is_no_check_is_over_after_many_calls() -> None:
    for command, open_ in (("./deploy.sh", 0), ("make deploy", 1)):
        failing = run("1", command, failed=True)
        calls = [one for n in range(2, 60) for one in run(str(n), f"./other.sh {n}")]
        assert len(seen(*failing, *calls)["failures"]) == open_


def test_an_observation_of_an_older_version_goes_on() -> None:
    old = seen(*run("1", "go test ./...", failed=True))
    old["failures"] = [{"key": "cd api && make a && make b", "text": "x", "end": "", "call": 1}]
    old["pending"] = {"9": ["run", "make a", "make a | tail", "-1"]}
    ended = [SessionEvent("result", id="9", text="ok", failed=False)]
    after = observe(old, [*ended, *run("2", "cd api && make a"), *run("3", "cd api && make b")])
    assert after["failures"] == []


def test_a_wider_run_that_passes_closes_a_narrower_failure() -> None:
    failing = run("1", "go test ./pkg -run TestTotal", failed=True)
    assert seen(*failing, *run("2", "go test ./..."))["failures"] == []
    assert seen(*failing, *run("2", "go test ./pkg"))["failures"] == []
    assert len(seen(*failing, *run("2", "go vet ./..."))["failures"]) == 1


def test_a_search_without_a_match_is_no_failure() -> None:
    for command in ("rg -n total src", "ls missing", "cd x && grep -r a . | head"):
        assert seen(*run("1", command, failed=True))["failures"] == []


@pytest.mark.parametrize("command", ["test -f x", "diff a b", "git diff --quiet", "tally --help"])
def test_a_command_that_only_looks_is_no_failure(command: str) -> None:
    assert seen(*run("1", command, failed=True))["failures"] == []


def test_a_ruling_is_a_sentence_of_the_person() -> None:
    prompt = """Please fix this. Never change the schema.
basket_test.go:80: total should NOT be rounded, only the tax
> - 654274e make sure the agent does all steps
2026-11-16 10:02:11 ERROR must not be null
--keep-going \\
```
do not retry()
```
"""
    assert [one["text"] for one in seen(SessionEvent("prompt", text=prompt))["rulings"]] == [
        "Never change the schema."
    ]


def test_words_that_were_cut_in_two_name_nothing() -> None:
    text = f"see src/basket.py and internal/sy{CUT}t-sync/internal/tax.py and src/total.py"
    found = seen(SessionEvent("said", text=text))
    assert sorted(found["glimpsed"]) == ["src/basket.py", "src/total.py"]


def test_escapes_and_variables_are_no_part_of_a_path_or_a_name() -> None:
    text = "one\\nsrc/basket.py two $ROOT/src/gone.py \\u003ctaxTable\\u003e \\ttotalOf"
    found = seen(SessionEvent("said", text=text))
    assert list(found["glimpsed"]) == ["src/basket.py"]
    assert sorted(found["names"]) == ["taxTable", "totalOf"]


def test_a_folder_that_moved_away_leaves_no_path_behind() -> None:
    found = seen(
        SessionEvent("said", text="look at pkg/shop/basket.py and src/tax.py"),
        *run("1", "git mv pkg/shop shop"),
    )
    assert list(found["glimpsed"]) == ["src/tax.py"]


def test_a_tools_own_name_is_no_name_in_play() -> None:
    found = seen(SessionEvent("call", text="wait_agent total_of the basket"))
    assert list(found["names"]) == ["total_of"]


def test_a_command_that_still_runs_has_neither_passed_nor_failed() -> None:
    failing = run("1", "make test", failed=True)
    found = seen(*failing, SessionEvent("run", id="2", text="make test"))
    assert found["commands"]["make test"]["failed"] is None
    assert len(found["failures"]) == 1
    later = observe(
        found, [SessionEvent("result", id="2"), SessionEvent("result", id="2", failed=False)]
    )
    assert later["failures"] == []


def test_the_same_command_is_known_in_its_variations() -> None:
    variations = (
        "go test ./...",
        "cd /home/dev/shop && go test ./...",
        "go test ./... 2>&1 | tail -5",
        "timeout 60 go test ./... 2>&1 | grep -v ok | head -20",
        'CGO_ENABLED=0 go test ./...; echo "exit: $?"',
    )
    assert {same_command(line) for line in variations} == {"go test ./..."}


def test_a_file_is_counted_by_its_path_in_the_sessions_folder() -> None:
    found = seen(
        SessionEvent("read", path=f"{CWD}/src/basket.py"),
        SessionEvent("edit", path=f"{CWD}/src/basket.py"),
        SessionEvent("edit", path="src/basket.py"),
        SessionEvent("edit", path="src/tax.py", change="created"),
    )
    files = {
        path: (one["state"], one["edits"], one["reads"]) for path, one in found["files"].items()
    }
    assert files == {"src/basket.py": ("edited", 2, 1), "src/tax.py": ("created", 1, 0)}
    assert found["edits"] == 3


def test_an_edit_that_failed_did_not_happen() -> None:
    found = seen(
        SessionEvent("edit", id="1", path="src/a.py"), SessionEvent("result", id="1", failed=True)
    )
    assert found["edits"] == 0
    assert found["files"]["src/a.py"]["state"] == "read"


@pytest.mark.parametrize("failed", [True, None])
def test_a_patch_of_several_files_that_failed_or_was_refused_is_no_edit(
    failed: bool | None,
) -> None:
    names = ("src/a.py", "src/b.py", "src/c.py")
    first = SessionEvent("edit", id="1", path="src/a.py")
    patch = [
        SessionEvent("edit", id="2", path=names[0], change="deleted"),
        SessionEvent("edit", id="2", path=names[1], again=True),
        SessionEvent("edit", id="2", path=names[2], change="created", again=True),
    ]
    ends = [SessionEvent("result", id=id, failed=how) for id, how in (("1", False), ("2", failed))]
    found = seen(first, ends[0], *patch, ends[1])
    assert (found["calls"], found["edits"], found["pending"]) == (2, 1, {})
    files = {path: (one["state"], one["edits"]) for path, one in found["files"].items()}
    assert files == {"src/a.py": ("edited", 1), "src/b.py": ("read", 0), "src/c.py": ("read", 0)}
    assert seen(first, ends[0], *patch)["edits"] == 4, "its end is not known yet"


def test_a_patch_of_very_many_files_keeps_the_observation_small() -> None:
    names = [f"src/{'x' * 150}{number}.py" for number in range(500)]
    found = seen(*(SessionEvent("edit", id="1", path=name, again=True) for name in names))
    assert len(json.dumps(found["pending"])) < 1400


def test_what_was_moved_away_is_gone_however_long_its_command() -> None:
    names = [f"lib/module_number_{n}.py" for n in range(12)]
    reads = [SessionEvent("read", id=name, path=name) for name in names]
    moves = " && ".join(f"git mv {name} ." for name in names)
    listing = "\n".join(f"renamed: {name}" for name in names)
    found = seen(*reads, *run("1", moves), *run("2", "git status", output=listing))
    assert {one["state"] for one in found["files"].values()} == {"deleted"}
    assert found["glimpsed"] == {}


def test_a_folder_that_was_moved_away_is_gone_until_it_is_moved_back() -> None:
    moved = run("1", "git mv pkg/sync sync")
    listing = run("2", "git status", output="renamed: pkg/sync/client.go -> sync/client.go")
    found = seen(*moved, *listing)
    assert list(found["glimpsed"]) == ["sync/client.go"]
    again = run("4", "git status", output="modified: pkg/sync/client.go")
    found = seen(*moved, *listing, *run("3", "git mv sync pkg/sync"), *again)
    assert list(found["glimpsed"]) == ["pkg/sync/client.go"]
    failed = seen(*run("1", "git mv pkg/sync sync", failed=True), *listing)
    assert "pkg/sync/client.go" in failed["glimpsed"]


def test_a_file_is_removed_in_the_folder_that_the_command_entered() -> None:
    reads = [SessionEvent("read", id=path, path=path) for path in ("a.py", "web/a.py")]
    found = seen(*reads, *run("1", "cd web && rm -f a.py"))
    assert found["files"]["web/a.py"]["state"] == "deleted"
    assert found["files"]["a.py"]["state"] == "read"


def test_the_report_of_a_subagent_names_what_it_found() -> None:
    report = "The tax is taken in src/tax.py by taxOfBasket."
    found = seen(
        SessionEvent("agent", id="1", text="Find where the tax is taken"),
        SessionEvent("result", id="1", text=report, failed=False),
    )
    assert "src/tax.py" in found["glimpsed"]
    assert "taxOfBasket" in found["names"]


def test_the_output_of_a_failed_command_names_what_is_wrong() -> None:
    output = "tests/test_basket.py:12: AssertionError in test_total_of_basket"
    found = seen(*run("1", "pytest", failed=True, output=output))
    assert "test_total_of_basket" in found["names"]
    assert "tests/test_basket.py" in found["glimpsed"]


def test_a_file_of_the_root_that_a_command_shows_was_read() -> None:
    found = seen(*run("1", "cat README.md | head -3"), *run("2", "cd web && sed -n 1,9p app.ts"))
    assert set(found["files"]) == {"README.md", "web/app.ts"}
    assert seen(*run("1", 'git commit -m "Mend parser.py"'))["files"] == {}


def test_a_deleted_file_is_not_shown_as_present() -> None:
    made = [SessionEvent("edit", path=f"src/{name}.py", change="created") for name in "abcd"]
    gone = [
        SessionEvent("edit", path="src/a.py", change="deleted"),
        *run("1", "rm src/b.py"),
        *run("2", "git mv src/c.py src/e.py"),
        *run("3", "rm src/d.py", failed=True),
    ]
    states = {path: one["state"] for path, one in seen(*made, *gone)["files"].items()}
    assert {path: states[path] for path in list(states)[:4]} == {
        "src/a.py": "deleted",
        "src/b.py": "deleted",
        "src/c.py": "deleted",
        "src/d.py": "created",
    }
    again = seen(*made, *gone, SessionEvent("edit", path="src/a.py"))
    assert again["files"]["src/a.py"]["state"] == "edited"


def test_commits_are_read_from_what_git_prints() -> None:
    printed = "[main 1a2b3c4] Total with tax\n 1 file changed"
    found = seen(*run("1", 'git add -A && git commit -m "Total with tax"', output=printed))
    assert [(one["id"], one["text"]) for one in found["commits"]] == [("1a2b3c4", "Total with tax")]


def test_names_belong_to_the_file_they_were_used_in() -> None:
    found = seen(SessionEvent("edit", path="src/basket.py", text="def total_of(basketLines): ..."))
    number = found["files"]["src/basket.py"]["number"]
    assert {name: file for name, (_, file) in found["names"].items()} == {
        "total_of": number,
        "basketLines": number,
    }


def test_what_was_used_lately_weighs_more_than_what_was_used_often() -> None:
    old = [SessionEvent("read", path="old.py") for _ in range(4)]
    found = seen(
        *old, *(SessionEvent("call") for _ in range(200)), SessionEvent("read", path="new.py")
    )
    assert found["files"]["new.py"]["weight"] > found["files"]["old.py"]["weight"]
    assert weight_now(found["files"]["new.py"]["weight"], found) == 1.0


def test_a_subagent_is_out_until_it_ends() -> None:
    found = seen(
        SessionEvent("agent", id="1", text="Look"), SessionEvent("agent", id="2", text="Find")
    )
    assert list(found["agents"].values()) == ["Look", "Find"]
    assert list(observe(found, [SessionEvent("agent_end", id="1")])["agents"].values()) == ["Find"]


def test_the_plan_is_its_headings_and_the_last_one_counts() -> None:
    found = seen(
        SessionEvent("plan", text="# Old"), SessionEvent("plan", text="# Tax\nwords\n## Rates\n")
    )
    assert found["plan"] == ["Tax", "Rates"]


def test_plain_words_are_no_names() -> None:
    assert names_in("the function total_of handles basketLines since 1a2b3c4d and v2Parser") == [
        "total_of",
        "basketLines",
        "v2Parser",
    ]


texts = some.text(max_size=60) | some.sampled_from(
    (
        "don't do total_of instead.",
        "src/a.py x/y.go fooBar_1",
        "rm src/a.py",
        "make test",
        "é" * 400,
    )
)
events = some.builds(
    SessionEvent,
    some.sampled_from(sorted(STEPS)),
    id=some.sampled_from(("", "1", "2", "3")),
    text=texts,
    path=some.sampled_from(("", CWD, "src/a.py", "src/b.py", f"{CWD}/x/y.go", "/tmp/z.py")),
    about=texts,
    change=some.sampled_from(("edited", "created", "deleted")),
    failed=some.sampled_from((None, True, False)),
    tasks=some.lists(
        some.builds(task_of, texts, texts, some.sampled_from(("pending", "completed", ""))),
        max_size=3,
    ),
    again=some.booleans(),
    at=some.sampled_from(("", "2026-11-16T10:00:00Z")),
)


@given(some.lists(events, max_size=40), some.integers(0, 40))
def test_folding_in_two_parts_equals_folding_at_once(all_: list[SessionEvent], cut: int) -> None:
    at_once = json.dumps(observe(None, all_))
    half: Any = json.loads(json.dumps(observe(None, all_[:cut])))
    assert json.dumps(observe(half, all_[cut:])) == at_once


def test_the_rooms_together_stay_below_the_largest_size() -> None:
    assert sum(ROOM.values()) + 700 <= LARGEST


@pytest.mark.parametrize("rounds", [400, pytest.param(1500, marks=pytest.mark.proof)])
def test_the_observation_stays_bounded_whatever_comes_in(rounds: int) -> None:
    nasty = ("\x1b\x00" * 4000, "😀" * 5000, '"\\' * 5000, "a_name_%d src/dir/file_%d.py don't. ")
    state = None
    for number in range(rounds):
        text = nasty[number % 4]
        text = text % (number, number) if "%d" in text else text
        path = f"{text[:100]}/{number}.py"
        id = f"{text[:40]}{number}"
        state = observe(
            state,
            [
                SessionEvent("prompt", text=text),
                SessionEvent("prompt", text=f"{text[:200]} don't do {number}."),
                SessionEvent("said", text=text),
                SessionEvent("edit", path=path, text=text, id=id),
                SessionEvent("read", path=f"src/{number}.py", id=id),
                SessionEvent("run", text=f"{text} {number}", id=id),
                SessionEvent("result", text=text, failed=number % 2 == 0, id=id),
                SessionEvent("run", text=f"make {text[:300]}{number}", id=id),
                SessionEvent("plan", text=f"# {text}\n" * 40),
                SessionEvent("task", tasks=[task_of(text[:50] + str(number), text, "pending")]),
                SessionEvent("answer", text=text, about=text),
                SessionEvent("agent", text=text, id=text[:200] + str(number)),
                SessionEvent("result", text=f"[main 1a2b3c4] {text}", failed=False, id=id),
            ],
        )
        if number % 100 == 0 or number > rounds - 10:
            assert len(json.dumps(state, ensure_ascii=False).encode("utf-8", "replace")) <= LARGEST


@pytest.mark.parametrize("letter", ["请", "д", "é"])
def test_a_long_request_keeps_as_many_bytes_in_every_language(letter: str) -> None:
    seen = observe(None, [SessionEvent("prompt", text=letter * 3000)])
    latin = observe(None, [SessionEvent("prompt", text="x" * 3000)])
    assert seen["request"] is not None
    assert latin["request"] is not None
    assert len(seen["request"]["text"].encode()) > 0.7 * len(latin["request"]["text"])
