from holdfast.testing.journal.waiting import *  # noqa: F403
