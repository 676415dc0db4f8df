/// Who owns an entry of a set: pure decisions.
enum Ownership {
  enum Decision: Equatable {
    case device(Device)
    case misplaced(Misplaced)
  }

  /// `metadata` is what stands under the entry's token; `username` nil accepts any owner (an app's audience).
  static func judge(entry: [UInt8], metadata: [UInt8]?, username: String?) -> Decision {
    func misplaced(_ reason: Misplaced.Reason) -> Decision { .misplaced(Misplaced(entry: entry, reason: reason)) }
    guard let token = DeviceToken.parse(entry) else { return misplaced(.malformedToken) }
    guard let metadata else { return misplaced(.noMetadata) }
    guard let known = DeviceMetadata(json: metadata) else { return misplaced(.malformedMetadata) }
    if let username, known.username != username { return misplaced(.otherOwner) }
    return .device(Device(token: token, metadata: known))
  }

  /// Sorts pairs of entry and metadata.
  static func sort(_ pairs: [(entry: [UInt8], metadata: [UInt8]?)], username: String?) -> Resolution {
    var resolution = Resolution()
    resolution.devices.reserveCapacity(pairs.count)
    for (entry, metadata) in pairs {
      switch judge(entry: entry, metadata: metadata, username: username) {
      case .device(let device): resolution.devices.append(device)
      case .misplaced(let misplaced): resolution.misplaced.append(misplaced)
      }
    }
    return resolution
  }
}
