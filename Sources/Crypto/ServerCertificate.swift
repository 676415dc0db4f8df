import COpenSSL

#if canImport(Glibc)
  import Glibc
#endif

/// The certificate of a TLS server with its intermediate certificates, and its private key. Also what a client shows to
/// a server that asks for a certificate.
public struct ServerCertificate: Sendable, Equatable {
  /// The time in which clients accept a certificate.
  public enum Validity: Sendable, Equatable {
    case notYet, valid, expired
  }

  /// The server's own certificate and then the others, as PEM text. It contains nothing else.
  public let chain: String
  /// The key as PEM text (PKCS #8). A secret.
  public let key: String
  /// For example `CN=push.example.com`. May be empty.
  public let subject: String
  /// Unix seconds.
  public let start: Int64
  /// Unix seconds.
  public let expiry: Int64

  /// Reads PEM text. Text outside of the certificates and the key is ignored, so both may come from one file.
  public init(chain: [UInt8], key: [UInt8]) throws(ServerCertificateError) {
    let certificates = try CertificateChain(pem: chain)
    let privateKey = try PrivateKey(pem: key)
    try certificates.check(privateKey)
    self.chain = certificates.text
    self.key = privateKey.text
    subject = certificates.subject
    (start, expiry) = try certificates.period
  }

  /// `now` is in unix seconds.
  public func validity(at now: Int64) -> Validity {
    now < start ? .notYet : now > expiry ? .expired : .valid
  }

  /// Makes an `SSL_CTX` of OpenSSL show the certificate with its intermediate certificates. Returns false if OpenSSL
  /// reports an error.
  package func use(in context: OpaquePointer) -> Bool {
    ERR_clear_error()
    guard let chain = try? CertificateChain(pem: Array(chain.utf8)), let key = try? PrivateKey(pem: Array(key.utf8))
    else { return false }
    return chain.use(with: key, in: context)
  }
}

/// The certificates of a chain, at least one.
private struct CertificateChain {
  private let list: PEMCertificates

  init(pem: [UInt8]) throws(ServerCertificateError) {
    list = PEMCertificates(pem, limit: ServerCertificateError.maximumCertificates + 1)
    let count = list.certificates.count
    guard count <= ServerCertificateError.maximumCertificates else { throw .tooManyCertificates }
    guard list.isWhole else { throw .malformedCertificate(number: count + 1) }
    guard count > 0 else { throw .noCertificate }
  }

  var text: String {
    PEM.text { bio in list.certificates.allSatisfy { PEM_write_bio_X509(bio, $0) == 1 } }
  }

  var subject: String {
    PEM.text { bio in
      X509_NAME_print_ex(bio, X509_get_subject_name(list.certificates[0]), 0, martlet_rfc2253_name) >= 0
    }
  }

  /// The times of the server's own certificate, in unix seconds.
  var period: (start: Int64, end: Int64) {
    get throws(ServerCertificateError) {
      guard let start = CertificateChain.seconds(X509_get0_notBefore(list.certificates[0])),
        let end = CertificateChain.seconds(X509_get0_notAfter(list.certificates[0]))
      else { throw .malformedCertificate(number: 1) }
      return (start, end)
    }
  }

  func check(_ key: PrivateKey) throws(ServerCertificateError) {
    defer { ERR_clear_error() }
    guard let index = list.certificates.firstIndex(where: { key.belongs(to: $0) }) else { throw .otherKey }
    guard index == 0 else { throw .misplacedCertificate(number: index + 1) }
  }

  func use(with key: PrivateKey, in context: OpaquePointer) -> Bool {
    guard SSL_CTX_use_certificate(context, list.certificates[0]) == 1, key.use(in: context) else { return false }
    return list.certificates.dropFirst().allSatisfy { issuer in
      // SSL_CTX_add1_chain_cert is a macro.
      SSL_CTX_ctrl(context, SSL_CTRL_CHAIN_CERT, 1, UnsafeMutableRawPointer(issuer)) == 1
    }
  }

  private static func seconds(_ time: UnsafePointer<ASN1_TIME>?) -> Int64? {
    var parts = tm()
    return ASN1_TIME_to_tm(time, &parts) == 1 ? Int64(timegm(&parts)) : nil
  }
}

/// A private key that is not encrypted.
private final class PrivateKey {
  private let key: OpaquePointer

  init(pem: [UInt8]) throws(ServerCertificateError) {
    let text = String(decoding: pem, as: UTF8.self)
    guard text.contains("PRIVATE KEY-----") else { throw .noKey }
    guard !text.contains("ENCRYPTED") else { throw .encryptedKey }
    guard let key = pem.withUnsafeBytes(PrivateKey.read) else { throw .malformedKey }
    self.key = key
  }

  deinit {
    EVP_PKEY_free(key)
  }

  var text: String {
    PEM.text { PEM_write_bio_PrivateKey($0, key, nil, nil, 0, nil, nil) == 1 }
  }

  func belongs(to certificate: OpaquePointer) -> Bool {
    X509_check_private_key(certificate, key) == 1
  }

  func use(in context: OpaquePointer) -> Bool {
    SSL_CTX_use_PrivateKey(context, key) == 1
  }

  private static func read(_ bytes: UnsafeRawBufferPointer) -> OpaquePointer? {
    guard let bio = BIO_new_mem_buf(bytes.baseAddress, Int32(clamping: bytes.count)) else { return nil }
    defer {
      BIO_free(bio)
      ERR_clear_error()
    }
    // Without the closure OpenSSL would ask for a passphrase on the terminal.
    return PEM_read_bio_PrivateKey(bio, nil, { _, _, _, _ in -1 }, nil)
  }
}

private enum PEM {
  /// Returns the text that `write` writes.
  static func text(_ write: (OpaquePointer) -> Bool) -> String {
    guard let bio = BIO_new(BIO_s_mem()) else { preconditionFailure("OpenSSL is out of memory") }
    defer { BIO_free(bio) }
    precondition(write(bio), "OpenSSL cannot write what it has read")
    var text: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4096)
    while true {
      let count = BIO_read(bio, &buffer, Int32(buffer.count))
      guard count > 0 else { return String(decoding: text, as: UTF8.self) }
      text += buffer[..<Int(count)]
    }
  }
}
