import Foundation
import TestSupport

/// An answer of the dashboard, received by curl.
struct WebAnswer {
  let status: Int
  /// Names in lower case; repeated fields are joined by a comma.
  let headers: [String: String]
  let body: String

  /// The one `h1`; nil if there is none, or if there are several.
  var heading: String? {
    let parts = body.components(separatedBy: "<h1>")
    return parts.count == 2 ? parts[1].components(separatedBy: "</h1>")[0] : nil
  }

  static func ask(
    port: Int, _ method: String, _ path: String, _ fields: [(String, String)] = [], user: String? = nil,
    body: String? = nil
  ) async throws -> WebAnswer {
    var arguments = ["-sS", "-i", "--path-as-is", "--globoff", "--max-time", "20", "-X", method, "-H", "Expect:"]
    for (name, value) in fields { arguments += ["-H", value.isEmpty ? "\(name);" : "\(name): \(value)"] }
    if let user { arguments += ["--user", user] }
    if body != nil { arguments += ["--data-binary", "@-"] }
    if method == "HEAD" { arguments.append("--head") }
    return WebAnswer(
      try await ChildProcess.run("curl", arguments + ["http://127.0.0.1:\(port)\(path)"], input: body ?? ""))
  }

  /// Reads header lines and body as curl prints them.
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

  /// Returns the value of an attribute of the first element that contains `marker`; with entities, as it stands there.
  func attribute(_ name: String, ofElementWith marker: String) -> String? {
    guard let place = body.range(of: marker),
      let start = body[..<place.lowerBound].lastIndex(of: "<"), let end = body[place.lowerBound...].firstIndex(of: ">")
    else { return nil }
    let element = body[start..<end]
    guard let value = element.range(of: " \(name)=\"") else { return nil }
    return String(element[value.upperBound...].prefix { $0 != "\"" })
  }
}
