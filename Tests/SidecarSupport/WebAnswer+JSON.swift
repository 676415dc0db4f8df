package import JSON
import TestSupport

extension WebAnswer {
  /// The body as JSON, or nil if it is not JSON.
  package var json: JSONValue? { try? JSONValue(parsing: Array(body.utf8)) }

  package var error: String? { json?["error"]?.string }
}
