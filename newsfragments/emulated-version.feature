`--emulated-version` names the release whose later additions are off, and `--report-release` the release that `/version` reports.
