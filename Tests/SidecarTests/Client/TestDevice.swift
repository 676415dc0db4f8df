import Foundation
import FoundationNetworking
import SidecarSupport
import TestSupport

@testable import MartletDevice

/// A device with its own store, which registers at a sidecar and does not wait between attempts.
final class TestDevice: Sendable {
  typealias Answer = MartletDevice.Client.Answer

  let device: MartletDevice
  private let seen = Locked<[MartletDevice.Event]>([])

  /// `suite` names the stored values: a device made later with the same one is the same app at its next launch.
  init(
    port: Int, facts: MartletDevice.Facts, suite: String = UUID().uuidString,
    exchange: (@Sendable (URLRequest) async throws -> Answer)? = nil
  ) throws {
    guard let server = URL(string: "http://127.0.0.1:\(port)"), let defaults = UserDefaults(suiteName: suite) else {
      throw TestTimeout("no server or store of this name")
    }
    var client = MartletDevice.Client(server: server)
    client.wait = { _ in }
    if let exchange { client.exchange = exchange }
    let seen = seen
    device = MartletDevice(
      client: client, facts: { facts }, store: MartletDevice.Store(defaults: defaults),
      report: { event in seen.withLock { $0.append(event) } })
  }

  var events: [MartletDevice.Event] { seen.withLock { $0 } }

  /// Waits until there are `count` events that `isWanted`.
  func events(_ count: Int, _ what: String, where isWanted: (MartletDevice.Event) -> Bool) async throws {
    try await eventually("\(count) events: \(what)") { events.filter(isWanted).count == count }
  }

  func registered(_ count: Int) async throws {
    try await events(count, "registered") { if case .registered = $0 { true } else { false } }
  }

  func failed() async throws -> String {
    try await events(1, "failed") { if case .failed = $0 { true } else { false } }
    guard case .failed(let reason)? = events.last else { throw TestTimeout("something follows the failure") }
    return reason
  }

  /// 32 random bytes, as Apple's tokens have.
  static func token() -> Data { Data((0..<32).map { _ in UInt8.random(in: 0...255) }) }
}

extension Data {
  var hex: String { map { String(format: "%02x", $0) }.joined() }
}
