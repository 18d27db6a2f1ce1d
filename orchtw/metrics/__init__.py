"""Metrics of a process, and their exposition (reference METRIC-1).

Series are plain numbers that only the reactor's thread changes; every package declares its own, beside the code that
they measure, and a `Registry` has those that `/metrics` shows.
"""
