`/version` names the commit and the date that the package was built from.
