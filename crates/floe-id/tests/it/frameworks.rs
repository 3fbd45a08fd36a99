//! IDs in the paths of axum and the arguments of clap, which take any type that is read from text.

use clap::Parser;
use floe_id::kind::Ulid;
use floe_id::{Id, Layout, UnixMillis};

floe_id::id! { struct OrderId; }

#[derive(Parser)]
struct Arguments {
    id: Id,
    #[arg(long)]
    order: Option<OrderId>,
    #[arg(long)]
    session: Option<Ulid>,
    #[arg(long)]
    since: Option<UnixMillis>,
    #[arg(long, default_value = "twitter")]
    layout: Layout,
}

#[test]
fn clap_reads_ids_from_arguments() {
    let line = [
        "program",
        "7",
        "--order",
        "8",
        "--session",
        "01ARZ3NDEKTSV4RRFFQ69G5FAV",
        "--since",
        "2026-11-23T00:00:00Z",
    ];
    let read = Arguments::try_parse_from(line).unwrap();
    assert_eq!((read.id.get(), read.order.map(OrderId::get), read.layout), (7, Some(8), Layout::TWITTER));
    assert_eq!(read.session.unwrap().to_string(), "01ARZ3NDEKTSV4RRFFQ69G5FAV");
    assert_eq!(read.since.unwrap().to_string(), "2026-11-23T00:00:00.000Z");
    let error = Arguments::try_parse_from(["program", "007"]).err().unwrap().to_string();
    assert!(error.contains("invalid value '007' for '<ID>': an ID has no leading zeros: write 7"), "{error}");
}

#[cfg(feature = "serde")]
mod axum_paths {
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use axum::Router;
    use axum::body::Body;
    use axum::extract::Path;
    use axum::http::{Request, StatusCode};
    use axum::routing::get;
    use tower::ServiceExt;

    use super::{Id, OrderId, Ulid};

    /// What is never pending.
    fn ready<T>(future: impl Future<Output = T>) -> T {
        match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(ready) => ready,
            Poll::Pending => panic!("nothing here waits"),
        }
    }

    fn answer(path: &str) -> (StatusCode, String) {
        let app = Router::new()
            .route("/ids/{id}", get(|Path(id): Path<Id>| async move { id.to_string() }))
            .route(
                "/orders/{order}/{session}",
                get(|Path((order, session)): Path<(OrderId, Ulid)>| async move { format!("{order:?} {session}") }),
            );
        let answer = ready(app.oneshot(Request::get(path).body(Body::empty()).unwrap())).unwrap();
        let status = answer.status();
        let body = ready(axum::body::to_bytes(answer.into_body(), 1 << 16)).unwrap();
        (status, String::from_utf8(body.to_vec()).unwrap())
    }

    #[test]
    fn a_path_holds_ids() {
        assert_eq!(answer("/ids/9223372036854775807"), (StatusCode::OK, Id::MAX.to_string()));
        let session = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
        assert_eq!(
            answer(&format!("/orders/7/{session}")),
            (StatusCode::OK, format!("OrderId(7) {session}"))
        );
        for (path, error) in [
            ("/ids/-1", "'-' at byte 0 is not a decimal digit"),
            ("/ids/9223372036854775808", "the largest is 9223372036854775807"),
            ("/ids/007", "an ID has no leading zeros: write 7"),
            ("/orders/7/8", "1 bytes are no ULID"),
        ] {
            let (status, body) = answer(path);
            assert_eq!(status, StatusCode::BAD_REQUEST, "{path}");
            assert!(body.contains(error), "{path}: {body}");
        }
    }
}
