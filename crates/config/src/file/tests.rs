use std::time::Duration;

use onefold_core::effect::Policy;
use onefold_core::error::POLICY_NOT_ALLOWED;
use onefold_core::retry::Category;

use super::*;

#[test]
fn an_illegal_pair_names_file_line_and_what_is_allowed() {
    let text =
        "\n[kind.\"payment.register\"]\nclass = \"financial-or-legal\"\non_unknown = { ask = \"GET http://x/{id}\" }\n";
    let error = kinds("onefold.toml", text).unwrap_err();
    assert_eq!(error.code(), POLICY_NOT_ALLOWED);
    assert_eq!(
        error.detail(),
        "onefold.toml:4:14: kind \"payment.register\": class financial-or-legal may not `ask` on an unknown outcome\n  \
         4 | on_unknown = { ask = \"GET http://x/{id}\" }\n    |              ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^"
    );
    assert_eq!(error.next_step(), "allowed: escalate, same_key, void");
}

#[test]
fn a_complete_declaration_is_read() {
    let text = r#"
        [dependency.notice-service]

        [kind."notice.issue-formal"]
        class = "external-command"
        on_unknown = { ask = "GET https://notices.internal/?operation={id}", settle = "20m" }
        deadline = "10s"
        depends_on = "notice-service"
        fingerprint = { fields = ["/caseId"] }
        retry.rate_limited = { schedule = ["1m", "5m"], because = "quota resets each minute" }
        retention = { id = "30d", redelivery = "7d" }
    "#;
    let DeclaredKind { terms, question } = kinds("onefold.toml", text).unwrap().remove(0);
    assert_eq!(question.unwrap().url, "https://notices.internal/?operation={id}");
    assert_eq!(terms.contract.policy(), &Policy::Ask { settle: Duration::from_mins(20) });
    assert_eq!(terms.deadline_for, Duration::from_secs(10));
    assert_eq!(terms.dependency.as_deref(), Some("notice-service"));
    assert!(terms.retry.row(Category::RateLimited).because.is_some());
}

#[test]
fn every_mistake_is_shown_where_it_stands() {
    let rows = [
        ("[kind.k]\nclass = \"magic\"", ":2:9:", "use one of"),
        ("[kind.k]\nclass = \"pure\"\ndeadline = \"soon\"", ":3:12:", "write"),
        ("[kind.k]\nclass = \"pure\"\ndeadlin = \"1s\"", ":3:1", "did you mean `deadline`?"),
        ("[kind.k]\nclass = \"converging\"\non_unknown = { ask = \"GET x\" }", ":3:14:", "http://"),
        ("[kind.\"two words\"]\nclass = \"pure\"", ":1:7:", "ASCII"),
        ("[kind.k]\nclass = \"pure\"\non_unknown = \"guess\"", ":3:14:", "escalate"),
        ("[kind.k]\nclass = \"converging\"\non_unknown = { same_key = \"K\" }", ":3:14:", "provider_memory"),
        ("[kind.k]\nclass = \"pure\"\nretry.never = { schedule = [\"1s\"], because = \"x\" }", ":3:7:", "rate_limited"),
        ("[kind.k]\nclass = \"pure\"\nretention = { id = \"1d\", redelivery = \"2d\" }", ":1:7:", "raise"),
        ("[kind.k\nclass", ":1:", ""),
        ("[[kind]]\nname = \"k\"\nclass = \"pure\"", ":1:", "write [kind.\"NAME\"]"),
    ];
    for (text, at, hint) in rows {
        let shown = kinds("x.toml", text).unwrap_err().to_string();
        assert!(shown.contains(&format!("x.toml{at}")) && shown.contains(hint), "{text}\n→ {shown}");
    }
}

#[test]
fn a_limit_that_cannot_hold_is_shown_where_it_stands() {
    let rows = [
        ("[dependency.d]\nrate = \"fast\"", ":2:8:", "50/s"),
        ("[dependency.d]\ncalls_max = 0", ":2:13:", "from 1"),
        ("[dependency.d]\nbulkhead = 1", ":2:1:", "calls_max"),
        ("[dependency.d]\nbreaker = { failures = 0, open_for = \"1s\" }", ":2:24:", "from 1"),
        ("[dependency.d]\nbreaker = { failures = 1, open_for = \"0s\" }", ":2:38:", "30s"),
    ];
    for (text, at, hint) in rows {
        let shown = dependencies("x.toml", text).unwrap_err().to_string();
        assert!(shown.contains(&format!("x.toml{at}")) && shown.contains(hint), "{text}\n→ {shown}");
    }
}

