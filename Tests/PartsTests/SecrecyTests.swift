import JSON
import Program
import Testing
import TestSupport

@testable import Worker
@testable import Martlet

/// No output of the program shows a password, token or key of a setting, whether it belongs there or not.
struct SecrecyTests {
  private static let marker = "oNlyTheOwnerKnows"
  private static let key = "MIGTAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBHkwdwIBAQQgE7HqoZ\(marker)uZk3Jc0m3q4fG1hP"

  private static let declared = Setting.core + Parts.settings
  private static let settings = declared.flatMap { [$0.name] + $0.aliases } + ["TZ"]

  /// Values with secrets in place of valid values.
  private static let shapes = [
    "https://user:\(marker)@host.example/path", "https://host.example/?token=\(marker)#\(marker)",
    "https:/user:\(marker)@host", "https://us er:\(marker)@host", "https://user:pass/\(marker)@host",
    "redis://:\(marker)@host:6379:x", "redis://:pa/\(marker)@host:6379/0", "redis://host:6379/0@\(marker)",
    "redis://default:\(marker)", "unix:///run/\(marker)@redis.sock", "redis+sentinel://host/\(marker)@main",
    "user:\(marker)@host:8080", "\(marker)@host:8080", key,
    "-----BEGIN PRIVATE KEY-----\\n\(marker)\\n-----END PRIVATE KEY-----",
    "-----BEGIN EC PRIVATE KEY-----\n\(key)\n-----END EC PRIVATE KEY-----", key.prefix(64) + "\n" + key,
  ]

  /// Of these a fault shows no more than a part.
  private static let secretSettings = declared.filter { $0.kind.quote != .plain }.flatMap { [$0.name] + $0.aliases }

  private func texts(_ values: [String: String]) -> [String] {
    var texts: [String] = []
    do { _ = try WorkerSettings(environment: values) } catch { texts.append(error.text) }
    do { _ = try SidecarSettings(environment: values) } catch { texts.append(error.text) }
    return texts
  }

  /// The other settings that a setting requires.
  private func companions(_ name: String) -> [String: String] {
    var values = ["REDIS_URL": "redis://127.0.0.1"]
    if name == "REDIS_URL_FILE" { values = [:] }
    if name == "MARTLET_HTTP_CERT" { values["MARTLET_HTTP_KEY"] = "/nowhere/key.pem" }
    if name == "MARTLET_HTTP_KEY" { values["MARTLET_HTTP_CERT"] = "/nowhere/cert.pem" }
    if name == "MARTLET_WEBHOOK_URL" { values["MARTLET_WEBHOOK_SECRET"] = "0123456789abcdef" }
    if name.hasPrefix("REDIS_KV") {
      values = ["REDIS_KV_REST_API_URL": "https://host.example", "REDIS_KV_REST_API_TOKEN": "t"]
    }
    if name.contains("APNS") || name == "keyId" || name == "teamId" {
      values.merge(["APNS_BUNDLE_ID": "com.example", "APNS_KEY_ID": "ABCDE12345", "APNS_TEAM_ID": "ABCDE12345"]) { $1 }
    }
    if name.hasPrefix("CLAUDIATOR") { values["APNS_\(name.dropFirst("CLAUDIATOR_APNS_".count))"] = nil }
    if name.hasSuffix("Id") { values[name == "keyId" ? "APNS_KEY_ID" : "APNS_TEAM_ID"] = nil }
    return values
  }

  @Test(arguments: settings) func `no fault of a setting shows a secret`(name: String) {
    for shape in Self.shapes + (Self.secretSettings.contains(name) ? [Self.marker] : []) {
      for text in texts(companions(name).merging([name: shape]) { $1 }) {
        #expect(!text.contains(Self.marker), "\(name)=\(shape): \(text)")
      }
    }
  }

  @Test(arguments: [
    ["worker"], ["sidecar"], ["all"], ["doctor"], ["doctor", "--json"], ["status"], ["enqueue", "--user", "a"],
    ["dead", "list"], ["tokens", "export", "-"], ["credentials", "list"], ["result", "x"],
  ])
  func `no command shows a secret of a setting`(command: [String]) async throws {
    let program = try builtProduct("martlet")
    for shape in Self.shapes {
      for absent in [[], ["REDIS_URL", "APNS_PRIVATE_KEY"], ["REDIS_URL", "APNS_PRIVATE_KEY", "APNS_KEY_PATH"]] {
        var values = Dictionary(uniqueKeysWithValues: Self.settings.map { ($0, shape) })
        for name in absent { values[name] = nil }
        let child = try ChildProcess(program, command, environment: values)
        #expect(try await child.exit() == 2)
        #expect(child.lines.contains { $0.contains("REDIS_") })
        #expect(!child.lines.contains { $0.contains(Self.marker) }, "\(shape): \(child.lines)")
      }
    }
  }

  @Test(arguments: [
    "redis://:MARKER@127.0.0.1:PORT", "redis+sentinel://u:MARKER@127.0.0.1:PORT/main", "unix://u:MARKER@/x",
  ])
  func `an unreachable Redis is named without its password`(url: String) async throws {
    let url = url.replacing("MARKER", with: Self.marker).replacing("PORT", with: "\(try freePort())")
    let environment = ["REDIS_URL": url, "MARTLET_ADMIN_ADDRESS": "off", "MARTLET_HTTP_ADDRESS": "127.0.0.1:0"]
    let program = try builtProduct("martlet")
    let children = try ["status", "doctor", "worker", "sidecar", "all"].map {
      try ChildProcess(program, [$0], environment: environment)
    }
    for child in children {
      try await child.line("why") { $0.contains("cannot connect") || $0.contains("sentinel") }
      try await child.stop()
      #expect(!child.lines.contains { $0.contains(Self.marker) }, "\(child.lines)")
    }
  }

  /// Redis quotes the arguments of an unknown command.
  @Test func `the error of a Redis without AUTH does not show the password`() async throws {
    let server = try await RedisServer(["--rename-command", "AUTH", ""])
    let url = "unix://alice:\(Self.marker)@\(server.socketPath)"
    let program = try builtProduct("martlet")
    let children = try ["status", "doctor"].map { try ChildProcess(program, [$0], environment: ["REDIS_URL": url]) }
    for child in children {
      #expect(try await child.exit() == 1)
      #expect(child.lines.contains { $0.contains("redis refused AUTH") })
      #expect(!child.lines.contains { $0.contains(Self.marker) }, "\(child.lines)")
    }
  }

  /// libcurl quotes the URL of a proxy that it cannot use.
  @Test(arguments: ["foo://user:MARKER@127.0.0.1:1", "http://user:MARKER@127.0.0.1:no-port"])
  func `the password of a proxy is not shown`(proxy: String) async throws {
    let gateway = try await SimulatedGateway()
    let server = try await RedisServer()
    var environment = gateway.environment.merging(["REDIS_URL": server.url, "APNS_CA_CERT": ""]) { $1 }
    environment["APNS_ENDPOINT_OVERRIDE"] = "https://gateway.example"
    environment["HTTPS_PROXY"] = proxy.replacing("MARKER", with: Self.marker)
    let child = try ChildProcess(try builtProduct("martlet"), ["doctor"], environment: environment)
    #expect(try await child.exit() == 1)
    #expect(child.lines.contains { $0.contains("proxy") && $0.hasPrefix("fail") })
    #expect(!child.lines.contains { $0.contains(Self.marker) }, "\(child.lines)")
  }
}
