"""The log as lines (reference OPS-19)."""

from __future__ import annotations

import io
import os
import re

import orjson
from twisted.logger import LogEvent, Logger, LogLevel, LogPublisher
from twisted.trial.unittest import SynchronousTestCase

from orchtw.logs.lines import FORMATS, json_line, observer, text_line
from orchtw.logs.values import VALUES, LogValues
from orchtw.logs.verbosity import Verbosity


class LineCase(SynchronousTestCase):
    """A log of the test's own; what it writes is in `out`."""

    def log(self, line_format: str, verbosity: Verbosity | None = None) -> Logger:
        """A logger of this module."""
        self.out = io.StringIO()
        publisher = LogPublisher(observer(self.out, FORMATS[line_format], verbosity or Verbosity()))
        return Logger(namespace=__name__, observer=publisher)


class TextTests(LineCase):
    """Log lines as text (`text_line`)."""

    def test_line(self) -> None:
        """Letter of the level, date, time, process, file and line, text."""
        log = self.log("text")
        log.info("{a} is", a=1)
        log.warn("two")
        first, second = self.out.getvalue().splitlines()
        form = r"I\d{4} \d\d:\d\d:\d\d\.\d{6} +(\d+) test_lines\.py:\d+\] 1 is"
        found = re.fullmatch(form, first)
        assert found is not None, first
        self.assertEqual(int(found[1]), os.getpid())
        self.assertEqual(second[0], "W")

    def test_traceback(self) -> None:
        """The lines of a traceback follow, each with a tab; an event without its caller names its logger."""
        log = self.log("text")
        try:
            raise ValueError("x")
        except ValueError:
            log.failure("it failed")
        lines = self.out.getvalue().splitlines()
        self.assertEqual((lines[0][0], lines[0].endswith("] it failed")), ("F", True))
        self.assertTrue(all(line.startswith("\t") for line in lines[1:]), lines)
        event: LogEvent = {"log_time": 0.0, "log_level": LogLevel.error, "log_format": "x", "log_namespace": "gone"}
        self.assertTrue(text_line(event).endswith(" gone:1] x\n"))


class JsonTests(LineCase):
    """Log lines in JSON (`json_line`)."""

    def test_values(self) -> None:
        """An object on each line: milliseconds, place, text, and the values in the text but for taken names."""
        log = self.log("json")
        log.info('{code} for {who} {msg} "\n"', code=200, who="ann", msg="!")
        line = orjson.loads(self.out.getvalue())
        self.assertEqual(
            {name: line[name] for name in ("msg", "code", "who", "v")},
            {"msg": '200 for ann ! "\n"', "code": 200, "who": "ann", "v": 0},
        )
        self.assertRegex(line["caller"], r"^test_lines\.py:\d+$")
        self.assertGreater(line["ts"], 1e12)

    def test_named_values(self) -> None:
        """An event that is a text and named values has just these, as they are (reference OPS-18)."""
        log = self.log("json")
        values = LogValues("HTTP", {"URI": '/x"', "resp": 200})
        log.info("{line}", line='"HTTP" URI="/x\\"" resp=200', **{VALUES: values})
        line = orjson.loads(self.out.getvalue())
        self.assertEqual((line["msg"], line["URI"], line["resp"]), ("HTTP", '/x"', 200))
        self.assertNotIn("line", line)

    def test_failure(self) -> None:
        """A failure has its text and its traceback; an error without one its own text."""
        log = self.log("json")
        try:
            raise ValueError("x\udc80")
        except ValueError:
            log.failure("it failed")
        log.error("bad")
        failed, bad = map(orjson.loads, self.out.getvalue().splitlines())
        self.assertEqual((failed["msg"], failed["err"]), ("it failed", "ValueError: x?"))
        self.assertIn("Traceback", failed["stack"])
        self.assertEqual((bad["err"], "v" in bad), ("bad", False))

    def test_odd_events(self) -> None:
        """Large numbers and events without a format are lines as well."""
        event = {"log_time": 1.5, "log_format": "{n} {a.b} {}", "n": 1 << 80, "log_namespace": "x"}
        self.assertEqual(orjson.loads(json_line(event))["n"], str(1 << 80))
        self.assertEqual(orjson.loads(json_line({"log_time": 1.5}))["caller"], "-:1")


class DetailTests(LineCase):
    """Details and how they are asked for."""

    def test_details(self) -> None:
        """They are written from verbosity 4 on, that of the module or of all."""
        of_module = Verbosity(0, (("test_lin*", 4),))
        for verbosity, shown in ((Verbosity(3), False), (Verbosity(4), True), (of_module, True)):
            self.log("text", verbosity).debug("detail")
            self.assertEqual(bool(self.out.getvalue()), shown)


class VerbosityTests(SynchronousTestCase):
    """Log verbosity, by module patterns too (`Verbosity`)."""

    def test_patterns(self) -> None:
        """The first pattern that fits the module's last part, or all of its name, counts; then the level."""
        verbosity = Verbosity(1, (("request_log", 5), ("orchtw.filters.*", 3)))
        modules = "orchtw.filters.request_log", "orchtw.filters.cors", "orchtw.server"
        self.assertEqual([verbosity.of(each) for each in modules], [5, 3, 1])
        verbosity.level = 2
        self.assertEqual((verbosity.level, [verbosity.of(each) for each in modules]), (2, [5, 3, 2]))
