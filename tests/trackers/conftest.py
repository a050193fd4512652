"""The two services, for the tests of this folder."""

from tests.trackers.fixtures import github_server, linear_server

__all__ = ["github_server", "linear_server"]
