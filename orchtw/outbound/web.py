"""Modules that need treq and Twisted's web client, under one name: imported late, as a whole and in a thread."""

from orchtw.outbound.bodies import Bytes, collected
from orchtw.outbound.pool import Pool
from orchtw.outbound.url import asked_url

__all__ = ["Bytes", "Pool", "asked_url", "collected"]
