//! The one list of protocols.

use floe_wire::Protocol;

/// Hands the list to a macro: each protocol's module below `fronts`, and its codec. The protocols are tried in this
/// order, because the beginning of a Redis line also begins lines of other protocols.
macro_rules! protocols {
    ($with:ident) => {
        $with! {
            http: floe_wire::http,
            #[cfg(feature = "protocol-memcached")]
            memcached: floe_wire::memcached,
            #[cfg(feature = "protocol-thrift")]
            thrift: floe_wire::thrift,
            #[cfg(feature = "protocol-mysql")]
            mysql: floe_wire::mysql,
            // The example, in tests alone.
            #[cfg(test)]
            lines: crate::lines_codec,
            #[cfg(feature = "protocol-resp")]
            resp: floe_wire::resp,
        }
    };
}
pub(crate) use protocols;

macro_rules! declared {
    ($($(#[$when:meta])* $front:ident: $($codec:ident)::+,)+) => {
        &[$($(#[$when])* &$($codec)::+::PROTOCOL),+]
    };
}

/// Every protocol that is built in.
pub(crate) const PROTOCOLS: &[&Protocol] = protocols!(declared);

/// The protocol with this word; `None` if no built-in protocol has it.
pub(crate) fn protocol(word: &str) -> Option<&'static Protocol> {
    PROTOCOLS.iter().copied().find(|protocol| protocol.word == word)
}
