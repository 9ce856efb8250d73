-- The same, for somebody who looks at the clock: one at a time.
SELECT confirmed, candidate FROM onefold_clock WHERE id = 1 FOR UPDATE
