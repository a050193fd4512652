"""The suites by which someone else proves a part of their own. They need pytest, which nothing else here does."""

import pytest

pytest.register_assert_rewrite("holdfast.testing.clients", "holdfast.testing.journal")
