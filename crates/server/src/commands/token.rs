//! `onefold token`: who may call.

use std::io::IsTerminal as _;
use std::process::ExitCode;

use clap::Subcommand;
use onefold_core::error::{REQUEST_INVALID, TOKEN_NOT_FOUND};
use onefold_core::operation::Tenant;
use onefold_core::port::{ApiToken, Registry as _};
use onefold_core::{Error, Result};
use serde_json::json;

use crate::app::{App, Opener};
use crate::cli::Context;
use crate::database::{Creation, Database};
use crate::exit::inform;
use crate::identity::{Role, first_token, new_secret};
use crate::table::{print_json_of, say, say_line, short_time, table};

/// What to do with tokens.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Roles: reader looks, caller also claims and records, operator also reads payloads and settles\nincidents, administrator does everything. A running server knows of a change within a second.\n\nExamples:\n  onefold token\n  onefold token add night-shift --role operator\n  onefold token remove night-shift"
)]
pub(crate) struct TokenArgs {
    #[command(subcommand)]
    verb: Option<TokenVerb>,
}

#[derive(Debug, Subcommand)]
enum TokenVerb {
    /// Say where the first token is, and show it on a terminal (the default)
    Show,
    /// Create a token; it is shown once
    Add {
        /// Their name; recorded with every verb they use
        name: String,
        /// What they may do
        #[arg(long)]
        role: Role,
        /// The tenant they act for
        #[arg(long, default_value = "default")]
        tenant: String,
    },
    /// List tokens, without their secrets
    List,
    /// Remove a token
    Remove {
        /// Whose
        name: String,
    },
}

pub(crate) async fn token(context: &Context, args: TokenArgs) -> Result<ExitCode> {
    context.config.refuse_server("tokens are kept in the database")?;
    match args.verb.unwrap_or(TokenVerb::Show) {
        TokenVerb::Show => show(context).await,
        TokenVerb::Add { name, role, tenant } => add(context, &name, role, &tenant).await,
        TokenVerb::List => list(context).await,
        TokenVerb::Remove { name } => remove(context, name).await,
    }
}

async fn show(context: &Context) -> Result<ExitCode> {
    Database::check(&context.config, Creation::Never).await?;
    let file = &context.config.token_file;
    context.config.files.make_folder()?;
    let token = first_token(file)?;
    if context.json {
        print_json_of(&context.config.ledger(), json!({ "tokenFile": file }));
    } else if std::io::stdout().is_terminal() {
        say_line!("{token}  (in {})", file.display());
    } else {
        say_line!("{}", file.display());
    }
    Ok(ExitCode::SUCCESS)
}

async fn add(context: &Context, name: &str, role: Role, tenant: &str) -> Result<ExitCode> {
    let shaped =
        !name.is_empty() && name.len() <= 64 && name.chars().all(|c| c.is_ascii_alphanumeric() || "._-@".contains(c));
    if !shaped || name == "owner" {
        return Err(Error::new(REQUEST_INVALID, format!("{name:?} is not a name for a token"))
            .hint("use 1 to 64 ASCII letters, digits and . _ - @, and not `owner`, which is the first token"));
    }
    let app = App::open(&context.config, Opener::Command, Creation::Never).await?;
    let (secret, digest) = new_secret()?;
    let token = ApiToken {
        name: name.into(),
        role: role.as_str().into(),
        tenant: Tenant::parse(tenant)?,
        digest,
        created_at: crate::app::now(),
    };
    app.ledger.store().put_token(token).await?;
    if context.json {
        print_json_of(
            &context.config.ledger(),
            json!({ "name": name, "role": role.as_str(), "tenant": tenant, "token": secret }),
        );
    } else {
        say_line!("{secret}");
        inform(&format!("{name} is {}; this token is shown once, the database keeps its digest", role.as_str()));
        inform(&format!("ledger {}", context.config.ledger()));
    }
    Ok(ExitCode::SUCCESS)
}

async fn list(context: &Context) -> Result<ExitCode> {
    let app = App::open(&context.config, Opener::Command, Creation::Never).await?;
    let tokens = app.ledger.store().tokens().await?;
    let ledger = context.config.ledger();
    if context.json {
        let tokens: Vec<_> = tokens
            .iter()
            .map(|token| {
                json!({
                    "name": &*token.name,
                    "role": &*token.role,
                    "tenant": token.tenant.as_str(),
                    "createdAt": token.created_at.to_string(),
                })
            })
            .collect();
        print_json_of(&context.config.ledger(), json!({ "tokens": tokens }));
        return Ok(ExitCode::SUCCESS);
    }
    inform(&format!("ledger {ledger}"));
    let rows = tokens.iter().map(|token| {
        let created = short_time(&token.created_at.to_string());
        [token.name.to_string(), token.role.to_string(), token.tenant.to_string(), created]
    });
    say!("{}", table(["name", "role", "tenant", "since"], rows));
    say_line!("owner (administrator) is the token in {}", context.config.token_file.display());
    Ok(ExitCode::SUCCESS)
}

async fn remove(context: &Context, name: String) -> Result<ExitCode> {
    let app = App::open(&context.config, Opener::Command, Creation::Never).await?;
    if !app.ledger.store().drop_token(name.clone()).await? {
        return Err(Error::new(TOKEN_NOT_FOUND, format!("there is no token of {name:?}")));
    }
    if context.json {
        print_json_of(&context.config.ledger(), json!({ "removed": name }));
    } else {
        inform(&format!("ledger {}", context.config.ledger()));
        say_line!("the token of {name} is removed");
    }
    Ok(ExitCode::SUCCESS)
}
