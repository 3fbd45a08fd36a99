//! What is looked at on every new connection: whether the ensemble has gone back, and the realm.

use floe::ledger::{LedgerError, Token};

use super::Trouble;
use super::jute::{Access, Request, code};
use super::layout::{self, Layout};
use super::link::{Line, Link, both};
use super::trouble::Error;
use crate::DEFAULT_REALM;
use crate::remote::{Wanted, realm as words};

/// How many other realms are named to who named none.
const OTHERS: usize = 20;

/// Makes the realm where it is missing, and returns its id and its paths. Where the id is `known`, it may not be
/// missing.
pub(super) async fn enter(
    line: &mut Line,
    path: &str,
    realm: &str,
    wanted: Wanted<'_>,
) -> Result<(String, Layout), Trouble> {
    let realm_path = layout::realm_path(path, realm);
    loop {
        // Whether the barrier holds is no matter: that the realm is missing would be agreed on as well.
        let replies = line.settle(&[Link::barrier(&realm_path), Request::Read { path: &realm_path }]).await?;
        let [_, read] = both(&replies)?;
        if let Some((data, _)) = read.data().map_err(Trouble::Store)? {
            let id = id_in(&data, line, &realm_path)?;
            refuse_to_close_an_open_realm(line, &realm_path).await?;
            if wanted.asks_for_others() {
                let beside = others(line, path).await?.into_iter().filter(|other| other != realm);
                words::is_the_only_one(realm, &beside.collect::<Vec<_>>(), &line.shown)?;
            }
            return Ok((id.clone(), Layout::new(&realm_path, &id)));
        }
        if !wanted.may_make(&line.shown, &format!("the realm {realm}"))? {
            return Err(wanted.is_not_there(realm, &others(line, path).await?, &line.shown).into());
        }
        if realm == DEFAULT_REALM {
            words::may_be_made(realm, &others(line, path).await?, &line.shown)?;
        }
        make(line, path, &realm_path).await?;
    }
}

/// With credentials, what floe makes is open to these alone; in a realm that is open to everybody, the floes without them, or
/// with others, could not read it. Wrong credentials are noticed by nothing else there.
async fn refuse_to_close_an_open_realm(line: &mut Line, realm_path: &str) -> Result<(), Trouble> {
    if line.access == Access::World {
        return Ok(());
    }
    let replies = line.session.ask(&[Request::Access { path: realm_path }]).await.map_err(Trouble::Store)?;
    let reply = replies.first().ok_or(Trouble::Store(Error::Garbled("no reply")))?;
    if !reply.is_open_to_all().map_err(Trouble::Store)? {
        return Ok(());
    }
    Err(LedgerError::Unfit(format!(
        "{} is open to everybody at {realm_path}, and floe was given a user and a password: others could not read what \
         it made there. Restrict the realm first (setAcl -R, see docs/ledgers.md), or leave the user and the password out (of the URL, \
         ZOOKEEPER_USER and ZOOKEEPER_PASSWORD)",
        line.shown
    ))
    .into())
}

fn id_in(data: &[u8], line: &Line, realm_path: &str) -> Result<String, LedgerError> {
    match layout::parse_realm(data) {
        Some((layout::VERSION, Some(id))) => Ok(id.to_owned()),
        Some((newer, _)) if newer > layout::VERSION => {
            Err(words::is_newer(&line.shown, newer, layout::VERSION))
        }
        _ => Err(words::is_damaged(&line.shown, &format!("the node {realm_path}"))),
    }
}

/// The realms beside the one that is missing.
async fn others(line: &mut Line, path: &str) -> Result<Vec<String>, Trouble> {
    let replies = line.session.ask(&[Request::Children { path }]).await.map_err(Trouble::Store)?;
    let Some(Some(mut names)) =
        replies.first().map(|reply| reply.children()).transpose().map_err(Trouble::Store)?
    else {
        return Ok(Vec::new());
    };
    names.sort_unstable();
    let mut others = Vec::new();
    for name in names.iter().take(OTHERS) {
        let path = format!("{path}/{name}");
        let replies = line.session.ask(&[Request::Read { path: &path }]).await.map_err(Trouble::Store)?;
        // Something else may live beside floe's realms.
        if let Some(Ok(Some((data, _)))) = replies.first().map(|reply| reply.data())
            && layout::parse_realm(&data).is_some()
        {
            others.extend(layout::unescaped(name));
        }
    }
    Ok(others)
}

/// Makes the nodes above the realm, and the realm with what it needs, unless another process is first.
async fn make(line: &mut Line, path: &str, realm_path: &str) -> Result<(), Trouble> {
    let access = line.access;
    let parents = path.match_indices('/').skip(1).map(|(end, _)| end).chain([path.len()]);
    for parent in parents.filter_map(|end| path.get(..end)) {
        // A node that is there may be one in which others may make none.
        let replies = line.settle(&[Request::Read { path: parent }]).await?;
        if replies.first().is_some_and(|reply| reply.code != code::NO_NODE) {
            continue;
        }
        let replies = line.settle(&[Request::Create { path: parent, data: b"", access }]).await?;
        if let Some(reply) = replies.first() {
            reply.is_done_or(&[code::NODE_EXISTS]).map_err(Trouble::Store)?;
        }
    }
    let id = Token::random()?.hex();
    let (layout, text) = (Layout::new(realm_path, &id), layout::realm_text(&id));
    let create = |path, data| Request::Create { path, data, access };
    let realm = Request::All(vec![
        create(realm_path, text.as_bytes()),
        create(&layout.root, b""),
        create(&layout.marks, b""),
        create(&layout.made, b""),
        create(&layout.definitions, b""),
        create(&layout.clock, b""),
    ]);
    let replies = line.settle(&[realm]).await?;
    match replies.first().map(|reply| reply.outcome()).transpose().map_err(Trouble::Store)? {
        Some(Ok(_) | Err((0, code::NODE_EXISTS))) => Ok(()),
        Some(Err((_, code))) => Err(Trouble::Store(Error::Code(code))),
        None => Err(Trouble::Store(Error::Garbled("no reply"))),
    }
}
