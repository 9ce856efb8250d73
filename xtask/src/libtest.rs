//! What the test harness says at the end of each test binary.

use crate::step::Tally;

/// Adds the counts of a `test result:` line; other lines say nothing.
pub(crate) fn count(line: &str, tally: &mut Tally) {
    let Some((_, result)) = line.split_once("test result:") else {
        return;
    };
    tally.passed += before(result, " passed");
    tally.failed += before(result, " failed");
    tally.ignored += before(result, " ignored");
}

/// The number right before a word; looking backwards leaves colours aside.
fn before(text: &str, word: &str) -> u64 {
    let Some((head, _)) = text.split_once(word) else {
        return 0;
    };
    let digits = head.rfind(|c: char| !c.is_ascii_digit()).map_or(head, |at| &head[at + 1..]);
    digits.parse().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(lines: &[&str]) -> (u64, u64, u64) {
        let mut tally = Tally::default();
        for line in lines {
            count(line, &mut tally);
        }
        (tally.passed, tally.failed, tally.ignored)
    }

    #[test]
    fn the_binaries_of_a_suite_add_up() {
        let lines = [
            "running 3 tests",
            "test ledger::claim::tests::a ... ok",
            "test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s",
            "test result: FAILED. 10 passed; 2 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.10s",
        ];
        assert_eq!(counted(&lines), (13, 2, 1));
    }

    #[test]
    fn a_coloured_line_is_read_too() {
        let line = "test result: \u{1b}[32mok\u{1b}[m. 7 passed; 0 failed; 0 ignored; 0 measured";
        assert_eq!(counted(&[line]), (7, 0, 0));
    }

    #[test]
    fn other_lines_count_nothing() {
        assert_eq!(counted(&["5 passed; 1 failed", "", "test result: unclear"]), (0, 0, 0));
    }
}
