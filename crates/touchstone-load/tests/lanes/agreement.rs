//! What must be agreed on before the first request: the version of HTTP, TLS, and whose certificate is trusted. What is wrong with it is
//! told in one sentence, before the run, with the remedy.

use crate::service::{Certificate, Service, Speaks, answer, start_as, start_with};
use std::io::Write;
use std::net::TcpListener;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use touchstone_load::error::ErrorKind;
use touchstone_load::failure::Failure;
use touchstone_load::outcome::Outcome;
use touchstone_load::plan::Plan;
use touchstone_load::report::summary;
use touchstone_load::run::run;
use touchstone_load::scenario::{Http, Scenario};
use touchstone_load::schedule::Share;

fn scenario(service: &Service) -> Scenario {
    let text = format!(
        "name = \"test\"\nhost = \"{}\"\n[load]\ntimeout = \"300ms\"\n[[phase]]\nlength = \"100ms\"\nrate = 100\n\
         [[request]]\nname = \"ask\"\npath = \"/ask\"\n",
        service.host
    );
    let mut scenario = Scenario::parse(&text, "test.toml").expect("it is one");
    service.agree(&mut scenario);
    scenario
}

fn played(scenario: Scenario) -> Result<Outcome, (ErrorKind, String)> {
    let told = |error: touchstone_load::Error| (error.kind(), error.to_string());
    let plan = Plan::new(scenario, Share::WHOLE).map_err(told)?;
    run(&plan, &AtomicBool::new(false), |_| {}).map_err(told)
}

/// A summary, on one line.
fn words(outcome: &Outcome) -> String {
    summary(outcome, 100).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What is told of a run that cannot begin.
fn refused(scenario: Scenario) -> String {
    let (kind, told) = played(scenario).expect_err("it cannot begin");
    assert_eq!(kind, ErrorKind::Unavailable, "{told}");
    assert!(!told.contains('\n') && !told.ends_with('.'), "{told}");
    told
}

#[test]
fn the_engine_and_the_protocol_are_told() {
    for (speaks, expected) in Speaks::ALL.into_iter().zip([
        "own, HTTP/1.1",
        "hyper, HTTP/1.1 over TLS",
        "hyper, HTTP/2",
        "hyper, HTTP/2 over TLS",
    ]) {
        let service = start_as(speaks, |_| answer("fine"));
        let outcome = played(scenario(&service)).expect("it runs");
        assert_eq!((outcome.engine.as_str(), outcome.total().failed()), (expected, 0));
        assert!(words(&outcome).contains(&format!("Generator: {expected};")), "{expected}");
    }
}

#[test]
fn a_certificate_that_nobody_trusts_is_told_with_the_remedy() {
    for speaks in [Speaks::Tls, Speaks::SecondTls] {
        let service = start_as(speaks, |_| answer("fine"));
        let mut unknown = scenario(&service);
        unknown.load.ca = None;
        let told = refused(unknown.clone());
        assert!(told.contains("signed by nobody who is trusted") && told.contains("--ca"), "{told}");
        assert!(told.contains("--insecure") && told.contains(&service.host), "{told}");
        unknown.load.insecure = true;
        let outcome = played(unknown).expect("any certificate is taken");
        assert_eq!((outcome.total().ended(), outcome.total().failed()), (10, 0));
        assert!(words(&outcome).contains("Any certificate was taken for the service's"));
    }
}

#[test]
fn a_certificate_for_another_name_or_of_another_time_is_told() {
    for (name, has_expired, expected) in
        [("elsewhere.example", false, "for another name"), ("127.0.0.1", true, "has expired")]
    {
        let certificate = Certificate::of(name, has_expired);
        let service = start_with(Speaks::Tls, Some(certificate), |_| answer("fine"));
        let told = refused(scenario(&service));
        assert!(told.contains(expected) && told.contains("--insecure"), "{told}");
    }
}

#[test]
fn a_protocol_that_the_service_does_not_speak_is_told() {
    for (speaks, asked, expected) in [
        (Speaks::Plain, Speaks::Tls, "what is answered is not TLS (say http://"),
        (Speaks::Plain, Speaks::Second, "does not speak HTTP/2 without TLS"),
        (Speaks::Tls, Speaks::SecondTls, "does not speak HTTP/2 over TLS (for HTTP/1.1 leave out"),
        (Speaks::SecondTls, Speaks::Tls, "does not speak HTTP/1.1 over TLS (for HTTP/2 add --http2)"),
        (Speaks::Tls, Speaks::Second, "does not speak HTTP/2 without TLS"),
    ] {
        // The one that speaks plain HTTP says so at the first line, whatever that is.
        let service = if asked == Speaks::Tls && speaks == Speaks::Plain {
            plain_whatever_comes()
        } else {
            start_as(speaks, |_| answer("fine"))
        };
        let mut scenario = scenario(&service);
        scenario.load.http = if asked.is_second() { Http::Two } else { Http::One };
        let (_, rest) = service.host.split_once("://").expect("it is a host");
        let is_secure = matches!(asked, Speaks::Tls | Speaks::SecondTls);
        scenario.host = format!("{}://{rest}", if is_secure { "https" } else { "http" });
        scenario.load.ca = service.ca().filter(|_| is_secure);
        let told = refused(scenario);
        assert!(told.contains(expected), "{asked:?} of {speaks:?}: {told}");
    }
}

/// A service that answers every connection with a complaint in HTTP/1.1.
fn plain_whatever_comes() -> Service {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let service =
        Service::of(format!("http://{}", listener.local_addr().expect("it is bound")), Speaks::Plain);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let mut asked = [0; 1024];
                let _ = std::io::Read::read(&mut stream, &mut asked);
                let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
                // It closes its end only when the other has: an end that comes first could hide what was said.
                let _ = std::io::copy(&mut stream, &mut std::io::sink());
            });
        }
    });
    service
}

