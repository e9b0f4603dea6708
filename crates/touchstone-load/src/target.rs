//! Where a service is: what stands in a scenario as `host`.

use crate::error::{Error, Result};
use std::net::{SocketAddr, ToSocketAddrs};

/// A service's place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Whether TLS is spoken.
    pub is_secure: bool,
    /// The name or the address, and the port where it is not the usual one: what goes into `Host`.
    pub authority: String,
    /// The name or the address alone.
    pub name: String,
    /// The port.
    pub port: u16,
    /// Its addresses, once it is resolved.
    pub addresses: Vec<SocketAddr>,
}

impl Target {
    /// Reads `http://host:port`.
    ///
    /// # Errors
    /// When it is no such text.
    pub fn of(host: &str) -> Result<Target> {
        let wrong =
            |why: &str| Error::input(format!("the host `{host}` {why}: write it as http://127.0.0.1:8000"));
        let (is_secure, rest) = match host.split_once("://") {
            Some(("http", rest)) => (false, rest),
            Some(("https", rest)) => (true, rest),
            _ => return Err(wrong("names no protocol")),
        };
        let authority = rest.trim_end_matches('/');
        if authority.is_empty() || authority.contains(|c: char| "/?#@ ".contains(c) || c.is_control()) {
            return Err(wrong("is not only a name and a port"));
        }
        let usual = if is_secure { 443 } else { 80 };
        let is_address_alone = authority.starts_with('[') && authority.ends_with(']');
        let (name, port) = match authority.rsplit_once(':') {
            Some((name, port)) if !is_address_alone => {
                (name, port.parse().map_err(|_| wrong("has a port that is none"))?)
            }
            _ => (authority, usual),
        };
        let name = name.trim_start_matches('[').trim_end_matches(']').to_owned();
        Ok(Target { is_secure, authority: authority.to_owned(), name, port, addresses: Vec::new() })
    }

    /// Looks its addresses up.
    ///
    /// # Errors
    /// When it has none.
    pub fn resolve(mut self) -> Result<Target> {
        let found = (self.name.as_str(), self.port).to_socket_addrs();
        let found =
            found.map_err(|error| Error::unavailable(format!("`{}` has no address: {error}", self.name)))?;
        self.addresses = found.collect();
        if self.addresses.is_empty() {
            return Err(Error::unavailable(format!("`{}` has no address", self.name)));
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_a_protocol_a_name_and_a_port() {
        for (text, expected) in [
            ("http://127.0.0.1:8000", Some((false, "127.0.0.1", 8000))),
            ("http://localhost/", Some((false, "localhost", 80))),
            ("https://[::1]:8443", Some((true, "::1", 8443))),
            ("https://[::1]", Some((true, "::1", 443))),
            ("127.0.0.1:8000", None),
            ("ftp://a", None),
            ("http://", None),
            ("http://a/b", None),
            ("http://a:b", None),
            ("http://user@a", None),
            ("http://a\r\nb:80", None),
        ] {
            let found = Target::of(text).ok();
            let found = found.as_ref().map(|target| (target.is_secure, target.name.as_str(), target.port));
            assert_eq!(found, expected, "{text}");
        }
    }
}
