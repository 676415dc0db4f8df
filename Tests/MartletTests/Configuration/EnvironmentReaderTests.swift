import FleetSupport
import Foundation
import HTTPServer
import Jobs
import JSON
import Program
import Telemetry
import Testing
import TestSupport

@testable import Worker
@testable import Martlet
@testable import Queue

struct EnvironmentReaderTests {
  private static let duration = Setting("D", in: .all, as: .duration, default: "1s", "", "")
  private static let authorities = Setting("CA", in: .all, as: .pem, "", "")
  private static let key = Setting("KEY", in: .all, as: .privateKey, "", "")
  private static let address = Setting("A", in: .all, as: .address, "", "")
  private static let number = Setting("N", in: .all, as: .whole(1...64), default: "7", "", "")

  @Test func `a file with all authorities of a system is read`() throws {
    let directory = try TemporaryDirectory()
    let path = directory.path + "/authorities.pem"
    let certificate = "-----BEGIN CERTIFICATE-----\n\(String(repeating: "A", count: 1400))\n-----END CERTIFICATE-----\n"
    let text = String(repeating: certificate, count: 150)
    try text.write(toFile: path, atomically: false, encoding: .utf8)
    var reader = EnvironmentReader(["CA": path])
    #expect(reader.pem(Self.authorities) == text)
    #expect(reader.faults == [])
  }

  /// As stores of secrets keep a key that has lines.
  @Test func `PEM text may have its line ends escaped, or be in base64`() throws {
    let lines = ["-----BEGIN PRIVATE KEY-----", "AAAA", "-----END PRIVATE KEY-----"]
    let text = lines.joined(separator: "\n")
    let encoded = Data(text.utf8).base64EncodedString()
    let wrapped = encoded.prefix(20) + "\n" + encoded.dropFirst(20)
    for value in [text, lines.joined(separator: "\\n"), lines.joined(separator: "\\r\\n"), encoded, String(wrapped)] {
      var reader = EnvironmentReader(["KEY": value])
      #expect(reader.pem(Self.key) == text, "\(value)")
      #expect(reader.faults == [])
    }
  }

  @Test(arguments: [
    ("500ms", Duration.milliseconds(500)), ("25s", .seconds(25)), ("15m", .seconds(900)), ("24h", .seconds(86_400)),
    ("30d", .seconds(30 * 86_400)),
  ])
  func `durations have a unit`(text: String, expected: Duration) {
    var reader = EnvironmentReader(["D": text])
    #expect(reader.duration(Self.duration) == expected)
    #expect(reader.faults.isEmpty)
  }

  @Test(arguments: [
    "5", "s", "-1s", "+1s", "0s", "1.5h", "1 s", "1_000s", "99999999999d", "9223372036854775807d", "1y",
  ])
  func `the fault of an invalid duration quotes it`(text: String) {
    var reader = EnvironmentReader(["D": text])
    _ = reader.duration(Self.duration)
    #expect(reader.faults.map(\.place) == ["D"])
    #expect(reader.faults[0].seen == "'\(text)'")
  }

  @Test(arguments: ["+5", "-5", "5.0", "1_0", "0x5", "٥", "5 5", "9223372036854775808"])
  func `a number consists of digits`(text: String) {
    var reader = EnvironmentReader(["N": text])
    #expect(reader.integer(Self.number) == 7)
    #expect(reader.faults.map(\.seen) == ["'\(text)'"])
  }

  @Test func `white space around a value is ignored`() {
    var reader = EnvironmentReader(["N": " 5\n", "D": "\t5s "])
    #expect(reader.integer(Self.number) == 5)
    #expect(reader.duration(Self.duration) == .seconds(5))
    #expect(reader.faults.isEmpty)
  }

