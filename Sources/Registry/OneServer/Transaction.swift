import PushModel
import Events
import JSON
import Redis

/// Changes that are applied together, or not at all if something else is stored than was read.
struct Transaction: Sendable {
  /// A change of one record, and of the sets that contain its entry.
  struct Change: Sendable {
    let key: String
    /// Empty if no set contains it.
    var entry = ""
    /// The record that was read; empty if there was none.
    let expected: [UInt8]
    /// Empty to delete the record, nil to keep it.
    let record: [UInt8]?
    var joined: [DeviceSet] = []
    var left: [DeviceSet] = []
    /// Whether the first set of `left` must contain the entry.
    var requiresEntry = false
    /// How many entries a user's set that is joined may have then.
    var limit: Int?
    var isForced = false
    var lifetime = RecordLifetime.unlimited
    var events: [Event] = []
  }

  /// The reply of ``RegistryScripts/apply``. The numbers are those of the change and of its set.
  enum Reply: Sendable {
    /// For each set that was left whether it contained the entry.
    case done([Bool])
    case otherRecord(Int, [UInt8])
    case otherType(Int, DeviceSet)
    case absent, full, othersChanged
  }

  var changes: [Change]
  /// A user's set that must have these devices, and this number of entries.
  var compared: (user: Username, members: [Registry.Member], size: Int)?

  init(_ changes: [Change]) {
    self.changes = changes
  }

  /// Compares a user's devices, unless they are more than a user may have: these were only read in part, or shrink in
  /// several steps.
  mutating func compare(_ room: DeviceRoom, of user: Username) {
    guard room.members.count <= Registry.maximumResolved else { return }
    compared = (user, room.members.filter(\.isToken), room.members.count)
  }

  private static let keptRecord = Array("=".utf8)

  var keys: [String] {
    var keys: [String] = []
    if let compared {
      keys.append(RegistryKeys.userTokens(compared.user))
      for member in compared.members { keys.append(RegistryKeys.token(entry: member.token)) }
    }
    for change in changes {
      keys.append(change.key)
      for set in change.joined { keys.append(set.key(of: change.entry)) }
      for set in change.left { keys.append(set.key(of: change.entry)) }
    }
    return keys
  }

  /// The number of keys and arguments.
  var words: Int {
    changes.reduce(4 + 2 * (compared?.members.count ?? 0)) { $0 + 9 + $1.joined.count + $1.left.count }
  }

  func append(to call: inout RedisCall) {
    call.append(changes.count)
    call.append(compared.map { String($0.size) } ?? "")
    call.append(compared?.members.count ?? 0)
    for member in compared?.members ?? [] { call.append(member.stored) }
    for change in changes {
      call.append(change.entry)
      call.append(change.expected)
      call.append(change.record ?? Transaction.keptRecord)
      call.append(change.letters)
      call.append(change.limit.map { String($0) } ?? "")
      call.append(change.isForced ? "1" : "")
      call.append(change.lifetime.text)
      call.append(
        change.events.isEmpty ? [] : Array(change.events.map(\.json).joined(separator: [UInt8(ascii: "\n")])))
    }
  }

  /// Returns nil if `value` is not the reply to this transaction.
  func reply(_ value: RedisValue) -> Reply? {
    guard let parts = value.array, parts.count == 3, let number = parts[1].count else { return nil }
    switch parts[0].string {
    case "done": return .done((parts[2].bytes ?? []).map { $0 == UInt8(ascii: "1") })
    case "record": return .otherRecord(number - 1, parts[2].bytes ?? [])
    case "absent": return .absent
    case "full": return .full
    case "others": return .othersChanged
    default:
      guard changes.indices.contains(number - 1) else { return nil }
      let sets = changes[number - 1].joined + changes[number - 1].left
      guard let place = parts[2].string?.integer(in: 1...max(sets.count, 1)), place <= sets.count else { return nil }
      return .otherType(number - 1, sets[place - 1])
    }
  }
}

extension Transaction.Change {
  fileprivate var letters: String {
    var letters = ""
    for set in joined { letters += set.letters.join }
    for (number, set) in left.enumerated() { letters += requiresEntry && number == 0 ? "M" : set.letters.leave }
    return letters
  }
}

extension Transaction.Change {
  init(_ decided: DecidedChange) {
    let isKept = decided.change.record == .kept
    self.init(
      key: RegistryKeys.token(entry: decided.device.token), entry: decided.device.token, expected: decided.device.bytes,
      record: isKept ? nil : decided.result.bytes, joined: decided.change.joined, left: decided.change.left,
      requiresEntry: decided.change.requiresEntry,
      // A record that is kept also keeps its lifetime.
      isForced: decided.change.isForced && !isKept, lifetime: decided.change.lifetime)
  }
}
