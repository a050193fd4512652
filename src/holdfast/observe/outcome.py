"""How each step of a command line ended, and which run says that another one would pass now. Pure.

The exit status of a line is that of its last step, and a step in a pipe has the status of its filter:
`pytest | tail` always passes. What a known program printed says more than such a status. A failure
stays open until a run that covers it passes: the same runner, with the same or wider targets.
"""

from __future__ import annotations

import os

from holdfast.kernel import canonical_json
from holdfast.kernel.patterns import DOTALL, MULTILINE, compile_later
from holdfast.kernel.plain_file import read_plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

# How the end of a step is known: by the status of the line, by what was printed, or, behind a filter
# that may hide the end, only by a failure that was printed.
BY_STATUS, BY_OUTPUT, BY_FAILURE = "=", "~", "?"
LONGEST_LINE, LONGEST_STEP, MOST_STEPS = 6000, 200, 8

# Splitting a line

_HEREDOC = compile_later(r"<<-?\s*(['\"]?)(\w+)\1([^\n]*)\n.*?(?:\n\s*\2\b|\Z)", DOTALL)
_TOKEN = compile_later(
    # A quote that is not closed takes the rest.
    r"'[^']*(?:'|\Z)|\"(?:\\.|[^\"\\]|\\\Z)*(?:\"|\Z)|\\.|\$\(|&&|\|\||\|&?|[;\n]|[<>&]>+&?|>&|&|[()]|"
    r"[^'\"\\$&|;\n()<>]+|.",
    DOTALL,
)
_SIGNS = frozenset(("&&", "||", "|", "|&", ";", "\n", "&"))
# A `cd` between parentheses ends with them.
_OPENS, _CLOSES = "\x01", "\x02"
_GROUPS = {"(": _OPENS, ")": _CLOSES}
_REDIRECTED = compile_later(r"(?:^|\s)[012&]?>>?(?:&[012-]|\s*[^\s;&|>]+)|(?:^|\s)<\s*[^\s<(]+")
_OPTIONS_OF_SHELL = compile_later(r"set\s+-\w*e|set\s+.*pipefail|set\s+-\w+$")
_STARTS_A_BLOCK = compile_later(r"(?:do|then|else|elif|if|while|until|!|\{)\s+(?=\S)")
_CONTROL = compile_later(
    r"(?:#|(?:for|while|until|if|then|else|do|case|done|fi|esac|function|select|\}|\[\[|\(\()(?:\s|$))"
)
_SAYS_THAT_IT_FAILED = compile_later(r"\bexit [1-9]\d*\s*$")
_ENTERS = compile_later(r"cd\s+(?:--\s+)?(\"[^\"]+\"|'[^']+'|\S+)$")
_ELSEWHERE = compile_later(r"(git|make)\s+-C\s+(\S+)\s+")
_INNER_SHELL = compile_later(r"(?:\S*/)?(?:ba|z|da)?sh\s+-\w*c\s+(['\"])(.+)\1$", DOTALL)
# What is tried out there is no part of the work, unless it is a known check.
_SCRATCH = ("/tmp", "/private", "/var", "$")  # noqa: S108
# What shows the end of the output, and what may hide it.
_SHOWS_THE_END = frozenset(("tail", "tee", "cat"))
_SHOWS_THE_START = frozenset(("head", "less", "more"))

_MODULE = compile_later(r"^(?:\S*/)?python[\d.]*\s+(?:-[A-Za-z]\s+)*-m\s+")
_IN_A_FOLDER_OF_PROGRAMS = compile_later(
    r"\S*(?:\.venv|venv|node_modules|/usr)(?:/\S*)?/bin/|\S*/\.bin/"
)
_ONLY_CHECKS = compile_later(r"\s(?:--check|--diff|--dry-run)(?:\s|$)")
# A script of several lines, or one that is fed to a program, is an experiment: it will not be made
# to pass.
_INLINE = compile_later(
    r"(?:\S*/)?(?:python[\d.]*|node|ruby|perl|php|deno|bun|osascript|psql|sqlite3|mysql)\b"
    r"(?:\s+-[\w-]+)*\s+(?:-\w*[ceE]\b|--eval\b|eval\b)"
)
_FED = compile_later(
    r"(?:\S*/)?(?:python[\d.]*|node|ruby|perl|php|deno|bun)(?:\s+-[\w-]+)*\s+-(?:\s|$)"
)

