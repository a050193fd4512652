"""Claude Code's transcripts, as the client wrote them."""

from __future__ import annotations

import json

from holdfast.usage import spending
from tests.clients.usage.conftest import NOW, ONE_ANSWER, Home, answer, close_to, lines_of, sample

TOOL = "claude.tool.jsonl"


def test_a_message_of_several_blocks_is_counted_once(home: Home) -> None:
    transcript = "".join(
        line for line in lines_of("claude.multiblock.jsonl") if "cost-state" not in line
    )
    assert transcript.count('"msg_a6719c4c11574dfc8968"') == 2
    home.claude(transcript)
    spent = home.spent()
    assert spent["tokens"] == {
        "input": 2 * 1234,
        "output": 2 * 42,
        "cache_read": 2 * 111,
        "cache_write": 2 * 222,
        "total": 2 * 1609,
    }
    assert spent["cost"] == close_to(2 * ONE_ANSWER)
    assert spent["sure"] == "estimated"


def test_our_estimate_is_what_the_client_itself_says(home: Home) -> None:
    """The same transcript with and without the client's own figure."""
    home.claude(sample("claude.multiblock.jsonl"), "whole")
    home.claude(
        "".join(line for line in lines_of("claude.multiblock.jsonl") if "cost-state" not in line),
        "without",
    )
    whole, without = home.spent("whole"), home.spent("without")
    assert whole["sure"] == "exact"
    assert whole["cost"] == close_to(0.0138164)
    assert without["cost"] == close_to(0.0138164)
    assert whole["tokens"] == without["tokens"]


def test_subagents_are_part_of_the_session(home: Home) -> None:
    main = "".join(line for line in lines_of("claude.agent.main.jsonl") if "cost-state" not in line)
    home.claude(main)
    assert home.spent()["cost"] == close_to(3 * ONE_ANSWER)
    home.subagent(sample("claude.agent.subagent.jsonl"), "a15f61abff2c84a7c")
    spent = home.spent()
    assert spent["cost"] == close_to(4 * ONE_ANSWER)
    assert [source["agent"] for source in spent["sources"]] == ["", "a15f61abff2c84a7c"]


def test_the_clients_own_total_holds_subagents_already(home: Home) -> None:
    home.claude(sample("claude.agent.main.jsonl"))
    home.subagent(sample("claude.agent.subagent.jsonl"), "a15f61abff2c84a7c")
    spent = home.spent()
    assert spent["cost"] == close_to(4 * ONE_ANSWER)
    assert spent["sure"] == "exact"
    assert "cost-state" in spent["why"]


def test_what_comes_after_the_clients_own_total_is_added_to_it(home: Home) -> None:
    home.claude(sample("claude.tool.jsonl") + answer(90_000))
    spent = home.spent()
    assert spent["cost"] == close_to(3 * ONE_ANSWER)
    assert spent["sure"] == "estimated"


def test_a_subagent_that_works_on_after_the_total_is_added_too(home: Home) -> None:
    home.claude(sample("claude.tool.jsonl"))
    assert home.spent()["sure"] == "exact"
    home.subagent(answer(90_000), "late")
    spent = home.spent()
    assert spent["cost"] == close_to(3 * ONE_ANSWER)
    assert spent["sure"] == "estimated"


def test_a_total_that_begins_anew_does_not_give_money_back(home: Home) -> None:
    anew = json.dumps({"type": "cost-state", "totalCostUSD": 0.001, "modelUsage": {}})
    home.claude(sample(TOOL) + answer(90_000) + anew + "\n")
    assert home.spent()["cost"] == close_to(2 * ONE_ANSWER + 0.001)


