//! A service that speaks TLS, with a certificate of no public authority: its clients trust it where they are told to.

mod support;

use rcgen::{CertificateParams, KeyPair};
use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use support::quick;
use tempfile::TempDir;
use tokio::runtime::Runtime;
use touchstone_store::Store;
use touchstone_sync::http::App;
use touchstone_sync::identity::Tokens;
use touchstone_sync::limits::Limits;
use touchstone_sync::serve::{Signals, serve};
use touchstone_sync::storage::Storage;
use touchstone_sync::storage::embedded::Embedded;
use touchstone_sync::tls::Tls;
use touchstone_sync::token::Token;
use touchstone_sync_client::{ErrorKind, Options, Replica, Service};

/// A service with the certificate and the key of its folder, until it is dropped.
struct Secured {
    _runtime: Runtime,
    address: String,
    token: String,
    folder: TempDir,
}

impl Secured {
    /// One that has what `certify` writes into its folder.
    fn start(certify: impl FnOnce(&Path)) -> Secured {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let folder = tempfile::tempdir().unwrap();
        certify(folder.path());
        let store = Store::open(folder.path().join("service.db")).unwrap();
        let storage: Arc<dyn Storage> = runtime.block_on(async { Arc::new(Embedded::new(store).unwrap()) });
        let token = Token::make().unwrap();
        runtime.block_on(async {
            let ada = storage.user("ada").await.unwrap();
            storage.keep_token(ada, &token.hash(), 0, None).await.unwrap();
        });
        let app = App::new(Arc::clone(&storage), Arc::new(Tokens::of(storage)), Limits::default());
        let listening = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("https://{}", listening.local_addr().unwrap());
        let [certificate, key] = ["certificate.pem", "key.pem"].map(|name| folder.path().join(name));
        let tls = runtime.block_on(Tls::read(&certificate, &key)).unwrap();
        runtime.spawn(async move { serve(app, listening, Some(tls), Signals::catch()?).await });
        Secured { _runtime: runtime, address, token: token.reveal().to_owned(), folder }
    }

    fn service(&self) -> Service {
        Service::new(&self.address, &self.token)
    }

    fn certificate(&self) -> Vec<u8> {
        fs::read(self.folder.path().join("certificate.pem")).unwrap()
    }

    fn open(&self, service: Service, name: &str) -> touchstone_sync_client::Result<Replica> {
        Options::new(service).retry(quick(1)).open(self.folder.path().join(name))
    }
}

/// A certificate of this machine's own address that has signed itself, and its key.
fn self_signed(folder: &Path) {
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(["127.0.0.1".to_owned()]).unwrap().self_signed(&key).unwrap();
    fs::write(folder.join("certificate.pem"), certificate.pem()).unwrap();
    fs::write(folder.join("key.pem"), key.serialize_pem()).unwrap();
}

#[test]
fn a_certificate_of_no_public_authority_is_taken_where_it_is_trusted() {
    let secured = Secured::start(self_signed);
    let replica = secured.open(secured.service().trusting(secured.certificate()), "phone.db").unwrap();
    replica.put("a", "1").unwrap();
    assert_eq!(replica.sync().unwrap().sent, 1);
    let other = Secured::start(self_signed);
    let strangers =
        [(secured.service(), "public"), (secured.service().trusting(other.certificate()), "other")];
    for (service, name) in strangers {
        let error = secured.open(service, name).unwrap().sync().unwrap_err();
        assert!(error.kind() == ErrorKind::Away && error.passes(), "{error}");
        assert!(error.to_string().contains("has to be trusted by the program"), "{error}");
    }
}

#[test]
fn what_is_no_certificate_is_told_when_the_copy_is_opened() {
    let secured = Secured::start(self_signed);
    let key = fs::read(secured.folder.path().join("key.pem")).unwrap();
    let broken = b"-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n".to_vec();
    for (given, words) in
        [(vec![], "there is no certificate"), (key, "there is no certificate"), (broken, "cannot be read")]
    {
        let error = secured.open(secured.service().trusting(given), "never.db").unwrap_err();
        assert!(error.kind() == ErrorKind::Setting && error.to_string().contains(words), "{error}");
    }
    assert!(!secured.folder.path().join("never.db").exists());
}

/// The page's own command, with this machine's name and address in the place of the page's.
#[test]
fn the_page_says_how_a_certificate_is_made_that_clients_take() {
    if Command::new("openssl").arg("version").output().is_err() {
        eprintln!("not tested: openssl is not installed");
        return;
    }
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/deploy-sync.md");
    let page = fs::read_to_string(page).unwrap();
    let command = page.split("```text\n").find(|block| block.starts_with("openssl ")).expect("it is there");
    let command = command.split("```").next().unwrap();
    let command = command.replace("sync.home.arpa", "localhost").replace("192.168.1.2", "127.0.0.1");
    let secured = Secured::start(|folder| {
        let run = Command::new("bash").args(["-e", "-c", &command]).current_dir(folder).output().unwrap();
        assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    });
    let replica = secured.open(secured.service().trusting(secured.certificate()), "phone.db").unwrap();
    replica.sync().unwrap();
}
