//! A certificate authority made for one test, and another one that nobody should trust.

use std::path::PathBuf;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};

use crate::Home;

/// PEM files in a server's home.
pub struct Certificates {
    /// The server's certificate.
    pub server: PathBuf,
    /// The server's private key.
    pub key: PathBuf,
    /// The authority that signed it.
    pub signer: PathBuf,
    /// A client's certificate of the same authority, for the DNS name `client.example`.
    pub client: PathBuf,
    /// That client's private key.
    pub client_key: PathBuf,
    /// Another authority.
    pub stranger: PathBuf,
}

impl Certificates {
    /// Makes them for a server with the name `host`.
    pub fn for_host(host: &str, home: &Home) -> Self {
        let authority = |name: &str| {
            let mut params = CertificateParams::new([]).unwrap();
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
            params.distinguished_name.push(DnType::CommonName, name);
            CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
        };
        let (signer, stranger) = (authority("signer"), authority("stranger"));
        let (key, client_key) = (KeyPair::generate().unwrap(), KeyPair::generate().unwrap());
        let certificate = |name: &str, key: &KeyPair| {
            CertificateParams::new([name.to_owned()]).unwrap().signed_by(key, &signer).unwrap().pem()
        };
        Self {
            server: home.write("server.pem", &certificate(host, &key)),
            key: home.write("server.key", &key.serialize_pem()),
            signer: home.write("signer.pem", &signer.pem()),
            client: home.write("client.pem", &certificate("client.example", &client_key)),
            client_key: home.write("client.key", &client_key.serialize_pem()),
            stranger: home.write("stranger.pem", &stranger.pem()),
        }
    }
}
