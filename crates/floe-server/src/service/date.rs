//! The `Date` of answers.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::Service;

/// A date as HTTP writes it: `Sun, 06 Nov 1994 08:49:37 GMT`.
pub(crate) type DateText = [u8; 29];

/// The date of the steady clock, made once a second at the most.
#[derive(Default)]
pub(super) struct Dates(Mutex<Option<(Instant, Option<DateText>)>>);

impl Service {
    /// The date at `now`, and when it changes. There is no date while the clock is outside the years that HTTP can write.
    pub(crate) fn date(&self, now: Instant) -> (Instant, Option<DateText>) {
        let mut made = self.dates.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(date) = made.filter(|(until, _)| now < *until) {
            return date;
        }
        let millis = self.floe.steady_time().get();
        let left = u64::try_from(1000 - millis.rem_euclid(1000)).unwrap_or(1000);
        let date = (now + Duration::from_millis(left), text(millis));
        *made = Some(date);
        date
    }
}

fn text(millis: i64) -> Option<DateText> {
    let time = jiff::Timestamp::from_millisecond(millis).ok().filter(|_| millis >= 0)?;
    let text = time.to_zoned(jiff::tz::TimeZone::UTC).strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
    text.as_bytes().try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_is_written_as_http_wants_it_or_not_at_all() {
        assert_eq!(text(784_111_777_999).unwrap(), *b"Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(text(0).unwrap(), *b"Thu, 01 Jan 1970 00:00:00 GMT");
        assert_eq!(text(-1), None);
        assert_eq!(text(i64::MAX), None);
    }
}
