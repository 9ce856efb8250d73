//! Starting services: those that are missing are obtained, those that run are left alone.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::thread::sleep;
use std::time::Duration;

use super::account::Account;
use super::address::Address;
use super::given::given;
use super::progress::{Ticker, say};
use super::recipe::Place;
use super::report::{Report, Standing};
use super::site::Site;
use super::state::{Record, State, Until};
use super::{Install, Service, obtain, ports, process, program, with_needs};

/// How long a service may take until it answers.
const READY_WITHIN: Duration = Duration::from_mins(2);
const POLL_EVERY: Duration = Duration::from_millis(200);

/// How much of a log is shown with a failure.
const LOG_LINES_SHOWN: usize = 8;

/// Brings these services up, and those that they need; the reports are in the order of starting.
///
/// To be called with the site's lock held.
pub(super) fn up(site: &Site, services: &[Service], install: Install, until: Until) -> Result<Vec<Report>, String> {
    let wanted = with_needs(services);
    let state = State::read(&site.state());
    let mut start = Start { site, state, until, standings: BTreeMap::new() };
    start.note_given(&wanted);
    let idle: Vec<Service> = start.undecided(&wanted).filter(|service| start.running(*service).is_none()).collect();
    for (service, why) in obtain::obtain(site, &idle, install) {
        start.fail(service, why);
    }
    for service in start.undecided(&wanted).collect::<Vec<_>>() {
        match start.begin(service) {
            Ok(standing) => drop(start.standings.insert(service, standing)),
            Err(why) => start.fail(service, why),
        }
    }
    for service in &wanted {
        start.wait(*service)?;
    }
    Ok(start.standings.into_iter().map(|(service, standing)| Report { service, standing }).collect())
}

/// The process of a service and its folder, found by what is remembered and by its marker.
pub(super) fn running(site: &Site, state: &State, service: Service) -> Option<(u32, PathBuf)> {
    let record = state.records.get(&service);
    let folders = record.map(|record| record.folder.clone()).into_iter().chain(site.candidates(service));
    let find = |folder: PathBuf| {
        let marker = service.recipe().marker(&folder);
        process::find(record.and_then(|record| record.pid), &marker).map(|pid| (pid, folder))
    };
    folders.into_iter().find_map(find)
}

struct Start<'a> {
    site: &'a Site,
    state: State,
    until: Until,
    /// Those of which it is known how they stand.
    standings: BTreeMap<Service, Standing>,
}

