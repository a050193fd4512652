"""Control characters of an agent's text do nothing to whoever reads the progress file with `cat`."""

from __future__ import annotations

from pathlib import Path

from holdfast.kernel.text import harmless
from holdfast.session.rules import progress
from tests.session import world as session_world
from tests.session.world import PROGRESS, Holdfast

holdfast = session_world.holdfast


def test_the_progress_file_has_no_control_character(repository: Path, holdfast: Holdfast) -> None:
    work = [*session_world.WORK, "--remaining", "clear \x1b[2J\x9b2J and \u202e turn\rover"]
    assert holdfast("checkpoint", *work).code == 0
    text = PROGRESS.read_bytes().decode()
    assert "clear ␛[2J" in text
    assert not set(text) & set("\x1b\x9b\u202e\r")
    assert progress.write(progress.parse(text), "", []) == progress.write(
        progress.parse(harmless(text)), "", []
    )
    assert holdfast("doctor").code == 0, "and the file says what the journal says"


def test_letters_and_line_ends_stay() -> None:
    kept = "naïve\xa0café 👩\u200d💻 שלום\u200f\tx\r\ny\n"
    assert harmless(kept) == kept
    assert harmless("a\rb\x00\x7f") == "a␍b␀␡"