  @Test(arguments: ["pipe", "directory", "/dev/zero", "large.pem", "other.pem", "absent.pem"])
  func `only a regular file of PEM text is read`(name: String) throws {
    let directory = try TemporaryDirectory()
    #expect(mkfifo(directory.path + "/pipe", 0o600) == 0)
    #expect(mkdir(directory.path + "/directory", 0o700) == 0)
    try String(repeating: "-----BEGIN", count: 110_000).write(
      toFile: directory.path + "/large.pem", atomically: false, encoding: .utf8)
    try "\0".write(toFile: directory.path + "/other.pem", atomically: false, encoding: .utf8)
    let path = name.hasPrefix("/") ? name : "\(directory.path)/\(name)"
    var reader = EnvironmentReader(["CA": path])
    #expect(reader.pem(Self.authorities) == nil)
    #expect(reader.faults.count == 1)
    #expect(reader.faults[0].seen.hasPrefix("the file '\(path)' "))
  }

  @Test(arguments: ["x@127.0.0.1:80", "a b:80", "h\u{1B}:80", "127.0.0.1:+80", "a/b:80"])
  func `an address has a host and a port`(address: String) {
    var reader = EnvironmentReader(["A": address])
    #expect(reader.address(Self.address, default: .loopback(port: 1)) == .loopback(port: 1))
    #expect(reader.faults.map(\.place) == ["A"])
  }

  @Test func `every fault of a configuration is reported at once`() {
    let error = #expect(throws: ConfigurationFaults.self) {
      try WorkerSettings(environment: [
        "MARTLET_CONCURRENCY": "many", "MARTLET_DELIVERY": "exactly-once", "MARTLET_QUEUES": "a,,b",
        "MARTLET_LOG": "loud", "MARTLET_RESULT_TTL": "soon", "APNS_KEY_ID": "K",
      ])
    }
    #expect(
      Set(error?.faults.map(\.place) ?? []) == [
        "REDIS_URL", "MARTLET_CONCURRENCY", "MARTLET_DELIVERY", "MARTLET_QUEUES", "MARTLET_LOG", "MARTLET_RESULT_TTL",
        "APNS_TEAM_ID", "APNS_BUNDLE_ID", "APNS_PRIVATE_KEY",
      ])
  }

  @Test func `an invalid private key is never quoted`() {
    let error = #expect(throws: ConfigurationFaults.self) {
      try WorkerSettings(environment: [
        "REDIS_URL": "redis://localhost", "APNS_KEY_ID": "ABCDEFGHIJ", "APNS_TEAM_ID": "ABCDEFGHIJ",
        "APNS_BUNDLE_ID": "com.example.app",
        "APNS_PRIVATE_KEY": "-----BEGIN PRIVATE KEY-----\\nSECRETSECRET\\n-----END PRIVATE KEY-----",
      ])
    }
    #expect(error?.faults.map(\.place) == ["APNS_PRIVATE_KEY"])
    #expect(error?.text.contains("SECRET") == false)
  }

  @Test func `without APNs settings the worker is polling-only and has the other defaults`() throws {
    let settings = try WorkerSettings(environment: ["REDIS_URL": "redis://localhost"])
    let configuration = settings.worker
    #expect(configuration.apns == nil)
    #expect(configuration.queues == ["push:jobs:high", "push:jobs", "push:jobs:low"])
    #expect(configuration.concurrency == 512)
    #expect(configuration.mode == .atLeastOnce)
    #expect(configuration.maximumAttempts == 8)
    #expect(configuration.results == .all)
    #expect(configuration.resultTimeToLive == .seconds(86_400))
    #expect(configuration.notifications == .unsent)
    #expect(configuration.shutdownGrace == .seconds(25))
    #expect(settings.service.adminAddress?.description == "127.0.0.1:9090")
    #expect(settings.service.logLevel == .info)
  }

  @Test func `the key-value store's pair becomes a TLS URL`() {
    #expect(
      RedisSettings.url(host: "https://eu1-x.example.com/path", token: "a/b")
        == "rediss://default:a%2Fb@eu1-x.example.com:6379")
    #expect(RedisSettings.url(host: "http://x", token: "t") == nil)
  }
}
