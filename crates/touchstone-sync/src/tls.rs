//! TLS by the service itself, where the program is built with it.

#[cfg(feature = "tls")]
pub use with::Tls;
#[cfg(not(feature = "tls"))]
pub use without::Tls;

#[cfg(feature = "tls")]
mod with {
    use crate::connection::Plain;
    use anyhow::{Context, Result};
    use axum_server::Server;
    use axum_server::tls_rustls::{RustlsAcceptor, RustlsConfig, from_tcp_rustls};
    use std::net::{SocketAddr, TcpListener};
    use std::path::Path;

    /// A certificate and its key, by which the service speaks TLS.
    #[derive(Clone, Debug)]
    pub struct Tls {
        config: RustlsConfig,
    }

    impl Tls {
        /// Reads the certificate, with those between it and its root, and its private key, both in PEM.
        ///
        /// # Errors
        /// When a file cannot be read, or is none of these.
        pub async fn read(certificate: &Path, key: &Path) -> Result<Tls> {
            let _ = rustls::crypto::ring::default_provider().install_default();
            let config = RustlsConfig::from_pem_file(certificate, key).await.with_context(|| {
                format!("cannot read the certificate {} and its key {}", certificate.display(), key.display())
            })?;
            Ok(Tls { config })
        }

        /// A server on a socket that listens.
        pub(crate) fn server(
            self,
            listening: TcpListener,
        ) -> Result<Server<SocketAddr, RustlsAcceptor<Plain>>> {
            Ok(from_tcp_rustls(listening, self.config)?.map(|tls| tls.acceptor(Plain)))
        }
    }
}

#[cfg(not(feature = "tls"))]
mod without {
    use crate::connection::MayLeave;
    use anyhow::{Result, bail};
    use axum_server::Server;
    use std::net::{SocketAddr, TcpListener};
    use std::path::Path;

    /// A certificate and its key: this program has none, for it is built without TLS.
    #[derive(Clone, Debug)]
    pub enum Tls {}

    impl Tls {
        /// Says that the program is built without TLS.
        ///
        /// # Errors
        /// Always.
        pub async fn read(_: &Path, _: &Path) -> Result<Tls> {
            bail!("this program was built without TLS: `make sync` builds one with it")
        }

        pub(crate) fn server(self, _: TcpListener) -> Result<Server<SocketAddr, MayLeave>> {
            match self {}
        }
    }
}
