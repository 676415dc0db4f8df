import HTTPServer
import JSON

extension SidecarRequest {
  /// Of what a sender wrote, in a message to that sender. Characters.
  private static let maximumQuote = 200

  /// The body as a JSON object, whatever its content type says: clients get that header wrong.
  func jsonObject() throws(Refusal) -> JSONValue {
    let value: JSONValue
    do {
      value = try JSONValue(parsing: http.body)
    } catch {
      throw Refusal(400, "Invalid JSON in request body", String("\(error)".prefix(SidecarRequest.maximumQuote)))
    }
    guard value.members != nil else {
      throw Refusal(400, "Invalid JSON in request body", "expected an object")
    }
    return value
  }

  /// The same for clients that may send a form instead: each of its fields becomes a string. What begins with a brace is JSON,
  /// as a form's content type is what some tools send unasked.
  func jsonOrFormObject() throws(Refusal) -> JSONValue {
    let type = http.headers["Content-Type"]?.lowercased() ?? ""
    let first = http.body.first { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }
    guard type.hasPrefix("application/x-www-form-urlencoded"), first != UInt8(ascii: "{") else {
      return try jsonObject()
    }
    guard let text = String(validating: http.body, as: UTF8.self), let items = FormEncoding.items(of: text) else {
      throw Refusal(400, "Invalid form in request body", "broken percent escape, or no UTF-8")
    }
    var names: Set<String> = []
    for (name, _) in items where !names.insert(name).inserted {
      throw Refusal(
        400, "Invalid form in request body", "field given twice: \(name.prefix(SidecarRequest.maximumQuote))")
    }
    return .object(items.map { JSONMember(key: $0.name, value: .string($0.value)) })
  }
}