def test_a_compaction_is_paid_for_and_empties_the_context(home: Home) -> None:
    before, _, after = sample("claude.compact.jsonl").partition('{"type": "system", "subtype"')
    path = home.claude(before)
    assert home.spent()["context_tokens"] == 1609
    compacted, _, rest = ('{"type": "system", "subtype"' + after).partition("\n")
    path.write_text(before + compacted + "\n")
    assert home.spent()["context_tokens"] == 2611
    path.write_text(before + compacted + "\n" + rest)
    spent = home.spent()
    assert spent["context_tokens"] == 1609
    # Two of the five answers are the compaction's, and stand in no transcript.
    assert spent["cost"] == close_to(5 * ONE_ANSWER)
    assert spent["tokens"]["input"] == 5 * 1234


def test_the_context_is_that_of_the_session_and_not_of_its_subagents(home: Home) -> None:
    home.claude(answer(1))
    home.subagent(answer(2, input_tokens=900_000), "large")
    spent = home.spent()
    assert spent["context_tokens"] == 1609
    assert spent["context_window"] == 1_000_000
    assert spent["context_percent"] == 0.16


def test_the_large_window_is_asked_for_by_name(home: Home) -> None:
    record = json.loads(answer(1, model="claude-sonnet-4-5"))
    home.claude(json.dumps(record) + "\n", "small")
    record["requestedModel"] = "claude-sonnet-4-5[1m]"
    home.claude(json.dumps(record) + "\n", "large")
    assert home.spent("small")["context_window"] == 200_000
    assert home.spent("large")["context_window"] == 1_000_000


def test_a_model_without_a_price_makes_the_cost_unknown(home: Home) -> None:
    home.claude(answer(1) + answer(2, model="claude-of-tomorrow-9"))
    spent = home.spent()
    assert spent["cost"] is None
    assert spent["sure"] == "unknown"
    assert "claude-of-tomorrow-9" in spent["why"]
    assert spent["cost_at_least"] == close_to(ONE_ANSWER)
    assert spent["tokens"]["input"] == 2 * 1234


def test_a_total_in_which_the_client_misses_a_price_is_unknown(home: Home) -> None:
    home.claude(sample(TOOL).replace('"hasUnknownModelCost": false', '"hasUnknownModelCost": true'))
    spent = home.spent()
    assert spent["cost"] is None
    assert spent["cost_at_least"] == close_to(2 * ONE_ANSWER)


def test_an_unknown_model_after_the_clients_total_is_unknown_too(home: Home) -> None:
    home.claude(sample(TOOL) + answer(90_000, model="claude-of-tomorrow-9"))
    spent = home.spent()
    assert spent["cost"] is None
    assert spent["cost_at_least"] == close_to(2 * ONE_ANSWER)


def test_what_the_client_says_in_the_models_name_costs_nothing(home: Home) -> None:
    home.claude(answer(1) + answer(2, model="<synthetic>", output_tokens=9))
    assert home.spent()["cost"] == close_to(ONE_ANSWER)


def test_an_answer_without_usage_is_unknown_and_not_free(home: Home) -> None:
    record = json.loads(answer(1))
    del record["message"]["usage"]
    # A word that the reader looks for stands elsewhere in the line.
    record["note"] = {"usage": None}
    home.claude(json.dumps(record) + "\n")
    assert home.spent()["cost"] is None


def test_a_transcript_of_unknown_lines_alone_is_unknown(home: Home) -> None:
    home.claude('{"kind":"future","body":{}}\n' * 3)
    spent = home.spent()
    assert spent["cost"] is None
    assert spent["sure"] == "unknown"


def test_lines_of_unknown_types_are_passed_over(home: Home) -> None:
    noise = '{"type":"of-tomorrow","usage":{"input_tokens":1e9}}\n[1,2]\n"text"\nnull\n{"type":3}\n'
    home.claude(noise + answer(1) + noise)
    assert home.spent()["cost"] == close_to(ONE_ANSWER)


def test_damaged_numbers_count_as_nothing(home: Home) -> None:
    record = json.loads(answer(1))
    record["message"]["usage"] = {
        "input_tokens": -5,
        "output_tokens": "42",
        "cache_read_input_tokens": True,
        "cache_creation_input_tokens": None,
        "cache_creation": [],
    }
    home.claude(json.dumps(record) + "\n")
    assert home.spent()["tokens"]["total"] == 0


