//! The command line, parsed once.

use crate::help;
use crate::services;
use crate::suites::SUITES;

/// What the command line asks for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Help(&'static str),
    Test(Options),
    Ci(Options),
    Bench(BenchOptions),
    Services(services::Request),
    Tidy,
}

/// How to run suites and steps.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    /// What was not run counts as failed.
    pub(crate) require_all: bool,
    /// Missing tools stay missing, and what needs them is not run.
    pub(crate) no_install: bool,
    /// Explore the model exhaustively instead of the quick bounds.
    pub(crate) full: bool,
    /// The suites to run; empty means all.
    pub(crate) only: Vec<String>,
}

/// What to do with benchmarks, and how.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BenchOptions {
    pub(crate) request: BenchRequest,
    pub(crate) size: Size,
    /// Missing services stay missing.
    pub(crate) no_install: bool,
}

/// Which benchmarks are meant.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum BenchRequest {
    List,
    /// The store is for a benchmark that runs on either.
    One {
        name: String,
        store: Option<Store>,
    },
    Report(ReportSource),
}

/// Where the figures of the report come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReportSource {
    /// Every benchmark runs now.
    Runs,
    /// The last runs that were kept.
    Kept,
}

/// What a benchmark that can choose runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Store {
    Sqlite,
    Postgres,
}

impl Store {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
            Self::Postgres => "postgres",
        }
    }
}

/// How much work a benchmark does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Size {
    /// Enough to measure, on a quiet machine.
    Measured,
    /// The same beside whatever else runs.
    Busy,
    /// Enough to show that it runs; its numbers mean nothing.
    Smoke,
}

/// Reads the arguments after `cargo xtask`; an error says what would be right.
pub(crate) fn parse(args: &[String]) -> Result<Action, String> {
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let Some((command, rest)) = args.split_first() else {
        return Ok(Action::Help(help::OVERVIEW));
    };
    match *command {
        "help" | "--help" | "-h" => help_for(rest),
        "test" | "ci" | "bench" | "services" | "tidy" if asks_for_help(rest) => help_for(&[command]),
        "test" => options(command, rest).map(Action::Test),
        "ci" => options(command, rest).map(Action::Ci),
        "bench" => bench(rest).map(Action::Bench),
        "services" => services::parse(rest).map(Action::Services),
        "tidy" => match rest.first() {
            None => Ok(Action::Tidy),
            Some(extra) => Err(unexpected("tidy", extra)),
        },
        unknown => Err(format!(
            "there is no command `{unknown}`; the commands are test, ci, bench, services and tidy (see `cargo xtask --help`)"
        )),
    }
}

fn asks_for_help(rest: &[&str]) -> bool {
    rest.iter().any(|arg| matches!(*arg, "--help" | "-h"))
}

fn help_for(rest: &[&str]) -> Result<Action, String> {
    let text = match rest.first().copied() {
        None => help::OVERVIEW,
        Some("test") => help::TEST,
        Some("ci") => help::CI,
        Some("bench") => help::BENCH,
        Some("services") => help::SERVICES,
        Some("tidy") => help::TIDY,
        Some(other) => {
            return Err(format!("there is no help for `{other}`; the commands are test, ci, bench, services and tidy"));
        }
    };
    Ok(Action::Help(text))
}

fn options(command: &str, rest: &[&str]) -> Result<Options, String> {
    let mut options = Options::default();
    let mut rest = rest.iter();
    while let Some(arg) = rest.next() {
        match *arg {
            "--require-all" => options.require_all = true,
            "--no-install" => options.no_install = true,
            "--full" => options.full = true,
            "--only" if command == "test" => options.only.push(suite_name(rest.next().copied())?),
            extra => return Err(unexpected(command, extra)),
        }
    }
    Ok(options)
}

fn suite_name(given: Option<&str>) -> Result<String, String> {
    let known: Vec<&str> = SUITES.iter().map(|suite| suite.name).collect();
    let known = known.join(", ");
    let Some(name) = given else {
        return Err(format!("`--only` needs the name of a suite: {known}"));
    };
    if SUITES.iter().any(|suite| suite.name == name) {
        Ok(name.to_owned())
    } else {
        Err(format!("there is no suite `{name}`; the suites are {known}"))
    }
}

/// The name that is not a benchmark's.
const REPORT: &str = "report";

