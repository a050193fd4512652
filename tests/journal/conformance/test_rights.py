from holdfast.testing.journal.rights import *  # noqa: F403
