"""Validity of values by the rules that schema nodes carry: one function a struct, compiled from the nodes.

Rules that need more than one field, or more than the object, are the kind's own (`orchtw.registry.groups`).
"""
