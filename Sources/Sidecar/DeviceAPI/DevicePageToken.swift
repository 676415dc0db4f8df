import PushModel
import Crypto
import JSON
import Registry

/// The `nextToken` of a list of devices: where a user's next page begins.
struct DevicePageToken: Equatable {
  let userID: String
  /// The last device of the page before.
  let deviceToken: String

  init(userID: String, deviceToken: String) {
    self.userID = userID
    self.deviceToken = deviceToken
  }

  /// Nil unless it is what ``text`` makes for this user.
  init?(parsing text: String, userID: String) {
    guard let bytes = Base64URL.decode(text.utf8) else { return nil }
    let value: JSONValue
    do { value = try JSONValue(parsing: bytes) } catch { return nil }
    guard let token = value["deviceToken"]?.string, DeviceToken.isWellFormed(token.utf8) else { return nil }
    self.init(userID: userID, deviceToken: token)
    guard self.text == text else { return nil }
  }

  /// Base64url of `{"deviceToken","userId"}`.
  var text: String {
    let value = JSONValue.object([
      JSONMember(key: "deviceToken", value: .string(deviceToken)), JSONMember(key: "userId", value: .string(userID)),
    ])
    return String(decoding: Base64URL.encode(value.bytes), as: UTF8.self)
  }
}
