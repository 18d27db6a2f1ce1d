"""Admission policies: expressions in API objects that may refuse or change writes (reference POLICY-1).

`definitions` compiles policies and bindings, `constraints` tells which writes they match, and `known` follows both
kinds and plans what concerns a write. `inputs` has the values of variables, `parameters` finds parameters, `rights`
answers questions to the authorizer, and `runs` keeps long evaluations off the reactor. `conditions` are match
conditions, which webhooks have too. Only plugins and webhooks import this package.
"""
