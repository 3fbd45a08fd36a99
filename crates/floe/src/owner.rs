//! Owner notes: who holds a slot, for people. Uniqueness does not depend on them.

use std::fmt;
use std::fs;
use std::io::{self, ErrorKind};
use std::str::FromStr;

use crate::time::UnixMillis;

/// The holder of a slot, as in the note of its record.
///
/// Its text is `host=web-1 boot=… pid=4711 started=… version=0.1.0 instance=… machine=… pids=… since=…`; values have no
/// spaces.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Owner {
    /// The machine's name.
    pub host: String,
    /// The id of the machine's boot; empty if the system has none.
    pub boot: String,
    /// The process id.
    pub pid: u32,
    /// When the process started, in the system's ticks since boot. It tells a process from a later one with the same
    /// id.
    pub started: u64,
    /// floe's version.
    pub version: String,
    /// The machine's id (machine-id(5)); empty if the system has none, and in notes of older versions.
    pub machine: String,
    /// The namespace of the process ids (pid_namespaces(7)), such as `pid:[4026531836]`; empty if the system has none,
    /// and in notes of older versions. Two containers of one host have two namespaces.
    pub pids: String,
    /// The instance's name; empty if it has none. Two nodes must never run under one name at the same time.
    pub instance: String,
    /// The steady time at which the slot was taken.
    pub since: Option<UnixMillis>,
}

/// The error for a text that is not an owner note of this version.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct OwnerError;

impl fmt::Display for OwnerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not an owner note")
    }
}

impl Owner {
    /// Describes this process. `instance` is its name, or empty.
    ///
    /// ```
    /// use floe::Owner;
    /// let owner = Owner::this_process("shop-7");
    /// assert_eq!((owner.pid, owner.instance.as_str()), (std::process::id(), "shop-7"));
    /// ```
    pub fn this_process(instance: &str) -> Self {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default().trim().to_owned();
        let pid = std::process::id();
        // Spelled as in the note, so that the note of an earlier run is recognised.
        Self {
            host: word(&read("/proc/sys/kernel/hostname")),
            boot: read("/proc/sys/kernel/random/boot_id"),
            pid,
            started: started(PROC, pid).ok().flatten().unwrap_or(0),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            machine: machine_id().map(|id| word(&id)).unwrap_or_default(),
            pids: fs::read_link("/proc/self/ns/pid")
                .map_or_else(|_| String::new(), |link| word(&link.to_string_lossy())),
            instance: word(instance),
            since: None,
        }
    }

    /// The note with the time at which a slot is taken.
    pub(crate) fn note(&self, since: UnixMillis) -> String {
        Self { since: Some(since), ..self.clone() }.to_string()
    }

    /// Returns whether this owner was an earlier run of `other`: it has the same instance name, or is a process of the
    /// same machine that no longer runs. If that cannot be known, as in a new container, the answer is no.
    ///
    /// ```
    /// use floe::Owner;
    /// let now = Owner::this_process("shop-7");
    /// let before = Owner { pid: 1, host: "old-host".to_owned(), ..now.clone() };
    /// assert!(before.is_earlier_life_of(&now)); // the same instance name
    /// assert!(!Owner::this_process("shop-8").is_earlier_life_of(&now));
    /// ```
    pub fn is_earlier_life_of(&self, other: &Self) -> bool {
        if !self.instance.is_empty() || !other.instance.is_empty() {
            return self.instance == other.instance;
        }
        if !self.is_beside(other) {
            return false;
        }
        match self.boot == other.boot {
            true => self.runs(PROC) == Some(false),
            // The machine was rebooted. Containers of two machines may share their names and their namespaces' numbers.
            false => !self.machine.is_empty() && self.machine == other.machine && self.pids == ALL_PIDS,
        }
    }

    /// Whether the process ids of the two can be compared: the same namespace on the same machine.
    fn is_beside(&self, other: &Self) -> bool {
        let differ = |one: &str, other: &str| !one.is_empty() && !other.is_empty() && one != other;
        !self.host.is_empty()
            && self.host == other.host
            && !self.pids.is_empty()
            && self.pids == other.pids
            && !differ(&self.machine, &other.machine)
    }

    /// Returns whether the process runs on this machine now; `None` if that cannot be known from here, as for another
    /// machine.
    ///
    /// ```
    /// use floe::Owner;
    /// assert_ne!(Owner::this_process("").is_alive(), Some(false));
    /// ```
    pub fn is_alive(&self) -> Option<bool> {
        let here = Self::this_process("");
        match self.is_beside(&here) && !self.boot.is_empty() {
            true if self.boot == here.boot => self.runs(PROC),
            known => known.then_some(false),
        }
    }

    /// Whether the process runs, in this boot, by what the directory `proc` shows; `None` if it shows too little.
    fn runs(&self, proc: &str) -> Option<bool> {
        started(proc, self.pid).ok().map(|now| now == Some(self.started))
    }
}

