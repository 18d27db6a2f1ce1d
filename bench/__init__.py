"""Reproducible benchmarks: one process that loads a server over TLS and prints a JSON line for each scenario.

`python -m bench` starts this checkout's server afresh for every family of scenarios, in an empty data directory;
`--against URL` measures a server that already runs. The work, the bodies and the field names are those of the load
generator that the reference figures were taken with, so that lines of the two can be compared (docs/performance.md).
Nothing here is a test, and nothing of it is installed; it imports the server only to know its names.
"""
