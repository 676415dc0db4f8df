/// `POST /keys`: `{"keyId":"KEY1234567","teamId":"TEAM123456","path":"AuthKey.p8","topics":["com.example.app"]}` adds a provider key
/// and gives the topics to its team; `{"keyId":"KEY1234567","revoked":true}` refuses a key, or accepts it again. Or an array of
/// these.
///
/// `environment` and `onlyBundleIds` restrict a key, also the first one, as Apple's portal does.
struct KeyCommand {
  private let id: String
  private let key: OtherKeys.Key?
  private let topics: [String]
  private let isRevoked: Bool
  private let restriction: OtherKeys.Restriction?

  init(_ command: inout Command) throws(ControlError) {
    guard let id = try command.string("keyId") else { throw ControlError("a \"keyId\" is missing") }
    self.id = id
    isRevoked = try command.bool("revoked") ?? false
    topics = try command.strings("topics") ?? []
    let environment = try command.choice("environment", of: GatewayEnvironment.self)
    let bundleIDs = try command.strings("onlyBundleIds")
    guard bundleIDs?.isEmpty != true else { throw ControlError("\"onlyBundleIds\" must name at least one") }
    restriction =
      environment == nil && bundleIDs == nil
      ? nil : OtherKeys.Restriction(environment: environment, bundleIDs: bundleIDs.map { Set($0) })
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
    if let restriction { keys.restrict(id, restriction) }
    keys.revoke(id, isRevoked)
  }
}
