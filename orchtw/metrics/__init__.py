"""Metrics of a process, and their exposition (reference METRIC-1).

Series are plain numbers that the reactor's thread alone changes; every package declares its own,
beside the code they measure, and a `Registry` has those that `/metrics` shows.
"""
