"""How the steps of a command line ended, and which run says that another one would pass now."""

from __future__ import annotations

import pytest

from holdfast.observe.outcome import ends_of, is_check, step_covers, steps_of

PYTEST = "=================== 1 failed, 3 passed in 0.12s ==================="


@pytest.mark.parametrize(
    ("line", "output", "status", "expected"),
    [
        ("pytest", PYTEST, False, False),
        ("pytest", "", True, True),
        ("pytest | tail -3", PYTEST, False, True),
        ("pytest 2>&1 | tail -3", "FAILED tests/test_a.py::test_b - assert 1 == 2", False, True),
        ("pytest | tail -3", "===== 4 passed in 0.12s =====", False, False),
        ("pytest | tail -3", "", False, None),
        ("go build ./... | head -20", "(Bash completed with no output)", False, False),
        ("go build ./... | head", "# shop/tax\ntax/a.go:3:2: undefined: x", False, True),
        ("go test ./...", "FAIL\tshop", None, True),
        ("go test ./...", "ok \tshop", None, None),
        ("golangci-lint run | tail", "3 issues:\n* dupl: 3", False, True),
        ("golangci-lint run | tail", "0 issues.", False, False),
        ("python tool.py | tail", "Traceback (most recent call last):\nKeyError", False, True),
        ("npm test | tail", "  Tests  4 passed (4)", False, False),
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
        ("pytest | tail -3", PYTEST, None, True),
        ("pytest | tail -3", "E  assert", True, True),
        ("make lint; npm test", "", False, False),
    ],
)
def test_the_outcome_of(line: str, output: str, status: bool | None, expected: bool | None) -> None:
    ends = ends_of(steps_of(line), output, status)
    assert {failed for _, failed in ends} == {expected}


def test_each_step_of_a_line_has_its_own_end() -> None:
    line = "gofmt -l a.go; echo '--- test ---'; go test ./pkg -run TestTotal 2>&1 | tail -20"
    failed = ends_of(steps_of(line), "a.go\n--- test ---\nFAIL\nFAIL\tshop/pkg\t0.9s", False)
    assert dict(failed)["go test ./pkg -run TestTotal"] is True
    line = "go vet ./... && go test ./..."
    assert ends_of(steps_of(line), "--- FAIL: TestTotal\nFAIL", True) == [
        ("go vet ./...", False),
        ("go test ./...", True),
    ]
    assert {end for _, end in ends_of(steps_of(line), "killed by a signal", True)} == {True}
    assert {end for _, end in ends_of(steps_of(line), "", False)} == {False}


def test_a_failure_names_the_packages_that_failed() -> None:
    output = "ok  \tx.io/shop/cmd/till\t0.1s\nFAIL\tx.io/shop/tax/rates [build failed]\nFAIL"
    steps = steps_of("go test ./tax/... ./cmd/till ./api -v | tail -30")
    assert ends_of(steps, output, False) == [("go test ./tax/rates -v", True)]
    elsewhere = "FAIL\tx.io/other/lib\t0.1s"
    assert ends_of(steps, elsewhere, False) == [("go test ./tax/... ./cmd/till ./api -v", True)]


def test_what_was_killed_has_neither_passed_nor_failed() -> None:
    assert ends_of(steps_of("npm start"), "Exit code 143\nlistening", True) == [("npm start", None)]


