"""The settings of the API server: what there is, how it is read from flags and a file, and whether it can be so."""

from orchtw.config.settings import Config, host_and_port

__all__ = ["Config", "host_and_port"]
