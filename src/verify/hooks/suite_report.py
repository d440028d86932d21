"""A pytest plugin that writes one JSON line per test next to its own folder; runs inside the sandbox.

PYTEST_DONT_REWRITE: it is imported before pytest is, which would otherwise warn.
"""

import json
import os
import time

MESSAGE_CHARACTERS = 2000


class Recorder:
    """One report file per controlling process; xdist's workers report through their controller."""

    def __init__(self, root):
        folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        name = "pytest-%d-%d.ndjson" % (os.getpid(), int(time.time() * 1e6))
        self.stream = open(os.path.join(folder, name), "x")
        self.root = root
        self.parts = {}
        self.order = []
        self.write({"begin": "pytest", "cwd": root})

    def write(self, line):
        self.stream.write(json.dumps(line) + "\n")
        self.stream.flush()

    def case(self, nodeid, outcome, message):
        path, _, rest = nodeid.partition("::")
        self.write({
            "file": os.path.join(self.root, path),
            "names": rest.split("::") if rest else [],
            "outcome": outcome,
            "message": message,
        })


def message_of(report):
    crash = getattr(getattr(report, "longrepr", None), "reprcrash", None)
    place = ""
    if crash is not None:
        place = "\n    at %s:%s" % (crash.path, crash.lineno)
        return (str(crash.message)[:MESSAGE_CHARACTERS] + place)
    return str(getattr(report, "longrepr", ""))[-MESSAGE_CHARACTERS:]


def pytest_configure(config):
    if hasattr(config, "workerinput") or "SUITE_REPORT_TAKEN" in os.environ:
        return
    # What the tests themselves start is no part of the suite, even where it is pytest.
    os.environ["SUITE_REPORT_TAKEN"] = "1"
    recorder = Recorder(str(config.rootdir))
    config.pluginmanager.register(Hooks(recorder), "suite-report-hooks")


class Hooks:
    def __init__(self, recorder):
        self.recorder = recorder
        self.worst = {}

    def pytest_collectreport(self, report):
        if report.failed:
            self.recorder.case(report.nodeid.split("::")[0], "fail", message_of(report))

    def pytest_runtest_logreport(self, report):
        """A test is set up, called and torn down; it is written once, at the end, with the worst of the three."""
        outcome, message = self.worst.get(report.nodeid, ("pass", ""))
        if report.failed:
            if outcome != "fail":
                outcome, message = "fail", message_of(report)
        elif report.skipped and outcome == "pass":
            outcome = "skip"
        self.worst[report.nodeid] = (outcome, message)
        if report.when == "teardown":
            self.worst.pop(report.nodeid)
            self.recorder.case(report.nodeid, outcome, message)

    def pytest_sessionfinish(self):
        self.recorder.write({"end": True})
        self.recorder.stream.close()
        os.environ.pop("SUITE_REPORT_TAKEN", None)
