//! A logged-in connection: statements in, rows out.
//!
//! Source: MySQL source code documentation, "Text Protocol" and "Multi-Statement". One packet may hold several
//! statements. Each is answered in turn, and after the first failure the rest do not run.

use super::channel::Channel;
use super::fields::Fields;
use super::trouble::Error;

const QUIT: u8 = 0x01;
const QUERY: u8 = 0x03;

/// This status flag says that another answer follows.
const MORE_RESULTS: u16 = 0x0008;

/// A logged-in connection.
pub(super) struct Session(Channel);

/// The answer to one statement.
#[derive(Default)]
pub(super) struct Answer {
    /// How many rows it made or changed.
    pub(super) affected: u64,
    pub(super) rows: Vec<Row>,
}

/// The columns of a row, as text.
pub(super) struct Row(Vec<Option<Vec<u8>>>);

impl Row {
    /// The text of a column; `None` if it is NULL or missing.
    pub(super) fn text(&self, column: usize) -> Option<&str> {
        std::str::from_utf8(self.0.get(column)?.as_deref()?).ok()
    }
}

impl Session {
    pub(super) fn new(channel: Channel) -> Self {
        Self(channel)
    }

    pub(super) fn is_silent(&self) -> bool {
        self.0.is_silent()
    }

    /// Runs the statements in `sql`, and returns an answer for each.
    pub(super) async fn query(&mut self, sql: &str) -> Result<Vec<Answer>, Error> {
        self.0.ask(QUERY, sql.as_bytes()).await?;
        let mut answers = Vec::new();
        loop {
            let (answer, status) = self.answer().await?;
            answers.push(answer);
            if status & MORE_RESULTS == 0 {
                return Ok(answers);
            }
        }
    }

    /// Says goodbye and closes.
    pub(super) async fn quit(mut self) -> Result<(), Error> {
        self.0.ask(QUIT, &[]).await?;
        self.0.close().await
    }

    async fn answer(&mut self) -> Result<(Answer, u16), Error> {
        let packet = self.0.receive().await?;
        let mut fields = Fields(&packet);
        match packet.first() {
            Some(0x00) => {
                fields.u8()?;
                let affected = fields.number()?.unwrap_or_default();
                let _last_insert_id = fields.number()?;
                Ok((Answer { affected, rows: Vec::new() }, fields.u16()?))
            }
            Some(0xff) => Err(Error::from_packet(&packet)),
            // LOCAL INFILE: the server requests a file of this machine.
            Some(0xfb) | None => Err(Error::Protocol("an answer to a statement that floe has not sent")),
            Some(_) => {
                let columns = fields.number()?.unwrap_or_default();
                // The column descriptions, and the packet that ends them.
                for _ in 0..=columns {
                    self.0.receive().await?;
                }
                self.rows(columns).await
            }
        }
    }

    async fn rows(&mut self, columns: u64) -> Result<(Answer, u16), Error> {
        let mut rows = Vec::new();
        loop {
            let packet = self.0.receive().await?;
            let mut fields = Fields(&packet);
            match packet.first() {
                Some(0xff) => return Err(Error::from_packet(&packet)),
                Some(0xfe) if packet.len() < 9 => {
                    fields.take(3)?;
                    return Ok((Answer { affected: 0, rows }, fields.u16()?));
                }
                _ => {
                    let cells = (0..columns).map(|_| Ok(fields.cell()?.map(<[u8]>::to_vec)));
                    rows.push(Row(cells.collect::<Result<_, Error>>()?));
                }
            }
        }
    }
}
