import EventLoop
import Foundation
package import JSON
import Redis
import Registry
package import TestSupport
@testable import Credentials

/// A running `martlet sidecar` or `martlet all`.
package final class SidecarProcess: Sendable {
  package static func secret(of user: String) -> String { "bearer-token-of-\(user)" }

  package let process: ChildProcess
  package let port: Int
  /// Arguments of curl for the HTTP API.
  private let trust: [String]
  private let scheme: String

  package init(_ command: String, environment: [String: String]) async throws {
    let certificate = environment["MARTLET_HTTP_CERT"]
    trust = certificate.map { ["--cacert", $0] } ?? []
    scheme = certificate == nil ? "http" : "https"
    process = try ChildProcess(try builtProduct("martlet"), [command], environment: environment)
    port = try await SidecarProcess.port(in: process.line("its port") { $0.contains("sidecar listens") })
  }

  /// A field of a log line.
  private static func port(in line: String) throws -> Int {
    struct Entry: Decodable { let port: Int }
    return try JSONDecoder().decode(Entry.self, from: Data(line.utf8)).port
  }

  package var adminPort: Int {
    get async throws {
      try await SidecarProcess.port(in: process.line("its admin port") { $0.contains("admin port listens") })
    }
  }

  /// The status and the body of a response of the admin port.
  package func admin(_ path: String) async throws -> (status: Int, body: String) {
    let port = try await adminPort
    let text = try await ChildProcess.run(
      "curl", ["-sS", "-w", "\n%{http_code}", "http://127.0.0.1:\(port)\(path)"])
    let end = text.lastIndex(of: "\n") ?? text.startIndex
    return (Int(text[end...].dropFirst()) ?? 0, String(text[..<end]))
  }

  /// Sends a request as `user`, a POST if it has a body.
  package func ask(
    _ path: String, as user: String, _ body: String? = nil, method: String? = nil
  ) async throws -> (status: Int, json: JSONValue) {
    var arguments = [
      "-sS", "-w", "\n%{http_code}", "-H",
      "Authorization: Bearer \(SidecarProcess.secret(of: user))", "-H",
      "X-Username: \(user)",
    ]
    if body != nil { arguments += ["--data-binary", "@-"] }
    if let method { arguments += ["-X", method] }
    let text = try await ChildProcess.run(
      "curl", arguments + trust + ["\(scheme)://127.0.0.1:\(port)\(path)"], input: body ?? "")
    let end = text.lastIndex(of: "\n") ?? text.startIndex
    return (Int(text[end...].dropFirst()) ?? 0, try JSONValue(parsing: Array(text[..<end].utf8)))
  }

  package func push(_ route: String, as user: String, _ body: String = "{}") async throws -> (
    status: Int, json: JSONValue
  ) {
    try await ask("/api/push/\(route)", as: user, body)
  }

  /// Waits until /readyz reports this state of APNs.
  package func apns(_ state: String) async throws {
    try await eventually("/readyz reports that apns is \(state)") {
      try await ask("/readyz", as: "").json["apns"]?.string == state
    }
  }

  @discardableResult
  package func stop() async throws -> Int32 { try await process.stop() }
}

extension Fleet {
  /// Starts a sidecar of this fleet. `command` is `sidecar` or `all`.
  package func sidecar(
    _ command: String = "sidecar", _ changes: [String: String?] = [:], isPollingOnly: Bool = false
  ) async throws -> SidecarProcess {
    let all = changes.merging(["MARTLET_HTTP_ADDRESS": "127.0.0.1:0"]) { given, _ in given }
    return try await SidecarProcess(command, environment: environment(all, isPollingOnly: isPollingOnly))
  }

  /// A user whose bearer token the tests know.
  package func userWithCredentials(_ prefix: String) async throws -> String {
    let name = unique(prefix)
    try await addCredential(name)
    return name
  }

  @EventLoop
  private func addCredential(_ name: String) async throws {
    let digest = Credential.digest(of: SidecarProcess.secret(of: name))
    _ = try await Credentials(connection: connection).add(
      Credential(kind: .user, name: name, digest: digest, createdAt: 1))
  }
}
