import APNs

/// The files that the file of the apps names, each read once.
struct AppsKeyFiles {
  /// A .p8 file has about 260 bytes.
  private static let maximumKeyBytes = 64 * 1024
  private static let maximumCertificateBytes = 1024 * 1024
  private static let certificateExtensions = [".p12", ".pfx", ".cer", ".crt", ".der"]

  /// The word for push certificates, and what to do.
  static let certificatesUnsupported =
    "certificates (.p12, .pem) are not supported: APNs token authentication with a .p8 key is"
  static let keyInstead =
    "keyId and path of a .p8 key: create it under Certificates, Identifiers & Profiles, Keys of the developer account"

  /// Why a file cannot be used.
  struct Fault: Error, Equatable {
    let seen: String
    let expected: String
  }

  private let directory: String
  private let read: @Sendable (_ path: String, _ maximumBytes: Int) throws(SettingFile.Fault) -> [UInt8]
  private var keys: [String: Result<String, Fault>] = [:]
  private var authorities: [String: Result<TrustedAuthorities, Fault>] = [:]

  /// Paths are relative to `directory`.
  init(
    directory: String,
    read: @escaping @Sendable (_ path: String, _ maximumBytes: Int) throws(SettingFile.Fault) -> [UInt8] = {
      path, maximumBytes throws(SettingFile.Fault) in try SettingFile.read(path, maximumBytes: maximumBytes)
    }
  ) {
    self.directory = directory
    self.read = read
  }

  /// Returns the text of a .p8 file.
  mutating func key(_ path: String) throws(Fault) -> String {
    if let known = keys[path] { return try known.get() }
    let result = Result { () throws(Fault) in try readKey(path) }
    keys[path] = result
    return try result.get()
  }

  /// Returns the certificates of a PEM file.
  mutating func authorities(_ path: String) throws(Fault) -> TrustedAuthorities {
    if let known = authorities[path] { return try known.get() }
    let result = Result { () throws(Fault) in try readAuthorities(path) }
    authorities[path] = result
    return try result.get()
  }

  private func readKey(_ path: String) throws(Fault) -> String {
    let bytes = try contents(
      path, AppsKeyFiles.maximumKeyBytes, expected: "the .p8 file of the key, relative to this file")
    let name = SettingQuote.text(path, as: .path)
    let text = String(decoding: bytes, as: UTF8.self)
    // A .p12 or DER file is one ASN.1 sequence.
    let isBinary = bytes.first == 0x30 && bytes.count > 1 && bytes[1] >= 0x80
    let isOldKind = text.contains("BEGIN CERTIFICATE") || text.contains("BEGIN RSA PRIVATE KEY")
    if isBinary || isOldKind || AppsKeyFiles.certificateExtensions.contains(where: path.lowercased().hasSuffix) {
      throw Fault(seen: "\(name): \(AppsKeyFiles.certificatesUnsupported)", expected: AppsKeyFiles.keyInstead)
    }
    guard text.contains("-----BEGIN") else {
      throw Fault(
        seen: "the file \(name) does not contain PEM", expected: "a file that begins with -----BEGIN PRIVATE KEY-----")
    }
    return text
  }

  private func readAuthorities(_ path: String) throws(Fault) -> TrustedAuthorities {
    let expected = "a PEM file of one or more certificates, relative to this file"
    let bytes = try contents(path, AppsKeyFiles.maximumCertificateBytes, expected: expected)
    do throws(APNsError) {
      return try TrustedAuthorities(pem: String(decoding: bytes, as: UTF8.self))
    } catch {
      throw Fault(seen: "the file \(SettingQuote.text(path, as: .path)): \(error)", expected: expected)
    }
  }

  private func contents(_ path: String, _ maximumBytes: Int, expected: String) throws(Fault) -> [UInt8] {
    do throws(SettingFile.Fault) {
      return try read(path.hasPrefix("/") ? path : "\(directory)/\(path)", maximumBytes)
    } catch {
      throw Fault(
        seen: "the file \(SettingQuote.text(path, as: .path)) \(error.reason)", expected: error.expected ?? expected)
    }
  }
}
