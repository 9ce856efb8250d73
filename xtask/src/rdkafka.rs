//! The second Kafka client, which is off by default: built here, linted, and put through the tests of the first.

use crate::cargo;
use crate::services::{Has, Install, Package, install};
use crate::step::{Context, Ready, Tally};
use crate::suites::counted;

/// librdkafka is built by `configure` and `make`, in C and C++.
const PACKAGES: &[Package] = &[
    Package { name: "make", has: Has::Program("make") },
    Package { name: "g++", has: Has::Program("g++") },
    Package { name: "pkg-config", has: Has::Program("pkg-config") },
    Package { name: "libssl-dev", has: Has::Header("openssl/ssl.h") },
];

/// Within the whole workspace: with `--package` other features would be unified, and everything compiled again.
const BUILD: [&str; 3] = ["--workspace", "--features", "onefold-kafka/rdkafka"];
const TARGET: [&str; 2] = ["--test", "rdkafka"];

pub(crate) fn ready(context: &Context) -> Ready {
    let may = if context.options.no_install { Install::Never } else { Install::Missing };
    install(&context.root, PACKAGES, may).map_or_else(Ready::No, |()| Ready::Yes)
}

pub(crate) fn run(context: &Context) -> Tally {
    let mut test = cargo::cargo(&context.root);
    test.arg("test").args(BUILD).args(TARGET).arg("--no-fail-fast").envs(context.services.environment());
    let mut tally = counted(&mut test);
    let mut lint = cargo::cargo(&context.root);
    lint.arg("clippy").args(BUILD).arg("--lib").args(TARGET).args(["--", "-D", "warnings"]);
    tally.add(cargo::pass_through(&mut lint));
    tally
}
