//! The service of `fixed`, by hyper: HTTP/1.1 or HTTP/2, with TLS where a file is named that its certificate is written to. What the engine
//! for these is measured on; the service itself costs more than the generator.
//!
//! `cargo run --release --example fixed_hyper -- 127.0.0.1:8443 2 ca.pem`

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use std::convert::Infallible;
use std::error::Error;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

const BODY: &str = r#"{"id":"00000000-0000-4000-8000-000000000000","text":"a hundred bytes, as a small document has","n":1}"#;

fn main() -> Result<(), Box<dyn Error>> {
    let mut said = std::env::args().skip(1);
    let address = said.next().unwrap_or_else(|| "127.0.0.1:8443".into());
    let is_second = said.next().is_some_and(|version| version == "2");
    let tls = said.next().map(|file| tls(&address, &file, is_second)).transpose()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind(&address).await?;
        println!("answering on {address}");
        loop {
            let (stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            let tls = tls.clone();
            tokio::spawn(async move {
                match tls {
                    None => serve(stream, is_second).await,
                    Some(tls) => {
                        if let Ok(stream) = tls.accept(stream).await {
                            serve(stream, is_second).await;
                        }
                    }
                }
            });
        }
    })
}

fn tls(address: &str, file: &str, is_second: bool) -> Result<TlsAcceptor, Box<dyn Error>> {
    let name = address.rsplit_once(':').map_or(address, |(name, _)| name);
    let made = rcgen::generate_simple_self_signed(vec![name.to_owned()])?;
    std::fs::write(file, made.cert.pem())?;
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der())?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)?;
    config.alpn_protocols = vec![if is_second { b"h2".to_vec() } else { b"http/1.1".to_vec() }];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

async fn serve(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, is_second: bool) {
    let service = service_fn(|_: Request<Incoming>| async {
        Ok::<_, Infallible>(Response::new(Full::new(Bytes::from_static(BODY.as_bytes()))))
    });
    let stream = TokioIo::new(stream);
    // What goes wrong is told by those who asked.
    let _ = if is_second {
        http2::Builder::new(TokioExecutor::new()).serve_connection(stream, service).await
    } else {
        http1::Builder::new().serve_connection(stream, service).await
    };
}