fn bench(rest: &[&str]) -> Result<BenchOptions, String> {
    let (mut name, mut on_store, mut source) = (None, None, ReportSource::Runs);
    let (mut size, mut no_install) = (Size::Measured, false);
    let mut rest = rest.iter();
    while let Some(arg) = rest.next() {
        match *arg {
            "--smoke" => size = Size::Smoke,
            "--busy" => size = Size::Busy,
            "--no-install" => no_install = true,
            "--kept" => source = ReportSource::Kept,
            "--store" => on_store = Some(store(rest.next().copied())?),
            extra if extra.starts_with('-') || name.is_some() => {
                return Err(unexpected("bench", extra));
            }
            given => name = Some(given),
        }
    }
    let request = match name {
        Some(REPORT) if on_store.is_some() => {
            return Err("the report is of every store: leave `--store` out".to_owned());
        }
        Some(REPORT) => BenchRequest::Report(source),
        _ if source == ReportSource::Kept => return Err("`--kept` is for `cargo xtask bench report`".to_owned()),
        Some(name) => BenchRequest::One { name: name.to_owned(), store: on_store },
        None => BenchRequest::List,
    };
    Ok(BenchOptions { request, size, no_install })
}

fn store(given: Option<&str>) -> Result<Store, String> {
    match given {
        Some("sqlite") => Ok(Store::Sqlite),
        Some("postgres") => Ok(Store::Postgres),
        _ => Err("`--store` needs `sqlite` or `postgres`".to_owned()),
    }
}

fn unexpected(command: &str, extra: &str) -> String {
    format!("`{command}` does not know `{extra}` (see `cargo xtask {command} --help`)")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Action, String> {
        let args: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        parse(&args)
    }

    #[test]
    fn no_argument_shows_the_overview() {
        assert_eq!(parsed(""), Ok(Action::Help(help::OVERVIEW)));
    }

    #[test]
    fn each_command_has_its_own_help_asked_for_either_way() {
        for (command, text) in [
            ("test", help::TEST),
            ("ci", help::CI),
            ("bench", help::BENCH),
            ("services", help::SERVICES),
            ("tidy", help::TIDY),
        ] {
            assert_eq!(parsed(&format!("{command} --help")), Ok(Action::Help(text)));
            assert_eq!(parsed(&format!("help {command}")), Ok(Action::Help(text)));
        }
    }

    #[test]
    fn every_flag_of_test_is_read() {
        let options = Options {
            require_all: true,
            no_install: true,
            full: true,
            only: vec!["unit".to_owned(), "model".to_owned()],
        };
        assert_eq!(
            parsed("test --require-all --no-install --full --only unit --only model"),
            Ok(Action::Test(options))
        );
    }

    #[test]
    fn an_unknown_suite_is_refused_with_the_names_that_exist() {
        let wrong = parsed("test --only speed").unwrap_err();
        assert!(wrong.contains("`speed`") && wrong.contains("crash"), "{wrong}");
    }

    #[test]
    fn an_unknown_command_is_refused_with_the_names_that_exist() {
        let wrong = parsed("lint").unwrap_err();
        assert!(wrong.contains("`lint`") && wrong.contains("tidy"), "{wrong}");
    }

    #[test]
    fn ci_runs_everything_so_it_has_no_only() {
        assert!(parsed("ci --only unit").is_err());
    }

    #[test]
    fn a_benchmark_takes_its_flag_on_either_side_of_its_name() {
        let expected = Action::Bench(BenchOptions {
            request: BenchRequest::One { name: "replay".to_owned(), store: None },
            size: Size::Smoke,
            no_install: false,
        });
        assert_eq!(parsed("bench replay --smoke").as_ref(), Ok(&expected));
        assert_eq!(parsed("bench --smoke replay").as_ref(), Ok(&expected));
    }

    #[test]
    fn a_benchmark_is_measured_beside_others_only_when_told() {
        let size = |line| match parsed(line) {
            Ok(Action::Bench(options)) => options.size,
            other => panic!("{other:?}"),
        };
        assert_eq!([size("bench api"), size("bench api --busy")], [Size::Measured, Size::Busy]);
    }

    #[test]
    fn a_benchmark_takes_its_store() {
        let Ok(Action::Bench(options)) = parsed("bench growth --store postgres") else { panic!("a benchmark") };
        let expected = BenchRequest::One { name: "growth".to_owned(), store: Some(Store::Postgres) };
        assert_eq!(options.request, expected);
        assert!(parsed("bench growth --store oracle").is_err());
    }

    #[test]
    fn the_report_is_of_runs_now_or_of_those_that_were_kept() {
        let request = |line| match parsed(line) {
            Ok(Action::Bench(options)) => options.request,
            other => panic!("{other:?}"),
        };
        assert_eq!(request("bench report --busy"), BenchRequest::Report(ReportSource::Runs));
        assert_eq!(request("bench report --kept"), BenchRequest::Report(ReportSource::Kept));
        assert!(parsed("bench replay --kept").is_err());
        assert!(parsed("bench report --store sqlite").is_err());
    }

    #[test]
    fn a_benchmark_takes_one_name() {
        assert!(parsed("bench replay growth").is_err());
    }
}
