"""PodSecurityPolicy: a pod must fit one of the policies that its maker, or its account, may use.

`policy` reads a policy, `filling` fills in a pod what it leaves open, `checking` says what does not fit, with the
`*_rules` modules for what they look at. `plugin` tries one policy after the other, and `rights` asks who may use
which. Nobody else needs any of it.
"""
