import Crypto
import HTTPServer

/// `Authorization: Basic …`: the name and the secret of an operator, for scripts.
enum BasicCredentials: Equatable {
  case none
  /// Repeated, of another scheme, or malformed.
  case invalid
  case named(name: String, secret: String)

  private static let scheme = "basic "
  private static let maximumBytes = 1024

  init(_ headers: HTTPHeaders) {
    let values = headers.values(of: "authorization")
    guard let value = values.first else {
      self = .none
      return
    }
    guard values.count == 1, value.utf8.count <= BasicCredentials.maximumBytes,
      value.prefix(BasicCredentials.scheme.count).lowercased() == BasicCredentials.scheme,
      let bytes = Base64.decode(value.utf8.dropFirst(BasicCredentials.scheme.count).filter { $0 != UInt8(ascii: " ") }),
      let text = String(validating: bytes, as: UTF8.self), let colon = text.firstIndex(of: ":")
    else {
      self = .invalid
      return
    }
    self = .named(name: String(text[..<colon]), secret: String(text[text.index(after: colon)...]))
  }
}
