-- More room than a claim needs; several servers may ask at once.
INSERT INTO onefold_room (id, filler) VALUES ($1, decode(repeat('00', 32768), 'hex'))
