//! A comparison as a picture: a line for each row, a dot for each number of threads, nanoseconds on a scale of powers of
//! ten. And curves as one picture: a chart for each figure, both scales of powers of ten.

use std::fmt::Write;

use crate::compare::Line;
use crate::curves::Curve;
use crate::limits::{ATOMIC_ADD, COUNTER};

const LEFT: f64 = 330.0;
const WIDTH: f64 = 560.0;
const STEP: f64 = 18.0;
const TOP: f64 = 60.0;
/// For 1, 2, 4, 8 and more threads: colours that colour-blind readers can distinguish (Okabe, Ito).
const COLOURS: [(usize, &str); 5] =
    [(1, "#0072b2"), (2, "#e69f00"), (4, "#009e73"), (8, "#d55e00"), (16, "#cc79a7")];

/// The picture.
pub(crate) fn svg(lines: &[Line]) -> String {
    let figures: Vec<f64> = lines.iter().filter_map(Line::nanos).collect();
    let (least, most) =
        figures.iter().fold((f64::MAX, 0.0_f64), |(least, most), &nanos| (least.min(nanos), most.max(nanos)));
    if figures.is_empty() {
        return "<svg xmlns=\"http://www.w3.org/2000/svg\"/>\n".to_owned();
    }
    let (from, to) = (least.log10().floor(), most.log10().ceil());
    let x = |nanos: f64| LEFT + WIDTH * (nanos.log10() - from) / (to - from);
    let (mut body, mut y) = (String::new(), TOP);
    let (mut group, mut name) = ("", "");
    for line in lines {
        if line.group != group {
            group = line.group;
            y += 1.5 * STEP;
            let _ = writeln!(body, "<text x=\"10\" y=\"{y}\" font-weight=\"bold\">{}</text>", escape(group));
        }
        if line.name != name {
            name = &line.name;
            y += STEP;
            let _ = writeln!(
                body,
                "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>",
                LEFT - 12.0,
                y + 4.0,
                escape(name)
            );
            let _ = writeln!(body, "<path d=\"M{LEFT} {y}h{WIDTH}\" stroke=\"#ddd\"/>");
        }
        let Some(nanos) = line.nanos() else { continue };
        let _ = writeln!(
            body,
            "<circle cx=\"{:.1}\" cy=\"{y}\" r=\"4.5\" fill=\"{}\"><title>{}{}: {nanos:.2} ns</title></circle>",
            x(nanos),
            colour(line.threads),
            escape(name),
            // A server's name says how many clients it has.
            if line.threads == 0 { String::new() } else { format!(", {} threads", line.threads) }
        );
    }
    let bottom = y + STEP;
    let mut scale = String::new();
    let mut power = from;
    while power <= to {
        let at = x(10_f64.powf(power));
        let _ = writeln!(scale, "<path d=\"M{at:.1} {TOP}V{bottom}\" stroke=\"#bbb\"/>");
        let _ = writeln!(
            scale,
            "<text x=\"{at:.1}\" y=\"{}\" text-anchor=\"middle\">{} ns</text>",
            TOP - 6.0,
            10_f64.powf(power)
        );
        power += 1.0;
    }
    // No row is expected to the left of these.
    for limit in lines.iter().filter(|line| line.threads == 1 && [COUNTER, ATOMIC_ADD].contains(&&*line.name))
    {
        if let Some(nanos) = limit.nanos() {
            let at = x(nanos);
            let _ = writeln!(
                scale,
                "<path d=\"M{at:.1} {TOP}V{bottom}\" stroke=\"#0072b2\" stroke-dasharray=\"3 3\"/>"
            );
        }
    }
    let mut legend = String::new();
    for (place, (threads, colour)) in COLOURS.iter().enumerate() {
        let at = LEFT + 90.0 * f64::from(u32::try_from(place).unwrap_or_default());
        let _ = writeln!(
            legend,
            "<circle cx=\"{at}\" cy=\"16\" r=\"4.5\" fill=\"{colour}\"/><text x=\"{}\" y=\"20\">{threads} threads</text>",
            at + 9.0
        );
    }
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n<text x=\"10\" y=\"20\">wall time an ID; dashed: the limits on 1 thread</text>\n\
         {legend}{scale}{body}</svg>\n",
        LEFT + WIDTH + 40.0,
        bottom + 10.0
    )
}

