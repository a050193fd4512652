"""How a command ended, and which command says so of another one."""

from __future__ import annotations

import pytest

from holdfast.session.outcome import covers, outcome

PYTEST = "=================== 1 failed, 3 passed in 0.12s ==================="


@pytest.mark.parametrize(
    ("line", "output", "status", "expected"),
    [
        ("pytest", PYTEST, False, False),
        ("pytest", "", True, True),
        ("pytest | tail -3", PYTEST, False, True),
        ("pytest 2>&1 | tail -3", "FAILED tests/test_a.py::test_b - assert 1 == 2", False, True),
        ("pytest | tail -3", "===== 4 passed in 0.12s =====", False, False),
        ("pytest | tail -3", "", False, False),
        ("pytest || true", PYTEST, False, True),
        ("pytest; echo done", "nothing known", False, None),
        ("go test ./... | grep -v ok", "", True, None),
        ("go test ./... | grep -c FAIL", "3", False, None),
        ("go test ./... | grep FAIL", "FAIL\tshop/tax\t0.1s", False, True),
        ("cargo test | tail", "test result: FAILED. 1 passed; 2 failed", False, True),
        ("npx jest | tail", "Tests:       2 failed, 5 passed, 7 total", False, True),
        ("make | tail", "make: *** [Makefile:3: all] Error 2", False, True),
        ("mypy . | tail -1", "Found 3 errors in 2 files", False, True),
        ("mypy . | tail -1", "Success: no issues found in 9 source files", False, False),
        ("python tool.py | tail", "all the FAILURES were mended", False, False),
        ("pytest | tail -3", PYTEST, None, None),
    ],
)
def test_the_outcome_of(line: str, output: str, status: bool | None, expected: bool | None) -> None:
    assert outcome(line, output, status) is expected


@pytest.mark.parametrize(
    ("passed", "failed"),
    [
        ("make test", "make test"),
        ("go test ./...", "go test ./pkg"),
        ("go test ./...", "go test ./pkg/... -run TestTotal"),
        ("go test ./... -count=1", "go test -v ./pkg"),
        ("go test -race ./...", "go test ./pkg"),
        ("go test ./a ./b", "go test ./b"),
        ("go build ./... && go test ./...", "go test ./pkg"),
        ("go build ./... && go test ./...", "go build ./... && go test ./pkg"),
        ("pytest", "pytest tests/test_a.py -k total"),
        ("pytest -q tests", "python -m pytest tests/test_a.py::test_b -x"),
        ("pytest tests/test_a.py", "pytest tests/test_a.py::test_b"),
        ("cargo test", "cargo test total"),
        ("cd api && pytest", "cd api && pytest tests/test_b.py"),
        ("ruff check src tests", "ruff check src"),
    ],
)
def test_a_command_covers(passed: str, failed: str) -> None:
    assert covers(passed, failed)


@pytest.mark.parametrize(
    ("passed", "failed"),
    [
        ("go test ./pkg", "go test ./..."),
        ("go test ./pkg", "go test ./pkg2"),
        ("go test", "go test ./pkg"),
        ("go test ./...", "go test -race ./..."),
        ("go test ./... -run TestTax", "go test ./... -run TestTotal"),
        ("go test ./... -run TestTax", "go test ./..."),
        ("go test ./... -short", "go test ./..."),
        ("go vet ./...", "go test ./..."),
        ("go test ./...", "go build ./... && go test ./..."),
        ("pytest tests/test_a.py", "pytest tests/test_b.py"),
        ("pytest tests", "pytest"),
        ("pytest -k tax", "pytest tests/test_b.py"),
        ("npm test", "npm run lint"),
        ("make check", "make test"),
        ("cd api && pytest", "cd web && pytest"),
        ("cd api && pytest", "pytest tests/test_b.py"),
        ("pytest", "cd api && pytest"),
        ("./run.sh", "./run.sh all"),
    ],
)
def test_a_command_does_not_cover(passed: str, failed: str) -> None:
    assert not covers(passed, failed)
