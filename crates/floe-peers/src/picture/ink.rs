//! SVG elements, in tenths of a pixel.

use super::{AMBER, BarKind, GREEN, MarkKind, RED, TEXT, VIOLET};

/// A tenth of a pixel.
pub(super) type Tenths = i64;

/// A position, or a size.
#[derive(Clone, Copy)]
pub(super) struct Point {
    pub(super) x: Tenths,
    pub(super) y: Tenths,
}

/// Which end of a text lies at its position.
#[derive(Clone, Copy)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// How a text looks.
#[derive(Clone, Copy)]
pub(super) struct Look {
    colour: &'static str,
    /// In pixels.
    size: i64,
    bold: bool,
}

impl Look {
    pub(super) fn plain(colour: &'static str, size: i64) -> Self {
        Self { colour, size, bold: false }
    }

    pub(super) fn bold(colour: &'static str, size: i64) -> Self {
        Self { colour, size, bold: true }
    }

    /// A text's approximate width, rather too wide than too narrow: no font is measured.
    pub(super) fn width(self, words: &str) -> Tenths {
        let letters = i64::try_from(words.chars().count()).unwrap_or(0);
        letters * self.size * if self.bold { 68 } else { 60 } / 10
    }

    /// As much of a text as fits, with a sign if something is cut off; nothing if not even five letters fit.
    pub(super) fn fit(self, words: &str, width: Tenths) -> String {
        if self.width(words) <= width {
            return words.to_owned();
        }
        let letter = self.width("m").max(1);
        let letters = usize::try_from(width / letter - 1).unwrap_or(0);
        if letters < 5 { String::new() } else { words.chars().take(letters).chain(['…']).collect() }
    }
}

/// The things that the legend explains.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Sample {
    Mint,
    Mark(MarkKind),
    Span(super::SpanKind),
    Bar(BarKind),
    Rail,
    Overlap,
    Collision,
}

impl Sample {
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Mint | Self::Mark(MarkKind::Mint) => "mint",
            Self::Mark(MarkKind::Crash) => "crash",
            Self::Mark(MarkKind::Start) => "start",
            Self::Mark(MarkKind::Stop) => "stop",
            Self::Mark(MarkKind::ClockStep(_)) => "wall clock steps",
            Self::Mark(MarkKind::Fault) => "fault",
            Self::Mark(MarkKind::Refused) => "error to a caller",
            Self::Span(super::SpanKind::Down) => "down",
            Self::Span(super::SpanKind::Paused) => "paused",
            Self::Span(super::SpanKind::Partitioned) => "cut off",
            Self::Bar(BarKind::Window) => "window of time",
            Self::Bar(BarKind::Segment) => "segment of numbers",
            Self::Bar(BarKind::Claim) => "claim on a worker id",
            Self::Rail => "the time that a bar covers",
            Self::Overlap => "one worker id's time, covered twice",
            Self::Collision => "one ID, minted twice",
        }
    }
}

/// The text of a drawing.
pub(super) struct Ink(String);

