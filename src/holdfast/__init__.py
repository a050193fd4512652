"""Holdfast: what coding agents know about their work survives them.

```python
import holdfast

workspace = holdfast.open()
workspace.note("The parser is done; the renderer is next.")
```
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from holdfast.api import Workspace, open
    from holdfast.kernel.errors import (
        Conflict,
        Declined,
        FenceLost,
        HoldfastError,
        NotAllowed,
        NotFound,
        ServerChanged,
        Stopped,
        StoreAway,
        StreamClosed,
        Usage,
        VersionConflict,
        Waiting,
    )
    from holdfast.version import __version__

__all__ = [
    "Conflict",
    "Declined",
    "FenceLost",
    "HoldfastError",
    "NotAllowed",
    "NotFound",
    "ServerChanged",
    "Stopped",
    "StoreAway",
    "StreamClosed",
    "Usage",
    "VersionConflict",
    "Waiting",
    "Workspace",
    "__version__",
    "open",
]


def __getattr__(name: str) -> Any:
    # Loaded when asked for: hooks import this package too, and pay for every module.
    if name in ("Workspace", "open"):
        from holdfast import api

        return getattr(api, name)
    if name == "__version__":
        from holdfast import version

        return version.__version__
    if name in __all__:
        from holdfast.kernel import errors

        return getattr(errors, name)
    raise AttributeError(f"module 'holdfast' has no attribute {name!r}")
