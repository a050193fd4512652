"""What Gemini CLI writes down, as events."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.clients import conversation
from holdfast.clients.conversation import SessionEvent
from holdfast.clients.gemini import transcript as gemini_transcript
from tests.clients.transcripts.conftest import SAMPLES, STORY, new_state, told

if TYPE_CHECKING:
    from holdfast.clients.conversation import ReaderState

RECORDINGS = Path(__file__).parents[3] / "bench/continuity/recordings/gemini"
LINES = (SAMPLES / "gemini.jsonl").read_bytes().splitlines()


def read(*lines: bytes, state: ReaderState | None = None) -> list[SessionEvent]:
    return list(conversation.read(gemini_transcript, lines, state or new_state()))


def line(**record: Any) -> bytes:
    return json.dumps(record, separators=(",", ":")).encode()


def message(number: int, kind: str, content: Any, **more: Any) -> dict[str, Any]:
    at = f"2026-11-16T10:{number // 60:02d}:{number % 60:02d}.000Z"
    return {"id": f"m{number}", "timestamp": at, "type": kind, "content": content, **more}


def call(name: str, args: dict[str, Any], status: str = "success", **more: Any) -> dict[str, Any]:
    output = more.pop("output", "ok")
    result = [{"functionResponse": {"id": "c1", "response": {"output": output}}}]
    return {"id": "c1", "name": name, "args": args, "status": status, "result": result, **more}


def called(name: str, args: dict[str, Any], **more: Any) -> list[SessionEvent]:
    return read(line(**message(1, "gemini", "", toolCalls=[call(name, args, **more)])))


def test_a_recorded_session_tells_its_story() -> None:
    state = new_state()
    events = read(*LINES, state=state)
    assert told(events) == [("place", "/home/dev/proj"), *STORY]
    assert state["unknown"] == 0
    failure = next(event for event in events if event.kind == "result" and event.failed)
    assert "Could not find an exact match" in failure.text
    shell = [event for event in events if event.kind == "result"][-1]
    assert shell.text == "AssertionError: quotes were lost"


def test_line_by_line_says_the_same_and_nothing_twice() -> None:
    state, events = new_state(), []
    for each in LINES:
        events += read(each, state=json.loads(json.dumps(state)))
        read(each, state=state)
    assert events == read(*LINES)
    assert read(*LINES, state=state) == []


def test_what_is_old_in_a_long_chat_is_only_skimmed() -> None:
    size = gemini_transcript.READ_WHOLE + sum(len(each) + 1 for each in LINES)
    events = conversation.read(gemini_transcript, LINES, new_state(), size=size)
    kept = [event.kind for event in events]
    assert kept == ["place", "prompt", "call", "call", "tasks", "call", "call", "call"]


@pytest.mark.parametrize(
    ("name", "prompts", "kinds"),
    [
        ("short", 5, {"run": 30, "edit": 17, "read": 24, "search": 9, "tasks": 25, "result": 105}),
        (
            "medium",
            8,
            {"run": 46, "edit": 28, "read": 32, "search": 20, "tasks": 37, "result": 163},
        ),
    ],
)
def test_a_chat_resumed_many_times_counts_each_call_and_prompt_once(
    name: str, prompts: int, kinds: dict[str, int]
) -> None:
    packed = (RECORDINGS / f"gemini-{name}.jsonl.gz").read_bytes()
    lines = gzip.decompress(packed).splitlines()
    size = sum(len(each) + 1 for each in lines)
    events = list(conversation.read(gemini_transcript, lines, new_state(), size=size))
    found = Counter(str(event.kind) for event in events)
    assert {kind: found[kind] for kind in kinds} == kinds
    assert found["call"] == 0
    asked = [event.text for event in events if event.kind == "prompt"]
    assert len(asked) == len(set(asked)) == prompts


def test_a_repeated_history_with_new_times_says_only_what_follows_the_last_message() -> None:
    first = [message(1, "user", "ask"), message(2, "gemini", "answer")]
    later = [{**each, "timestamp": "2026-11-16T11:00:00.000Z"} for each in first]
    new = {**message(3, "user", "and now?"), "timestamp": "2026-11-16T11:00:01.000Z"}
    state = new_state()
    read(*(line(**each) for each in first), state=state)
    assert read(line(**{"$set": {"messages": later}}), state=state) == []
    history = line(**{"$set": {"messages": [*later, new]}})
    assert told(read(history, state=state)) == [("prompt", "and now?")]


def test_a_long_history_that_is_known_is_not_decoded() -> None:
    state = new_state()
    words = "word " * 2000
    first = [message(1, "user", words), message(2, "gemini", "answer")]
    read(*(line(**each) for each in first), state=state)
    known = line(**{"$set": {"messages": first}})
    assert gemini_transcript.peek(known, state, [])
    longer = line(**{"$set": {"messages": [*first, message(3, "gemini", "more")]}})
    assert not gemini_transcript.peek(longer, state, [])
    assert told(read(longer, state=state)) == [("said", "more")]


def test_a_history_that_is_repeated_whole_says_nothing_new() -> None:
    history = []
    for number in range(0, 400, 2):
        history.append(message(number, "user", f"ask {number}"))
        history.append(message(number + 1, "gemini", f"answer {number}"))
    state = new_state()
    assert len(read(*(line(**each) for each in history), state=state)) == 400
    patch = {"messages": history, "lastUpdated": "2026-11-16T12:00:00.000Z"}
    assert read(line(**{"$set": patch}), state=state) == []
    assert told(read(line(**message(401, "user", "go on")), state=state)) == [("prompt", "go on")]


def test_a_compression_is_seen_with_its_summary() -> None:
    snapshot = [{"text": "<state_snapshot>\n<goal>keep quotes</goal>"}]
    patch = {
        "messages": [
            message(9, "user", snapshot),
            message(10, "gemini", "Got it. Thanks for the additional context!"),
        ]
    }
    events = read(line(**message(1, "user", "ask")), line(**{"$set": patch}))
    assert told(events) == [
        ("prompt", "ask"),
        ("compact", ""),
        ("summary", "<goal>keep quotes</goal>"),
    ]


def test_a_call_and_its_later_result_count_once_each() -> None:
    begun = {**call("run_shell_command", {"command": "make"}, "executing"), "result": None}
    ended = call("run_shell_command", {"command": "make"}, output="fine")
    state = new_state()
    lines = [line(**message(1, "gemini", "", toolCalls=[each])) for each in (begun, begun, ended)]
    assert told(read(lines[0], state=state)) == [("run", "make")]
    assert told(read(lines[1], state=state)) == []
    assert told(read(lines[2], lines[2], state=state)) == [("result", "passed")]


@pytest.mark.parametrize(
    ("output", "outcome"),
    [
        ("<untrusted_context>\nOutput: hi\nProcess Group PGID: 7\n</untrusted_context>", "passed"),
        ("Output: hi\nExit Code: 2", "failed"),
        ("Command: x\nOutput: hi\nError: (none)\nExit Code: 0\nSignal: (none)", "passed"),
        ("Output: hi\nExit Code: (none)\nSignal: SIGKILL", "failed"),
    ],
)
def test_a_shells_exit_code_decides(output: str, outcome: str) -> None:
    assert told(called("run_shell_command", {"command": "x"}, output=output))[1][1] == outcome


def test_a_refused_call_has_not_failed() -> None:
    assert told(called("replace", {"file_path": "a"}, status="cancelled"))[1] == ("result", "?")


def test_tools_of_older_and_newer_versions() -> None:
    reads = called("read_many_files", {"include": ["a.py", "b.py"]})
    assert [(event.path, event.again) for event in reads[:2]] == [("a.py", False), ("b.py", True)]
    assert told(called("read_file", {"absolute_path": "/x"}))[0] == ("read", "/x")
    assert told(called("search_file_content", {"pattern": "foo"}))[0] == ("search", "foo")
    agent = called("invoke_agent", {"agent_name": "a", "prompt": "look"})
    assert [event.kind for event in agent] == ["agent", "result", "agent_end"]
    assert told(called("save_memory", {"fact": "x"}))[0] == ("call", 'save_memory {"fact": "x"}')


def test_tracked_tasks_change_one_by_one() -> None:
    made = called("tracker_create_task", {"title": "Parser"}, output="Created task ab12: Parser")
    assert made[-1].tasks == [{"key": "ab12", "text": "Parser", "state": "open"}]
    closed = called(
        "tracker_update_task",
        {"id": "ab12", "status": "closed"},
        output="Updated task ab12. Status",
    )
    assert closed[-1].tasks == [{"key": "ab12", "text": "", "state": "done"}]


def test_what_the_person_chose_is_an_answer() -> None:
    questions = {"questions": [{"question": "Which?"}, {"question": "When?"}]}
    events = called("ask_user", questions, output=json.dumps({"answers": {"0": "tabs"}}))
    assert [(event.about, event.text) for event in events if event.kind == "answer"] == [
        ("Which?", "tabs")
    ]


def test_what_the_client_inserts_is_no_prompt() -> None:
    inserted = [
        "<session_context>\nToday is Monday.\n</session_context>",
        "This is the Gemini CLI. We are setting up the context for our chat.",
        "/help",
        "?",
        "<hook_context>remember</hook_context>",
    ]
    lines = [line(**message(number, "user", text)) for number, text in enumerate(inserted)]
    hooked = "<hook_context>remember</hook_context>\n\nfix it"
    assert told(read(*lines, line(**message(9, "user", hooked)))) == [("prompt", "fix it")]


def test_the_words_that_were_typed_win_over_their_expansion() -> None:
    typed = message(
        1, "user", [{"text": "see @a.py\n--- content of a.py"}], displayContent="see @a.py"
    )
    assert told(read(line(**typed))) == [("prompt", "see @a.py")]


def test_the_unknown_is_counted_and_skipped() -> None:
    state = new_state()
    lines = [b"\xff\xfe", b"[]", line(surprise=1), line(**message(1, "novel", "x")), b""]
    assert read(*lines, line(**message(2, "user", "go")), state=state) == [
        SessionEvent("prompt", at="2026-11-16T10:00:02.000Z", text="go")
    ]
    assert state["unknown"] == 4


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=4,
)
FIELDS = ("id", "timestamp", "type", "content", "toolCalls", "$set", "messages", "displayContent")


@given(st.dictionaries(st.sampled_from(FIELDS), JSON))
def test_no_record_breaks_the_reader(record: dict[str, Any]) -> None:
    gemini_transcript.parse(record, new_state(), [])
    gemini_transcript.parse({**record, "id": "x", "type": "gemini"}, new_state(), [])


@pytest.mark.parametrize("odd", [[], {}, 1, None, [[]]])
def test_a_field_of_another_kind_is_no_error(odd: Any) -> None:
    for field in ("id", "timestamp", "type", "content", "toolCalls"):
        gemini_transcript.parse({**message(1, "gemini", "x"), field: odd}, new_state(), [])
    for field in ("id", "name", "args", "status", "result", "timestamp"):
        odd_call = {**call("replace", {}), field: odd}
        gemini_transcript.parse(message(1, "gemini", "", toolCalls=[odd_call]), new_state(), [])


@given(st.dictionaries(st.sampled_from(("id", "args", "result", "status", "resultDisplay")), JSON))
def test_no_tool_call_breaks_the_reader(given_call: dict[str, Any]) -> None:
    for tool in ("replace", "run_shell_command", "write_todos", "ask_user", "tracker_update_task"):
        whole = {**given_call, "name": tool, "status": "success"}
        record = {"id": "x", "type": "gemini", "toolCalls": [whole]}
        gemini_transcript.parse(record, new_state(), [])
