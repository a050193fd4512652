from holdfast.testing.journal.append import *  # noqa: F403
