-- Pins a kind unless it is pinned.
INSERT INTO onefold_kinds (kind, declaration, pinned_at) VALUES ($1, $2, $3) ON CONFLICT (kind) DO NOTHING
