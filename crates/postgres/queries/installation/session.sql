-- What this connection's session was given when it began; nothing where somebody else began it.
SELECT current_setting('onefold.session', true)
