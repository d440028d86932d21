"""Loaded by every Python of a test run: has the results of `python -m unittest` written as JSON lines, and pytest's plugin loaded
before a file of the same name in the repository could take its place."""

import sys


def arguments():
    try:
        with open("/proc/self/cmdline", "rb") as stream:
            return stream.read().split(b"\0")
    except OSError:
        return []


def is_unittest(words):
    return any(a == b"-m" and b == b"unittest" for a, b in zip(words, words[1:]))


words = arguments()
if is_unittest(words):
    from unittest_report import install
    install()
elif any(b"pytest" in word or b"py.test" in word for word in words):
    import suite_report  # noqa: F401
