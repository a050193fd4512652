"""All tests of a journal, for a module of your own that has a fixture `store`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from holdfast.testing.journal import Store
from holdfast.testing.journal.append import *  # noqa: F403
from holdfast.testing.journal.chain import *  # noqa: F403
from holdfast.testing.journal.damage import *  # noqa: F403
from holdfast.testing.journal.reading import *  # noqa: F403
from holdfast.testing.journal.retention import *  # noqa: F403
from holdfast.testing.journal.rights import *  # noqa: F403
from holdfast.testing.journal.side_rows import *  # noqa: F403
from holdfast.testing.journal.snapshots import *  # noqa: F403
from holdfast.testing.journal.waiting import *  # noqa: F403

if TYPE_CHECKING:
    from holdfast.journal.interface import Journal


@pytest.fixture
def journal(store: Store, tmp_path: Path) -> Iterator[Journal]:
    """An empty journal."""
    opened = store.open(tmp_path)
    yield opened
    opened.close()
