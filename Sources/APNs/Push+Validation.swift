import PushModel

extension Push {
  private nonisolated static let maximumTokenCharacters = 200
  private nonisolated static let maximumCollapseIDBytes = 64
  private nonisolated static let maximumTopicBytes = 256

  /// The answer that APNs would give to an invalid push; nil if the push is valid.
  ///
  /// Such a push is not sent: a control character in a header would end the connection and all pushes on it.
  nonisolated var localRefusal: APNsAnswer? {
    if isBroadcast {
      if token.utf8.isEmpty { return .init(status: 400, reason: "MissingChannelId") }
      if !ChannelID.isWellFormed(token) { return .init(status: 400, reason: "BadChannelId") }
    } else {
      if token.utf8.isEmpty { return .init(status: 400, reason: "MissingDeviceToken") }
      if !isTokenValid { return .init(status: 400, reason: "BadDeviceToken") }
    }
    if topic.utf8.isEmpty { return .init(status: 400, reason: "MissingTopic") }
    if topic.utf8.count > Push.maximumTopicBytes || !Push.isHeaderValue(topic) {
      return .init(status: 400, reason: "BadTopic")
    }
    if !isAPNsIDValid { return .init(status: 400, reason: "BadMessageId") }
    if priority != 10, priority != 5, priority != 1 { return .init(status: 400, reason: "BadPriority") }
    if let expiration, expiration < 0 { return .init(status: 400, reason: "BadExpirationDate") }
    if let collapseID, collapseID.utf8.count > Push.maximumCollapseIDBytes || !Push.isHeaderValue(collapseID) {
      return .init(status: 400, reason: "BadCollapseId")
    }
    if payload.isEmpty { return .init(status: 400, reason: "PayloadEmpty") }
    let maximum = isBroadcast ? PushType.maximumBroadcastBytes : pushType.maximumPayloadBytes
    if payload.count > maximum { return .init(status: 413, reason: "PayloadTooLarge") }
    return nil
  }

  private nonisolated var isTokenValid: Bool {
    token.utf8.count <= Push.maximumTokenCharacters && Push.count(token, Push.isHex) == token.utf8.count
  }

  /// Whether the id is a UUID: 32 hexadecimal digits and four dashes.
  private nonisolated var isAPNsIDValid: Bool {
    let text = apnsID.utf8
    return text.count == 36 && Push.count(apnsID, Push.isHex) == 32
      && Push.dashes.allSatisfy { text[text.index(text.startIndex, offsetBy: $0)] == UInt8(ascii: "-") }
  }

  private nonisolated static let dashes = [8, 13, 18, 23]

  private nonisolated static func isHeaderValue(_ text: String) -> Bool {
    count(text) { $0 >= 0x20 && $0 != 0x7F } == text.utf8.count && text.utf8.first != 0x20 && text.utf8.last != 0x20
  }

  @inline(__always)
  private nonisolated static func isHex(_ byte: UInt8) -> Bool {
    (byte &- 0x30) < 10 || ((byte | 0x20) &- 0x61) < 6
  }

  /// Returns the number of bytes that satisfy `isFine`, for texts of at most 256 bytes. The loop has no early exit, so
  /// that the compiler can vectorize it.
  @inline(__always)
  private nonisolated static func count(_ text: String, _ isFine: (UInt8) -> Bool) -> Int {
    var text = text
    return text.withUTF8 { bytes in
      var count: UInt16 = 0
      var index = 0
      while index < bytes.count {
        count &+= isFine(bytes[index]) ? 1 : 0
        index &+= 1
      }
      return Int(count)
    }
  }
}