/// The size of a chart, the space around it, and how many stand beside one another.
const CHART: (f64, f64) = (260.0, 170.0);
const SPACE: (f64, f64) = (70.0, 170.0);
const ABREAST: usize = 3;

/// One chart for each figure, with a line for each curve. A figure of nothing has no place on a scale of powers of ten,
/// and is left out.
pub(crate) fn curves(curves: &[Curve]) -> String {
    let mut charts: Vec<&str> = Vec::new();
    for curve in curves {
        if !charts.contains(&&*curve.chart) {
            charts.push(&curve.chart);
        }
    }
    let mut body = String::new();
    let float = |count: usize| f64::from(u32::try_from(count).unwrap_or_default());
    for (place, name) in charts.iter().enumerate() {
        let drawn: Vec<&Curve> = curves.iter().filter(|curve| curve.chart == *name).collect();
        let left = SPACE.0 + float(place % ABREAST) * (CHART.0 + SPACE.0);
        let top = 40.0 + float(place / ABREAST) * (CHART.1 + SPACE.1);
        chart(&mut body, &drawn, left, top);
    }
    let width = SPACE.0 / 2.0 + float(ABREAST) * (CHART.0 + SPACE.0);
    let height = float(charts.len().div_ceil(ABREAST)) * (CHART.1 + SPACE.1) + 20.0;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" font-size=\"11\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n{body}</svg>\n"
    )
}

fn chart(body: &mut String, curves: &[&Curve], left: f64, top: f64) {
    let points = || curves.iter().flat_map(|curve| &curve.points).filter(|(x, y)| *x > 0.0 && *y > 0.0);
    let across = Scale::over(points().map(|(x, _)| *x));
    let up = Scale::over(points().map(|(_, y)| *y));
    let (x, y) = (
        |value: f64| left + CHART.0 * across.share(value),
        |value: f64| top + CHART.1 * (1.0 - up.share(value)),
    );
    let (right, bottom) = (left + CHART.0, top + CHART.1);
    let title = curves.first().map_or("", |curve| &*curve.chart);
    let along = curves.first().map_or("", |curve| &*curve.along);
    let _ = writeln!(
        body,
        "<text x=\"{left}\" y=\"{}\" font-weight=\"bold\">{}</text>",
        top - 10.0,
        escape(title)
    );
    let _ = writeln!(
        body,
        "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
        left + CHART.0 / 2.0,
        bottom + 32.0,
        escape(along)
    );
    for power in across.powers() {
        let (at, label) = (x(power), short(power));
        let _ = writeln!(
            body,
            "<path d=\"M{at:.1} {top}V{bottom}\" stroke=\"#ddd\"/><text x=\"{at:.1}\" y=\"{}\" text-anchor=\"middle\">{label}</text>",
            bottom + 15.0
        );
    }
    for power in up.powers() {
        let (at, label) = (y(power), short(power));
        let _ = writeln!(
            body,
            "<path d=\"M{left} {at:.1}H{right}\" stroke=\"#ddd\"/><text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>",
            left - 6.0,
            at + 4.0
        );
    }
    let mut row = bottom + 48.0;
    for (curve, (_, colour)) in curves.iter().zip(COLOURS.iter().cycle()) {
        let shown = curve.points.iter().filter(|(x, y)| *x > 0.0 && *y > 0.0);
        let corners: Vec<String> = shown.map(|(a, b)| format!("{:.1},{:.1}", x(*a), y(*b))).collect();
        let _ = writeln!(
            body,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>",
            corners.join(" ")
        );
        for corner in &corners {
            let (x, y) = corner.split_once(',').unwrap_or_default();
            let _ = writeln!(body, "<circle cx=\"{x}\" cy=\"{y}\" r=\"3\" fill=\"{colour}\"/>");
        }
        let _ = writeln!(
            body,
            "<path d=\"M{left} {row}h20\" stroke=\"{colour}\" stroke-width=\"2\"/><text x=\"{}\" y=\"{}\">{}</text>",
            left + 26.0,
            row + 4.0,
            escape(&curve.name)
        );
        row += 15.0;
    }
}

