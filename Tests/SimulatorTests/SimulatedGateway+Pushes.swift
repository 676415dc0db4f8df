import Foundation
import TestSupport
import Testing

@testable import Simulator

extension SimulatedGateway {
  /// A provider token of the simulator's own key, signed now.
  var authorization: String {
    get throws { try ProviderTokenSigner(path: try #require(ready.keyPath)).authorization() }
  }

  /// One push with curl, which verifies the certificate: the answer with its head.
  func push(_ token: String = RequestHead.token, body: String = "{\"aps\":{}}", _ arguments: String...) async throws
    -> String
  {
    try await ChildProcess.run(
      "curl",
      [
        "-sS", "-i", "--http2", "--cacert", ready.caCertificate, "-d", body,
        "-H", "authorization: \(try authorization)", "-H", "apns-topic: com.example.demo",
      ] + arguments + ["\(ready.url)/3/device/\(token)"])
  }

  /// `count` pushes at once on one connection: nghttp's account of all frames, until it ends or has told of `answers`.
  /// `trailer`: a field behind each body.
  func pushes(_ count: Int, answers: Int? = nil, trailer: String? = nil) async throws -> String {
    let body = "\(directory)/body.json"
    try #"{"aps":{"alert":"Hello"}}"#.write(toFile: body, atomically: true, encoding: .utf8)
    let nghttp = try ChildProcess(
      "nghttp",
      [
        "-nv", "--no-dep", "-m", "\(count)", "-d", body, "-H", ":method: POST",
        "-H", "authorization: \(try authorization)", "-H", "apns-topic: com.example.demo",
      ] + (trailer.map { ["--trailer", $0] } ?? []) + [
        "\(ready.url)/3/device/\(RequestHead.token)"
      ])
    if let answers {
      try await eventually("\(answers) answers") {
        nghttp.lines.joined(separator: "\n").count(of: ":status: 200") >= answers
      }
      nghttp.signal(SIGTERM)
    }
    try await nghttp.exit()
    return nghttp.lines.joined(separator: "\n")
  }
}
