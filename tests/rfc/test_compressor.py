"""A command may say the same in fewer lines: checked like any answer, and nothing goes unnoticed."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.rfc.rules.vanished import vanished
from tests.rfc.world import (
    CHECKPOINT,
    DISCOVER,
    FEEDBACK,
    ID,
    Holdfast,
    Rfc,
    done,
    section,
    through,
)

Compressor = Callable[[str], None]
OVER = section("User Intent Signals", 8, "discover")
MERGING = """
import sys
lines = sys.stdin.read().splitlines()
bullets = [line for line in lines if line.startswith("- number")]
merged = "- " + "; ".join(line[2:] for line in bullets[:4])
print("\\n".join([*lines[: lines.index(bullets[0])], merged, *bullets[4:],
                  *lines[lines.index(bullets[-1]) + 1 :]]))
"""


@pytest.fixture
def compressor(begun: Rfc, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Compressor:
    """`compressor(code)`: from now on this program is the compressor."""

    def set_to(code: str) -> None:
        program = tmp_path / "compress.py"
        program.write_text(code)
        monkeypatch.setenv("HOLDFAST_RFC_COMPRESSOR", f"{sys.executable} {program}")

    return set_to


@pytest.mark.clause("RFC-52", "AMB-RFC-03")
def test_it_is_asked_only_when_nothing_else_helps(begun: Rfc, compressor: Compressor) -> None:
    compressor("raise SystemExit('called for nothing')")
    done(begun("write", "discover", given=DISCOVER))
    compressor(MERGING)
    answer = done(begun("write", "discover", "--json", given=OVER))
    assert answer.data["vanished"] == []
    text = CHECKPOINT.read_text("utf-8")
    for number in range(8):
        assert f"number {number} is about User Intent Signals" in text
    group = text.partition("### User Intent Signals\n")[2].partition("\n\n")[0]
    assert len(group.splitlines()) == 5
    # What it was given is in the journal, word by word.
    (record,) = [one for one in answer.data["outcome"]["records"] if one["kind"] == "written"]
    assert len(record["body"]["given"][0]["bullets"]) == 8


def test_what_it_reads(begun: Rfc, compressor: Compressor, tmp_path: Path) -> None:
    compressor(f"import sys; open({str(tmp_path / 'read')!r}, 'w').write(sys.stdin.read())")
    assert begun("write", "discover", given=OVER).code == 1
    read = (tmp_path / "read").read_text()
    assert read.startswith(
        "## DISCOVER Exit\n\n### User Intent Signals\n<!-- 3-7 bullets, one line each -->\n- number 0"
    )


@pytest.mark.clause("RFC-52")
def test_bullets_that_vanished_are_named(begun: Rfc, compressor: Compressor) -> None:
    cutting = MERGING.replace("bullets[:4])", "bullets[:3])")
    cutting = cutting.replace("number", "the")
    compressor(cutting)
    distinct = OVER
    for number, said in enumerate(
        ["cheap storage", "no downtime ever", "auditors matter", "mobile clients first"]
    ):
        distinct = distinct.replace(f"number {number} is about User Intent Signals", f"the {said}")
    rest = distinct.replace("- number", "- the other")
    answer = begun("write", "discover", given=rest)
    assert answer.code == 1
    assert "lost what these bullets say" in answer.err
    assert "mobile clients first" in answer.err
    assert "cheap storage" not in answer.err
    assert not CHECKPOINT.exists()
    accepted = done(begun("write", "discover", "--accept-vanished", given=rest))
    assert "warning: the mobile clients first" in accepted.err
    assert "mobile clients" not in CHECKPOINT.read_text("utf-8")


@pytest.mark.clause("RFC-52")
@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import sys; print(sys.stdin.read())", "has 8 bullets, 7 is the most"),
        ("print('I compressed it for you.')", "text that is no bullet"),
        ("print('### User Intent Signals')", "lost what these bullets say"),
        ("import sys; sys.stdout.buffer.write(b'\\xff')", "not UTF-8 at byte 0"),
        ("import sys; sys.exit('no credit left')", "ended with 1: no credit left"),
        ("import os; os.kill(os.getpid(), 9)", "ended with -9"),
    ],
)
def test_its_result_is_checked_like_any_answer(
    begun: Rfc, compressor: Compressor, code: str, said: str
) -> None:
    compressor(code)
    answer = begun("write", "discover", given=OVER)
    assert answer.code in (1, 2)
    assert said in answer.err
    assert not CHECKPOINT.exists()


def test_one_that_hangs_is_ended_with_its_children(
    begun: Rfc, compressor: Compressor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLDFAST_RFC_COMPRESSOR_SECONDS", "1")
    child = tmp_path / "child"
    compressor(
        "import subprocess, sys, time\n"
        "started = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        f"open({str(child)!r}, 'w').write(str(started.pid))\n"
        "time.sleep(600)\n"
    )
    answer = begun("write", "discover", given=OVER)
    assert answer.code == 1
    assert "took longer than 1 s" in answer.err
    if child.exists():  # on a busy machine it may not have come so far
        end = time.monotonic() + 30
        while _is_alive(int(child.read_text())) and time.monotonic() < end:
            time.sleep(0.02)
        assert not _is_alive(int(child.read_text()))


def _is_alive(process: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{process}/status").read_text()
    except OSError:
        return False


def test_one_that_never_stops_talking(begun: Rfc, compressor: Compressor) -> None:
    compressor("while True: print('- word ' * 1000)")
    answer = begun("write", "discover", given=OVER)
    assert answer.code == 1
    assert "answered more than 4000000 bytes" in answer.err


def test_one_that_is_not_there(begun: Rfc, monkeypatch: pytest.MonkeyPatch) -> None:
    for command in ("no-such-program-anywhere", "'unbalanced"):
        monkeypatch.setenv("HOLDFAST_RFC_COMPRESSOR", command)
        answer = begun("write", "discover", given=OVER)
        assert answer.code == 1
        assert "cannot be run" in answer.err


def test_it_is_a_setting_of_the_file(begun: Rfc, tmp_path: Path) -> None:
    program = tmp_path / "compress.py"
    program.write_text(MERGING)
    Path("holdfast.toml").write_text(f'[rfc]\ncompressor = "{sys.executable} {program}"\n')
    done(begun("transition", "discover-design", "--from", "-", given=OVER))
    assert "number 7 is about" in CHECKPOINT.read_text("utf-8")


def test_it_never_runs_for_a_reader(begun: Rfc, compressor: Compressor, tmp_path: Path) -> None:
    through(begun, "discover")
    marker = tmp_path / "called"
    compressor(f"open({str(marker)!r}, 'w')")
    for words in (("bootstrap",), ("show",), ("lint",), ("list",), ("prompt", "design")):
        begun(*words, ID) if words[0] in ("bootstrap", "show", "lint") else begun(*words)
    assert not marker.exists()
    assert os.path.exists(CHECKPOINT)


@pytest.mark.parametrize(
    ("before", "after", "gone"),
    [
        ("Latency against the audit log", "Audit log costs latency", False),
        ("Latency against the audit log", "Nobody wants a new service", True),
        ("DEC-001 and HR-002 are coupled", "DEC-001/HR-002 coupled; SCN-004 too", False),
        ("認証モデルは速さを優先する", "速さを優先する認証", False),
        ("認証モデルは速さを優先する", "監査ログの大きさ", True),
        ("ok", "ok then", False),
        ("ok", "no", True),
    ],
)
def test_what_counts_as_kept(before: str, after: str, gone: bool) -> None:
    lost = vanished(
        [{"title": "a", "bullets": [before]}], [{"title": "a", "bullets": ["other", after]}]
    )
    assert lost == ([before] if gone else [])


FRAME = "The user wants {}, the partners want {}"


@pytest.mark.clause("RFC-52")
def test_a_shared_frame_hides_no_bullet(begun: Rfc, monkeypatch: pytest.MonkeyPatch) -> None:
    """Four tensions of one form: dropping one of them is a loss, however alike they are."""
    pairs = [("European hosting", "low prices"), ("offline use", "telemetry")]
    pairs += [("short names", "stable names"), ("one region", "three")]
    bullets = "".join(f"- {FRAME.format(*pair)}\n" for pair in pairs)
    given = DISCOVER.replace("- Latency against the audit log\n", bullets)
    monkeypatch.setenv("HOLDFAST_RFC_COMPRESSOR", "grep -v European")
    answer = begun("write", "discover", given=given)
    assert answer.code == 1
    assert FRAME.format(*pairs[0]) in answer.err
    assert FRAME.format(*pairs[1]) not in answer.err
    assert not CHECKPOINT.exists()
    accepted = done(begun("write", "discover", "--accept-vanished", "--json", given=given))
    assert accepted.data["vanished"] == [FRAME.format(*pairs[0])]


def test_short_words_and_numbers_distinguish_too() -> None:
    for bullets in (
        ["use the EU", "use the US"],
        ["number 1", "number 10"],
        ["A over B", "B over A"],
    ):
        for dropped in bullets:
            kept = [bullet for bullet in bullets if bullet != dropped]
            before, after = {"title": "a", "bullets": bullets}, {"title": "a", "bullets": kept}
            assert vanished([before], [after]) == [dropped]  # type: ignore[list-item]


def test_it_is_said_that_it_ran(begun: Rfc, compressor: Compressor, holdfast: Holdfast) -> None:
    compressor(MERGING)
    assert "made 11 bullets into 8" in done(begun("write", "discover", "--dry-run", given=OVER)).out
    answer = done(begun("write", "discover", given=OVER))
    assert "rfc.compressor made 11 bullets into 8." in answer.out
    records = holdfast("history", f"rfc:{ID}", "--kind", "written", "--json").data["records"]
    assert f"kept in record {records[0]['id']}" in answer.out
    assert len(records[0]["body"]["given"][0]["bullets"]) == 8
    done(begun("write", "discover", given=DISCOVER))
    assert "rfc.compressor" not in done(begun("write", "discover", given=DISCOVER)).out


def test_feedback_is_compressed_too(begun: Rfc, compressor: Compressor) -> None:
    through(begun, "discover", "design")
    compressor(
        "import sys\n"
        "lines = sys.stdin.read().splitlines()\n"
        "new = [line for line in lines if line.startswith('- New: tension')]\n"
        "kept = [line for line in lines if line not in new]\n"
        "merged = '- New: ' + '; '.join(line[7:] for line in new)\n"
        "print('\\n'.join([*kept, merged]))\n"
    )
    many = "".join(f"- New: tension about topic{number}\n" for number in range(40))
    done(begun("write", "gate-b", given=FEEDBACK + many))
    text = CHECKPOINT.read_text("utf-8")
    assert all(f"topic{number}" in text for number in range(40))
