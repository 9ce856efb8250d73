//! Getting what is missing, after saying what that is.

use std::collections::BTreeMap;

use super::progress::say;
use super::site::Site;
use super::{Install, Service};
use super::{account, apt};

/// Something that a service needs and this machine lacks.
#[derive(Clone, Copy)]
pub(super) enum Missing {
    /// A package of the system.
    Package(&'static str),
    Download(Download),
}

/// Something that is kept below the target folder and leaves the system as it is.
#[derive(Clone, Copy)]
pub(super) struct Download {
    /// What and where from, with its size.
    pub(super) what: &'static str,
    pub(super) fetch: fn(&Site, &str) -> Result<(), String>,
}

/// Why each service that still lacks something cannot be had.
pub(super) type Refusals = BTreeMap<Service, String>;

/// Gets what these services lack; what cannot be had is the reason of the service that needs it.
pub(super) fn obtain(site: &Site, services: &[Service], install: Install) -> Refusals {
    let lacking: Vec<(Service, Vec<Missing>)> = services
        .iter()
        .map(|service| (*service, service.recipe().missing(site)))
        .filter(|(_, missing)| !missing.is_empty())
        .collect();
    if lacking.is_empty() {
        return Refusals::new();
    }
    if install == Install::Never {
        return lacking.iter().map(|(service, missing)| (*service, by_hand(*service, missing))).collect();
    }
    announce(&lacking);
    let mut refusals = packages_of_all(site, &lacking);
    for (service, missing) in &lacking {
        if refusals.contains_key(service) {
            continue;
        }
        if let Err(why) = downloads(site, *service, missing).and_then(|()| complete(site, *service)) {
            refusals.insert(*service, why);
        }
    }
    refusals
}

/// Gets what something that is not a service lacks.
pub(super) fn get(site: &Site, who: &str, missing: &[Missing], install: Install) -> Result<(), String> {
    let packages = packages(missing);
    let downloads: Vec<&Download> = missing.iter().filter_map(downloaded).collect();
    if install == Install::Never && !missing.is_empty() {
        let lacks: Vec<&str> = packages.into_iter().chain(downloads.iter().map(|one| one.what)).collect();
        return Err(format!("missing: {} (--no-install)", lacks.join(", ")));
    }
    if !packages.is_empty() {
        apt::install(site, &packages)?;
    }
    downloads.into_iter().try_for_each(|download| (download.fetch)(site, who))
}

fn announce(lacking: &[(Service, Vec<Missing>)]) {
    for (service, missing) in lacking {
        let packages = packages(missing);
        if !packages.is_empty() {
            say(service.name(), &format!("will install with apt-get: {}", packages.join(", ")));
        }
        for download in missing.iter().filter_map(downloaded) {
            say(service.name(), &format!("will download {}", download.what));
        }
    }
}

/// What to do where we may not do it.
fn by_hand(service: Service, missing: &[Missing]) -> String {
    let packages = packages(missing);
    let downloads: Vec<&str> = missing.iter().filter_map(downloaded).map(|download| download.what).collect();
    let mut ways = Vec::new();
    if !packages.is_empty() {
        ways.push(format!("`apt-get install {}`", packages.join(" ")));
    }
    if !downloads.is_empty() {
        ways.push(format!("`cargo xtask services up {}`", service.name()));
    }
    let lacks: Vec<&str> = packages.into_iter().chain(downloads).collect();
    format!("missing: {} (--no-install); get it with {}", lacks.join(", "), ways.join(" and "))
}

fn packages(missing: &[Missing]) -> Vec<&'static str> {
    let package = |one: &Missing| match one {
        Missing::Package(package) => Some(*package),
        Missing::Download(_) => None,
    };
    let mut packages = Vec::new();
    for package in missing.iter().filter_map(package) {
        // Two parts of a service may need the same one.
        if !packages.contains(&package) {
            packages.push(package);
        }
    }
    packages
}

const fn downloaded(missing: &Missing) -> Option<&Download> {
    match missing {
        Missing::Package(_) => None,
        Missing::Download(download) => Some(download),
    }
}

/// All packages at once, which is quickest; where that fails each service by itself, so that one does not spoil all.
fn packages_of_all(site: &Site, lacking: &[(Service, Vec<Missing>)]) -> Refusals {
    let mut all: Vec<&str> = lacking.iter().flat_map(|(_, missing)| packages(missing)).collect();
    all.sort_unstable();
    all.dedup();
    if all.is_empty() {
        return Refusals::new();
    }
    if !account::is_root() {
        let refuse = |service: Service, packages: &[&str]| {
            (service, format!("installing packages takes root: `sudo apt-get install {}`", packages.join(" ")))
        };
        let lacking = lacking.iter().map(|(service, missing)| (*service, packages(missing)));
        return lacking
            .filter(|(_, packages)| !packages.is_empty())
            .map(|(s, packages)| refuse(s, &packages))
            .collect();
    }
    let Err(why) = apt::install(site, &all) else { return Refusals::new() };
    if let [(service, _)] = lacking {
        return [(*service, why)].into();
    }
    say("services", &format!("{why}: trying each service by itself"));
    let one = |(service, missing): &(Service, Vec<Missing>)| {
        let packages = packages(missing);
        if packages.is_empty() { None } else { apt::install(site, &packages).err().map(|why| (*service, why)) }
    };
    lacking.iter().filter_map(one).collect()
}

fn downloads(site: &Site, service: Service, missing: &[Missing]) -> Result<(), String> {
    missing.iter().filter_map(downloaded).try_for_each(|download| (download.fetch)(site, service.name()))
}

/// A package may come without what we looked for, in another release of the system.
fn complete(site: &Site, service: Service) -> Result<(), String> {
    let missing = service.recipe().missing(site);
    let lacks: Vec<&str> =
        packages(&missing).into_iter().chain(missing.iter().filter_map(downloaded).map(|one| one.what)).collect();
    if lacks.is_empty() { Ok(()) } else { Err(format!("still missing after the installation: {}", lacks.join(", "))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_comes_with_the_way_to_get_it() {
        let fetch: fn(&Site, &str) -> Result<(), String> = |_, _| Ok(());
        let download = Missing::Download(Download { what: "a server (1 MB)", fetch });
        let text = by_hand(
            Service::Kafka,
            &[Missing::Package("kcat"), Missing::Package("maven"), Missing::Package("kcat"), download],
        );
        assert!(text.starts_with("missing: kcat, maven, a server (1 MB) (--no-install)"), "{text}");
        assert!(
            text.ends_with("get it with `apt-get install kcat maven` and `cargo xtask services up kafka`"),
            "{text}"
        );
    }
}
