"""The flags with what this server has to offer: their choices are the names in the registries."""

from __future__ import annotations

from collections.abc import Sequence

from orchtw.admission.plugins import PLUGINS
from orchtw.admission.selection import problems
from orchtw.authz import MODES
from orchtw.config import Config, reading
from orchtw.config.checks import Choices
from orchtw.controllers import CONTROLLERS
from orchtw.errors import ConfigError
from orchtw.storage import STORES

CHOICES = Choices(
    stores=tuple(STORES),
    authorization_modes=tuple(MODES),
    admission_plugins=tuple(PLUGINS),
    controllers=tuple(CONTROLLERS),
)

FLAGS = reading.flags_of(CHOICES)


def parse(arguments: Sequence[str]) -> Config:
    """The Config of a command line (without the program's name). Raises ConfigError with every problem."""
    made = reading.parse(arguments, CHOICES)
    if wrong := problems(made):
        raise ConfigError(*wrong)
    return made
