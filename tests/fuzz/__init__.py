"""A structure-aware fuzzer: `python -m tests.fuzz --requests N [--seed S]`.

It starts real servers, sends them requests that are made from the schema and then spoilt, and checks each answer.
Request number n of seed S is always the same one, whatever the server answered before. What it finds is printed, and
kept in `kept/`: those requests come first in each later run. Nothing here is imported by the server.
"""
