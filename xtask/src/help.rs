//! What `--help` prints, for `cargo xtask` and for each command.

pub(crate) const OVERVIEW: &str = "\
cargo xtask: what a developer runs

Usage: cargo xtask COMMAND [OPTIONS]

Commands:
  test      run the test suites and show how each ended
  ci        everything a change must pass: format, tidy, lints, docs, licences, suites
  bench     run a benchmark against its peer, list the benchmarks, or report them all
  services  start, stop and see the real services that tests use
  tidy      check what the compiler cannot: names, file sizes, where SQL lives
  help      this text, or a command's: `cargo xtask help test`

Examples:
  cargo xtask test
  cargo xtask test --only unit --only model
  cargo xtask ci --require-all
  cargo xtask bench ledger-sqlite

Exit codes: 0 all well, 1 something failed, 2 the command line is wrong.
";

pub(crate) const TEST: &str = "\
cargo xtask test: run the test suites one after the other

Usage: cargo xtask test [--require-all] [--no-install] [--full] [--only NAME]...

Suites, in order:
  tidy         the rules of `cargo xtask tidy`, but for coverage
  coverage     what docs/coverage.md names exists
  unit         unit tests of every library and binary
  integration  test targets of every crate, but for those of other suites
  model        test targets called `model`: the rules under a model checker
  crash        test targets of the crash campaign, which kills real processes
  postgres     test targets that need PostgreSQL and PgBouncer
  brokers      test targets that need a message broker: Kafka, RabbitMQ or NATS
  rdkafka      the tests of Kafka again, with the client rdkafka, which is built
               and linted for it (some minutes, with packages of the system)
  services     a round trip with each service that a test of the product uses
  doctests     the examples in the documentation
  examples     every example is built and run
  openapi      docs/openapi.json is valid OpenAPI 3.1, by a validator in Python
  fuzz-api     requests that schemathesis makes from /openapi.json meet a running
               server: every check of the generator, with one seed; with `--full`
               one seed after the other for 10 minutes
  benches      every benchmark compiles; `cargo xtask bench NAME` runs one

Options:
  --only NAME    run this suite; may be given more than once
  --full         explore the model exhaustively (sets ONEFOLD_MODEL_FULL=1), fuzz
                 longer, and run the long campaigns (sets ONEFOLD_CAMPAIGN_FULL=1)
  --require-all  what was not run counts as failed
  --no-install   install no tool; what needs a missing one is not run

A suite that needs services has them up while it runs; those that the run
started are stopped at its end.

A suite fails when a test fails, when a test is ignored, and when it ran none.
The table says how long each suite took, and all of them together. The last line
is `N passed, M failed`; M is 0 exactly when the exit code is 0.

Examples:
  cargo xtask test
  cargo xtask test --only model --full
  cargo xtask test --require-all
";

pub(crate) const CI: &str = "\
cargo xtask ci: everything a change must pass

Usage: cargo xtask ci [--require-all] [--no-install] [--full]

Steps, in order; all of them run even when one fails:
  fmt          cargo fmt --all --check
  tidy         the rules of `cargo xtask tidy`, but for coverage
  clippy       cargo clippy --workspace --all-targets -- -D warnings
  doc          cargo doc --workspace --no-deps, with warnings as errors
  deny         cargo-deny: licences, sources and banned crates (deny.toml)
  coverage     what docs/coverage.md names exists
  then the other suites of `cargo xtask test`

The table says how long each step took, and all of them together.

Options:
  --require-all  what was not run counts as failed; runs the benchmarks briefly
  --no-install   install no tool and no service; what needs one is not run
  --full         explore the model exhaustively

Examples:
  cargo xtask ci
  cargo xtask ci --require-all
  cargo xtask ci --no-install
";

pub(crate) const BENCH: &str = "\
cargo xtask bench: run us and the peer in one run, and compare

Usage: cargo xtask bench [NAME] [--smoke | --busy] [--store sqlite|postgres] [--no-install]
       cargo xtask bench report [--kept] [--smoke | --busy] [--no-install]

Without NAME the benchmarks are listed. The last line of a run is
`NAME ratio=... ours=... peer=...`; the same figures, with the machine and the
versions they hold for, are kept in target/bench/NAME.json. On a machine that
others keep busy there is no last line, unless `--busy` is given.

