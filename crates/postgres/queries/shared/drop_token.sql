-- Forgets a token.
DELETE FROM onefold_tokens WHERE name = $1
