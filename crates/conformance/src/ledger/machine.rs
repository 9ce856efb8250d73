//! Random commands on the store and on the model, compared answer by answer.
//!
//! `ONEFOLD_PROPTEST_CASES` says how many sequences are tried, `ONEFOLD_PROPTEST_SEED` repeats a run.

mod command;
mod player;

use onefold_testing::{SeededRandom, seed};
use proptest::collection::vec;
use proptest::test_runner::{Config, RngAlgorithm, TestError, TestRng, TestRunner};

use crate::harness::Harness;
use command::{Command, command};
use player::Player;

/// Sequences that are tried unless told otherwise.
const CASES: u32 = 64;
/// Commands of a sequence at most.
const STEPS_MAX: usize = 60;

/// Whatever is done in whatever order, the store answers as the model does and ends with the same operations.
pub async fn the_store_and_the_model_give_the_same_answers<H: Harness>() {
    // The runner is synchronous and shrinks by running again, so it has a thread and a runtime of its own.
    let ran = tokio::task::spawn_blocking(run::<H>).await;
    if let Err(failed) = ran {
        std::panic::resume_unwind(failed.into_panic());
    }
}

fn run<H: Harness>() {
    let cases = std::env::var("ONEFOLD_PROPTEST_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(CASES);
    let seed = seed("ONEFOLD_PROPTEST_SEED");
    let chance = SeededRandom::new(seed);
    let bytes: Vec<u8> = (0..4).flat_map(|_| chance.draw().to_be_bytes()).collect();
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 2000, ..Config::default() };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let sequences = vec(command(), 1..=STEPS_MAX);
    let ended = TestRunner::new_with_rng(config, rng).run(&sequences, |commands: Vec<Command>| {
        runtime.block_on(async { Player::<H>::new(seed).await.play(&commands).await })
    });
    match ended {
        Ok(()) => {}
        Err(TestError::Fail(why, commands)) => {
            panic!("ONEFOLD_PROPTEST_SEED={seed}: {why}\nthe shortest sequence: {commands:#?}")
        }
        Err(TestError::Abort(why)) => panic!("ONEFOLD_PROPTEST_SEED={seed}: aborted: {why}"),
    }
}
