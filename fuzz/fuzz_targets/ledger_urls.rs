//! The URL of a ledger: whatever it is, it is read or refused, and no error shows a password.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (u8, &str)| {
    let (choice, rest) = input;
    // What names a file is left out: it would be read.
    if ["file", "cert", "key", "passfile"].iter().any(|word| rest.contains(word)) {
        return;
    }
    let schemes = ["mysql", "postgres", "zookeeper", "consul", "etcd", "floe", "redis"];
    let scheme = schemes[usize::from(choice) % schemes.len()];
    let _outcome = floe_ledger::check_url(&format!("{scheme}://{rest}"));
    if !rest.contains(['@', '?', '/', '#', '%']) && !rest.contains("s3cr3t") {
        let url = format!("{scheme}://floe:s3cr3t-{choice}@{rest}/ids");
        if let Err(error) = floe_ledger::check_url(&url) {
            assert!(!error.to_string().contains("s3cr3t"), "{error}");
        }
        assert!(!floe_ledger::shown(&url).contains("s3cr3t"));
    }
    // A password that is not escaped: it is taken whole, or no half of it is shown.
    if !rest.contains(['@', '?', '/', '#', '%']) && !rest.contains("h4lf") && !rest.contains("r3st") {
        for sign in ['@', '/', '?', '#'] {
            for url in [
                format!("{scheme}://floe:h4lf{sign}r3st@{rest}/ids"),
                format!("{scheme}://{rest}:h4lf{sign}r3st@db"),
            ] {
                if let Err(error) = floe_ledger::check_url(&url) {
                    let text = error.to_string();
                    assert!(!text.contains("h4lf") && !text.contains("r3st"), "{url}: {text}");
                }
            }
        }
    }
});
