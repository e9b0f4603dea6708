//! A certificate that is made when a test needs it, and its file.

use rcgen::{CertificateParams, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::path::PathBuf;
use std::sync::Arc;
use tempfile::TempDir;

/// A certificate that has signed itself, with its key.
pub struct Certificate {
    certificate: CertificateDer<'static>,
    key: PrivateKeyDer<'static>,
    folder: TempDir,
}

impl Certificate {
    /// For the address at which services are.
    pub fn usual() -> Certificate {
        Certificate::of("127.0.0.1", false)
    }

    /// For a name. It may have expired.
    pub fn of(name: &str, has_expired: bool) -> Certificate {
        let mut params = CertificateParams::new(vec![name.to_owned()]).expect("it is a name");
        if has_expired {
            params.not_after = rcgen::date_time_ymd(2001, 1, 1);
            params.not_before = rcgen::date_time_ymd(2000, 1, 1);
        }
        let key = KeyPair::generate().expect("ring makes keys");
        let made = params.self_signed(&key).expect("it can be signed");
        let folder = tempfile::tempdir().expect("there is room");
        std::fs::write(folder.path().join("ca.pem"), made.pem()).expect("there is room");
        let key = PrivateKeyDer::try_from(key.serialize_der()).expect("it was just made");
        Certificate { certificate: made.der().clone(), key, folder }
    }

    /// Its file, as long as it is there itself.
    pub fn file(&self) -> PathBuf {
        self.folder.path().join("ca.pem")
    }

    /// How a service speaks TLS with it.
    pub fn config(&self, protocol: &str) -> Arc<ServerConfig> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("ring has what TLS needs")
            .with_no_client_auth()
            .with_single_cert(vec![self.certificate.clone()], self.key.clone_key())
            .expect("the key is the certificate's");
        config.alpn_protocols = vec![protocol.as_bytes().to_vec()];
        Arc::new(config)
    }
}
