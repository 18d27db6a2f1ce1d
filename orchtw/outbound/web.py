"""Modules that need treq and Twisted's web client, under one name, for a late import in a thread."""

from orchtw.outbound.agent import client
from orchtw.outbound.bodies import collected
from orchtw.outbound.url import asked_url

__all__ = ["asked_url", "client", "collected"]
