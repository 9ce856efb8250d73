//! A server that cannot start says in one clear error why, and shows no password.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;

use crate::fixture::{Ran, Workdir};
use crate::schema_fixture::{ALONE, PASSWORD, Schema, execute};

/// The refusal, after the checks that every one must pass.
fn refusal(ran: &Ran, code: i32) -> String {
    assert_eq!(ran.code, Some(code), "{}", ran.err());
    assert!(ran.out().is_empty(), "{}", ran.out());
    let said = ran.err();
    assert!(said.starts_with("error: ") && said.contains("\n  next: "), "{said}");
    assert!(!said.contains("panicked") && !said.contains(PASSWORD), "{said}");
    said
}

fn serve(dir: &Workdir) -> Ran {
    dir.run(&["serve", "--listen", "127.0.0.1:0"])
}

/// Speaks as much of the protocol as it takes to refuse a password.
fn refuses_passwords() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for mut client in listener.incoming().map_while(Result::ok) {
            let mut bytes = [0; 1024];
            let count = client.read(&mut bytes).unwrap_or(0);
            if count == 8 {
                // It asks for TLS, which is not spoken here; then it says who it is.
                client.write_all(b"N").unwrap();
                let _ = client.read(&mut bytes);
            }
            let fields = b"SFATAL\0VFATAL\0C28P01\0Mpassword authentication failed\0\0";
            let length = i32::try_from(fields.len() + 4).unwrap().to_be_bytes();
            let _ = client.write_all(&[b"E", &length[..], fields].concat());
        }
    });
    address
}

#[test]
fn whatever_is_wrong_with_the_database_is_said_in_one_error() {
    let schema = Schema::new();
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let elsewhere = format!("{}_no_such", schema.url());
    let rows = [
        ("unreachable", schema.url_at(&nobody), "DATABASE_UNAVAILABLE", "Connection refused"),
        ("unreachable", schema.url_at(&nobody), "DATABASE_UNAVAILABLE", "check that the database runs"),
        ("password", schema.url_at(&refuses_passwords()), "DATABASE_UNAVAILABLE", "refused the login"),
        ("database", elsewhere, "DATABASE_UNAVAILABLE", "no database of that name"),
    ];
    for (name, url, code, why) in rows {
        let dir = schema.dir_at(&url);
        let said = refusal(&serve(&dir), 69);
        assert!(said.contains(code) && said.contains(why) && said.contains("postgres://"), "{name}: {said}");
        for command in [&["operations"][..], &["migrate", "--dry-run"], &["token", "list"]] {
            refusal(&dir.run(command), 69);
        }
        assert!(!dir.path("onefold-data").exists(), "{name}: a failed start leaves nothing behind");
    }
}

#[test]
fn a_role_that_may_not_write_is_told_what_it_lacks() {
    let schema = Schema::new();
    execute(&format!("{ALONE}; DROP OWNED BY {}", schema.name));
    let said = refusal(&serve(&schema.dir()), 69);
    assert!(said.contains("lacks a permission") && said.contains("grant this user"), "{said}");
}

#[test]
fn a_schema_of_a_newer_version_is_refused() {
    let schema = Schema::new();
    let dir = schema.dir();
    dir.run(&["migrate"]).done();
    execute(&format!("INSERT INTO {}.onefold_migrations VALUES (999, 'from_the_future', 0)", schema.name));
    for command in [&["operations"][..], &["token", "list"], &["migrate"], &["run", "--id", "x", "--", "true"]] {
        assert!(refusal(&dir.run(command), 69).contains("DATABASE_TOO_NEW"), "{command:?}");
    }
    assert!(refusal(&serve(&dir), 69).contains("DATABASE_TOO_NEW"));
}

#[test]
fn what_is_wrong_in_the_configuration_is_named() {
    let schema = Schema::new();
    let rows = [
        (schema.url(), "Not A Schema", "is not a schema name"),
        (format!("{}?passwd={PASSWORD}", schema.url()), "x", "unknown parameter \"passwd\""),
        (schema.url().replace(PASSWORD, "hu/sh"), "x", "cannot be read"),
        (schema.url().replace("postgres://", "mysql://"), "x", "there is no store for mysql://"),
    ];
    for (url, name, why) in rows {
        let dir = Workdir::with_environment(vec![("ONEFOLD_DATABASE", url), ("ONEFOLD_SCHEMA", name.to_owned())]);
        let said = refusal(&serve(&dir), 78);
        assert!(said.contains(why) && !said.contains("hu/sh"), "{said}");
    }
}
