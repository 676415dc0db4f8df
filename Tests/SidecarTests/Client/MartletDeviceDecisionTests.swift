import Foundation
import FoundationNetworking
import SidecarSupport
import Testing
import TestSupport

@testable import MartletDevice

/// What clients/ios/MartletDevice.swift decides without a sidecar.
struct MartletDeviceDecisionTests {
  private typealias Retry = MartletDevice.Retry

  private func retry(_ status: Int, after: Double? = nil, attempt: Int = 1, random: Double = 0.5) -> Retry {
    Retry(status: status, retryAfter: after, attempt: attempt, of: Retry.attempts, random: random)
  }

  @Test func `network errors, 429 and 5xx are repeated, nothing else is`() {
    for status in [0, 429, 500, 503, 599] { #expect(retry(status) == .again(after: 0.5)) }
    for status in [100, 301, 400, 401, 403, 404, 405, 413, 422] { #expect(retry(status) == .failed) }
    for status in [200, 204] { #expect(retry(status) == .done) }
    #expect(retry(503, attempt: Retry.attempts) == .failed)
  }

  @Test func `delays double up to a limit, and are added to the time that the sidecar asks for`() {
    #expect((1...7).map { retry(500, attempt: $0, random: 1) } == [1, 2, 4, 8, 16, 32, 64].map { .again(after: $0) })
    #expect(
      Retry(status: 500, retryAfter: nil, attempt: 60, of: 99, random: 1) == .again(after: Retry.longestDelay))
    #expect(retry(429, after: 30, random: 0) == .again(after: 30))
    #expect(retry(429, after: 30, attempt: 2, random: 0.5) == .again(after: 31))
  }

  @Test func `a registration ends when the sidecar answers again, and has a limit`() async throws {
    let facts = MartletDevice.Facts(bundleID: nil, environment: nil, locale: nil, deviceID: nil)
    let answers = Locked([503, 429, 200])
    let phone = try TestDevice(port: 1, facts: facts) { _ in
      guard let status = answers.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) else {
        throw URLError(.notConnectedToInternet)
      }
      return (status, status == 429 ? 7 : nil, Data())
    }
    phone.device.received(TestDevice.token())
    await phone.device.signIn(as: .user("a", secret: "s"))
    try await phone.registered(1)
    let waits = phone.events.compactMap { if case .waiting(let seconds, _) = $0 { seconds } else { nil } }
    #expect(waits.count == 2 && waits[0] < 1 && (7..<9).contains(waits[1]))
    phone.device.received(TestDevice.token())
    _ = try await phone.failed()
    #expect(phone.events.count == 3 + Retry.attempts)
  }

  @Test func `requests have the fields of their APIs`() throws {
    let facts = MartletDevice.Facts(bundleID: "com.a", environment: nil, locale: "de", deviceID: "p")
    let user = MartletDevice.Owner.user("alice", secret: "s")
    let registration = try #require(MartletDevice.Request.registration(of: "t", .voip, owner: user, facts))
    #expect(registration.path == "api/push/register")
    #expect(registration.headers == ["Authorization": "Bearer s", "X-Username": "alice"])
    #expect(
      registration.body == ["token": "t", "kind": "voip", "bundleId": "com.a", "deviceId": "p", "locale": "de"])
    let instance = MartletDevice.Owner.instance("home", key: "k")
    let own = try #require(MartletDevice.Request.registration(of: "t", .app, owner: instance, facts))
    #expect(own.headers == ["X-Nyra-Device-Key": "k", "X-Nyra-Instance-Id": "home"])
    // Required there.
    #expect(own.body == ["apns_device_token": "t", "environment": "production", "bundleId": "com.a"])
    #expect(MartletDevice.Request.registration(of: "t", .voip, owner: instance, facts) == nil)
    let server = try #require(URL(string: "https://push.example.com/below"))
    #expect(own.urlRequest(server).url?.absoluteString == "https://push.example.com/below/push/apns/register")
  }

  /// A property list inside the bytes of a signature.
  private func profile(_ entitlements: String) -> Data {
    let list = """
      <?xml version="1.0" encoding="UTF-8"?>
      <plist version="1.0"><dict><key>Entitlements</key><dict>\(entitlements)</dict></dict></plist>
      """
    return Data([0x30, 0x82, 0xFF, 0x00]) + Data(list.utf8) + Data([0xA0, 0x82, 0x00])
  }

  @Test func `the provisioning profile names the environment, and the App Store leaves none`() {
    func environment(_ profile: Data?) -> MartletDevice.Environment? {
      MartletDevice.Facts.environment(profile: profile)
    }
    let name = "<key>aps-environment</key>"
    #expect(environment(profile("\(name)<string>development</string>")) == .sandbox)
    #expect(environment(profile("\(name)<string>production</string>")) == .production)
    #expect(environment(nil) == .production)
    let unknown = [
      profile(""), profile("\(name)<string>other</string>"), profile("\(name)<integer>1</integer>"), Data(),
      Data("<plist".utf8), Data("</plist><plist".utf8), Data("<plist>&</plist>".utf8),
    ]
    for profile in unknown { #expect(environment(profile) == nil) }
  }

  @Test func `the tokens of an earlier version, which named the phone by vendor and app, are kept`() throws {
    let defaults = try #require(UserDefaults(suiteName: UUID().uuidString))
    let store = MartletDevice.Store(defaults: defaults)
    func facts(_ deviceID: String, _ bundleID: String) -> MartletDevice.Facts {
      MartletDevice.Facts(bundleID: bundleID, environment: nil, locale: nil, deviceID: deviceID)
    }
    store.add("a", of: facts("vendor:com.a", "com.a"))
    #expect(store.tokens(of: facts("own", "com.b")).isEmpty)
    #expect(store.tokens(of: facts("own", "com.a")) == ["a"])
    store.add("b", of: facts("own", "com.a"))
    #expect(store.tokens(of: facts("own", "com.a")) == ["a", "b"])
    // Another phone, restored from a backup of this one.
    #expect(store.tokens(of: facts("other", "com.a")).isEmpty)
  }

  @Test func `a phone is named for the kinds of which an app has one token`() throws {
    let facts = MartletDevice.Facts(bundleID: nil, environment: nil, locale: nil, deviceID: "p")
    for kind in MartletDevice.Kind.allCases {
      let request = MartletDevice.Request.registration(of: "t", kind, owner: .user("a", secret: "s"), facts)
      #expect(try #require(request).body?["deviceId"] == ([.widgets, .controls].contains(kind) ? nil : "p"))
    }
  }
}
