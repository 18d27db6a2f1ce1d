`--authentication-config` names a file with several issuers of tokens, rules in CEL for their claims, and the paths of anonymous requests; a changed file is read within a minute.
