#if canImport(Glibc)
  import Glibc
#endif

/// The directory with the files that a client needs: the authority's certificate and the provider key.
struct Workspace {
  static let keyID = "SIMULATOR1"
  static let teamID = "SIMTEAM001"
  static let bundleID = "com.example.demo"

  let directory: String

  /// Creates the directory if it is missing. Its files can be read only by their owner.
  init(directory: String?) throws(CredentialError) {
    umask(0o077)
    if let directory {
      guard mkdir(directory, 0o700) == 0 || errno == EEXIST else {
        throw .cannotWrite(path: directory, reason: String(cString: strerror(errno)))
      }
      self.directory = directory
      return
    }
    var template = Array("/tmp/apns-simulator-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else {
      throw .cannotWrite(path: "/tmp", reason: String(cString: strerror(errno)))
    }
    self.directory = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  var authorityPath: String { directory + "/ca.pem" }
  var keyPath: String { "\(directory)/AuthKey_\(Workspace.keyID).p8" }
  private var environmentPath: String { directory + "/provider.env" }

  /// Makes an authority and a server certificate that it signs, for this machine and `names`.
  func makeTLS(names: [String]) throws(CredentialError) -> TLSContext {
    let authorityKey = try PrivateKey()
    let authority = try Certificate.authority(named: "APNs simulator CA", key: authorityKey)
    try authority.write(to: authorityPath)
    let key = try PrivateKey()
    let server = try Certificate.localServer(names: names, key: key, issuer: authority, issuerKey: authorityKey)
    return try TLSContext(certificate: server, key: key)
  }

  /// Makes a provider key and writes it to its file.
  func makeProviderKey() throws(CredentialError) -> PublicKey {
    try PrivateKey().write(to: keyPath)
    return try PublicKey(path: keyPath)
  }

  /// Removes the files, and the directory if it is empty then.
  func remove() {
    for path in [authorityPath, keyPath, environmentPath] { unlink(path) }
    rmdir(directory)
  }

  /// Writes the settings of a worker that sends to this gateway, as shell lines.
  func writeEnvironment(url: String, keyID: String, teamID: String, keyPath: String?) throws(CredentialError) {
    var lines = ["APNS_KEY_ID=\(keyID)", "APNS_TEAM_ID=\(teamID)", "APNS_BUNDLE_ID=\(Workspace.bundleID)"]
    if let keyPath { lines.append("APNS_KEY_PATH=\(keyPath)") }
    lines += ["APNS_CA_CERT=\(authorityPath)", "APNS_ENDPOINT_OVERRIDE=\(url)"]
    // It knows the tokens of both environments.
    lines += ["APNS_SANDBOX_ENDPOINT_OVERRIDE=\(url)", ""]
    guard let file = fopen(environmentPath, "w") else {
      throw .cannotWrite(path: environmentPath, reason: String(cString: strerror(errno)))
    }
    defer { fclose(file) }
    guard fputs(lines.joined(separator: "\n"), file) >= 0 else {
      throw .cannotWrite(path: environmentPath, reason: String(cString: strerror(errno)))
    }
  }
}