floe_id::__error!(OwnerError);

/// The namespace of a machine's own process ids, which has the same number on all of them (Linux,
/// include/linux/proc_ns.h).
const ALL_PIDS: &str = "pid:[4026531836]";

/// The id of this machine, where the system has one.
fn machine_id() -> Option<String> {
    let read = |path: &&str| fs::read_to_string(path).ok().map(|id| id.trim().to_owned());
    ["/etc/machine-id", "/var/lib/dbus/machine-id"].iter().filter_map(read).find(|id| !id.is_empty())
}

/// Where the system shows its processes (proc(5)).
const PROC: &str = "/proc";

/// When a process started (proc_pid_stat(5), field 22), or `None` if it has ended.
///
/// # Errors
/// If that cannot be known: no descriptor is free, or the process belongs to another user and `proc` hides those
/// (`hidepid`). One setting hides it as if it had ended. It hides the first process, too, which never ends.
fn started(proc: &str, pid: u32) -> io::Result<Option<u64>> {
    let stat = match fs::read_to_string(format!("{proc}/{pid}/stat")) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return match fs::read(format!("{proc}/1/stat")) {
                Err(first) if first.kind() == ErrorKind::NotFound => Err(first),
                _ => Ok(None),
            };
        }
        stat => stat?,
    };
    let read = || {
        // The command's name, in parentheses, may contain anything; state is the first field behind it.
        let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
        let (state, started) = (fields.next()?, fields.nth(18)?.parse().ok()?);
        Some((state != "Z").then_some(started))
    };
    read().ok_or_else(|| ErrorKind::InvalidData.into())
}

