//! What a PostgreSQL ledger is opened on: a pool, or a URL.

use onefold_core::Result;
use onefold_core::port::{Opener, PostgresAddress};
use sqlx::PgPool;
use sqlx::postgres::PgConnectOptions;

use crate::open::named_options;
use crate::{Postgres, PostgresOptions};

impl Postgres {
    /// Opens the database that a pool is connected to.
    ///
    /// [`Postgres::begin`] takes its connections from the pool. The ledger's are its own, made with the pool's connect
    /// options, because it must know whose its sessions are.
    pub async fn open_pool(pool: PgPool, options: PostgresOptions) -> Result<Self> {
        let connect = PgConnectOptions::clone(&pool.connect_options());
        let (connect, address) = named_options(connect, options.schema.as_deref());
        Box::pin(Self::open_with(connect, address, Some(pool), options)).await
    }
}

impl PostgresAddress<Postgres> for PgPool {
    fn opener(self) -> Opener<Postgres> {
        Box::new(|clock, random| Box::pin(Postgres::open_pool(self, PostgresOptions::new(clock, random))))
    }
}

macro_rules! urls {
    ($($url:ty),+) => {$(
        impl PostgresAddress<Postgres> for $url {
            fn opener(self) -> Opener<Postgres> {
                let url = self.to_string();
                Box::new(|clock, random| {
                    Box::pin(async move { Postgres::open(&url, PostgresOptions::new(clock, random)).await })
                })
            }
        }
    )+};
}

urls!(&str, &String, String);
