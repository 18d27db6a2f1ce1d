With feature gate `TaintTolerationComparisonOperators`, tolerations have the operators `Lt` and `Gt`.
