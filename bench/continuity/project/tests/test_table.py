import unittest

from tally.table import render_table


class TableTest(unittest.TestCase):
    def test_columns_line_up(self):
        self.assertEqual(render_table([["a", "1"], ["bbb", "2"]]), "a    1\nbbb  2")
