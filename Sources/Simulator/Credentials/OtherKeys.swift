/// Provider keys beside the first one, and their topics.
struct OtherKeys {
  struct Key {
    let teamID: String
    let key: PublicKey
  }

  private(set) var keys: [String: Key] = [:]
  /// The ids of keys whose tokens are refused.
  private(set) var revoked: Set<String> = []
  /// The team of each topic that belongs to one; other topics are everyone's.
  private var teams: [String: String] = [:]

  /// Adds a key, and topics to its team.
  mutating func add(_ id: String, _ key: Key, topics: [String]) {
    keys[id] = key
    for topic in topics { teams[topic] = key.teamID }
  }

  mutating func revoke(_ id: String, _ isRevoked: Bool) {
    if isRevoked { revoked.insert(id) } else { revoked.remove(id) }
  }

  mutating func removeAll() {
    self = OtherKeys()
  }

  /// Returns whether the team may send to the topic.
  func allows(_ topic: ArraySlice<UInt8>?, team: String?) -> Bool {
    guard !teams.isEmpty, let topic, let owner = teams[String(decoding: topic, as: UTF8.self)] else { return true }
    return owner == team
  }
}