_K_IS_NO_FILTER = frozenset(("make",))
_WORD = compile_later(r"(?:\"(?:\\.|[^\"\\])*\"|'[^']*'|\\.|[^\s\"'\\])+")

_FAILED_PACKAGE = compile_later(r"^FAIL\t(\S+)(?:\s|$)", MULTILINE)
_OR = compile_later(r"\||\s+or\s+")

# What is known of programs


def _read_programs() -> dict[str, Any]:
    content = read_plain(os.path.join(os.path.dirname(__file__), "programs.json"))
    programs: dict[str, Any] = canonical_json.loads(content.decode())
    return programs


def _any_of(names: Iterable[str], end: str) -> str:
    return f"(?:{'|'.join(names)}){end}"


_KNOWN = _read_programs()
# They only start another program.
_WRAPPERS = compile_later("^(?:" + _any_of(_KNOWN["wrappers"], r"\s+") + ")+")
# A search without a match ends with 1, too: what only looks has not failed.
_LOOKS = compile_later(
    "|".join([_any_of(_KNOWN["looks"], r"(?:\s|$)"), *_KNOWN["looks_in_other_words"]])
)
# They prepare something or put it in order. What they leave undone, the check behind them shows.
_PREPARES = compile_later(_any_of(_KNOWN["prepares"], r"(?:\s|$)"))
# Their next word says what they do, and behind some of these words stands the name of a task.
_WITH_A_VERB, _VERB_BEFORE_A_NAME = _KNOWN["with_a_verb"], _KNOWN["verb_before_a_name"]
_RUNS_FILES, _SAME_NAME = _KNOWN["runs_files"], _KNOWN["same_name"]
# Their words are tasks, and no word means the default one.
_BY_TASK = _KNOWN["by_task"]
# Their words are packages of Go; with what no package means.
_BY_PACKAGE = _KNOWN["by_package"]
# Their words are files or folders, or names of tests, and no word means everything.
_BY_PATH = compile_later(_any_of(_KNOWN["by_path"], "$"))
# When they went through in other words, the first try is over.
_ONE_AIM = compile_later(_any_of(_KNOWN["one_aim"], "$"))
_IMPLIES = _KNOWN["implies"]
# Options of how much is printed and how fast, never of what is checked.
_HARMLESS = compile_later(
    f"-{_any_of(_KNOWN['harmless_letters'], '$')}|--{_any_of(_KNOWN['harmless_words'], '$')}"
)
# Options that leave something out: with a value, and without.
_FILTERS, _BARE_FILTERS = _KNOWN["filters"], _KNOWN["bare_filters"]
_TAKES_A_VALUE = _KNOWN["takes_a_value"]
# A task runner prints what the programs it runs print. It says so when what it runs has failed.
_RUNS_OTHERS = _KNOWN["runs_others"]
# What programs print at their end: that they failed, and that they passed, unless they are silent then.
# The `own` marks of a program are printed by others too, for other reasons.
_MARKS = _KNOWN["marks"]
_FAILED_BY = {
    program: compile_later(mark["failed"], MULTILINE)
    for mark in _MARKS
    for program in mark["programs"]
}
_PASSED_BY = {
    program: compile_later(mark["passed"], MULTILINE)
    for mark in _MARKS
    for program in mark["programs"]
    if mark["passed"]
}
_ANY_FAILED = compile_later(
    "|".join(mark["failed"] for mark in _MARKS if "own" not in mark), MULTILINE
)
_EMPTY = compile_later(r"\(Bash completed with no output\)|^Shell cwd was reset to .*$", MULTILINE)
_WAS_KILLED = compile_later(r"Exit code 1(?:30|37|43)\b")


# The steps of a line


