import EventLoop
import FleetSupport
import Foundation
import Program
import Testing
import TestSupport

@testable import Martlet

/// HTTPS of the sidecar's own, and SIGHUP.
@Suite(.serialized) struct TLSTests {
  private static let shared = Task { try await Fleet() }
  private let fleet: Fleet

  init() async throws {
    fleet = try await Self.shared.value
  }

  private func expiry(_ service: SidecarProcess) async throws -> Double? {
    let name = "martlet_http_certificate_expiry_timestamp_seconds "
    let line = try await service.admin("/metrics").body.split(separator: "\n").first { $0.hasPrefix(name) }
    return line.flatMap { Double($0.dropFirst(name.count)) }
  }

  private func count(_ message: String, in service: SidecarProcess) -> Int {
    service.process.lines.count { $0.contains("\"\(message)") }
  }

  /// Over HTTPS with the certificate that is in the directory now, if there is one.
  private func expectAnswer(of service: SidecarProcess) async throws {
    try await eventually("an answer") { try await service.ask("/readyz", as: "").status == 200 }
  }

  @Test(arguments: ["sidecar", "all"])
  func `certificates are replaced on SIGHUP, and no request fails`(command: String) async throws {
    let directory = try TemporaryDirectory()
    let made = [
      try await TestCertificate(name: "first", days: 60), try await TestCertificate(name: "second", days: 90),
    ]
    try made[0].write(to: directory)
    let service = try await fleet.sidecar(command, directory.certificateSettings)
    try await service.process.line("its certificate") {
      $0.contains("\"TLS certificate in use\"") && $0.contains("CN=first")
    }
    let first = try #require(try await expiry(service))
    #expect(abs(first - Date.now.timeIntervalSince1970 - 60 * 86_400) < 600)
    let clients = try await AskingClients(port: service.port)
    try await clients.see(made[0])
    for turn in 1...21 {
      try made[turn % 2].write(to: directory)
      service.process.signal(SIGHUP)
      try await eventually("the replacement") { count("TLS certificate replaced", in: service) == turn }
    }
    #expect(abs(try #require(try await expiry(service)) - first - 30 * 86_400) < 600)
    try await expectAnswer(of: service)
    try await clients.see(made[1])
    let report = try await clients.stop()
    #expect(report.failures == [])
    #expect(Set(report.certificates) == Set(made.map(\.digest)))
    #expect(try await service.stop() == 0)
  }

  @Test func `files that cannot be used leave the certificate in use, with one error for each SIGHUP`() async throws {
    let directory = try TemporaryDirectory()
    let (made, other) = (try await TestCertificate(), try await TestCertificate(days: 90))
    try made.write(to: directory)
    let service = try await fleet.sidecar("sidecar", directory.certificateSettings)
    let first = try await expiry(service)
    let message = "TLS certificate cannot be replaced; the one in use stays"
    try other.key.write(toFile: "\(directory.path)/key.pem", atomically: true, encoding: .utf8)
    service.process.signal(SIGHUP)
    let line = try await service.process.line("the error") { $0.contains(message) }
    #expect(line.contains("\"level\":\"error\""))
    #expect(line.contains("MARTLET_HTTP_KEY") && line.contains("does not belong to the certificate"))
    #expect(line.contains("\"fix\""))
    try await expectAnswer(of: service)
    #expect(try await expiry(service) == first)
    try FileManager.default.removeItem(atPath: "\(directory.path)/cert.pem")
    service.process.signal(SIGHUP)
    try await eventually("the second error") { count(message, in: service) == 2 }
    try other.write(to: directory)
    service.process.signal(SIGHUP)
    try await service.process.line("the replacement") { $0.contains("TLS certificate replaced") }
    service.process.signal(SIGHUP)
    try await service.process.line("that it is the same") { $0.contains("TLS certificate read again") }
    try await expectAnswer(of: service)
    #expect(try await service.stop() == 0)
  }

  @Test func `an expired certificate is served, with a warning`() async throws {
    let directory = try TemporaryDirectory()
    try await TestCertificate().write(to: directory)
    let (path, key) = ("\(directory.path)/cert.pem", "\(directory.path)/key.pem")
    try await ChildProcess.run("openssl", ["x509", "-in", path, "-signkey", key, "-days", "-1", "-out", path])
    let service = try await fleet.sidecar("sidecar", directory.certificateSettings)
    #expect(service.process.lines.contains { $0.contains("TLS certificate has expired") && $0.contains("\"warn\"") })
    try await service.stop()
    let doctor = try await fleet.martlet(["doctor"], environment: directory.certificateSettings)
    #expect(doctor.exitCode == 1)
    #expect(doctor.lines.contains { $0.hasPrefix("fail  certificate") && $0.contains("expired") })
  }

  @Test func `doctor reports the certificate, and health asks the admin port`() async throws {
    let directory = try TemporaryDirectory()
    try await TestCertificate().write(to: directory)
    let environment = fleet.environment(directory.certificateSettings)
    let doctor = try ChildProcess(try builtProduct("martlet"), ["doctor"], environment: environment)
    _ = try await doctor.exit()
    #expect(doctor.lines.contains { $0.hasPrefix("ok    certificate") })
    #expect(doctor.lines.contains { $0.hasPrefix("ok    sidecar") })
    let service = try await fleet.sidecar("sidecar", directory.certificateSettings)
    let address = "127.0.0.1:\(try await service.adminPort)"
    try await eventually("healthy") { try await fleet.martlet("health", "--address", address).exitCode == 0 }
    try await service.stop()
  }

  @Test func `a pair that does not belong together is a configuration fault`() async throws {
    let directory = try TemporaryDirectory()
    try await TestCertificate().write(to: directory)
    try await TestCertificate().key.write(toFile: "\(directory.path)/key.pem", atomically: true, encoding: .utf8)
    let sidecar = try await fleet.martlet(["sidecar"], environment: directory.certificateSettings)
    #expect(sidecar.exitCode == 2)
    #expect(sidecar.lines.contains { $0.contains("MARTLET_HTTP_KEY") && $0.contains("does not belong") })
  }

  @Test func `without files to read again SIGHUP is logged and ends nothing`() async throws {
    let message = "SIGHUP: nothing to read again"
    for command in ["sidecar", "all"] {
      let service = try await fleet.sidecar(command, isPollingOnly: true)
      service.process.signal(SIGHUP)
      try await service.process.line("the signal") { $0.contains(message) }
      try await expectAnswer(of: service)
      #expect(try await service.stop() == 0)
    }
    let worker = try await fleet.worker(isPollingOnly: true)
    worker.process.signal(SIGHUP)
    try await worker.process.line("the signal") { $0.contains(message) }
    #expect(try await worker.get("/healthz").status == 200)
    try await worker.stop()
  }
}
