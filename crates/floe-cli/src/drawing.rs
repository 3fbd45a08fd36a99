//! The bits of an ID, or of a layout, drawn in a terminal.
//!
//! The text has colours in it, by which a field of the drawing is found again; [`print_painted`](crate::table::print_painted)
//! takes them out where no terminal shows them.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use floe::inspect::BitField;
use floe::layout::Field;

/// A run of bits with a name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Cell {
    pub(crate) name: String,
    pub(crate) bits: u32,
    /// Where it begins, counted from the lowest bit, 0.
    pub(crate) shift: u32,
    /// Its value; `None` in a layout, which has no values.
    pub(crate) value: Option<u128>,
}

/// How wide a drawing may be, its indentation of two left out.
const COLUMNS: usize = 98;
/// A field of more bits would not fit, and is drawn in pieces.
const WIDEST: u32 = 90;
/// How many bits a piece has.
const PIECE: u32 = 64;

/// Those that are read on a dark and on a light ground.
const COLOURS: [AnsiColor; 6] = [
    AnsiColor::Cyan,
    AnsiColor::Yellow,
    AnsiColor::Magenta,
    AnsiColor::Green,
    AnsiColor::Blue,
    AnsiColor::Red,
];

impl From<&BitField> for Cell {
    fn from(field: &BitField) -> Self {
        Self { name: field.name.clone(), bits: field.bits, shift: field.shift, value: Some(field.value) }
    }
}

impl From<&Field> for Cell {
    fn from(field: &Field) -> Self {
        Self { name: field.name().to_owned(), bits: field.bits(), shift: field.shift(), value: None }
    }
}

/// A box for each cell, high to low, with the numbers of its first and last bit above; in several rows if one would
/// be too wide.
pub(crate) fn draw(cells: &[Cell]) -> String {
    let mut text = String::new();
    let mut row: Vec<Shown> = Vec::new();
    for (at, cell) in cells.iter().enumerate() {
        let style = match COLOURS.get(at % COLOURS.len()) {
            Some(colour) => colour.on_default(),
            None => Style::new(),
        };
        for piece in pieces(cell) {
            let shown = Shown::new(&piece, style);
            let columns: usize = row.iter().map(|other| other.width + 3).sum();
            if !row.is_empty() && columns + shown.width + 4 > COLUMNS {
                finish(&mut text, &row);
                row.clear();
            }
            row.push(shown);
        }
    }
    finish(&mut text, &row);
    text
}

/// The cell itself, or pieces of it that fit a row.
fn pieces(cell: &Cell) -> Vec<Cell> {
    if cell.bits <= WIDEST {
        return vec![cell.clone()];
    }
    let mut pieces = Vec::new();
    let mut left = cell.bits;
    while left > 0 {
        // The last piece, the lowest, is a whole one.
        let bits = if left.is_multiple_of(PIECE) { PIECE } else { left % PIECE };
        left -= bits;
        let mask = u128::MAX >> (u128::BITS - bits);
        let name = if pieces.is_empty() { cell.name.clone() } else { format!("… {}", cell.name) };
        let value = cell.value.map(|value| value.checked_shr(left).unwrap_or(0) & mask);
        pieces.push(Cell { name, bits, shift: cell.shift + left, value });
    }
    pieces
}

/// The texts of a cell.
struct Shown {
    first: String,
    last: String,
    bits: String,
    name: String,
    width: usize,
    style: Style,
}

impl Shown {
    fn new(cell: &Cell, style: Style) -> Self {
        let digits = usize::try_from(cell.bits).unwrap_or(0);
        let (low, high) = (cell.shift, cell.shift + cell.bits.saturating_sub(1));
        let first = high.to_string();
        // A field of one bit has one number.
        let last = if high == low { String::new() } else { low.to_string() };
        let bits = match cell.value {
            Some(value) => format!("{value:0digits$b}"),
            None if cell.bits == 1 => "1 bit".to_owned(),
            None => format!("{} bits", cell.bits),
        };
        let numbers = first.len() + last.len() + usize::from(!last.is_empty());
        let width = digits.max(bits.len()).max(cell.name.chars().count()).max(numbers);
        Self { first, last, bits, name: cell.name.clone(), width, style }
    }
}

