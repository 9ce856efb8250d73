//! Lists of columns in a statement, made from the tables.
//!
//! A statement writes a list as `{table.set from N: pattern}`: the pattern for each column of the set, with commas
//! between. In the pattern `@` is the column's name, `#` its number in the list, counted from N, and `&` what the
//! store calls its type. Behind a `|` stands the pattern for times. All but the table may be left out:
//!
//! | in the statement | becomes |
//! |---|---|
//! | `{note}` | `tenant, kind, operation_id, at, …` |
//! | `{operation.changing from 4: @ = ?#}` | `fence = ?4, attempt_id = ?5, …` |
//! | `{operation.granted: r.@ \| r.@ + now}` | `r.tenant, …, r.created_at + now, …` |
//! | `{operation.granted from 2 + settling: $#}` | numbers behind those of the set `settling` and one more |
//!
//! What is not such a list stays as it is, and then the statement cannot be prepared.

use super::table::{Column, ColumnSet, ColumnType};
use super::{attempt, incident, note, operation};

/// The statement with its lists of columns; `type_name` is what a store calls a column's type.
pub fn expand(statement: &str, type_name: impl Fn(ColumnType) -> &'static str) -> String {
    let mut expanded = String::with_capacity(statement.len());
    let mut rest = statement;
    while let Some((before, list)) = rest.split_once('{') {
        expanded.push_str(before);
        let Some((list, after)) = list.split_once('}') else {
            rest = &rest[before.len()..];
            break;
        };
        match List::parse(list) {
            Some(list) => expanded.push_str(&list.text(&type_name)),
            None => expanded.extend(["{", list, "}"]),
        }
        rest = after;
    }
    expanded + rest
}

/// A list of columns in a statement.
struct List<'s> {
    columns: Vec<Column>,
    from: usize,
    pattern: &'s str,
    times: &'s str,
}

impl<'s> List<'s> {
    fn parse(text: &'s str) -> Option<Self> {
        let (list, pattern) = text.split_once(':').unwrap_or((text, "@"));
        let (list, from) = list.split_once(" from ").unwrap_or((list, "1"));
        let (table, set) = list.split_once('.').unwrap_or((list, "all"));
        let (pattern, times) = pattern.split_once('|').unwrap_or((pattern, pattern));
        let from = from.split('+').map(|part| {
            let counted = || columns(table, part.trim()).map(|columns| columns.len());
            part.trim().parse().ok().or_else(counted)
        });
        Some(Self {
            columns: columns(table, set)?,
            from: from.sum::<Option<usize>>()?,
            pattern: pattern.trim(),
            times: times.trim(),
        })
    }

    fn text(&self, type_name: impl Fn(ColumnType) -> &'static str) -> String {
        let columns = self.columns.iter().zip(self.from..).map(|(column, number)| {
            let pattern = if column.holds == ColumnType::Time { self.times } else { self.pattern };
            let typed = pattern.replace('#', &number.to_string()).replace('&', type_name(column.holds));
            typed.replace('@', column.name)
        });
        columns.collect::<Vec<_>>().join(", ")
    }
}

fn columns(table: &str, set: &str) -> Option<Vec<Column>> {
    let set = ColumnSet::parse(set)?;
    let all: &[Column] = match table {
        "operation" => &operation::ALL,
        "attempt" => &attempt::ALL,
        "note" => &note::ALL,
        "incident" => &incident::ALL,
        _ => return None,
    };
    Some(all.iter().filter(|column| column.group.is_in(set)).copied().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(statement: &str) -> String {
        expand(statement, |holds| match holds {
            ColumnType::Text | ColumnType::Json => "text",
            ColumnType::Number | ColumnType::Time => "bigint",
            ColumnType::Hex | ColumnType::Bytes => "bytea",
        })
    }

    #[test]
    fn a_list_has_a_pattern_for_each_column() {
        assert_eq!(
            expanded("SELECT {note} FROM n"),
            "SELECT tenant, kind, operation_id, at, who, what, why, fence FROM n"
        );
        assert_eq!(
            expanded("{note: $#::&[]}"),
            ["$1::text[], $2::text[], $3::text[], $4::bigint[], $5::text[], $6::text[], $7::text[], $8::bigint[]"][0]
        );
        assert!(expanded("{operation.changing from 4: @ = ?#}").starts_with("fence = ?4, attempt_id = ?5, "));
        assert!(expanded("{note: r.@ | r.@ + now}").contains("r.at + now, r.who"));
        let numbers = expanded("{operation.settling: $#}; {operation.granted from 2 + settling: $#}");
        let (settling, granted) = numbers.split_once("; ").unwrap();
        let last: usize = settling.rsplit('$').next().unwrap().parse().unwrap();
        assert!(granted.starts_with(&format!("${}, ", last + 2)), "{numbers}");
    }

    #[test]
    fn what_is_not_a_list_stays_as_it_is() {
        for text in ["{nobody}", "{note.never}", "{note from soon: #}", "{note", "}", "SELECT 1"] {
            assert_eq!(expanded(text), text);
        }
    }

    #[test]
    fn the_columns_of_a_table_are_in_the_order_of_their_groups() {
        for table in [&operation::ALL[..], &attempt::ALL, &note::ALL, &incident::ALL] {
            assert!(table.is_sorted_by_key(|column| column.group), "{table:?}");
        }
    }
}
