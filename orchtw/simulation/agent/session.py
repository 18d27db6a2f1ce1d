"""Remote commands: one program of the simulated shell between a client's input and outputs (reference SIM-24)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, Protocol

import msgspec
import orjson
from twisted.internet.interfaces import IReactorTime

from orchtw.simulation.agent.terminal import Terminal
from orchtw.simulation.clock import SimulationClock, Timer
from orchtw.simulation.shell.programs import Output, Read, Sleep, Step, Steps

STDIN, STDOUT, STDERR, ERROR, RESIZE = range(5)
MOST_INPUT_BYTES: Final = 1 << 18
"""Unread input from which on the client is not read any more."""
_STEPS: Final = 100
"""Steps in one turn of the reactor."""
_CODING: Final = ("utf-8", "surrogateescape")


class WantedStreams(msgspec.Struct, frozen=True, kw_only=True):
    """The streams that a client has asked for."""

    stdin: bool
    stdout: bool
    stderr: bool
    tty: bool

    @classmethod
    def of(cls, query: Mapping[str, list[str]]) -> WantedStreams:
        """Return what the query of a request says."""
        tty = _flag(query, "tty")
        return cls(
            stdin=_flag(query, "input"),
            stdout=_flag(query, "output"),
            stderr=_flag(query, "error") and not tty,
            tty=tty,
        )


class Wire(Protocol):
    """The client's side of a session."""

    def write(self, channel: int, data: bytes) -> None:
        """Send output to the client; nothing for a stream that it has not asked for."""

    def end(self, status: bytes) -> None:
        """Send the outcome, and close."""

    def hold(self, held: bool) -> None:
        """Stop reading from the client, or go on."""


class Session:
    """One running program. `paused` while the client does not read; `ended` is told its exit code."""

    def __init__(
        self,
        steps: Steps,
        wanted: WantedStreams,
        wire: Wire,
        reactor: IReactorTime,
        clock: SimulationClock,
        ended: Callable[[int], None] | None = None,
    ) -> None:
        self._ended = ended
        self._steps = steps
        self._wire = wire
        self._reactor = reactor
        self._clock = clock
        self._terminal = Terminal(self._echo, self._type, self._interrupt) if wanted.tty else None
        self._input: list[str] = []
        self._input_size = 0
        self._at_end = not wanted.stdin
        self._reading = False
        self._started = self._over = self._scheduled = False
        self._sent: str | None = None
        self._timer: Timer | None = None
        self.paused = False

    def start(self) -> None:
        """Start the program, once the client can receive its output."""
        self._started = True
        self._run()

    def received(self, data: bytes) -> None:
        """Take in input, through the terminal if there is one."""
        if self._terminal is not None:
            self._terminal.feed(data)
        else:
            self._type(data)

    def input_ended(self) -> None:
        """Note the end of the input."""
        self._at_end = True
        self._feed()

    def stop(self) -> None:
        """Give up: the client has gone."""
        self._close(0)

    def resume(self) -> None:
        """Go on: the client reads again."""
        self.paused = False
        self._soon()

    def _type(self, data: bytes) -> None:
        if not data:
            self.input_ended()
            return
        self._input.append(data.decode(*_CODING))
        self._input_size += len(data)
        if self._input_size > MOST_INPUT_BYTES:
            self._wire.hold(True)
        self._feed()

    def _echo(self, data: bytes) -> None:
        self._wire.write(STDOUT, data)

    def _interrupt(self) -> None:
        self._finish(130)

    def _feed(self) -> None:
        """Let a program that waits for input go on."""
        if self._reading and (self._input or self._at_end) and not self._over:
            self._reading = False
            self._soon(self._taken())

    def _taken(self) -> str:
        text, self._input, self._input_size = "".join(self._input), [], 0
        self._wire.hold(False)
        return text

    def _soon(self, sent: str | None = None) -> None:
        """Run in a turn to come; `sent` is the answer to the step that waited."""
        self._sent = self._sent if sent is None else sent
        if self._started and not self._over and not self._scheduled:
            self._scheduled = True
            self._reactor.callLater(0, self._run)

    def _run(self) -> None:
        """Run as many steps as one turn of the reactor allows."""
        self._scheduled = False
        if self._over or self._reading or self._timer is not None or self.paused:
            return
        try:
            for _ in range(_STEPS):
                sent, self._sent = self._sent, None
                if self._waits(next(self._steps) if sent is None else self._steps.send(sent)) or self.paused:
                    return
        except StopIteration as end:
            self._finish(int(end.value))
            return
        self._soon()

    def _waits(self, step: Step) -> bool:
        """Do a step; report whether the program waits for something."""
        if isinstance(step, Output):
            data = step.text.encode(*_CODING)
            self._wire.write(step.channel, data.replace(b"\n", b"\r\n") if self._terminal else data)
            return False
        if isinstance(step, Sleep):
            self._timer = self._clock.call_later(step.seconds, self._slept, settles=False)
            return True
        assert isinstance(step, Read)
        self._reading = True
        self._feed()
        return True

    def _slept(self) -> None:
        self._timer = None
        self._soon("")

    def _finish(self, code: int) -> None:
        if self._close(code):
            self._wire.end(outcome(code))

    def _close(self, code: int) -> bool:
        """End the program; report whether it was running."""
        if self._over:
            return False
        self._over = True
        if self._timer is not None:
            self._timer.cancel()
        self._steps.close()
        if self._ended is not None:
            self._ended(code)
        return True


def outcome(code: int) -> bytes:
    """Return the Status of a command that has ended."""
    if not code:
        return orjson.dumps({"metadata": {}, "status": "Success"})
    return orjson.dumps(
        {
            "metadata": {},
            "status": "Failure",
            "reason": "NonZeroExitCode",
            "message": f"command terminated with non-zero exit code: exit code {code}",
            "details": {"causes": [{"reason": "ExitCode", "message": str(code)}]},
        }
    )


def _flag(query: Mapping[str, list[str]], name: str) -> bool:
    return query.get(name, [""])[0] in ("1", "true")


MakeSession = Callable[[WantedStreams, Wire], Session]
"""Makes the session of a client."""
