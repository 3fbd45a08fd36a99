//! Figures that change as the work grows: as JSON for programs, and all of them as one picture.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::machine::Machine;
use crate::{Result, plot};

/// The measurements that have curves. Each writes a file of its name.
const FILES: [&str; 3] = ["growth", "tails", "idle"];

/// How one figure changes.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Curve {
    /// The chart in which it is drawn: what was measured, and its unit.
    pub(crate) chart: String,
    /// What grows.
    pub(crate) along: String,
    pub(crate) name: String,
    pub(crate) points: Vec<(f64, f64)>,
}

/// The curves of one measurement, in the order of their first points.
#[derive(Default)]
pub(crate) struct Curves(Vec<Curve>);

impl Curves {
    /// Adds a point to a curve.
    pub(crate) fn add(&mut self, chart: &str, along: &str, name: &str, point: (f64, f64)) {
        match self.0.iter_mut().find(|curve| curve.chart == chart && curve.name == name) {
            Some(curve) => curve.points.push(point),
            None => self.0.push(Curve {
                chart: chart.to_owned(),
                along: along.to_owned(),
                name: name.to_owned(),
                points: vec![point],
            }),
        }
    }

    /// Writes them as JSON to a folder, and draws all curves that are there.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub(crate) fn write(&self, out: &Path, measurement: &str) -> Result<()> {
        fs::create_dir_all(out).map_err(|error| format!("{}: {error}", out.display()))?;
        let lines: Vec<String> = self.0.iter().map(|curve| curve.json().to_string()).collect();
        let (machine, lines) = (Machine::this().json(), lines.join(",\n"));
        let text = format!("{{\n\"machine\": {machine},\n\"curves\": [\n{lines}\n]\n}}\n");
        fs::write(out.join(format!("{measurement}.json")), text)?;
        let mut all = Vec::new();
        for name in FILES {
            // Those that were not measured yet have no file.
            let Ok(text) = fs::read_to_string(out.join(format!("{name}.json"))) else { continue };
            let found: Value = serde_json::from_str(&text)?;
            for curve in found["curves"].as_array().into_iter().flatten() {
                all.push(Curve::of(curve).ok_or_else(|| format!("{name}.json has a curve without points"))?);
            }
        }
        fs::write(out.join("curves.svg"), plot::curves(&all))?;
        println!("\nWritten to {}: {measurement}.json, and curves.svg with what is there.", out.display());
        Ok(())
    }
}

impl Curve {
    fn json(&self) -> Value {
        let Self { chart, along, name, points } = self;
        json!({ "chart": chart, "along": along, "name": name, "points": points })
    }

    fn of(json: &Value) -> Option<Self> {
        let text = |key: &str| json[key].as_str().map(str::to_owned);
        let points = serde_json::from_value(json["points"].clone()).ok()?;
        Some(Self { chart: text("chart")?, along: text("along")?, name: text("name")?, points })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{Curve, Curves};
    use crate::Result;

    #[test]
    fn a_point_goes_to_its_curve_and_comes_back_from_the_file() -> Result<()> {
        let mut curves = Curves::default();
        curves.add("memory, MB", "connections", "INCR", (1.0, 20.5));
        curves.add("memory, MB", "connections", "GET", (1.0, 21.0));
        curves.add("memory, MB", "connections", "INCR", (100.0, 30.0));
        assert_eq!(curves.0.len(), 2);
        assert_eq!(curves.0[0].points, [(1.0, 20.5), (100.0, 30.0)]);
        assert_eq!(Curve::of(&curves.0[0].json()).as_ref(), Some(&curves.0[0]));
        Ok(())
    }

    #[test]
    fn the_picture_has_the_curves_of_every_measurement_so_far() -> Result<()> {
        let dir = tempfile::tempdir()?;
        let lines =
            || Result::Ok(fs::read_to_string(dir.path().join("curves.svg"))?.matches("<polyline").count());
        let mut curves = Curves::default();
        curves.add("chart", "along", "one", (1.0, 2.0));
        curves.write(dir.path(), "growth")?;
        assert_eq!(lines()?, 1);
        curves.add("chart", "along", "another", (1.0, 2.0));
        curves.write(dir.path(), "idle")?;
        assert_eq!(lines()?, 3);
        curves.write(dir.path(), "idle")?;
        assert_eq!(lines()?, 3, "a second run of one measurement replaces the first");
        Ok(())
    }
}
