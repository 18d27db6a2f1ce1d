"""PodSecurityPolicy: a pod must satisfy a policy that its creator or its service account may use.

`policy` compiles a policy, `filling` sets its defaults in a pod, `checking` validates a pod, with the `*_rules`
modules for parts of it. `plugin` tries one policy after the other, and `rights` authorizes their use. No other
package imports any of it.
"""
