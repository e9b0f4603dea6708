//! A whole page, and what holds for every page.

use crate::doctor::{Diagnosis, sample};
use expect_test::expect;

#[test]
fn a_diagnosis_is_a_page_for_people() {
    let mut diagnosis = sample::diagnosis();
    diagnosis.warnings = vec![crate::doctor::Warning {
        what: "tmpfs keeps its files in memory".into(),
        why: "no commit reaches a disk, so durable commits are not measured here".into(),
        remedy: "name a directory on a disk of this machine".into(),
    }];
    expect![[r#"
        Machine
          cores  8 cores
          model  AMD EPYC

        System
          clock  tsc
          os     Debian

        Clock
          a reading                    24.2 ns
          smallest step                10.0 ns
          a reading of processor time  212 ns
          → Nothing shorter than 4.84 µs can be timed as a slice, and no single operation shorter than
            48.4 ns.

        Flush: 4 KiB overwritten, then fdatasync; 1,024 times
                     min      p50      p90      p99      max
          flush  95.0 µs  1.96 ms  2.50 ms  9.40 ms  31.0 ms
          → Half of all durable commits take 1.96 ms or more, and one writer makes about 488 a second at
            best; beyond that, several must share a flush.

        File of 64 MiB
                                           4 KiB                 8 KiB                16 KiB
          sequential read, cached     1,365 MB/s   333 k/s  4,096 MB/s   500 k/s  5,461 MB/s   333 k/s
          sequential read, dropped      585 MB/s   143 k/s  1,024 MB/s   125 k/s  1,820 MB/s   111 k/s
          sequential read, O_DIRECT            –         –           –         –           –         –
          random read, cached         1,024 MB/s   250 k/s  1,638 MB/s   200 k/s  2,731 MB/s   167 k/s
          random read, dropped          410 MB/s   100 k/s    745 MB/s  90.9 k/s  1,365 MB/s  83.3 k/s
          random read, O_DIRECT                –         –           –         –           –         –
          sequential write, cached      315 MB/s  76.9 k/s    585 MB/s  71.4 k/s  1,092 MB/s  66.7 k/s
          sequential write, synced      216 MB/s  52.6 k/s    410 MB/s  50.0 k/s    780 MB/s  47.6 k/s
          sequential write, O_DIRECT           –         –           –         –           –         –
          random write, cached          256 MB/s  62.5 k/s    482 MB/s  58.8 k/s    910 MB/s  55.6 k/s
          random write, synced          186 MB/s  45.5 k/s    356 MB/s  43.5 k/s    683 MB/s  41.7 k/s
          random write, O_DIRECT               –         –           –         –           –         –
          cached: by the page cache. synced: the same, with one fdatasync at the end that is timed too.
          dropped: the file's pages were dropped from the page cache before (posix_fadvise).
          O_DIRECT: not measured, because the filesystem refuses O_DIRECT.
          → A page at random costs 10.0 µs from the disk and 4.00 µs from the page cache: a "cold" read that
            is quicker than the first came from memory.

        Memory, copied
          4 KiB    42,000 MB/s
          1 MiB    46,900 MB/s
          256 MiB  not measured: the time was up
          → Answers of 1 MiB that are copied once cannot come at more than 46,900 MB/s.

        Noise
                           waits for a processor  waits for the disk  taken by the host
          at rest                          0.2 %                 0 %        not exposed
          while examining                  0.2 %                41 %        not exposed
          → The machine was quiet while the lab did nothing. Not exposed here: time taken by the host.

        Subjects
          subject   version  engine linked  WAL-reset fix
          sqlite-c  3.54.1   SQLite 3.54.1  yes
          redb      4.4.0    redb 4.4.0     –
          → sqlite-c: compiled with ENABLE_STAT4
          not built (touchstone bench builds it): wcdb

        1 warning, after 12.2 s
          ! tmpfs keeps its files in memory: no commit reaches a disk, so durable commits are not measured
            here
            remedy: name a directory on a disk of this machine
    "#]]
    .assert_eq(&diagnosis.to_string());
}

#[test]
fn no_line_is_wider_than_asked() {
    for width in [100, 80, 60] {
        let page = sample::diagnosis().render(width);
        let widest = page.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(widest <= width, "{widest} of {width}:\n{page}");
    }
}

#[test]
fn a_diagnosis_survives_its_json() {
    let diagnosis = sample::diagnosis();
    let text = serde_json::to_string(&diagnosis).unwrap();
    assert_eq!(serde_json::from_str::<Diagnosis>(&text).unwrap(), diagnosis);
    assert!(text.contains(r#""subject":"wcdb","state":"not-built""#), "{text}");
}
