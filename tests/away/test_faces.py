"""`away` through the command line and the library: the same answer, and no mark is moved."""

from __future__ import annotations

from pathlib import Path

import holdfast as library
from holdfast.away.looked import read_looked
from tests.cli.conftest import Holdfast


def test_the_library_tells_what_the_command_tells(night: Path, holdfast: Holdfast) -> None:
    typed = holdfast("away", "--json", "--since", "24h").data
    with library.open() as workspace:
        returned = workspace.look_back(since="24h")
        here = workspace.look_back(here=True)
    assert returned["sessions"] == typed["sessions"]
    assert [one["project"] for one in here["sessions"]] == ["shop", "shop", "shop"]
    assert read_looked() is None
