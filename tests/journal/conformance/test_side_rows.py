from holdfast.testing.journal.side_rows import *  # noqa: F403
