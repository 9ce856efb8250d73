-- A column that only the other store has.
ALTER TABLE :table ADD COLUMN :column ANY
