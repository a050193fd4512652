from holdfast.testing.journal.snapshots import *  # noqa: F403