const MINIMAL: &str = "[[route]]\nname = \"pay\"\nmatch = \"POST /payments\"\nupstream = \"http://127.0.0.1:1\"\nclass = \"external-command\"\ncaller = \"anonymous\"\n";

#[test]
fn every_mistake_of_a_route_or_its_gateway_is_shown_where_it_stands() {
    let rows = [
        ("class = \"external-command\"", "", ":2:8:", "class = "),
        ("caller = \"anonymous\"", "", ":2:8:", "anonymous"),
        ("class = \"external-command\"", "class = \"local\"", ":5:9:", "converging"),
        ("class = \"external-command\"", "class = \"message-publish\"", ":5:9:", "same_key"),
        ("class = \"external-command\"", "class = \"magic\"", ":5:9:", "use one of"),
        ("class =", "clas =", ":5:1:", "did you mean `class`?"),
        ("\"anonymous\"", "\"someone\"", ":6:10:", "certificate"),
        ("\"anonymous\"", "{ jwt = { subject = \"sub\" } }", ":6:18:", "keys.json"),
        ("\"anonymous\"", "{ jwt = { jwk = \"k\" } }", ":6:20:", "did you mean `jwks`?"),
        ("\"anonymous\"", "{ auth = { url = \"ftp://a\", subject_header = \"X\" } }", ":6:27:", "http://"),
        ("\"anonymous\"", "{ auth = { url = \"http://a\" } }", ":6:19:", "subject_header"),
        ("\"anonymous\"", "{}", ":6:10:", "jwt"),
        ("\"anonymous\"", "\"anonymous\"\ntenant_header = \"X\"", ":7:17:", "who calls"),
        ("\"anonymous\"", "\"anonymous\"\ntimeout = \"soon\"", ":7:11:", "10s"),
        ("\"anonymous\"", "\"anonymous\"\ntimeout = \"2m\"\ndeadline = \"1m\"", ":7:11:", "deadline"),
        (
            "\"anonymous\"",
            "\"anonymous\"\nconnect_timeout = \"3s\"\ntimeout = \"3s\"",
            ":7:19:",
            "shorter than `timeout`",
        ),
        ("\"anonymous\"", "\"anonymous\"\nanswers = { 99 = \"not-applied\" }", ":7:13:", "402"),
        ("\"anonymous\"", "\"anonymous\"\nanswers = { 500 = \"maybe\" }", ":7:19:", "unknown"),
        ("\"anonymous\"", "\"anonymous\"\nstored_headers = [\"Set-Cookie\"]", ":7:19:", "leave it out"),
        (
            "\"anonymous\"",
            "\"anonymous\"\non_unknown = { same_key = \"two words\", provider_memory = \"1h\" }",
            ":7:27:",
            "X-",
        ),
        ("\"anonymous\"", "\"anonymous\"\nkey = \"maybe\"", ":7:7:", "optional"),
        ("\"anonymous\"", "\"anonymous\"\nmethods = [\"GET\"]", ":7:12:", "PUT"),
        ("\"anonymous\"", "\"anonymous\"\nmethods = [\"PUT\"]", ":7:12:", "add \"POST\""),
        ("\"anonymous\"", "\"anonymous\"\nin_flight_status = 500", ":7:20:", "425"),
        ("\"anonymous\"", "\"anonymous\"\nreused = { status = 400 }", ":7:21:", "422"),
        ("\"anonymous\"", "\"anonymous\"\nreused = { code = \"OWN_CODE\" }", ":7:19:", "onefold errors"),
        ("\"anonymous\"", "\"anonymous\"\nbusiness_key = \"caseId\"", ":7:16:", "write \"/caseId\""),
        ("\"anonymous\"", "\"anonymous\"\nevidence = \"id\"", ":7:12:", "header:Location"),
        ("\"anonymous\"", "\"anonymous\"\nopen = true", ":7:8:", "leave `open` out"),
        ("\"anonymous\"", "\"anonymous\"\nretention = { id = \"0s\" }", ":7:20:", "10s"),
        ("\"anonymous\"", "\"anonymous\"\nbody_bytes_max = 0", ":7:18:", "from 1"),
        ("\"anonymous\"", "\"anonymous\"\nwait = 5", ":7:8:", ""),
        ("\"http://127.0.0.1:1\"", "[]", ":2:8:", "add upstream"),
        ("name = \"pay\"\n", "", ":1:", ""),
        ("\"anonymous\"", "\"anonymous\"\npreserve_host = true\nupstream_http2 = true", ":8:18:", "leave out"),
        (
            "\"anonymous\"",
            "\"anonymous\"\ndepends_on = \"payment\"\n[dependency.payments]\ncalls_max = 1",
            ":7:14:",
            "did you mean `payments`?",
        ),
        ("\"anonymous\"", "\"anonymous\"\ndependency = \"payments\"", ":7:1:", "did you mean `depends_on`?"),
        ("\"anonymous\"", "\"anonymous\"\nwaiters = 7", ":7:1:", "did you mean `waiters_max`?"),
        ("\"anonymous\"", "\"anonymous\"\n[dependency.d]\nrate = \"fast\"", ":8:8:", "50/s"),
        ("\"anonymous\"", "\"anonymous\"\n[gateway]\nopne = true", ":8:1:", "did you mean `open`?"),
        ("\"anonymous\"", "\"anonymous\"\n[gateway]\nidle_for = \"0s\"", ":8:12:", "10s"),
        ("\"anonymous\"", "\"anonymous\"\n[gateway]\ntls = { key = \"a.key\" }", ":8:7:", "certificate"),
        ("\"anonymous\"", "\"anonymous\"\n[gateway]\notherwise_lookalikes = \"maybe\"", ":8:24:", "\"pass\""),
    ];
    let read = |text: &str| {
        routes("x.toml", text, |_, _| Ok(()))?;
        gateway("x.toml", text, |_| Ok(()))
    };
    for (from, to, at, hint) in rows {
        let text = MINIMAL.replacen(from, to, 1);
        let shown = read(&text).unwrap_err().to_string();
        assert!(shown.contains(&format!("x.toml{at}")) && shown.contains(hint), "{text}\n→ {shown}");
    }
    let twice = format!("{MINIMAL}{MINIMAL}");
    let shown = read(&twice).unwrap_err().to_string();
    assert!(shown.contains("x.toml:8:8:") && shown.contains("two routes are called"), "{shown}");
}

