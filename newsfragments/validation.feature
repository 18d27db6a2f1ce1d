Objects of every built-in kind are checked by the rules of release 1.24, on create, update and writes to their status: a 422 has a cause for each field that is wrong, in the release's words.