def steps_of(line: str, folder: str = "", root: str = "") -> list[str]:
    """The steps of a command line that can fail, each behind how its end is known.

    A step that runs in another folder than `root`, the session's, begins with `cd FOLDER && `.
    """
    text = _HEREDOC.sub(r"\3\n", line[:LONGEST_LINE].replace("\\\n", " "))
    steps: list[str] = []
    lists = _lists_in(text)
    outside: list[str] = []
    stops_early = pipes_count = has_blocks = False
    for number, (ends, pipelines) in enumerate(lists):
        is_last = number == len(lists) - 1
        for pipeline in pipelines:
            first = _REDIRECTED.sub("", pipeline[0]).strip()
            outside += [folder] * first.count(_OPENS)
            closed = min("".join(pipeline).count(_CLOSES), len(outside))
            first = first.replace(_OPENS, "").replace(_CLOSES, "").strip()
            while block := _STARTS_A_BLOCK.match(first):
                first, has_blocks = first[block.end() :], True
            if _OPTIONS_OF_SHELL.match(first):
                stops_early = stops_early or "e" in first.partition("-")[2].partition(" ")[0]
                pipes_count = pipes_count or "pipefail" in first
                continue
            entered = _ENTERS.match(first)
            if entered:
                folder = _entered(folder, entered[1].strip("\"'"), root)
                continue
            if not first or _CONTROL.match(first):
                has_blocks = has_blocks or bool(first)
                continue
            inside = folder
            if closed:
                folder = outside[-closed]
                del outside[-closed:]
            how = BY_STATUS if (is_last or stops_early) and "||" not in ends else BY_OUTPUT
            if len(pipeline) > 1 and not pipes_count:
                how = min(how, _known_behind(pipeline[1:]), key="?~=".index)
            how = BY_FAILURE if has_blocks else how
            inner = _INNER_SHELL.match(first)
            if inner and inner[2] != text:
                steps += [_weaker(how, one) for one in steps_of(inner[2], inside, root)]
            else:
                steps += _step(how, first, inside, root)
    if not steps and _SAYS_THAT_IT_FAILED.search(text):
        return [BY_STATUS + " ".join(text.split())[:LONGEST_STEP]]
    return steps[:MOST_STEPS]


def _lists_in(text: str) -> list[tuple[str, list[list[str]]]]:
    """A line as lists of pipelines; each list with the signs that join its pipelines."""
    lists: list[tuple[str, list[list[str]]]] = []
    pipelines: list[list[str]] = []
    pipeline: list[str] = []
    signs = command = ""
    depth = 0
    for part in (*_TOKEN.findall(text), ";"):
        if part == "$(" or (part == "(" and depth):
            depth += 1
        elif part == ")" and depth:
            depth -= 1
        elif part in _GROUPS:
            command += _GROUPS[part]
            continue
        if depth or part not in _SIGNS:
            command += part
            continue
        pipeline.append(command.strip())
        command = ""
        if part in ("|", "|&"):
            continue
        if pipeline != [""]:
            pipelines.append(pipeline)
        pipeline = []
        if part in ("&&", "||"):
            signs += part
        elif pipelines:
            lists.append((signs, pipelines))
            signs, pipelines = "", []
    return lists


def _known_behind(filters: Iterable[str]) -> str:
    programs = [(one.split(None, 1) or [""])[0].rpartition("/")[2] for one in filters]
    if all(program in _SHOWS_THE_END or program in _SHOWS_THE_START for program in programs):
        return BY_OUTPUT
    return BY_FAILURE


def _weaker(how: str, step: str) -> str:
    return min(how, step[0], key="?~=".index) + step[1:]


def _step(how: str, text: str, folder: str, root: str) -> Iterator[str]:
    is_long = "\n" in text
    text = " ".join(text[: 4 * LONGEST_STEP].split())[: 2 * LONGEST_STEP]
    elsewhere = _ELSEWHERE.match(text)
    if elsewhere:
        folder = _entered(folder, elsewhere[2].strip("\"'"), root)
        text = f"{elsewhere[1]} {text[elsewhere.end() :]}"
    bare = _unwrapped(text)
    if not bare or _LOOKS.match(bare) or (is_long and _INLINE.match(bare)) or _FED.match(bare):
        return
    if _PREPARES.match(bare) and not _ONLY_CHECKS.search(bare):
        return
    if folder.startswith(_SCRATCH) and not is_check([bare]):
        return
    step = f"cd {folder} && {text}" if folder else text
    yield how + (step if len(step) <= LONGEST_STEP else step[: LONGEST_STEP - 1].rstrip() + "…")


