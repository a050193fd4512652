from holdfast.testing.journal.retention import *  # noqa: F403
