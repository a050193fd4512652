import unittest

from tally.errors import SyntaxProblem
from tally.parser import parse_line


class ParserTest(unittest.TestCase):
    def test_entry(self):
        entry = parse_line('2026-03-01 "Corner shop" expenses:food 12.50 EUR', 1)
        self.assertEqual(entry.payee, "Corner shop")

    def test_comment(self):
        self.assertIsNone(parse_line("# nothing", 1))

    def test_problem_names_its_line(self):
        with self.assertRaises(SyntaxProblem) as caught:
            parse_line("gibberish", 7)
        self.assertEqual(caught.exception.line_number, 7)
