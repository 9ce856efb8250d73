//! A dependency that many call at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use onefold_core::Error;
use onefold_core::error::{BREAKER_OPEN, BULKHEAD_FULL, RATE_EXCEEDED};
use onefold_runtime::{Breaker, Dependency, DependencyDeclaration, LimitReached, Rate};
use onefold_testing::ManualClock;

const OPEN_FOR: Duration = Duration::from_secs(30);

fn dependency(limits: DependencyDeclaration) -> (Dependency, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::default());
    (Dependency::new("provider", limits, clock.clone()), clock)
}

fn breaker(failures: u32) -> Breaker {
    Breaker { failures, open_for: OPEN_FOR }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_callers_of_a_dead_dependency_reach_it_a_few_times() {
    let (callers, threshold) = (32, 5);
    let (dependency, clock) =
        dependency(DependencyDeclaration { breaker: Some(breaker(threshold)), ..DependencyDeclaration::default() });
    let reached = Arc::new(AtomicUsize::new(0));
    let callers: Vec<_> = (0..callers)
        .map(|_| {
            let (dependency, reached) = (dependency.clone(), Arc::clone(&reached));
            tokio::spawn(async move {
                for _ in 0..50 {
                    if let Ok(pass) = dependency.enter() {
                        reached.fetch_add(1, Ordering::Relaxed);
                        tokio::task::yield_now().await;
                        pass.failed();
                    }
                    tokio::task::yield_now().await;
                }
            })
        })
        .collect();
    let count = callers.len();
    for caller in callers {
        caller.await.unwrap();
    }
    let before = reached.load(Ordering::Relaxed);
    assert!(before < threshold as usize + count, "{before} calls");
    clock.advance(OPEN_FOR);
    let passes: Vec<_> = (0..count).filter_map(|_| dependency.enter().ok()).collect();
    assert_eq!(passes.len(), 1, "one probe at a time");
}

#[test]
fn a_pass_that_is_dropped_gives_place_and_probe_back() {
    let (dependency, clock) = dependency(DependencyDeclaration {
        breaker: Some(breaker(1)),
        calls_max: Some(1),
        ..DependencyDeclaration::default()
    });
    drop(dependency.enter().unwrap());
    dependency.enter().unwrap().failed();
    clock.advance(OPEN_FOR);
    drop(dependency.enter().unwrap());
    let probe = dependency.enter().unwrap();
    assert_eq!(dependency.enter().unwrap_err().because, LimitReached::BreakerOpen);
    probe.succeeded();
    assert!(dependency.enter().is_ok());
}

#[test]
fn a_machine_that_slept_has_waited() {
    let (dependency, clock) =
        dependency(DependencyDeclaration { breaker: Some(breaker(1)), ..DependencyDeclaration::default() });
    dependency.enter().unwrap().failed();
    assert_eq!(dependency.enter().unwrap_err().retry_after, OPEN_FOR);
    clock.suspend(OPEN_FOR);
    assert!(dependency.enter().is_ok());
}

#[test]
fn a_refusal_has_the_code_of_its_limit() {
    let code = |limits: DependencyDeclaration| {
        let (dependency, _clock) = dependency(limits.clone());
        let _first = dependency
            .enter()
            .map(|pass| if limits.breaker.is_some() { pass.failed() } else { std::mem::forget(pass) });
        Error::from(dependency.enter().unwrap_err()).code()
    };
    assert_eq!(
        code(DependencyDeclaration { breaker: Some(breaker(1)), ..DependencyDeclaration::default() }),
        BREAKER_OPEN
    );
    assert_eq!(code(DependencyDeclaration { calls_max: Some(1), ..DependencyDeclaration::default() }), BULKHEAD_FULL);
    assert_eq!(
        code(DependencyDeclaration { rate: Rate::parse("1/m"), ..DependencyDeclaration::default() }),
        RATE_EXCEEDED
    );
}
