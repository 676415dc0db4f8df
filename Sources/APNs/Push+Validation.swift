extension Push {
  private nonisolated static let maximumTokenCharacters = 200
  private nonisolated static let maximumCollapseIDBytes = 64
  private nonisolated static let maximumTopicBytes = 256

  /// What APNs would answer to a push that can only be refused, given without asking it; nil when it may go.
  ///
  /// A control character in a header would also end the whole connection, and with it the pushes of others.
  nonisolated var localRefusal: APNsAnswer? {
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

  private nonisolated var isTokenValid: Bool {
    token.utf8.count <= Push.maximumTokenCharacters && Push.areBytes(of: token, Push.isHex)
  }

  private nonisolated var isAPNsIDValid: Bool {
    guard apnsID.utf8.count == 36 else { return false }
    var position = 0
    return Push.areBytes(of: apnsID) { byte in
      let isDash = position == 8 || position == 13 || position == 18 || position == 23
      position += 1
      return isDash ? byte == UInt8(ascii: "-") : Push.isHex(byte)
    }
  }

  @inline(__always)
  private nonisolated static func areBytes(of text: String, _ isFine: (UInt8) -> Bool) -> Bool {
    text.utf8.withContiguousStorageIfAvailable { $0.allSatisfy(isFine) } ?? text.utf8.allSatisfy(isFine)
  }

  @inline(__always)
  private nonisolated static func isHex(_ byte: UInt8) -> Bool {
    (byte &- 0x30) < 10 || ((byte | 0x20) &- 0x61) < 6
  }

  private nonisolated static func isHeaderValue(_ text: String) -> Bool {
    areBytes(of: text) { $0 >= 0x20 && $0 != 0x7F } && text.utf8.first != 0x20 && text.utf8.last != 0x20
  }
}
