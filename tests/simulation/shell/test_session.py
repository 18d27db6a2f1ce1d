"""Command lines of the simulated shell, run as steps and foreseen (reference SIM-21)."""

# covers: orchtw.simulation.shell.syntax, orchtw.simulation.shell.programs

from __future__ import annotations

from typing import Any

import msgspec
from twisted.trial.unittest import SynchronousTestCase

from orchtw.simulation.shell.files import Files
from orchtw.simulation.shell.programs import Output, Read, Sleep, Surroundings
from orchtw.simulation.shell.session import PROMPT, executed, foreseen
from orchtw.simulation.shell.syntax import LIMIT, NotSimulated, parse

AROUND = Surroundings(variables={"NAME": "two words", "HOME": "/root"}, hostname="web", now=lambda: 0.0)


def run(
    *words: str, typed: tuple[str, ...] = (), prompts: bool = False, around: Surroundings = AROUND
) -> tuple[str, str, float, int]:
    """Return both outputs, the seconds slept and the exit code of a command with this input."""
    outputs, slept, left = {1: "", 2: ""}, 0.0, list(typed)
    steps = executed(words, around, prompts=prompts)
    sent: str | None = None
    try:
        while True:
            step = next(steps) if sent is None else steps.send(sent)
            sent = None
            if isinstance(step, Output):
                outputs[step.channel] += step.text
            elif isinstance(step, Sleep):
                slept += step.seconds
            else:
                assert isinstance(step, Read)
                sent = left.pop(0) if left else ""
    except StopIteration as end:
        return outputs[1], outputs[2], slept, end.value


class ExecutedTests(SynchronousTestCase):
    def test_line(self) -> None:
        """A line's outputs go where it says, and its last code is its own."""
        self.assertEqual(run("sh", "-c", "echo out; echo err >&2; sleep 3; exit 4"), ("out\n", "err\n", 3.0, 4))
        self.assertEqual(run("sh", "-c", "echo a >/dev/null; echo b 2>&1"), ("b\n", "", 0.0, 0))

    def test_operators(self) -> None:
        """`&&` and `||` look at the code before them."""
        self.assertEqual(run("sh", "-c", "true && echo yes || echo no")[0], "yes\n")
        self.assertEqual(run("sh", "-c", "false && echo yes || echo no")[0], "no\n")

    def test_words(self) -> None:
        """Quotes keep blanks together, and only single ones keep variables."""
        line = """echo "$NAME" '$NAME' a\\ b ${NAME}s $?"""
        self.assertEqual(run("sh", "-c", line)[0], "two words $NAME a b two wordss 0\n")

    def test_input(self) -> None:
        """`cat` copies its input; `sh` runs the lines of it, with prompts for a terminal."""
        self.assertEqual(run("cat", typed=("a", "b\n"))[0], "ab\n")
        self.assertEqual(run("sh", typed=("hostname\nexit", " 3\nls\n"))[::3], ("web\n", 3))
        self.assertEqual(run("/bin/sh", typed=("pwd\n",), prompts=True)[0], f"{PROMPT}/\n{PROMPT}")

    def test_mv(self) -> None:
        """`mv` moves files, once; it needs a target."""
        around = msgspec.structs.replace(AROUND, files=Files())
        self.assertEqual(run("mv", "-v", "/a", "/tmp/", around=around)[0], "'/a' -> '/tmp/'\n")
        refusal = "mv: can't rename '/a': No such file or directory\n"
        self.assertEqual(run("mv", "/a", "/b", around=around)[1::2], (refusal, 1))
        self.assertEqual(run("mv", "/a")[1::2], ("mv: missing file operand\n", 1))

    def test_files(self) -> None:
        """Outputs go to files, which other commands read, test and remove."""
        line = "echo a > /f; echo b >> /f; cat /f; test -s /f && rm /f; [ -e /f ] || echo gone; rm /f"
        around = msgspec.structs.replace(AROUND, files=Files())
        refusal = "rm: can't remove '/f': No such file or directory\n"
        self.assertEqual(run("sh", "-c", line, around=around), ("a\nb\ngone\n", refusal, 0.0, 1))
        found = foreseen(["sh", "-c", "touch /f; sleep 3; echo a > /f; rm -f /f /f"], AROUND)
        assert found is not None
        self.assertEqual(found.files, ((0.0, "/f", ""), (3.0, "/f", ""), (3.0, "/f", "a\n"), (3.0, "/f", None)))

    def test_comparisons(self) -> None:
        """`test` compares texts and says with 2 that it cannot do more."""
        for words, code in ((("-n", "a"), 0), (("-z", "a"), 1), (("a", "=", "b"), 1), (("!", "a", "!=", "a"), 0)):
            self.assertEqual(run("test", *words)[3], code)
        self.assertEqual(run("test", "1", "-lt", "2")[1::2], ("test: not simulated\n", 2))

    def test_assignments(self) -> None:
        """A value before a command is the variable's for that command alone."""
        self.assertEqual(run("sh", "-c", "NAME=x env | true; echo")[3], 2)
        self.assertEqual(run("sh", "-c", "NAME=x printenv NAME; printenv NAME")[0], "x\ntwo words\n")
        self.assertIsNone(foreseen(["sh", "-c", "NAME=x"], AROUND))

    def test_loop(self) -> None:
        """A loop runs while its condition succeeds; one that has no end never ends."""
        line = "touch /a; while test -f /a; do echo x; sleep 2; rm /a; done; echo end"
        around = msgspec.structs.replace(AROUND, files=Files())
        self.assertEqual(run("sh", "-c", line, around=around), ("x\nend\n", "", 2.01, 0))
        endless = ("while true; do echo x; sleep 5; done", "while true\ndo true\ndone", "while sleep 9; do :; done")
        for line in endless:
            found = foreseen(["sh", "-c", line], AROUND)
            assert found is not None
            self.assertEqual(found.length_s, float("inf"))
        unknown = ("while true; echo", "while true; do echo", "done", "while; do x; done", "while nginx; do x; done")
        for line in unknown:
            self.assertIsNone(foreseen(["sh", "-c", line], AROUND))

    def test_follow(self) -> None:
        """`tail -f` does not end."""
        found = foreseen(["tail", "-f", "/dev/null"], AROUND)
        assert found is not None
        self.assertEqual(found.length_s, float("inf"))

    def test_long_command(self) -> None:
        """Variables that make a command too long are not replaced; the line ends with 2."""
        around = Surroundings(variables={"BIG": "x" * 10_000}, hostname="web", now=lambda: 0.0)
        for line, code in (("echo $BIG", 0), ("echo $BIG$BIG", 2), ("echo $BIG $BIG", 2)):
            found = foreseen(["sh", "-c", line], around)
            assert found is not None
            self.assertEqual(found.code, code)

    def test_endless_line(self) -> None:
        """Input without a newline is kept only up to the longest line."""
        steps: Any = executed(("sh",), AROUND)
        next(steps)
        for _ in range(50):
            steps.send("x" * LIMIT)
        shell = steps.gi_yieldfrom.gi_yieldfrom
        self.assertLess(len(shell.gi_frame.f_locals["rest"]), 2 * LIMIT)

    def test_programs(self) -> None:
        """Each program does what its name says, as far as it goes."""
        self.assertEqual(run("env")[0], "NAME=two words\nHOME=/root\n")
        self.assertEqual(run("printenv", "HOME", "NONE")[::3], ("/root\n", 1))
        self.assertEqual(run("echo", "-ne", "a\\tb")[0], "a\tb")
        self.assertEqual(run("printf", "%s-%d\\n", "x", "7")[0], "x-7\n")
        self.assertIn("etc\n", run("ls")[0])
        self.assertEqual(run("ls", "/nowhere")[3], 1)
        self.assertEqual(run("cat", "/etc/hostname")[0], "web\n")
        self.assertEqual(run("cat", "/none")[3], 1)
        self.assertEqual(run("sleep", "1m", "2s")[2], 62.0)
        self.assertEqual(run("sleep", "x")[3], 1)
        self.assertEqual(run("date")[0], "1970-01-01T00:00:00Z\n")
        self.assertEqual((run("true")[3], run("false")[3]), (0, 1))

    def test_unknown(self) -> None:
        """Another program is not found (127), other syntax is not simulated (2)."""
        self.assertEqual(run("nosuch", "-x"), ("", "nosuch: not found\n", 0.0, 127))
        for line in ("until false; do ls; done", "ls | cat", "echo $(ls)", "echo 'a", "a && ", "echo > "):
            self.assertEqual(run("sh", "-c", line)[3], 2 if line != "a && " else 127, line)


