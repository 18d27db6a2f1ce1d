With `--report-release`, errors in custom resources have the forms of that release: the values that rules and lists show, and the unit of `maxLength`.
