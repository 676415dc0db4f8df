import Foundation

/// `openssl s_server` with a certificate of an authority of its own: TLS, and nothing behind it.
public final class TLSServer: Sendable {
  public let port: Int
  /// PEM text.
  public let authority: String
  private let process: ChildProcess
  private let directory: TemporaryDirectory

  /// - Parameters:
  ///   - names: the certificate's subjectAltName; nil for a certificate without one.
  ///   - alpn: protocols by ALPN; nil: the server takes no part in it.
  public init(names: String? = "DNS:localhost,IP:127.0.0.1", commonName: String = "localhost", alpn: String? = nil)
    async throws
  {
    directory = try TemporaryDirectory()
    port = try freePort()
    let path = directory.path
    let key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    try await ChildProcess.run(
      "openssl",
      ["req", "-x509"] + key + ["-subj", "/CN=Test CA", "-days", "2"]
        + ["-keyout", "\(path)/ca.key", "-out", "\(path)/ca.pem"])
    try await ChildProcess.run(
      "openssl",
      ["req"] + key + ["-subj", "/CN=\(commonName)", "-keyout", "\(path)/key.pem", "-out", "\(path)/request.pem"])
    let extensions = names.map { "subjectAltName=\($0)\n" } ?? "basicConstraints=CA:FALSE\n"
    try extensions.write(toFile: "\(path)/extensions", atomically: true, encoding: .utf8)
    try await ChildProcess.run(
      "openssl",
      ["x509", "-req", "-in", "\(path)/request.pem", "-CA", "\(path)/ca.pem", "-CAkey", "\(path)/ca.key"]
        + ["-CAcreateserial", "-days", "2", "-extfile", "\(path)/extensions", "-out", "\(path)/cert.pem"])
    authority = try String(contentsOfFile: "\(path)/ca.pem", encoding: .utf8)
    process = try ChildProcess(
      "openssl",
      ["s_server", "-www", "-accept", "127.0.0.1:\(port)", "-cert", "\(path)/cert.pem", "-key", "\(path)/key.pem"]
        + (alpn.map { ["-alpn", $0] } ?? []))
    try await process.line("that it accepts") { $0.hasPrefix("ACCEPT") }
  }

  deinit {
    process.signal(SIGKILL)
  }
}
