"""Formats of single values: names, addresses, ports, quantities, times, and causes of their rejection.

Pure functions on text and numbers; schemas, flags and rules are built from them.
"""
