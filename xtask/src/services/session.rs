//! Services around the suites of one run: up before the first suite that needs them, down after the last.

use std::cell::RefCell;
use std::fs::File;
use std::path::Path;

use super::progress::say;
use super::report::{Report, Standing, variables};
use super::site::Site;
use super::state::Until;
use super::{Install, Service, down, up};

/// What one run of suites has of the services.
#[derive(Default)]
pub(crate) struct Session {
    /// Locked shared while this run may use services, so that another run does not stop them.
    held: RefCell<Option<(Site, File)>>,
    granted: RefCell<Vec<(&'static str, String)>>,
}

impl Session {
    /// Brings up what the next suite needs; the reason why not is for the table.
    pub(crate) fn grant(&self, root: &Path, services: &[Service], install: Install) -> Result<(), String> {
        self.granted.borrow_mut().clear();
        if services.is_empty() {
            return Ok(());
        }
        let reports = self.bring_up(root, services, install)?;
        let failed: Vec<String> = reports.iter().filter_map(why).collect();
        if !failed.is_empty() {
            return Err(failed.join("; "));
        }
        let site = Site::open(root)?;
        self.granted.borrow_mut().extend(variables(&site, &reports));
        Ok(())
    }

    /// The variables that tell the suite's tests where its services are; none for a suite that needs none.
    pub(crate) fn environment(&self) -> Vec<(&'static str, String)> {
        self.granted.borrow().clone()
    }

    /// Stops what runs of suites started, unless another run still uses it.
    pub(crate) fn close(&self) -> Result<(), String> {
        let Some((site, in_use)) = self.held.borrow_mut().take() else { return Ok(()) };
        let _held = site.lock()?;
        in_use.unlock().map_err(|error| error.to_string())?;
        if in_use.try_lock().is_err() {
            say("services", "another run of suites uses them: left running");
            return Ok(());
        }
        let reports = down::down(&site, &down::started_for_suites(&site))?;
        let failed: Vec<String> = reports.iter().filter_map(why).collect();
        if failed.is_empty() { Ok(()) } else { Err(failed.join("; ")) }
    }

    fn bring_up(&self, root: &Path, services: &[Service], install: Install) -> Result<Vec<Report>, String> {
        let site = Site::open(root)?;
        let _held = site.lock()?;
        let mut held = self.held.borrow_mut();
        if held.is_none() {
            let in_use = site.in_use()?;
            in_use.lock_shared().map_err(|error| error.to_string())?;
            *held = Some((Site::open(root)?, in_use));
        }
        up::up(&site, services, install, Until::SuitesEnd)
    }
}

fn why(report: &Report) -> Option<String> {
    match &report.standing {
        Standing::Failed(why) => Some(format!("{}: {why}", report.service.name())),
        Standing::Given { .. }
        | Standing::Running { .. }
        | Standing::Started { .. }
        | Standing::Silent { .. }
        | Standing::Stopped => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suite_that_needs_no_service_touches_nothing() {
        let session = Session::default();
        assert_eq!(session.grant(Path::new("no/such/folder"), &[], Install::Missing), Ok(()));
        assert!(session.environment().is_empty());
        assert_eq!(session.close(), Ok(()));
    }
}
