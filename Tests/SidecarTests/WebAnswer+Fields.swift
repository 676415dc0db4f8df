import TestSupport

extension WebAnswer {
  /// As ``ask(port:_:_:_:body:)``, with fields that may be repeated.
  static func ask(
    port: Int, _ method: String, _ path: String, fields: [(String, String)], body: String = "{}"
  ) async throws -> WebAnswer {
    var arguments = ["-sS", "-i", "--max-time", "20", "-X", method, "--data-binary", "@-", "-H", "Expect:"]
    for (name, value) in fields { arguments += ["-H", "\(name): \(value)"] }
    return WebAnswer(
      try await ChildProcess.run("curl", arguments + ["http://127.0.0.1:\(port)\(path)"], input: body))
  }
}
