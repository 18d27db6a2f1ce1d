"""Faults on demand: rules that make requests fail, wait or break for the tests of clients, without any I/O.

A rule selects requests, names one fault, and says how often it strikes. `rules.FaultRules` keeps the rules and
decides which of them strike a request; `orchtw.filters.faults`, `orchtw.serving.faulty_watch` and
`orchtw.verbs.stale_reads` carry the faults out.
"""
