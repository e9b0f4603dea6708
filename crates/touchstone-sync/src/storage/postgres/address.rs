//! Where the database is, and how a connection to it is kept secret: a URL as PostgreSQL's own programs take it, of which TLS is
//! read here. `tokio-postgres` knows no certificates.

use anyhow::{Context, Result, bail};
use percent_encoding::percent_decode_str;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use std::path::Path;
use std::sync::Arc;
use tokio::task::JoinHandle;
use tokio_postgres::config::SslMode;
use tokio_postgres::{Client, Config, Error};
use tokio_postgres_rustls::MakeRustlsConnect;

/// What a connection is made of.
#[derive(Clone)]
pub(super) struct Address {
    pub(super) config: Config,
    pub(super) tls: MakeRustlsConnect,
}

impl Address {
    /// Reads a URL, with `sslmode` and `sslrootcert` of its query.
    ///
    /// # Errors
    /// When the URL makes no sense, or the root certificates cannot be read.
    pub(super) fn read(url: &str) -> Result<Address> {
        let (rest, asked) = Asked::of(url)?;
        let mut config: Config = rest.parse().context("the database's URL makes no sense")?;
        config.ssl_mode(asked.mode);
        let provider = Arc::new(ring::default_provider());
        let tls = ClientConfig::builder_with_provider(Arc::clone(&provider));
        let tls = tls.with_safe_default_protocol_versions()?;
        let tls = match &asked.roots {
            Some(path) => tls.with_root_certificates(roots(path)?),
            None => tls.dangerous().with_custom_certificate_verifier(Arc::new(Anybody(provider))),
        };
        let tls = tls.with_no_client_auth();
        Ok(Address { config, tls: MakeRustlsConnect::new(tls) })
    }

    /// A connection of its own, and the task that speaks for it.
    pub(super) async fn dial(&self) -> std::result::Result<(Client, JoinHandle<()>), Error> {
        let (client, connection) = self.config.connect(self.tls.clone()).await?;
        let speaking = tokio::spawn(async move {
            // Whoever waits for an answer is told too.
            let _ = connection.await;
        });
        Ok((client, speaking))
    }

    /// What to do about a database that cannot be reached.
    pub(super) fn advice(&self, error: &Error) -> &'static str {
        // The library tells a failed handshake by its words alone.
        if !error.to_string().contains("TLS") {
            return "the database cannot be reached";
        }
        "the database cannot be reached by TLS, which `sslmode` asks for: look at `ssl` of the server, at its certificate and at \
         `sslrootcert`"
    }
}

/// What a URL asks for of TLS.
struct Asked {
    mode: SslMode,
    /// A file of root certificates. With it the server's certificate and name are verified.
    roots: Option<String>,
}

impl Asked {
    /// Takes it out of a URL.
    fn of(url: &str) -> Result<(String, Asked)> {
        let (place, query) = url.split_once('?').unwrap_or((url, ""));
        let (mut mode, mut roots, mut rest) = ("prefer".to_owned(), None, Vec::new());
        for parameter in query.split('&').filter(|parameter| !parameter.is_empty()) {
            let (key, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            let value = percent_decode_str(value).decode_utf8().context("the URL is not UTF-8")?;
            match key {
                "sslmode" => mode = value.into_owned(),
                "sslrootcert" => roots = Some(value.into_owned()),
                _ => rest.push(parameter),
            }
        }
        let asked = Asked { mode: mode_of(&mode, roots.is_some())?, roots };
        let query = if rest.is_empty() { String::new() } else { format!("?{}", rest.join("&")) };
        Ok((format!("{place}{query}"), asked))
    }
}

fn mode_of(mode: &str, has_roots: bool) -> Result<SslMode> {
    match (mode, has_roots) {
        ("disable", false) => Ok(SslMode::Disable),
        ("prefer", false) => Ok(SslMode::Prefer),
        ("require", _) | ("verify-full", true) => Ok(SslMode::Require),
        ("verify-full", false) => bail!(
            "`sslmode=verify-full` verifies the server's certificate against those of `sslrootcert`: give the URL a file of PEM, such \
             as `&sslrootcert=/etc/ssl/certs/ca-certificates.crt`"
        ),
        ("disable" | "prefer", true) => bail!(
            "`sslmode={mode}` verifies nothing, and `sslrootcert` is for what is verified: ask with `sslmode=verify-full`"
        ),
        _ => bail!("`sslmode={mode}` is none of disable, prefer, require and verify-full"),
    }
}

fn roots(path: &str) -> Result<RootCertStore> {
    let unread = || format!("cannot read `sslrootcert`, {path}");
    let pem = std::fs::read(Path::new(path)).with_context(unread)?;
    let mut store = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(&pem) {
        store.add(certificate.with_context(unread)?).with_context(unread)?;
    }
    if store.is_empty() {
        bail!("`sslrootcert`, {path}, has no certificate in PEM");
    }
    Ok(store)
}

/// Believes every certificate, as `sslmode=require` without a root certificate does: an eavesdropper reads nothing, and an
/// impostor in the server's place everything.
#[derive(Debug)]
struct Anybody(Arc<CryptoProvider>);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> std::result::Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_url_asks_for_of_tls_is_taken_out_of_it() {
        let read = |url: &str| Asked::of(url).map(|(rest, asked)| (rest, asked.mode, asked.roots));
        let plain = read("postgres://ada@host/sync").unwrap();
        assert_eq!(plain, ("postgres://ada@host/sync".into(), SslMode::Prefer, None));
        let full = read("postgres://host/sync?sslrootcert=%2Fa%20b.pem&port=1&sslmode=verify-full").unwrap();
        assert_eq!(
            full,
            ("postgres://host/sync?port=1".into(), SslMode::Require, Some("/a b.pem".to_owned()))
        );
        for (query, words) in [
            ("sslmode=verify-full", "sslrootcert"),
            ("sslmode=verify-ca", "none of"),
            ("sslrootcert=/a.pem", "verify-full"),
        ] {
            let refused = read(&format!("postgres://host/sync?{query}")).unwrap_err().to_string();
            assert!(refused.contains(words), "{query}: {refused}");
        }
    }
}
