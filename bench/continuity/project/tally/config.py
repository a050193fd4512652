"""Settings: limits of the budget, known accounts, the width of tables."""

import json
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path

DEFAULT_WIDTH = 72


@dataclass
class Settings:
    limits: dict[str, Decimal] = field(default_factory=dict)
    known_accounts: list[str] = field(default_factory=list)
    table_width: int = DEFAULT_WIDTH


def load_settings(path: Path) -> Settings:
    if not path.exists():
        return Settings()
    raw = json.loads(path.read_text(encoding="utf-8"))
    limits = {name: Decimal(str(value)) for name, value in raw.get("limits", {}).items()}
    return Settings(limits, raw.get("known_accounts", []), raw.get("table_width", DEFAULT_WIDTH))
