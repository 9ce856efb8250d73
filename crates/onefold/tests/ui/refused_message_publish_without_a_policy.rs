use onefold::Kind;

fn main() {
    let _ = Kind::message_publish("case.event");
}
