import Foundation

/// A certificate of `localhost` that is its own authority, and its key, made by openssl.
public struct TestCertificate: Sendable {
  /// PEM text.
  public let chain: String
  public let key: String
  /// SHA-256 of the DER, in hexadecimal digits.
  public let digest: String

  /// - Parameters:
  ///   - key: arguments of `openssl req -newkey`.
  ///   - days: from now until it expires.
  public init(
    name: String = "localhost", key: [String] = ["ec", "-pkeyopt", "ec_paramgen_curve:P-256"], days: Int = 60
  ) async throws {
    let directory = try TemporaryDirectory()
    let (keyPath, path) = ("\(directory.path)/key.pem", "\(directory.path)/cert.pem")
    try await ChildProcess.run(
      "openssl",
      ["req", "-x509", "-newkey"] + key + ["-nodes", "-subj", "/CN=\(name)", "-days", "\(days)"]
        + ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", keyPath, "-out", path])
    chain = try String(contentsOfFile: path, encoding: .utf8)
    self.key = try String(contentsOfFile: keyPath, encoding: .utf8)
    digest = try await ChildProcess.run("openssl", ["x509", "-in", path, "-noout", "-fingerprint", "-sha256"])
      .drop { $0 != "=" }.filter(\.isHexDigit).lowercased()
  }

  /// Writes `cert.pem` and `key.pem`, each in one step, so that a reader never sees half of a file.
  public func write(to directory: TemporaryDirectory) throws {
    try key.write(toFile: "\(directory.path)/key.pem", atomically: true, encoding: .utf8)
    try chain.write(toFile: "\(directory.path)/cert.pem", atomically: true, encoding: .utf8)
  }
}

/// Clients that ask a server over HTTPS all the time.
public struct AskingClients: Sendable {
  public struct Report: Decodable, Sendable {
    public let requests: Int
    public let failures: [String]
    /// Digests, in the order in which they were first seen.
    public let certificates: [String]
    public let versions: [String]
  }

  private let process: ChildProcess

  public init(port: Int, clients: Int = 8) async throws {
    let script = URL(filePath: #filePath).appending(path: "../../TLSClients/keep-asking").standardizedFileURL
    process = try ChildProcess(script.path(), ["\(port)", "\(clients)"])
    try await process.line("that it asks") { $0 == "asking" }
  }

  /// Waits until a client has been shown the certificate.
  public func see(_ certificate: TestCertificate) async throws {
    try await process.line("a certificate") { $0 == certificate.digest }
  }

  public func stop() async throws -> Report {
    let code = try await process.stop()
    guard code == 0, let line = process.lines(of: .output).last else {
      throw TestTimeout("keep-asking ended with \(code): \(process.lines)")
    }
    return try JSONDecoder().decode(Report.self, from: Data(line.utf8))
  }
}
