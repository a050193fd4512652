import unittest
from decimal import Decimal

from tally.balance import balances_of
from tally.budget import budget_lines
from tally.reader import iter_entries
from tests.test_balance import BOOK


class BudgetTest(unittest.TestCase):
    def test_remaining(self):
        lines = budget_lines(balances_of(iter_entries(BOOK)), {"expenses:food": Decimal(20)}, "EUR")
        self.assertEqual(lines[0].remaining, Decimal("5.00"))
