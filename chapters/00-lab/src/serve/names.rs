//! The names by which a server may be called.
//!
//! A page elsewhere may point its own name at this machine, and a browser then takes the server for a part of that page
//! (*DNS rebinding*). So a request has to call the server by an address, `localhost`, or a name that its owner has given.
//! Addresses are safe, since no one else can point them: Vite's server has the same rule
//! (<https://vite.dev/config/server-options#server-allowedhosts>).

use super::{
    Options,
    request::{Refused, Request},
};
use std::net::IpAddr;

/// What `--host` takes: a name alone, in any case.
///
/// # Errors
/// A sentence on what it is instead.
pub fn host_name(text: &str) -> Result<String, String> {
    let sound = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if text.is_empty() || !text.chars().all(sound) {
        return Err("it must be a name alone, such as book.example.org".to_owned());
    }
    Ok(text.trim_end_matches('.').to_ascii_lowercase())
}

impl Options {
    /// Whether a request calls the server by one of its names, and comes from no other site's page.
    pub(super) fn check(&self, request: &Request) -> Result<(), Refused> {
        let host = request.host.as_deref().unwrap_or_default().to_ascii_lowercase();
        let name = name_of(&host);
        let number = name.trim_matches(['[', ']']).parse::<IpAddr>().is_ok();
        if !number && !matches!(name, "" | "localhost") && !self.has(name) {
            let why = format!(
                "this server is {}, not {name}; start it with --host {name} if it may be called so",
                self.address
            );
            return Err(Refused::new("421 Misdirected Request", why));
        }
        let Some(origin) = &request.origin else { return Ok(()) };
        let origin = origin.to_ascii_lowercase();
        let site = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        match site {
            // A proxy may call the server by another name than the page that it shows.
            Some(site) if site == host || self.has(name_of(site)) => Ok(()),
            _ => Err(Refused::new("403 Forbidden", "another site's page may not use this server")),
        }
    }

    fn has(&self, name: &str) -> bool {
        self.hosts.iter().any(|host| host == name)
    }
}

/// `a.example` of `a.example.:80`, `[::1]` of `[::1]:80`.
fn name_of(host: &str) -> &str {
    let name = match host.find(']') {
        Some(end) => &host[..=end],
        None => host.split(':').next().unwrap_or_default(),
    };
    name.strip_suffix('.').unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_called_by_its_address_and_its_names_alone() {
        let hosts = vec![host_name("Book.Example.org.").unwrap()];
        let names = Options { hosts, ..Options::default() };
        for (host, origin, wanted) in [
            ("", "", 0),
            ("localhost", "", 0),
            ("LOCALHOST.:3000", "http://localhost.:3000", 0),
            ("127.0.0.2:1", "http://127.0.0.2:1", 0),
            ("[::1]:80", "http://[::1]:80", 0),
            ("book.example.org", "https://book.example.org", 0),
            ("127.0.0.1:8000", "HTTPS://BOOK.example.org:444", 0),
            ("evil.example", "", 421),
            ("evil.example:80", "http://evil.example:80", 421),
            ("127.0.0.1.evil.example", "", 421),
            ("[evil.example]", "", 421),
            ("localhost", "null", 403),
            ("localhost", "http://evil.example", 403),
            ("localhost:1", "http://localhost:2", 403),
        ] {
            let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
            let request = Request { host: text(host), origin: text(origin), ..Request::default() };
            let got = names.check(&request).map_or_else(|refused| refused.status, |()| "0");
            assert!(got.starts_with(&wanted.to_string()), "{host} from {origin}: {got}");
        }
        let request = Request { host: Some("a.example:1".to_owned()), ..Request::default() };
        let why = names.check(&request).unwrap_err().why;
        let said = "this server is 127.0.0.1, not a.example; start it with --host a.example";
        assert!(why.starts_with(said), "{why}");
    }

    #[test]
    fn a_host_is_a_name_alone() {
        for wrong in ["", "http://a.example", "a.example:80", "a b", "*", "[::1]"] {
            assert!(host_name(wrong).unwrap_err().contains("book.example.org"), "{wrong}");
        }
    }
}
