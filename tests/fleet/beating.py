"""A process that is several agents, for tests of many at once: `python beating.py ROOT FIRST COUNT
BEATS PAUSE` says how many heartbeats were acknowledged."""

from __future__ import annotations

import sys
import time

import holdfast


def main(root: str, first: int, count: int, beats: int, pause: float) -> None:
    with holdfast.open(root, actor="load") as workspace:
        agents = [
            workspace.agent(f"Secondary-{number}", feature=f"feature_{number}").__enter__()
            for number in range(first, first + count)
        ]
        acknowledged = 0
        began = time.monotonic()
        for round in range(beats):
            # Each round has its second; one that is late does not make the next one later.
            time.sleep(max(0.0, began + round * pause - time.monotonic()))
            for agent in agents:
                agent.beat(step=f"Round {round}")
                acknowledged += 1
        print(acknowledged, f"{time.monotonic() - began:.1f}")


if __name__ == "__main__":
    first, count, beats = (int(word) for word in sys.argv[2:5])
    main(sys.argv[1], first, count, beats, float(sys.argv[5]))
