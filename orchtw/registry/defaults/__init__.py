"""Defaults that depend on other fields or have to be computed, by API group; plain functions on canonical dicts.

What a field holds whatever else there is stands in the protos instead and is filled before these run. What needs
more than the object (a naming, an allocator) or is set on create only is the kind's strategy.
"""
