-- Begins a generation: of a new ledger, or of one that a person accepted.
INSERT INTO onefold_generations (number, generation, began_at, who, why)
SELECT coalesce(max(number), 0) + 1, $1, $2, $3, $4 FROM onefold_generations
