import Foundation
import JSON
import TestSupport

/// An answer of the sidecar, received by curl.
struct WebAnswer {
  let status: Int
  /// Names in lower case; repeated fields are joined by a comma.
  let headers: [String: String]
  let body: String

  /// The body as JSON, or nil if it is not JSON.
  var json: JSONValue? { try? JSONValue(parsing: Array(body.utf8)) }

  var error: String? { json?["error"]?.string }

  static func ask(
    port: Int, _ method: String, _ path: String, _ headers: [String: String] = [:], body: String? = nil
  ) async throws -> WebAnswer {
    var arguments = ["-sS", "-i", "--path-as-is", "--globoff", "--max-time", "20", "-X", method]
    for (name, value) in headers { arguments += ["-H", value.isEmpty ? "\(name);" : "\(name): \(value)"] }
    if body != nil { arguments += ["--data-binary", "@-", "-H", "Expect:"] }
    if method == "HEAD" { arguments.append("--head") }
    let text = try await ChildProcess.run(
      "curl", arguments + ["http://127.0.0.1:\(port)\(path)"], input: body ?? "")
    return WebAnswer(text)
  }

  /// Reads header lines and body as curl prints them. Converts line ends of the body to `\n`.
  init(_ text: String) {
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

extension WebAnswer {
  /// Sends a request with header fields that may repeat and a body of any bytes.
  static func ask(
    port: Int, _ method: String, _ path: String, fields: [(String, String)], bytes: [UInt8] = []
  ) async throws -> WebAnswer {
    let directory = try TemporaryDirectory()
    defer { directory.remove() }
    let file = "\(directory.path)/body"
    try Data(bytes).write(to: URL(fileURLWithPath: file))
    var arguments = ["-sS", "-i", "--path-as-is", "--globoff", "--max-time", "20", "-X", method, "-H", "Expect:"]
    for (name, value) in fields { arguments += ["-H", value.isEmpty ? "\(name);" : "\(name): \(value)"] }
    arguments += ["--data-binary", "@\(file)", "http://127.0.0.1:\(port)\(path)"]
    return WebAnswer(try await ChildProcess.run("curl", arguments))
  }
}
