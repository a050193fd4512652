"""200 agents that beat once a second for a minute, from 20 processes."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.fleet.test_many import beaten

pytestmark = pytest.mark.proof


def test_two_hundred_agents_for_a_minute(repository: Path) -> None:
    began = time.monotonic()
    beaten(repository, processes=20, agents=10, beats=60, pause=1.0)
    print(
        f"\n200 agents, 12,000 beats, {time.monotonic() - began:.0f} s: none lost, none late read"
    )
