"""Reading definitions: mappings that a person wrote become `Definition` objects, or problems."""
