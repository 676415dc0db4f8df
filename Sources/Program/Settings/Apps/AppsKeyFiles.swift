package import HTTPClient
package import JSON

/// The files that the file of the apps names, each read once.
package struct AppsKeyFiles {
  /// A .p8 file has about 260 bytes.
  private static let maximumKeyBytes = 64 * 1024
  private static let maximumCertificateBytes = 1024 * 1024
  private static let certificateExtensions = [".p12", ".pfx", ".cer", ".crt", ".der"]

  /// Names that other servers have for a push certificate, in lower case.
  private static let certificateNames: Set = [
    "cert", "certpath", "certfile", "certificate", "certificatepath", "certificatefile", "pem", "pempath", "pfx",
    "pfxpath", "p12", "p12path", "pkcs12", "passphrase",
  ]

  /// The word for push certificates, and what to do.
  package static let certificatesUnsupported =
    "certificates (.p12, .pem) are not supported: APNs token authentication with a .p8 key is"
  package static let keyInstead =
    "keyId and path of a .p8 key: create it under Certificates, Identifiers & Profiles, Keys of the developer account"

  /// What to say of a field that is for a push certificate.
  package static func advice(onField name: String) -> (seen: String, expected: String)? {
    certificateNames.contains(name.lowercased()) ? (certificatesUnsupported, keyInstead) : nil
  }

  private let directory: String
  private var keys: [String: Result<String, InvalidValue>] = [:]
  private var authorities: [String: Result<TrustedCertificates, InvalidValue>] = [:]

  /// Paths are relative to `directory`.
  package init(directory: String) {
    self.directory = directory
  }

  /// Returns the text of a .p8 file.
  package mutating func key(_ path: String) throws(InvalidValue) -> String {
    if let known = keys[path] { return try known.get() }
    let result = Result { () throws(InvalidValue) in try readKey(path) }
    keys[path] = result
    return try result.get()
  }

  /// Returns the certificates of a PEM file.
  package mutating func authorities(_ path: String) throws(InvalidValue) -> TrustedCertificates {
    if let known = authorities[path] { return try known.get() }
    let result = Result { () throws(InvalidValue) in try readAuthorities(path) }
    authorities[path] = result
    return try result.get()
  }

  private func readKey(_ path: String) throws(InvalidValue) -> String {
    let bytes = try contents(
      path, AppsKeyFiles.maximumKeyBytes, expected: "the .p8 file of the key, relative to this file")
    let name = ValueQuote.text(path, as: .path)
    let text = String(decoding: bytes, as: UTF8.self)
    // A .p12 or DER file is one ASN.1 sequence.
    let isBinary = bytes.first == 0x30 && bytes.count > 1 && bytes[1] >= 0x80
    let isOldKind = text.contains("BEGIN CERTIFICATE") || text.contains("BEGIN RSA PRIVATE KEY")
    if isBinary || isOldKind || AppsKeyFiles.certificateExtensions.contains(where: path.lowercased().hasSuffix) {
      throw InvalidValue(seen: "\(name): \(AppsKeyFiles.certificatesUnsupported)", expected: AppsKeyFiles.keyInstead)
    }
    guard text.contains("-----BEGIN") else {
      throw InvalidValue(
        seen: "the file \(name) does not contain PEM", expected: "a file that begins with -----BEGIN PRIVATE KEY-----")
    }
    return text
  }

  private func readAuthorities(_ path: String) throws(InvalidValue) -> TrustedCertificates {
    let expected = "a PEM file of one or more certificates, relative to this file"
    let bytes = try contents(path, AppsKeyFiles.maximumCertificateBytes, expected: expected)
    do throws(HTTPClientError) {
      return try TrustedCertificates(pem: String(decoding: bytes, as: UTF8.self))
    } catch {
      throw InvalidValue(seen: "the file \(ValueQuote.text(path, as: .path)): \(error)", expected: expected)
    }
  }

  private func contents(_ path: String, _ maximumBytes: Int, expected: String) throws(InvalidValue) -> [UInt8] {
    try SettingFile.read(
      path.hasPrefix("/") ? path : "\(directory)/\(path)", "the file \(ValueQuote.text(path, as: .path))",
      maximumBytes: maximumBytes, expected: expected)
  }
}
