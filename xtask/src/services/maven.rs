//! Jars and archives of the Java world, with Maven.

use std::path::Path;
use std::process::Command;

use super::obtain::Missing;
use super::site::Site;
use super::{program, progress};

/// In a fixed version: the one that Maven would choose differs from release to release.
const PLUGIN: &str = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1";

/// What is missing to download anything with Maven.
pub(super) fn missing() -> Vec<Missing> {
    let needed = [("mvn", "maven"), ("java", "openjdk-17-jre-headless")];
    let missing = needed.iter().filter(|(program, _)| program::find(program).is_none());
    missing.map(|(_, package)| Missing::Package(package)).collect()
}

/// Downloads these jars and all that they need at run time into the folder `name` of the downloads.
pub(super) fn jars(site: &Site, who: &str, name: &str, coordinates: &[&str]) -> Result<(), String> {
    let new = site.fresh(&format!("{name}.new"))?;
    let pom = new.join("pom.xml");
    std::fs::write(&pom, project(coordinates)).map_err(|error| format!("{}: {error}", pom.display()))?;
    let mut command = mvn(&new);
    command.arg(format!("{PLUGIN}:copy-dependencies"));
    command.args(["-DincludeScope=runtime", "-DoutputDirectory=lib"]);
    fetch(site, who, coordinates[0], &mut command)?;
    site.keep(&new, name)
}

/// Downloads a `tar.gz` and unpacks it into the folder `name` of the downloads.
pub(super) fn archive(site: &Site, who: &str, name: &str, coordinates: &str) -> Result<(), String> {
    let new = site.fresh(&format!("{name}.new"))?;
    let command = mvn(&new);
    unpacked(site, who, name, coordinates, &new, command)
}

/// The same where its parent, `group:artifact:version`, is in no registry: an empty one takes its place, in a repository of
/// our own that nothing else sees.
pub(super) fn archive_without_parent(
    site: &Site,
    who: &str,
    name: &str,
    coordinates: &str,
    parent: &str,
) -> Result<(), String> {
    let new = site.fresh(&format!("{name}.new"))?;
    let repository = new.join("repository");
    let parts: Vec<&str> = parent.split(':').collect();
    let [group, artifact, version] = parts.as_slice() else { return Err(format!("{parent}: not a project")) };
    let folder = repository.join(group.replace('.', "/")).join(artifact).join(version);
    let pom = folder.join(format!("{artifact}-{version}.pom"));
    let empty =
        format!("<project><modelVersion>4.0.0</modelVersion><packaging>pom</packaging>{}</project>", members(parent));
    let written = std::fs::create_dir_all(&folder).and_then(|()| std::fs::write(&pom, empty));
    written.map_err(|error| format!("{}: {error}", pom.display()))?;
    let mut command = mvn(&new);
    command.arg(format!("-Dmaven.repo.local={}", repository.display()));
    unpacked(site, who, name, coordinates, &new, command)?;
    let folder = site.downloads().join(name).join("repository");
    std::fs::remove_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))
}

fn unpacked(
    site: &Site,
    who: &str,
    name: &str,
    coordinates: &str,
    new: &Path,
    mut command: Command,
) -> Result<(), String> {
    command.arg(format!("{PLUGIN}:copy")).arg(format!("-Dartifact={coordinates}"));
    command.args(["-DoutputDirectory=.", "-Dmdep.useBaseVersion=true"]);
    fetch(site, who, coordinates, &mut command)?;
    let mut command = Command::new("/bin/sh");
    command.current_dir(new).args(["-c", "tar -xzf ./*.tar.gz && rm ./*.tar.gz"]);
    progress::say(who, "unpacking it");
    program::run(who, "unpacking", &mut command, &site.log("unpacking"))?;
    site.keep(new, name)
}

fn fetch(site: &Site, who: &str, coordinates: &str, command: &mut Command) -> Result<(), String> {
    let doing = format!("downloading {coordinates} with mvn");
    progress::say(who, &doing);
    program::run(who, &doing, command, &site.log("mvn"))
}

/// `-U`: a look-up that failed once would be remembered as failed.
fn mvn(folder: &Path) -> Command {
    let mut command = Command::new("mvn");
    command.current_dir(folder).args(["-q", "-B", "-U"]);
    command
}

fn project(coordinates: &[&str]) -> String {
    let dependencies: Vec<String> = coordinates.iter().map(|one| dependency(one)).collect();
    format!(
        "<project><modelVersion>4.0.0</modelVersion><groupId>onefold</groupId>\
<artifactId>services</artifactId><version>1</version><dependencies>
{}
</dependencies></project>
",
        dependencies.join("\n")
    )
}

/// `group:artifact:version` as Maven's projects write it.
fn dependency(coordinates: &str) -> String {
    format!("<dependency>{}</dependency>", members(coordinates))
}

fn members(coordinates: &str) -> String {
    let parts = ["groupId", "artifactId", "version"].into_iter().zip(coordinates.split(':'));
    let parts: Vec<String> = parts.map(|(name, part)| format!("<{name}>{part}</{name}>")).collect();
    parts.concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_project_depends_on_exact_versions() {
        let text = project(&["org.example:server:1.2.3", "org.example:log:4"]);
        let first = "<dependency><groupId>org.example</groupId><artifactId>server</artifactId>\
<version>1.2.3</version></dependency>\n";
        assert!(text.contains(first), "{text}");
        assert_eq!(text.matches("</dependency>").count(), 2);
    }
}
