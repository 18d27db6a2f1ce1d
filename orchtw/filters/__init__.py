"""Filters of the request chain, one per module: each stage wraps the rest of the chain (see `chain`).

`STAGES` in `orchtw.server` lists those that run (reference DESIGN-4).
"""
