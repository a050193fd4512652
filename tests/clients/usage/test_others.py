"""Codex's rollouts, Gemini's chats and opencode's database."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from holdfast.clients.usage import prices
from tests.clients.usage.conftest import Home, close_to, lines_of, sample

THREAD = "01a1e05f-ed57-7180-83ac-0f70a4917cdf"
MODEL_THREAD = "01a1e19a-bd99-7902-8afc-b8df3b7e41ba"
CHAT = "ab4e8c87-77a0-4190-a9c1-6e164019d64c"
OPENCODE = "ses_e1e68d07affeIwNaHrDOfaphjW"


def test_codex_counts_each_answer_and_takes_the_cache_out_of_the_input(home: Home) -> None:
    home.codex(sample("codex.model.jsonl"), MODEL_THREAD)
    spent = home.spent()
    assert spent["client"] == "codex"
    assert spent["session"] == MODEL_THREAD
    assert spent["tokens"] == {
        "input": 2 * (1234 - 111),
        "output": 2 * 42,
        "cache_read": 2 * 111,
        "cache_write": 0,
        "total": 2 * 1276,
    }
    one = {"input": 1123, "output": 42, "cache_read": 111, "cache_write": 0}
    expected = prices.cost_of("gpt-5.1-codex", one, provider="openai")
    assert expected is not None
    assert spent["cost"] == close_to(2 * expected)
    assert spent["sure"] == "estimated"
    assert spent["context_percent"] == round(100 * 1276 / 258_400, 2)
    assert spent["started_at"] == "2026-11-15T23:46:17.132Z"


def test_a_rollout_that_names_no_model_has_no_price(home: Home) -> None:
    home.codex(sample("codex.tool.jsonl"), THREAD)
    spent = home.spent(THREAD)
    assert spent["cost"] is None
    assert spent["why"] == "no price is known for a model without a name"
    assert spent["tokens"]["output"] == 84


def test_after_a_compaction_codex_says_how_much_is_left_in_the_context(home: Home) -> None:
    lines = lines_of("codex.compact.jsonl")
    position = next(number for number, line in enumerate(lines) if '"total_tokens": 6020' in line)
    path = home.codex("".join(lines[: position + 1]), THREAD)
    assert home.spent(THREAD)["context_tokens"] == 6020
    with path.open("a") as file:
        file.writelines(lines[position + 1 :])
    spent = home.spent(THREAD)
    assert spent["context_tokens"] == 1276
    assert spent["tokens"]["total"] == 3 * 1276


def test_rollouts_from_before_there_were_usage_records_count_by_their_totals(home: Home) -> None:
    lines = [line for line in lines_of("codex.compact.jsonl") if "token_usage_record" not in line]
    home.codex("".join(lines), THREAD)
    assert home.spent(THREAD)["tokens"]["total"] == 3 * 1276


def test_a_subagents_rollout_belongs_to_its_session(home: Home) -> None:
    main = sample("codex.model.jsonl")
    home.codex(main, MODEL_THREAD)
    child = "01a1e19a-c5bd-7093-a9e2-10720db8ba56"
    lines = main.replace("resp_", "resp_of_child_").splitlines(keepends=True)
    began = json.loads(lines[0])
    began["payload"]["id"] = child
    home.codex(json.dumps(began) + "\n" + "".join(lines[1:]), child)
    spent = home.spent()
    assert spent["session"] == MODEL_THREAD
    assert [source["agent"] for source in spent["sources"]] == ["", child]
    assert spent["tokens"]["total"] == 4 * 1276


def test_codex_says_its_errors(home: Home) -> None:
    error = {
        "timestamp": "2026-11-15T23:47:00.000Z",
        "type": "event_msg",
        "payload": {"type": "error", "message": "stream disconnected"},
    }
    home.codex(sample("codex.model.jsonl") + json.dumps(error) + "\n", MODEL_THREAD)
    assert home.spent()["recent_errors"] == ["stream disconnected"]


def test_gemini_rewrites_a_message_and_the_last_one_counts(home: Home) -> None:
    assert sample("gemini.tool.jsonl").count('"262de6e0-1a32-4f8f-88ba-67f19d4fd6ff"') == 2
    home.gemini(sample("gemini.tool.jsonl"), CHAT)
    spent = home.spent()
    assert spent["client"] == "gemini"
    assert spent["session"] == CHAT
    assert spent["tokens"] == {
        "input": 2 * (1234 - 111),
        "output": 2 * (42 + 7),
        "cache_read": 2 * 111,
        "cache_write": 0,
        "total": 2 * 1283,
    }
    one = {"input": 1123, "output": 49, "cache_read": 111, "cache_write": 0}
    expected = prices.cost_of("gemini-2.5-flash", one)
    assert expected is not None
    assert spent["cost"] == close_to(2 * expected)
    assert spent["context_tokens"] == 1283
    assert spent["context_window"] == 1_048_576
    assert spent["started_at"] == "2026-11-15T18:04:26.613Z"


def test_gemini_has_one_window_for_all_its_models(home: Home) -> None:
    known = sample("gemini.tool.jsonl")
    home.gemini(known.replace("gemini-2.5-flash", "gemini-3.1-pro-preview"), CHAT)
    assert prices.window_of("gemini-3.1-pro-preview") == 0
    assert home.spent()["context_percent"] == 0.12


def test_gemini_is_found_where_its_variable_says(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.gemini(sample("gemini.tool.jsonl"), CHAT)
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    (Path.home() / ".gemini").rename(moved / ".gemini")
    monkeypatch.setenv("GEMINI_CLI_HOME", str(moved))
    assert home.spent()["session"] == CHAT


def test_geminis_subagents_stand_in_a_folder_of_the_session(home: Home) -> None:
    path = home.gemini(sample("gemini.tool.jsonl"), CHAT)
    folder = path.parent / CHAT
    folder.mkdir()
    (folder / "child.jsonl").write_text(
        sample("gemini.tool.jsonl").replace('"id": "', '"id": "child-')
    )
    spent = home.spent(CHAT)
    assert spent["tokens"]["total"] == 4 * 1283
    assert [source["agent"] for source in spent["sources"]] == ["", "child"]


def test_opencode_gives_its_own_cost(home: Home) -> None:
    home.opencode().close()
    spent = home.spent()
    assert spent["client"] == "opencode"
    assert spent["session"] == OPENCODE
    assert spent["cost"] == close_to(0.0067205)
    assert spent["sure"] == "exact"
    assert spent["tokens"] == {
        "input": 1123,
        "output": 35 + 7,
        "cache_read": 111,
        "cache_write": 0,
        "total": 1276,
    }
    assert spent["context_percent"] == round(100 * 1276 / 1_000_000, 2)


def test_a_cost_of_zero_is_what_opencode_writes_for_a_price_it_does_not_know(home: Home) -> None:
    connection = home.opencode()
    connection.execute(
        "UPDATE message SET data = json_set(data, '$.cost', 0, '$.modelID', 'mine-7b')"
        " WHERE data LIKE '%assistant%'"
    )
    spent = home.spent()
    assert spent["cost"] is None
    assert spent["why"] == "no price is known for mine-7b"
    connection.close()


def test_opencode_is_read_while_it_writes(home: Home) -> None:
    """New answers, one that was not complete before, and a session that this one started."""
    connection = home.opencode()
    assert home.spent()["tokens"]["total"] == 1276
    data = '{"role":"assistant","modelID":"claude-opus-5-5","providerID":"x","cost":%s,"tokens":%s,"time":%s}'
    empty = '{"input":0,"output":0,"reasoning":0,"cache":{"read":0,"write":0}}'
    full = '{"total":110,"input":100,"output":10,"reasoning":0,"cache":{"read":0,"write":0}}'
    add = "INSERT INTO message VALUES (?, ?, ?, ?, ?)"
    touch = "UPDATE session SET time_updated = ? WHERE id = ?"
    at = 1794786200000
    connection.execute(add, ("msg_2", OPENCODE, at, at, data % ("0", empty, '{"created":1}')))
    connection.execute(touch, (at, OPENCODE))
    assert home.spent()["tokens"]["total"] == 1276
    done = data % ("0.5", full, '{"created":1,"completed":2}')
    connection.execute(
        "UPDATE message SET data = ?, time_updated = ? WHERE id = 'msg_2'", (done, at + 1)
    )
    connection.execute(
        "INSERT INTO session(id, project_id, parent_id, slug, directory, title, version,"
        " time_created, time_updated) VALUES ('child', 'p', ?, 's', 'd', 't', 'v', ?, ?)",
        (OPENCODE, at, at + 5),
    )
    connection.execute(add, ("msg_3", "child", at + 5, at + 5, done))
    spent = home.spent()
    assert spent["tokens"]["total"] == 1276 + 110 + 110
    assert spent["cost"] == close_to(0.0067205 + 0.5 + 0.5)
    assert spent["sure"] == "exact"
    assert spent["context_tokens"] == 110
    assert home.spent() == spent
    connection.close()


def test_opencodes_database_is_not_changed(home: Home) -> None:
    connection = home.opencode()
    before = connection.execute("PRAGMA data_version").fetchone()
    home.spent()
    assert connection.execute("PRAGMA data_version").fetchone() == before
    connection.close()


@pytest.mark.parametrize("damage", [b"", b"not a database at all" * 100])
def test_a_database_that_is_none_is_no_source(home: Home, damage: bytes) -> None:
    path = home.root / ".local/share/opencode/opencode.db"
    path.parent.mkdir(parents=True)
    path.write_bytes(damage)
    spent = home.spent()
    assert spent["cost"] is None
    assert spent["sources"] == []


def test_an_error_of_opencode_is_counted_once(home: Home) -> None:
    connection = home.opencode()
    connection.execute(
        "UPDATE message SET data = json_set(data, '$.error', json('"
        '{"name":"APIError","data":{"message":"overloaded"}}\')) WHERE data LIKE \'%assistant%\''
    )
    assert home.spent()["recent_errors"] == ["overloaded"]
    connection.execute("UPDATE session SET time_updated = time_updated + 1")
    assert home.spent()["errors"] == 1
    connection.close()
