#if canImport(Glibc)
  import Glibc
#endif

/// The known header fields of a push, copied into one buffer that is reused.
struct RequestHead {
  enum Field: Int, CaseIterable {
    case method, path, authorization, apnsID, topic, pushType, priority, expiration, collapseID, channelID, requestID
  }

  private(set) var hasDuplicates = false
  /// As SETTINGS_MAX_HEADER_LIST_SIZE counts: names, values, and 32 for each field.
  private(set) var listSize = 0
  private var bytes: [UInt8] = []
  /// One per field; -1 if the field is absent.
  private var ranges = [(start: Int, end: Int)](repeating: (-1, -1), count: Field.allCases.count)

  mutating func removeAll() {
    hasDuplicates = false
    listSize = 0
    bytes.removeAll(keepingCapacity: true)
    for index in ranges.indices { ranges[index] = (-1, -1) }
  }

  /// Stores a field. Unknown fields are ignored.
  mutating func append(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) {
    listSize += name.count + value.count + 32
    guard let field = Field(name: name) else { return }
    guard ranges[field.rawValue].start < 0 else {
      hasDuplicates = true
      return
    }
    let start = bytes.count
    bytes.append(contentsOf: value)
    ranges[field.rawValue] = (start, bytes.count)
  }

  subscript(field: Field) -> ArraySlice<UInt8>? {
    let range = ranges[field.rawValue]
    return range.start < 0 ? nil : bytes[range.start..<range.end]
  }

  /// The part of the path after `/3/device/`.
  var deviceToken: ArraySlice<UInt8>? {
    guard let path = self[.path], path.starts(with: RequestHead.devicePath) else { return nil }
    return path.dropFirst(RequestHead.devicePath.count)
  }

  /// The topic without the suffix of the push type.
  var bundleID: String {
    let topic = String(decoding: self[.topic] ?? [], as: UTF8.self)
    let suffix = "\((self[.pushType].flatMap { PushType($0) } ?? .alert).topicSuffix)"
    return topic.hasSuffix(suffix) ? String(topic.dropLast(suffix.count)) : topic
  }

  /// The apns-id and the text that is returned for it. A new one if it is absent or malformed.
  var pushID: (id: PushID, text: ArraySlice<UInt8>) { identifier(in: .apnsID) }

  /// As ``pushID``, of a request about channels.
  var requestIdentifier: (id: PushID, text: ArraySlice<UInt8>) { identifier(in: .requestID) }

  private func identifier(in field: Field) -> (id: PushID, text: ArraySlice<UInt8>) {
    if let text = self[field], let id = PushID(text) { return (id, text) }
    let id = PushID.random()
    return (id, Array(id.text.uppercased().utf8)[...])
  }

  private static let devicePath = Array("/3/device/".utf8)
}

extension RequestHead.Field {
  init?(name: UnsafeRawBufferPointer) {
    guard let start = name.baseAddress else { return nil }
    /// `text` must be as long as the name.
    func isName(_ text: StaticString) -> Bool { memcmp(start, text.utf8Start, text.utf8CodeUnitCount) == 0 }
    switch name.count {
    case 5 where isName(":path"): self = .path
    case 7 where isName(":method"): self = .method
    case 7 where isName("apns-id"): self = .apnsID
    case 10 where isName("apns-topic"): self = .topic
    case 13 where isName("authorization"): self = .authorization
    case 13 where isName("apns-priority"): self = .priority
    case 14 where isName("apns-push-type"): self = .pushType
    case 15 where isName("apns-expiration"): self = .expiration
    case 15 where isName("apns-channel-id"): self = .channelID
    case 15 where isName("apns-request-id"): self = .requestID
    case 16 where isName("apns-collapse-id"): self = .collapseID
    default: return nil
    }
  }
}
