With the gate `LegacyServiceAccountTokenTracking`, uses of tokens in Secrets are noted in labels, warnings, audit and metrics, and generated ones that nobody uses are cleaned up.
