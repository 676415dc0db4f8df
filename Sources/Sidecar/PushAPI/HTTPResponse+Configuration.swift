import HTTPServer
import JSON

extension HTTPResponse {
  /// `{"error":"Redis is not configured.","missingEnvVars":[…]}`
  static func notConfigured(_ what: String, missing names: [String]) -> HTTPResponse {
    .error(
      "\(what) is not configured.", status: 500,
      [JSONMember(key: "missingEnvVars", value: .array(names.map(JSONValue.string)))])
  }
}
