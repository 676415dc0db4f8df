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
    let values = headers.values(of: "Authorization")
    guard let value = values.first else {
      self = .none
      return
    }
    guard values.count == 1, value.utf8.count <= BasicCredentials.maximumBytes,
      value.prefix(BasicCredentials.scheme.count).lowercased() == BasicCredentials.scheme,
      let bytes = BasicCredentials.decoded(value.dropFirst(BasicCredentials.scheme.count)),
      let text = String(validating: bytes, as: UTF8.self), let colon = text.firstIndex(of: ":")
    else {
      self = .invalid
      return
    }
    self = .named(name: String(text[..<colon]), secret: String(text[text.index(after: colon)...]))
  }

  /// Decodes base64 with padding.
  private static func decoded(_ text: Substring) -> [UInt8]? {
    let digits = text.drop { $0 == " " }.utf8.filter { $0 != UInt8(ascii: "=") && $0 != UInt8(ascii: " ") }
    let urlSafe = digits.map { byte -> UInt8 in
      switch byte {
      case UInt8(ascii: "+"): UInt8(ascii: "-")
      case UInt8(ascii: "/"): UInt8(ascii: "_")
      default: byte
      }
    }
    return Base64URL.decode(urlSafe)
  }
}
