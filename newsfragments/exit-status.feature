`--help` of every command ends with its exit statuses.
