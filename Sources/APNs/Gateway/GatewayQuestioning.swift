import EventLoop
import HTTPClient
package import PushModel

/// Asks a gateway what ``GatewayFact`` lists, over one connection. Blocks.
package final class GatewayQuestioning {
  /// What was asked, and the answer.
  package struct Answer {
    package let fact: GatewayFact
    package let seen: String
  }

  /// How much may be asked.
  package struct Scope {
    /// Nil asks only what needs no key.
    package var bundleID: String?
    /// Of a device that gets pushes in the background.
    package var token: String?
    package var renews = false
    package var waits = false

    package init(bundleID: String?, token: String?) {
      self.bundleID = bundleID
      self.token = token
    }

    package func covers(_ fact: GatewayFact) -> Bool {
      switch fact.need {
      case .nothing: true
      case .key: bundleID != nil
      case .token: bundleID != nil && token != nil
      case .renewal: bundleID != nil && renews
      case .idleness: waits
      }
    }

    package var facts: [GatewayFact] { GatewayFact.all.filter(covers) }
  }

  private static let connectMilliseconds = 10_000
  private static let idleMilliseconds = 30 * 60 * 1000
  private static let nobody = String(repeating: "0", count: 64)
  private static let givenID = "00000000-0000-4000-8000-0000000000ab"
  private static let payload = Array(#"{"aps":{"content-available":1}}"#.utf8)

  private let target: GatewayTarget
  private let scope: Scope
  private let conversation: GatewayConversation
  private var refusal = GatewayConversation.Reply()
  private var acceptance = GatewayConversation.Reply()

  /// Connects. Throws if the gateway cannot be reached.
  package init(_ target: GatewayTarget, _ scope: Scope) throws {
    self.target = target
    self.scope = scope
    conversation = try GatewayConversation(to: target, milliseconds: GatewayQuestioning.connectMilliseconds)
    guard !conversation.settings.isEmpty else {
      throw APNsError.connection(conversation.end ?? "the server sent no HTTP/2 SETTINGS")
    }
  }

  /// Asks everything in the scope; `report` gets each answer when it has come.
  package func ask(_ report: (Answer) -> Void) throws {
    for fact in scope.facts {
      let seen = conversation.end.map { "the connection has ended: \($0)" }
      report(Answer(fact: fact, seen: try seen ?? answer(to: fact.id)))
    }
  }

  private func answer(to id: String) throws -> String {
    switch id {
    case "tls": return conversation.handshake?.version ?? "unknown"
    case "client-certificate": return conversation.handshake?.asksForCertificate == true ? "yes" : "no"
    case "first-settings": return GatewayQuestioning.text(conversation.settings[0])
    case "ping": return conversation.ping() ? "acknowledged" : "not acknowledged"
    case "method": return conversation.ask(.init(method: "GET", path: "/")).summary
    case "no-token":
      refusal = push(isSigned: false)
      return refusal.summary
    case "order": return push(to: "aaaa", isSigned: false).summary
    case "no-device": return push(to: "", isSigned: false).summary
    case "bad-token": return push(["authorization": "bearer none"], isSigned: false).summary
    case "bad-path": return conversation.ask(.init(path: "/3/nothing", payload: GatewayQuestioning.payload)).summary
    case "refusal-fields": return refusal.fields.map(\.name).sorted().joined(separator: " ")
    case "refusal-body": return String(decoding: refusal.body, as: UTF8.self)
    case "made-id":
      let made = refusal.value(of: "apns-id") ?? ""
      return made.isEmpty ? "none" : made == made.uppercased() ? "upper" : "lower"
    case "given-id": return echo(of: GatewayQuestioning.givenID)
    case "upper-id": return echo(of: GatewayQuestioning.givenID.uppercased())
    case "long-header":
      return push(["x-long": String(repeating: "a", count: 9000)], isSigned: false).summary
    case "unproven-streams", "refused-streams", "accepted-streams": return streams
    default: return try signedAnswer(to: id)
    }
  }

  /// With the provider token that the fleet has at this time.
  private func signedAnswer(to id: String) throws -> String {
    switch id {
    case "nobody": return try signed().summary
    case "proven-streams": return "\(conversation.settings.compactMap { $0[3] }.max() ?? 0)"
    case "full-settings":
      let sets = Set(conversation.settings.dropFirst().map { $0.keys.sorted().map(String.init).joined(separator: " ") })
      return sets.isEmpty ? "no change came" : sets.sorted().joined(separator: ", ")
    case "empty": return try signed(payload: []).summary
    case "large": return try signed(payload: Array(repeating: UInt8(ascii: " "), count: 4097)).summary
    case "malformed": return try signed(payload: Array(#"{"aps""#.utf8)).summary
    case "no-topic": return try signed(without: "apns-topic").summary
    case "type": return try signed(["apns-push-type": "nothing"]).summary
    case "priority": return try signed(["apns-priority": "7"]).summary
    case "expiration": return try signed(["apns-expiration": "soon"]).summary
    case "collapse": return try signed(["apns-collapse-id": String(repeating: "a", count: 65)]).summary
    case "id": return try signed(["apns-id": "none"]).summary
    case "duplicate": return try signed(twice: "apns-topic").summary
    case "long-token": return try signed(to: String(repeating: "0", count: 256)).summary
    case "accepted":
      acceptance = try signed(to: scope.token ?? "")
      return acceptance.summary
    case "accepted-body": return acceptance.body.isEmpty ? "empty" : "\(acceptance.body.count) bytes"
    case "upper-device": return try signed(to: scope.token?.uppercased() ?? "").summary
    case "second-token": return try signed(renewed: true).summary
    case "unusable": return try signed().summary
    case "idle":
      conversation.listen(milliseconds: GatewayQuestioning.idleMilliseconds)
      return conversation.end ?? (conversation.ping() ? "usable" : "PING is not acknowledged")
    default: return "not asked"
    }
  }

  // MARK: - Requests

  private func push(
    _ fields: KeyValuePairs<String, String> = [:], to token: String = nobody, isSigned: Bool
  ) -> GatewayConversation.Reply {
    let topic = [("apns-topic", scope.bundleID ?? "com.example.nobody")]
    return conversation.ask(
      .init(
        path: "/3/device/\(token)", fields: topic + fields.map { ($0.key, $0.value) },
        payload: GatewayQuestioning.payload))
  }

  /// Nothing that any phone shows: a push in the background, with the lowest priority that it may have.
  private func signed(
    _ changes: KeyValuePairs<String, String> = [:], without: String = "", twice: String = "", to token: String = nobody,
    payload: [UInt8] = payload, renewed: Bool = false
  ) throws -> GatewayConversation.Reply {
    var fields = [
      ("authorization", try target.authorization(isRenewed: renewed)), ("apns-topic", scope.bundleID ?? ""),
      ("apns-push-type", "background"), ("apns-priority", "5"), ("apns-expiration", "0"),
    ]
    fields.removeAll { field in field.0 == without || changes.contains { $0.key == field.0 } }
    fields += changes.map { ($0.key, $0.value) }
    fields += fields.filter { $0.0 == twice }
    return conversation.ask(
      .init(path: "/3/device/\(token)", fields: fields.map { (name: $0.0, value: $0.1) }, payload: payload))
  }

  private func echo(of id: String) -> String {
    let seen = push(["apns-id": id], isSigned: false).value(of: "apns-id")
    return seen == id ? "the same" : seen ?? "none"
  }

  private var streams: String { "\(conversation.settings.compactMap { $0[3] }.last ?? 0)" }

  private static func text(_ settings: [UInt32: UInt32]) -> String {
    settings.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: " ")
  }
}

/// The gateway that is asked, and the key that signs.
package struct GatewayTarget {
  let origin: Origin
  let authorities: TrustedCertificates?
  private let key: ProviderKey?

  /// The gateway that the app's pushes to an environment go to, with its first key.
  package init(_ configuration: APNsConfiguration, _ environment: PushEnvironment) {
    origin = configuration.origin(of: environment)
    authorities = configuration.authorities
    key = configuration.keys[0]
  }

  /// A gateway without a key. Throws ``APNsError/configuration(_:)`` if an override is no origin.
  package init(_ gateway: APNsConfiguration.Gateway, _ environment: PushEnvironment) throws(APNsError) {
    let sandbox = environment == .sandbox ? gateway.sandboxOverride : nil
    origin = try Origin(sandbox ?? gateway.endpointOverride ?? environment.origin)
    authorities = gateway.authorities
    key = nil
  }

  package var url: String { origin.url }

  package var keyID: String? { key?.keyID }

  /// The value of `authorization` that the workers of the key have at this time; `isRenewed`: another one.
  func authorization(isRenewed: Bool) throws(APNsError) -> String {
    let issuedAt = TokenSchedule.windowStart(of: Clock.unixMilliseconds / 1000) + (isRenewed ? 1 : 0)
    return "bearer " + String(decoding: try key?.sign(issuedAt: issuedAt) ?? [], as: UTF8.self)
  }
}
