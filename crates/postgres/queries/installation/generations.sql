-- The ledger's generations, the present one last.
SELECT generation FROM onefold_generations ORDER BY number
