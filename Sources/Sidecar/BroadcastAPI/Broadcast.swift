import JSON
import Jobs
import Policy

/// The job to everyone of an app that `/newpush` enqueues.
struct Broadcast {
  let id: String
  /// Its JSON.
  let job: [UInt8]

  /// From `body` and `title` of a request. Refuses what the worker would: with its reason, and before anything is enqueued.
  init(_ request: JSONValue, to app: String, id: String) throws(Refusal) {
    guard let body = request["body"]?.string, !body.isEmpty else {
      throw Refusal(400, "Invalid body", "body: expected a string that is not empty")
    }
    var members = [
      JSONMember(key: "id", value: .string(id)),
      JSONMember(key: "to", value: .object([JSONMember(key: "app", value: .string(app))])),
    ]
    switch request["title"] {
    case nil, .null, .string(""): break
    case .string(let title): members.append(JSONMember(key: "title", value: .string(title)))
    default: throw Refusal(400, "Invalid title", "title: expected a string")
    }
    members.append(JSONMember(key: "body", value: .string(body)))
    self.id = id
    job = JSONValue.object(members).bytes
    do {
      _ = try Job(parsing: job).apnsPayload()
    } catch {
      throw Refusal(400, "Invalid push", error.reason)
    }
  }
}
