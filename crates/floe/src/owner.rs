//! Owner notes: who holds a slot, for people. Nothing that is unique hangs on them.

use std::fmt;
use std::fs;
use std::str::FromStr;

use crate::time::UnixMillis;

/// Who holds a slot, as the note in its record says.
///
/// Its text is `host=web-1 boot=… pid=4711 started=… version=0.1.0 instance=… since=…`; values have no spaces.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Owner {
    /// The machine's name.
    pub host: String,
    /// The machine's boot, where the system has an id for it.
    pub boot: String,
    /// The process id.
    pub pid: u32,
    /// When the process started, in the system's own ticks since boot; tells a process from a later one of the same id.
    pub started: u64,
    /// floe's version.
    pub version: String,
    /// The instance's name where it was given one; empty otherwise. Two nodes never run under one at a time.
    pub instance: String,
    /// The steady time at which the slot was taken.
    pub since: Option<UnixMillis>,
}

/// The text is no owner note of this version.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("not an owner note")]
pub struct OwnerError;

impl Owner {
    /// This process.
    pub fn this_process(instance: &str) -> Self {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default().trim().to_owned();
        let pid = std::process::id();
        // As the note will have it, so that an earlier life's note is recognised.
        Self {
            host: word(&read("/proc/sys/kernel/hostname")),
            boot: read("/proc/sys/kernel/random/boot_id"),
            pid,
            started: started(pid).unwrap_or(0),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            instance: word(instance),
            since: None,
        }
    }

    /// The note with the time at which a slot is taken.
    pub(crate) fn note(&self, since: UnixMillis) -> String {
        Self { since: Some(since), ..self.clone() }.to_string()
    }

    /// Whether this owner was an earlier life of `other`: the same instance name, or a process of the same machine
    /// that runs no more.
    pub fn is_earlier_life_of(&self, other: &Self) -> bool {
        if !self.instance.is_empty() || !other.instance.is_empty() {
            return self.instance == other.instance;
        }
        let same_host = !self.host.is_empty() && self.host == other.host;
        let same_boot = self.boot == other.boot;
        same_host && (!same_boot || started(self.pid) != Some(self.started))
    }

    /// Whether the process runs on this machine now; `None` where that cannot be told from here.
    pub fn is_alive(&self) -> Option<bool> {
        let here = Self::this_process("");
        (self.host == here.host && !self.boot.is_empty())
            .then(|| self.boot == here.boot && started(self.pid) == Some(self.started))
    }
}

/// When a process started (proc_pid_stat(5), field 22), if it runs.
fn started(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The command's name, in parentheses, may contain anything; state is the first field behind it.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    (fields.next()? != "Z").then_some(())?;
    fields.nth(18)?.parse().ok()
}

fn word(text: &str) -> String {
    text.replace(|c: char| c.is_whitespace() || c.is_control(), "_")
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, boot, pid, started, version, instance, since } = self;
        write!(f, "host={} boot={} pid={pid} started={started}", word(host), word(boot))?;
        write!(f, " version={} instance={}", word(version), word(instance))?;
        since.map_or(Ok(()), |since| write!(f, " since={since}"))
    }
}

impl FromStr for Owner {
    type Err = OwnerError;

    fn from_str(text: &str) -> Result<Self, OwnerError> {
        let value = |key: &str| text.split(' ').find_map(|word| word.strip_prefix(key)?.strip_prefix('='));
        let text = |key| value(key).map(ToOwned::to_owned).ok_or(OwnerError);
        let number = |key| value(key).and_then(|digits| digits.parse::<u64>().ok()).ok_or(OwnerError);
        Ok(Self {
            host: text("host")?,
            boot: text("boot")?,
            pid: number("pid")?.try_into().map_err(|_| OwnerError)?,
            started: number("started")?,
            version: text("version")?,
            instance: text("instance")?,
            since: value("since")
                .and_then(|time| time.parse::<jiff::Timestamp>().ok())
                .map(|time| UnixMillis::new(time.as_millisecond())),
        })
    }
}
