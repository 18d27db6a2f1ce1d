"""Configuration files of the API server: their document, and the group and kind that they name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from orchtw.errors import Cause, ConfigError
from orchtw.naming.naming import Naming
from orchtw.outbound.fields import Fields

GROUP: Final = "apiserver.config.orch.io"


def document(flag: str, path: Path) -> Any:
    """Return the document in a file of YAML or JSON.

    Raises ConfigError, also for a key that comes twice: the last would silently replace the first.
    """
    from orchtw.schema.codec.yaml_text import parse_yaml  # late: few servers have such a file

    repeated: list[str] = []
    try:
        found = parse_yaml(path.read_bytes(), repeated)
    except OSError as error:
        raise ConfigError(f"{flag}: {path}: {error.strerror}") from None
    except ValueError as error:
        raise ConfigError(f"{flag}: {path}: is neither YAML nor JSON: {' '.join(str(error).split())}") from None
    if repeated:
        raise ConfigError(*(f"{flag}: {path}: {each}" for each in repeated))
    return found


def configuration(flag: str, path: Path, kind: str, *versions: str) -> Fields:
    """Return the fields of a file of that kind, under either vocabulary's group.

    Raises ConfigError.
    """
    value = document(flag, path)
    try:
        file = Fields(path, "", value)
        group, _, version = file.text("apiVersion").rpartition("/")
        named = Naming.kubernetes().neutral(group), file.text("kind")
    except ConfigError as error:
        raise ConfigError(f"{flag}: {error}") from None
    if named != (GROUP, kind) or version not in versions:
        raise ConfigError(f"{flag}: {path}: is not {kind} of {GROUP}/{versions[0]}")
    return file


class FilePart:
    """Context that notes the mistake which ends a part of a file, and goes on behind it."""

    def __init__(self, note: Callable[[ConfigError], None]) -> None:
        self._note = note

    def __enter__(self) -> None:
        """Enter the part, whose mistakes are noted."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        """Note a ConfigError; anything else goes on."""
        if isinstance(error, ConfigError):
            self._note(error)
            return True
        return False


class Mistakes:
    """Mistakes in a file, all of which are told together."""

    def __init__(self) -> None:
        self._problems: list[Cause | ConfigError] = []

    def part(self) -> FilePart:
        """Return the context of one part of the file."""
        return FilePart(self._problems.append)

    def wrong(self, cause: Cause) -> None:
        """Note a mistake in the file."""
        self._problems.append(cause)

    def check(self, flag: str, path: Path) -> None:
        """Raise ConfigError with a line for each mistake, if there are any."""
        if self._problems:
            raise ConfigError(*(f"{flag}: {self._line(problem, path)}" for problem in self._problems))

    @staticmethod
    def _line(problem: Cause | ConfigError, path: Path) -> str:
        text = str(problem) if isinstance(problem, ConfigError) else f"{path}: {problem}"
        return " ".join(text.split())
