import unittest
from decimal import Decimal

from tally.balance import balances_of, roll_up
from tally.reader import iter_entries

BOOK = '''2026-03-01 "Corner shop" expenses:food 12.50 EUR
2026-03-02 "Cinema" expenses:fun 9.00 EUR
2026-04-02 "Corner shop" expenses:food 2.50 EUR
'''


class BalanceTest(unittest.TestCase):
    def test_sums(self):
        balances = balances_of(iter_entries(BOOK))
        self.assertEqual(balances["expenses:food", "EUR"], Decimal("15.00"))

    def test_roll_up(self):
        rolled = roll_up(balances_of(iter_entries(BOOK)), 1)
        self.assertEqual(rolled["expenses", "EUR"], Decimal("24.00"))
