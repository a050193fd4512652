"""The one door to the git program: argument lists, a clean environment, a bound on time, and no program
that a repository names."""

from __future__ import annotations

import os
import stat
import time

from holdfast.git.repository import GitError, Place, locate, not_a_repository
from holdfast.kernel.deadline import within
from holdfast.kernel.patterns import IGNORECASE, MULTILINE, compile_later
from holdfast.kernel.plain_file import open_plain
from holdfast.kernel.text import quote, split_words
from holdfast.processes.child import Child, TimeOut

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

# A file monitor is a program that a repository names: nothing that we do must start it.
ALWAYS = ("-c", "core.quotepath=off", "-c", "core.fsmonitor=false")
LOOKING = split_words(
    "-c core.hooksPath=/dev/null -c log.showSignature=false "
    "-c diff.ignoreSubmodules=dirty -c submodule.recurse=false"
)
# A list of transports that are allowed. There is none of this name.
NO_TRANSPORT = {"GIT_ALLOW_PROTOCOL": "none"}
LARGEST_CONFIG = 1_000_000
CONFIG_SECONDS = 10.0
READ_IN_TREE = (".gitignore", ".gitattributes", ".gitmodules", ".mailmap")
READ_BY_GIT = split_words(
    "HEAD config config.worktree commondir gitdir index packed-refs shallow "
    "info/exclude info/attributes objects/info/alternates"
)
_SUBMODULE = compile_later(rb'^\s*\[\s*submodule\s+"((?:[^"\\]|\\.)*)"\s*\]', MULTILINE)
_WORK_TREE = compile_later(
    rb"^\s*(?:\[[^\]\n]*\]\s*)?worktree\s*=[ \t]*(.*)$", IGNORECASE | MULTILINE
)
_ESCAPED = compile_later(rb"\\(.)")
_IN_CONFIG = ("clean", "smudge", "process")
SECONDS = 30.0
# How long git may take to remove its lock files after a request to end.
GRACE_SECONDS = 2.0

# All other GIT_* are dropped: inside a hook of git's they point at one repository and index, and a
# trace would be taken for an error message.
KEPT = split_words(
    "GIT_AUTHOR_ GIT_COMMITTER_ GIT_CONFIG_ GIT_SSH GIT_ASKPASS GIT_EXEC_PATH "
    "GIT_CEILING_DIRECTORIES GIT_DISCOVERY_ACROSS_FILESYSTEM"
)
# Where git waited for a pipe, and when: what else it is asked there at once would wait as well.
_stuck_in: dict[str, float] = {}
STUCK_SECONDS = 5.0
# They get the argument list of every git process before it starts.
listeners: list[Callable[[Sequence[str]], None]] = []


def without_programs(root: str) -> list[str]:
    """The options with which git starts no program that the repository of a folder names."""
    options = [*LOOKING]
    for name in repository_filters(root):
        for key in _IN_CONFIG:
            options += ["-c", f"filter.{name}.{key}="]
        options += ["-c", f"filter.{name}.required=false"]
    return options


def refuse_other_work_tree(root: str) -> None:
    """Refuse a repository whose configuration names another folder as its work tree: git would read
    that folder's files into a snapshot, and write there at a restore. A submodule names its own."""
    try:
        place = locate(root)
    except GitError:
        return
    if place.git_dir != place.common_dir:
        return  # git ignores it in a linked worktree
    for name in ("config", "config.worktree"):
        file = os.path.join(place.git_dir, name)
        content = _read(file)
        count = content.lower().count(b"worktree")
        if not count and len(content) < LARGEST_CONFIG:
            continue
        named = _WORK_TREE.findall(content)
        # One plain line is read here; everything else by git, which knows more ways to write it.
        is_plain = len(named) == count == 1 and len(content) < LARGEST_CONFIG
        if is_plain and _is_work_tree(place, os.fsdecode(named[0].strip())):
            continue
        words = ("--file", file, "--type=path", "--get", "core.worktree")
        value = _ask_config("/", *words).rstrip("\n")
        if value and not _is_work_tree(place, value):
            folder = os.path.realpath(os.path.join(place.git_dir, value))
            raise GitError(
                f"{file} names another folder as its work tree: {folder}.",
                hint=f"If that is not meant: git -C {quote(place.top)} config --unset core.worktree",
                kind="other_work_tree",
            )


