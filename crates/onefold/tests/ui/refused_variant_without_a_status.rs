#[derive(onefold::Project)]
enum SubmitCaseResult {
    #[project(code = onefold::error::INTERNAL_ERROR)]
    Failed,
}

fn main() {}
