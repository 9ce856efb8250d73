//! Stopping services, and seeing which ones run.

use super::given::given;
use super::progress::{Ticker, say};
use super::report::{Report, Standing};
use super::site::Site;
use super::state::{State, Until};
use super::up::running;
use super::{Service, process, with_dependents};

/// Stops these services and those that are of no use without them.
///
/// To be called with the site's lock held.
pub(super) fn down(site: &Site, services: &[Service]) -> Result<Vec<Report>, String> {
    let mut state = State::read(&site.state());
    let mut reports = Vec::new();
    for service in with_dependents(services) {
        let standing = stop(site, &state, service).map_or_else(Standing::Failed, |()| Standing::Stopped);
        if standing == Standing::Stopped
            && let Some(record) = state.records.get_mut(&service)
        {
            record.pid = None;
        }
        reports.push(Report { service, standing });
    }
    state.write(&site.state())?;
    Ok(reports)
}

/// The services that only suites asked for.
pub(super) fn started_for_suites(site: &Site) -> Vec<Service> {
    let state = State::read(&site.state());
    let of_suites = state.records.iter().filter(|(_, record)| record.pid.is_some() && record.until == Until::SuitesEnd);
    of_suites.map(|(service, _)| *service).collect()
}

/// How these services stand; changes nothing.
pub(super) fn status(site: &Site, services: &[Service]) -> Vec<Report> {
    let state = State::read(&site.state());
    let report = |service: Service| Report { service, standing: standing(site, &state, service) };
    services.iter().copied().map(report).collect()
}

/// Stops every process that has the service's marker: there is one, unless something went wrong before.
fn stop(site: &Site, state: &State, service: Service) -> Result<(), String> {
    let recipe = service.recipe();
    let name = service.name();
    let mut found = false;
    while let Some((pid, folder)) = running(site, state, service) {
        let ticker = Ticker::new();
        say(name, &format!("stopping process {pid}"));
        process::stop(pid, &recipe.marker(&folder), recipe.stop_signal())?;
        say(name, &format!("stopped after {:.1} s", ticker.elapsed().as_secs_f64()));
        found = true;
    }
    if !found {
        say(name, "does not run");
    }
    Ok(())
}

fn standing(site: &Site, state: &State, service: Service) -> Standing {
    match given(service, state) {
        Err(why) => return Standing::Failed(why),
        Ok(Some(given)) => {
            let answers = given.answers(service);
            return answers.map_or_else(Standing::Failed, |()| Standing::Given { address: given.text });
        }
        Ok(None) => {}
    }
    let Some((pid, _)) = running(site, state, service) else { return Standing::Stopped };
    match state.records.get(&service) {
        Some(record) if service.recipe().answers(&record.ports).is_ok() => {
            Standing::Running { pid, ports: record.ports.clone() }
        }
        Some(_) | None => Standing::Silent { pid },
    }
}
