//! `cargo xtask services`: its command line and what each word does.

use std::path::Path;
use std::process::ExitCode;

use super::report::{Report, exports, show, variables};
use super::site::Site;
use super::state::Until;
use super::{Install, Service, down, program, up};

/// How many lines of a log are shown.
const LOG_LINES: usize = 60;

/// What is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verb {
    Up(Install, Show),
    Down,
    Status,
    Logs,
    Env,
}

/// What `up` prints at its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Show {
    Table,
    /// Lines for a shell; the table goes to standard error.
    Exports,
}

/// What is to be done with which services.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) verb: Verb,
    /// As they were named; empty means all.
    pub(crate) services: Vec<Service>,
}

/// Reads the arguments after `cargo xtask services`; an error says what would be right.
pub(crate) fn parse(args: &[&str]) -> Result<Request, String> {
    let Some((verb, rest)) = args.split_first() else {
        return Err(
            "`services` needs one of up, down, status, logs, env (see `cargo xtask services --help`)".to_owned()
        );
    };
    let mut verb = match *verb {
        "up" => Verb::Up(Install::Missing, Show::Table),
        "down" => Verb::Down,
        "status" => Verb::Status,
        "logs" => Verb::Logs,
        "env" => Verb::Env,
        other => return Err(format!("`services` has no `{other}`; there are up, down, status, logs and env")),
    };
    let mut services = Vec::new();
    for arg in rest {
        verb = match (*arg, verb) {
            ("--no-install", Verb::Up(_, show)) => Verb::Up(Install::Never, show),
            ("--env", Verb::Up(install, _)) => Verb::Up(install, Show::Exports),
            (flag, _) if flag.starts_with('-') => {
                return Err(format!(
                    "`services {}` does not know `{flag}` (see `cargo xtask services --help`)",
                    args[0]
                ));
            }
            (name, verb) => {
                services.push(Service::named(name)?);
                verb
            }
        };
    }
    Ok(Request { verb, services })
}

/// Does it; the exit code says whether every service stands as it was asked to.
pub(crate) fn command(root: &Path, request: &Request) -> Result<ExitCode, String> {
    let site = Site::open(root)?;
    let services = if request.services.is_empty() { Service::ALL } else { &request.services };
    let well = match request.verb {
        Verb::Up(install, shown) => {
            let _held = site.lock()?;
            let reports = up::up(&site, services, install, Until::Down)?;
            print_up(&site, &reports, shown);
            reports.iter().all(Report::is_up)
        }
        Verb::Down => {
            let _held = site.lock()?;
            let reports = down::down(&site, services)?;
            print!("{}", show(&reports));
            reports.iter().all(|report| report.standing == super::report::Standing::Stopped)
        }
        Verb::Status => {
            let reports = down::status(&site, services);
            print!("{}", show(&reports));
            reports.iter().all(Report::is_up)
        }
        Verb::Logs => {
            for service in services {
                print_log(&site, *service);
            }
            true
        }
        Verb::Env => {
            let reports = down::status(&site, services);
            print!("{}", exports(variables(&site, &reports)));
            for report in reports.iter().filter(|report| !report.is_up()) {
                eprintln!("{}: not running, so it has no address", report.service.name());
            }
            // Unnamed means those that there are.
            request.services.is_empty() || reports.iter().all(Report::is_up)
        }
    };
    Ok(if well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn print_up(site: &Site, reports: &[Report], shown: Show) {
    match shown {
        Show::Table => print!("{}", show(reports)),
        Show::Exports => {
            eprint!("{}", show(reports));
            print!("{}", exports(variables(site, reports)));
        }
    }
}

fn print_log(site: &Site, service: Service) {
    let log = site.log(service.name());
    if log.exists() {
        println!("==> {} <==\n{}", log.display(), program::tail(&log, LOG_LINES));
    } else {
        println!("==> {}: never started here, so it has no log <==", service.name());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Request, String> {
        parse(&line.split_whitespace().collect::<Vec<_>>())
    }

    #[test]
    fn without_a_name_all_are_meant() {
        let expected = Request { verb: Verb::Up(Install::Missing, Show::Table), services: Vec::new() };
        assert_eq!(parsed("up"), Ok(expected));
    }

    #[test]
    fn flags_and_names_come_in_any_order() {
        let expected = Request { verb: Verb::Up(Install::Never, Show::Exports), services: vec![Service::PgBouncer] };
        assert_eq!(parsed("up --env pgbouncer --no-install"), Ok(expected));
    }

    #[test]
    fn only_up_has_flags() {
        for line in ["down --no-install", "env --env", "status --all"] {
            assert!(parsed(line).is_err(), "{line}");
        }
    }

    #[test]
    fn a_wrong_word_is_refused_with_those_that_exist() {
        assert!(parsed("start").unwrap_err().contains("up, down, status, logs and env"));
        assert!(parsed("").unwrap_err().contains("up, down, status, logs, env"));
        assert!(parsed("up mysql").unwrap_err().contains("pgbouncer"));
    }

    #[test]
    fn the_help_explains_every_word_flag_service_and_variable() {
        for word in ["up", "down", "status", "logs", "env", "--no-install", "--env"] {
            assert!(crate::help::SERVICES.contains(&format!("\n  {word} ")), "{word}");
        }
        for service in Service::ALL {
            assert!(crate::help::SERVICES.contains(&format!("\n  {} ", service.name())), "{service:?}");
            assert!(crate::help::SERVICES.contains(service.variable()), "{service:?}");
        }
    }
}
