"""Snapshots of the state of a server, and restores: the whole store goes back to an earlier state at once.

For tests of programs against a real server. What is restored is written as ordinary changes at new revisions, so that
caches and controllers follow by themselves. The parts of the server that must hold still meanwhile are handed in.
"""
