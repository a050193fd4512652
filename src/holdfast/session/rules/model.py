"""What a session knows about its work, as plain data."""

from __future__ import annotations

from holdfast.session.rules.fields import STORED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal, NotRequired, TypedDict

    from holdfast.kernel.conflicts import EditConflict

    Profile = Literal["manual", "automated"]

    class StatedDecision(TypedDict):
        decision: str
        rationale: str

    class Blocker(TypedDict):
        blocker: str
        until: str

    class Progress(TypedDict):
        """What `.ccc-progress.md` says: the fields that the code reads by name. `fields` has the row of each.
        `prompt` is its last section, as it stands there."""

        issue: str
        title: str
        mode: str
        completed: list[str]
        current: str
        status: str
        remaining: list[str]
        decisions: list[StatedDecision]
        blockers: list[Blocker]
        prompt: str
        extra: str

    class World(TypedDict):
        """What was true around the session when it was captured; None is what was not looked at."""

        worktree: str
        repository: str
        commit: str | None
        branch: str | None
        dirty: str | None
        dirty_files: list[str]
        plan: NotRequired[str | None]
        # The digest of each file that differs from HEAD, when the work tree was looked at.
        files: NotRequired[dict[str, str]]
        # Where the two paths are, when several machines share a journal; empty when that is not known.
        machine: NotRequired[str]

    class Claim(TypedDict):
        """A line of the handoff with a probe behind it, and what the probe said. `dirty`: the work tree
        differed from the commit then."""

        claim: str
        probe: dict[str, Any]
        ok: bool
        exit_code: int | None
        output: str
        at: str
        commit: str | None
        dirty: NotRequired[bool]

    class Capture(TypedDict):
        """One checkpoint, as the state remembers the last one."""

        id: str
        at: str
        profile: Profile
        reason: str
        world: World
        claims: list[Claim]

    class Comment(TypedDict):
        """The one comment on the issue, and the issue that it is on."""

        id: str
        issue: str

    class Stated(TypedDict):
        """When the progress was last stated, and how far the observed work had got by then."""

        at: str
        by: str
        calls: int
        edits: int

    class Handover(TypedDict):
        """What a session said of itself when it was asked: findings, dead ends, what is wanted, what is not done. `by`
        is who said so, `calls` how far the observed work had got by then. `cost` of a copy of the session that was
        asked later; None is unknown."""

        text: str
        at: str
        by: str
        calls: int
        cost: NotRequired[float | None]

    class Observed(TypedDict):
        """What was seen of the work in the client's transcript. `seen` is an `Observation`. `session` is the
        client's session where that is another one: a checkpoint of a terminal has none of its own."""

        client: str
        path: str
        at: str
        seen: dict[str, Any]
        session: NotRequired[str]

    class SessionState(TypedDict):
        """`observed`, `stated` and `hidden` are missing in states of older versions. `hidden` are
        observed tasks that a person took out of the progress file, and commands that failed and block nothing
        any more."""

        session: str
        folder: str
        begun_at: str
        progress: Progress
        last: Capture | None
        captures: int
        fresh: list[StatedDecision]
        # Whether the comment that told of `fresh` has not arrived yet.
        owed: NotRequired[bool]
        resumed: bool
        resuming: bool
        comment: Comment | None
        told: str
        ended_at: str
        adopts: str
        adopted_by: str
        observed: NotRequired[Observed | None]
        stated: NotRequired[Stated | None]
        hidden: NotRequired[list[str]]
        conflicts: NotRequired[list[EditConflict]]
        # Whether an automated checkpoint wrote its file; one that was stated has one anyway.
        shown: NotRequired[bool]
        handover: NotRequired[Handover]


PROGRESS_FILE = ".ccc-progress.md"
STATE_FILE = ".ccc-state.json"
LONGEST_ISSUE = 160
LONGEST_HANDOVER = 2_000
ISSUE_SIGNS = "-_./#:@+"
# The three boundaries before which the protocol is meant to run; CCC-02.
REASONS = ("session-split", "context-threshold", "handoff")


def is_issue_name(text: str) -> bool:
    """What work may be called: words of letters, digits and a few signs, as in `fix-quotes`."""
    words = text.split(" ")
    return (
        0 < len(text) <= LONGEST_ISSUE
        and (text[0].isalnum() or text[0] == "#")
        and ".." not in text
        and all(words)
        and all(letter.isalnum() or letter in ISSUE_SIGNS for word in words for letter in word)
    )


def is_issue(text: str) -> bool:
    """Whether a tracker may know it: `CIA-123`, `#12` or `owner/repository#12`; by hand, because `re`
    is not on the hook path."""
    key, dash, number = text.partition("-")
    if dash and key.isascii() and key.isalnum() and key[0].isalpha() and key == key.upper():
        return number.isascii() and number.isdigit()
    repository, hash, number = text.rpartition("#")
    named = not repository or ("/" in repository and " " not in repository)
    return bool(hash) and named and number.isascii() and number.isdigit()


def issue_in(branch: str) -> str:
    """`CIA-123` in a branch name, or nothing."""
    for part in branch.replace("/", " ").replace("_", " ").split():
        words = part.split("-")
        for position, key in enumerate(words[:-1]):
            named = f"{key}-{words[position + 1]}"
            if key.isalpha() and is_issue(named):
                return named
    return ""


def clip_handover(text: str) -> str:
    """Return what a session said of itself within its bound; a cut is marked."""
    text = text.replace("\0", " ").strip()
    if len(text) <= LONGEST_HANDOVER:
        return text
    return f"{text[:LONGEST_HANDOVER].rstrip()}… (cut: it had {len(text):,} characters)"


def empty_progress() -> Progress:
    return {field.name: field.begin() for field in STORED}  # type: ignore[return-value]


def same_machine(then: World, machine: str) -> bool:
    """Whether a path of then can be one of this machine: clones of a team often have one path."""
    known = then.get("machine", "")
    return not known or not machine or known == machine
