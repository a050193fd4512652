"""What can be wrong with a ledger."""


class TallyError(Exception):
    """The base of all errors that a person can correct."""


class SyntaxProblem(TallyError):
    """A line that is no entry."""

    def __init__(self, line_number: int, reason: str) -> None:
        super().__init__(f"line {line_number}: {reason}")
        self.line_number = line_number
        self.reason = reason


class UnknownAccount(TallyError):
    """An account that the configuration does not name."""
