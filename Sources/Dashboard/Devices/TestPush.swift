import Crypto
import JSON
import Operations
import PushModel
import Registry

/// The job of a test push to one device.
struct TestPush: Sendable {
  let id: String
  let json: [UInt8]

  /// `name`: the operator, who stands in the text.
  init(device: Device, query: InspectedAddressee, by name: String, now: Int64) {
    id = "test-" + Secret.random().utf8.prefix(12).map { String(UnicodeScalar($0)) }.joined()
    var user: Username?
    if case .user(let name) = query { user = name }
    let (text, kind) = ("Sent by \(name) from the dashboard.", device.kind ?? .app)
    // Nothing but an app's own code shows pushes of the other kinds.
    let content: JSONObject =
      kind == .app
      ? ["title": "Test push", "body": text] : ["pushType": kind.rawValue, "data": ["test": text] as JSONObject]
    let job: JSONObject = [
      "id": id, "to": ["user": user?.text, "token": device.token.text] as JSONObject, "app": device.bundleID,
      "enqueuedAt": now,
    ]
    json = (job + content).bytes
  }
}