fn finish(text: &mut String, row: &[Shown]) {
    let rule = |left: &str, between: &str, right: &str| {
        let lines: Vec<String> = row.iter().map(|shown| "─".repeat(shown.width + 2)).collect();
        format!("  {left}{}{right}\n", lines.join(between))
    };
    let mut numbers = String::from(" ");
    let (mut bits, mut names) = (String::from("  "), String::from("  "));
    for Shown { first, last, bits: digits, name, width, style } in row {
        let gap = width.saturating_sub(first.len() + last.len());
        let _ = write!(numbers, "   {first}{}{last}", " ".repeat(gap));
        let _ = write!(bits, "│ {style}{digits:^width$}{style:#} ");
        let _ = write!(names, "│ {style}{name:^width$}{style:#} ");
    }
    let _ = writeln!(text, "{}", numbers.trim_end());
    text.push_str(&rule("┌", "┬", "┐"));
    let _ = writeln!(text, "{bits}│\n{names}│");
    text.push_str(&rule("└", "┴", "┘"));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(cells: &[Cell]) -> String {
        anstream::adapter::strip_str(&draw(cells)).to_string()
    }

    /// All binary digits of the drawing, in order.
    fn digits(drawing: &str) -> String {
        let lines = drawing.lines().filter(|line| line.contains('│'));
        lines.flat_map(str::chars).filter(|c| matches!(c, '0' | '1')).collect()
    }

    #[test]
    fn the_drawing_holds_the_bits_themselves() {
        let number: u128 = 0x017f_22e2_79b0_7cc3_98c4_dc0c_0c07_398f;
        let fields = [("a", 48), ("b", 4), ("c", 12), ("d", 2), ("e", 62)];
        let mut below = 128;
        let cells: Vec<Cell> = fields
            .iter()
            .map(|&(name, bits)| {
                below -= bits;
                let value = Some(number >> below & (u128::MAX >> (128 - bits)));
                Cell { name: name.to_owned(), bits, shift: below, value }
            })
            .collect();
        let drawing = plain(&cells);
        assert_eq!(u128::from_str_radix(&digits(&drawing), 2), Ok(number), "{drawing}");
        assert!(drawing.starts_with("    127   "), "{drawing}");
        assert!(drawing.lines().all(|line| line.chars().count() <= 100), "{drawing}");
    }

    #[test]
    fn a_field_too_wide_for_a_row_is_drawn_in_pieces() {
        let cell =
            |name: &str, bits, shift, value| Cell { name: name.to_owned(), bits, shift, value: Some(value) };
        let drawing = plain(&[cell("time", 32, 128, 5), cell("payload", 128, 0, u128::MAX - 1)]);
        let digits = digits(&drawing);
        assert_eq!(digits.len(), 160, "{drawing}");
        assert!(digits.starts_with(&format!("{:032b}1111", 5)) && digits.ends_with("1110"), "{drawing}");
        assert!(drawing.contains("… payload") && drawing.contains("127"), "{drawing}");
        assert!(drawing.lines().all(|line| line.chars().count() <= 100), "{drawing}");
    }

    #[test]
    fn every_line_of_a_box_is_as_wide_as_the_others() {
        let layout = floe::Layout::TWITTER;
        let cells: Vec<Cell> = layout.fields().map(Cell::from).collect();
        let drawing = plain(&cells);
        let widths: Vec<usize> = drawing.lines().skip(1).map(|line| line.chars().count()).collect();
        assert_eq!(widths.len(), 4, "{drawing}");
        assert!(widths.windows(2).all(|pair| pair[0] == pair[1]), "{drawing}");
        assert!(drawing.contains("41 bits") && drawing.contains("sequence"), "{drawing}");
    }
}
