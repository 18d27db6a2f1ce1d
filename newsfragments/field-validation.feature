Fields that are unknown or come twice are warned about, refused (`fieldValidation=Strict`) or dropped silently (`Ignore`), in JSON, YAML and patches.
