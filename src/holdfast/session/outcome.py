"""How a command ended, by its line and by what it printed. Pure.

The exit status is that of the last program of a pipe, so `pytest | tail` always passes. What such a
command printed at its end says more, where it is one of a few known sentences.
"""

from __future__ import annotations

import re

_PIPE_END = re.compile(r"(?<!\|)\|\s*(tail|head|tee|cat|less|grep|egrep|rg|sed|awk|sort|uniq|wc)\b")
_IGNORED_END = re.compile(r"(?:\|\||;)\s*(?:true|:|echo\b[^;|&]*|exit 0)\s*$")
# After these, the end of the output is the end of the command's own output.
_SHOWS_THE_END = frozenset(("tail", "tee", "cat"))
_FAILED = re.compile(
    r"^(?:FAIL(?:\s|$)|--- FAIL: |FAILED[ (]|ERROR (?:tests?/|\S+::)|"
    r"=+ .*\b\d+ (?:failed|errors?)\b.*=+$|(?:\d+ failed|\d+ errors?)[,. ].*\bin \d|"
    r"test result: FAILED|error(?:\[E\d+\])?: could not compile|Tests?:\s+\d+ failed|"
    r"\s*\d+ failing$|make(?:\[\d+\])?: \*\*\* |npm ERR! |BUILD FAILED|"
    r"Found \d+ errors?\b|Traceback \(most recent call last\):$)",
    re.MULTILINE,
)
_PASSED = re.compile(
    r"^(?:ok\s+\S+|PASS$|=+ (?:\d+ \w+, )*\d+ passed\b.*=+$|\d+ passed\b|test result: ok|OK$|"
    r"Tests?:\s+\d+ passed|Success: no issues found|All checks passed!)",
    re.MULTILINE,
)
LAST_LINES = 25


def outcome(line: str, output: str, failed: bool | None) -> bool | None:
    """Whether a command failed; None where that cannot be known."""
    if failed is None:
        return None
    pipe = _PIPE_END.findall(line)
    if not pipe and not _IGNORED_END.search(line):
        return failed
    end = "\n".join(output.rstrip().split("\n")[-LAST_LINES:])
    if _FAILED.search(end):
        return True
    if _PASSED.search(end):
        return False
    if pipe and pipe[-1] in _SHOWS_THE_END:
        return failed
    # The status is that of the filter, and the filter may have hidden the end.
    return None


# Which command says that another one would pass

_AND = re.compile(r"\s*&&\s*")
_WORD = re.compile(r"\"[^\"]*\"|'[^']*'|\S+")
_RUNNERS = re.compile(
    r"(?:(?:python3?|uv run|poetry run)(?: -m)? )?(pytest)\b|(go (?:test|vet|build))\b|"
    r"(cargo (?:test|check|clippy|build))\b|((?:npm|pnpm|yarn|bun) (?:run )?[\w:.-]+)|"
    r"((?:npx )?(?:jest|vitest|eslint|tsc))\b|(make [\w.-]+)|((?:ruff check|ruff|mypy|tox|flake8))\b|"
    r"(golangci-lint run)\b|(mise run [\w:.-]+)"
)
# With a value of its own, or without: how much is printed and how fast, never what is checked.
_HARMLESS = re.compile(
    r"-(?:v+|q+|x|s|n|p|j|json|failfast|count|timeout|parallel|cover\w*)$|--(?:tb|maxfail|verbose|"
    r"quiet|color|durations|no-header|timeout|silent)$"
)
_TAKES_A_VALUE = frozenset(
    ("-n", "-p", "-j", "-count", "-timeout", "-parallel", "--timeout", "-run")
)
_FILTERS = frozenset(
    (
        *("-run", "-k", "-m", "-t", "--grep", "--filter", "-skip", "--deselect", "--ignore"),
        *("-bench", "-short", "--lf", "--last-failed", "--testNamePattern", "--lib", "--bin"),
        *("--exclude", "--test"),
    )
)


def covers(passed: str, failed: str) -> bool:
    """Whether a command line that passed says that one that failed before would pass now."""
    if passed == failed:
        return True
    done, wanted = _AND.split(passed), _AND.split(failed)
    if [one for one in done if one.startswith("cd ")] != [
        one for one in wanted if one.startswith("cd ")
    ]:
        return False
    return all(any(_covers_one(one, part) for one in done) for part in wanted if part)


def _covers_one(passed: str, failed: str) -> bool:
    if passed == failed:
        return True
    wide, narrow = _parsed(passed), _parsed(failed)
    if wide is None or narrow is None or wide[0] != narrow[0]:
        return False
    if wide[1] - narrow[1] or narrow[2] - wide[2]:
        return False
    return _contains(wide[0], wide[3], narrow[3])


def _parsed(command: str) -> tuple[str, set[str], set[str], list[str]] | None:
    """The runner, its filters, its other options, and the paths that it is given."""
    runner = _RUNNERS.match(command)
    if runner is None:
        return None
    name = next(group for group in runner.groups() if group)
    filters: set[str] = set()
    options: set[str] = set()
    paths: list[str] = []
    words = _WORD.findall(command[runner.end() :])
    while words:
        word = words.pop(0)
        flag, _, value = word.partition("=")
        if flag in _FILTERS:
            if not value and words and flag not in ("-short", "--lf", "--last-failed", "--lib"):
                value = words.pop(0)
            filters.add(f"{flag}={value}")
        elif word.startswith("-"):
            if flag in _TAKES_A_VALUE and not value and words:
                words.pop(0)
            if not _HARMLESS.match(flag):
                options.add(word)
        elif word not in ("2>&1",):
            paths.append(word)
    return name, filters, options, paths


def _contains(runner: str, wide: list[str], narrow: list[str]) -> bool:
    """Whether every narrow path lies in a wide one. No path is all, but for Go, where it is `.`."""
    if runner.startswith("go "):
        wide, narrow = wide or ["."], narrow or ["."]
        return all(any(_in_package(path, one) for one in wide) for path in narrow)
    if not wide:
        return True
    return bool(narrow) and all(any(_in_folder(path, one) for one in wide) for path in narrow)


def _in_package(path: str, wide: str) -> bool:
    if not wide.endswith("..."):
        return path == wide
    root = wide.removesuffix("...").removeprefix("./")
    inner = path.removesuffix("...").removeprefix("./")
    return (inner if inner != "." else "").startswith(root) or inner.rstrip("/") == root.rstrip("/")


def _in_folder(path: str, wide: str) -> bool:
    path, wide = path.removeprefix("./"), wide.removeprefix("./").rstrip("/")
    return (
        wide in ("", ".") or path == wide or path.startswith((f"{wide}/", f"{wide}::", f"{wide}["))
    )
