"""Admission: plugins that may change or refuse a write between its decoding and the store (seed 3).

The chain and its attributes live here, plugins one a file under `plugins`.
"""
