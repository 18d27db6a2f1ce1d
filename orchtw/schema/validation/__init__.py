"""Validation of values by the rules of schema nodes: one function for each struct, compiled from the nodes.

Rules across fields, or beyond the object, belong to the kind (`orchtw.registry.groups`).
"""
