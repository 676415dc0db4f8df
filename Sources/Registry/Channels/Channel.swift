package import JSON
public import PushModel

/// A broadcast channel of an app, by the name that its operators gave it.
public struct Channel: Sendable, Equatable {
  /// The rule for names, for errors.
  public static let nameRule = Charset.channelName.description

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

  public static func isName(_ text: String) -> Bool { Charset.channelName.accepts(text) }

  /// Reads the value of a key. Nil if it is malformed.
  public init?(_ name: String, of bundleID: String, json: [UInt8]) {
    let value: JSONValue
    do { value = try JSONValue(parsing: json) } catch { return nil }
    self.init(name, of: bundleID, value)
  }

  /// Reads the parsed value of a key. Nil if it is malformed.
  package init?(_ name: String, of bundleID: String, _ value: JSONValue) {
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

  /// `<bundleId>:<name>`, the end of its key.
  package var path: String { "\(bundleID):\(name)" }

  /// Reads the end of a key and the parsed value. Nil if they are malformed.
  package init?(path: String, _ value: JSONValue) {
    let parts = path.split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count == 2 else { return nil }
    self.init(String(parts[1]), of: String(parts[0]), value)
  }

  /// Reads the end of a key and its value. Nil if they are malformed.
  package init?(path: [UInt8], json: [UInt8]) {
    do { self.init(path: String(decoding: path, as: UTF8.self), try JSONValue(parsing: json)) } catch { return nil }
  }

  public var json: [UInt8] { record.bytes }

  /// `{"storage","production","sandbox"}`, without the environments in which there is none.
  package var record: JSONObject {
    ["storage": storage.rawValue, "production": ids[.production], "sandbox": ids[.sandbox]]
  }
}
