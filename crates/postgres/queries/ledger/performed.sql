-- What the transaction remembers of an operation that it performed; refused where a statement of it failed.
SELECT current_setting('onefold.performed', true)
