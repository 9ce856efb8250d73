fn main() {
    let _ = onefold::throw!(onefold::error::DATABASE_UNAVAILABLE);
}
