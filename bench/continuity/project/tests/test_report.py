import unittest

from tally.reader import iter_entries
from tally.report import month_report
from tests.test_balance import BOOK


class ReportTest(unittest.TestCase):
    def test_month(self):
        shown = month_report(iter_entries(BOOK), "2026-03")
        self.assertIn("expenses:food  12.50 EUR", shown)
