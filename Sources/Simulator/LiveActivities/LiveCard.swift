import JSON

/// A Live Activity as a device shows it. Each start makes one.
struct LiveCard: Equatable {
  /// What became of a push at the device.
  enum Effect: Equatable {
    case applied
    /// Its timestamp is older than that of the state that is shown.
    case older
    /// The card has ended.
    case ended
  }

  /// How far the device is with telling its server the update token.
  enum Registration: Equatable {
    /// It has to be sent when the device is online.
    case waiting
    case underWay
    case done
  }

  private(set) var contentState: JSONValue?
  /// Of the state that is shown, unix seconds.
  private(set) var timestamp: Int64
  /// Unix milliseconds.
  private(set) var endedAt: Int64?
  let channel: String?
  /// Lower case; nil if the start asked for none.
  private(set) var token: String?
  /// When ``token`` became valid, and earlier ones invalid, unix milliseconds.
  private(set) var issuedAt: Int64
  var registration = Registration.waiting
  /// The end that has reached APNs, delivered or not.
  private var end: PushID?

  /// Shows what a start says.
  init(_ payload: LiveActivityPayload, now: Int64) {
    contentState = payload.contentState
    timestamp = payload.timestamp
    issuedAt = now
    guard case .start(let start) = payload.event, case .channel(let id) = start.input else {
      channel = nil
      return
    }
    channel = id
  }

  var isEnded: Bool { endedAt != nil }

  /// Applies a push that has reached the device. Of two with one timestamp the later one counts.
  mutating func apply(_ payload: LiveActivityPayload, now: Int64) -> Effect {
    guard !isEnded else { return .ended }
    guard payload.timestamp >= timestamp else { return .older }
    timestamp = payload.timestamp
    contentState = payload.contentState ?? contentState
    if payload.event == .end { endedAt = now }
    return .applied
  }

  /// Whether the payload would change nothing.
  func shows(_ payload: LiveActivityPayload) -> Bool {
    isEnded
      || payload.event != .end && payload.timestamp == timestamp && payload.contentState == contentState
  }

  /// Notes that a push for this card has reached APNs. Returns whether an end came before, and this is not that end again.
  mutating func arrive(_ push: LivePush) -> Bool {
    if let end { return end != push.id }
    if push.payload.event == .end { end = push.id }
    return isEnded
  }

  mutating func replaceToken(_ token: String, now: Int64) {
    self.token = token
    issuedAt = now
    registration = .waiting
  }
}
