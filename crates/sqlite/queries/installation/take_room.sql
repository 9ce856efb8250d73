-- More room than a claim needs.
INSERT INTO onefold_room (filler) VALUES (zeroblob(65536))
