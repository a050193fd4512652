"""What features give to an open workspace: `workspace.loop("parser")`, `workspace.gates`. The types that a program's
checker sees are in the stub beside this module; `make docs` writes it."""

from __future__ import annotations

from types import MethodType

from holdfast import registry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from holdfast.kernel.workspace import Workspace


class Offers:
    """What a feature names in `api` is an attribute: a class is made of the workspace and the actor, a function
    becomes a method. Each is imported when it is used."""

    def __init__(self, place: Workspace, actor: str) -> None:
        self.place = place
        self.actor = actor
        self._away = ""

    @property
    def away(self) -> str:
        """Why the last call was done without the journal's server, with what this machine knows: `resume`,
        `sessions`, `checkpoint` and `note` do. Empty when the server answered."""
        return self._away

    def reachable(self, operation: Callable[..., Any]) -> Workspace:
        """Return the workspace for an operation. While its server is away, an operation that works offline
        writes to the spool of this machine."""
        from holdfast.remote.offline import can_work_offline, reachable

        if not can_work_offline(operation):
            return self.place
        workspace, self._away = reachable(self.place)
        if self._away:
            self.place.wants_forwarder = True
        return workspace

    def __getattr__(self, name: str) -> Any:
        for features in (registry.features, registry.all_features):
            for feature in features():
                if name in feature.api:
                    offered = registry.load(feature.api[name])
                    if isinstance(offered, type):
                        return offered(self.place, actor=self.actor)
                    return MethodType(offered, self)
        raise AttributeError(f"A workspace has no {name}.")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *(name for one in registry.all_features() for name in one.api)]
