"""The doctor's last findings for every workspace."""

from __future__ import annotations

import time
from typing import Any

from holdfast.web import background
from holdfast.web.table import PageContext
from holdfast.web.workspaces import ServedWorkspace

GRAVEST = {"problem": 0, "warning": 1, "ok": 2}


def gather(page: PageContext) -> dict[str, Any]:
    until = time.monotonic() + background.PATIENCE
    places = [_place(place, max(0.0, until - time.monotonic())) for place in page.site]
    checks = [check for place in places for check in place["checks"]]
    return {
        "workspaces": places,
        "counts": {word: sum(one["status"] == word for one in checks) for word in GRAVEST},
    }


def _place(place: ServedWorkspace, patience: float) -> dict[str, Any]:
    found, looking = background.examination(place).newest(patience)
    return {
        "key": place.key,
        "name": place.name,
        "root": place.root,
        "looking": looking,
        "at": found.at if found else "",
        "took": f"{found.took:.1f} s" if found else "",
        "checks": sorted(found.checks, key=lambda one: GRAVEST[one["status"]]) if found else [],
    }