def test_errors_of_the_api_are_errors_and_a_failed_tool_is_none(home: Home) -> None:
    said = "API Error: 500 with key sk-ant-api03-" + "a1B2" * 24
    error = {
        "type": "assistant",
        "uuid": "e1",
        "isApiErrorMessage": True,
        "timestamp": "2026-11-15T18:00:09.000Z",
        "message": {"model": "<synthetic>", "content": [{"type": "text", "text": said}]},
    }
    tool = {
        "type": "user",
        "message": {"content": [{"type": "tool_result", "is_error": True}]},
        "toolUseResult": {"usage": 1},
    }
    path = home.claude(answer(1) + json.dumps(error) + "\n" + json.dumps(tool) + "\n")
    spent = home.spent()
    assert spent["errors"] == 1
    assert spent["recent_errors"][0].startswith("API Error: 500")
    assert "a1B2a1B2" not in spent["recent_errors"][0]
    assert spent["cost"] == close_to(ONE_ANSWER)
    # Read once more from its beginning: the same error, not another one.
    path.write_text(json.dumps(error) + "\n")
    assert home.spent()["errors"] == 1


def test_the_last_usage_of_a_message_counts(home: Home) -> None:
    """Blocks that are written while the answer comes can hold a smaller number."""
    path = home.claude(answer(1, output_tokens=1))
    assert home.spent()["tokens"]["output"] == 1
    with path.open("a") as file:
        file.write(answer(1, output_tokens=42))
    spent = home.spent()
    assert spent["tokens"]["output"] == 42
    assert spent["cost"] == close_to(ONE_ANSWER)


def test_a_cache_for_an_hour_costs_more(home: Home) -> None:
    record = json.loads(answer(1))
    record["message"]["usage"]["cache_creation"] = {"ephemeral_1h_input_tokens": 222}
    home.claude(json.dumps(record) + "\n")
    assert home.spent()["cost"] == close_to(ONE_ANSWER + 222 * (8 - 5) / 1e6)


def test_a_fast_answer_has_no_price_that_we_know(home: Home) -> None:
    record = json.loads(answer(1))
    record["message"]["usage"]["speed"] = "fast"
    home.claude(json.dumps(record) + "\n")
    spent = home.spent()
    assert spent["cost"] is None
    assert spent["why"] == "no price is known for claude-opus-5-5 (fast)"
    assert spent["context_window"] == 1_000_000


def test_the_status_line_gives_the_cost_and_the_window(home: Home) -> None:
    payload = json.loads(sample("claude.statusline.json"))
    session = payload["session_id"]
    payload["context_window"]["context_window_size"] = 400_000
    home.claude(answer(1), session)
    home.spent(session)
    spending.note_status_line(home.workspace, payload, now=NOW)
    spent = home.spent(session)
    assert spent["cost"] == close_to(ONE_ANSWER)
    assert spent["sure"] == "exact"
    assert spent["context_window"] == 400_000
    assert spent["context_percent"] == round(100 * 1609 / 400_000, 2)
    # The window holds for what the transcript says later.
    home.claude(answer(1) + answer(90_000, input_tokens=99_000), session)
    later = home.spent(session)
    assert later["context_window"] == 400_000
    assert later["context_percent"] == round(100 * (99_000 + 375) / 400_000, 2)
    assert later["sure"] == "estimated"


def test_a_status_line_without_numbers_changes_nothing(home: Home) -> None:
    payload = json.loads(sample("claude.statusline.json"))
    payload["context_window"]["current_usage"] = None
    payload["cost"] = {}
    home.claude(answer(1), payload["session_id"])
    before = home.spent(payload["session_id"])
    spending.note_status_line(home.workspace, payload, now=NOW)
    assert home.spent(payload["session_id"]) == before
