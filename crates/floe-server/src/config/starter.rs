//! The file that `floe config --new` writes: short, for people, valid as it is.

pub(super) const TEXT: &str = r##"# A configuration of floe. `floe config --defaults` shows every other setting, `floe config --check FILE` says what is
# wrong with this file, and `floe serve --config FILE` serves it.

# One name space of IDs in the ledger. It can never change: in another realm, a name has other marks and other IDs.
# Commands take it from this file (`floe marks list --config FILE`).
realm = "default"

# Where the ledger is, which remembers what was handed out: here a file of this machine, floe-data/floe.db. Several
# machines share a database instead (docs/ledgers.md), such as ledger = "postgres://floe@db/ids".
data_dir = "floe-data"

# Where to listen. Other machines can reach "0.0.0.0:7600"; then add a token (`floe token new`).
listen = ["127.0.0.1:7600"]

# A new segment or counter begins at 1, unless `first` says otherwise. With this line, a server makes one only if it
# has a `first`. So a forgotten or misspelled name cannot repeat the numbers of the system before floe.
new_names = "ask for first"

# One [[name]] for each name that clients ask for. The definition of a name (everything here except `first`) can never change.

# 64-bit IDs that are ordered in time.
[[name]]
name = "orders"
kind = "snowflake"
layout = "twitter"

# Numbers from reserved ranges. `first`: 1, or one more than the largest number that is in use.
[[name]]
name = "tickets"
kind = "segment"
first = 1

# 1, 2, 3, … strictly increasing over all servers; each call is a write to the ledger.
# [[name]]
# name = "visits"
# kind = "counter"
# first = 1

# A name for each key that begins with user-, made on first use.
# [[name]]
# name = "user-*"
# kind = "snowflake"
# layout = "twitter"
"##;
