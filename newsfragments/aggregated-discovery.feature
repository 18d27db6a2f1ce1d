`/api` and `/apis` serve all groups, versions and resources in one document each to clients that ask for aggregated discovery.
