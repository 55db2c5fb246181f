//! `serve`: a language model over HTTP.

use crate::{generate::Which, stop, train::RUNS};
use anyhow::Result;
use clap::Args;
use lab::{
    out::{say, warn},
    serve::host_name,
    units::plain,
};
use language_model::serve::{Options, Server};
use std::{net::IpAddr, path::Path, thread, time::Duration};

/// The options of `serve`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cargo run -- serve                          the latest model on http://127.0.0.1:8000, with a page to type in
  cargo run -- serve --model runs/a --int8    the model of this run, its weights in 8 bits
  curl http://127.0.0.1:8000/generate -d '{\"prompt\": \"fn main() {\", \"tokens\": 50, \"seed\": 1}'
  curl -N http://127.0.0.1:8000/generate -d '{\"prompt\": \"use std\", \"stream\": true}'    token by token
  curl http://127.0.0.1:8000/health           what it is doing

The body of POST /generate: prompt, and if you like tokens, temperature, top_k, top_p, seed, stream. Requests that
come at the same time share each step. One too many gets the status 503. Ctrl-C ends it; answers that are being made
have five seconds. For the book, see `book serve`.")]
pub struct Serve {
    #[command(flatten)]
    which: Which,
    /// The address; any other than the loopback one lets other machines use it
    #[arg(long, default_value_t = Options::default().http.address)]
    address: IpAddr,
    /// The port; 0 for any that is free
    #[arg(long, default_value_t = Options::default().http.port, value_parser = crate::whole::<u16>(0..=65535))]
    port: u16,
    /// A name by which it may be called, such as a proxy's, besides localhost and addresses; may be repeated
    #[arg(long = "host", value_name = "NAME", value_parser = host_name)]
    hosts: Vec<String>,
    /// Requests that share a step
    #[arg(long, value_name = "N", default_value_t = Options::default().batch, value_parser = crate::whole::<usize>(1..=1024))]
    batch: usize,
    /// Requests that may wait for a place in the batch
    #[arg(long, value_name = "N", default_value_t = Options::default().queue, value_parser = crate::whole::<usize>(0..=10_000))]
    queue: usize,
    /// The most tokens of an answer
    #[arg(long, value_name = "N", default_value_t = Options::default().tokens, value_parser = crate::whole::<usize>(1..=1_000_000))]
    tokens: usize,
    /// The most seconds of an answer, waiting included
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = crate::whole::<u64>(1..=86_400))]
    time: u64,
}

impl Serve {
    /// Serves until Ctrl-C.
    pub fn run(&self) -> Result<()> {
        let server = self.start(Path::new(RUNS))?;
        stop::watch()?;
        while !stop::asked() {
            thread::sleep(Duration::from_millis(50));
        }
        warn("ending; Ctrl-C again ends at once");
        drop(server);
        Ok(())
    }

    fn start(&self, runs: &Path) -> Result<Server> {
        let (decoder, tokenizer, from) = self.which.load(runs)?;
        let options = Options {
            http: lab::serve::Options {
                address: self.address,
                port: self.port,
                hosts: self.hosts.clone(),
                ..Options::default().http
            },
            batch: self.batch,
            queue: self.queue,
            tokens: self.tokens,
            time: Duration::from_secs(self.time),
        };
        let megabytes = decoder.bytes() as f64 / 1e6;
        let server = Server::start(decoder, tokenizer, options)?;
        let address = server.address();
        if !address.ip().is_loopback() {
            warn(format!("note: everyone who reaches {address} can use this server"));
        }
        say(&format!(
            "{} ({} MB of weights) is on http://{address}; Ctrl-C ends it",
            from.display(),
            plain(megabytes)
        ));
        Ok(server)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{generate::tests::runs, parsed};
    use lab::testing::{ask, rest};

    fn start(words: &[&str], runs: &Path) -> Result<Server> {
        parsed::<Serve>(words)?.start(runs)
    }

    #[test]
    fn the_latest_model_answers_on_this_machine_alone() {
        let runs = runs();
        let words = ["--port", "0", "--tokens", "8", "--host", "LM.example.org"];
        let server = start(&words, runs.path()).unwrap();
        assert!(server.address().ip().is_loopback());
        let body = r#"{"prompt": "fn"}"#;
        let asks = "POST /generate HTTP/1.1\r\nHost: lm.example.org\r\nContent-Length: 16\r\n\r\n";
        let answer = rest(ask(server.address(), asks.to_owned() + body));
        let answered = answer.starts_with("HTTP/1.1 200 OK\r\n");
        assert!(answered && answer.contains("\"tokens\":"), "{answer}");
    }

    #[test]
    fn errors_get_a_sentence() {
        let runs = runs();
        let fails = |words: &[&str], at: &Path| format!("{:#}", start(words, at).err().unwrap());
        assert!(fails(&["--port", "0"], Path::new("none")).contains("train --model gpt"));
        assert!(fails(&["--address", "here"], runs.path()).contains("here"));
        for (option, wrong, right) in [
            ("--port", "70000", "from 0 to 65535"),
            ("--host", "http://a.example", "a name alone"),
            ("--batch", "0", "from 1 to 1024"),
            ("--queue", "9223372036854775807", "from 0 to 10000"),
            ("--tokens", "0", "from 1 to 1000000"),
            ("--time", "18446744073709551615", "from 1 to 86400"),
        ] {
            let said = fails(&[option, wrong], runs.path());
            assert!(said.contains(right) && said.contains(option), "{said}");
        }
        let first = start(&["--port", "0"], runs.path()).unwrap();
        let port = first.address().port().to_string();
        assert!(fails(&["--port", &port], runs.path()).contains("--port"));
    }
}
