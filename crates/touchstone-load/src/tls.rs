//! TLS: whose certificates are trusted, and what is told where they are not.

use crate::error::{Error, Result};
use crate::scenario::{Http, Load};
use crate::target::Target;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use std::path::Path;
use std::sync::Arc;

/// Whose certificates are trusted.
#[derive(Clone, Debug)]
pub enum Trust {
    /// Nobody's, for TLS is not spoken.
    Plain,
    /// Anybody's.
    All,
    /// Those that these authorities have signed.
    Authorities(Arc<RootCertStore>),
}

impl Trust {
    /// As a scenario says. Reads the file of authorities, where it names one.
    ///
    /// # Errors
    /// When that file is not there, or holds no certificate.
    pub fn of(load: &Load, target: &Target) -> Result<Trust> {
        if !target.is_secure {
            if load.ca.is_some() || load.insecure {
                let message = "`ca` and `insecure` are about certificates, and a host of http:// has none: \
                               say https://, or leave them out";
                return Err(Error::input(message));
            }
            return Ok(Trust::Plain);
        }
        match &load.ca {
            _ if load.insecure => Ok(Trust::All),
            Some(file) => authorities(file).map(|roots| Trust::Authorities(Arc::new(roots))),
            None => {
                let roots = webpki_roots::TLS_SERVER_ROOTS.iter().cloned().collect();
                Ok(Trust::Authorities(Arc::new(roots)))
            }
        }
    }

    /// How TLS is spoken: HTTP's version is the only one that is offered.
    pub fn config(&self, http: Http) -> ClientConfig {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .expect("ring has what TLS 1.2 and 1.3 need");
        let mut config = match self {
            Trust::Authorities(roots) => {
                builder.with_root_certificates(Arc::clone(roots)).with_no_client_auth()
            }
            Trust::All | Trust::Plain => builder
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(Anybody(provider)))
                .with_no_client_auth(),
        };
        config.alpn_protocols = vec![protocol(http).to_vec()];
        config
    }
}

/// A version of HTTP, as TLS names it.
pub fn protocol(http: Http) -> &'static [u8] {
    match http {
        Http::One => b"http/1.1",
        Http::Two => b"h2",
    }
}

/// The name that the service's certificate must have.
///
/// # Errors
/// When the host's is none.
pub fn server_name(target: &Target) -> Result<ServerName<'static>> {
    ServerName::try_from(target.name.clone())
        .map_err(|_| Error::input(format!("`{}` is no name that a certificate could have", target.name)))
}

fn authorities(file: &Path) -> Result<RootCertStore> {
    let place = file.display();
    let read = std::fs::read(file).map_err(|error| {
        Error::input(format!("{place} cannot be read: {error} (`ca` names a file of certificates)"))
    })?;
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(&read) {
        let added = certificate.map_err(|error| error.to_string());
        added
            .and_then(|certificate| roots.add(certificate).map_err(|error| error.to_string()))
            .map_err(|why| Error::input(format!("{place}: a certificate in it is none: {why}")))?;
    }
    if roots.is_empty() {
        return Err(Error::input(format!("{place}: there is no certificate in it; PEM is what is read")));
    }
    Ok(roots)
}

/// Why there is no TLS, with the remedy where there is one.
pub fn why(error: &std::io::Error, http: Http) -> String {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    let Some(error) = inner else {
        return match error.kind() {
            std::io::ErrorKind::UnexpectedEof | std::io::ErrorKind::ConnectionReset => {
                "the service closed the connection in the middle of the handshake (does it speak TLS there?)"
                    .into()
            }
            std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut => {
                "the handshake is not answered (does the service speak TLS there?)".into()
            }
            _ => error.to_string(),
        };
    };
    match error {
        rustls::Error::InvalidCertificate(wrong) => format!("{} ({REMEDY})", certificate(wrong)),
        rustls::Error::InvalidMessage(_) => {
            "what is answered is not TLS (say http:// for a service without it)".into()
        }
        rustls::Error::AlertReceived(rustls::AlertDescription::NoApplicationProtocol) => match http {
            Http::One => "the service does not speak HTTP/1.1 over TLS (for HTTP/2 add --http2)".into(),
            Http::Two => NO_HTTP2.into(),
        },
        other => other.to_string(),
    }
}

/// What is told of a service that agrees on no HTTP/2.
pub const NO_HTTP2: &str =
    "the service does not speak HTTP/2 over TLS (for HTTP/1.1 leave out `http = 2` and --http2)";

const REMEDY: &str = "give the authority that signed it with --ca FILE, or take any with --insecure";

fn certificate(wrong: &CertificateError) -> String {
    match wrong {
        CertificateError::UnknownIssuer => {
            "the service's certificate is signed by nobody who is trusted".into()
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "the service's certificate is for another name".into()
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "the service's certificate has expired".into()
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "the service's certificate is not valid yet".into()
        }
        other => format!("the service's certificate is wrong: {other}"),
    }
}

/// Takes any certificate. That the service has its key is seen to all the same.
#[derive(Debug)]
struct Anybody(Arc<CryptoProvider>);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _certificate: &CertificateDer<'_>,
        _others: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> std::result::Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
