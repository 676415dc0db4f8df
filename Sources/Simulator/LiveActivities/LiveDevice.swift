/// A device with Live Activities. Decides what it shows and when it reports an update token; sends nothing itself.
struct LiveDevice {
  /// Whose device it is, and where its app reports update tokens.
  struct Owner: Equatable, Sendable {
    let deviceID: String
    let username: String
    let bearer: String
    let bundleID: String
    let environment: GatewayEnvironment
    /// An origin; nil: update tokens are not reported.
    let sidecar: String?
  }

  /// What a token belongs to.
  enum Target: Equatable {
    case start(attributesType: String)
    case card(activity: String, index: Int)
  }

  /// An update token that is to be reported after `delay`.
  struct Report: Equatable, Sendable {
    let deviceID: String
    let activityID: String
    let card: Int
    let token: String
    /// Milliseconds.
    let delay: Int
  }

  /// Further starts are ignored.
  static let maximumCards = 1000

  let owner: Owner
  private(set) var isOnline = true
  private(set) var activities: [String: LiveActivity] = [:]
  /// Pushes that no activity can take: a start under an update token, or anything else under a push-to-start token.
  private(set) var ignored = 0
  /// Of a report, milliseconds.
  private let maximumDelay: Int
  private var generator: SeededNumbers
  private var cards = 0
  /// APNs keeps one push for a device and a bundle id, in most cases the latest.
  private var stored: (push: LivePush, target: Target)?

  init(_ owner: Owner, seed: UInt64 = 0, maximumDelay: Int = 0) {
    self.owner = owner
    self.maximumDelay = maximumDelay
    generator = SeededNumbers(seed: seed, name: "\(owner.environment) \(owner.bundleID) \(owner.deviceID)")
  }

  /// Takes a push that APNs has accepted. `kept` has the messages that APNs keeps of channels. Times are unix milliseconds.
  mutating func receive(_ push: LivePush, for target: Target, kept: [String: LivePush], now: Int64) -> [Report] {
    guard count(push, target) else {
      ignored += 1
      return []
    }
    guard !isOnline else { return deliver(push, target, kept: kept, now: now) }
    if push.isStored { store(push, target) } else { lose(push, target) }
    return []
  }

  /// Counts a push that APNs refuses because the token is invalid. An end under an earlier token of a card is not counted: it ends
  /// nothing, and its sender cannot know better.
  mutating func refuse(_ push: LivePush, for target: Target, isExpired: Bool) {
    if !isExpired || push.payload.event != .end { _ = count(push, target) }
  }

  mutating func receiveBroadcast(_ push: LivePush, on channel: String, isKept: Bool, now: Int64) {
    for (id, index) in places(on: channel) {
      if isOnline {
        activities[id]?.apply(push.payload, toCard: index, now: now)
      } else if !isKept {
        activities[id]?.lose(push.payload)
      }
    }
  }

  mutating func setOnline(_ isOnline: Bool, kept: [String: LivePush], now: Int64) -> [Report] {
    self.isOnline = isOnline
    guard isOnline else { return [] }
    var reports: [Report] = []
    if let (push, target) = stored {
      stored = nil
      if push.isValid(at: now) {
        reports = deliver(push, target, kept: kept, now: now)
      } else {
        lose(push, target)
      }
    }
    for (channel, message) in kept { deliverKept(message, of: channel, now: now) }
    return reports + activities.keys.sorted().flatMap { dueReports(of: $0) }
  }

  /// Gives the cards of an activity that have not ended new update tokens. The earlier ones are invalid from now on.
  mutating func rotateTokens(of activity: String, now: Int64) -> [Report] {
    for index in activities[activity]?.cards.indices ?? 0..<0 {
      guard let card = activities[activity]?.cards[index], card.token != nil, !card.isEnded else { continue }
      activities[activity]?.cards[index].replaceToken(generator.token(), now: now)
    }
    return dueReports(of: activity)
  }

