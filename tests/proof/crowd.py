"""A process that is several agents: `python crowd.py ROOT FIRST COUNT LIFE` beats without a pause until
it is killed, and prints the agent and the step of each heartbeat that was acknowledged."""

from __future__ import annotations

import os
import sys
from itertools import count

import holdfast


def main(root: str, first: int, agents: int, life: str) -> None:
    with holdfast.open(root, actor="crowd") as workspace:
        members = [
            workspace.agent(f"Secondary-{number}", feature=f"feature_{number}").__enter__()
            for number in range(first, first + agents)
        ]
        for turn in count():
            for member in members:
                step = f"{life}.{turn}"
                member.beat(step=step)
                os.write(1, f"{member.agent} {step}\n".encode())


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
