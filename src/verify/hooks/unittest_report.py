"""Makes unittest's text runner write one JSON line per test next to this file's folder; runs inside the sandbox."""

import inspect
import json
import os
import re
import sys
import time
import traceback
import unittest

MESSAGE_CHARACTERS = 2000


def place_of(test):
    """File and names of a test; a module that could not be imported is the whole file."""
    kind = type(test)
    if kind.__module__ == "unittest.loader":
        module = getattr(test, "_testMethodName", "")
        return os.path.join(os.getcwd(), *module.split(".")) + ".py", []
    fixture = re.match(r"(\w+) \(([\w.]+)\)$", test.id())
    if kind.__module__ == "unittest.suite" and fixture:
        return fixture_place(fixture.group(1), fixture.group(2))
    try:
        path = inspect.getfile(kind)
    except (TypeError, OSError):
        path = kind.__module__.replace(".", os.sep) + ".py"
    name = test.id()
    prefix = kind.__module__ + "."
    return os.path.abspath(path), [name[len(prefix):] if name.startswith(prefix) else name]


def fixture_place(fixture, owner):
    """File and names of a setUpClass or setUpModule that failed; `owner` is the dotted class or module."""
    parts = owner.split(".")
    for end in range(len(parts), 0, -1):
        module = sys.modules.get(".".join(parts[:end]))
        if module is not None and getattr(module, "__file__", None):
            return os.path.abspath(module.__file__), [".".join(parts[end:] + [fixture])]
    return os.path.join(os.getcwd(), *parts) + ".py", [fixture]


def message_of(error):
    kind, value, trace = error
    text = "".join(traceback.format_exception_only(kind, value)).strip()[:MESSAGE_CHARACTERS]
    frames = [f for f in traceback.extract_tb(trace) if os.sep + "unittest" + os.sep not in f.filename]
    return text + ("\n    at %s:%s" % (frames[-1].filename, frames[-1].lineno) if frames else "")


class Recorder:
    def __init__(self):
        folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        name = "unittest-%d-%d.ndjson" % (os.getpid(), int(time.time() * 1e6))
        self.stream = open(os.path.join(folder, name), "x")
        self.write({"begin": "unittest", "cwd": os.getcwd()})

    def write(self, line):
        self.stream.write(json.dumps(line) + "\n")
        self.stream.flush()


def install(runner):
    original = runner.resultclass

    class Recording(original):
        recorder = None

        def startTestRun(self):
            # What the tests themselves start is no part of the suite.
            if "SUITE_REPORT_TAKEN" not in os.environ:
                os.environ["SUITE_REPORT_TAKEN"] = "1"
                self.recorder = Recorder()
            super().startTestRun()

        def record(self, test, outcome, message):
            if self.recorder is not None:
                path, names = place_of(test)
                self.recorder.write({"file": path, "names": names, "outcome": outcome, "message": message})

        def startTest(self, test):
            self.outcome = ("pass", "")
            super().startTest(test)

        def mark(self, test, outcome, message, whole):
            if whole:
                self.record(test, outcome, message)
            else:
                self.outcome = (outcome, message)

        def outside(self, test):
            """Errors of set-up fixtures come without a started test."""
            return not isinstance(test, unittest.TestCase)

        def addFailure(self, test, err):
            self.mark(test, "fail", message_of(err), self.outside(test))
            super().addFailure(test, err)

        def addError(self, test, err):
            self.mark(test, "fail", message_of(err), self.outside(test))
            super().addError(test, err)

        def addSkip(self, test, reason):
            self.mark(test, "skip", "", self.outside(test))
            super().addSkip(test, reason)

        def addExpectedFailure(self, test, err):
            self.mark(test, "skip", "", False)
            super().addExpectedFailure(test, err)

        def addUnexpectedSuccess(self, test):
            self.mark(test, "fail", "unexpected success", False)
            super().addUnexpectedSuccess(test)

        def addSubTest(self, test, subtest, err):
            if err is not None:
                self.mark(test, "fail", message_of(err), False)
            super().addSubTest(test, subtest, err)

        def stopTest(self, test):
            self.record(test, *self.outcome)
            super().stopTest(test)

        def stopTestRun(self):
            if self.recorder is not None:
                self.recorder.write({"end": True})
                os.environ.pop("SUITE_REPORT_TAKEN", None)
            super().stopTestRun()

    runner.resultclass = Recording