Options:
  --smoke       run briefly to show that it works; kept in target/bench/NAME.smoke.json
  --busy        measure although others use the machine; kept in target/bench/NAME.busy.json
  --store NAME  run on this store (growth); the default is sqlite
  --no-install  install no service; a benchmark that needs a missing one fails

  --kept        make the report from the last runs that were kept, without running

A benchmark on PostgreSQL has it up while it runs, as a suite has.

`report` runs every benchmark, one after the other, and writes docs/benchmarks.md
with its plots in docs/benchmarks/. With `--smoke` or `--busy` the page is not a
measurement: it says so, and is in target/bench/report.smoke or report.busy.

Examples:
  cargo xtask bench
  cargo xtask bench ledger-sqlite
  cargo xtask bench replay --smoke
  cargo xtask bench growth --store postgres
  cargo xtask bench report
";

pub(crate) const SERVICES: &str = "\
cargo xtask services: the real services that tests use, private to this workspace

Usage: cargo xtask services up [--no-install] [--env] [NAME]...
       cargo xtask services down|status|logs|env [NAME]...

Without NAME all of them are meant.

What to do:
  up      get what is missing, after saying what; start what does not run; wait
          until it answers
  down    stop them; their data stays
  status  how each stands; the exit code is 0 when all answer
  logs    the last lines of each one's log
  env     variables for a shell, of those that run

Services, with the variable that tells tests the address. Where it is already
set, the service that it names is used and none is started:
  postgres   PostgreSQL, durable, wal_level=logical   ONEFOLD_TEST_POSTGRES
             the folder of its programs is in         ONEFOLD_TEST_POSTGRES_BIN
  pgbouncer  in front of it, pooling by transaction   ONEFOLD_TEST_PGBOUNCER
  redis      with an append-only file                 ONEFOLD_TEST_REDIS
  kafka      one node                                 ONEFOLD_TEST_KAFKA
             its java and the folder of its jars are  ONEFOLD_TEST_KAFKA_JAVA, _JARS
  rabbitmq   one node                                 ONEFOLD_TEST_RABBITMQ
             the script that starts it is             ONEFOLD_TEST_RABBITMQ_SERVER
  nats       with JetStream                           ONEFOLD_TEST_NATS
             its program is                           ONEFOLD_TEST_NATS_SERVER
  zeebe      8.6, with a clock that tests may set     ONEFOLD_TEST_ZEEBE
             its health probes and clock are at       ONEFOLD_TEST_ZEEBE_MANAGEMENT

Options of up:
  --no-install  leave the system as it is; what is missing is named
  --env         print the variables, and the table on standard error

They listen on loopback, on free ports that are remembered, and keep their data
in services/ of the target folder. Packages come from apt-get, which takes root;
Kafka, Zeebe and its Java runtime come from mvn and pip into the target folder.

Examples:
  cargo xtask services up
  cargo xtask services up --no-install postgres
  eval \"$(cargo xtask services env)\"
  cargo xtask services down
";

pub(crate) const TIDY: &str = "\
cargo xtask tidy: check what the compiler cannot

Usage: cargo xtask tidy

Rules, each a file in xtask/src/tidy/:
  length        no Rust file has more than 600 lines
  vocabulary    no name uses a word that the vocabulary leaves out, no type or file a retired name
  prose         comments, messages and pages use none of the phrases that STYLE retires
  sql           in crates/*/src, SQL is in queries/ and migrations/, not in strings
  stores        the store crates have the same file names, side by side
  unfinished    no ignored test, no placeholder macro
  decisions     docs/decisions holds NNNN-title.md, each number once, one decision a file
  paths         no file mentions a folder of somebody's machine
  architecture  what ARCHITECTURE.md names exists: files, folders, `file.rs::name`
  links         a link from page to page leads to a file and a heading that exist
  names         a public type name exists once in crates/*/src
  arrows        a crate sees only what the dependency rule lets it see
  coverage      what docs/coverage.md names exists

A finding reads `path:line: what is wrong (what to do)`. Where a line is right
in spite of a rule, say why at its end: `// tidy: allow(the reason)`.

Examples:
  cargo xtask tidy
";