def _entered(folder: str, entered: str, root: str) -> str:
    """The folder after a `cd`, as the root sees it; empty for the root."""
    if root and (entered == root or entered.startswith(root + "/")):
        folder, entered = "", entered[len(root) + 1 :]
    if entered.startswith(("/", "~", "$")) or entered == "-":
        return entered.rstrip("/")
    parts: list[str] = folder.split("/") if folder else []
    for part in entered.split("/"):
        if part == ".." and parts and parts[-1] != "..":
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)


def _unwrapped(step: str) -> str:
    """A step without the programs that only start another one."""
    before = None
    while before != step:
        before = step
        step = _MODULE.sub("", _WRAPPERS.sub("", step, count=1), count=1)
    place = _IN_A_FOLDER_OF_PROGRAMS.match(step)
    return step[place.end() :] if place else step


# How they ended


def ends_of(
    steps: Iterable[str], output: str, failed: bool | None
) -> list[tuple[str, bool | None]]:
    """Each step with whether it failed; None where that cannot be known. `failed` is the line's."""
    steps = list(steps)
    output = _EMPTY.sub("", output).strip()
    if failed and _WAS_KILLED.match(output):
        failed = None
    printed = [(step[1:], step[0], *_printed_by(step[1:], output)) for step in steps]
    by_status = [step for step, how, _, _ in printed if how == BY_STATUS]
    blamed = {step for step, how, failing, _ in printed if how == BY_STATUS and failing}
    ends: list[tuple[str, bool | None]] = []
    for step, how, failing, passing in printed:
        if how == BY_STATUS and failed is not None:
            if not failed:
                ends.append((step, False))
            elif not blamed or step in blamed:
                ends.append((_narrowed(step, output), True))
            else:
                # What stands before the step that failed passed, and what stands behind never ran.
                first = min(by_status.index(one) for one in blamed)
                ends.append((step, False if by_status.index(step) < first else None))
        elif failing:
            ends.append((_narrowed(step, output), True))
        elif how == BY_FAILURE or failed is None:
            ends.append((step, None))
        elif failed and not by_status and step == printed[-1][0]:
            # A filter that only shows the output does not fail by itself.
            ends.append((step, True))
        else:
            ends.append((step, False if passing and not failed else None))
    return ends


def _printed_by(step: str, output: str) -> tuple[bool, bool]:
    """Whether the output says that a step failed, and whether it says that it passed."""
    name = runner_of(step)[0]
    program = name.partition(" ")[0]
    key = name if name in _FAILED_BY else program
    if program in _RUNS_OTHERS:
        # It says so when what it runs has failed.
        failed = _ANY_FAILED.search(output) is not None
        return failed, not failed
    if key not in _FAILED_BY:
        is_script = program.endswith(".sh") or program in ("sh", "bash")
        return is_script and _ANY_FAILED.search(output) is not None, False
    passes = _PASSED_BY.get(key)
    failed = _FAILED_BY[key].search(output) is not None
    return failed, not failed and (passes.search(output) is not None if passes else not output)


def _narrowed(step: str, output: str) -> str:
    """A run of Go's tests with only those packages that failed, where the output names them."""
    name, _, words = runner_of(step)
    targets = [word for word in words if word.startswith("./") and word != "./..."]
    packages = list(dict.fromkeys(_FAILED_PACKAGE.findall(output)))
    if name != "go test" or len(targets) < 2 or not packages:
        return step
    found = []
    for package in packages:
        roots = [target.removesuffix("...").strip("./") for target in targets]
        places = [f"{package}/".find(f"/{root}/") for root in roots if root]
        places = [place for place in places if place >= 0]
        if not places:
            return step
        found.append(f".{package[min(places) :]}")
    for target in targets:
        step = step.replace(f" {target}", f" {found.pop(0)}" if found else "", 1)
    return " ".join([step, *found])


# Which run says that another one would pass


