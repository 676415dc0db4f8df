import Foundation
import Foundation
import Jobs

/// A job of a ``Load`` to a unique device, so that its push has a unique apns-id.
struct LoadJob: Sendable, Hashable {
  let id: String
  let token: String

  init(_ prefix: String, _ number: Int) {
    id = "\(prefix)-\(number)"
    token = String(format: "%064x", 0xc4a0_5000_0000 + number)
  }

  var apnsID: String { Jobs.apnsID(jobID: id, token: token) }

  var json: [UInt8] { Array(#"{"id":"\#(id)","to":{"token":"\#(token)"},"title":"Chaos"}"#.utf8) }

  var atMostOnce: [UInt8] {
    Array(#"{"id":"\#(id)","to":{"token":"\#(token)"},"title":"Chaos","atMostOnce":true}"#.utf8)
  }

  static func list(_ prefix: String, _ count: Int) -> [LoadJob] { (0..<count).map { LoadJob(prefix, $0) } }
}
