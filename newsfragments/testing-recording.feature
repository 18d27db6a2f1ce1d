Test servers have `follow`, `export`, `import_` and `replay`, and recorded writes have `uid`, `audit_id` and `fault`.
