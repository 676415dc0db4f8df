import EventLoop

extension Push {
  private static let maximumTokenCharacters = 200
  private static let maximumCollapseIDBytes = 64
  private static let maximumTopicBytes = 256

  /// What APNs would answer to a push that can only be refused, given without asking it; nil when it may go.
  ///
  /// A control character in a header would also end the whole connection, and with it the pushes of others.
  var localRefusal: APNsAnswer? {
    if token.utf8.isEmpty { return .init(status: 400, reason: "MissingDeviceToken") }
    if !isTokenValid { return .init(status: 400, reason: "BadDeviceToken") }
    if topic.utf8.isEmpty { return .init(status: 400, reason: "MissingTopic") }
    if topic.utf8.count > Push.maximumTopicBytes || !Push.isHeaderValue(topic) {
      return .init(status: 400, reason: "BadTopic")
    }
    if !isAPNsIDValid { return .init(status: 400, reason: "BadMessageId") }
    if ![10, 5, 1].contains(priority) { return .init(status: 400, reason: "BadPriority") }
    if let expiration, expiration < 0 { return .init(status: 400, reason: "BadExpirationDate") }
    if let collapseID, collapseID.utf8.count > Push.maximumCollapseIDBytes || !Push.isHeaderValue(collapseID) {
      return .init(status: 400, reason: "BadCollapseId")
    }
    if payload.isEmpty { return .init(status: 400, reason: "PayloadEmpty") }
    if payload.count > pushType.maximumPayloadBytes { return .init(status: 413, reason: "PayloadTooLarge") }
    return nil
  }

  private var isTokenValid: Bool {
    token.utf8.count <= Push.maximumTokenCharacters && token.utf8.allSatisfy(Push.isHex)
  }

  private var isAPNsIDValid: Bool {
    guard apnsID.utf8.count == 36 else { return false }
    var position = 0
    for byte in apnsID.utf8 {
      let isDash = position == 8 || position == 13 || position == 18 || position == 23
      guard isDash ? byte == UInt8(ascii: "-") : Push.isHex(byte) else { return false }
      position += 1
    }
    return true
  }

  private nonisolated static func isHex(_ byte: UInt8) -> Bool {
    (byte &- 0x30) < 10 || ((byte | 0x20) &- 0x61) < 6
  }

  private nonisolated static func isHeaderValue(_ text: String) -> Bool {
    text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F } && text.utf8.first != 0x20 && text.utf8.last != 0x20
  }
}
