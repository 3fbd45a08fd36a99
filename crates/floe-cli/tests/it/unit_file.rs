//! The unit file in docs/operating.md: floe runs and stops as it says.

use std::fs;
use std::time::Duration;

use floe_server::Config;

use crate::client::{agent, get};
use crate::process::{Server, floe, run};

const PAGE: &str = include_str!("../../../../docs/operating.md");

/// The value of each setting in the page's unit file.
fn unit() -> Vec<(&'static str, &'static str)> {
    let mut blocks = PAGE.split("\n```ini\n").skip(1);
    let block = blocks.next().and_then(|rest| rest.split("\n```").next()).expect("the page has a unit file");
    assert_eq!(blocks.next(), None, "the page has two");
    block.lines().filter_map(|line| line.split_once('=')).collect()
}

#[test]
fn floe_is_what_the_unit_file_says() {
    let unit = unit();
    let setting = |key| unit.iter().find(|(name, _)| *name == key).map(|(_, value)| *value);
    let must = |key| setting(key).unwrap_or_else(|| panic!("the unit file has no {key}"));
    assert_eq!(must("WorkingDirectory"), format!("/var/lib/{}", must("StateDirectory")));
    for left_out in ["KillSignal", "ExecReload", "LimitNOFILE", "Type"] {
        assert_eq!(setting(left_out), None, "the page says to leave it out");
        assert!(PAGE.contains(&format!("`{left_out}`")), "the page says why {left_out} is left out");
    }

    // The configuration that `floe config --new` writes, on a free port.
    let dir = tempfile::tempdir().unwrap();
    let (state, file) = (dir.path().join("state"), dir.path().join("floe.toml"));
    fs::create_dir(&state).unwrap();
    assert_eq!(run(floe(["config", "--new"]).arg(&file)).code, Some(0));
    let text = fs::read_to_string(&file).unwrap();
    let listens = "listen = [\"127.0.0.1:7600\"]";
    assert!(text.contains(listens), "{text}");
    fs::write(&file, text.replace(listens, "listen = [\"127.0.0.1:0\"]\nmysql = \"off\"")).unwrap();

    let mut words = must("ExecStart").split(' ');
    assert!(words.next().is_some_and(|program| program.ends_with("/floe")));
    let file_name = file.to_str().unwrap();
    let arguments: Vec<_> =
        words.map(|word| if word == "/etc/floe/floe.toml" { file_name } else { word }).collect();
    assert!(arguments.contains(&file_name), "no argument is the configuration: {arguments:?}");
    let server = Server::spawn(floe(&arguments).current_dir(&state));
    let (status, body) = get(&agent(), &format!("{}/v1/mint/orders", server.url())).unwrap();
    assert_eq!(status, 200, "{body}");
    let written = fs::read_dir(&state).unwrap().map(|entry| entry.unwrap().file_name());
    assert_eq!(written.collect::<Vec<_>>(), ["floe-data"], "all that it writes is in the state directory");

    // `on-failure` does not start a server again that was stopped in order.
    assert_eq!(must("Restart"), "on-failure");
    let (status, said) = server.terminate();
    assert!(status.success(), "{said}");
    let limits = Config::load(&file).unwrap().limits;
    let words = PAGE.split_whitespace().collect::<Vec<_>>().join(" ");
    let drain = limits.drain_timeout.as_secs();
    let close = words.split(&format!("`limits.drain_timeout` ({drain} s) + ")).nth(1);
    let close = close.and_then(|rest| rest.split(' ').next()).and_then(|close| close.parse().ok());
    let close = Duration::from_secs(close.expect("the page says how long ranges are given back"));
    let stop = Duration::from_secs(must("TimeoutStopSec").parse().unwrap());
    assert!(stop > limits.drain_delay + limits.drain_timeout + close, "{stop:?} is too short");
}
