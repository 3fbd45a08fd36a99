//! How the fields of a packet are read. No byte from a server is trusted: no field is read past its packet.

use super::trouble::Error;

/// The unread rest of a packet.
pub(super) struct Fields<'a>(pub(super) &'a [u8]);

impl<'a> Fields<'a> {
    pub(super) fn take(&mut self, length: usize) -> Result<&'a [u8], Error> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or(Error::Protocol("a packet cut short"))?;
        self.0 = rest;
        Ok(taken)
    }

    fn bytes<const LENGTH: usize>(&mut self) -> Result<[u8; LENGTH], Error> {
        let taken = self.take(LENGTH)?;
        taken.try_into().map_err(|_| Error::Protocol("a packet cut short"))
    }

    pub(super) fn u8(&mut self) -> Result<u8, Error> {
        self.bytes().map(u8::from_le_bytes)
    }

    pub(super) fn u16(&mut self) -> Result<u16, Error> {
        self.bytes().map(u16::from_le_bytes)
    }

    /// A length-encoded integer, or `None` for NULL.
    pub(super) fn number(&mut self) -> Result<Option<u64>, Error> {
        Ok(Some(match self.u8()? {
            0xfb => return Ok(None),
            0xfc => self.u16()?.into(),
            0xfd => {
                let [low, middle, high] = self.bytes()?;
                u32::from_le_bytes([low, middle, high, 0]).into()
            }
            0xfe => self.bytes().map(u64::from_le_bytes)?,
            0xff => return Err(Error::Protocol("an error where a number belongs")),
            small => small.into(),
        }))
    }

    /// A length-encoded string, or NULL.
    pub(super) fn cell(&mut self) -> Result<Option<&'a [u8]>, Error> {
        let Some(length) = self.number()? else { return Ok(None) };
        let length = usize::try_from(length).map_err(|_| Error::TooLong)?;
        self.take(length).map(Some)
    }

    /// The bytes before the next zero, or the whole rest.
    pub(super) fn until_zero(&mut self) -> &'a [u8] {
        let end = self.0.iter().position(|byte| *byte == 0);
        let (text, rest) = self.0.split_at(end.unwrap_or(self.0.len()));
        self.0 = rest.get(1..).unwrap_or_default();
        text
    }
}

impl Error {
    /// The error in a packet that is one.
    pub(super) fn from_packet(packet: &[u8]) -> Self {
        let mut fields = Fields(packet);
        let (Ok(_), Ok(code)) = (fields.u8(), fields.u16()) else {
            return Self::Protocol("an error without a number");
        };
        // `#` and five characters of SQLSTATE. A server that refuses a connection leaves them out.
        let text = match fields.0 {
            [b'#', rest @ ..] => rest.get(5..).unwrap_or_default(),
            text => text,
        };
        Self::Server { code, message: String::from_utf8_lossy(text).into_owned() }
    }
}
