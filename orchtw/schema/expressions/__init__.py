"""Rules in the Common Expression Language: read, checked against a schema and compiled to closures that count their
cost (reference CRD-28).

Nothing here knows of definitions as objects: `rules` takes structural schemas and answers causes.
"""
