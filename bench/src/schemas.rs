//! Schemas of a benchmark's own, dropped when it ends.

use sqlx::{AssertSqlSafe, Connection as _, PgConnection};

/// Schemas that did not exist before.
pub struct Schemas {
    url: String,
    names: Vec<String>,
}

impl Schemas {
    /// Makes sure that none of these is left from an earlier run.
    pub async fn fresh(url: &str, names: &[&str]) -> Self {
        let schemas = Self { url: url.to_owned(), names: names.iter().map(|name| (*name).to_owned()).collect() };
        schemas.remove().await;
        schemas
    }

    /// Drops them.
    pub async fn drop(self) {
        self.remove().await;
    }

    async fn remove(&self) {
        let mut connection = PgConnection::connect(&self.url).await.expect("the server answers");
        for name in &self.names {
            let sql = format!("DROP SCHEMA IF EXISTS {name} CASCADE");
            sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut connection).await.expect("dropped");
        }
    }
}
