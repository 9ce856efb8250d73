//! What must not compile does not, and says why; what is allowed does.

#[test]
fn what_the_table_forbids_does_not_compile() {
    let cases = trybuild::TestCases::new();
    cases.pass("tests/ui/legal_pairs.rs");
    cases.pass("tests/ui/projected_result.rs");
    cases.compile_fail("tests/ui/refused_*.rs");
}
