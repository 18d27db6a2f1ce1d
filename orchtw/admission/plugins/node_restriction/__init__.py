"""NodeRestriction: the agent of a node changes what is its own, and nothing that lets it draw work to itself
(reference PLUG-41 to PLUG-44).

`plugin` finds the rules for a write; `pods`, `nodes` and `others` are those rules, functions of the write and the
node's name that return why it is refused, or nothing.
"""
