import FleetSupport
import Foundation
import Jobs
import JSON
import Program
import Testing
import TestSupport

@testable import Policies

/// The settings of quiet hours, time zone and policy file.
@Suite(.serialized) struct PolicySettingsTests {
  private static let shared = Task { try await Fleet() }
  private let directory: TemporaryDirectory

  init() throws {
    directory = try TemporaryDirectory()
  }

  private func file(_ text: String) throws -> String {
    let path = "\(directory.path)/policy.json"
    try Data(text.utf8).write(to: URL(filePath: path))
    return path
  }

  private func faults(_ values: [String: String]) -> [String] {
    var reader = EnvironmentReader(values)
    TimeZoneSetting.check(&reader)
    _ = PolicySettings.read(&reader)
    return reader.faults.map(\.description)
  }

  @Test func `without settings there is the built-in policy from 23:00 to 08:00`() {
    var reader = EnvironmentReader([:])
    #expect(PolicySettings.read(&reader).policies.map(\.quietHours) == [.standard])
    #expect(reader.faults.isEmpty)
  }

  @Test func `quiet hours can be changed or turned off`() {
    var reader = EnvironmentReader(["MARTLET_QUIET_HOURS": " 22:00-06:30 "])
    #expect(PolicySettings.read(&reader).policies[0].quietHours == QuietHours("22:00-06:30"))
    reader = EnvironmentReader(["MARTLET_QUIET_HOURS": "off"])
    #expect(PolicySettings.read(&reader).policies[0].quietHours == nil)
    #expect(reader.faults.isEmpty)
  }

  @Test(arguments: ["08:00-08:00", "23-8", "always"])
  func `invalid quiet hours are a fault`(text: String) {
    #expect(
      faults(["MARTLET_QUIET_HOURS": text]) == [
        "MARTLET_QUIET_HOURS: '\(text)'; expected hours like 23:00-08:00 with different ends, or off"
      ])
  }

  @Test(arguments: ["MARTLET_TIME_ZONE", "TZ"])
  func `the fault of a zone that is not installed names the package`(name: String) {
    #expect(
      faults([name: "Europe/Atlantis"]) == [
        "\(name): 'Europe/Atlantis', not installed on this machine; "
          + "expected a zone like Europe/Berlin or UTC; Debian's package tzdata has the zones"
      ])
  }

  @Test func `a policy file that cannot be read is a fault`() {
    let path = "\(directory.path)/nothing.json"
    #expect(
      faults(["MARTLET_POLICY_FILE": path]) == [
        "MARTLET_POLICY_FILE: the file '\(path)' cannot be read (No such file or directory); "
          + "expected the path of a readable JSON file"
      ])
    #expect(faults(["MARTLET_POLICY_FILE": directory.path]).count == 1)
  }

  @Test func `faults of the file are reported with those of settings, with exit code 2`() async throws {
    let fleet = try await Self.shared.value
    let path = try file(
      #"{"policies":[{"name":"nyra","limits":[{"count":2,"seconds":300},{"count":1,"seconds":-1}],"quietHours":"late"}]}"#
    )
    let settings = ["MARTLET_POLICY_FILE": path, "MARTLET_TIME_ZONE": "Mars/Olympus", "MARTLET_CONCURRENCY": "many"]
    for command in [["worker"], ["enqueue", "--instance", "i", "--class", "attention_ping", "--dry-run"]] {
      let child = try await fleet.martlet(command, environment: settings)
      #expect(child.exitCode == 2)
      let text = child.lines(of: .error).joined(separator: "\n")
      #expect(
        text.contains(
          "MARTLET_POLICY_FILE: '\(path)' policies[0].limits[1].seconds: -1; expected a whole number from 1 to"))
      #expect(text.contains("MARTLET_POLICY_FILE: '\(path)' policies[0].quietHours: 'late'; expected hours like"))
      #expect(text.contains("MARTLET_TIME_ZONE: 'Mars/Olympus'"))
      #expect(text.contains("MARTLET_CONCURRENCY") == (command == ["worker"]))
    }
  }

  @Test func `classes of the file are known to enqueue and to the worker`() async throws {
    let fleet = try await Self.shared.value
    let example = URL(filePath: #filePath).deletingLastPathComponent().appending(
      path: "../../../../deploy/examples/policy.json")
    let settings = ["MARTLET_POLICY_FILE": example.path, "MARTLET_QUEUES": fleet.unique("jobs")]
    let instance = fleet.unique("instance")
    let token = try await fleet.register(instance: instance)
    func enqueue(_ words: String...) async throws -> ChildProcess {
      try await fleet.martlet(["enqueue", "--instance", instance] + words, environment: settings)
    }
    let known = try await enqueue("--class", "building_alarm")
    #expect(known.exitCode == 0)
    let unknown = try await enqueue("--class", "alarm")
    #expect(unknown.exitCode == 1)
    #expect(unknown.lines.contains { $0.contains(#"no policy has a class "alarm""#) && $0.contains("building_alarm") })
    let pushy = try await enqueue("--class", "building_notice", "--preview", "Hurry, the lift works again")
    #expect(pushy.exitCode == 1)
    #expect(pushy.lines.contains { $0.contains(#"tone: "hurry" is urgency inflation"#) })
    let nyra = try await enqueue("--class", "attention_ping", "--preview", "Guess what")
    #expect(nyra.exitCode == 1)
    #expect(nyra.lines.contains { $0.contains(#"tone: "guess what" is a phrase that the policy file rules out"#) })

    let worker = try await fleet.worker(settings)
    let id = try #require(known.lines.first)
    #expect(try await fleet.record(id).device(token)?.ok == true)
    #expect(try await fleet.policyState(of: instance, policy: "building")?.grants.count == 1)
    #expect(try await fleet.policyState(of: instance) == nil)
    try await worker.stop()
  }
}
