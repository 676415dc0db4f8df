import Operations
import Program
import PushModel
import Testing
import TestSupport
@testable import LiveActivities

@testable import APNs
@testable import Worker

/// What doctor makes of the answers of origins that may serve channels.
struct ChannelExaminationTests {
  private func place(_ broadcast: String? = nil) async throws -> ChannelPlace {
    let environment = try await Self.gateway.value.environment
    var values = environment.merging(["REDIS_URL": "redis://localhost"]) { $1 }
    values["APNS_ENDPOINT_OVERRIDE"] = nil
    values["APNS_BROADCAST_ENDPOINT_OVERRIDE"] = broadcast
    var reader = EnvironmentReader(values)
    let configuration = try #require(APNsSettings.read(&reader).configuration)
    return try #require(ChannelPlace.all(of: "com.a", { _ in configuration }, default: .production).first)
  }

  private static let gateway = Task { try await SimulatedGateway() }

  @Test func `an answer that asks for credentials or another method proves that the path is served`() {
    for status in [400, 401, 403, 405] {
      #expect(ChannelProbe.Answer(status: status, body: []) == .serves("\(status)"))
    }
    for status in [200, 404, 421, 500, 502] {
      #expect(ChannelProbe.Answer(status: status, body: []) == .differs("\(status)"))
    }
    let body = Array(#"{"reason":"MissingProviderToken"}"#.utf8)
    #expect(ChannelProbe.Answer(status: 403, body: body) == .serves("403 MissingProviderToken"))
  }

  @Test func `Apple's other host is looked at unless a setting names one`() async throws {
    let place = try await place()
    #expect(place.broadcastURL == "https://api.push.apple.com:443")
    #expect(place.otherBroadcastURL == "https://api-broadcast.push.apple.com")
    #expect(try await self.place("https://a.example").otherBroadcastURL == nil)
  }

  @Test func `if only the other host takes broadcasts, the fix names it`() async throws {
    let place = try await place()
    let other = "https://api-broadcast.push.apple.com"
    let sound = ChannelExamination.broadcastFinding(place, .serves("403"), other: (other, .differs("404")))
    #expect(sound.severity == .ok)
    let wrong = ChannelExamination.broadcastFinding(place, .differs("404"), other: (other, .serves("405")))
    #expect(wrong.severity == .problem && wrong.fix?.hasSuffix(other) == true)
    let neither = ChannelExamination.broadcastFinding(place, .unreachable("x"), other: (other, .unreachable("y")))
    #expect(neither.severity == .problem && neither.fix?.contains("firewall") == true)
  }

  @Test func `a management port that is closed is a fault of the network`() async throws {
    let place = try await place()
    #expect(ChannelExamination.managementFinding(place, .serves("403")).severity == .ok)
    let closed = ChannelExamination.managementFinding(place, .unreachable("timed out"))
    #expect(closed.severity == .problem && closed.fix?.contains("2196") == true)
    #expect(ChannelExamination.managementFinding(place, .differs("404")).severity == .problem)
  }
}
