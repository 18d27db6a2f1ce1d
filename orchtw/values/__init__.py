"""Formats of single values: names, addresses, ports, quantities, times, and the causes that reject them.

Pure functions on text and numbers; schemas, flags and rules are built from them.
"""
