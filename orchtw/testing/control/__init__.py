"""Requests of tests to their server: one description of each, over blocking sockets, asyncio or Twisted's threads.

Everything here is written as coroutines over a `Network`; `blocking.finish` runs those whose network blocks.
"""