@pytest.mark.parametrize(
    ("line", "steps"),
    [
        ("cd api && pytest -q tests 2>&1 | tail -5", ["~cd api && pytest -q tests"]),
        ("cd /home/dev/shop && make test", ["=make test"]),
        ("cd /home/dev/shop/api; make test > log.txt", ["=cd api && make test"]),
        ("cd api && npm ci && cd ../web && npm test", ["=cd api && npm ci", "=cd web && npm test"]),
        ("(cd web && npm run build) && make test", ["=cd web && npm run build", "=make test"]),
        ("mise run fmt && mise run lint", ["=mise run lint"]),
        ("gofmt -w . && go build ./...", ["=go build ./..."]),
        ("prettier --check src", ["=prettier --check src"]),
        ("cat > a.py <<'EOF'\nimport x; rm -rf y\nEOF\npytest a.py", ["=pytest a.py"]),
        ("set -euo pipefail\n./deploy.sh | tee log\n./check.sh", ["=./deploy.sh", "=./check.sh"]),
        ("./deploy.sh\n./check.sh", ["~./deploy.sh", "=./check.sh"]),
        ("bash -lc 'cd api && npm test'", ["=cd api && npm test"]),
        ("for i in 1 2 3; do go test ./x; done", ["?go test ./x"]),
        ("git -C ../other push | tail -3", ["~cd ../other && git push"]),
        ('git commit -m "a; b && c | d"', ['=git commit -m "a; b && c | d"']),
        ("TMP=$(mktemp -d) && rg x | head; test -f y", []),
        ("python3 -c 'import shop'", ["=python3 -c 'import shop'"]),
        ("python3 -c '\nimport shop\nshop.main()'", []),
        ("go run . --json | python3 -c 'import json'", ["?go run . --json"]),
        ("python3 - <<'PY'\nprint(1)\nPY", []),
        ("rm -f a && ls b*", []),
        ("echo 'no quotes' >&2; exit 3", ["=echo 'no quotes' >&2; exit 3"]),
        ("", []),
        ("'unclosed && pytest", ["='unclosed && pytest"]),
        ("if command -v eslint; then\neslint src\nfi", ["?eslint src"]),
        ("# Try it\ncd /tmp/probe && ./probe", []),
    ],
)
def test_the_steps_of_a_line(line: str, steps: list[str]) -> None:
    assert steps_of(line, root="/home/dev/shop")[: len(steps) or 1] == steps


def test_only_a_known_runner_is_a_check() -> None:
    assert is_check(["cd api && uv run pytest -q"])
    assert is_check(["./gradlew test"])
    assert not is_check(["./deploy.sh", "ffprobe -v error a.mp4"])


def covers(passed: str, failed: str) -> bool:
    """Whether a line that passed says that one that failed before would pass now."""
    done = [one[1:] for one in steps_of(passed)]
    return all(any(step_covers(one, step[1:]) for one in done) for step in steps_of(failed))


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
        ("go test ./...", "go build ./... && go test ./..."),
        ("go test ./... | tail", "gofmt -l a.go && go test ./pkg -run 'TestA|TestB' -v | tail -9"),
        ("gofmt -l . && go test ./...", "gofmt -l .; go test ./pkg -run TestA"),
        ("go test ./pkg -run TestTotal", "go test ./pkg -run 'TestTotalTax|TestTotalSum' -v"),
        ("mise exec -- go test ./...", "go test ./..."),
        ("env GOCACHE=/x go test ./...", "timeout 60 go test ./pkg"),
        ("make lint test", "make test"),
        ("npm run test", "npm test -- src/basket.test.ts"),
        ("mise run lint", "mise run fmt && mise run lint"),
        ("./gradlew check test", "./gradlew test"),
        (".venv/bin/python -m pytest", "uv run pytest tests/test_a.py"),
        ("git push origin main", "git push --force-with-lease"),
        ("pip install -r requirements.txt", "pip install requests==9"),
        ("npx tsc --noEmit", "pnpm exec tsc --noEmit"),
        ("golangci-lint run", "golangci-lint run --timeout=30m ./internal/..."),
        ("bash -n run.sh", "bash -n run.sh"),
        ("eslint src", "npx eslint src/basket.ts"),
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
        ("go build ./...", "go build ./... && go test ./..."),
        ("go test ./pkg -run TestTotalTax", "go test ./pkg -run TestTotal"),
        ("go test ./...", "go test -tags=integration ./..."),
        ("make", "make test"),
        ("make test", "make lint test"),
        ("mise run lint:go", "mise run lint"),
        ("npm test -- src/a.test.ts", "npm test"),
        ("bash -n run.sh", "bash -n other.sh"),
        ("git commit -m x", "git push"),
        ("./run.sh a", "./run.sh b"),
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
