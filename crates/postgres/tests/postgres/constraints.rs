//! What PostgreSQL itself says of each broken rule, and what the registry makes of it.

use onefold_core::error::{DB_SERIALIZATION_RETRYABLE, OPERATION_CONFLICT, PROGRAMMING_INVARIANT_VIOLATED};
use onefold_core::persistence::Constraints;
use onefold_postgres::fault;
use sqlx::{AssertSqlSafe, Executor as _, PgConnection};

use crate::fixture::Schema;

const TABLES: &str = "
    CREATE TABLE actors (id text PRIMARY KEY);
    CREATE TABLE cases (
        reference text NOT NULL CONSTRAINT uq_case_reference UNIQUE,
        status text CONSTRAINT chk_case_valid_status CHECK (status = 'OPEN'),
        actor text CONSTRAINT fk_case_actor REFERENCES actors (id),
        held int4range,
        CONSTRAINT ex_case_held EXCLUDE USING gist (held WITH &&)
    );
    CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF NEW.reference = 'T' THEN
            RAISE EXCEPTION 'secret words' USING ERRCODE = 'P0001', CONSTRAINT = 'case_refused', DETAIL = 'CASE_REFUSED';
        ELSIF NEW.reference = 'C' THEN
            RAISE EXCEPTION 'secret words' USING ERRCODE = 'check_violation', CONSTRAINT = 'chk_case_valid_status';
        ELSIF NEW.reference = 'S' THEN
            RAISE EXCEPTION 'secret words' USING ERRCODE = 'serialization_failure';
        END IF;
        RETURN NEW;
    END $$;
    CREATE TRIGGER refuse BEFORE INSERT ON cases FOR EACH ROW EXECUTE FUNCTION refuse();
    INSERT INTO cases VALUES ('A', 'OPEN', NULL, '[1,5)')";

async fn tables(schema: &Schema) -> PgConnection {
    let mut connection = schema.connect().await;
    let sql = format!("CREATE SCHEMA {name}; SET search_path = {name}; {TABLES}", name = schema.name);
    connection.execute(sqlx::raw_sql(AssertSqlSafe(sql))).await.unwrap();
    connection
}

#[tokio::test]
async fn a_fault_is_told_by_its_sqlstate_and_names_its_constraint() {
    let schema = Schema::new();
    let mut connection = tables(&schema).await;
    let rows = [
        ("INSERT INTO cases (reference) VALUES ('A')", "UniqueViolation", Some("uq_case_reference")),
        ("INSERT INTO cases VALUES ('B', 'SHUT')", "CheckViolation", Some("chk_case_valid_status")),
        ("INSERT INTO cases (status) VALUES ('OPEN')", "NotNullViolation", Some("reference")),
        ("INSERT INTO cases VALUES ('B', 'OPEN', 'nobody')", "ForeignKeyViolation", Some("fk_case_actor")),
        ("INSERT INTO cases VALUES ('B', 'OPEN', NULL, '[2,3)')", "CheckViolation", Some("ex_case_held")),
        ("INSERT INTO cases (reference) VALUES ('T')", "Raised", Some("case_refused")),
        ("INSERT INTO cases (reference) VALUES ('C')", "CheckViolation", Some("chk_case_valid_status")),
        ("INSERT INTO cases (reference) VALUES ('S')", "SerializationFailure", None),
        ("INSERT INTO nowhere VALUES (1)", "Other", None),
    ];
    for (statement, kind, constraint) in rows {
        let fault = fault(&connection.execute(statement).await.unwrap_err());
        assert!(format!("{fault:?}").starts_with(kind), "{statement}: {fault:?}");
        assert_eq!(fault.constraint(), constraint, "{statement}");
    }
}

#[tokio::test]
async fn a_mapped_constraint_is_its_code_an_unmapped_one_a_broken_invariant_and_no_words_pass() {
    let schema = Schema::new();
    let mut connection = tables(&schema).await;
    let map = Constraints::new().map("uq_case_reference", OPERATION_CONFLICT).map("case_refused", OPERATION_CONFLICT);
    let rows = [
        ("INSERT INTO cases (reference) VALUES ('A')", OPERATION_CONFLICT),
        ("INSERT INTO cases (reference) VALUES ('T')", OPERATION_CONFLICT),
        ("INSERT INTO cases (reference) VALUES ('C')", PROGRAMMING_INVARIANT_VIOLATED),
        ("INSERT INTO cases (reference) VALUES ('S')", DB_SERIALIZATION_RETRYABLE),
    ];
    for (statement, code) in rows {
        let error = map.error(&fault(&connection.execute(statement).await.unwrap_err()));
        assert_eq!(error.code(), code, "{statement}");
        assert!(!error.to_string().contains("secret words"), "{error}");
    }
}