  /// Returns whether the token is to be reported now. While the device is offline, the report waits.
  mutating func beginsReport(_ report: Report) -> Bool {
    guard let card = card(report), card.token == report.token, !card.isEnded else { return false }
    if !isOnline { activities[report.activityID]?.cards[report.card].registration = .waiting }
    return isOnline
  }

  mutating func endReport(_ report: Report) {
    guard card(report)?.token == report.token else { return }
    activities[report.activityID]?.cards[report.card].registration = .done
  }

  /// The card that a report is about; nil if the device has been replaced since.
  private func card(_ report: Report) -> LiveCard? {
    guard let cards = activities[report.activityID]?.cards, cards.indices.contains(report.card) else { return nil }
    return cards[report.card]
  }
}

extension LiveDevice {
  /// Counts a push when it reaches APNs. Returns false if no activity can take it.
  private mutating func count(_ push: LivePush, _ target: Target) -> Bool {
    switch (target, push.payload.event) {
    case (.start(let type), .start(let start)):
      guard type == start.attributesType, cards < LiveDevice.maximumCards else { return false }
      activities[start.activityID, default: LiveActivity()].starts += 1
      return true
    case (.card(let id, let index), .update), (.card(let id, let index), .end):
      if activities[id]?.cards[index].arrive(push) == true { activities[id]?.afterEnd += 1 }
      return true
    case (.start, .update), (.start, .end), (.card, .start): return false
    }
  }

  private mutating func deliver(
    _ push: LivePush, _ target: Target, kept: [String: LivePush], now: Int64
  ) -> [Report] {
    if case .card(let id, let index) = target {
      activities[id]?.apply(push.payload, toCard: index, now: now)
      return []
    }
    guard case .start(let start) = push.payload.event else { return [] }
    cards += 1
    var card = LiveCard(push.payload, now: now)
    if start.input == .token { card.replaceToken(generator.token(), now: now) }
    activities[start.activityID, default: LiveActivity()].cards.append(card)
    if let channel = card.channel, let message = kept[channel] { deliverKept(message, of: channel, now: now) }
    return dueReports(of: start.activityID)
  }

  /// Delivers the message that APNs keeps of a channel to the cards that do not show it.
  private mutating func deliverKept(_ message: LivePush, of channel: String, now: Int64) {
    for (id, index) in places(on: channel) {
      guard let card = activities[id]?.cards[index], message.payload.timestamp >= card.timestamp,
        !card.shows(message.payload)
      else { continue }
      if message.isValid(at: now) {
        activities[id]?.apply(message.payload, toCard: index, now: now)
      } else {
        activities[id]?.lose(message.payload)
      }
    }
  }

  private func places(on channel: String) -> [(activity: String, index: Int)] {
    activities.flatMap { id, activity in
      activity.cards.indices.filter { activity.cards[$0].channel == channel && !activity.cards[$0].isEnded }.map {
        (id, $0)
      }
    }
  }

  private mutating func store(_ push: LivePush, _ target: Target) {
    if let stored { lose(stored.push, stored.target) }
    stored = (push, target)
  }

  private mutating func lose(_ push: LivePush, _ target: Target) {
    switch (target, push.payload.event) {
    case (.card(let id, _), _): activities[id]?.lose(push.payload)
    case (.start, .start(let start)): activities[start.activityID]?.lose(push.payload)
    case (.start, _): break
    }
  }

  private mutating func dueReports(of activity: String) -> [Report] {
    guard isOnline else { return [] }
    var reports: [Report] = []
    for index in activities[activity]?.cards.indices ?? 0..<0 {
      guard let card = activities[activity]?.cards[index], let token = card.token, !card.isEnded,
        card.registration == .waiting
      else { continue }
      activities[activity]?.cards[index].registration = .underWay
      reports.append(
        Report(
          deviceID: owner.deviceID, activityID: activity, card: index, token: token,
          delay: generator.number(upTo: maximumDelay)))
    }
    return reports
  }
}
