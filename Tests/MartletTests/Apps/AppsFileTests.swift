import FleetSupport
import Foundation
import JSON
import Program
import Sidecar
import Testing
import TestSupport

@testable import APNs
@testable import Martlet
@testable import PushModel
@testable import Worker

/// The file of `MARTLET_APPS`: what it can say, and every fault with its place.
struct AppsFileTests {
  private let directory: AppsDirectory

  init() async throws { directory = try await AppsDirectory.withKeys() }

  private func faults(_ apps: String...) throws -> [String] { try directory.faults(apps) }

  @Test func `an entry has bundle ids, a team, keys and optional members`() async throws {
    try await directory.makeKey("other.pem")
    let ca = try await TestCertificate().chain
    try directory.write(ca, to: "ca.pem")
    try directory.write(
      apps: #"""
        {"bundleIds":["com.a","com.b"],"teamId":"TEAMAAAAA1","keys":[{"keyId":"KEYAAAAAA1","path":"KEYAAAAAA1.p8"},
        {"keyId":"KEYAAAAAA2","path":"\#(directory.path)/KEYAAAAAA2.p8"}],"environment":"sandbox",
        "endpoint":"https://gateway.example:8443","caCert":"ca.pem","connections":4,"share":10}
        """#, AppsDirectory.entry("com.c", team: "TEAMBBBBB1", key: "KEYBBBBBB1"))
    let (apps, faults) = directory.read()
    #expect(faults == [])
    #expect(apps.map(\.bundleIDs) == [["com.a", "com.b"], ["com.c"]])
    #expect(apps.map(\.environment) == [.sandbox, nil])
    #expect(apps.map(\.share) == [10, 1])
    #expect(apps.map { $0.configurations[0].connectionsPerEnvironment } == [4, 1])
    #expect(apps[0].configurations[0].keyNames.map(\.keyID) == ["KEYAAAAAA1", "KEYAAAAAA2"])
    #expect(apps[0].configurations[0].origins == ["https://gateway.example:8443"])
    #expect(apps[0].configurations[0].authorities != nil)
    #expect(apps[1].configurations[0].origins.count == 2)
    #expect([String: AppShare](apps).mapValues(\.app) == ["com.a": "com.a", "com.b": "com.a", "com.c": "com.c"])
    #expect([String: AppShare](apps).mapValues(\.share) == ["com.a": 10, "com.b": 10, "com.c": 1])
  }

  @Test func `every fault is reported at once, each with its place`() throws {
    let faults = try faults(
      #"{"bundleIds":[],"teamId":"TEAM 1","keys":[],"environment":"test","endpoint":"http://a","connections":65,"share":0}"#,
      #"{"bundleIds":["com.a","not a bundle"],"teamId":7,"keys":[{"keyId":"KEYAAAAAA1","path":"missing.p8"}],"colour":1}"#,
      #"["com.c"]"#, #"{}"#)
    let expected = [
      "apps[0].bundleIds: a list of 0; expected a list of 1 to 1000",
      "apps[0].teamId: 'TEAM 1'; expected 10 letters and digits",
      "apps[0].keys: a list of 0; expected a list of 1 to 8",
      "apps[0].environment: 'test'; expected production or sandbox",
      "apps[0].endpoint: 'http://a'; expected https://host[:port]",
      "apps[0].connections: 65; expected a whole number from 1 to 64",
      "apps[0].share: 0; expected a whole number from 1 to 1000",
      "apps[1]: unknown field 'colour'; expected only bundleIds, teamId, keys, environment, endpoint, "
        + "sandboxEndpoint, broadcastEndpoint, channelsEndpoint, caCert, connections, share",
      "apps[1].bundleIds[1]: 'not a bundle'; expected 1 to 200 letters, digits or any of ._-",
      "apps[1].teamId: 7; expected 10 letters and digits",
      "apps[1].keys[0].path: the file 'missing.p8' cannot be read (No such file or directory); "
        + "expected the .p8 file of the key, relative to this file",
      "apps[2]: a list of 1; expected an object",
      "apps[3].bundleIds: missing; expected a value", "apps[3].teamId: missing; expected a value",
      "apps[3].keys: missing; expected a value",
    ]
    #expect(faults == expected)
  }

  @Test(arguments: [
    ("", "not JSON"), ("{", "not JSON"), ("[]", "a list of 0"), ("{}", "missing"), (#"{"apps":[]}"#, "a list of 0"),
    (#"{"apps":{}}"#, "an object"), (#"{"apps":[],"apps":[]}"#, "duplicate key"),
    (#"{"app":[]}"#, "unknown field 'app'"),
  ])
  func `a file that is not a list of apps is a fault`(text: String, seen: String) throws {
    try directory.write(text)
    #expect(directory.read().faults.contains { $0.contains(seen) }, "\(directory.read().faults)")
  }

  @Test func `a bundle id belongs to one app`() throws {
    let faults = try faults(
      AppsDirectory.entry("com.a"), AppsDirectory.entry("com.b"), AppsDirectory.entry("com.a"),
      #"{"bundleIds":["com.c","com.c"],"teamId":"TEAMAAAAA1","keys":[{"keyId":"KEYAAAAAA1","path":"KEYAAAAAA1.p8"}]}"#)
    #expect(
      faults == [
        #"apps[2].bundleIds[0]: "com.a", which apps[0] (com.a) has already; expected each bundle id once"#,
        #"apps[3].bundleIds[1]: "com.c", which this app has already; expected each bundle id once"#,
      ])
  }

  @Test func `mixed up keys of two teams are a fault`() async throws {
    let twoTeams = try faults(AppsDirectory.entry("com.a"), AppsDirectory.entry("com.b", team: "TEAMBBBBB1"))
    #expect(
      twoTeams == [
        "apps[1].keys[0].keyId: key KEYAAAAAA1 of team TEAMBBBBB1, which is a key of team TEAMAAAAA1 in "
          + "apps[0].keys[0]; expected one team for each key: the keys of two teams are mixed up"
      ])
    let folder = directory.path
    try FileManager.default.copyItem(atPath: "\(folder)/KEYAAAAAA1.p8", toPath: "\(folder)/KEYCCCCCC1.p8")
    let copied = try faults(
      AppsDirectory.entry("com.a"), AppsDirectory.entry("com.b", team: "TEAMCCCCC1", key: "KEYCCCCCC1"))
    #expect(copied.count == 1)
    let owner = "the file of key KEYAAAAAA1 of team TEAMAAAAA1 in apps[0].keys[0]"
    #expect(copied[0].hasPrefix("apps[1].keys[0].path: \(owner)"))
    let other = AppsDirectory.entry("com.b").replacing("KEYAAAAAA1.p8", with: "KEYBBBBBB1.p8")
    let otherFile = try faults(AppsDirectory.entry("com.a"), other)
    #expect(otherFile.map { $0.prefix(63) } == ["apps[1].keys[0].path: another key than that of KEYAAAAAA1 in ap"])
  }

  @Test func `a key of the file must not contradict the key of the environment`() throws {
    try directory.write(apps: AppsDirectory.entry("com.a"))
    let pem = try String(contentsOfFile: "\(directory.path)/KEYBBBBBB1.p8", encoding: .utf8)
    let own = try APNsConfiguration(
      keys: [.init(keyID: "KEYAAAAAA1", teamID: "TEAMBBBBB1", privateKeyPEM: pem)])
    #expect(directory.read(beside: own).faults.first?.contains("team TEAMBBBBB1 in APNS_KEY_ID") == true)
  }

  @Test(arguments: ["certPath", "certificate", "pfx", "p12", "passphrase", "cert"])
  func `a certificate of the old kind is refused with a clear word`(member: String) throws {
    let faults = try faults(AppsDirectory.entry("com.a", more: #","\#(member)":"push.p12""#))
    #expect(
      faults == [
        "apps[0].\(member): certificates (.p12, .pem) are not supported: APNs token authentication with a .p8 key is; "
          + "expected \(AppsKeyFiles.keyInstead)"
      ])
  }

  @Test func `a certificate file in place of a key is refused with the same word`() async throws {
    let certificate = try await TestCertificate().chain
    try directory.write(certificate, to: "push.pem")
    try directory.write("-----BEGIN RSA PRIVATE KEY-----\nMIIB\n-----END RSA PRIVATE KEY-----\n", to: "rsa.pem")
    try Data([0x30, 0x82, 0x0A, 0x00, 0x02]).write(to: URL(filePath: "\(directory.path)/push.p12"))
    for name in ["push.pem", "rsa.pem", "push.p12"] {
      let faults = try faults(AppsDirectory.entry("com.a").replacing("KEYAAAAAA1.p8", with: name))
      #expect(faults.count == 1)
      #expect(faults[0].contains("'\(name)': certificates (.p12, .pem) are not supported"))
    }
  }

  @Test func `a file that is not a P-256 key is a fault of its path`() async throws {
    try await directory.makeKey("p384.p8", ["genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-384"])
    try directory.write("no key", to: "text.p8")
    try directory.write(String(repeating: "x", count: 100_000), to: "large.p8")
    for (name, seen) in [
      ("p384.p8", "expected a P-256 key"), ("text.p8", "does not contain PEM"), ("large.p8", "is larger than"),
      (".", "is not a regular file"),
    ] {
      let faults = try faults(AppsDirectory.entry("com.a").replacing("KEYAAAAAA1.p8", with: name))
      #expect(faults.count == 1)
      #expect(faults[0].hasPrefix("apps[0].keys[0].path: ") && faults[0].contains(seen), "\(faults)")
    }
  }

  @Test func `a fault never shows a key or a password`() throws {
    let secret = try String(contentsOfFile: "\(directory.path)/KEYAAAAAA1.p8", encoding: .utf8)
    let middle = secret.split(separator: "\n")[1]
    let faults = try faults(
      #"{"bundleIds":["\#(middle)"],"teamId":"\#(middle)","keys":[{"keyId":"\#(middle)","path":"\#(middle)"}],"#
        + #""endpoint":"https://user:hunter2@host","environment":"\#(middle)","\#(middle)":1}"#)
    #expect(faults.count >= 5)
    #expect(!faults.joined().contains(middle.prefix(20)))
    #expect(!faults.joined().contains("hunter2"))
  }

  @Test func `many faults are counted and the first hundred are shown`() throws {
    try directory.write(apps: (0..<300).map { #"{"bundleIds":[],"n\#($0)":1}"# }.joined(separator: ","))
    let faults = directory.read().faults
    #expect(faults.count == 101)
    #expect(faults.last?.hasPrefix("1100 more faults") == true)
  }

  @Test func `the example is valid with its keys`() async throws {
    let example = URL(filePath: #filePath).appending(path: "../../../../deploy/examples/apps.json").standardizedFileURL
    try directory.write(try String(contentsOf: example, encoding: .utf8))
    for key in ["KEY1234567", "KEY1234568", "KEY7654321"] { try await directory.makeKey("AuthKey_\(key).p8") }
    let (apps, faults) = directory.read()
    #expect(faults == [])
    #expect(apps.map(\.name) == ["com.example.shop", "com.example.lab"])
  }

  @Test func `the setting names its file and the worker is not in polling-only mode`() throws {
    try directory.write(apps: AppsDirectory.entry("com.a"))
    let values = ["REDIS_URL": "redis://localhost", "MARTLET_APPS": directory.file]
    let configuration = try WorkerSettings(environment: values).worker
    #expect(configuration.apps.map(\.name) == ["com.a"])
    #expect(try SidecarSettings(environment: values).sidecar.missingAPNsVariables == [])
    try directory.write(apps: AppsDirectory.entry("com.a", more: #","share":0"#))
    let path = directory.file
    #expect {
      _ = try WorkerSettings(environment: values)
    } throws: { error in
      (error as? ConfigurationFaults)?.faults.map(\.description) == [
        "MARTLET_APPS: '\(path)' apps[0].share: 0; expected a whole number from 1 to 1000"
      ]
    }
    for missing in ["/nowhere/apps.json", directory.path] {
      do throws(ConfigurationFaults) {
        _ = try WorkerSettings(environment: values.merging(["MARTLET_APPS": missing]) { $1 })
        Issue.record("it was accepted")
      } catch {
        #expect(error.faults.map(\.place) == ["MARTLET_APPS"])
      }
    }
  }
}
