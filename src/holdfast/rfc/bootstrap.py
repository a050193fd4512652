"""Entering a phase after a restart: everything is read in the protocol's order, nothing is written."""

from __future__ import annotations

import os

from holdfast.kernel import config
from holdfast.kernel.errors import HoldfastError
from holdfast.kernel.views.files import Unreadable, read_file, text_of
from holdfast.rfc import rules
from holdfast.rfc.agreement import review_of
from holdfast.rfc.reading import Reader
from holdfast.rfc.rules import bootstrap as steps
from holdfast.rfc.rules.parse import Parsed
from holdfast.rfc.rules.prompts import ORIENTATION
from holdfast.rfc.rules.words import (
    CHECKPOINT_FILE,
    EVIDENCE_FILE,
    FOLDER,
    RFC_FILE,
    STATE_FILE,
    heading_of,
    rounds_of,
    strictness_of,
    version_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from holdfast.kernel.workspace import Workspace
    from holdfast.rfc.rules.bootstrap import Bootstrap, Reference

# What a phase is entered with, in the protocol's own project; `rfc.references` says otherwise.
REFERENCES: dict[str, tuple[str, ...]] = {
    "discover": (
        *("references/phase_discover.md", "references/discover_assets.md"),
        "references/methodology.md",
    ),
    "design": (
        *("references/phase_design.md", "references/rfc_template.md"),
        *("references/design_assets.md", "references/methodology.md"),
    ),
    "gate_b": (
        *("references/phase_gate_b.md", "references/review_assets.md"),
        "references/reviewer_prompts/*.md",
    ),
    "review": ("references/phase_review.md",),
    "finalize": ("references/phase_finalize.md",),
}


def bootstrap(
    workspace: Workspace, id: str, *, hand_over: Callable[[Bootstrap], None] | None = None
) -> Bootstrap:
    """Steps 0 to 6. `hand_over` is called last, with all that was found: it goes on with the phase."""
    with Reader(workspace) as reader:
        found = _Bootstrap(reader, id).run()
    if hand_over is not None:
        hand_over(found)
    return found


class _Bootstrap:
    def __init__(self, reader: Reader, id: str) -> None:
        self.reader = reader
        self.id = id
        self.warnings: list[str] = []

    def run(self) -> Bootstrap:
        fields = steps.confirmed(self.id, self._view(STATE_FILE))
        text = self._view(CHECKPOINT_FILE)
        read = Parsed(text)
        fields, repaired = steps.agreed(self.id, fields, read)
        rfc, evidence = self._whole(RFC_FILE), self._whole(EVIDENCE_FILE)
        self.warnings += repaired + self._since(read)
        phase = str(fields["current_phase"])
        number = rounds_of(fields)
        review = review_of(self.reader, self.id) if number > 0 else None
        references = self._references(phase)
        groups, later = steps.up_to_now(read.document, fields)
        found: Bootstrap = {
            "id": self.id,
            "phase": phase,
            "round": number,
            "strictness": strictness_of(fields),
            "version": version_of(fields),
            "warnings": self.warnings,
            "attention": steps.attention(groups),
            "checkpoint": _without(read, later),
            "rfc": rfc,
            "evidence": evidence,
            "review": review,
            "references": references,
            "questions": ORIENTATION,
            "text": "",
        }
        found["text"] = steps.compose(found, fields, later)
        return found

    def _view(self, name: str) -> str:
        """state.json and checkpoint.md, as they are or as a crash kept them from being."""
        path = rules.path_of(self.id, name)
        try:
            text = self.reader.view(self.id, name)
        except FileNotFoundError:
            if not self.reader.stored(self.id)[1] and name == STATE_FILE:
                raise rules.unknown(self.id) from None
            raise steps.refused(
                self.id,
                f"{path} is missing",
                hint=f"`holdfast history rfc:{self.id}` and `holdfast restore` bring it back.",
            ) from None
        except Unreadable as problem:
            raise steps.refused(self.id, f"{path} is {problem}") from None
        if self.reader.is_pending(self.id, name):
            self.warnings.append(f"{path} was not put in place by a write that was cut off.")
        return text

    def _whole(self, name: str) -> str:
        try:
            return text_of(self.reader.file(self.id, name))
        except FileNotFoundError:
            raise steps.refused(self.id, f"{name} is missing", hint="It is the author's.") from None
        except Unreadable as problem:
            raise steps.refused(self.id, f"{name} is {problem}") from None

    def _since(self, read: Parsed) -> list[str]:
        """What was edited since the checkpoint, and what is still owed to it."""
        now, warnings = self.reader.artifacts(self.id)
        stored, _ = self.reader.stored(self.id)
        then = read.document["meta"]["artifacts"]
        if version_of(stored["fields"]) == read.document["version"]:
            then["evidence_digest"] = stored["meta"]["artifacts"]["evidence_digest"]
        move = stored["move"]
        if move is not None and move["owed"]:
            heading = heading_of(move["owed"])
            what = "was never written: its reasoning is not in the checkpoint"
            if any(group["key"] == move["owed"] for group in read.groups):
                what = "was not written again: the one in the checkpoint is of an earlier round"
            warnings.append(f"{heading} {what}.")
        return warnings + steps.drift(then, now)

    def _references(self, phase: str) -> list[Reference]:
        # Without the journal: even the settings that it would remember are not written.
        said = references_of(config.load(self.reader.workspace)["rfc.references"])
        found: list[Reference] = []
        for pattern in said.get(phase, REFERENCES.get(phase, ())):
            found += [self._reference(path) for path in self._matching(pattern)]
        return found

    def _matching(self, pattern: str) -> list[str]:
        if "*" not in pattern:
            return [pattern]
        import glob

        return sorted(glob.glob(pattern, root_dir=self.reader.workspace.root)) or [pattern]

    def _reference(self, path: str) -> Reference:
        root = self.reader.workspace.root
        place = os.path.realpath(os.path.join(root, path))
        if not place.startswith(root + os.sep):
            return {"path": path, "text": None, "why": "outside of the workspace, not read"}
        try:
            return {"path": path, "text": text_of(read_file(place)[1]), "why": ""}
        except FileNotFoundError:
            return {"path": path, "text": None, "why": "not here"}
        except (OSError, Unreadable) as problem:
            return {"path": path, "text": None, "why": f"cannot be read: {problem}"}


def references_of(said: Mapping[str, Any]) -> dict[str, list[str]]:
    """The setting `rfc.references`, if it is what it should be."""
    for phase, paths in said.items():
        if not isinstance(paths, list) or not all(isinstance(path, str) for path in paths):
            raise HoldfastError(
                f"rfc.references.{phase} must be a list of paths.",
                hint=f'{phase} = ["{FOLDER}/notes.md"]',
                kind="bad_config",
            )
    return {phase: list(paths) for phase, paths in said.items()}


def _without(read: Parsed, later: list[str]) -> str:
    """The checkpoint's lines but for the groups of later phases."""
    gone: set[int] = set()
    for key, (first, count) in read.spans.items():
        if heading_of(key) in later:
            gone.update(range(first, first + count))
    return "\n".join(line for number, line in enumerate(read.lines, 1) if number not in gone)
