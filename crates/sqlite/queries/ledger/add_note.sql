-- Something that was said of an operation.
INSERT INTO onefold_notes ({note}) VALUES ({note: ?#})
