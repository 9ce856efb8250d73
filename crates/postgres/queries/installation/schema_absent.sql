-- Whether a schema is still to be made: making it takes a permission that a role may lack where it is there.
SELECT to_regnamespace(quote_ident($1)) IS NULL
