from holdfast.testing.journal.damage import *  # noqa: F403
