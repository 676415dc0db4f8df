import PushModel

extension Push {
  /// Apple: "don't make assumptions about their length".
  private nonisolated static let maximumTokenCharacters = 1024
  private nonisolated static let maximumCollapseIDBytes = 64
  private nonisolated static let maximumTopicBytes = 256

  /// The answer that APNs would give to an invalid push; nil if the push is valid.
  ///
  /// Such a push is not sent: a control character in a header would end the connection and all pushes on it.
  nonisolated var localRefusal: APNsAnswer? {
    let (topic, message) = (shared.topic, shared.message)
    if shared.isBroadcast {
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
    if ![10, 5, 1].contains(message.priority) { return .init(status: 400, reason: "BadPriority") }
    if let expiration = message.expiration, expiration < 0 { return .init(status: 400, reason: "BadExpirationDate") }
    if let id = message.collapseID, id.utf8.count > Push.maximumCollapseIDBytes || !Push.isHeaderValue(id) {
      return .init(status: 400, reason: "BadCollapseId")
    }
    if message.payload.isEmpty { return .init(status: 400, reason: "PayloadEmpty") }
    let maximum = shared.isBroadcast ? PushType.maximumBroadcastBytes : message.pushType.maximumPayloadBytes
    if message.payload.count > maximum { return .init(status: 413, reason: "PayloadTooLarge") }
    return nil
  }

  private nonisolated var isTokenValid: Bool {
    token.utf8.count <= Push.maximumTokenCharacters && Push.all(token, Push.isHex)
  }

  /// Whether the id is a UUID: 32 hexadecimal digits and four dashes.
  private nonisolated var isAPNsIDValid: Bool {
    apnsID.utf8.span.withUnsafeBufferPointer { text in
      guard text.count == 36 else { return false }
      var digits: UInt8 = 0
      var index = 0
      while index < text.count {
        digits &+= Push.isHex(text[index]) ? 1 : 0
        index &+= 1
      }
      return digits == 32 && text[8] == Push.dash && text[13] == Push.dash && text[18] == Push.dash
        && text[23] == Push.dash
    }
  }

  private nonisolated static let dash = UInt8(ascii: "-")

  private nonisolated static func isHeaderValue(_ text: String) -> Bool {
    all(text) { $0 >= 0x20 && $0 != 0x7F } && text.utf8.first != 0x20 && text.utf8.last != 0x20
  }

  @inline(__always)
  private nonisolated static func isHex(_ byte: UInt8) -> Bool {
    (byte &- 0x30) < 10 || ((byte | 0x20) &- 0x61) < 6
  }

  /// Whether all bytes satisfy `isFine`. The loop has no early exit, so that the compiler can vectorize it.
  @inline(__always)
  private nonisolated static func all(_ text: String, _ isFine: (UInt8) -> Bool) -> Bool {
    text.utf8.span.withUnsafeBufferPointer { bytes in
      var unfit: UInt8 = 0
      var index = 0
      while index < bytes.count {
        unfit |= isFine(bytes[index]) ? 0 : 1
        index &+= 1
      }
      return unfit == 0
    }
  }
}
