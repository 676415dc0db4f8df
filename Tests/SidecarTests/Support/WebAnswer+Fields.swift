import Foundation
import TestSupport

extension WebAnswer {
  /// As ``ask(port:_:_:_:body:)`` with fields that may repeat, and a body of any bytes.
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
