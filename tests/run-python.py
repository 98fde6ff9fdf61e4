#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
# SPDX-FileCopyrightText: 2026 The libovstage authors
"""Runs the unittest cases of one file and prints TAP."""

import importlib.util
import os
import sys
import traceback
import unittest


class TapResult(unittest.TestResult):
    """Prints a line per test; the reasons go before it, as comments."""

    def __init__(self):
        super().__init__()
        self.count = 0

    def line(self, ok, test, note=""):
        self.count += 1
        name = (test.id() if hasattr(test, "id") else str(test)).replace("#", "")
        print(f"{'ok' if ok else 'not ok'} {self.count} {name}{note}", flush=True)

    def explain(self, error):
        for line in "".join(traceback.format_exception(*error)).splitlines():
            print("#", line, flush=True)

    def addSuccess(self, test):
        super().addSuccess(test)
        self.line(True, test)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.explain(err)
        self.line(False, test)

    def addError(self, test, err):
        super().addError(test, err)
        self.explain(err)
        self.line(False, test)

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self.explain(err)
            self.line(False, subtest)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.line(True, test, f" # SKIP {reason}")

    def addExpectedFailure(self, test, err):
        super().addExpectedFailure(test, err)
        self.line(True, test, " (failed as expected)")

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self.line(False, test)


def main():
    path = os.path.abspath(sys.argv[1])
    name = os.path.splitext(os.path.basename(path))[0]
    sys.path.insert(0, os.path.dirname(path))
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    result = TapResult()
    try:
        spec.loader.exec_module(module)
    except unittest.SkipTest as skip:
        print(f"1..0 # SKIP {skip}")
        return 0
    suite = unittest.defaultTestLoader.loadTestsFromModule(module)
    suite.run(result)
    print(f"1..{result.count}", flush=True)
    if result.count == 0:
        print("# no test was found")
    return 0 if result.wasSuccessful() and result.count else 1


if __name__ == "__main__":
    sys.exit(main())
