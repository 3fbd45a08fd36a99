//! The machine on which a table was made, as far as it identifies itself.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

/// The facts that a reader needs to compare figures of two tables.
pub(crate) struct Machine {
    cpu: String,
    cores: usize,
    kernel: String,
    rustc: String,
    governor: String,
    load: String,
}

impl Machine {
    /// This machine. Unavailable facts are "unknown".
    pub(crate) fn this() -> Self {
        let read = |path: &str| fs::read_to_string(path).ok().map(|text| text.trim().to_owned());
        let known = |text: Option<String>| text.unwrap_or_else(|| "unknown".to_owned());
        let rustc = Command::new("rustc").arg("--version").output().ok();
        Self {
            cpu: known(read("/proc/cpuinfo").and_then(|text| cpu_model(&text).map(str::to_owned))),
            cores: std::thread::available_parallelism().map_or(0, usize::from),
            kernel: known(read("/proc/sys/kernel/osrelease")),
            rustc: known(
                rustc.and_then(|output| Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())),
            ),
            governor: known(read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")),
            load: known(read("/proc/loadavg").and_then(|text| Some(text.split(' ').next()?.to_owned()))),
        }
    }

    /// One line.
    pub(crate) fn markdown(&self) -> String {
        let Self { cpu, cores, kernel, rustc, governor, load } = self;
        format!(
            "{cpu}, {cores} cores, kernel {kernel}, {rustc}, governor {governor}, load before the first round {load}"
        )
    }

    /// The same by name.
    pub(crate) fn json(&self) -> Value {
        let Self { cpu, cores, kernel, rustc, governor, load } = self;
        json!({ "cpu": cpu, "cores": cores, "kernel": kernel, "rustc": rustc, "governor": governor, "load": load })
    }
}

fn cpu_model(cpuinfo: &str) -> Option<&str> {
    cpuinfo.lines().find_map(|line| Some(line.strip_prefix("model name")?.split_once(':')?.1.trim()))
}

#[cfg(test)]
mod tests {
    use super::{Machine, cpu_model};

    #[test]
    fn a_machine_says_what_it_is() {
        let cpuinfo = "processor\t: 0\nmodel name\t: AMD EPYC 7B13\nmodel name\t: another\n";
        assert_eq!(cpu_model(cpuinfo), Some("AMD EPYC 7B13"));
        assert_eq!(cpu_model("processor\t: 0\n"), None);
        let machine = Machine::this();
        assert!(machine.cores > 0 && machine.rustc.starts_with("rustc "), "{}", machine.markdown());
    }
}
