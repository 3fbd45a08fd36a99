//! The date that hyper keeps in each thread that serves HTTP/1, even if its answers have none.
//!
//! hyper 1 makes it when a thread first serves a connection, panics if the clock shows a time before 1970, and makes
//! it again only when a later second begins. So each thread makes its date when it starts: a clock that steps back later does no harm.
//! A server that starts before 1970 has none. Until the clock is set right, it refuses requests that need hyper's HTTP/1.

use std::cell::Cell;
use std::convert::Infallible;
use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Waker};
use std::time::UNIX_EPOCH;

use axum::body::Body;
use axum::http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;

/// Whether a thread that serves began before 1970, and so without a date.
static WITHOUT: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// Whether this thread did. If it only waits for the ledger, that does no harm.
    static BEGAN_WITHOUT: Cell<bool> = const { Cell::new(false) };
}

/// Makes hyper's date of this thread. To be called when a thread of the server begins.
pub(crate) fn make() {
    if is_before_1970() {
        BEGAN_WITHOUT.set(true);
        return;
    }
    // A connection that is at its end as it begins.
    let service =
        service_fn(|_: Request<Incoming>| async { Ok::<_, Infallible>(Response::new(Body::empty())) });
    let connection = http1::Builder::new().serve_connection(TokioIo::new(tokio::io::empty()), service);
    let _ = pin!(connection).poll(&mut Context::from_waker(Waker::noop()));
}

/// Whether hyper may have no date to serve HTTP/1 with. To be called by a thread that serves.
pub(super) fn is_missing() -> bool {
    if BEGAN_WITHOUT.get() {
        WITHOUT.store(true, Ordering::Relaxed);
    }
    WITHOUT.load(Ordering::Relaxed) && is_before_1970()
}

fn is_before_1970() -> bool {
    UNIX_EPOCH.elapsed().is_err()
}
