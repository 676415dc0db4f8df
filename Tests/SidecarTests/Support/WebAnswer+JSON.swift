import JSON
import TestSupport

extension WebAnswer {
  /// The body as JSON, or nil if it is not JSON.
  var json: JSONValue? { try? JSONValue(parsing: Array(body.utf8)) }

  var error: String? { json?["error"]?.string }
}
