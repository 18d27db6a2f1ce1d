Selectors of devices are compiled when classes, claims and templates are written, and refused if they are wrong or too costly.