def refuse_strange_files(root: str) -> None:
    """Refuse a repository in which a pipe or a device is in the place of a file that every git reads: git would
    wait for it."""
    try:
        place = locate(root)
    except GitError as error:
        if error.kind == "not_a_repository":
            return
        raise
    by_git = ((place.git_dir, READ_BY_GIT), (place.common_dir, READ_BY_GIT))
    folders = (place.top, root, os.path.join(root, ".holdfast"))
    in_tree = [(folder, READ_IN_TREE) for folder in folders]
    for folder, names in dict.fromkeys((*by_git, *in_tree)):
        for name in names:
            path = os.path.join(folder, name)
            try:
                mode = os.stat(path).st_mode
            except (OSError, ValueError):
                continue
            if not stat.S_ISREG(mode):
                raise GitError(f"{path} is not a regular file.", kind="strange_repository")


def _in_the_way(root: str) -> GitError:
    return GitError(
        f"Git waits for a pipe in the place of a file of the repository in {root}.",
        hint=f"Find it: find {quote(root)} -type p",
        kind="strange_repository",
    )


def _is_work_tree(place: Place, value: str) -> bool:
    return os.path.realpath(os.path.join(place.git_dir, value)) == os.path.realpath(place.top)


def _ask_config(folder: str, *words: str) -> str:
    """Return what `git config` prints: it has git's own rules for quotes, escapes and includes. Refuse a
    configuration that it cannot read, or not in time: what it names is not known."""
    try:
        process = Child(["git", "-C", folder, "config", *words], os.environ, fed=False)
    except FileNotFoundError:
        return ""  # there is no git: nothing is run
    except OSError:
        raise GitError("Git's configuration cannot be read.", kind="strange_repository") from None
    try:
        output, errors = process.communicate(None, within(CONFIG_SECONDS))
    except TimeOut as late:
        if late.args:
            _stuck_in[folder] = time.monotonic()
            raise _in_the_way(folder) from None
        raise GitError("Git's configuration cannot be read.", kind="strange_repository") from None
    finally:
        process.end(GRACE_SECONDS)
    # 1: nothing of the kind is set.
    if process.code not in (0, 1):
        reason = os.fsdecode(errors).strip().rpartition("\n")[2].removeprefix("fatal: ")
        raise GitError(f"Git's configuration cannot be read: {reason}", kind="strange_repository")
    return os.fsdecode(output)


def repository_filters(root: str) -> list[str]:
    """The names of the filters that the repository's own configuration defines."""
    try:
        place = locate(root)
    except GitError:
        return []
    keys: list[str] = []
    for file in (
        os.path.join(place.common_dir, "config"),
        os.path.join(place.git_dir, "config.worktree"),
    ):
        content = _read(file)
        lowered = content.lower()
        # Most name neither. Whatever may is read by git itself: it knows more ways to write a section.
        if b"filter" in lowered or b"include" in lowered or len(content) >= LARGEST_CONFIG:
            listed = ("--includes", "--null", "--name-only", "--get-regexp", r"^filter\.")
            keys += _ask_config(place.top, "--file", file, *listed).split("\0")
    return _settable(key.partition(".")[2].rpartition(".")[0] for key in keys if key)


def without_submodules(top: str) -> list[str]:
    """The options with which `git commit` enters no submodule, whatever `.gitmodules` says."""
    names = _SUBMODULE.findall(_read(os.path.join(top, ".gitmodules")))
    options = ["-c", "diff.ignoreSubmodules=dirty"]
    for name in _settable(_unquote(name) for name in names):
        options += ["-c", f"submodule.{name}.ignore=dirty"]
    return options


def _settable(names: Iterable[str]) -> list[str]:
    """The names, each once; the empty one is among them: git has such filters. Refuse one that no option `-c` can
    name, because it could not be turned off."""
    found = list(dict.fromkeys(names))
    strange = next((name for name in found if "\n" in name or "=" in name), None)
    if strange is not None:
        raise GitError(
            f"The repository names a filter or a submodule {strange!r:.60}, which cannot be turned off.",
            hint="Look at .git/config and .gitmodules, and give it another name.",
            kind="strange_repository",
        )
    return found


def _read(path: str) -> bytes:
    try:
        with os.fdopen(open_plain(path, follow=True), "rb") as file:
            return file.read(LARGEST_CONFIG)
    except OSError:
        return b""


def _unquote(name: bytes) -> str:
    return os.fsdecode(_ESCAPED.sub(rb"\1", name))


class Finished:
    """How a git process ended and what it said."""

    def __init__(self, code: int, output: bytes, errors: str) -> None:
        self.code = code
        self.output = output
        self.errors = errors

    @property
    def reason(self) -> str:
        """The line of stderr that says why, without git's `fatal: `."""
        lines = [line.strip() for line in self.errors.splitlines() if line.strip()]
        blamed = [line for line in lines if line.startswith(("fatal: ", "error: "))]
        line = (blamed or lines or [f"it ended with {self.code}"])[0]
        return line.removeprefix("fatal: ").removeprefix("error: ")


