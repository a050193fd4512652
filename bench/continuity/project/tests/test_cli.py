import contextlib
import io
import tempfile
import unittest
from pathlib import Path

from tally.cli import main
from tests.test_balance import BOOK


def run_main(*arguments):
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown):
        code = main(list(arguments))
    return code, shown.getvalue()


class CommandLineTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.book = Path(folder.name) / "book.tally"
        self.book.write_text(BOOK)

    def test_balance(self):
        code, shown = run_main("balance", str(self.book))
        self.assertEqual(code, 0)
        self.assertIn("expenses:fun", shown)
