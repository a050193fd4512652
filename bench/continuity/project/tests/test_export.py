import json
import unittest

from tally.export_csv import CSV_HEADER, to_csv
from tally.export_json import to_json
from tally.reader import iter_entries
from tests.test_balance import BOOK


class ExportTest(unittest.TestCase):
    def test_csv_begins_with_its_header(self):
        self.assertTrue(to_csv(iter_entries(BOOK)).startswith(CSV_HEADER))

    def test_json_has_all_entries(self):
        self.assertEqual(len(json.loads(to_json(iter_entries(BOOK)))), 3)
