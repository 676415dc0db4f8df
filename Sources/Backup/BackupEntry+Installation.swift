import JSON

extension BackupEntry {
  /// Reads a record of Parse's `_Installation`; only iOS devices of `bundleIDs` are taken. Nobody owns them.
  init(installation record: JSONValue, of bundleIDs: Set<String>) {
    guard let app = record["appIdentifier"]?.string, bundleIDs.contains(app) else {
      self = .refused(.otherApp)
      return
    }
    guard record["deviceType"]?.string == "ios" else {
      self = .refused(.otherPlatform)
      return
    }
    guard let token = record["deviceToken"]?.string, !token.isEmpty else {
      self = .refused(.noToken)
      return
    }
    var members: [JSONMember] = []
    for key in ["createdAt", "updatedAt"] {
      if let date = record[key] { members.append(JSONMember(key: key, value: date["iso"] ?? date)) }
    }
    self.init(app: app, token: token, record: .object(members))
  }
}
