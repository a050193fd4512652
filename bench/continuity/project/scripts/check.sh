#!/bin/sh
# Compile every module and run all tests.
set -e
python3 -m compileall -q tally tests
python3 -m unittest discover -s tests -t .
