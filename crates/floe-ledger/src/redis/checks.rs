//! The start of every new connection: the login, and the checks whether the server is fit to keep marks.

use std::collections::HashMap;

use floe::ledger::LedgerError;
use redis::{Cmd, FromRedisValue, RedisError, cmd};

use super::link::Link;
use super::url::Settings;
use super::{Trouble, trouble};
use crate::options::let_be;

/// The oldest accepted version, major and minor.
const OLDEST: (u32, u32) = (6, 2);

/// Logs in, and selects the database.
pub(super) async fn introduce(link: &mut Link, settings: &Settings) -> Result<(), Trouble> {
    if settings.user.is_some() || settings.password.is_some() {
        let mut command = cmd("AUTH");
        command.arg(settings.user.as_deref()).arg(settings.password.as_deref().unwrap_or(""));
        link.ask::<()>(&command).await.map_err(Trouble::Store)?;
    }
    if settings.database != 0 {
        link.ask::<()>(cmd("SELECT").arg(settings.database)).await.map_err(Trouble::Store)?;
    }
    // For readers of CLIENT LIST. A user without this right may still have all the rights that floe needs.
    match link.ask::<()>(cmd("CLIENT").arg("SETNAME").arg("floe")).await {
        Err(error) if !is_denied(&error) => Err(Trouble::Store(error)),
        _ => Ok(()),
    }
}

/// Refuses a server that is not fit to keep marks, or notes why. Returns whether it is a node of a cluster.
pub(super) async fn check_server(
    link: &mut Link,
    settings: &Settings,
    remarks: &mut Vec<String>,
) -> Result<bool, Trouble> {
    let mut judge = Judge { settings, remarks };
    let Some(info) = judge.look::<String>(link, &cmd("INFO"), "+info").await? else {
        return Ok(false);
    };
    let info = facts(&info);
    check_state(&info, &settings.reach.shown)?;
    if is(&info, "aof_enabled", "1") {
        let mut command = cmd("CONFIG");
        command.arg("GET").arg("*append*");
        if let Some(file) = judge.look::<Facts>(link, &command, "+config|get").await? {
            check_file(&file, &mut judge)?;
        }
    } else {
        judge.allow(
            "has appendonly = no",
            "a restart takes back every range since the last snapshot",
            "set appendonly yes and appendfsync always",
        )?;
    }
    let policy = info.get("maxmemory_policy").map_or("(unknown)", String::as_str);
    // floe's keys have no time to live, and volatile-* removes only those that have one.
    if policy != "noeviction" && !policy.starts_with("volatile-") {
        judge.allow(
            &format!("has maxmemory-policy = {policy}"),
            "when memory runs out, it removes records",
            "set maxmemory-policy noeviction, or one of volatile-*",
        )?;
    }
    Ok(is(&info, "cluster_enabled", "1"))
}

/// A server's settings and figures, by name.
pub(super) type Facts = HashMap<String, String>;

/// The content of `INFO`: a line `name:value` for each.
pub(super) fn facts(info: &str) -> Facts {
    let pairs = info.lines().filter_map(|line| line.split_once(':'));
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

fn is(facts: &Facts, name: &str, value: &str) -> bool {
    facts.get(name).is_some_and(|found| found == value)
}

/// Faults that no URL can allow: the wrong kind of server, or one that is not ready.
pub(super) fn check_state(info: &Facts, shown: &str) -> Result<(), Trouble> {
    if is(info, "redis_mode", "sentinel") {
        return Err(unfit(format!(
            "{shown} is a Sentinel and keeps nothing: name the master that it watches"
        )));
    }
    let version = info.get("redis_version").map_or("of no version", String::as_str);
    let mut parts = version.split('.').map_while(|part| part.parse::<u32>().ok());
    if (parts.next().unwrap_or(0), parts.next().unwrap_or(0)) < OLDEST {
        return Err(unfit(format!(
            "{shown} is Redis {version}, and floe needs {}.{} or newer: update the server",
            OLDEST.0, OLDEST.1
        )));
    }
    let unavailable = |what: &str| Err(LedgerError::Unavailable(format!("{shown} {what}")).into());
    if is(info, "loading", "1") {
        return unavailable("is still reading its files: wait until it has");
    }
    if !is(info, "role", "master") {
        return unavailable("is a replica: name the master, or promote this one (REPLICAOF NO ONE)");
    }
    if is(info, "aof_enabled", "1") && !is(info, "aof_last_write_status", "ok") {
        return unavailable(
            "could not write its append-only file: look at its log, and make room on its disk",
        );
    }
    Ok(())
}

fn check_file(file: &Facts, judge: &mut Judge<'_>) -> Result<(), Trouble> {
    let seconds =
        "a crash of the system or a loss of power takes back the last seconds of ranges that were handed out";
    for (setting, wanted, what) in [
        ("appendfsync", "always", seconds),
        (
            "no-appendfsync-on-rewrite",
            "no",
            "while it rewrites its file, a crash takes back the ranges of that time",
        ),
    ] {
        let found = file.get(setting).map_or("(unknown)", String::as_str);
        if found != wanted {
            judge.allow(&format!("has {setting} = {found}"), what, &format!("set {setting} {wanted}"))?;
        }
    }
    Ok(())
}

/// Whether the user lacks the right, or the server does not have the command (any more).
fn is_denied(error: &RedisError) -> bool {
    let cause = trouble::cause(error);
    trouble::is_denied(&cause) || cause.contains("unknown command") || cause.contains("nknown subcommand")
}

/// Refuses what endangers marks, or notes it if the URL allows it.
struct Judge<'a> {
    settings: &'a Settings,
    remarks: &'a mut Vec<String>,
}

impl Judge<'_> {
    /// A command's answer; `None` if the server does not let floe look and the URL allows that.
    async fn look<T: FromRedisValue>(
        &mut self,
        link: &mut Link,
        command: &Cmd,
        right: &str,
    ) -> Result<Option<T>, Trouble> {
        match link.ask(command).await {
            Ok(found) => Ok(Some(found)),
            Err(error) if is_denied(&error) => {
                self.allow(
                    &format!("does not let floe read its settings ({})", trouble::cause(&error)),
                    "floe cannot check whether it keeps what it confirms",
                    &format!("if the server is yours, grant the user {right}"),
                )?;
                Ok(None)
            }
            Err(error) => Err(Trouble::Store(error)),
        }
    }

    fn allow(&mut self, finding: &str, what: &str, way_out: &str) -> Result<(), Trouble> {
        let finding = [finding, what, way_out];
        Ok(let_be(self.settings.reach.allows_unsafe, &self.settings.reach.shown, self.remarks, finding)?)
    }
}

fn unfit(text: String) -> Trouble {
    LedgerError::Unfit(text).into()
}
