"""The files of an RFC, or any checkpoint, against the protocol."""

from __future__ import annotations

from holdfast.kernel.errors import NotFound, from_os_error
from holdfast.kernel.views.files import Unreadable, read_file, target_of, text_of
from holdfast.rfc import rules
from holdfast.rfc.rules import lint as rules_of_text
from holdfast.rfc.rules.parse import Parsed
from holdfast.rfc.rules.words import CHECKPOINT_FILE, STATE_FILE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.kernel.workspace import Workspace
    from holdfast.rfc.rules.lint import Remark


def lint(workspace: Workspace, id: str, *, lenient: bool) -> list[Remark]:
    """The two files of an RFC, as they lie there."""
    found: list[Remark] = []
    version = 0
    path = rules.path_of(id, CHECKPOINT_FILE)
    text = _read(target_of(workspace, path), path, found)
    if text is not None:
        version = Parsed(text).document["version"]
        found += rules_of_text.checkpoint(text, path, id=id, lenient=lenient)
    path = rules.path_of(id, STATE_FILE)
    missing = text is None and not found
    text = _read(target_of(workspace, path), path, found)
    if text is None:
        found.append({"path": path, "line": 1, "severity": "error", "message": "is missing"})
        return found
    found += rules_of_text.state(text, path, id=id, version=version)
    if missing and rules_of_text.claims_a_checkpoint(text):
        path = rules.path_of(id, CHECKPOINT_FILE)
        found.append({"path": path, "line": 1, "severity": "error", "message": "is missing"})
    return found


def lint_file(path: str, *, lenient: bool) -> list[Remark]:
    """Any checkpoint; a file named state.json as one of those."""
    found: list[Remark] = []
    text = _read(path, path, found)
    if text is None:
        if found:
            return found
        raise NotFound(f"There is no file {path}.")
    if path.endswith(STATE_FILE):
        return rules_of_text.state(text, path)
    return rules_of_text.checkpoint(text, path, lenient=lenient)


def _read(place: str, path: str, found: list[Remark]) -> str | None:
    try:
        return text_of(read_file(place)[1])
    except FileNotFoundError:
        return None
    except Unreadable as problem:
        found.append({"path": path, "line": 1, "severity": "error", "message": f"is {problem}"})
        return None
    except OSError as error:
        raise from_os_error(error, f"reading {path}") from error
