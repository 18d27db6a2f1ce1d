"""NodeRestriction: limits of what the agent of a node may write (reference PLUG-41 to PLUG-44).

It may change what belongs to the node, but nothing that attracts workloads. `plugin` finds the rule for a write;
`pods`, `nodes` and `others` have the rules, functions of the write and the node's name that return the reason for a
refusal, or an empty string.
"""