def step_covers(passed: str, failed: str) -> bool:
    """Whether a step that passed says that one that failed before would pass now."""
    if passed == failed:
        return True
    wide_name, wide_folder, wide_words = runner_of(passed)
    name, folder, words = runner_of(failed)
    if wide_folder != folder or not (wide_name == name or name in _IMPLIES.get(wide_name, ())):
        return False
    if _ONE_AIM.match(name):
        return True
    if not is_check([failed]):
        # What its words mean is not known.
        return words == wide_words
    filters, options, targets = _sorted_words(name, words)
    wide_filters, wide_options, wide_targets = _sorted_words(name, wide_words)
    if options - wide_options or not _lets_through(wide_filters, filters):
        return False
    if name in _BY_TASK:
        return wide_targets == targets or (bool(targets) and set(targets) <= set(wide_targets))
    if name in _BY_PACKAGE:
        every = [_BY_PACKAGE[name]]
        wide_targets, targets = wide_targets or every, targets or every
        return all(any(_in_package(path, one) for one in wide_targets) for path in targets)
    if not wide_targets:
        return True
    return bool(targets) and all(
        any(_in_folder(path, one) for one in wide_targets) for path in targets
    )


def is_check(steps: Iterable[str]) -> bool:
    """Whether one of the steps is known to check something, and will be run again."""
    names = [runner_of(step)[0] for step in steps]
    return any(name in _BY_TASK or name in _BY_PACKAGE or _BY_PATH.match(name) for name in names)


def runner_of(step: str) -> tuple[str, str, list[str]]:
    """The name of what a step runs, the folder that it runs in, and the words behind the name."""
    folder = ""
    if step.startswith("cd "):
        folder, _, step = step.removeprefix("cd ").partition(" && ")
    words: list[str] = _WORD.findall(_unwrapped(step))
    if not words:
        return "", folder, []
    name = words.pop(0)
    name = name.rpartition("/")[2] if not name.startswith(("./", "../", "~")) else name
    name = _SAME_NAME.get(
        name.removeprefix("./") if "mvnw" in name or "gradlew" in name else name, name
    )
    if name in _WITH_A_VERB:
        while words and words[0].startswith("-"):
            words.pop(0)
        if words:
            verb = words.pop(0)
            name = f"{name} {verb}"
            names_a_task = verb in _VERB_BEFORE_A_NAME and name not in _RUNS_FILES
            if names_a_task and words and not words[0].startswith("-"):
                name = f"{name} {words.pop(0)}"
    return _SAME_NAME.get(name, name), folder, words


def _sorted_words(name: str, words: list[str]) -> tuple[dict[str, str], set[str], list[str]]:
    """The filters of a run, its other options, and its targets."""
    filters: dict[str, str] = {}
    options: set[str] = set()
    targets: list[str] = []
    waiting = list(words)
    while waiting:
        word = waiting.pop(0)
        flag, _, value = word.partition("=")
        if flag in _FILTERS and not (flag == "-k" and name in _K_IS_NO_FILTER):
            value = value or (waiting.pop(0) if waiting else "")
            filters[flag] = value.strip("\"'")
        elif flag in _BARE_FILTERS:
            filters[flag] = ""
        elif word.startswith("-") and word != "--":
            if flag in _TAKES_A_VALUE and not value and waiting:
                value = waiting.pop(0)
                word = f"{flag}={value}"
            if not _HARMLESS.match(flag):
                options.add(word)
        elif word != "--":
            targets.append(word.strip("\"'"))
    return filters, options, targets


def _lets_through(wide: dict[str, str], narrow: dict[str, str]) -> bool:
    """Whether all that passes the narrow filters passes the wide ones."""
    for flag, value in wide.items():
        given = narrow.get(flag)
        if given is None:
            return False
        if given == value:
            continue
        if flag not in ("-run", "-k", "-t", "-g", "--grep"):
            return False
        wanted, some = (_OR.split(text) for text in (given, value))
        if not all(any(one.isidentifier() and one in each for one in some) for each in wanted):
            return False
    return True


def _in_package(path: str, wide: str) -> bool:
    path, wide = path.removeprefix("./").rstrip("/"), wide.removeprefix("./").rstrip("/")
    path, wide = ("" if one == "." else one for one in (path, wide))
    if not wide.endswith("..."):
        return path == wide
    root = wide.removesuffix("...")
    return path.startswith(root) or path.removesuffix("...").rstrip("/") == root.rstrip("/")


def _in_folder(path: str, wide: str) -> bool:
    path, wide = path.removeprefix("./"), wide.removeprefix("./").rstrip("/")
    return (
        wide in ("", ".") or path == wide or path.startswith((f"{wide}/", f"{wide}::", f"{wide}["))
    )
