import Foundation

/// An answer of a program of Martlet, received by curl.
public struct WebAnswer: Sendable {
  public let status: Int
  /// Names in lower case; repeated fields are joined by a comma.
  public let headers: [String: String]
  public let body: String

  /// `user`: a name and a password, joined by a colon. Header fields may repeat.
  public static func ask(
    port: Int, _ method: String, _ path: String, _ fields: [(String, String)] = [], user: String? = nil,
    body: String? = nil
  ) async throws -> WebAnswer {
    var arguments = curl(method, fields)
    if let user { arguments += ["--user", user] }
    if body != nil { arguments += ["--data-binary", "@-"] }
    return WebAnswer(
      try await ChildProcess.run("curl", arguments + ["http://127.0.0.1:\(port)\(path)"], input: body ?? ""))
  }

  public static func ask(
    port: Int, _ method: String, _ path: String, _ headers: [String: String], body: String? = nil
  ) async throws -> WebAnswer {
    try await ask(port: port, method, path, headers.map { ($0.key, $0.value) }, body: body)
  }

  /// Sends a request with a body of any bytes.
  public static func ask(
    port: Int, _ method: String, _ path: String, fields: [(String, String)], bytes: [UInt8] = []
  ) async throws -> WebAnswer {
    let directory = try TemporaryDirectory()
    defer { directory.remove() }
    let file = "\(directory.path)/body"
    try Data(bytes).write(to: URL(fileURLWithPath: file))
    let arguments = curl(method, fields) + ["--data-binary", "@\(file)", "http://127.0.0.1:\(port)\(path)"]
    return WebAnswer(try await ChildProcess.run("curl", arguments))
  }

  private static func curl(_ method: String, _ fields: [(String, String)]) -> [String] {
    var arguments = ["-sS", "-i", "--path-as-is", "--globoff", "-X", method, "-H", "Expect:"]
    for (name, value) in fields { arguments += ["-H", value.isEmpty ? "\(name);" : "\(name): \(value)"] }
    if method == "HEAD" { arguments.append("--head") }
    return arguments
  }

  /// Reads header lines and body as curl prints them. Converts line ends of the body to `\n`.
  private init(_ text: String) {
    var lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
    status = Int(lines.removeFirst().split(separator: " ").dropFirst().first ?? "") ?? 0
    var headers: [String: String] = [:]
    while let line = lines.first, !line.isEmpty {
      lines.removeFirst()
      let parts = line.split(separator: ":", maxSplits: 1)
      guard parts.count == 2 else { continue }
      let (name, value) = (parts[0].lowercased(), String(parts[1].drop { $0 == " " }))
      headers[name] = headers[name].map { "\($0), \(value)" } ?? value
    }
    self.headers = headers
    body = lines.dropFirst().joined(separator: "\n")
  }
}
