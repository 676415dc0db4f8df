import PushModel
import Crypto
import Registry

/// The `platformEndpointArn` of a device: the same for the same token, app and environment.
struct PlatformEndpoint {
  let device: Device
  /// Of a device that was registered without.
  let defaultBundleID: String?
  let defaultEnvironment: PushEnvironment

  /// `arn:martlet:push:<environment>:<bundleId>:endpoint/<uuid>`.
  var arn: String {
    let environment = (device.environment ?? defaultEnvironment).rawValue
    let bundleID = device.bundleID ?? defaultBundleID ?? ""
    return "arn:martlet:push:\(environment):\(bundleID):endpoint/\(PlatformEndpoint.uuid(of: device.token))"
  }

  /// Laid out like a UUID of version 5, from the token's SHA-256.
  static func uuid(of token: String) -> String {
    var bytes = Array(SHA256.digest(Array(token.utf8)).prefix(16))
    bytes[6] = bytes[6] & 0x0F | 0x50
    bytes[8] = bytes[8] & 0x3F | 0x80
    let groups = [bytes[0..<4], bytes[4..<6], bytes[6..<8], bytes[8..<10], bytes[10..<16]]
    return groups.map { Hex.encode(Array($0)) }.joined(separator: "-")
  }
}