class ParseTests(SynchronousTestCase):
    def test_long_line(self) -> None:
        """A line is at most 64 KiB long."""
        self.assertRaises(NotSimulated, parse, "echo " + "a" * 65_536)

    def test_comment(self) -> None:
        """A comment and empty commands are nothing."""
        calls: list[Any] = parse("# x\necho a # b\n;;")
        self.assertEqual([call.words for call in calls], [("echo", "a")])


class ForeseenTests(SynchronousTestCase):
    def test_known(self) -> None:
        """The output, the length and the code of a known command are foreseen."""
        found = foreseen(["sh", "-c", "echo a; sleep 2; echo b; exit 3"], AROUND)
        assert found is not None
        self.assertEqual((found.output, found.length_s, found.code), (((0.0, "a\n"), (2.0, "b\n")), 2.0, 3))

    def test_endless(self) -> None:
        """One that sleeps for ever never ends, nor does one that waits for input that nobody ends."""
        for words, waits in ((["sleep", "infinity"], False), (["sh"], True), (["cat"], True)):
            found = foreseen(words, AROUND, waits=waits)
            assert found is not None
            self.assertEqual(found.length_s, float("inf"), words)
        found = foreseen(["cat"], AROUND)
        assert found is not None
        self.assertEqual(found.length_s, 0.0)

    def test_unknown(self) -> None:
        """Nothing is foreseen of a command, part of which is not simulated."""
        for line in ("nginx; ls", "ls | cat", "echo $(ls)"):
            self.assertIsNone(foreseen(["sh", "-c", line], AROUND), line)
        for words in (["nginx"], ["sh", "x.sh"], []):
            self.assertIsNone(foreseen(words, AROUND), words)
