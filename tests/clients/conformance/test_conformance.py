"""Each client passes the suite."""

from __future__ import annotations

import pytest

from holdfast.clients.table import CLIENTS
from holdfast.testing.clients import Case
from holdfast.testing.clients.suite import *  # noqa: F403
from tests.clients.conformance.cases import CASES


@pytest.fixture(params=CASES.values(), ids=[*CASES])
def case(request: pytest.FixtureRequest) -> Case:
    chosen: Case = request.param
    return chosen


def test_each_client_has_a_row() -> None:
    assert set(CASES) == set(CLIENTS)
    assert [name for name in CASES if CASES[name].client != name] == []
