/// `POST /keys`: `{"keyId":"KEY1234567","teamId":"TEAM123456","path":"AuthKey.p8","topics":["com.example.app"]}` adds a provider key
/// and gives the topics to its team; `{"keyId":"KEY1234567","revoked":true}` refuses a key, or accepts it again. Or an array of
/// these.
struct KeyCommand {
  private let id: String
  private let key: OtherKeys.Key?
  private let topics: [String]
  private let isRevoked: Bool

  static func list(_ body: [UInt8]) throws(ControlError) -> [KeyCommand] {
    var commands: [KeyCommand] = []
    for var command in try Command.list(body) { commands.append(try KeyCommand(&command)) }
    return commands
  }

  private init(_ command: inout Command) throws(ControlError) {
    guard let id = try command.string("keyId") else { throw ControlError("a \"keyId\" is missing") }
    self.id = id
    isRevoked = try command.bool("revoked") ?? false
    topics = try command.strings("topics") ?? []
    let (team, path) = (try command.string("teamId"), try command.string("path"))
    try command.end()
    guard team != nil || path != nil else {
      key = nil
      return
    }
    guard let team, let path else { throw ControlError("\"teamId\" and \"path\" go together") }
    do throws(CredentialError) {
      key = OtherKeys.Key(teamID: team, key: try PublicKey(path: path))
    } catch {
      throw ControlError("\(error)")
    }
  }

  func apply(to keys: inout OtherKeys) {
    if let key { keys.add(id, key, topics: topics) }
    keys.revoke(id, isRevoked)
  }
}
