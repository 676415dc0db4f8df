/// Why a certificate and a key cannot be used.
public enum ServerCertificateError: Error, Sendable, Equatable {
  /// Of one file. Many more would hold up the process that reads them.
  static let maximumCertificates = 16

  case noCertificate
  /// Counted from 1.
  case malformedCertificate(number: Int)
  /// The key belongs to another certificate than the first. Counted from 1.
  case misplacedCertificate(number: Int)
  case tooManyCertificates
  case noKey
  case encryptedKey
  case malformedKey
  /// The key belongs to none of the certificates.
  case otherKey

  /// Whether the fault is in the text of the key, not in that of the certificates.
  public var isOfKey: Bool {
    switch self {
    case .noCertificate, .malformedCertificate, .misplacedCertificate, .tooManyCertificates: false
    case .noKey, .encryptedKey, .malformedKey, .otherKey: true
    }
  }

  /// What is wrong, as the rest of a sentence about the file.
  public var reason: String {
    switch self {
    case .noCertificate: "contains no certificate in PEM form (-----BEGIN CERTIFICATE-----)"
    case .malformedCertificate(let number): "has a malformed certificate (number \(number))"
    case .misplacedCertificate(let number):
      "begins with another certificate than that of the key, which is number \(number)"
    case .tooManyCertificates: "contains more than \(ServerCertificateError.maximumCertificates) certificates"
    case .noKey: "contains no private key in PEM form (-----BEGIN PRIVATE KEY-----)"
    case .encryptedKey: "contains an encrypted private key"
    case .malformedKey: "contains a malformed private key"
    case .otherKey: "contains a private key that does not belong to the certificate"
    }
  }

  /// What the file must contain.
  public var expected: String {
    switch self {
    case .noCertificate, .malformedCertificate, .misplacedCertificate, .tooManyCertificates:
      "PEM text: the certificate, then its intermediate certificates"
    case .noKey, .malformedKey: "PEM text: the private key of the certificate"
    case .encryptedKey: "a key without passphrase (openssl pkey -in KEY -out NEW), readable by the service only"
    case .otherKey: "the private key that the certificate was requested with"
    }
  }
}
