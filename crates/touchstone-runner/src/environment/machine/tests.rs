//! Texts of `/proc` and `/sys` from machines of several kinds.

use super::*;

const EPYC: &str = "processor\t: 0\nvendor_id\t: AuthenticAMD\nmodel\t\t: 17\nmodel name\t: AMD EPYC\n\
                    flags\t\t: fpu vme rdtscp hypervisor lahf_lm\n";
const DESKTOP: &str =
    "processor\t: 0\nmodel name\t: Intel(R) Core(TM)  i7-1185G7   @ 3.00GHz\nflags\t\t: fpu vme tsc\n";
const GRAVITON: &str = "processor\t: 0\nBogoMIPS\t: 243.75\nFeatures\t: fp asimd\nCPU implementer\t: 0x41\n\
                        CPU part\t: 0xd0c\n";
const RASPBERRY: &str = "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd08\nSerial\t\t: 100000001234abcd\n\
                         Model\t\t: Raspberry Pi 4 Model B Rev 1.4\n";

#[test]
fn every_architecture_has_a_model() {
    assert_eq!(model(EPYC).unwrap(), "AMD EPYC");
    assert_eq!(model(DESKTOP).unwrap(), "Intel(R) Core(TM) i7-1185G7 @ 3.00GHz");
    assert_eq!(model(GRAVITON).unwrap(), "ARM implementer 0x41, part 0xd0c");
    assert_eq!(model(RASPBERRY).unwrap(), "Raspberry Pi 4 Model B Rev 1.4");
    assert_eq!(
        model("processor\t: 0\ncpu\t\t: POWER9, altivec supported\n").unwrap(),
        "POWER9, altivec supported"
    );
    assert_eq!(model("model name\t:\n"), None);
    assert_eq!(model(""), None);
}

#[test]
fn lists_of_processors_are_counted() {
    assert_eq!(listed("0-1"), Some(2));
    assert_eq!(listed("0"), Some(1));
    assert_eq!(listed("0-3,6,8-9"), Some(7));
    assert_eq!(listed(""), None);
    assert_eq!(listed("3-1"), None);
}

#[test]
fn memory_is_read_by_its_whole_name() {
    let text = "MemTotal:       24684084 kB\nMemAvailable:   24282788 kB\nHugePages_Total:       0\n";
    assert_eq!(meminfo_bytes(text, "MemTotal"), Some(24_684_084 * 1024));
    assert_eq!(meminfo_bytes(text, "Mem"), None);
    assert_eq!(meminfo_bytes(text, "HugePages_Total"), None, "a count has no unit");
    assert_eq!(meminfo_bytes("", "MemTotal"), None);
}

#[test]
fn virtual_machines_are_told_from_real_ones() {
    let hints = |vendor: &str, clocks: &str, kernel: &str| Hints {
        vendor: vendor.into(),
        clocks: clocks.into(),
        kernel: kernel.into(),
        ..Hints::default()
    };
    assert_eq!(virtualisation(EPYC, &hints(" ", "tsc kvm-clock", "6.18")), "virtual machine (KVM)");
    assert_eq!(virtualisation(EPYC, &Hints::default()), "virtual machine");
    assert_eq!(virtualisation(DESKTOP, &hints("LENOVO ThinkPad", "tsc hpet", "6.1")), "none seen");
    assert_eq!(virtualisation(DESKTOP, &hints("Amazon EC2 m5.metal", "tsc", "6.1")), "none seen");
    assert_eq!(
        virtualisation(GRAVITON, &hints("Amazon EC2 m7g", "arch_sys_counter", "")),
        "virtual machine (Amazon EC2)"
    );
    let wsl = hints(" ", "hyperv_clocksource_tsc_page", "5.15-microsoft-standard-WSL2");
    assert_eq!(virtualisation(EPYC, &wsl), "virtual machine (WSL or Hyper-V)");
}

#[test]
fn cores_that_are_not_ours_are_told_with_the_reason() {
    let machine =
        |cores_allowed, quota| Machine { cores_online: 8, cores_allowed, quota, ..Machine::default() };
    assert_eq!(machine(8, None).cores_text(), "8 cores");
    assert_eq!(machine(2, None).cores_text(), "2 of 8 cores (by affinity)");
    assert_eq!(machine(8, Some(1.5)).cores_text(), "1 of 8 cores (a control group allows 1.50)");
    assert_eq!(machine(2, Some(4.0)).cores_text(), "2 of 8 cores (by affinity)");
    assert_eq!(machine(4, Some(0.2)).cores_available(), 1);
}
