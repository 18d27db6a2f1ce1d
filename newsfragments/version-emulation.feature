`/version` names the emulated and the oldest compatible release if `--report-release` is 1.33 or later.
