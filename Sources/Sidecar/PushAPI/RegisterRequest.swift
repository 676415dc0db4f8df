import PushModel
import Registry

/// The body of `/api/push/register`.
struct RegisterRequest: Equatable {
  let token: String
  let platform: Platform

  init(_ bytes: [UInt8]) throws(BadRequest) {
    let body = try PushBody(bytes)
    guard let token = try body.string("token", .invalidToken), !token.isEmpty else { throw .tokenRequired }
    guard DeviceToken.isWellFormed(token.utf8) else { throw .invalidToken }
    let name = try body.string("platform", .unsupportedPlatform) ?? Platform.ios.rawValue
    guard let platform = Platform(rawValue: name.lowercased()) else { throw .unsupportedPlatform }
    self.token = token
    self.platform = platform
  }
}