#[test]
fn notify_is_read_with_its_defaults_and_each_mistake_with_its_place() {
    let text = "[notify]\nwebhook = \"https://ops.example.com/hook\"\nsecret_file = \"hook.secret\"\n";
    let read_from = |text: &str| notify("conf/onefold.toml", text);
    let declared = read_from(text).unwrap().unwrap();
    assert_eq!((declared.group_for, declared.messages_per_minute_max), (Duration::from_mins(1), 60));
    assert_eq!(declared.secret_file, Path::new("conf/hook.secret"));
    assert_eq!(read_from("listen = \"127.0.0.1:1\"\n").unwrap(), None);
    for (wrong, place, hint) in [
        (text.replace("https", "http"), ":2:11:", "https://HOST"),
        (format!("{text}group_for = \"soon\"\n"), ":4:13:", "5m"),
        (format!("{text}messages_per_minute_max = 0\n"), ":4:27:", "at least 1"),
        (format!("{text}secret = \"hush\"\n"), ":4:1:", "did you mean `secret_file`?"),
        ("[notify]\nwebhook = \"https://x/\"\n".to_owned(), ":1:2:", "secret_file"),
        ("[notify]\nsecret_file = \"x\"\n".to_owned(), ":1:2:", "webhook"),
    ] {
        let shown = read_from(&wrong).unwrap_err().to_string();
        assert!(shown.contains(&format!("conf/onefold.toml{place}")) && shown.contains(hint), "{wrong}\n→ {shown}");
    }
}

#[test]
fn a_dependency_is_declared_without_a_route() {
    let text = "[dependency.bank]\nbreaker = { failures = 20, open_for = \"30s\" }\ncalls_max = 8\nrate = \"50/s\"\nunavailable_for = \"2m\"\nanswers = { 503 = \"not-applied\" }\n";
    let declared = &dependencies("x.toml", text).unwrap()["bank"];
    let expected = DependencyDeclaration {
        breaker: Some(crate::Breaker { failures: 20, open_for: Duration::from_secs(30) }),
        calls_max: Some(8),
        rate: crate::Rate::parse("50/s"),
        unavailable_for: Some(Duration::from_mins(2)),
        answers: [(503, crate::StatusMeaning::NotApplied)].into(),
    };
    assert_eq!(*declared, expected);
    let error = dependencies("x.toml", "[dependency.\"two words\"]\n").unwrap_err();
    assert!(error.detail().starts_with("x.toml:1:"), "{error}");
}

const EVENT: &str = "[[event]]\ntype = \"case.submitted\"\naggregate = \"case\"\nowner = \"case team\"\nversions = { 1 = \"v1.json\" }\n";

/// A folder with one schema in it.
fn schema_file(path: &Path) -> onefold_core::Result<String> {
    match path.to_str() {
        Some("conf/v1.json") => Ok("{ \"type\": \"object\" }".to_owned()),
        Some("conf/broken.json") => Ok("{\n  \"type\"".to_owned()),
        _ => Err(onefold_core::Error::new(onefold_core::error::DECLARATION_INVALID, "no such file")),
    }
}

