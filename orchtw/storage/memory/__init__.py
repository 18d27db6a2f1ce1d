"""The store of `--storage memory`: nothing outlives the process, and a write costs no disk.

It is for tests of programs against a real server. No files, no threads; one process only.
"""