impl Start<'_> {
    fn undecided(&self, wanted: &[Service]) -> impl Iterator<Item = Service> {
        wanted.iter().copied().filter(|service| !self.standings.contains_key(service))
    }

    fn fail(&mut self, service: Service, why: String) {
        say(service.name(), &format!("cannot be had: {why}"));
        self.standings.insert(service, Standing::Failed(why));
    }

    fn running(&self, service: Service) -> Option<(u32, PathBuf)> {
        running(self.site, &self.state, service)
    }

    fn note_given(&mut self, wanted: &[Service]) {
        for service in wanted.iter().copied() {
            let found = given(service, &self.state).and_then(|given| match given {
                Some(given) => given.answers(service).map(|()| Some(given)),
                None => Ok(None),
            });
            match found {
                Ok(Some(given)) => drop(self.standings.insert(service, Standing::Given { address: given.text })),
                Ok(None) => {}
                Err(why) => self.fail(service, why),
            }
        }
    }

    /// Finds it running or starts it, without waiting: several start at the same time.
    fn begin(&mut self, service: Service) -> Result<Standing, String> {
        let failed = |needed: &&Service| matches!(self.standings.get(needed), Some(Standing::Failed(_)));
        if let Some(needed) = service.needs().iter().find(failed) {
            return Err(format!("it needs {}, which cannot be had", needed.name()));
        }
        if let Some(pid) = self.leave_alone_or_stop(service)? {
            let ports = self.state.records[&service].ports.clone();
            return Ok(Standing::Running { pid, ports });
        }
        let place = self.prepare(service)?;
        let mut command = service.recipe().command(&place)?;
        let pid = process::start(&mut command, &self.site.log(service.name()))?;
        say(service.name(), &format!("started as process {pid} on port {}", place.ports[0]));
        let Place { folder, ports, .. } = place;
        let record = Record { folder, ports: ports.clone(), pid: Some(pid), until: self.until };
        self.remember(service, record)?;
        Ok(Standing::Started { pid, ports })
    }

    /// The process that may go on. One that was started with other settings, or on ports that nobody
    /// remembers, is of no use to anybody.
    fn leave_alone_or_stop(&mut self, service: Service) -> Result<Option<u32>, String> {
        let Some((pid, folder)) = self.running(service) else { return Ok(None) };
        if let Some(record) = self.state.records.get(&service) {
            let place = self.place(service, folder.clone(), record.ports.clone(), None);
            if !service.recipe().outdated(&place) {
                let mut record = Record { pid: Some(pid), ..record.clone() };
                // What suites find running goes on after them; what somebody asks for stays.
                if self.until == Until::Down {
                    record.until = Until::Down;
                }
                self.remember(service, record)?;
                return Ok(Some(pid));
            }
        }
        say(service.name(), &format!("process {pid} was started with other settings: starting it again"));
        process::stop(pid, &service.recipe().marker(&folder), service.recipe().stop_signal())?;
        Ok(None)
    }

    fn prepare(&self, service: Service) -> Result<Place<'_>, String> {
        let recipe = service.recipe();
        let account = if recipe.refuses_root() { Account::for_servers()? } else { None };
        let folder = self.site.folder(service, account)?;
        let remembered = self.state.records.get(&service).map(|record| record.ports.clone()).unwrap_or_default();
        let others = self.state.records.iter().filter(|(other, _)| **other != service);
        let taken: Vec<u16> = others.flat_map(|(_, record)| record.ports.clone()).collect();
        let ports = ports::choose(recipe.ports(), &remembered, &taken, self.site.seed())?;
        Ok(self.place(service, folder, ports, account))
    }

    fn place(&self, service: Service, folder: PathBuf, ports: Vec<u16>, account: Option<Account>) -> Place<'_> {
        let postgres = if service.needs().contains(&Service::Postgres) { self.postgres() } else { None };
        Place { site: self.site, folder, ports, account, postgres }
    }

    fn postgres(&self) -> Option<Address> {
        match self.standings.get(&Service::Postgres)? {
            Standing::Given { .. } => given(Service::Postgres, &self.state).ok().flatten().map(|given| given.address),
            Standing::Running { ports, .. } | Standing::Started { ports, .. } => Some(Address::local(ports[0])),
            Standing::Silent { .. } | Standing::Stopped | Standing::Failed(_) => None,
        }
    }

    /// Written at once: whatever happens to us, `down` finds the process.
    fn remember(&mut self, service: Service, record: Record) -> Result<(), String> {
        self.state.records.insert(service, record);
        self.state.write(&self.site.state())
    }

    /// Until it answers, ends or takes too long.
    fn wait(&mut self, service: Service) -> Result<(), String> {
        let (pid, ports, ours) = match self.standings.get(&service) {
            Some(Standing::Running { pid, ports }) => (*pid, ports.clone(), false),
            Some(Standing::Started { pid, ports }) => (*pid, ports.clone(), true),
            Some(Standing::Given { .. } | Standing::Silent { .. } | Standing::Stopped | Standing::Failed(_)) | None => {
                return Ok(());
            }
        };
        let mut ticker = Ticker::new();
        while let Err(silent) = service.recipe().answers(&ports) {
            if process::has_ended(pid) {
                self.fail(service, self.with_log(service, "it ended"));
                return Ok(());
            }
            if ticker.elapsed() > READY_WITHIN {
                let why = format!("it did not answer within {} s ({silent})", READY_WITHIN.as_secs());
                self.fail(service, self.with_log(service, &why));
                return if ours { self.give_up(service, pid) } else { Ok(()) };
            }
            ticker.tick(service.name(), "waiting until it answers");
            sleep(POLL_EVERY);
        }
        let how = if ours { "answers after" } else { "was running; asked for" };
        say(service.name(), &format!("{how} {:.1} s", ticker.elapsed().as_secs_f64()));
        Ok(())
    }

    fn give_up(&self, service: Service, pid: u32) -> Result<(), String> {
        let recipe = service.recipe();
        let Some(record) = self.state.records.get(&service) else { return Ok(()) };
        process::stop(pid, &recipe.marker(&record.folder), recipe.stop_signal())
    }

    fn with_log(&self, service: Service, why: &str) -> String {
        let log = self.site.log(service.name());
        let said = program::tail(&log, LOG_LINES_SHOWN);
        for line in said.lines() {
            say(service.name(), &format!("| {line}"));
        }
        format!("{why}; its log is {}", log.display())
    }
}
