import PushModel
import JSON
import Registry

/// The JSON object that a request brings. Whatever its content type says, it is read as JSON; no body at all is `{}`.
struct PushBody {
  private let object: JSONValue

  init(_ bytes: [UInt8]) throws(BadRequest) {
    guard !bytes.isEmpty else {
      object = .object([])
      return
    }
    do { object = try JSONValue(parsing: bytes) } catch { throw .noObject }
    guard object.members != nil else { throw .noObject }
  }

  subscript(key: String) -> JSONValue? { object[key] }

  /// Trimmed; nil when absent.
  func string(_ key: String, _ error: BadRequest) throws(BadRequest) -> String? {
    guard let value = object[key] else { return nil }
    guard let string = value.string else { throw error }
    return string.trimmed
  }

  /// The token, which has to have the form of one; nil when absent.
  func token() throws(BadRequest) -> String? {
    guard let token = try string("token", .invalidToken) else { return nil }
    guard DeviceToken.isWellFormed(token.utf8) else { throw .invalidToken }
    return token
  }
}