fn word(text: &str) -> String {
    text.replace(|c: char| c.is_whitespace() || c.is_control(), "_")
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, boot, pid, started, version, machine, pids, instance, since } = self;
        write!(f, "host={} boot={} pid={pid} started={started}", word(host), word(boot))?;
        write!(f, " version={} instance={}", word(version), word(instance))?;
        write!(f, " machine={} pids={}", word(machine), word(pids))?;
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
            machine: text("machine").unwrap_or_default(),
            pids: text("pids").unwrap_or_default(),
            since: value("since")
                .and_then(|time| time.parse::<jiff::Timestamp>().ok())
                .map(|time| UnixMillis::new(time.as_millisecond())),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A process of `text` that runs no more: none of these started then.
    fn owner(text: &str) -> Owner {
        format!("pid={} started=1 version=0 {text}", std::process::id()).parse().unwrap()
    }

    fn was_earlier(one: &str, other: &str) -> bool {
        owner(one).is_earlier_life_of(&owner(other))
    }

    #[test]
    fn a_note_is_read_as_it_was_written_and_that_of_an_older_version_too() {
        let here = Owner::this_process("node 1");
        let noted = here.note(UnixMillis::new(1_795_305_600_000));
        let read: Owner = noted.parse().unwrap();
        assert_eq!(Owner { since: None, ..read.clone() }, here);
        assert_eq!(read.to_string(), noted);
        let old = owner("host=a boot=b instance=");
        assert_eq!((old.machine.as_str(), old.pids.as_str()), ("", ""));
    }

    #[test]
    fn twins_in_namespaces_of_their_own_are_no_earlier_lives_of_each_other() {
        let machine = "host=web boot=b machine=m pids=pid:[4026531836] instance=";
        assert!(was_earlier(machine, machine), "a process that ended");
        assert!(was_earlier(machine, &machine.replace("boot=b", "boot=c")), "the machine was started anew");
        for (twin, why) in [
            (machine.replace("4026531836", "4026532201"), "another container"),
            (machine.replace("machine=m", "machine=n"), "another machine with the same name"),
            (machine.replace("host=web", "host=db"), "another host"),
            (machine.replace("pids=pid:[4026531836]", ""), "an older version does not say"),
        ] {
            assert!(!was_earlier(machine, &twin) && !was_earlier(&twin, machine), "{why}");
        }
        // Containers of two machines may have the same names and numbers.
        let container = machine.replace("4026531836", "4026532201");
        assert!(was_earlier(&container, &container), "a process that ended");
        assert!(!was_earlier(&container, &container.replace("boot=b", "boot=c")));
        let unknown = machine.replace("machine=m ", "");
        assert!(!was_earlier(&unknown, &unknown.replace("boot=b", "boot=c")));
        for (hidden, why) in [("host=web", "host="), ("pids=pid:[4026531836]", "pids=")] {
            let nobody = machine.replace(hidden, why);
            assert!(!was_earlier(&nobody, &nobody), "two that do not say {why} may be on two machines");
        }
        // Whoever gives a name says that no two run under it.
        let named = |boot: &str| format!("host=web boot={boot} pids=pid:[{}] instance=node-1", boot.len());
        assert!(was_earlier(&named("b"), &named("cc")));
        let (one, other) = (format!("{machine}node-1"), format!("{machine}node-2"));
        for (one, other) in [(&one, &other), (&one, &machine.to_owned()), (&machine.to_owned(), &one)] {
            assert!(!was_earlier(one, other), "{one} and {other} are two nodes");
        }
    }

    /// Notes of older versions do not say which machine it is.
    #[test]
    fn a_machine_that_is_not_said_is_another_only_after_it_was_started_anew() {
        let said = "host=web boot=b machine=m pids=pid:[4026531836] instance=";
        let unsaid = said.replace("machine=m ", "");
        for (one, other) in [(said, &*unsaid), (&unsaid, said)] {
            assert!(was_earlier(one, other), "a process that ended");
            assert!(!was_earlier(one, &other.replace("boot=b", "boot=c")), "{one} and {other}");
        }
    }

    #[test]
    fn this_process_says_which_machine_it_is_on_where_the_system_does() {
        let said = |path| fs::read_to_string(path).unwrap_or_default().trim().to_owned();
        let (systemd, dbus) = (said("/etc/machine-id"), said("/var/lib/dbus/machine-id"));
        let machine = if systemd.is_empty() { dbus } else { systemd };
        assert_eq!(Owner::this_process("").machine, machine);
    }

    #[test]
    fn a_process_that_runs_is_no_earlier_life_of_another() {
        let here = Owner::this_process("");
        assert!(here.started > 0);
        assert!(!here.is_earlier_life_of(&Owner { pid: here.pid + 1, ..here.clone() }));
        let same_number = Owner { started: here.started - 1, ..here.clone() };
        assert!(same_number.is_earlier_life_of(&here), "the number is another process's now");
    }

    #[test]
    fn a_process_that_ended_runs_no_more_although_nobody_has_waited_for_it() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let stat = format!("/proc/{}/stat", child.id());
        while !fs::read_to_string(&stat).unwrap().contains(") Z ") {
            std::thread::yield_now();
        }
        assert_eq!(started(PROC, child.id()).unwrap(), None);
        child.wait().unwrap();
    }

    /// Its slot would be taken while it runs.
    #[test]
    fn a_process_that_is_hidden_has_not_ended() {
        let here = Owner::this_process("");
        let dir = std::env::temp_dir().join(format!("floe-{}-{}", here.pid, here.started));
        let proc = dir.to_str().unwrap();
        let show = |pid: u32, stat: &str| {
            fs::create_dir_all(format!("{proc}/{pid}")).unwrap();
            fs::write(format!("{proc}/{pid}/stat"), stat).unwrap();
        };
        assert_eq!(here.runs(proc), None, "nor is the first process shown");
        show(1, "1 (init) S");
        assert_eq!(here.runs(proc), Some(false), "only this one is not");
        fs::remove_file(format!("{proc}/1/stat")).unwrap();
        fs::create_dir(format!("{proc}/1/stat")).unwrap();
        assert_eq!(here.runs(proc), Some(false), "the first process may not be read, but it is not hidden");
        let stat = |state: &str| format!("7 (a) b) {state} {}{} 0", "0 ".repeat(18), here.started);
        for (stat, runs) in [
            (stat("S"), Some(true)),
            (stat("Z"), Some(false)),
            (String::new(), None),
            (stat("S 1"), Some(false)),
        ] {
            show(here.pid, &stat);
            assert_eq!(here.runs(proc), runs, "{stat}");
        }
        // Whatever else keeps the file from being read.
        fs::remove_file(format!("{proc}/{}/stat", here.pid)).unwrap();
        fs::create_dir(format!("{proc}/{}/stat", here.pid)).unwrap();
        assert_eq!(here.runs(proc), None);
        fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn a_note_has_no_character_that_a_terminal_obeys() {
        let note = Owner { host: "a\u{1b}[2Jb".to_owned(), ..Owner::this_process("x\u{7}\ny") }.to_string();
        assert!(note.contains("host=a_[2Jb ") && note.contains(" instance=x__y "), "{note}");
    }

    #[test]
    fn who_runs_is_told_in_the_same_namespace_alone() {
        let here = Owner::this_process("");
        assert!(here.pids.starts_with("pid:["), "{here}");
        assert_eq!(here.is_alive(), Some(true));
        assert_eq!(Owner { started: here.started + 1, ..here.clone() }.is_alive(), Some(false));
        assert_eq!(Owner { boot: "another".to_owned(), ..here.clone() }.is_alive(), Some(false));
        assert_eq!(Owner { boot: String::new(), ..here.clone() }.is_alive(), None);
        assert_eq!(Owner { pids: "pid:[7]".to_owned(), ..here.clone() }.is_alive(), None);
        assert_eq!(
            Owner { machine: "other".to_owned(), ..here.clone() }.is_alive().is_some(),
            here.machine.is_empty()
        );
    }
}
