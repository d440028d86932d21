"""Loaded by every Python of a test run: has the results of unittest written as JSON lines, and pytest's plugin loaded before a file
of the same name in the repository could take its place."""

import importlib.abc
import importlib.util
import sys


def arguments():
    try:
        with open("/proc/self/cmdline", "rb") as stream:
            return stream.read().split(b"\0")
    except OSError:
        return []


class WhenImported(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Patches unittest's text runner once it is imported, by `-m unittest`, `unittest.main()` or Django's test command."""

    def find_spec(self, name, path=None, target=None):
        if name != "unittest.runner":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            return None
        self.original = spec.loader
        spec.loader = self
        return spec

    def create_module(self, spec):
        return self.original.create_module(spec)

    def exec_module(self, module):
        self.original.exec_module(module)
        import unittest_report
        unittest_report.install(module.TextTestRunner)


sys.meta_path.insert(0, WhenImported())
if any(b"pytest" in word or b"py.test" in word for word in arguments()):
    import suite_report  # noqa: F401
