import FleetSupport
import Foundation
import Testing
import TestSupport

/// SIGHUP: every file that a setting names is read again, and what cannot be used changes nothing.
@Suite(.serialized) struct ReloadTests {
  private static let shared = Task { try await Fleet() }
  private let fleet: Fleet
  private let directory: TemporaryDirectory

  init() async throws {
    fleet = try await Self.shared.value
    directory = try TemporaryDirectory()
  }

  private func write(_ text: String, to name: String) throws -> String {
    let path = "\(directory.path)/\(name)"
    try Data(text.utf8).write(to: URL(filePath: path), options: .atomic)
    return path
  }

  @Test func `the key of APNs is read again, and a broken one changes nothing`() async throws {
    let text = try String(contentsOfFile: try #require(fleet.gateway.ready.keyPath), encoding: .utf8)
    let path = try write(text, to: "key.p8")
    let worker = try await fleet.worker(["APNS_KEY_PATH": path])
    try await worker.reload(until: "key of APNs read again", #""changed":false"#)
    _ = try write("no key", to: "key.p8")
    try await worker.reload(until: "the key of APNs cannot be read again", "APNS_KEY_PATH", "then send SIGHUP again")
    // Another key of the same name is refused by the gateway, so the first one is put back.
    let other = try await TestCertificate().key
    _ = try write(other, to: "key.p8")
    try await worker.reload(until: "key of APNs read again", #""changed":true"#)
    _ = try write(text, to: "key.p8")
    try await worker.reload(until: "key of APNs read again", #""changed":true"#)
    let id = fleet.unique("job")
    try await fleet.enqueue(#"{"id":"\#(id)","to":{"token":"\#(fleet.uniqueToken())"},"title":"a"}"#, on: worker.queue)
    #expect(try await fleet.record(id).status == "accepted")
    #expect(try await worker.stop() == 0)
  }
}
