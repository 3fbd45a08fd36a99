//! A comparison as a picture: a line for each row, a dot for each number of threads, nanoseconds on a scale of powers of
//! ten.

use std::fmt::Write;

use crate::compare::Line;
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
            name = line.name;
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
            "<circle cx=\"{:.1}\" cy=\"{y}\" r=\"4.5\" fill=\"{}\"><title>{}, {} threads: {nanos:.2} ns</title></circle>",
            x(nanos),
            colour(line.threads),
            escape(name),
            line.threads
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
    for limit in lines.iter().filter(|line| line.threads == 1 && [COUNTER, ATOMIC_ADD].contains(&line.name)) {
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

fn colour(threads: usize) -> &'static str {
    COLOURS.iter().rfind(|(from, _)| *from <= threads).map_or("#000", |(_, colour)| colour)
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::svg;
    use crate::compare::tests::line;
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
    fn without_a_figure_there_is_an_empty_picture() {
        assert!(svg(&[line("twice", 1, &[1], 1)]).starts_with("<svg"));
    }
}
