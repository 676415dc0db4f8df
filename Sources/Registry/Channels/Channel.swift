import JSON
public import PushModel

/// A broadcast channel of an app, by the name that its operators gave it.
public struct Channel: Sendable, Equatable {
  private static let names = Charset("._-", length: 1...64)
  /// The rule for names, for errors.
  public static let nameRule = names.description

  public let name: String
  public let bundleID: String
  /// The same in each environment.
  public let storage: ChannelStorage
  /// APNs' id in each environment in which the channel exists.
  public var ids: [PushEnvironment: String]

  public init(_ name: String, of bundleID: String, storage: ChannelStorage, ids: [PushEnvironment: String] = [:]) {
    self.name = name
    self.bundleID = bundleID
    self.storage = storage
    self.ids = ids
  }

  public static func isName(_ text: String) -> Bool { names.accepts(text) }

  /// Reads the value of a key. Nil if it is malformed.
  public init?(_ name: String, of bundleID: String, json: [UInt8]) {
    let value: JSONValue
    do { value = try JSONValue(parsing: json) } catch { return nil }
    guard Channel.isName(name), BundleID.isWellFormed(bundleID),
      let storage = value["storage"]?.string.flatMap(ChannelStorage.init(rawValue:))
    else { return nil }
    self.init(name, of: bundleID, storage: storage)
    for environment in PushEnvironment.allCases {
      guard let id = value[environment.rawValue], id != .null else { continue }
      guard let id = id.string, ChannelID.isWellFormed(id) else { return nil }
      ids[environment] = id
    }
  }

  /// Reads a key and its value. Nil if they are malformed.
  init?(key: [UInt8], json: [UInt8]) {
    let parts = String(decoding: key, as: UTF8.self).dropFirst(RegistryKeys.channels.count).split(
      separator: ":", omittingEmptySubsequences: false)
    guard parts.count == 2 else { return nil }
    self.init(String(parts[1]), of: String(parts[0]), json: json)
  }

  /// `{"storage","production","sandbox"}`, without the environments in which there is none.
  public var json: [UInt8] {
    let object: JSONObject = [
      "storage": storage.rawValue, "production": ids[.production], "sandbox": ids[.sandbox],
    ]
    return object.bytes
  }
}
