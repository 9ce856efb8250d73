//! Where PostgreSQL is, and schemas of a benchmark's own, dropped when it ends.

use sqlx::{AssertSqlSafe, Connection as _, PgConnection};

/// The server, as `cargo xtask bench` tells it.
pub fn url() -> String {
    std::env::var("ONEFOLD_TEST_POSTGRES").expect("run `cargo xtask bench NAME`, which starts PostgreSQL")
}

/// Says which version the figures hold for.
pub async fn show_version(url: &str) {
    let mut connection = PgConnection::connect(url).await.expect("the server answers");
    let version: String =
        sqlx::query_scalar("SHOW server_version").fetch_one(&mut connection).await.expect("a version");
    println!("version PostgreSQL {version}");
}

/// Schemas that did not exist before.
pub struct Schemas {
    url: String,
    names: Vec<String>,
}

impl Schemas {
    /// Makes sure that none of these is left from an earlier run.
    pub async fn fresh(url: &str, names: &[&str]) -> Self {
        let mut schemas = Self { url: url.to_owned(), names: vec![] };
        for name in names {
            schemas.add(name).await;
        }
        schemas
    }

    /// One more.
    pub async fn add(&mut self, name: &str) {
        remove(&self.url, name).await;
        self.names.push(name.to_owned());
    }

    /// Drops them.
    pub async fn drop(self) {
        for name in &self.names {
            remove(&self.url, name).await;
        }
    }
}

async fn remove(url: &str, name: &str) {
    let mut connection = PgConnection::connect(url).await.expect("the server answers");
    let sql = format!("DROP SCHEMA IF EXISTS {name} CASCADE");
    sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut connection).await.expect("dropped");
}
