import Foundation
import JSON
import Program
import PushModel
import TestSupport

@testable import APNs
@testable import Martlet

/// A directory with a file of apps and its keys.
final class AppsDirectory: Sendable {
  let path: String
  private let owner: TemporaryDirectory

  init() throws {
    owner = try TemporaryDirectory()
    path = owner.path
  }

  /// With the keys that the entries of tests name.
  static func withKeys() async throws -> AppsDirectory {
    let directory = try AppsDirectory()
    for key in ["KEYAAAAAA1", "KEYAAAAAA2", "KEYBBBBBB1"] { try await directory.makeKey("\(key).p8") }
    return directory
  }

  /// Writes the entries, and returns their faults.
  func faults(_ apps: [String]) throws -> [String] {
    try write(#"{"apps":[\#(apps.joined(separator: ","))]}"#)
    return read().faults
  }

  var file: String { "\(path)/apps.json" }

  func write(_ text: String, to name: String = "apps.json") throws {
    // In one step, as an operator should.
    try Data(text.utf8).write(to: URL(filePath: "\(path)/\(name)"), options: .atomic)
  }

  /// Makes a P-256 key, or what else `arguments` of openssl make.
  func makeKey(_ name: String, _ arguments: [String]? = nil) async throws {
    let arguments = arguments ?? ["genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"]
    try await ChildProcess.run("openssl", arguments + ["-out", "\(path)/\(name)"])
  }

  /// `apps` are the entries, as JSON.
  func write(apps: String...) throws { try write(#"{"apps":[\#(apps.joined(separator: ","))]}"#) }

  /// Returns the apps and `place: seen; expected …` of each fault.
  func read(beside own: APNsConfiguration? = nil) -> (apps: [APNsApp], faults: [String]) {
    let (apps, faults) = AppsFile(path: file, defaultEnvironment: .production, beside: own).read()
    return (apps, faults.map(\.description))
  }

  /// An entry with one key.
  static func entry(
    _ bundleID: String, team: String = "TEAMAAAAA1", key: String = "KEYAAAAAA1", more: String = ""
  ) -> String {
    #"{"bundleIds":["\#(bundleID)"],"teamId":"\#(team)","keys":[{"keyId":"\#(key)","path":"\#(key).p8"}]\#(more)}"#
  }
}
