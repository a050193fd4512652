"""The names of agents, of their files, and of copies of these."""

from __future__ import annotations

from holdfast.fleet.rules.model import BACKUPS, CHECKPOINTS, COMMS, PRIMARY
from holdfast.kernel import clock
from holdfast.kernel.errors import Usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

LONGEST_ID = 64
_SECONDARY = "Secondary-"
_ENDING = ".json"


def check_agent(agent: str) -> str:
    """Return the id; refuse one that could not name a file. FLEET-04"""
    rest = agent[len(_SECONDARY) :]
    plain = rest.replace("-", "")
    known = agent.startswith(_SECONDARY) and plain.isascii() and plain.isalnum()
    if agent != PRIMARY and not (known and len(agent) <= LONGEST_ID and rest[-1] != "-"):
        raise Usage(
            f"{agent!r} is no agent's id.",
            hint=f"{PRIMARY}, or {_SECONDARY} and letters, digits and '-': Secondary-A, Secondary-B.",
        )
    return agent


def check_feature(feature: str) -> str:
    """Return the feature; refuse what is no folder's name. FLEET-07"""
    if not feature or feature in (".", "..") or any(sign in feature for sign in "/\\\0\n\r\t"):
        raise Usage(
            f"{feature!r} names no feature.",
            hint="A folder's name, such as feature_02_team_penalty.",
        )
    return feature


def type_of(agent: str) -> Literal["primary", "secondary"]:
    return "primary" if agent == PRIMARY else "secondary"


def stem_of(agent: str) -> str:
    """`Secondary-A` is `secondary_a` in file names, `Agent-Primary` is `primary`; FLEET-02."""
    return "primary" if agent == PRIMARY else agent.lower().replace("-", "_")


def agent_of(stem: str) -> str:
    """The id for a file's name; the agent's own spelling may differ in upper and lower case."""
    if stem == "primary":
        return PRIMARY
    kind, _, rest = stem.partition("_")
    return f"{kind.capitalize()}-{rest.replace('_', '-').upper()}"


def short_of(agent: str) -> str:
    """The name in a message file's title: `Primary`, `Secondary-A`."""
    return "Primary" if agent == PRIMARY else agent


def checkpoint_path(agent: str) -> str:
    return f"{CHECKPOINTS}/{stem_of(agent)}{_ENDING}"


def archive_path(agent: str, how: Literal["crashed", "aborted"], now: int) -> str:
    """FLEET-70, FLEET-74"""
    return f"{CHECKPOINTS}/{stem_of(agent)}_{how}_{now // 1000}{_ENDING}"


def is_archive(name: str) -> bool:
    """Whether a file's name is that of an archived checkpoint; AMB-FLEET-05."""
    stem, number = name.removesuffix(_ENDING).rpartition("_")[::2]
    return number.isascii() and number.isdigit() and stem.endswith(("_crashed", "_aborted"))


def backup_path(agent: str, now: int, copy: int = 1) -> str:
    """UTC, and a number of its own for a second one in the same second; AMB-FLEET-07."""
    stamp = clock.stamp(now)
    when = stamp[:10].replace("-", "") + "_" + stamp[11:19].replace(":", "")
    number = f"_{copy}" if copy > 1 else ""
    return f"{BACKUPS}/{stem_of(agent)}_{when}{number}{_ENDING}"


def is_backup(name: str, agent: str) -> bool:
    """`<stem>_<YYYYMMDD_HHMMSS>.json`, perhaps numbered, and of no other agent; AMB-FLEET-06."""
    stem = stem_of(agent)
    if not name.startswith(f"{stem}_") or not name.endswith(_ENDING):
        return False
    parts = name[len(stem) + 1 : -len(_ENDING)].split("_")
    lengths = [len(part) for part in parts]
    digits = all(part.isascii() and part.isdigit() for part in parts)
    return digits and (lengths == [8, 6] or (len(parts) == 3 and lengths[:2] == [8, 6]))


def message_path(sender: str, receiver: str) -> str:
    return f"{COMMS}/{stem_of(sender)}_to_{stem_of(receiver)}.md"


def readme_key(folder: str, agent: str, change: str) -> str:
    """The key of an edit of EPIC_README.md: a newer edit replaces one with the same key. `stale` and
    `recovered` share a key."""
    what = "stale" if change == "recovered" else change
    return f"{folder}/{stem_of(agent)}/{what}"
