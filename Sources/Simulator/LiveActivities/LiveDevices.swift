/// The devices with Live Activities, and the tokens by which APNs finds them.
struct LiveDevices {
  private struct Place {
    let deviceID: String
    let target: LiveDevice.Target
  }

  static let maximumDevices = 100_000
  /// Of an update token, milliseconds.
  static let tokenLife: Int64 = 12 * 3_600_000
  /// How long APNs keeps a channel's message, milliseconds.
  static let messageLife: Int64 = 8 * 3_600_000

  private(set) var devices: [String: LiveDevice] = [:]
  /// By device token in lower case. Invalid update tokens stay, so that they are refused as such.
  private var places: [[UInt8]: Place] = [:]
  /// The newest message of each channel that keeps one.
  private var kept: [String: LivePush] = [:]

  var isEmpty: Bool { devices.isEmpty }

  /// Adds a device, or replaces one with all that it shows. `startTokens` are by attributes type. Returns false if there are too
  /// many devices.
  mutating func add(_ device: LiveDevice, startTokens: [String: String]) -> Bool {
    let deviceID = device.owner.deviceID
    guard devices[deviceID] != nil || devices.count < LiveDevices.maximumDevices else { return false }
    devices[deviceID] = device
    places = places.filter { $0.value.deviceID != deviceID }
    for (type, token) in startTokens {
      places[Devices.key(token.utf8)] = Place(deviceID: deviceID, target: .start(attributesType: type))
    }
    return true
  }

  /// Returns the answer to a push that is valid otherwise, and what to report. Times are unix milliseconds.
  mutating func receive(_ head: RequestHead, body: [UInt8], id: PushID, now: Int64) -> (Answer, [LiveDevice.Report]) {
    let isLive = head[.pushType].flatMap { PushType($0) } == .liveactivity
    guard let token = head.deviceToken, let place = places[Devices.key(token)], let device = devices[place.deviceID]
    else { return (isLive ? Answer(400, "BadDeviceToken") : .accepted, []) }
    guard isLive, head.bundleID == device.owner.bundleID, let push = LivePush(head, body: body, id: id) else {
      return (Answer(400, "DeviceTokenNotForTopic"), [])
    }
    if let refusal = LiveDevices.refusal(of: Devices.key(token), place.target, device, now: now) {
      devices[place.deviceID]?.refuse(push, for: place.target, isExpired: refusal.reason == "ExpiredToken")
      return (refusal, [])
    }
    return (.accepted, change(place.deviceID) { $0.receive(push, for: place.target, kept: $1, now: now) })
  }

  /// Delivers a message to all cards that have joined a channel. `keepsNewest`: the channel's storage policy.
  mutating func broadcast(_ push: LivePush, on channel: String, keepsNewest: Bool, now: Int64) {
    let isKept = keepsNewest && push.isStored
    if isKept {
      let limit = (now + LiveDevices.messageLife) / 1000
      let message = LivePush(payload: push.payload, id: push.id, expiration: min(push.expiration ?? limit, limit))
      if message.payload.timestamp >= kept[channel]?.payload.timestamp ?? 0 { kept[channel] = message }
    }
    for id in devices.keys { devices[id]?.receiveBroadcast(push, on: channel, isKept: isKept, now: now) }
  }

  /// Forgets the message of a deleted channel.
  mutating func removeChannel(_ channel: String) {
    kept[channel] = nil
  }

  mutating func setOnline(_ isOnline: Bool, _ deviceID: String, now: Int64) -> [LiveDevice.Report] {
    change(deviceID) { $0.setOnline(isOnline, kept: $1, now: now) }
  }

  mutating func rotateTokens(of activity: String, on deviceID: String, now: Int64) -> [LiveDevice.Report] {
    change(deviceID) { device, _ in device.rotateTokens(of: activity, now: now) }
  }

  /// Returns whose token is to be reported now; nil if none is.
  mutating func beginReport(_ report: LiveDevice.Report) -> LiveDevice.Owner? {
    devices[report.deviceID]?.beginsReport(report) == true ? devices[report.deviceID]?.owner : nil
  }

  mutating func endReport(_ report: LiveDevice.Report) {
    devices[report.deviceID]?.endReport(report)
  }

  mutating func removeAll() {
    self = LiveDevices()
  }

  /// Changes a device, and notes the update tokens that it is going to report. `body` also gets the kept messages.
  private mutating func change(
    _ deviceID: String, _ body: (inout LiveDevice, [String: LivePush]) -> [LiveDevice.Report]
  ) -> [LiveDevice.Report] {
    guard var device = devices[deviceID] else { return [] }
    // Not copied while it changes.
    devices[deviceID] = nil
    let reports = body(&device, kept)
    devices[deviceID] = device
    for report in reports {
      let target = LiveDevice.Target.card(activity: report.activityID, index: report.card)
      places[Array(report.token.utf8)] = Place(deviceID: deviceID, target: target)
    }
    return reports
  }

  private static func refusal(
    of token: [UInt8], _ target: LiveDevice.Target, _ device: LiveDevice, now: Int64
  ) -> Answer? {
    guard case .card(let id, let index) = target, let card = device.activities[id]?.cards[index] else { return nil }
    guard card.token?.utf8.elementsEqual(token) == true else {
      return Answer(410, "ExpiredToken", timestamp: card.issuedAt)
    }
    if let endedAt = card.endedAt { return Answer(410, "Unregistered", timestamp: endedAt) }
    let end = card.issuedAt + LiveDevices.tokenLife
    return now < end ? nil : Answer(410, "ExpiredToken", timestamp: end)
  }
}
