//! Counters: ranges that are reserved ahead, durably, and handed out without a flush each. `statements.rs` says why.

use floe::ledger::{Key, LedgerError, Mark, Reply, Reserve};
use tokio_postgres::types::ToSql;

use super::Trouble;
use super::connect::Link;
use super::marks::{limits, position};
use super::statements::Call;

/// How many times the numbers of one call are reserved ahead: one call in so many waits for a flush, and a crash of
/// the server skips so much at most. PostgreSQL's own sequences write down 32 numbers at a time.
const AHEAD: u64 = 32;

/// What is left of a range that was reserved ahead.
#[derive(Clone, Copy)]
struct Ahead {
    used: u64,
    mark: u64,
}

/// One round trip as long as something is left of what was reserved ahead.
pub(super) async fn count(link: &mut Link, realm: &str, request: &Reserve) -> Result<Reply, Trouble> {
    let key = request.key.as_str();
    let [floor, count, ceiling] = limits(request);
    if let [row] = &*link.query(Call::Count, &[&realm, &key, &floor, &count, &ceiling]).await? {
        let (previous_mark, end) = (position(row, 0)?, position(row, 1)?);
        return Ok(Reply::Got { start: end - request.count, end, previous_mark });
    }
    let of_key: [&(dyn ToSql + Sync); 2] = [&realm, &key];
    link.transaction("BEGIN").await?;
    let mark = lock(link, realm, &request.key).await?;
    let row = link.query(Call::LockAhead, &of_key).await?;
    let left =
        row.first().map(|row| Ok::<_, Trouble>(Ahead { used: position(row, 0)?, mark: position(row, 1)? }));
    let (reply, written) = match ahead(mark, left.transpose()?, request) {
        Ok(step) => step,
        Err(error) => {
            link.transaction("ROLLBACK").await?;
            return Err(error.into());
        }
    };
    if let (Reply::Got { start, previous_mark, .. }, Some(ahead)) = (&reply, written) {
        let number = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
        let [previous, start, used, end] = [*previous_mark, *start, ahead.used, ahead.mark].map(number);
        let token = request.token.as_bytes().as_slice();
        link.execute(Call::WriteMark, &[&realm, &key, &previous, &start, &end, &token]).await?;
        link.execute(Call::WriteAhead, &[&realm, &key, &previous, &used, &end]).await?;
    }
    link.transaction("COMMIT").await?;
    Ok(reply)
}

/// What is answered, and what is left ahead then: the range that is left is made longer where it ends at the mark,
/// so that no number is skipped; otherwise a new one begins at the mark.
fn ahead(mark: u64, left: Option<Ahead>, request: &Reserve) -> Result<(Reply, Option<Ahead>), LedgerError> {
    let from = left.filter(|left| left.mark == mark).map_or(mark, |left| left.used);
    let found = Mark { mark: from, ..Mark::default() };
    let (reply, _) = Mark::reserve(Some(&found), request)?;
    let Reply::Got { end, .. } = reply else { return Ok((reply, None)) };
    // Not past what the caller may have of this key (the end of its day): others would be refused for no reason.
    let most = request.max_mark.saturating_add(request.count).min(floe::ledger::MAX_MARK);
    let wanted = end.saturating_add(request.count.saturating_mul(AHEAD)).min(most);
    Ok((reply, Some(Ahead { used: end, mark: wanted.max(end).max(mark) })))
}

/// Raises a mark, and what is used of the range that was reserved ahead of it.
pub(super) async fn raise(link: &mut Link, realm: &str, key: &Key, at_least: u64) -> Result<u64, Trouble> {
    link.transaction("BEGIN").await?;
    let mark = lock(link, realm, key).await?;
    let found = Mark { mark, ..Mark::default() };
    let raised = match found.raise(key, at_least) {
        Ok(raised) => raised,
        Err(error) => {
            link.transaction("ROLLBACK").await?;
            return Err(error.into());
        }
    };
    let [before, at_least] = [mark, at_least].map(|value| i64::try_from(value).unwrap_or(i64::MAX));
    if raised.is_some() {
        let none: Option<&[u8]> = None;
        link.execute(Call::WriteMark, &[&realm, &key.as_str(), &before, &before, &at_least, &none]).await?;
    }
    link.execute(Call::RaiseAhead, &[&realm, &key.as_str(), &at_least]).await?;
    link.transaction("COMMIT").await?;
    Ok(mark)
}

/// The mark of a record, locked for the rest of the transaction.
async fn lock(link: &mut Link, realm: &str, key: &Key) -> Result<u64, Trouble> {
    let rows = link.query(Call::LockMark, &[&realm, &key.as_str()]).await?;
    match rows.first() {
        Some(row) => Ok(position(row, 0)?),
        None => {
            link.transaction("ROLLBACK").await?;
            Err(LedgerError::Missing(key.clone()).into())
        }
    }
}
