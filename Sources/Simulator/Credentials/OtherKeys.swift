/// Provider keys beside the first one and their topics, and the restrictions of all keys.
struct OtherKeys {
  struct Key {
    let teamID: String
    let key: PublicKey
  }

  /// What a key is for. Nil: everything.
  struct Restriction {
    let environment: GatewayEnvironment?
    /// Of a topic-specific key: all topics of these.
    let bundleIDs: Set<String>?
  }

  private(set) var keys: [String: Key] = [:]
  /// The ids of keys whose tokens are refused.
  private(set) var revoked: Set<String> = []
  private var restrictions: [String: Restriction] = [:]
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

  mutating func restrict(_ id: String, _ restriction: Restriction) {
    restrictions[id] = restriction
  }

  mutating func removeAll() {
    self = OtherKeys()
  }

  /// Returns whether the key is valid in `environment`; nil for an unknown one.
  func isKey(_ id: String, of environment: GatewayEnvironment?) -> Bool {
    guard let environment, let own = restrictions[id]?.environment else { return true }
    return own == environment
  }

  /// Returns whether the key may send to the topics of a bundle id.
  func mayKey(_ id: String, sendTo bundleID: @autoclosure () -> String) -> Bool {
    restrictions[id]?.bundleIDs?.contains(bundleID()) ?? true
  }

  /// Returns whether the team may send to the topic.
  func allows(_ topic: ArraySlice<UInt8>?, team: String?) -> Bool {
    guard !teams.isEmpty, let topic, let owner = teams[String(decoding: topic, as: UTF8.self)] else { return true }
    return owner == team
  }
}
