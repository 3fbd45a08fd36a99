//! The part of etcd's protocol that floe uses: messages of `etcdserverpb` and `mvccpb`, with the fields that floe reads
//! or sets. The numbers are those of etcd's `rpc.proto` and `kv.proto`.

use prost::{Message, Oneof};

/// A request, its path, and the type of its answer.
pub(super) trait Call: Message {
    type Answer: Message + Default;
    const PATH: &'static str;
}

impl Call for TxnRequest {
    type Answer = TxnResponse;
    const PATH: &'static str = "/etcdserverpb.KV/Txn";
}

impl Call for StatusRequest {
    type Answer = StatusResponse;
    const PATH: &'static str = "/etcdserverpb.Maintenance/Status";
}

impl Call for AuthenticateRequest {
    type Answer = AuthenticateResponse;
    const PATH: &'static str = "/etcdserverpb.Auth/Authenticate";
}

/// The cluster's id and revision, which every answer has.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Header {
    #[prost(uint64, tag = "1")]
    pub(super) cluster_id: u64,
    #[prost(int64, tag = "3")]
    pub(super) revision: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct KeyValue {
    #[prost(bytes = "vec", tag = "1")]
    pub(super) key: Vec<u8>,
    #[prost(bytes = "vec", tag = "5")]
    value: Vec<u8>,
}

/// Reads keys. It is linearizable, since it does not ask for `serializable`. The keys come in byte order, the order of
/// etcd's index. If the request asked for an order, etcd would read everything first.
#[derive(Clone, PartialEq, Message)]
pub(super) struct RangeRequest {
    #[prost(bytes = "vec", tag = "1")]
    pub(super) key: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    pub(super) range_end: Vec<u8>,
    #[prost(int64, tag = "3")]
    pub(super) limit: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct RangeResponse {
    #[prost(message, repeated, tag = "2")]
    pub(super) kvs: Vec<KeyValue>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct PutRequest {
    #[prost(bytes = "vec", tag = "1")]
    pub(super) key: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    pub(super) value: Vec<u8>,
}

/// A condition. Its field `result` is left at 0: equal.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Compare {
    #[prost(enumeration = "Target", tag = "2")]
    pub(super) target: i32,
    #[prost(bytes = "vec", tag = "3")]
    pub(super) key: Vec<u8>,
    #[prost(oneof = "Wanted", tags = "6, 7")]
    pub(super) wanted: Option<Wanted>,
}

/// The property of a key to compare. floe does not use the protocol's default, the count of versions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, prost::Enumeration)]
#[repr(i32)]
pub(super) enum Target {
    Version = 0,
    ModRevision = 2,
    Value = 3,
}

#[derive(Clone, PartialEq, Oneof)]
pub(super) enum Wanted {
    #[prost(int64, tag = "6")]
    ModRevision(i64),
    #[prost(bytes = "vec", tag = "7")]
    Value(Vec<u8>),
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Operation {
    #[prost(oneof = "Request", tags = "1, 2")]
    pub(super) request: Option<Request>,
}

#[derive(Clone, PartialEq, Oneof)]
pub(super) enum Request {
    #[prost(message, tag = "1")]
    Range(RangeRequest),
    #[prost(message, tag = "2")]
    Put(PutRequest),
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Outcome {
    #[prost(oneof = "Response", tags = "1")]
    pub(super) response: Option<Response>,
}

/// The answer to an operation of a transaction. floe uses only those of reads.
#[derive(Clone, PartialEq, Oneof)]
pub(super) enum Response {
    #[prost(message, tag = "1")]
    Range(RangeResponse),
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct TxnRequest {
    #[prost(message, repeated, tag = "1")]
    pub(super) compare: Vec<Compare>,
    #[prost(message, repeated, tag = "2")]
    pub(super) success: Vec<Operation>,
    #[prost(message, repeated, tag = "3")]
    pub(super) failure: Vec<Operation>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct TxnResponse {
    #[prost(message, optional, tag = "1")]
    pub(super) header: Option<Header>,
    #[prost(bool, tag = "2")]
    pub(super) succeeded: bool,
    #[prost(message, repeated, tag = "3")]
    pub(super) responses: Vec<Outcome>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct StatusRequest {}

#[derive(Clone, PartialEq, Message)]
pub(super) struct StatusResponse {
    #[prost(string, tag = "2")]
    pub(super) version: String,
    #[prost(bool, tag = "10")]
    pub(super) is_learner: bool,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct AuthenticateRequest {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(string, tag = "2")]
    pub(super) password: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct AuthenticateResponse {
    #[prost(string, tag = "2")]
    pub(super) token: String,
}

impl KeyValue {
    #[cfg(test)]
    pub(super) fn holding(text: &str) -> Self {
        Self { value: text.into(), ..Self::default() }
    }

    /// The value; empty if it is not UTF-8. Neither is a record.
    pub(super) fn text(self) -> String {
        String::from_utf8(self.value).unwrap_or_default()
    }
}

impl Compare {
    /// The condition that the key holds `text`, or, with `None`, that it does not exist: its revision is 0.
    pub(super) fn new(key: &[u8], text: Option<&str>) -> Self {
        let (target, wanted) = match text {
            Some(text) => (Target::Value, Wanted::Value(text.as_bytes().to_vec())),
            None => (Target::ModRevision, Wanted::ModRevision(0)),
        };
        Self { target: target.into(), key: key.to_vec(), wanted: Some(wanted) }
    }
}

impl Operation {
    pub(super) fn range(range: RangeRequest) -> Self {
        Self { request: Some(Request::Range(range)) }
    }

    pub(super) fn get(key: Vec<u8>) -> Self {
        Self::range(RangeRequest { key, ..RangeRequest::default() })
    }

    pub(super) fn put(key: &[u8], text: &str) -> Self {
        let (key, value) = (key.to_vec(), text.as_bytes().to_vec());
        Self { request: Some(Request::Put(PutRequest { key, value })) }
    }
}

impl TxnRequest {
    /// Reads these keys, and writes nothing.
    pub(super) fn look(keys: impl IntoIterator<Item = Vec<u8>>) -> Self {
        Self { success: keys.into_iter().map(Operation::get).collect(), ..Self::default() }
    }
}

impl TxnResponse {
    /// The results of a transaction's reads, in their order.
    pub(super) fn ranges(self) -> impl Iterator<Item = RangeResponse> {
        self.responses.into_iter().filter_map(|outcome| match outcome.response? {
            Response::Range(range) => Some(range),
        })
    }

    /// The texts that were found, if each read is of one key.
    pub(super) fn found(self) -> impl Iterator<Item = Option<String>> {
        self.ranges().map(|range| Some(range.kvs.into_iter().next()?.text()))
    }
}
