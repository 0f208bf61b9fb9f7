//! Encryption of the connection, in libpq's modes ("SSL Support" in PostgreSQL's manual).

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::error::DatabaseError;

/// What is demanded of the encryption: the `sslmode` of an address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encryption {
    /// None.
    Disable,
    /// If the server offers it; its certificate is not checked.
    #[default]
    Prefer,
    /// Always; the certificate is checked as with `VerifyCa` if there are certificates to check it against.
    Require,
    /// Always, with a certificate of a trusted authority.
    VerifyCa,
    /// Always, with a certificate of a trusted authority for the name of the host.
    VerifyFull,
}

impl Encryption {
    pub(crate) const ALL: [(&'static str, Self); 5] = [
        ("disable", Self::Disable),
        ("prefer", Self::Prefer),
        ("require", Self::Require),
        ("verify-ca", Self::VerifyCa),
        ("verify-full", Self::VerifyFull),
    ];

    /// True if it cannot be had without certificates of authorities.
    pub(crate) fn needs_roots(self) -> bool {
        matches!(self, Self::VerifyCa | Self::VerifyFull)
    }
}

/// What connects in this mode, trusting these certificates (PEM).
pub(crate) fn connector(
    encryption: Encryption,
    roots: Option<&[u8]>,
) -> Result<MakeRustlsConnect, DatabaseError> {
    let provider = Arc::new(ring::default_provider());
    let is_checked = !matches!(encryption, Encryption::Disable | Encryption::Prefer);
    let trusted = match roots.filter(|_| is_checked) {
        Some(pem) => Some(Trusted::new(pem, &provider)?),
        None if encryption.needs_roots() => return Err(DatabaseError::NoRoots),
        None => None,
    };
    let is_named = encryption == Encryption::VerifyFull;
    let verifier = Verifier { provider: Arc::clone(&provider), trusted, is_named };
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| DatabaseError::BadRoots(error.to_string()))?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}

#[derive(Debug)]
struct Trusted {
    certificates: Vec<CertificateDer<'static>>,
    chains: Arc<WebPkiServerVerifier>,
}

impl Trusted {
    fn new(pem: &[u8], provider: &Arc<CryptoProvider>) -> Result<Self, DatabaseError> {
        let bad = |error: String| DatabaseError::BadRoots(error);
        let certificates: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(pem)
            .collect::<Result<_, _>>()
            .map_err(|error| bad(error.to_string()))?;
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(certificates.iter().cloned());
        let chains = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider));
        let chains = chains.build().map_err(|error| bad(error.to_string()))?;
        Ok(Self { certificates, chains })
    }
}

/// Checks certificates as far as the mode demands, and always that the server has the key of its certificate.
#[derive(Debug)]
struct Verifier {
    provider: Arc<CryptoProvider>,
    trusted: Option<Trusted>,
    is_named: bool,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(Trusted { certificates, chains }) = &self.trusted else {
            return Ok(ServerCertVerified::assertion());
        };
        // A certificate that signed itself is its own authority. Many servers of PostgreSQL have one; a chain of it is none for webpki.
        if certificates.iter().any(|trusted| trusted == certificate) {
            if self.is_named {
                verify_server_name(&ParsedCertificate::try_from(certificate)?, name)?;
            }
            return Ok(ServerCertVerified::assertion());
        }
        // The name is checked last: where it is wrong, the chain is right.
        match chains.verify_server_cert(certificate, intermediates, name, ocsp_response, now) {
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if !self.is_named => Ok(ServerCertVerified::assertion()),
            other => other,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
