//! Debezium Server, a peer of one benchmark: downloaded for a measured run, and started by the benchmark itself.

use std::path::Path;

use super::obtain::{Download, Missing};
use super::site::Site;
use super::{Install, java, maven};

/// The folder of the downloads with its distribution.
const NAME: &str = "debezium-server-3.6.0";
const COORDINATES: &str = "io.debezium:debezium-server-dist:3.6.0.Final:tar.gz";
const PARENT: &str = "io.debezium:debezium-server:3.6.0.Final";
const DISTRIBUTION: Download = Download { what: "Debezium Server 3.6.0 with mvn (782 MB)", fetch };
const JAVA: u32 = 21;
const WHO: &str = "debezium";

/// The variables that tell the benchmark where it is, once it is there.
pub(crate) fn obtain(root: &Path, install: Install) -> Result<Vec<(&'static str, String)>, String> {
    let site = Site::open(root)?;
    let folder = site.downloads().join(NAME).join("debezium-server");
    let mut missing = java::missing(&site, JAVA);
    if !folder.is_dir() {
        missing.extend(maven::missing());
        missing.push(Missing::Download(DISTRIBUTION));
    }
    super::obtain::get(&site, WHO, &missing, install)?;
    let home = java::of_version(&site, JAVA).ok_or("Java is gone")?;
    let shown = |path: &Path| path.display().to_string();
    Ok(vec![("ONEFOLD_BENCH_DEBEZIUM", shown(&folder)), ("ONEFOLD_BENCH_JAVA_HOME", shown(&home))])
}

fn fetch(site: &Site, who: &str) -> Result<(), String> {
    maven::archive_without_parent(site, who, NAME, COORDINATES, PARENT)
}
