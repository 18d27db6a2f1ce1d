"""Settings of the API server: their definition, parsing from flags and a file, and validation."""

from orchtw.config.hosts import host_and_port
from orchtw.config.settings import Config

__all__ = ["Config", "host_and_port"]
