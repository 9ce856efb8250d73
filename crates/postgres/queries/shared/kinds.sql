-- Every kind that was pinned.
SELECT kind, declaration, pinned_at FROM onefold_kinds ORDER BY kind