impl Ink {
    pub(super) fn new(width: Tenths, height: Tenths, title: &str) -> Self {
        let (w, h) = (px(width), px(height));
        let mut ink = Self(format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{w}\" height=\"{h}\" viewBox=\"0 0 {w} {h}\" \
             font-family=\"DejaVu Sans, Verdana, Helvetica, Arial, sans-serif\">\n<title>{}</title>\n",
            escape(title)
        ));
        ink.put(
            "<defs>\n\
             <pattern id=\"down\" width=\"4\" height=\"4\" patternUnits=\"userSpaceOnUse\">\
             <rect width=\"4\" height=\"4\" fill=\"#d3d7dd\"/></pattern>\n\
             <pattern id=\"paused\" width=\"8\" height=\"8\" patternUnits=\"userSpaceOnUse\" \
             patternTransform=\"rotate(45)\"><rect width=\"8\" height=\"8\" fill=\"#eceef1\"/>\
             <rect width=\"3\" height=\"8\" fill=\"#b9bfc9\"/></pattern>\n\
             <pattern id=\"partitioned\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\">\
             <rect width=\"6\" height=\"6\" fill=\"#fdf3e3\"/><circle cx=\"3\" cy=\"3\" r=\"1.1\" fill=\"#e0a050\"/>\
             </pattern>\n\
             <pattern id=\"overlap\" width=\"4\" height=\"4\" patternUnits=\"userSpaceOnUse\">\
             <rect width=\"4\" height=\"4\" fill=\"#d01020\" fill-opacity=\"0.13\"/></pattern>\n\
             </defs>",
        );
        ink.area(Point { x: 0, y: 0 }, Point { x: width, y: height }, "#ffffff");
        ink
    }

    pub(super) fn finish(mut self) -> String {
        self.put("</svg>");
        self.0
    }

    fn put(&mut self, element: &str) {
        self.0.push_str(element);
        self.0.push('\n');
    }

    pub(super) fn area(&mut self, at: Point, size: Point, fill: &str) {
        let (x, y, w, h) = (px(at.x), px(at.y), px(size.x), px(size.y));
        self.put(&format!("<rect x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\" fill=\"{fill}\"/>"));
    }

    pub(super) fn line(&mut self, from: Point, to: Point, colour: &str, width: Tenths) {
        self.path(&format!("M{} {}L{} {}", px(from.x), px(from.y), px(to.x), px(to.y)), colour, width, "");
    }

    pub(super) fn dashes(&mut self, from: Point, to: Point, colour: &str) {
        let way = format!("M{} {}L{} {}", px(from.x), px(from.y), px(to.x), px(to.y));
        self.path(&way, colour, 15, " stroke-dasharray=\"4 3\"");
    }

    /// A bold line; a bow if both ends have one height.
    pub(super) fn stroke(&mut self, from: Point, to: Point, colour: &str) {
        let (x, y) = ((from.x + to.x) / 2, if from.y == to.y { from.y - 600 } else { (from.y + to.y) / 2 });
        let way = format!("M{} {}Q{} {} {} {}", px(from.x), px(from.y), px(x), px(y), px(to.x), px(to.y));
        self.path(&way, colour, 35, " stroke-linecap=\"round\"");
    }

    pub(super) fn ring(&mut self, at: Point, colour: &str) {
        let (x, y) = (px(at.x), px(at.y));
        self.put(&format!(
            "<circle cx=\"{x}\" cy=\"{y}\" r=\"6.5\" fill=\"#ffffff\" stroke=\"{colour}\" stroke-width=\"3\"/>"
        ));
    }

    pub(super) fn arrow(&mut self, from: Point, to: Point, colour: &str) {
        let (x, top, bottom) = (px(from.x), px(from.y - 40), px(from.y + 40));
        self.shape(&format!("M{x} {top}L{} {}L{x} {bottom}Z", px(to.x), px(to.y)), colour);
    }

    fn path(&mut self, way: &str, colour: &str, width: Tenths, more: &str) {
        let width = px(width);
        self.put(&format!(
            "<path d=\"{way}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\"{more}/>"
        ));
    }

    fn shape(&mut self, way: &str, fill: &str) {
        self.put(&format!("<path d=\"{way}\" fill=\"{fill}\"/>"));
    }

    pub(super) fn text(&mut self, at: Point, look: Look, anchor: Anchor, words: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let weight = if look.bold { " font-weight=\"bold\"" } else { "" };
        let (x, y, size, colour, words) = (px(at.x), px(at.y), look.size, look.colour, escape(words));
        self.put(&format!(
            "<text x=\"{x}\" y=\"{y}\" font-size=\"{size}\" fill=\"{colour}\" text-anchor=\"{anchor}\"{weight}>\
             {words}</text>"
        ));
    }

    /// A text in the middle of its own box.
    pub(super) fn tag(&mut self, at: Point, look: Look, words: &str) {
        let half = look.width(words) / 2 + 40;
        let (x, y) = (px(at.x - half), px(at.y - look.size * 10));
        let (w, h) = (px(half * 2), px(look.size * 14));
        self.put(&format!(
            "<rect x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\" rx=\"3\" fill=\"#ffffff\" stroke=\"{}\" \
             stroke-width=\"0.8\"/>",
            look.colour
        ));
        self.text(at, look, Anchor::Middle, words);
    }

    /// The text of a mark or a span.
    pub(super) fn words(&mut self, at: Point, colour: &'static str, words: &str) {
        let (x, y, words) = (px(at.x + 30), px(at.y + 105), escape(words));
        // It stays readable if a collision's line crosses it.
        self.put(&format!(
            "<text x=\"{x}\" y=\"{y}\" font-size=\"11\" fill=\"{colour}\" stroke=\"#f5f6f8\" stroke-width=\"3\" \
             paint-order=\"stroke\">{words}</text>"
        ));
    }

    /// The same on a flag.
    pub(super) fn flag(&mut self, at: Point, width: Tenths, colour: &str, words: &str) {
        self.area(at, Point { x: width, y: 140 }, colour);
        self.text(Point { x: at.x + 40, y: at.y + 105 }, Look::bold("#ffffff", 10), Anchor::Start, words);
    }

    pub(super) fn bar(&mut self, at: Point, size: Point, colour: &'static str, kind: BarKind, label: &str) {
        let (x, y, w, h) = (px(at.x), px(at.y), px(size.x), px(size.y));
        let (corner, line) = match kind {
            BarKind::Window => (4, ""),
            BarKind::Segment => (0, ""),
            BarKind::Claim => (4, " stroke-dasharray=\"5 3\""),
        };
        self.put(&format!(
            "<g><title>{}</title><rect x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\" rx=\"{corner}\" \
             fill=\"{colour}\" fill-opacity=\"0.22\" stroke=\"{colour}\" stroke-width=\"1.2\"{line}/>",
            escape(label)
        ));
        if kind == BarKind::Segment {
            self.area(at, Point { x: size.x.min(30), y: size.y }, colour);
        }
        let look = Look::plain(TEXT, 11);
        // A cut number would read as another number.
        let words = match kind {
            BarKind::Segment => look.fit(label, size.x - 80),
            _ if look.width(label) > size.x - 80 => String::new(),
            _ => label.to_owned(),
        };
        if !words.is_empty() {
            self.text(Point { x: at.x + 60, y: at.y + size.y - 45 }, look, Anchor::Start, &words);
        }
        self.put("</g>");
    }

    /// The sign of a mark that is neither a tick nor a flag.
    pub(super) fn sign(&mut self, at: Point, kind: MarkKind, colour: &str) {
        let corner = |x, y| format!("{} {}", px(at.x + x), px(at.y + y));
        match kind {
            MarkKind::Crash => {
                for y in [55, -55] {
                    let way = format!("M{}L{}", corner(-55, -y), corner(55, y));
                    self.path(&way, colour, 28, "");
                }
            }
            MarkKind::Start => {
                let way = format!("M{}L{}L{}Z", corner(-40, -60), corner(60, 0), corner(-40, 60));
                self.shape(&way, colour);
            }
            MarkKind::Stop => {
                self.area(Point { x: at.x - 45, y: at.y - 45 }, Point { x: 90, y: 90 }, colour);
            }
            MarkKind::Fault => {
                let (top, right, bottom, left) =
                    (corner(0, -65), corner(65, 0), corner(0, 65), corner(-65, 0));
                self.shape(&format!("M{top}L{right}L{bottom}L{left}Z"), colour);
            }
            MarkKind::Refused => {
                let (x, y) = (px(at.x), px(at.y));
                self.put(&format!(
                    "<circle cx=\"{x}\" cy=\"{y}\" r=\"3.5\" fill=\"#ffffff\" stroke=\"{AMBER}\" stroke-width=\"1.5\"/>"
                ));
            }
            MarkKind::Mint | MarkKind::ClockStep(_) => {
                self.line(Point { x: at.x, y: at.y - 60 }, Point { x: at.x, y: at.y + 60 }, colour, 14);
            }
        }
    }

    /// The legend's sample.
    pub(super) fn sample(&mut self, at: Point, sample: Sample) {
        let middle = Point { x: at.x + 120, y: at.y };
        let frame = (Point { x: at.x, y: at.y - 60 }, Point { x: 240, y: 120 });
        match sample {
            Sample::Mint => {
                for x in [60, 120, 180] {
                    self.sign(Point { x: at.x + x, y: at.y }, MarkKind::Mint, TEXT);
                }
            }
            Sample::Mark(kind @ MarkKind::ClockStep(_)) => {
                self.sign(Point { x: at.x, y: at.y }, kind, VIOLET);
                self.area(Point { x: at.x, y: at.y - 60 }, Point { x: 200, y: 80 }, VIOLET);
            }
            Sample::Mark(kind) => {
                let colour = match kind {
                    MarkKind::Crash => RED,
                    MarkKind::Start => GREEN,
                    MarkKind::Fault => AMBER,
                    _ => TEXT,
                };
                self.sign(middle, kind, colour);
            }
            Sample::Span(super::SpanKind::Down) => self.area(frame.0, frame.1, "url(#down)"),
            Sample::Span(super::SpanKind::Paused) => self.area(frame.0, frame.1, "url(#paused)"),
            Sample::Span(super::SpanKind::Partitioned) => self.area(frame.0, frame.1, "url(#partitioned)"),
            Sample::Bar(kind) => self.bar(frame.0, frame.1, "#0072b2", kind, ""),
            Sample::Rail => self.area(Point { x: at.x, y: at.y - 30 }, Point { x: 240, y: 60 }, "#0072b2"),
            Sample::Overlap => {
                self.area(frame.0, frame.1, "url(#overlap)");
                self.area(Point { x: at.x, y: at.y - 30 }, Point { x: 240, y: 60 }, RED);
            }
            Sample::Collision => {
                self.stroke(Point { x: at.x + 20, y: at.y + 40 }, Point { x: at.x + 220, y: at.y - 40 }, RED);
            }
        }
    }
}

fn px(tenths: Tenths) -> String {
    let sign = if tenths < 0 { "-" } else { "" };
    let size = tenths.unsigned_abs();
    if size.is_multiple_of(10) {
        format!("{sign}{}", size / 10)
    } else {
        format!("{sign}{}.{}", size / 10, size % 10)
    }
}

/// Text as XML allows it: special characters escaped, no control characters.
pub(super) fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            '\u{fffe}' | '\u{ffff}' => safe.push('\u{fffd}'),
            letter if letter.is_control() => safe.push(' '),
            letter => safe.push(letter),
        }
    }
    safe
}
