"""`twistd orch-apiserver`: its options and the service they make."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn, cast

from twisted.application.service import IService
from twisted.python import usage

from orchtw import __version__
from orchtw.assembly import start
from orchtw.assembly.collector import collector_at_rest
from orchtw.assembly.monotonic import keep_monotonic_time
from orchtw.assembly.start import EXIT_FAILED, end_on_signals, lines_of, reload_on_hangup
from orchtw.config import Config
from orchtw.errors import ConfigError
from orchtw.flags.flag import parse_boolean
from orchtw.logs.lines import FORMATS
from orchtw.logs.verbosity import Verbosity
from orchtw.naming.naming import Naming

_PID_FILE = "twistd.pid"
"""The name that twistd gives it by itself."""


class Options(usage.Options):
    """The API server's flags, read by `config.parse`; `config` holds the result."""

    config: Config

    def parseOptions(self, options: Sequence[str] | None = None) -> None:
        """Read the flags; `--help` and `--version` answer and exit 0, flag errors print a line each and exit 1."""
        arguments = list(sys.argv[1:] if options is None else options)
        if "--help" in arguments or "-h" in arguments:
            self.opt_help()
        arguments = self._without_version(arguments)
        with collector_at_rest():
            from orchtw.assembly.flags import parse
        try:
            self.config = parse(arguments)
        except ConfigError as error:
            _refuse(error)
        self._check_foreground()
        self._direct_log()
        self._settle_pid_file()

    def _without_version(self, arguments: list[str]) -> list[str]:
        """Answer `--version`, `--version=true` and the release's `--version=raw`; returns the other arguments."""
        asked = [each for each in arguments if each == "--version" or each.startswith("--version=")]
        for each in asked:
            value = each.partition("=")[2] or "true"
            try:
                wanted = value == "raw" or parse_boolean(value)
            except ValueError as error:
                _refuse(ConfigError(f'invalid argument "{value}" for "--version" flag: {error}'))
            if wanted:
                self.opt_version()
        return [each for each in arguments if each not in asked]

    def _check_foreground(self) -> None:
        """End the start if standard input is to be read, which `twistd` replaces in the background."""
        twistd = cast(Any, getattr(self, "parent", None))
        if self.config.health.stop_at_eof and twistd and not twistd["nodaemon"]:
            _refuse(ConfigError("--stop-at-eof: only in the foreground (twistd --nodaemon)"))

    def _direct_log(self) -> None:
        """Send the log to standard error in the foreground, so that the first line of output is the ready line."""
        settings, twistd = start.log_settings, cast(Any, getattr(self, "parent", None))
        settings.line = FORMATS[self.config.log.format]
        settings.verbosity = Verbosity(self.config.log.v, self.config.log.vmodule)
        if not twistd or twistd["logger"] or twistd.get("syslog"):
            return
        settings.file = twistd["logfile"] or ("" if twistd["nodaemon"] else "twistd.log")
        if settings.file not in ("", "-"):
            _check_log_file(Path(settings.file))
        if settings.file != "-" or twistd["nodaemon"]:
            twistd["logger"] = "orchtw.assembly.start.log_as_set"

    def _settle_pid_file(self) -> None:
        """Do without twistd's own PID file in the foreground, in a folder that cannot be written to."""
        twistd = cast(Any, getattr(self, "parent", None))
        if not twistd or not twistd["pidfile"]:
            return
        path = Path(twistd["rundir"], twistd["pidfile"])
        if os.access(path if path.exists() else path.parent, os.W_OK):
            return
        if not twistd["nodaemon"] or twistd["pidfile"] != _PID_FILE:
            _refuse(ConfigError(f"--pidfile: {path}: cannot be written; --pidfile= does without"))
        twistd["pidfile"] = ""

    def getUsage(self, width: int | None = None) -> str:
        """Return every flag with its default, by section; then the commands and the exit statuses."""
        from orchtw.assembly.flags import all_flags
        from orchtw.commands.shell.options import help_lines
        from orchtw.flags.exit_status import SERVER, exit_status_text
        from orchtw.flags.flag import help_text

        usage = "Usage: twistd [options] orch-apiserver [flags]"
        return "\n".join((usage, "", help_text(all_flags()), "", *help_lines(), "", exit_status_text(SERVER), ""))

    def opt_help(self) -> NoReturn:
        """Print every flag and exit."""
        _print(self.getUsage())
        sys.exit(0)

    def opt_version(self) -> NoReturn:
        """Print the release whose API is served and the version of this project, and exit."""
        naming = Naming.orch()
        _print(f"{naming.product_title} {naming.git_version} (orchtw {__version__})")
        sys.exit(0)


def makeService(options: Options) -> IService:
    """Return the API server as a service; nothing is listened on yet. Start errors print a line each and exit 1."""
    from twisted.internet import reactor

    keep_monotonic_time(reactor)
    if options.config.health.stop_at_eof:
        from orchtw.assembly.standard_input import stop_at_end_of_input

        stop_at_end_of_input(reactor, options.config.health.shutdown_delay_duration_s)
    try:
        with collector_at_rest():
            from orchtw.server import make_service

            service = make_service(options.config.rooted(Path.cwd()), start.log_settings.verbosity)
    except ConfigError as error:
        _refuse(error)
    end_on_signals(reactor)
    reload_on_hangup(reactor, service.reload)
    return service


def _print(text: str) -> None:
    """Print to a reader who may have had enough, such as `| head`."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        # What is left in the buffer would fail again when the interpreter ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _check_log_file(path: Path) -> None:
    """End the start with one line if the log cannot be written; twistd would open it later, with a traceback."""
    if path.is_fifo():
        return  # opening it would wait for its reader
    there = path.exists()
    try:
        with path.open("ab"):
            pass
        if not there:
            path.unlink()
    except OSError as error:
        _refuse(ConfigError(f"--logfile: {path}: {error.strerror}"))


def _refuse(error: ConfigError) -> NoReturn:
    print(*lines_of(error), sep="\n", file=sys.stderr, flush=True)
    sys.exit(EXIT_FAILED)
