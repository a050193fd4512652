import unittest
from decimal import Decimal

from tally.amounts import Amount, format_amount, parse_amount


class AmountTest(unittest.TestCase):
    def test_parse_plain(self):
        self.assertEqual(parse_amount("12.50", "EUR"), Amount(Decimal("12.50"), "EUR"))

    def test_parse_nonsense(self):
        with self.assertRaises(ValueError):
            parse_amount("twelve", "EUR")

    def test_format(self):
        self.assertEqual(format_amount(Amount(Decimal("3"), "EUR")), "3.00 EUR")
