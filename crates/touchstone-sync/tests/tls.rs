//! TLS between the service and PostgreSQL, with an authority of the test's own.

mod cluster;
mod places;
mod support;

use cluster::Cluster;
use cluster::installed::give;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use serde_json::json;
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use support::{Service, program, token};

/// Who may come: by a socket whoever does, and by the network with TLS and a password alone.
const WHO: &str = "local all all trust\nhostssl all all 127.0.0.1/32 scram-sha-256\nhostssl all all ::1/128 scram-sha-256\n";

fn authority() -> CertifiedIssuer<'static, KeyPair> {
    let mut authority = CertificateParams::default();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(authority, KeyPair::generate().unwrap()).unwrap()
}

/// A certificate of the name `localhost`, and its key, as the server wants them.
fn certificate(data: &Path, authority: &CertifiedIssuer<'_, KeyPair>) {
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(["localhost".to_owned()]).unwrap();
    let certificate = certificate.signed_by(&key, authority).unwrap();
    for (name, text) in [("server.crt", certificate.pem()), ("server.key", key.serialize_pem())] {
        let path = data.join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        give(&path).unwrap();
    }
    fs::write(data.join("pg_hba.conf"), WHO).unwrap();
}

#[test]
fn the_service_speaks_tls_with_a_server_whose_certificate_it_verifies() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let [known, other] = [authority(), authority()];
    let started = Cluster::with(port, |data| {
        certificate(data, &known);
        ["ssl=on", "listen_addresses=localhost"].map(str::to_owned).to_vec()
    });
    let Some(cluster) = started else { return };
    let (database, _) = cluster.database();
    cluster.print("psql", &["-c", "alter user sync password 'sea shell'", "postgres"]);
    let folder = tempfile::tempdir().unwrap();
    let roots = [("known.pem", &known), ("other.pem", &other)].map(|(name, authority)| {
        let path = folder.path().join(name);
        fs::write(&path, authority.pem()).unwrap();
        path.to_str().unwrap().to_owned()
    });
    let url = |host: &str, password: &str, query: &str| {
        format!("postgres://sync:{password}@{host}:{port}/{database}?{query}")
    };
    let [known, other] = roots.map(|path| format!("sslmode=verify-full&sslrootcert={path}"));
    for query in [&format!("{known}&channel_binding=require"), "sslmode=require", "sslmode=prefer", ""] {
        let store = url("localhost", "sea%20shell", query);
        let service = Service::start(Path::new(&store), &[]);
        assert!(!service.said.contains("shell"), "{}", service.said);
        let phone = service.device(&token(Path::new(&store), "ada"), "phone");
        assert_eq!(phone.post("/v1/sync/delta", &json!({"changes": [{"id": "a", "data": "1"}]})).0, 200);
    }
    for (store, words) in [
        (url("localhost", "sea%20shell", &other), "invalid peer certificate"),
        (url("127.0.0.1", "sea%20shell", &known), "not valid for name"),
        (url("localhost", "sea%20shell", "sslmode=disable"), "no encryption"),
        (url("localhost", "sea%20shell", "sslmode=verify-full"), "`sslmode=verify-full` verifies"),
        (url("localhost", "sea%20shell", "sslmode=always"), "`sslmode=always` is none of"),
        (
            url("localhost", "sea%20shell", "sslmode=require&sslrootcert=/nowhere.pem"),
            "cannot read `sslrootcert`, /nowhere.pem",
        ),
        (url("localhost", "shell", &known), "password authentication failed"),
    ] {
        refused(&store, words);
    }
}

#[test]
fn a_server_without_tls_is_told_of_where_tls_is_asked_for() {
    let Some(cluster) = cluster::shared() else { return };
    let (_, url) = cluster.database();
    refused(&format!("{url}?sslmode=require"), "by TLS, which `sslmode` asks for");
    refused(&format!("{url}?sslmode=require"), "server does not support TLS");
}

/// The service does not begin, says why, and tells no password.
fn refused(store: &str, words: &str) {
    let ended = program().args(["serve", "--listen", "127.0.0.1:0", "--store", store]).output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(said.contains(words) && !said.contains("panicked"), "{store}: {said}");
    assert!(!said.contains("shell") && !ended.status.success(), "{store}: {said}");
}
