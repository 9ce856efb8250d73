//! Constraint names and the codes they mean, said once.

use std::collections::BTreeMap;

use super::Fault;
use crate::error::{
    Code, DATABASE_BUSY, DATABASE_CORRUPT, DATABASE_FULL, DATABASE_READ_ONLY, DATABASE_UNAVAILABLE,
    DB_DEADLOCK_RETRYABLE, DB_SERIALIZATION_RETRYABLE, Error, PROGRAMMING_INVARIANT_VIOLATED,
};

/// What each constraint of a schema means. A name that is not here is an invariant violation, not a guess.
#[derive(Debug, Clone, Default)]
pub struct Constraints {
    codes: BTreeMap<String, Code>,
}

impl Constraints {
    /// No constraint is known.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same, knowing one more.
    #[must_use]
    pub fn map(mut self, constraint: &str, code: Code) -> Self {
        self.codes.insert(constraint.to_owned(), code);
        self
    }

    /// Every name, for the comparison with the schema.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.codes.keys().map(String::as_str)
    }

    /// Which of the schema's constraints are not mapped, and what is mapped and not in the schema.
    pub fn compare<'a>(&'a self, schema: &'a [String]) -> (Vec<&'a str>, Vec<&'a str>) {
        let unmapped = schema.iter().map(String::as_str).filter(|name| !self.codes.contains_key(*name)).collect();
        let gone = self.names().filter(|name| !schema.iter().any(|known| known == name)).collect();
        (unmapped, gone)
    }

    /// The registry error of a fault. Its detail names the constraint, and therefore never leaves a redacted code.
    pub fn error(&self, fault: &Fault) -> Error {
        let code = match fault {
            Fault::UniqueViolation { constraint }
            | Fault::ForeignKeyViolation { constraint }
            | Fault::CheckViolation { constraint }
            | Fault::NotNullViolation { constraint }
            | Fault::Raised { constraint } => {
                let violated = self.violated(constraint.as_deref());
                return match constraint {
                    Some(name) => violated.breaking(&**name),
                    None => violated,
                };
            }
            Fault::SerializationFailure => DB_SERIALIZATION_RETRYABLE,
            Fault::DeadlockDetected => DB_DEADLOCK_RETRYABLE,
            Fault::RowsHeld => DATABASE_BUSY,
            Fault::ConnectionFailure | Fault::TooManyConnections | Fault::QueryCancelled | Fault::Shutdown => {
                DATABASE_UNAVAILABLE
            }
            Fault::OutOfSpace => DATABASE_FULL,
            Fault::ReadOnly => DATABASE_READ_ONLY,
            Fault::Damaged => DATABASE_CORRUPT,
            Fault::LoginRefused => {
                return Error::new(DATABASE_UNAVAILABLE, "the database refused the login")
                    .hint("check user and password, and whether this user may connect from here");
            }
            Fault::NoSuchDatabase => {
                return Error::new(DATABASE_UNAVAILABLE, "there is no database of that name")
                    .hint("create it first, or name another one");
            }
            Fault::NotAllowed => {
                return Error::new(DATABASE_READ_ONLY, "the user lacks a permission on the database or its schema")
                    .hint("grant this user CREATE on the database, or USAGE and CREATE on the schema");
            }
            Fault::Other { state } => {
                let detail = format!("the database refused a statement with {state}");
                return Error::new(PROGRAMMING_INVARIANT_VIOLATED, detail);
            }
        };
        Error::new(code, code.descriptor().guide.summary)
    }

    fn violated(&self, constraint: Option<&str>) -> Error {
        let mapped = constraint.and_then(|name| self.codes.get(name)).copied();
        match (mapped, constraint) {
            // The caller of a mapped code is told what the code means, not how the table is called.
            (Some(code), _) => Error::new(code, code.descriptor().guide.summary),
            (None, Some(name)) => Error::new(PROGRAMMING_INVARIANT_VIOLATED, format!("constraint {name} was broken"))
                .hint("map the constraint's name to a code of the application"),
            (None, None) => Error::new(PROGRAMMING_INVARIANT_VIOLATED, "a constraint without a name was broken")
                .hint("name the constraint, or raise with a CONSTRAINT field"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{OPERATION_CONFLICT, RESULT_NOT_KEPT};

    fn known() -> Constraints {
        Constraints::new()
            .map("cases_idempotency_key", RESULT_NOT_KEPT)
            .map("cases_reference", OPERATION_CONFLICT)
            .map("chk_case_valid_status", OPERATION_CONFLICT)
    }

    /// 004 §9: a row of the text's table each.
    #[test]
    fn faults_become_the_codes_of_the_table() {
        let rows = [
            ("unique idempotency key", "23505", Some("cases_idempotency_key"), RESULT_NOT_KEPT),
            ("unique natural key", "23505", Some("cases_reference"), OPERATION_CONFLICT),
            ("foreign key", "23503", Some("cases_actor"), PROGRAMMING_INVARIANT_VIOLATED),
            ("check", "23514", Some("chk_case_valid_status"), OPERATION_CONFLICT),
            ("serialization failure", "40001", None, DB_SERIALIZATION_RETRYABLE),
            ("deadlock", "40P01", None, DB_DEADLOCK_RETRYABLE),
            ("connection failure", "08006", None, DATABASE_UNAVAILABLE),
        ];
        for (row, state, constraint, code) in rows {
            assert_eq!(known().error(&Fault::of_sql_state(state, constraint)).code(), code, "{row}");
        }
    }

    #[test]
    fn every_other_state_has_a_code_too() {
        let rows = [
            ("23502", PROGRAMMING_INVARIANT_VIOLATED),
            ("55P03", DATABASE_BUSY),
            ("53100", DATABASE_FULL),
            ("53300", DATABASE_UNAVAILABLE),
            ("57014", DATABASE_UNAVAILABLE),
            ("57P01", DATABASE_UNAVAILABLE),
            ("25006", DATABASE_READ_ONLY),
            ("XX001", DATABASE_CORRUPT),
            ("28000", DATABASE_UNAVAILABLE),
            ("28P01", DATABASE_UNAVAILABLE),
            ("3D000", DATABASE_UNAVAILABLE),
            ("42501", DATABASE_READ_ONLY),
            ("3F000", DATABASE_READ_ONLY),
            ("42P01", PROGRAMMING_INVARIANT_VIOLATED),
        ];
        for (state, code) in rows {
            assert_eq!(known().error(&Fault::of_sql_state(state, None)).code(), code, "{state}");
        }
        let sqlite = [
            (2067, Some("cases_reference"), OPERATION_CONFLICT),
            (1555, None, PROGRAMMING_INVARIANT_VIOLATED),
            (275, Some("chk_case_valid_status"), OPERATION_CONFLICT),
            (787, None, PROGRAMMING_INVARIANT_VIOLATED),
            (1811, Some("chk_case_valid_status"), OPERATION_CONFLICT),
            (517, None, DB_SERIALIZATION_RETRYABLE),
            (5, None, DATABASE_BUSY),
            (13, None, DATABASE_FULL),
            (1032, None, DATABASE_READ_ONLY),
            (266, None, DATABASE_UNAVAILABLE),
            (15, None, DATABASE_UNAVAILABLE),
            (11, None, DATABASE_CORRUPT),
            (26, None, DATABASE_CORRUPT),
        ];
        for (extended, constraint, code) in sqlite {
            assert_eq!(known().error(&Fault::of_sqlite(extended, constraint)).code(), code, "{extended}");
        }
    }

    #[test]
    fn a_raised_exception_carries_its_code_in_the_constraint_field() {
        let raised = |constraint| known().error(&Fault::of_sql_state("P0001", constraint)).code();
        assert_eq!(raised(Some("chk_case_valid_status")), OPERATION_CONFLICT);
        assert_eq!(raised(Some("chk_unheard_of")), PROGRAMMING_INVARIANT_VIOLATED);
        assert_eq!(raised(None), PROGRAMMING_INVARIANT_VIOLATED);
    }

    #[test]
    fn a_name_that_is_gone_and_one_that_nobody_mapped_both_show() {
        let schema = ["cases_reference".to_owned(), "chk_new_rule".to_owned()];
        let constraints = known();
        let (unmapped, gone) = constraints.compare(&schema);
        assert_eq!(unmapped, ["chk_new_rule"]);
        assert_eq!(gone, ["cases_idempotency_key", "chk_case_valid_status"]);
    }
}
