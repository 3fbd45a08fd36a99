//! A certificate authority made for one test, and a stranger whom nobody should trust.

use std::path::PathBuf;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};

use crate::Home;

/// Files of PEM in a server's home.
pub struct Certificates {
    /// The server's certificate.
    pub server: PathBuf,
    /// The server's private key.
    pub key: PathBuf,
    /// The authority that signed it.
    pub signer: PathBuf,
    /// Another authority.
    pub stranger: PathBuf,
}

impl Certificates {
    /// Makes them for a server that goes by `host`.
    pub fn for_host(host: &str, home: &Home) -> Self {
        let authority = |name: &str| {
            let mut params = CertificateParams::new([]).unwrap();
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
            params.distinguished_name.push(DnType::CommonName, name);
            CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
        };
        let (signer, stranger) = (authority("signer"), authority("stranger"));
        let key = KeyPair::generate().unwrap();
        let certificate =
            CertificateParams::new([host.to_owned()]).unwrap().signed_by(&key, &signer).unwrap();
        Self {
            server: home.write("server.pem", &certificate.pem()),
            key: home.write("server.key", &key.serialize_pem()),
            signer: home.write("signer.pem", &signer.pem()),
            stranger: home.write("stranger.pem", &stranger.pem()),
        }
    }
}
