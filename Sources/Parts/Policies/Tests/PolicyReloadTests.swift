import FleetSupport
import Foundation
import Testing
import TestSupport

/// SIGHUP reads the file of policies again.
@Suite(.serialized) struct PolicyReloadTests {
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

  private func policies(_ name: String) -> String {
    #"{"policies":[{"name":"\#(name)","title":"T","member":"\#(name)","limits":[{"count":9,"seconds":60}],"classes":[{"name":"\#(name)","urgency":"low","preview":"b","quiet":"pass"}]}]}"#
  }

  @Test func `policies are read again, and broken ones change nothing`() async throws {
    let path = try write(policies("first"), to: "policies.json")
    let worker = try await fleet.worker(["MARTLET_POLICY_FILE": path])
    func status(_ name: String) async throws -> String {
      let id = fleet.unique("job")
      try await fleet.enqueue(#"{"id":"\#(id)","to":{"instance":"home"},"class":"\#(name)"}"#, on: worker.queue)
      return try await fleet.record(id).status
    }
    #expect(try await status("first") == "no_devices")
    #expect(try await status("second") == "dead")
    _ = try write(policies("second"), to: "policies.json")
    try await worker.reload(until: "a file was read again", "policies", #""changed":true"#)
    #expect(try await status("second") == "no_devices")
    _ = try write("{", to: "policies.json")
    try await worker.reload(until: "a file cannot be read again", "MARTLET_POLICY_FILE")
    #expect(try await status("second") == "no_devices")
    #expect(try await worker.stop() == 0)
  }
}
