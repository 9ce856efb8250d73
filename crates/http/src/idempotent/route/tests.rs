use onefold_config::{KindDeclaration, RouteDeclaration};
use onefold_core::error::TOO_BUSY;
use serde_json::Value;

use super::*;

/// A route whose every key of the guard differs from its default.
const FILE: &str = r#"
name = "pay"
match = "PUT /payments"
upstream = "http://127.0.0.1:1"
caller = "anonymous"
class = "converging"
deadline = "20s"
fingerprint = "canonical"
retention = { result = "1h" }
key = "optional"
header = "X-Key"
anonymous_replay = true
methods = ["PUT", "DELETE"]
answers = { 402 = "final", 404 = "not-applied" }
trust_effect_header = true
evidence = "header:X-Reference"
business_key = "/caseId"
wait = "1s"
waiters_max = 7
in_flight_status = 425
in_flight_max = 8
reused = { status = 409, code = "TOO_BUSY" }
replay_status = 203
body_bytes_max = 1000
read_within = "2s"
answer_bytes_max = 2000
stored_headers = ["X-Reference"]
streams = true
open = true
access_log = true
"#;

fn built() -> Route<Converging> {
    Route::converging("pay")
        .deadline(Duration::from_secs(20))
        .fingerprint(Mode::Canonical)
        .retention(Retention { result_for: Some(Duration::from_hours(1)), ..Retention::default() })
        .key(KeyRequirement::Optional)
        .header("X-Key")
        .anonymous_replay()
        .methods([GuardedMethod::Put, GuardedMethod::Delete])
        .answers([(402, StatusMeaning::Final), (404, StatusMeaning::NotApplied)])
        .trust_effect_header()
        .evidence("header:X-Reference")
        .business_key("/caseId")
        .wait(Duration::from_secs(1))
        .waiters_max(7)
        .in_flight_status(425)
        .in_flight_max(8)
        .reused(409, TOO_BUSY)
        .replay_status(203)
        .body_bytes_max(1000)
        .read_within(Duration::from_secs(2))
        .answer_bytes_max(2000)
        .stored_headers(["X-Reference"])
        .streams()
        .open()
        .access_log()
}

fn read(text: &str) -> RouteDeclaration {
    toml::from_str(text).unwrap()
}

#[test]
fn a_file_and_the_builder_take_the_same_keys_and_make_the_same_route() {
    let (file, route) = (read(FILE), built());
    assert_eq!(route.guard, file.guard);
    // No key of the guard is left out of this test.
    let (written, default) = (serde_json::json!(file.guard), serde_json::json!(GuardDeclaration::default()));
    for setting in GuardDeclaration::SETTINGS {
        assert_ne!(written[setting.key], Value::Null, "{}", setting.key);
        assert_ne!(written[setting.key], default[setting.key], "{}", setting.key);
    }
    let mut declared = KindDeclaration::default();
    let (kind, settings) = route.resolve().unwrap();
    let _ = kind.declare(|of_builder| declared = of_builder.clone());
    assert_eq!(declared.check("pay").unwrap(), file.check().unwrap());
    let of_file = RouteSettings::resolve(file.guard, declared.class.unwrap(), RouteContext::default()).unwrap();
    assert_eq!(of_file.declared, settings.declared);
    assert_eq!((of_file.header, of_file.stored_headers), (settings.header, settings.stored_headers));
}

#[test]
fn without_a_key_both_have_the_same_defaults() {
    let bare = "name = \"pay\"\nmatch = \"POST /p\"\nupstream = \"http://127.0.0.1:1\"\ncaller = \"anonymous\"\n";
    let classes = [
        ("pure", Route::pure("pay").resolved_kind()),
        ("converging", Route::converging("pay").resolved_kind()),
        ("external-command", Route::external_command("pay").resolved_kind()),
        ("financial-or-legal", Route::financial_or_legal("pay").resolved_kind()),
    ];
    for (class, of_builder) in classes {
        let file = read(&format!("{bare}class = \"{class}\"\n"));
        assert_eq!(of_builder.check("pay").unwrap(), file.check().unwrap(), "{class}");
        assert_eq!(file.guard, GuardDeclaration::default());
    }
}

impl<C: Class> Route<C> {
    fn resolved_kind(self) -> KindDeclaration {
        let mut declared = KindDeclaration::default();
        let _ = self.resolve().unwrap().0.declare(|of_builder| declared = of_builder.clone());
        declared
    }
}

#[test]
fn a_mistake_of_the_builder_names_the_route_and_the_key() {
    let rows = [
        (Route::converging("pay").header("two words"), "route \"pay\": header: \"two words\" is not a header name"),
        (Route::converging("pay").in_flight_status(500), "route \"pay\": in_flight_status: the status 500"),
        (Route::converging("pay").stored_headers(["Set-Cookie"]), "route \"pay\": stored_headers.0: set-cookie"),
        (Route::converging("pay").evidence("id"), "route \"pay\": evidence: \"id\""),
    ];
    for (route, shown) in rows {
        let error = route.resolve().map(|_| ()).unwrap_err();
        assert!(error.detail().starts_with(shown), "{error}");
    }
}
