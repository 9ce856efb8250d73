//! How each service stands, as a table and as variables for a shell.

use super::Service;
use super::site::Site;
use crate::table;

/// How a service stands after a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Standing {
    /// The environment names it, and somebody answers there.
    Given {
        address: String,
    },
    /// It ran before.
    Running {
        pid: u32,
        ports: Vec<u16>,
    },
    Started {
        pid: u32,
        ports: Vec<u16>,
    },
    /// Its process is there, but does not answer where it should.
    Silent {
        pid: u32,
    },
    Stopped,
    /// It could not be had, and why.
    Failed(String),
}

/// One service and how it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Report {
    pub(super) service: Service,
    pub(super) standing: Standing,
}

impl Report {
    /// Whether clients can use it now.
    pub(super) const fn is_up(&self) -> bool {
        match self.standing {
            Standing::Given { .. } | Standing::Running { .. } | Standing::Started { .. } => true,
            Standing::Silent { .. } | Standing::Stopped | Standing::Failed(_) => false,
        }
    }

    /// The variables that tell tests where it is; none while it is not up.
    pub(super) fn environment(&self) -> Vec<(&'static str, String)> {
        match &self.standing {
            Standing::Given { address } => self.service.recipe().environment_given(self.service.variable(), address),
            Standing::Running { ports, .. } | Standing::Started { ports, .. } => {
                self.service.recipe().environment(ports)
            }
            Standing::Silent { .. } | Standing::Stopped | Standing::Failed(_) => Vec::new(),
        }
    }

    fn cells(&self) -> [String; 5] {
        let address = self.environment().into_iter().find(|(name, _)| *name == self.service.variable());
        let address = address.map(|(_, address)| address).unwrap_or_default();
        let (state, pid, why) = match &self.standing {
            Standing::Given { .. } => ("given", None, self.service.variable()),
            Standing::Running { pid, .. } => ("running", Some(*pid), ""),
            Standing::Started { pid, .. } => ("started", Some(*pid), ""),
            Standing::Silent { pid } => ("silent", Some(*pid), "it does not answer, or its port is forgotten"),
            Standing::Stopped => ("stopped", None, ""),
            Standing::Failed(why) => ("FAILED", None, why.as_str()),
        };
        let pid = pid.map(|pid| pid.to_string()).unwrap_or_default();
        [self.service.name().to_owned(), state.to_owned(), address, pid, why.to_owned()]
    }
}

pub(super) fn show(reports: &[Report]) -> String {
    let cells: Vec<[String; 5]> = reports.iter().map(Report::cells).collect();
    table::render(["service", "state", "address", "pid", "why"], &cells)
}

/// What tests are told: where each service is, and how to start one like it.
pub(super) fn variables(site: &Site, reports: &[Report]) -> Vec<(&'static str, String)> {
    let installed = reports.iter().filter(|report| report.is_up());
    let installed = installed.flat_map(|report| report.service.recipe().installed(site));
    reports.iter().flat_map(Report::environment).chain(installed).collect()
}

/// Lines that a shell takes in: `eval "$(cargo xtask services env)"`.
pub(super) fn exports(variables: Vec<(&'static str, String)>) -> String {
    let lines: Vec<String> =
        variables.into_iter().map(|(name, value)| format!("export {name}={}\n", quoted(&value))).collect();
    lines.concat()
}

fn quoted(value: &str) -> String {
    format!("'{}'", value.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reports() -> [Report; 2] {
        [
            Report { service: Service::PgBouncer, standing: Standing::Started { pid: 42, ports: vec![20_002] } },
            Report { service: Service::Postgres, standing: Standing::Failed("missing: postgresql".to_owned()) },
        ]
    }

    #[test]
    fn the_table_says_where_each_one_is_or_why_it_is_not() {
        let expected = "\
service   | state   | address                                      | pid | why
----------+---------+----------------------------------------------+-----+--------------------
pgbouncer | started | postgres://postgres@127.0.0.1:20002/postgres | 42  |
postgres  | FAILED  |                                              |     | missing: postgresql
";
        assert_eq!(show(&reports()), expected);
    }

    #[test]
    fn a_shell_is_told_only_of_what_is_up() {
        let expected = "export ONEFOLD_TEST_PGBOUNCER='postgres://postgres@127.0.0.1:20002/postgres'\n";
        assert_eq!(exports(reports().iter().flat_map(Report::environment).collect()), expected);
    }

    #[test]
    fn a_shell_takes_every_value_as_it_is() {
        assert_eq!(quoted("it's $HOME"), r"'it'\''s $HOME'");
    }
}