/// A scale of powers of ten.
struct Scale {
    from: f64,
    to: f64,
}

impl Scale {
    /// The powers around these values, at least one step.
    fn over(values: impl Iterator<Item = f64>) -> Self {
        let (least, most) = values.fold((f64::MAX, 0.0_f64), |(least, most), v| (least.min(v), most.max(v)));
        if most == 0.0 {
            return Self { from: 0.0, to: 1.0 };
        }
        let from = least.log10().floor();
        Self { from, to: most.log10().ceil().max(from + 1.0) }
    }

    fn share(&self, value: f64) -> f64 {
        (value.log10() - self.from) / (self.to - self.from)
    }

    fn powers(&self) -> impl Iterator<Item = f64> {
        let to = self.to;
        std::iter::successors(Some(self.from), move |power| Some(power + 1.0).filter(|next| *next <= to))
            .map(|power| 10_f64.powf(power))
    }
}

/// A power of ten in few letters.
fn short(power: f64) -> String {
    match power {
        1e6.. => format!("{}M", power / 1e6),
        1e3.. => format!("{}k", power / 1e3),
        // The power of a negative number is off by its last bits.
        _ => format!("{power:.4}").trim_end_matches('0').trim_end_matches('.').to_owned(),
    }
}

fn colour(threads: usize) -> &'static str {
    COLOURS.iter().rfind(|(from, _)| *from <= threads).map_or("#000", |(_, colour)| colour)
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::{curves, short, svg};
    use crate::compare::tests::line;
    use crate::curves::Curve;
    use crate::limits::COUNTER;

    #[test]
    fn there_is_a_dot_for_each_line_that_counts() {
        let lines = [
            line(COUNTER, 1, &[2], 0),
            line("a < b & c", 1, &[5], 0),
            line("a < b & c", 2, &[7], 0),
            line("twice", 1, &[1], 1),
        ];
        let picture = svg(&lines);
        assert_eq!(picture.matches("<title>").count(), 3, "{picture}");
        assert!(picture.contains("a &lt; b &amp; c, 2 threads: 7.00 ns"));
        assert!(picture.contains(">1 ns<") && picture.contains(">10 ns<") && !picture.contains(">100 ns<"));
    }

    #[test]
    fn a_curve_is_a_line_in_its_chart() {
        let curve = |chart: &str, name: &str, points: &[(f64, f64)]| Curve {
            chart: chart.to_owned(),
            along: "names".to_owned(),
            name: name.to_owned(),
            points: points.to_vec(),
        };
        let picture = curves(&[
            curve("memory", "a < b", &[(1.0, 1.0), (100.0, 10.0)]),
            curve("time", "c", &[(1.0, 5.0)]),
            curve("memory", "d", &[(10.0, 1.0), (0.0, 1.0)]),
        ]);
        // From corner to corner of its chart; and half way along its lower edge.
        assert!(picture.contains("points=\"70.0,210.0 330.0,40.0\""), "{picture}");
        assert!(picture.contains("points=\"200.0,210.0\""), "{picture}");
        assert_eq!(picture.matches("<polyline").count(), 3);
        assert_eq!(picture.matches("font-weight=\"bold\"").count(), 2, "one chart for both of memory");
        assert!(picture.contains("a &lt; b") && picture.contains(">100<") && !picture.contains(">1k<"));
        assert!(curves(&[curve("none", "e", &[])]).starts_with("<svg"));
    }

    #[test]
    fn a_power_of_ten_is_short() {
        let powers = [-2, 0, 2, 3, 5, 6].map(|power| short(10_f64.powi(power)));
        assert_eq!(powers, ["0.01", "1", "100", "1k", "100k", "1M"]);
    }

    #[test]
    fn without_a_figure_there_is_an_empty_picture() {
        assert!(svg(&[line("twice", 1, &[1], 1)]).starts_with("<svg"));
    }
}
