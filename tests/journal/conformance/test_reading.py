from holdfast.testing.journal.reading import *  # noqa: F403
