//! The provider's protocol: one line asks, one line answers.

use std::io::{self, BufRead as _, BufReader, Write as _};
use std::net::TcpStream;

use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _};

/// Asks the provider, from a test.
pub fn ask(address: &str, line: &str) -> io::Result<String> {
    let mut stream = TcpStream::connect(address)?;
    writeln!(stream, "{line}")?;
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer)?;
    Ok(answer.trim().to_owned())
}

/// Asks the provider, from the worker.
pub async fn ask_async(address: &str, line: &str) -> io::Result<String> {
    let mut stream = tokio::net::TcpStream::connect(address).await?;
    stream.write_all(format!("{line}\n").as_bytes()).await?;
    let mut answer = String::new();
    tokio::io::BufReader::new(stream).read_line(&mut answer).await?;
    Ok(answer.trim().to_owned())
}
