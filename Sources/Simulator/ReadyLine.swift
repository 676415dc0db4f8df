import FoundationEssentials

/// What is printed when pushes can come.
struct ReadyLine: Codable, Equatable {
  var ready = true
  let port: Int
  let url: String
  let control: String
  let dir: String
  let caCertificate: String
  /// Absent when the key is the caller's.
  let keyPath: String?
  let keyId: String
  let teamId: String

  func json() throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .withoutEscapingSlashes
    return String(decoding: try encoder.encode(self), as: UTF8.self)
  }
}
