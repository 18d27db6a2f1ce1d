"""What is special about each kind, a module or package an API group: strategies, defaults that depend on something,
validation, and one record a kind with the rest of its traits, or the names of where they are.

A default that a field has whatever else there is stands in the protos and is filled before these run.
"""
