"""Exports of a server's objects and writes: files of JSON lines, made on one server and repeated on another.

The code is that of a client over any connection: `orch-record` runs it on a reactor, the servers for tests over their
own networks. It neither opens files nor prints.
"""
