//! Prometheus' text format, version 0.0.4, from the OpenMetrics text that the library writes.
//!
//! Samples are the same in both formats, but the lines before them differ. Here a family has the name of its samples,
//! so a counter's name ends with `_total` there too. An info is a gauge, and units and the end are not written.
//!
//! Source: <https://prometheus.io/docs/instrumenting/exposition_formats/>.

use std::fmt::{self, Write};

pub(super) fn from_open_metrics(text: &str) -> Result<String, fmt::Error> {
    let mut out = String::with_capacity(text.len());
    let mut help = None;
    for line in text.lines() {
        let mut words = line.splitn(4, ' ');
        match (words.next(), words.next(), words.next(), words.next()) {
            (Some("#"), Some("HELP"), Some(_), about) => help = about,
            (Some("#"), Some("TYPE"), Some(name), Some(kind)) => {
                let (suffix, kind) = match kind {
                    "counter" => ("_total", kind),
                    "info" => ("_info", "gauge"),
                    "unknown" => ("", "untyped"),
                    kind => ("", kind),
                };
                if let Some(help) = help.take() {
                    // Quotes need no escape in a help.
                    writeln!(out, "# HELP {name}{suffix} {}", help.replace("\\\"", "\""))?;
                }
                writeln!(out, "# TYPE {name}{suffix} {kind}")?;
            }
            (Some("#"), ..) => {}
            _ => writeln!(out, "{line}")?,
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_have_the_names_of_their_samples() {
        let open = "# HELP a Calls \\\"x\\\".\n# TYPE a counter\na_total{b=\"c d\"} 5\n# HELP v Version.\n# TYPE v info\nv_info{v=\"1\"} 1\n\
            # HELP t_seconds Time.\n# TYPE t_seconds histogram\n# UNIT t_seconds seconds\nt_seconds_sum 0.5\nt_seconds_bucket{le=\"+Inf\"} 1\n# EOF\n";
        let text = "# HELP a_total Calls \"x\".\n# TYPE a_total counter\na_total{b=\"c d\"} 5\n# HELP v_info Version.\n# TYPE v_info gauge\nv_info{v=\"1\"} 1\n\
            # HELP t_seconds Time.\n# TYPE t_seconds histogram\nt_seconds_sum 0.5\nt_seconds_bucket{le=\"+Inf\"} 1\n";
        assert_eq!(from_open_metrics(open).unwrap(), text);
    }
}
