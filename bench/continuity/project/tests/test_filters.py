import unittest

from tally.filters import by_account, by_month
from tally.reader import iter_entries
from tests.test_balance import BOOK


class FilterTest(unittest.TestCase):
    def test_month(self):
        self.assertEqual(len(list(by_month(iter_entries(BOOK), "2026-03"))), 2)

    def test_account(self):
        self.assertEqual(len(list(by_account(iter_entries(BOOK), "expenses:food"))), 2)
