"""Make the edits of a session again on the version of each file that git had, and merge what comes out with the work
tree as it is now: what it lacks, and what the file would be with it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from holdfast.git.repository import GitError
from holdfast.git.run import git, run
from holdfast.kernel import clock
from holdfast.kernel.tree_file import TreeFile
from holdfast.session.rules.replay import Misfit, SessionEdit, has_most, holds, make_again, unified

# missing: the work tree lacks edits, and they can be made again. guarded: so does it, and they are
# written only where this very file is named. present: it has them all. removed: the session removed the
# file itself. conflict: they cannot be made again. elsewhere: not a file of this work tree that we may write.
EditState = Literal["missing", "guarded", "present", "removed", "conflict", "elsewhere"]

LARGEST_FILE = 2 << 20


@dataclass(eq=False)
class ReplayedFile:
    """One file: what git had, what each edit made of it, and what is there now. `is_undone`: a command of the
    session took its edits back."""

    path: str
    edits: list[SessionEdit] = field(default_factory=list)
    misfits: list[tuple[SessionEdit, str]] = field(default_factory=list)
    base: str | None = None
    is_base_known: bool = True
    states: list[str | None] = field(default_factory=list)
    present: str | None = None
    has_crlf: bool = False
    state: EditState = "present"
    is_undone: bool = False
    guard: str = ""
    why: str = ""
    wanted: str | None = None


def work_out(files: Sequence[ReplayedFile], top: str | None, root: str) -> None:
    """Make the edits again, in the order of the session, and decide what the work tree lacks. A file that was
    moved takes its text along."""
    by_path = {file.path: file for file in files}
    versions = _Versions(top, root)
    edits = sorted((edit for file in files for edit in file.edits), key=lambda edit: edit["number"])
    for edit in edits:
        file = by_path[edit["path"]]
        if file.state != "present" or any(edit is one for one, _ in file.misfits):
            continue
        if not file.states:
            _begin(file, edit, versions)
        text = file.states[-1]
        origin = by_path.get(edit["origin"])
        try:
            if origin is not None:
                if not origin.states:
                    _begin(origin, edit, versions)
                text = next((one for one in reversed(origin.states) if one is not None), None)
                origin.states.append(None)
            file.states.append(make_again(text, edit))
        except Misfit as error:
            file.misfits.append((edit, str(error)))
    for file in files:
        _compare(file, root, top)


def _begin(file: ReplayedFile, edit: SessionEdit, versions: _Versions) -> None:
    try:
        file.base = versions.text_at(file.path, edit["at"])
        whole = edit["change"] == "created" or all("old" not in one for one in edit["exact"])
        if file.base is None and not whole:
            # The file was there, and git did not have it: what is there now is all that is known.
            file.is_base_known = False
            file.base, file.has_crlf = read_text(versions.root, file.path)
    except OSError as error:
        file.state, file.why = "conflict", f"git's version of it cannot be read: {error.strerror}"
    file.states.append(file.base)


class _Versions:
    """The texts of files as git had them at some time."""

    def __init__(self, top: str | None, root: str) -> None:
        self._top, self.root = top, root
        # When it was committed, when it was written, and its name; the newest first.
        self._commits: list[tuple[int, int, str]] = []
        if top is not None:
            try:
                listed = git(top, "log", "--format=%ct %at %H", "--max-count=2000").decode()
            except GitError:
                listed = ""  # no commit yet
            rows = [line.split() for line in listed.splitlines()]
            self._commits = [(int(made), int(written), name) for made, written, name in rows]

    def text_at(self, path: str, at: str) -> str | None:
        """None: git had no such file then."""
        commit = self._commit_before(at)
        if self._top is None or not commit:
            return None
        name = f"{commit}:{path}"
        size = run(self._top, "cat-file", "-s", name)
        if size.code:
            return None
        if int(size.output) > LARGEST_FILE:
            raise OSError(0, "it is too large")
        return unified(_decode(git(self._top, "cat-file", "blob", name)))

    def _commit_before(self, at: str) -> str:
        """The newest commit of that time. A rebase makes all commits anew: then the time counts at which they
        were written, and before all of them it is the oldest."""
        if not self._commits:
            return ""
        try:
            seconds = clock.parse(at) // 1000
        except ValueError:
            return self._commits[0][2]
        for which in (0, 1):
            for commit in self._commits:
                if int(commit[which]) <= seconds:
                    return commit[2]
        return self._commits[-1][2]


def file_at(root: str, path: str) -> TreeFile:
    """Return a file of the work tree. No link may be on the way: where it leads, another guard holds."""
    return TreeFile(root, path, is_strict=True)


def read_text(root: str, path: str) -> tuple[str | None, bool]:
    """What a file holds, with one kind of line break, and whether it has the other kind; None: no file."""
    try:
        text = _decode(file_at(root, path).read(LARGEST_FILE))
    except FileNotFoundError:
        return None, False
    return unified(text), "\r\n" in text


def _decode(content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise OSError(0, "it is not text in UTF-8") from None


def _compare(file: ReplayedFile, root: str, top: str | None) -> None:
    """Decide what is missing in the work tree, and what the file would be with it."""
    if file.state != "present":
        return
    try:
        file.present, file.has_crlf = read_text(root, file.path)
    except OSError as error:
        file.state, file.why = "conflict", f"it cannot be read: {error.strerror}"
        return
    present = file.present
    # What cannot be made again, but stands there, is not missing.
    file.misfits = [(edit, why) for edit, why in file.misfits if not holds(present, edit)]
    if len(file.states) < 2:
        if file.misfits:
            file.state, file.why = "conflict", file.misfits[-1][1]
        return
    final = file.states[-1]
    if present == final:
        return
    if not file.is_base_known:
        if any(holds(present, edit) for edit in file.edits):
            file.state = "conflict"
            file.why = "git did not have it before the session, so it is not known what is missing"
            return
    elif present is not None and present != file.base and present not in file.states:
        merged = _merge(present, file.base, final, top)
        if merged is None:
            if (
                has_most(present, file.base, final)
                and _merge(present, file.base, final, top, "--ours") == present
            ):
                file.why = "changed further since"
                return
            merged = _make_on_present(file)
        if merged is None:
            file.state, file.why = "conflict", "the same lines were changed since"
            return
        final = merged
    if final != present:
        file.state, file.wanted = ("guarded" if file.guard else "missing"), final
        file.why = file.guard


def _make_on_present(file: ReplayedFile) -> str | None:
    """Return the file with each edit made on what is there now, where the old text of each stands there once: a
    change of lines beside it is no doubt. None otherwise."""
    text = file.present
    for edit in file.edits:
        if any(edit is one for one, _ in file.misfits):
            continue
        if edit["origin"] or not edit["exact"] or any(not one.get("old") for one in edit["exact"]):
            return None
        try:
            text = make_again(text, edit)
        except Misfit:
            if not holds(text, edit):
                return None
    return text


def _merge(
    present: str, base: str | None, final: str | None, top: str | None, *options: str
) -> str | None:
    """Both changes in one text; None where they touch the same lines."""
    if base is None or final is None or top is None:
        return None
    with tempfile.TemporaryDirectory(prefix="holdfast-") as folder:
        names = []
        for name, text in (("present", present), ("base", base), ("edited", final)):
            names.append(os.path.join(folder, name))
            with open(names[-1], "w", encoding="utf-8", newline="") as file:
                file.write(text)
        done = run(top, "merge-file", "-p", "-q", *options, *names)
    return done.output.decode() if done.code == 0 else None