#[test]
fn an_event_is_declared_with_its_schema_and_each_mistake_has_its_place() {
    let read_from = |text: &str| events("conf/onefold.toml", text, schema_file);
    let contracts = read_from(EVENT).unwrap();
    let terms = contracts.iter().next().unwrap().terms().clone();
    assert_eq!((terms.owner.as_str(), terms.compatibility.as_str()), ("case team", "backward"));
    assert_eq!(terms.versions[&1], serde_json::json!({ "type": "object" }));
    assert!(read_from("listen = \"127.0.0.1:1\"\n").unwrap().is_empty());
    let inline = EVENT.replace("\"v1.json\"", "{ required = [\"caseId\"], properties = { n = { minimum = 1 } } }");
    let contracts = read_from(&inline).unwrap();
    let terms = contracts.iter().next().unwrap().terms().clone();
    assert_eq!(
        terms.versions[&1],
        serde_json::json!({ "required": ["caseId"], "properties": { "n": { "minimum": 1 } } })
    );
    let rows = [
        ("\"v1.json\"", "\"broken.json\"", ":5:18:", "broken.json:2:8"),
        ("\"v1.json\"", "\"gone.json\"", ":5:18:", "no such file"),
        ("1 = \"v1.json\"", "one = \"v1.json\"", ":5:20:", "write a number"),
        ("1 = \"v1.json\"", "01 = \"v1.json\"", ":5:19:", "write a number"),
        ("\"v1.json\"", "{ type = \"strng\" }", ":5:18:", "is not JSON Schema"),
        ("\"v1.json\"", "{ \"$ref\" = \"https://x.example/s\" }", ":5:18:", "never fetched"),
        ("\"v1.json\"", "7", ":5:18:", "the file of a JSON Schema"),
        ("{ 1 = \"v1.json\" }", "{}", ":1:", "versions = { 1"),
        ("owner = \"case team\"\n", "", ":1:", "write owner"),
        ("\"case team\"", "\" \"", ":4:9:", "name the team"),
        ("case.submitted", "case submitted", ":2:8:", "ASCII letters"),
        ("case.submitted", ".submitted", ":2:8:", "case.submitted"),
        ("\"case\"", "\"a case\"", ":3:13:", "ASCII letters"),
        ("owner", "ordering_key = \"caseId\"\nowner", ":4:16:", "write \"/caseId\""),
        ("owner", "key_fields = [\"/a\", \"b\"]\nowner", ":4:21:", "write \"/b\""),
        ("owner", "compatibility = \"sideways\"\nowner", ":4:17:", "backward"),
        ("owner", "source = \"two words\"\nowner", ":4:10:", "URI"),
        ("owner", "ordering = \"/caseId\"\nowner", ":4:1:", "did you mean `ordering_key`?"),
    ];
    for (from, to, at, says) in rows {
        let text = EVENT.replacen(from, to, 1);
        let error = read_from(&text).unwrap_err();
        let shown = format!("{error} {}", error.next_step());
        assert!(shown.contains(&format!("conf/onefold.toml{at}")) && shown.contains(says), "{text}\n→ {shown}");
    }
    let twice = read_from(&format!("{EVENT}{EVENT}")).unwrap_err().to_string();
    assert!(twice.contains("conf/onefold.toml:7:8:") && twice.contains("declared twice"), "{twice}");
}

#[test]
fn a_relay_of_a_type_that_is_not_declared_is_refused_where_types_are() {
    let relay = |events: &str| {
        format!(
            "[[relay]]\nname = \"a\"\nevents = {events}\nto = {{ webhook = \"https://p.example/h\", secret_file = \"k\" }}\n"
        )
    };
    let known = events("conf/onefold.toml", EVENT, schema_file).unwrap();
    for fine in ["[\"case.submitted\"]", "[\"case.*\"]", "[\"*\"]"] {
        relays("x.toml", &relay(fine), &known).unwrap();
    }
    relays("x.toml", &relay("[\"order.paid\"]"), &onefold_core::event::EventContracts::default()).unwrap();
    let rows = [
        ("[\"case.*\", \"case.submited\"]", ":3:21:", "did you mean `case.submitted`?"),
        ("[\"order.*\"]", ":3:11:", "[[event]]"),
    ];
    for (events, at, hint) in rows {
        let shown = relays("x.toml", &relay(events), &known).unwrap_err();
        let shown = format!("{shown} {}", shown.next_step());
        assert!(shown.contains(&format!("x.toml{at}")) && shown.contains(hint), "{shown}");
    }
}
