import FleetSupport
import JSON
import PushModel
import Registry
import Testing
import TestSupport

/// Every pair of what a device is and what a job asks, with Apple's answers: what is sent where, and what remains.
@Suite(.serialized) struct AppleAnswersTests {
  /// Where the token is valid, as Apple knows it, under the topic of its kind and of ``TwoEnvironments/app``.
  enum Home: CaseIterable {
    case production, sandbox, nowhere
    /// The sandbox knows that the app was deleted.
    case gone
  }

  enum Answer { case accepted, badDeviceToken, notForTopic, unregistered }

  struct Pair {
    let token: String
    /// What is registered.
    let environment: PushEnvironment?
    let bundleID: String?
    let kind: DeviceKind
    /// What the job asks for.
    let pushType: PushType
    let app: String?
    let home: Home

    func topic(_ app: String, _ type: PushType) -> String { type == .voip ? app + ".voip" : app }

    var ownTopic: String { topic(TwoEnvironments.app, kind == .voip ? .voip : .alert) }

    func answer(_ place: PushEnvironment, _ topic: String) -> Answer {
      switch (home, place) {
      case (.gone, .sandbox): .unregistered
      case (.production, .production), (.sandbox, .sandbox): topic == ownTopic ? .accepted : .notForTopic
      default: .badDeviceToken
      }
    }

    /// What must happen, from the contract.
    var expected: Expectation {
      guard kind == (pushType == .voip ? .voip : .app) else { return Expectation(sent: [], end: nil) }
      let sentTo = app ?? bundleID ?? TwoEnvironments.app
      let topic = topic(sentTo, pushType)
      let first = environment ?? .production
      var expected = Expectation(sent: [first], end: answer(first, topic))
      if expected.end == .badDeviceToken {
        expected.sent.append(first.other)
        expected.end = answer(first.other, topic)
      }
      expected.isRemoved =
        switch expected.end {
        case .unregistered: true
        case .badDeviceToken: sentTo == bundleID ?? TwoEnvironments.app
        case .notForTopic: bundleID == sentTo && expected.sent.count == 1
        case .accepted, nil: false
        }
      return expected
    }

    /// Whether APNs would accept a push as the device is registered, in either environment.
    var isAlive: Bool {
      let own = topic(bundleID ?? TwoEnvironments.app, kind == .voip ? .voip : .alert)
      return PushEnvironment.allCases.contains { answer($0, own) == .accepted }
    }
  }

  struct Expectation {
    var sent: [PushEnvironment]
    /// The answer that counts; nil if nothing is sent.
    var end: Answer?
    var isRemoved = false

    var reason: String? {
      switch end {
      case .accepted: nil
      case .badDeviceToken: "BadDeviceToken"
      case .notForTopic: "DeviceTokenNotForTopic"
      case .unregistered: "Unregistered"
      case nil: "WrongTokenKind"
      }
    }
  }

  /// Fewer owners than the removal guard needs, each with fewer looks than it has in a minute.
  private static let owners = 12

  private func pairs(_ fleet: Fleet) -> [Pair] {
    var pairs: [Pair] = []
    for environment in [nil] + PushEnvironment.allCases {
      for bundleID in [nil, TwoEnvironments.app, "com.example.mistyped"] {
        for kind in [DeviceKind.app, .voip] {
          for pushType in [PushType.alert, .voip] {
            for app in [nil, TwoEnvironments.app, "com.example.other"] {
              for home in Home.allCases {
                pairs.append(
                  Pair(
                    token: fleet.uniqueToken(), environment: environment, bundleID: bundleID, kind: kind,
                    pushType: pushType, app: app, home: home))
              }
            }
          }
        }
      }
    }
    return pairs
  }

  private func prepare(_ pairs: [Pair], _ two: TwoEnvironments) async throws {
    for (index, pair) in pairs.enumerated() {
      let members = [
        pair.environment.map { #","environment":"\#($0.rawValue)""# },
        pair.bundleID.map { #","bundleId":"\#($0)""# }, pair.kind == .app ? nil : #","kind":"\#(pair.kind.rawValue)""#,
      ]
      try await two.register(pair.token, to: "owner-\(index % Self.owners)", members.compactMap { $0 }.joined())
    }
    for environment in PushEnvironment.allCases {
      let rules = pairs.map { pair in
        switch pair.answer(environment, pair.ownTopic) {
        case .badDeviceToken: #"{"token":"\#(pair.token)","rule":"bad"}"#
        case .unregistered: #"{"token":"\#(pair.token)","rule":"unregistered","since":4000000000000}"#
        default: #"{"token":"\#(pair.token)","rule":"forTopic","topic":"\#(pair.ownTopic)"}"#
        }
      }
      for start in stride(from: 0, to: rules.count, by: 200) {
        let part = rules[start..<min(start + 200, rules.count)].joined(separator: ",")
        try await two.gateway(environment).control("/devices", "-d", "[\(part)]")
      }
    }
  }

  @Test func `every device and every job: what is sent where, what is learned, what is removed`() async throws {
    let two = try await TwoEnvironments()
    let queue = two.fleet.unique("answers")
    let pairs = pairs(two.fleet)
    try await prepare(pairs, two)
    let worker = try await two.worker(on: queue)
    try await two.fleet.enqueue(
      pairs.map { pair in
        let app = pair.app.map { #","app":"\#($0)""# } ?? ""
        let content = pair.pushType == .voip ? #","pushType":"voip""# : #","title":"T""#
        return Array(#"{"id":"\#(pair.token)","to":{"token":"\#(pair.token)"}\#(app)\#(content)}"#.utf8)
      }, on: queue)
    try await two.fleet.settled(queue)
    var sent: [String: [PushEnvironment]] = [:]
    for environment in PushEnvironment.allCases {
      for push in try await two.gateway(environment).recent(2000) {
        sent[push.token ?? "", default: []].append(environment)
      }
    }
    for pair in pairs {
      let expected = pair.expected
      let record = try await two.fleet.record(pair.token)
      #expect(record.results.first?.reason == expected.reason, "\(pair)")
      #expect(record.stale == (expected.isRemoved ? 1 : 0), "\(pair)")
      #expect(
        Set(sent[pair.token] ?? []) == Set(expected.sent) && (sent[pair.token] ?? []).count == expected.sent.count)
      let place = expected.end == .accepted ? expected.sent.last : pair.environment
      try await eventually("\(pair) is removed or learned") {
        let device = try await two.device(pair.token)
        return expected.isRemoved ? device == nil : device.map { $0.environment == place?.rawValue } ?? false
      }
      #expect(!(expected.isRemoved && pair.isAlive), "APNs would accept \(pair)")
    }
    await two.stop(worker)
  }
}
