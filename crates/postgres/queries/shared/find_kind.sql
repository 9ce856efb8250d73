-- The pinned declaration of a kind.
SELECT kind, declaration, pinned_at FROM onefold_kinds WHERE kind = $1
