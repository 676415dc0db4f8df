import JSON

/// What is printed when pushes can come.
struct ReadyLine: Equatable {
  let port: Int
  let url: String
  let control: String
  let directory: String
  let authorityPath: String
  /// Nil when the key is the caller's.
  let keyPath: String?
  let keyID: String
  let teamID: String

  /// One line, without its end.
  var json: [UInt8] {
    var writer = JSONWriter()
    writer.beginObject()
    writer.key("ready")
    writer.bool(true)
    writer.key("port")
    writer.integer(port)
    let texts: [(StaticString, String?)] = [
      ("url", url), ("control", control), ("dir", directory), ("caCertificate", authorityPath), ("keyPath", keyPath),
      ("keyId", keyID), ("teamId", teamID),
    ]
    for case (let name, let text?) in texts {
      writer.key(name)
      writer.string(text)
    }
    writer.endObject()
    return writer.bytes
  }
}
