#[derive(onefold::Project)]
enum SubmitCaseResult {
    #[project(status = 201)]
    Accepted,
}

fn main() {}
