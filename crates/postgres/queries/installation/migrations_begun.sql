-- Whether there is a table of migrations.
SELECT to_regclass('onefold_migrations') IS NOT NULL
