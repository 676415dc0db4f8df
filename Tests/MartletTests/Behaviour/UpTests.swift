import Foundation
import TestSupport
import Testing

/// `make up` in its own directory.
struct UpTests {
  private let directory: TemporaryDirectory

  init() throws {
    directory = try TemporaryDirectory()
    let scripts = URL(filePath: #filePath).appending(path: "../../../../deploy/scripts").standardizedFileURL
    try FileManager.default.createDirectory(atPath: directory.path + "/deploy", withIntermediateDirectories: true)
    try FileManager.default.copyItem(atPath: scripts.path(), toPath: directory.path + "/deploy/scripts")
  }

  private func script(_ name: String, _ changes: [String: String] = [:]) async throws -> ChildProcess {
    let programs = URL(filePath: try builtProduct("martlet")).deletingLastPathComponent().path()
    // A common umask.
    let child = try ChildProcess(
      "sh", ["-c", "umask 022 && exec '\(directory.path)/deploy/scripts/\(name)' '\(programs)'"], environment: changes)
    try await child.exit()
    return child
  }

  private var kept: [String] {
    get throws { try FileManager.default.subpathsOfDirectory(atPath: directory.path + "/.martlet") }
  }

  private func mode(_ path: String) throws -> Int {
    let attributes = try FileManager.default.attributesOfItem(atPath: path)
    return try #require(attributes[.posixPermissions] as? Int)
  }

  @Test(arguments: [
    "0.0.0.0:8080", ":8080", "[::]:8080", "10.0.0.1:8080", "127.0.0.1.example:80", "127.0.0.1@example:80",
    "localhost.example:80", "*:80", "127.0.0.1", "127.0.0.1:0", "127.0.0.256:80", "127.0.0.1:80\n0.0.0.0:80", "unix:",
    "example:80",
  ])
  func `make up refuses addresses that other machines can reach`(address: String) async throws {
    for name in ["MARTLET_HTTP_ADDRESS", "MARTLET_DASHBOARD_ADDRESS", "MARTLET_ADMIN_ADDRESS"] {
      let child = try await script("up", [name: address])
      #expect(child.exitCode == 2)
      #expect(child.lines.contains { $0.hasPrefix("\(name)=") && $0.contains("refused") }, "\(child.lines)")
      #expect(!FileManager.default.fileExists(atPath: directory.path + "/.martlet"))
    }
  }

  /// What answers there could be taken for what is started.
  @Test(arguments: ["MARTLET_HTTP_ADDRESS", "MARTLET_DASHBOARD_ADDRESS", "MARTLET_ADMIN_ADDRESS"])
  func `make up names the address that is in use`(name: String) async throws {
    let other = try RawServer(answer: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    var addresses: [String: String] = [:]
    for name in ["MARTLET_HTTP_ADDRESS", "MARTLET_DASHBOARD_ADDRESS", "MARTLET_ADMIN_ADDRESS"] {
      addresses[name] = "127.0.0.1:\(try freePort())"
    }
    addresses[name] = "127.0.0.1:\(other.port)"
    let child = try await script("up", addresses)
    #expect(child.exitCode == 1)
    #expect(child.lines.contains { $0.hasPrefix("\(name)=127.0.0.1:\(other.port) is in use.") }, "\(child.lines)")
    #expect(!FileManager.default.fileExists(atPath: directory.path + "/.martlet"))
  }

  @Test func `only the owner can read the files of make up`() async throws {
    let kept = directory.path + "/.martlet"
    try FileManager.default.createDirectory(
      atPath: kept, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o755])
    try "old".write(toFile: kept + "/old", atomically: false, encoding: .utf8)
    let addresses = [
      "MARTLET_HTTP_ADDRESS": "unix:\(kept)/http", "MARTLET_ADMIN_ADDRESS": "127.0.0.1:\(try freePort())",
      "MARTLET_DASHBOARD_ADDRESS": "127.0.0.1:\(try freePort())",
    ]
    let up = try await script("up", addresses)
    #expect(up.exitCode == 0, "\(up.lines)")
    let paths = try self.kept
    for name in ["redis.sock", "martlet.log", "pids", "old", "apns/provider.env"] {
      #expect(paths.contains(name), "\(name)")
    }
    #expect(try mode(kept) == 0o700)
    // The group may connect to a socket of the sidecar; the directory keeps it out.
    for path in paths {
      #expect(try mode("\(kept)/\(path)") & (path == "http" ? 0o007 : 0o077) == 0, "\(path)")
    }
    let down = try await script("down")
    #expect(down.exitCode == 0)
  }
}
