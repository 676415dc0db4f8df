import Crypto
import JSON
import Registry

/// The job of a test push to one device.
struct TestPush: Sendable {
  let id: String
  let json: [UInt8]

  /// `name`: the operator, who stands in the text.
  init(device: Device, query: DeviceSearch, by name: String, now: Int64) {
    id = "test-" + Secret.random().utf8.prefix(12).map { String(UnicodeScalar($0)) }.joined()
    var writer = JSONWriter(capacity: 256)
    writer.beginObject()
    writer.key("id")
    writer.string(id)
    writer.key("to")
    writer.beginObject()
    if case .user(let user) = query {
      writer.key("user")
      writer.string(user)
    }
    writer.key("token")
    writer.string(device.token)
    writer.endObject()
    if let app = device.bundleID {
      writer.key("app")
      writer.string(app)
    }
    writer.key("title")
    writer.string("Test push")
    writer.key("body")
    writer.string("Sent by \(name) from the dashboard.")
    writer.key("enqueuedAt")
    writer.integer(now)
    writer.endObject()
    json = writer.bytes
  }
}
