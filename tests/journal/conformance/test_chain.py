from holdfast.testing.journal.chain import *  # noqa: F403
