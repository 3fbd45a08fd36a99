//! The servers for floe's ledgers, each with its URL for floe.

use std::ops::Deref;

use crate::{Consul, Dynalite, Etcd, Mariadb, Minio, Postgres, Redis, Server, Zookeeper};

/// A ledger's server, and its URL at a port: its own, or that of a proxy in front of it.
pub struct Rig {
    /// The server.
    pub server: Box<dyn Deref<Target = Server> + Send + Sync>,
    /// The ledger's URL at a port.
    pub url: Box<dyn Fn(u16) -> String + Send + Sync>,
    /// Whether the server has a clock that floe can read.
    pub has_clock: bool,
}

/// A server's name, and how to start a fresh one.
pub type Named = (&'static str, fn() -> Rig);

impl Rig {
    /// All of them.
    pub const ALL: [Named; 8] = [
        ("postgres", Self::postgres),
        ("mariadb", Self::mysql),
        ("redis", Self::redis),
        ("etcd", Self::etcd),
        ("zookeeper", Self::zookeeper),
        ("consul", Self::consul),
        ("minio", Self::minio),
        ("dynamodb", Self::dynamodb),
    ];

    /// A fresh PostgreSQL.
    pub fn postgres() -> Self {
        let url = |port| format!("postgres://postgres@127.0.0.1:{port}/postgres?max_wait=2s");
        Self { server: Box::new(Postgres::start(&[])), url: Box::new(url), has_clock: true }
    }

    /// A fresh MariaDB.
    pub fn mysql() -> Self {
        let url = |port| format!("mysql://root@127.0.0.1:{port}/floe?max_wait=2s");
        Self { server: Box::new(Mariadb::start(&[])), url: Box::new(url), has_clock: true }
    }

    /// A fresh Redis.
    pub fn redis() -> Self {
        let url = |port| format!("redis://127.0.0.1:{port}/0?max_wait=2s");
        Self { server: Box::new(Redis::start(&[])), url: Box::new(url), has_clock: true }
    }

    /// A fresh etcd.
    pub fn etcd() -> Self {
        let url = |port| format!("etcd://127.0.0.1:{port}/floe?max_wait=2s");
        Self { server: Box::new(Etcd::start(&[])), url: Box::new(url), has_clock: false }
    }

    /// A fresh Consul.
    pub fn consul() -> Self {
        let url = |port| format!("consul://127.0.0.1:{port}/floe?max_wait=2s");
        Self { server: Box::new(Consul::start(&[])), url: Box::new(url), has_clock: false }
    }

    /// A fresh ZooKeeper.
    pub fn zookeeper() -> Self {
        let url = |port| format!("zookeeper://127.0.0.1:{port}/floe?max_wait=2s");
        Self { server: Box::new(Zookeeper::start(&[], &[])), url: Box::new(url), has_clock: true }
    }

    /// A fresh MinIO.
    pub fn minio() -> Self {
        let server = Minio::start(&[]);
        let url = server.own_url("max_wait=2s");
        Self { server: Box::new(server), url: Box::new(url), has_clock: false }
    }

    /// A fresh Dynalite.
    pub fn dynamodb() -> Self {
        let server = Dynalite::start(&[]);
        let url = server.own_url("max_wait=2s");
        Self { server: Box::new(server), url: Box::new(url), has_clock: false }
    }
}
