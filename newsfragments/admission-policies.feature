ValidatingAdmissionPolicy and MutatingAdmissionPolicy refuse and change writes by rules in the Common Expression Language, with bindings, parameters and audit annotations.