def git(
    root: str,
    *arguments: str,
    input: bytes | None = None,
    environment: Mapping[str, str] | None = None,
    seconds: float = SECONDS,
    check: bool = True,
    as_the_user: bool = False,
) -> bytes:
    """What git printed. With `check`, a git that failed is a GitError."""
    done = run(
        root,
        *arguments,
        input=input,
        environment=environment,
        seconds=seconds,
        as_the_user=as_the_user,
    )
    if check and done.code:
        raise failure(root, arguments, done)
    return done.output


def run(
    root: str,
    *arguments: str,
    input: bytes | None = None,
    environment: Mapping[str, str] | None = None,
    seconds: float = SECONDS,
    as_the_user: bool = False,
) -> Finished:
    """How git ended, whatever the end was.

    `as_the_user`: git may start the programs that its configuration names, such as hooks, filters and
    ssh, as it does when the user runs it. That is for what the user asked for in so many words: a
    commit, a worktree, a push. Everything else runs none of them.
    """
    started = Running(root, arguments, environment, fed=input is not None, as_the_user=as_the_user)
    return started.finish(input, seconds)


class Running:
    """A git process that was started, and may still wait for its input."""

    def __init__(
        self,
        root: str,
        arguments: Sequence[str],
        environment: Mapping[str, str] | None = None,
        *,
        fed: bool = True,
        as_the_user: bool = False,
    ) -> None:
        if time.monotonic() - _stuck_in.get(root, -STUCK_SECONDS) < STUCK_SECONDS:
            raise _in_the_way(root)
        refuse_strange_files(root)
        refuse_other_work_tree(root)
        safe = [] if as_the_user else without_programs(root)
        command = ["git", "-C", root, *ALWAYS, *safe, *arguments]
        for listener in listeners:
            listener(command)
        self.root = root
        self.arguments = arguments
        if not os.path.isdir(root):
            raise not_a_repository(root)
        changes = {**({} if as_the_user else NO_TRANSPORT), **(environment or {})}
        try:
            # A hook of the user's may hang: it is ended with git, as one group.
            self._process = Child(command, surroundings(changes), fed=fed)
        except FileNotFoundError as error:
            raise GitError(
                "There is no `git` on this machine's PATH.",
                hint="Install git, or leave out what needs it.",
                kind="git_missing",
            ) from error
        except OSError as error:
            raise GitError(f"Git could not be started: {error.strerror}.") from error

    def finish(self, input: bytes | None = None, seconds: float = SECONDS) -> Finished:
        """Give it its input, and wait for its end."""
        try:
            output, errors = self._process.communicate(input, within(seconds))
        except TimeOut as reason:
            self.end()
            if reason.args:
                _stuck_in[self.root] = time.monotonic()
                raise _in_the_way(self.root) from None
            late = GitError(
                f"`git {verb(self.arguments)}` took longer than {seconds:g} s.",
                hint="Look for a hook or a prompt that waits, then try again.",
                kind="git_timeout",
            )
            late.retryable = True
            raise late from None
        except BaseException:
            self.end()
            raise
        code = self._process.code
        assert code is not None
        return Finished(code, output, errors.decode("utf-8", "replace"))

    def answer(self, input: bytes | None = None, seconds: float = SECONDS) -> bytes:
        """What it printed, once it has ended well; a GitError when it has not."""
        done = self.finish(input, seconds)
        if done.code:
            raise failure(self.root, self.arguments, done)
        return done.output

    def __enter__(self) -> Running:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        """End it if it runs: first politely, so that git removes its locks; then for sure."""
        self._process.end(GRACE_SECONDS)


def failure(root: str, arguments: Sequence[str], done: Finished) -> GitError:
    """The error of a git that ended badly."""
    if "not a git repository" in done.errors or "must be run in a work tree" in done.errors:
        return not_a_repository(root)
    hint = ""
    if "dubious ownership" in done.errors:
        hint = "Another user owns this repository; see `git help config`, safe.directory."
    elif ".lock': File exists" in done.errors:
        hint = "Another git is at work, or one was killed: look, then remove the named lock file."
    return GitError(f"`git {verb(arguments)}` failed: {done.reason}", hint=hint)


def verb(arguments: Sequence[str]) -> str:
    """The git command in an argument list, after its global options."""
    words = iter(arguments)
    for word in words:
        if word in ("-c", "-C"):
            next(words, "")
        elif not word.startswith("-"):
            return word
    return ""


def surroundings(changes: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of a git process."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("GIT_") or name.startswith(KEPT)
    }
    ours = {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    return {**kept, **ours, **(changes or {})}
