"""Named points of the write path. A test registers what happens there, such as the end of the process.

Outside of tests nothing is registered, and to reach a point does nothing.

| point | then |
|---|---|
| `before a journal is made`, `before a new journal is placed`, `after a new journal is placed` | the first command of a workspace; before them, the user's folder knows the number of the journal |
| `before append`, `after append` | the records of a command, in the journal |
| `before projection` | the records are durable, no view is written |
| `before placing`, `after placing` | one view, its staged file put in its place |
| `before STEP`, `before snapshot`, `before survey`, `before result` | the parts of a checkpoint |
| `after git commit`, `after snapshot`, `after commenting`, `before storing the comment`, `after storing the comment` | inside its steps |
| `before the latch is settled` | a budget's check whose record is durable |
| `before moving` | a view, to be moved aside |
| `before a restore is committed`, `after a restore is committed` | the rows of a copy, in the journal |
| `salvaged`, `before the damaged log is moved`, `before the salvaged journal is moved` | a new journal, made of a damaged one |
| `after a purge is recorded`, `after bodies are erased`, `after files are erased`, `before a purge is settled` | the parts of a purge |
| `before a prompt is recorded` | its state is kept |
| `before the files of an undo are prepared`, `before an undo is recorded`, `after an undo is recorded`, `before a file is taken back`, `before an undo is settled` | the parts of an undo; before it is recorded, nothing has changed |
| `before pushing` | the remote said which snapshots it has, none is sent |
| `before settling` | an effect was done, and its row is still open |
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_registered: dict[str, Callable[[], object]] = {}


def reached(point: str) -> None:
    if point in _registered:
        _registered[point]()


def register(point: str, act: Callable[[], object], *, number: int = 1) -> Callable[[], object]:
    """For tests: `act` when the point is reached for the number-th time. The result takes it back."""
    times = 0

    def count() -> None:
        nonlocal times
        times += 1
        if times == number:
            act()

    _registered[point] = count
    return lambda: _registered.pop(point, None)
