`--authorization-config` names a file with the authorizers, among them several webhooks with match conditions in CEL; a changed file is read within a minute.