/// In plain HTTP/1.1 nothing is agreed on: the first requests find out.
#[test]
fn plain_requests_to_a_port_with_tls_are_told_what_it_speaks() {
    let service = start_as(Speaks::Tls, |_| answer("fine"));
    let mut scenario = scenario(&service);
    scenario.host = service.host.replace("https", "http");
    scenario.load.ca = None;
    let outcome = played(scenario).expect("it runs");
    let all = outcome.total();
    let wrong = all.first_wrong.get(&Failure::Malformed).map_or("", String::as_str);
    assert_eq!((all.ended(), all.failed()), (10, 10));
    assert!(wrong.contains("speaks TLS") && wrong.contains("https://"), "{:?}", all.first_wrong);
}

/// A service whose certificate is asked for in vain after the first connection.
#[test]
fn tls_that_fails_later_is_a_failure_to_connect() {
    let certificate = Certificate::usual();
    let config = certificate.config("http/1.1");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it is bound");
    std::thread::spawn(move || {
        for (number, mut stream) in listener.incoming().flatten().enumerate() {
            let config = Arc::clone(&config);
            std::thread::spawn(move || {
                if number == 0 {
                    let mut tls = rustls::ServerConnection::new(config).expect("it is configured");
                    while tls.is_handshaking() && tls.complete_io(&mut stream).is_ok() {}
                } else {
                    let _ = stream.write_all(b"no TLS today\r\n");
                }
                let _ = std::io::copy(&mut stream, &mut std::io::sink());
            });
        }
    });
    let mut scenario = scenario(&Service::of(format!("https://{address}"), Speaks::Tls));
    scenario.load.ca = Some(certificate.file());
    let all = played(scenario).expect("it runs").total();
    assert_eq!(all.failures, [(Failure::Connect, 10)].into());
    let wrong = &all.first_wrong[&Failure::Connect];
    assert!(wrong.contains("no TLS") && wrong.contains("not TLS"), "{wrong}");
}

#[test]
fn authorities_are_read_from_a_file_or_it_is_said_why_not() {
    let folder = tempfile::tempdir().expect("there is room");
    let service = start_as(Speaks::Tls, |_| answer("fine"));
    let empty = folder.path().join("empty.pem");
    std::fs::write(&empty, "nothing\n").expect("there is room");
    for (file, expected) in
        [(folder.path().join("missing.pem"), "cannot be read"), (empty, "there is no certificate in it")]
    {
        let mut scenario = scenario(&service);
        scenario.load.ca = Some(file);
        let (kind, told) = played(scenario).expect_err("it cannot be used");
        assert_eq!(kind, ErrorKind::Input);
        assert!(told.contains(expected), "{told}");
    }
    let plain = start_as(Speaks::Plain, |_| answer("fine"));
    let mut scenario = scenario(&plain);
    scenario.load.insecure = true;
    let (kind, told) = played(scenario).expect_err("there is nothing that could be insecure");
    assert!(kind == ErrorKind::Input && told.contains("https://"), "{told}");
}

#[test]
fn the_command_says_so_with_its_status() {
    let service = start_as(Speaks::SecondTls, |_| answer("fine"));
    let ca = service.ca().expect("it has a certificate");
    let ca = ca.to_str().expect("its path is a text");
    let asked = |more: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_touchstone-load"));
        command.args([service.host.as_str(), "--rate", "50", "--for", "200ms", "--http2"]).args(more);
        let output = command.output().expect("it can be started");
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8_lossy(&text).split_whitespace().collect::<Vec<_>>().join(" ");
        (output.status.code(), text)
    };
    let (status, told) = asked(&[]);
    assert_eq!(status, Some(69), "{told}");
    assert_eq!(told.matches("--insecure").count(), 1, "{told}");
    for more in [&["--insecure"][..], &["--ca", ca]] {
        let (status, told) = asked(more);
        // A busy machine makes the result invalid, which is 3.
        assert!(matches!(status, Some(0 | 3)), "{status:?}: {told}");
        assert!(told.contains("hyper, HTTP/2 over TLS"), "{told}");
        assert_eq!(told.contains("Any certificate"), more[0] == "--insecure", "{told}");
    }
}
